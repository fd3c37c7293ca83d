use std::path::{Path, PathBuf};

use ptxc_machine::Arch;
use ptxc_sim::Case;

use super::limits::{NAMES, broken, names_in};
use super::report::Report;
use super::sides::{Figures, Row, Side, both, our_program, run};
use crate::cases::{cases_in, stem};
use crate::exec::simulator;
use crate::oracle::Oracle;
use crate::settings::Settings;

fn figures(cycles: u64, lanes_per_issue: f64) -> Side {
    Side::Ran(Figures {
        cycles,
        issued: 100,
        lanes_per_issue,
        effective_lanes_per_issue: lanes_per_issue,
        registers: 20,
        warps: 64,
        limited_by: "warp slots",
        spills: 0,
    })
}

fn row(name: &str, ours: Side, theirs: Side) -> Row {
    Row { name: name.to_string(), ours, theirs }
}

fn report() -> Report {
    Report::new(vec![
        row("faster", figures(100, 32.0), figures(400, 32.0)),
        row("not_theirs", figures(100, 32.0), Side::NotRun("refused: no".to_string())),
        row("apart", figures(140, 16.0), figures(100, 32.0)),
        row("wrong", Side::Wrong("y: 1 of 2 elements are wrong".to_string()), figures(100, 32.0)),
        row("slower", figures(400, 30.0), figures(100, 32.0)),
        row("beside_slower", figures(400, 30.0), figures(100, 32.0)),
    ])
}

fn settings() -> Settings {
    Settings { arch: Some(Arch::Sm90), ..Settings::default() }
}

fn saxpy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cases/saxpy.json")
}

#[test]
fn the_worst_case_comes_first_and_equal_ones_by_name() {
    let report = report();
    let names: Vec<&str> = report.pairs().map(|pair| pair.name).collect();
    assert_eq!(names, ["beside_slower", "slower", "apart", "faster"]);
    let text = report.to_string();
    let first: Vec<&str> = text.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(first[..6], ["case", "beside_slower", "slower", "apart", "faster", "not"]);
    assert!(text.contains("not run: not_theirs, ptxas's code: refused: no\n"), "{text}");
    assert!(text.contains("FAILED wrong, our code: y: 1 of 2 elements are wrong\n"), "{text}");
    assert_eq!(report.failures(), 1);
}

#[test]
fn means_are_geometric_and_of_the_cases_that_both_ran() {
    let report = report();
    let [cycles, issued, lanes, ..] = report.means().map(|(_, summary)| summary);
    assert!((cycles.mean - (4.0f64 * 4.0 * 1.4 / 4.0).powf(0.25)).abs() < 1e-9);
    assert_eq!(cycles.worst, (4.0, "beside_slower"));
    assert!((issued.mean - 1.0).abs() < 1e-9);
    assert_eq!(lanes.worst, (0.5, "apart"), "of lanes more is better");
    assert!(report.to_string().contains("cycles: 4 of 6 cases compared\n"));
}

#[test]
fn json_has_an_object_for_each_case() {
    let text = report().json(Arch::Sm90, 3).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = lines.iter().map(|line| line["case"].as_str().unwrap()).collect();
    assert_eq!(names, ["beside_slower", "slower", "apart", "faster", "not_theirs", "wrong"]);
    assert_eq!(lines[2]["ratios"]["lanes_per_issue"], 0.5);
    assert_eq!((&lines[2]["ours"]["cycles"], &lines[2]["ptxas"]["cycles"]), (&140.into(), &100.into()));
    assert_eq!((&lines[2]["arch"], &lines[2]["opt"]), (&"sm_90".into(), &3.into()));
    assert!(lines[4]["ptxas"].is_null() && lines[4]["ratios"].is_null() && lines[4]["ours"].is_object());
    assert_eq!(lines[4]["not_run"][0], "ptxas's code: refused: no");
    assert_eq!(lines[5]["failed"][0], "our code: y: 1 of 2 elements are wrong");
}

#[test]
fn lanes_are_limited_everywhere_and_cycles_in_named_cases() {
    let report = report();
    let of = |names| broken(&report, names).unwrap();
    assert_eq!(of(""), ["apart: 16.0 lanes per issue are less than 0.9 of ptxas's 32.0"]);
    let named = of("# a comment\nslower # the slow one\nfaster\nnot_theirs\nnot_selected\n");
    assert_eq!(named.len(), 3, "{named:?}");
    assert_eq!(named[0], "slower: 400 cycles are more than 1.3 times ptxas's 100");
    assert_eq!(named[2], "not_theirs: its cycles are limited, but it was not compared");
    assert!(broken(&report, "a\na\n").is_err());
    assert!(of("apart turns\n").iter().all(|one| !one.contains("lanes per issue")));
    assert!(broken(&report, "apart tunrs\n").is_err());
}

#[test]
fn the_list_names_cases_that_exist() {
    let names = names_in(NAMES).unwrap();
    assert!(!names.is_empty());
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let shared = repository.join("../shared");
    let folders = ["corpus/exec", "field"].map(|folder| shared.join(folder));
    if !folders.iter().all(|folder| folder.is_dir()) {
        println!("SKIPPED: the cases of {}, which is absent", shared.display());
        return;
    }
    let mut paths = cases_in(&repository.join("tests/cases"));
    paths.extend(folders.iter().flat_map(|folder| cases_in(folder)));
    let known: Vec<&str> = paths.iter().map(|path| stem(path)).collect();
    let unknown: Vec<&&str> = names.keys().filter(|name| !known.contains(*name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn a_wrong_value_gives_no_figures() {
    let mut case = Case::load(saxpy()).unwrap();
    let text = std::fs::read_to_string(&case.ptx).unwrap();
    let right = run(&case, our_program(text.clone(), &case, &settings()), &simulator()).0;
    assert!(right.figures().is_some_and(|ran| ran.cycles > 0 && ran.lanes_per_issue > 16.0), "{right:?}");
    for argument in &mut case.args {
        if let ptxc_sim::case::Argument::Buffer(buffer) = argument
            && let Some(expect) = &mut buffer.expect
        {
            expect[3] ^= 1;
        }
    }
    let wrong = run(&case, our_program(text, &case, &settings()), &simulator()).0;
    assert!(matches!(&wrong, Side::Wrong(why) if why.contains("elements are wrong")), "{wrong:?}");
}

#[test]
fn a_case_runs_on_both_programs() {
    let Some(oracle) = Oracle::find(None) else {
        println!("SKIPPED: saxpy beside ptxas; ORACLE names the folder with ptxas");
        return;
    };
    let row = both("saxpy".to_string(), &saxpy(), Arch::Sm90, &settings(), &oracle);
    let report = Report::new(vec![row]);
    assert_eq!(report.failures(), 0, "{report}");
    let pair = report.pairs().next().expect("both programs ran");
    for side in [pair.ours, pair.theirs] {
        assert!(side.cycles > side.issued / 9 && side.issued >= 9, "{report}");
        assert!(side.lanes_per_issue > 16.0 && side.lanes_per_issue <= 32.0, "{report}");
        assert_eq!((side.warps, side.spills), (63, 0), "three warps a CTA: {report}");
    }
    let again = both("saxpy".to_string(), &saxpy(), Arch::Sm90, &settings(), &oracle);
    assert_eq!(report.to_string(), Report::new(vec![again]).to_string());
}
