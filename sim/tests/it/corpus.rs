//! Every case of the corpus can be read.

use std::path::Path;

use ptxc_sim::Case;
use ptxc_sim::case::Argument;

#[test]
fn all_cases_load() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/exec");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: there is no corpus at {}", folder.display());
        return;
    };
    let mut count = 0;
    for entry in entries.map(|entry| entry.unwrap().path()) {
        if entry.extension().is_some_and(|extension| extension == "json") {
            let case = Case::load(&entry).unwrap_or_else(|error| panic!("{error}"));
            assert!(case.ptx.is_file(), "{}", case.ptx.display());
            assert!(case.args.iter().any(|arg| matches!(arg, Argument::Buffer(_))), "{}", entry.display());
            count += 1;
        }
    }
    assert!(count > 0, "no cases in {}", folder.display());
}

#[test]
fn a_bad_case_is_an_error_that_says_why() {
    let parse = |text: &str| Case::parse(text, Path::new("corpus")).unwrap_err();
    let launch = r#""ptx": "k.ptx", "entry": "k", "grid": [1, 1, 1], "block": [32, 1, 1]"#;
    let with = |arg: &str| parse(&format!("{{{launch}, \"args\": [{arg}]}}"));
    assert!(with(r#"{"kind": "scalar", "elem": "u8", "value": 256}"#).contains("256"));
    let buffer = |content: &str, tolerance: &str| {
        let head = r#"{"kind": "buffer", "name": "x", "elem": "u32""#;
        with(&format!(
            "{head}, \"init\": {content}, \"expect\": {{\"zeros\": 4}}, \"tolerance\": {tolerance}}}"
        ))
    };
    assert!(buffer(r#"{"hex": "0g000000"}"#, "\"exact\"").contains("\"0g\""));
    assert!(buffer(r#"{"hex": "00é0"}"#, "\"exact\"").contains("hexadecimal"));
    assert!(buffer(r#"{"zeros": 8}"#, "\"exact\"").contains("lengths"));
    assert!(buffer(r#"{"zeros": 4}"#, "\"roughly\"").contains("roughly"));
    let ending = |field: &str| parse(&format!("{{{launch}, \"args\": [], {field}}}"));
    assert!(ending(r#""printed": 7"#).contains("string"));
    assert!(ending(r#""prints": "7""#).contains("unknown field `prints`"));
    assert!(ending(r#""fault": {"text": ""}"#).contains("empty"));
    assert!(ending(r#""fault": {"thread": [0, 0, 0]}"#).contains("missing field `text`"));
    assert!(ending(r#""fault": {"text": "trap", "thread": [0, 0]}"#).contains("length 2"));
    assert!(ending(r#""fault": {"text": "trap", "warp": 1}"#).contains("unknown field `warp`"));
    let scalar = r#""kind": "scalar", "elem": "u8", "value": 1, "name": "n""#;
    assert!(with(&format!("{{{scalar}, \"init\": 1}}")).contains("unknown field `init`"));
    assert!(with(r#"{"kind": "image", "colour": 1}"#).contains("unknown field `colour`"));
    let content =
        r#"{"kind": "buffer", "name": "x", "elem": "u32", "tolerance": "exact", "init": {"zeros": 4}"#;
    let faulty = |expect: &str| {
        let text = format!(
            "{{{launch}, \"args\": [{content}, \"expect\": {expect}}}], \"fault\": {{\"text\": \"trap\"}}}}"
        );
        Case::parse(&text, Path::new("corpus"))
    };
    assert!(faulty("null").is_ok());
    assert!(faulty(r#"{"zeros": 4}"#).unwrap_err().contains("must be null"));
    assert!(
        parse(r#"{"ptx": "k", "entry": "k", "grid": [1,1,1], "block": [0,1,1], "args": []}"#)
            .contains("1024")
    );
}
