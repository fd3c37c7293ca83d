//! The properties of a session that matter over a long time: how soon a stopped update ends, and
//! how much memory ten thousand edits leave.
//!
//! `cargo bench -p ptxc-compiler --bench session` prints a table in Markdown; `docs/performance.md`
//! gives expected figures.

use std::fmt::Write;
use std::time::{Duration, Instant};

use ptxc_compiler::{Session, Settings};

/// The program uses this allocator, too: it also releases the memory that a stopped update leaves.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

fn kernel(name: &str, predicates: usize, body: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 data)\n{{\n\t.reg .pred %p<{}>;\n\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<4>;\n\
         \tld.param.u64 %rd1, [data];\n\tmov.u32 %r1, %tid.x;\n{body}\tst.global.u32 [%rd1], %r1;\n\tret;\n}}\n",
        predicates + 1
    )
}

/// Loads and multiply-adds, without a branch.
fn straight(instructions: usize) -> String {
    let mut body = String::new();
    for number in 0..instructions / 2 {
        let at = number * 4 % 4096;
        let pair = format!("\tld.global.u32 %r2, [%rd1+{at}];\n\tmad.lo.s32 %r1, %r1, %r2, {number};\n");
        body.push_str(&pair);
    }
    kernel("straight", 0, &body)
}

/// Divergent branches around two instructions each.
fn branches(instructions: usize) -> String {
    let count = instructions / 5;
    let mut body = String::new();
    for number in 0..count {
        let part = format!(
            "\tsetp.lt.u32 %p{number}, %r1, {number};\n\t@%p{number} bra L{number};\n\tmad.lo.s32 %r1, %r1, %r1, 5;\n\
             \tst.global.u32 [%rd1+{}], %r1;\nL{number}:\n\txor.b32 %r1, %r1, {number};\n",
            number * 4 % 4096
        );
        body.push_str(&part);
    }
    kernel("branches", count, &body)
}

/// Loops nested twenty deep.
fn loops(instructions: usize) -> String {
    let nests = instructions / 80;
    let mut body = String::new();
    for nest in 0..nests {
        for level in 0..20 {
            writeln!(body, "N{nest}_{level}:\n\tadd.s32 %r1, %r1, {level};").expect("a string takes all");
        }
        for level in (0..20).rev() {
            let predicate = nest * 20 + level;
            let tail = format!(
                "\tmul.lo.s32 %r1, %r1, 5;\n\tsetp.lt.s32 %p{predicate}, %r1, 99;\n\t@%p{predicate} bra N{nest}_{level};\n"
            );
            body.push_str(&tail);
        }
    }
    kernel("loops", nests * 20, &body)
}

fn compiled(text: &str) -> Session {
    let mut session = Session::new("k.ptx", text, Settings::default());
    session.update().expect("no other thread stops it");
    session
}

/// Stops an update at many moments; returns how long it went on at most, and how often it was
/// stopped.
fn stop(text: &str, moments: u32) -> (Duration, u32, Duration) {
    let start = Instant::now();
    compiled(text);
    let whole = start.elapsed();
    let (mut longest, mut stopped) = (Duration::ZERO, 0);
    for moment in 0..moments {
        let mut session = Session::new("k.ptx", text, Settings::default());
        let handle = session.stop();
        let (update, at) = std::thread::scope(|scope| {
            let stopping = scope.spawn(move || {
                std::thread::sleep(whole * moment / moments);
                let at = Instant::now();
                handle.stop();
                at
            });
            let update = session.update();
            let end = Instant::now();
            (update, end.saturating_duration_since(stopping.join().expect("it only sleeps")))
        });
        if update.is_err() {
            stopped += 1;
            longest = longest.max(at);
        }
    }
    (longest, stopped, whole)
}

/// The memory of the process, in MiB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |kilobytes| kilobytes / 1024.0)
}

fn main() {
    println!(
        "| kernel of 100,000 instructions | all of it | stopped | the longest it went on |\n|---|---:|---:|---:|"
    );
    for (name, text) in
        [("straight", straight(100_000)), ("branches", branches(100_000)), ("loops", loops(100_000))]
    {
        let (longest, stopped, whole) = stop(&format!("{HEADER}{text}"), 40);
        println!("| {name} | {} ms | {stopped} of 40 | {} ms |", whole.as_millis(), longest.as_millis());
    }
    let small = |number: usize| kernel(&format!("k{number}"), 0, "\tmad.lo.s32 %r1, %r1, 1000, %r1;\n");
    let text: String = HEADER.to_string() + &(0..100).map(small).collect::<String>();
    let mut session = compiled(&text);
    println!("\n| edits in a file of 100 kernels | memory |\n|---:|---:|\n| 0 | {:.1} MiB |", resident());
    for edit in 1..=10_000 {
        // Edits add and remove constants, names of kernels, comments and whole kernels.
        let text = session.text();
        let from = text.len() * (edit % 97) / 97;
        let from = from + text[from..].find("1000").unwrap_or(0);
        match edit % 4 {
            0 => session.replace(&text.replacen("entry k7", &format!("entry k{}", 1000 + edit), 1)),
            1 if text[from..].starts_with("1000") => session.edit(from..from + 4, &format!("{edit:04}")),
            2 => session.edit(0..0, "// a comment\n"),
            _ => {
                let other = text.replace("// a comment\n", "");
                session.replace(&other);
            }
        }
        session.update().expect("no other thread stops it");
        if [100, 1000, 2500, 5000, 10_000].contains(&edit) {
            println!("| {edit} | {:.1} MiB |", resident());
        }
    }
}
