//! Time and memory against size.

use std::fmt::Write;
use std::path::Path;

use super::milliseconds;
use super::process::{Measured, measure};
use super::shapes::SHAPES;

/// The figures of a shape: numbers of instructions, and the time and memory for each.
pub(super) struct Curve {
    pub(super) shape: &'static str,
    pub(super) points: Vec<(usize, Measured)>,
}

/// A table of sizes and shapes, and the curves.
pub(super) fn table(ptxc: &Path, largest: usize, runs: u32) -> Result<(String, Vec<Curve>), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let sizes: Vec<usize> = (0..)
        .flat_map(|power| [10usize.pow(power + 2), 3 * 10usize.pow(power + 2)])
        .take_while(|&size| size <= largest)
        .collect();
    let mut curves = Vec::new();
    for (shape, make) in SHAPES {
        let mut points = Vec::new();
        for &size in &sizes {
            let (path, out) = (folder.path().join("k.ptx"), folder.path().join("k.sass"));
            std::fs::write(&path, make(size)).map_err(|error| error.to_string())?;
            let words = ["lower", &path.to_string_lossy(), "-o", &out.to_string_lossy()];
            let took = measure(ptxc, &words, if size > 50_000 { runs.min(2) } else { runs })?;
            println!("{shape} {size}: {}", milliseconds(took.cpu));
            points.push((size, took));
        }
        curves.push(Curve { shape, points });
    }
    let mut text = String::from(
        "CPU time and memory of `ptxc lower` for one kernel of that many instructions. The second table shows\n\
         how much faster the time grew than the size, over a tenfold step: 1 is proportional.\n\n| instructions |",
    );
    for curve in &curves {
        let _ = write!(text, " {} | memory |", curve.shape);
    }
    text.push_str("\n|---:|");
    text.push_str(&"---:|---:|".repeat(curves.len()));
    for (row, size) in sizes.iter().enumerate() {
        let _ = write!(text, "\n| {size} |");
        for curve in &curves {
            let (_, took) = curve.points[row];
            let _ = write!(text, " {} | {:.0} MB |", milliseconds(took.cpu), took.memory / 1e6);
        }
    }
    text.push_str("\n\n| from | to |");
    for curve in &curves {
        let _ = write!(text, " {} |", curve.shape);
    }
    text.push_str("\n|---:|---:|");
    text.push_str(&"---:|".repeat(curves.len()));
    for row in 2..sizes.len() {
        let _ = write!(text, "\n| {} | {} |", sizes[row - 2], sizes[row]);
        for curve in &curves {
            let growth = curve.points[row].1.cpu / curve.points[row - 2].1.cpu / 10.0;
            let _ = write!(text, " {growth:.2} |");
        }
    }
    text.push_str(
        "\n\n![CPU time against the number of instructions, both on logarithmic scales](growth.svg)\n",
    );
    Ok((text, curves))
}
