//! What is done with bytes of any kind in place of a program, a function for each target: of the fuzzer, and of the test
//! `kept_programs` of `ptxc`, which goes through those that are worth keeping.
//!
//! None may panic. What a function asserts besides is said there.

use super::ways::{ALWAYS, SOMETIMES, Way};

/// PTX: its tree is printed, and what is printed of a tree without errors is read as a tree that is printed the same.
pub fn parser(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for item in ptxc_syntax::items::split(&text) {
        assert!(text.get(item.span.range()).is_some(), "an item is a range of characters");
    }
    let parsed = ptxc_syntax::parse_module(&text);
    let printed = ptxc_syntax::print_module(&parsed.value);
    if parsed.errors.is_empty() {
        let again = ptxc_syntax::parse_module(&printed);
        assert_eq!(again.errors, [], "{printed}");
        assert_eq!(ptxc_syntax::print_module(&again.value), printed);
    }
}

/// PTX that is checked: exit code 0 or 1.
pub fn check(data: &[u8]) {
    through(&ALWAYS[1], data);
}

/// A way, then PTX that is lowered: exit code 0 or 1.
pub fn lower(data: &[u8]) {
    let Some((&selector, text)) = data.split_first() else { return };
    let ways = ALWAYS.len() + SOMETIMES.len();
    let way = usize::from(selector) % ways;
    through(ALWAYS.get(way).unwrap_or_else(|| &SOMETIMES[way - ALWAYS.len()]), text);
}

/// IR text: what is printed of it is read as the same.
pub fn ir_text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(functions) = ptxc_ir::text::parse(text) else { return };
    for function in functions {
        let printed = function.to_string();
        let again =
            ptxc_ir::text::parse_function(&printed).unwrap_or_else(|why| panic!("{why:?}: {printed}"));
        // Sparse numbers are made dense, once.
        assert_eq!(again.to_string(), printed);
        // Any function may come before the verifier.
        let _ = ptxc_ir::verify::verify(&function, ptxc_ir::verify::Level::Built);
    }
}

fn through(way: &Way, text: &[u8]) {
    let code = way.run(text);
    assert!(code == 0 || code == 1, "{}: exit code {code}", way.name);
}
