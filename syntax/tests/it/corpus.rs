//! Every file of the corpus parses without an error, and printing, splitting and reformatting
//! preserve it.

use std::io::Write;
use std::path::{Path, PathBuf};

use ptxc_syntax::ast::Item;
use ptxc_syntax::items::{ItemKind, split};
use ptxc_syntax::{parse_function, parse_item, parse_module, parse_signature, print_module};

/// Path and text of every file; nothing if the corpus is absent.
fn corpus() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/ptx");
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ptx") {
                let text = std::fs::read_to_string(&path).expect("the corpus is readable");
                files.push((path, text));
            }
        }
    }
    if files.is_empty() {
        // The test harness hides the output of `println!`.
        let _ = writeln!(std::io::stderr(), "skipped: no corpus at {}", root.display());
    }
    files.sort();
    files
}

#[test]
fn every_file_parses_and_prints_to_a_fixed_point() {
    for (path, text) in corpus() {
        let parsed = parse_module(&text);
        for error in &parsed.errors {
            println!("{}: {error:?} `{}`", path.display(), &text[error.span.range()]);
        }
        assert!(parsed.errors.is_empty(), "{} has errors", path.display());
        let printed = print_module(&parsed.value);
        let again = parse_module(&printed);
        assert!(again.errors.is_empty(), "{}: {:?}", path.display(), again.errors);
        assert!(again.value == parsed.value, "{} reads back as another tree", path.display());
        assert!(print_module(&again.value) == printed, "{} prints differently", path.display());
    }
}

#[test]
fn items_parsed_alone_are_those_of_the_module() {
    for (path, text) in corpus() {
        let module = parse_module(&text);
        let items = split(&text);
        assert_eq!(items.len(), module.value.items.len(), "{}", path.display());
        for (index, item) in items.iter().enumerate() {
            let alone = parse_item(&text[item.span.range()], item.kind);
            assert_eq!(alone.value.as_ref(), module.value.items.get(index), "{}", path.display());
            assert_eq!((item.span.start, alone.spans), module.spans.items[index], "{}", path.display());
            match &module.value.items[index] {
                Item::Function(function) => {
                    assert_eq!(item.names.as_slice(), std::slice::from_ref(&function.name.name));
                    assert_eq!(item.has_body, function.body.is_some());
                    let whole = parse_function(&text[item.span.range()]);
                    assert_eq!(&whole.value, function);
                    let head = parse_signature(&text[item.head.range()]);
                    assert!(head.errors.is_empty(), "{}: {:?}", path.display(), head.errors);
                    assert_eq!(head.value.parameters, function.parameters);
                    assert_eq!(head.value.directives, function.directives);
                }
                Item::Declaration(declaration) => {
                    let names: Vec<_> = declaration.declarators.iter().map(|d| d.name.name.clone()).collect();
                    assert_eq!(item.names[..], names[..]);
                    assert_eq!(item.kind, ItemKind::Variable);
                }
                _ => assert!(item.names.is_empty()),
            }
        }
    }
}

/// Doubles every line break and puts a comment before it, and turns tabs into comments.
#[test]
fn spaces_and_comments_do_not_change_the_tree() {
    for (path, text) in corpus() {
        let noisy = text.replace('\n', " // } \" ;\n\n").replace('\t', " /* { \" */ ");
        let (plain, noisy) = (parse_module(&text), parse_module(&noisy));
        assert!(noisy.errors.is_empty(), "{}: {:?}", path.display(), noisy.errors);
        assert!(plain.value == noisy.value, "{} became another tree", path.display());
    }
}
