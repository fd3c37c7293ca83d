//! `ptxc decode`: every format has the same content, pandas and polars open the data frames, and a
//! browser opens the page.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use parquet::file::reader::{FileReader, SerializedFileReader};

/// The path of a file that holds the kernel.
fn file(name: &str) -> String {
    format!("{}/../tests/decode/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn run(words: &[&str]) -> (Vec<u8>, String) {
    let words: Vec<String> = ["ptxc", "decode"].iter().chain(words).map(|word| word.to_string()).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    ptxc::run(&words, &mut std::io::empty(), &mut out, &mut err);
    (out, String::from_utf8(err).expect("messages are text"))
}

fn text(words: &[&str]) -> String {
    String::from_utf8(run(words).0).expect("the format is text")
}

/// Prints to standard error directly, because the test harness hides the output of `eprintln!`.
fn skipped(what: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {what}");
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The rows of the kernel for sm_90, without the fields that name their file.
fn rows(name: &str) -> Vec<serde_json::Value> {
    let json = text(&[&file(name), "--arch", "sm_90", "--format", "json"]);
    let read = |line: &str| {
        let mut row: serde_json::Value = serde_json::from_str(line).expect("a line is an object");
        for place in ["file", "member", "image"] {
            row.as_object_mut().expect("a line is an object").remove(place);
        }
        row
    };
    json.lines().map(read).collect()
}

#[test]
fn every_container_shows_the_same_rows() {
    let expected = rows("scale.sm_90.cubin");
    assert_eq!(expected.len(), 32);
    assert_eq!(expected[6]["instruction"], "ISETP.GE.AND P0, PT, R5, UR4, PT");
    assert_eq!((&expected[6]["stall"], &expected[6]["yield"]), (&13.into(), &true.into()));
    for name in [
        "scale.zstd.fatbin",
        "scale.lz4.fatbin",
        "scale.group.fatbin",
        "scale.cuobjdump.txt",
        "scale.nvdisasm.txt",
    ] {
        assert_eq!(rows(name), expected, "{name}");
    }
    // An object and a relocatable object, in which the kernel is compiled slightly differently.
    let both = rows("scale.a");
    assert_eq!(both[..32], expected);
    assert_eq!(both.len(), 64);
}

/// The fields of a line of CSV.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => fields.last_mut().expect("there is one").push(c),
        }
    }
    fields
}

#[test]
fn csv_and_json_say_the_same() {
    let path = file("scale.a");
    let json = text(&[&path, "--format", "json"]);
    let csv = text(&[&path, "--format", "csv"]);
    let mut lines = csv.lines();
    let names = fields(lines.next().expect("names"));
    assert_eq!(json.lines().count(), 64);
    for (line, object) in lines.zip(json.lines()) {
        let object: serde_json::Value = serde_json::from_str(object).expect("an object");
        let expected: Vec<String> = names
            .iter()
            .map(|name| match object.get(name) {
                None | Some(serde_json::Value::Null) => String::new(),
                Some(serde_json::Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            })
            .collect();
        assert_eq!(fields(line), expected);
    }
}

#[test]
fn a_parquet_file_has_a_row_an_instruction() {
    let out = scratch("scale.parquet");
    run(&[&file("scale.zstd.fatbin"), "-o", out.to_str().expect("text")]);
    let reader =
        SerializedFileReader::new(std::fs::File::open(&out).expect("it was written")).expect("parquet");
    assert_eq!(reader.metadata().file_metadata().num_rows(), 16 + 32);
    let row = reader.get_row_iter(None).expect("rows").nth(16 + 6).expect("a row").expect("it can be read");
    let field = |wanted: &str| {
        let mut columns = row.get_column_iter();
        columns.find(|(name, _)| *name == wanted).expect("a column").1.to_string()
    };
    assert_eq!(field("instruction"), "\"ISETP.GE.AND P0, PT, R5, UR4, PT\"");
    assert_eq!(["offset", "stall", "yield", "write"].map(field), ["96", "13", "true", "null"]);
}

#[test]
fn many_small_images_are_shown_in_their_order() {
    const TIMES: usize = 1_600;
    let one = std::fs::read(file("scale.group.fatbin")).expect("the file is there");
    let path = scratch("many.fatbin");
    std::fs::write(&path, one.repeat(TIMES)).expect("the folder takes files");
    let json = text(&[path.to_str().expect("text"), "--format", "json"]);
    let once = text(&[&file("scale.group.fatbin"), "--format", "json"]);
    assert_eq!(json.lines().count(), TIMES * once.lines().count());
    let image = |line: &str| {
        let (_, rest) = line.split_once(",\"image\":").expect("a row names its image");
        rest.split_once(',').expect("more follows").0.parse::<u32>().expect("a number")
    };
    let mut images: Vec<u32> = json.lines().map(image).collect();
    assert!(images.is_sorted());
    images.dedup();
    assert_eq!(images.len() % TIMES, 0);
}

#[test]
fn pandas_and_polars_open_the_data_frame() {
    const PROGRAM: &str = "
import sys, pandas, polars
path = sys.argv[1]
frame = pandas.read_parquet(path)
assert list(frame.columns)[5:7] == ['offset', 'instruction'], frame.columns
assert len(frame) == 48 and frame.stall.sum() == int(sys.argv[2]), frame
assert frame['yield'].dtype == bool, frame.dtypes
frame = polars.read_parquet(path)
assert frame.height == 48 and frame['stall'].sum() == int(sys.argv[2]), frame
assert frame.filter(polars.col('arch') == 'sm_90').height == 32
frame = polars.read_csv(sys.argv[3])
assert frame.height == 48 and frame['stall'].sum() == int(sys.argv[2]), frame
frame = pandas.read_json(sys.argv[4], lines=True)
assert len(frame) == 48 and frame.stall.sum() == int(sys.argv[2]), frame
";
    let python = std::env::var("PTXC_PYTHON").unwrap_or_else(|_| "python3".to_string());
    let has_both = Command::new(&python).args(["-c", "import pandas, polars, pyarrow"]).output();
    if !has_both.is_ok_and(|output| output.status.success()) {
        return skipped("pandas and polars; PTXC_PYTHON names no Python that has them, with pyarrow");
    }
    let source = file("scale.zstd.fatbin");
    let outs = ["frame.parquet", "frame.csv", "frame.json"].map(scratch);
    for out in &outs {
        run(&[&source, "-o", out.to_str().expect("text")]);
    }
    let json = text(&[&source, "--format", "json"]);
    let objects =
        json.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("an object"));
    let stalls: u64 = objects.map(|object| object["stall"].as_u64().expect("a number")).sum();
    let output = Command::new(python)
        .args(["-c", PROGRAM])
        .arg(&outs[0])
        .arg(stalls.to_string())
        .args(&outs[1..])
        .output()
        .expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A browser that runs without a screen.
fn browser() -> Option<String> {
    let names = std::env::var("PTXC_BROWSER").into_iter();
    let known = ["chromium", "chromium-browser", "google-chrome", "chrome"].map(str::to_string);
    names
        .chain(known)
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()))
}

/// A script appended to the page: acts as a reader would, and records the results in the document.
const READER: &str = "<script>{
  const seen = {};
  const over = (row) => row.dispatchEvent(new MouseEvent('mouseover', {bubbles: true, clientX: 200, clientY: 100}));
  const cells = (row) => [...row.querySelectorAll('.sb')].map((cell) => cell.textContent).join('|');
  const row = (index) => document.getElementById('row-' + index);
  seen.titles = document.getElementById('names').textContent;
  seen.functions = [...document.getElementById('functions').options].map((option) => option.textContent);
  const select = document.getElementById('functions');
  select.value = 1;
  select.dispatchEvent(new Event('change'));
  seen.visible = row(6).checkVisibility() && row(6).getBoundingClientRect().height > 10;
  seen.instruction = row(6).querySelector('.text').textContent;
  seen.setter = cells(row(12));
  seen.waiter = cells(row(13));
  over(row(13));
  seen.tip = document.getElementById('tip').textContent;
  seen.shown = getComputedStyle(document.getElementById('tip')).display;
  seen.linked = [...document.querySelectorAll('.linked')].map((one) => one.id);
  row(13).querySelectorAll('.sb')[2].querySelector('a').click();
  seen.followed = location.hash + ' ' + document.querySelector('.here').id;
  row(12).querySelectorAll('.sb')[2].querySelector('a').click();
  seen.back = location.hash + ' ' + document.querySelector('.here').id;
  const search = document.getElementById('search');
  search.value = 'isetp.ge';
  search.dispatchEvent(new Event('input'));
  seen.hits = document.getElementById('hits').textContent;
  search.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}));
  search.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}));
  seen.found = document.getElementById('hits').textContent + ' ' + document.querySelector('.here .text').textContent;
  seen.requests = performance.getEntriesByType('resource').length;
  const result = document.createElement('pre');
  result.id = 'result';
  result.textContent = JSON.stringify(seen);
  document.body.append(result);
}</script>";

#[test]
fn a_browser_shows_the_page_and_follows_its_links() {
    let page = text(&[&file("scale.zstd.fatbin"), "--format", "html"]);
    assert!(!page.contains("http://") && !page.contains("https://"), "the page needs nothing else");
    let Some(browser) = browser() else {
        return skipped("the page in a browser; PTXC_BROWSER names none, and there is no chromium");
    };
    let path = scratch("decode.html");
    std::fs::write(&path, format!("{page}{READER}")).expect("the folder takes files");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,900"])
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("file://{}", path.display()))
        .output()
        .expect("the browser runs");
    let dom = String::from_utf8_lossy(&output.stdout);
    let seen = dom.split_once("<pre id=\"result\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let (seen, _) = seen.unwrap_or_else(|| panic!("the page did not work: {dom}"));
    let seen = seen.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">");
    let seen: serde_json::Value = serde_json::from_str(&seen).expect("JSON");
    let text = |name: &str| seen[name].as_str().unwrap_or_default().to_string();
    assert!(text("titles").contains("SB0SB1SB2SB3SB4SB5"), "{seen}");
    assert_eq!(seen["functions"], serde_json::json!(["scale (sm_75)", "scale (sm_90)"]));
    assert_eq!(seen["visible"], true, "{seen}");
    assert_eq!(text("instruction"), "ISETP.GE.AND P0, PT, R5, UR4, PT");
    assert_eq!((text("setter"), text("waiter")), ("||w|||".to_string(), "||\u{2022}|||".to_string()));
    let tip = text("tip");
    assert!(tip.starts_with("waits for SB2:\n  /*00c0*/ ") && tip.ends_with("(results)"), "{tip}");
    assert_eq!(text("shown"), "block");
    assert_eq!(seen["linked"], serde_json::json!(["row-12"]));
    assert_eq!(text("followed"), "#1:12 row-12");
    assert_eq!(text("back"), "#1:13 row-13");
    assert_eq!(text("hits"), "2 hits");
    assert_eq!(text("found"), "2 of 2 hits ISETP.GE.AND P0, PT, R5, UR4, PT");
    assert_eq!(seen["requests"], 0, "{seen}");
}
