//! Which rooms of a crate use which. A room is a module directly below the root of the crate, with all modules in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::tokens::{Token, tokens};

/// A place in a source: the file and the line.
pub(crate) type Site = (PathBuf, usize);

/// The room of what the root of a crate defines itself.
pub(crate) const ROOT: &str = "the root";

/// The rooms of a crate that each room uses, with the places that name them.
pub(crate) type Uses = BTreeMap<(String, String), Vec<Site>>;

/// A source file, or a part of one.
struct Module {
    /// The names of the modules around it, and its own; none for the root.
    path: Vec<String>,
    file: PathBuf,
    tokens: Vec<Token>,
}

/// A path of a source, with the line that it is in.
struct Mention {
    path: Vec<String>,
    line: usize,
}

/// Finds the uses of a crate whose root is that file.
pub(crate) fn uses(root: &Path) -> Uses {
    let mut modules = Vec::new();
    read(root, Vec::new(), &mut modules);
    let rooms: BTreeSet<String> = modules.iter().filter_map(|module| module.path.first().cloned()).collect();
    let reexports = reexports(&modules[0], &rooms);
    let macros = macros(&modules);
    let mut uses = Uses::new();
    for module in &modules {
        let from = module.path.first().map_or(ROOT, String::as_str);
        let mut mentions = mentions(module);
        mentions.extend(invocations(module, &macros));
        if module.path.is_empty() {
            mentions.extend(from_the_root(module, &rooms));
        }
        for Mention { path, line } in mentions {
            let Some(first) = path.first() else { continue };
            let to = match reexports.get(first) {
                _ if rooms.contains(first) => first,
                Some(Some(room)) => room,
                // Another crate.
                Some(None) => continue,
                None => macros.get(first).map_or(ROOT, String::as_str),
            };
            if from != to {
                uses.entry((from.to_string(), to.to_string())).or_default().push((module.file.clone(), line));
            }
        }
    }
    uses
}

/// Reads a file and the files of its modules. Parts of a file that are modules of their own are separated from it.
fn read(file: &Path, path: Vec<String>, modules: &mut Vec<Module>) {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut folder = file.parent().expect("a file is in a folder").to_path_buf();
    if !["lib", "main", "mod"].contains(&name.as_str()) {
        folder.push(name);
    }
    split(file, &folder, path, tokens(&text), modules);
}

fn split(file: &Path, folder: &Path, path: Vec<String>, tokens: Vec<Token>, modules: &mut Vec<Module>) {
    let this = modules.len();
    modules.push(Module { path: path.clone(), file: file.to_path_buf(), tokens: Vec::new() });
    let mut own = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_module = tokens[at].is("mod") && tokens.get(at + 1).is_some_and(Token::is_word);
        let Some(sign) = tokens.get(at + 2).filter(|_| is_module) else {
            own.push(tokens[at].clone());
            at += 1;
            continue;
        };
        let name = tokens[at + 1].text.clone();
        let child = [path.as_slice(), std::slice::from_ref(&name)].concat();
        if sign.is("{") {
            let end = closing_brace(&tokens, at + 2);
            split(file, &folder.join(&name), child, tokens[at + 3..end].to_vec(), modules);
            at = end + 1;
            continue;
        }
        let places = [folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs")];
        if let Some(place) = places.iter().find(|place| place.is_file()) {
            read(place, child, modules);
        }
        at += 3;
    }
    modules[this].tokens = own;
}

/// The place of the brace that closes the one at `start`.
fn closing_brace(tokens: &[Token], start: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        depth += i32::from(token.is("{")) - i32::from(token.is("}"));
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}

/// The paths that begin with `crate`, `self` or `super`, from the root.
fn mentions(module: &Module) -> Vec<Mention> {
    let tokens = &module.tokens;
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let continues = at > 0 && text(at - 1) == "::";
        if !["crate", "self", "super"].contains(&text(at)) || text(at + 1) != "::" || continues {
            continue;
        }
        // `pub(in crate::x)`.
        if at > 2 && text(at - 1) == "in" && text(at - 2) == "(" && text(at - 3) == "pub" {
            continue;
        }
        let mut paths = Vec::new();
        path_tree(tokens, at, &[], &mut paths);
        for Mention { path: written, line } in paths {
            let mut path: Vec<String> = if written[0] == "crate" { Vec::new() } else { module.path.clone() };
            for name in written {
                match name.as_str() {
                    "crate" | "self" => {}
                    "super" => drop(path.pop()),
                    _ => path.push(name),
                }
            }
            found.push(Mention { path, line });
        }
    }
    found
}

/// Reads a path with its braces; the place after it.
fn path_tree(tokens: &[Token], start: usize, before: &[String], found: &mut Vec<Mention>) -> usize {
    let mut path = before.to_vec();
    let mut at = start;
    let line = tokens.get(start).map_or(0, |token| token.line);
    loop {
        match tokens.get(at) {
            Some(token) if token.is("{") => {
                at += 1;
                while tokens.get(at).is_some_and(|token| !token.is("}")) {
                    at = path_tree(tokens, at, &path, found);
                    // A new name, and the comma.
                    while tokens.get(at).is_some_and(|token| !token.is("}") && !token.is(",")) {
                        at += 1;
                    }
                    at += usize::from(tokens.get(at).is_some_and(|token| token.is(",")));
                }
                return at + 1;
            }
            Some(token) if token.is_word() => path.push(token.text.clone()),
            // `*`, or the type arguments of a function.
            _ => break,
        }
        at += 1;
        if !tokens.get(at).is_some_and(|token| token.is("::")) {
            break;
        }
        at += 1;
    }
    found.push(Mention { path, line });
    at
}

/// The names that the root imports, each with the room that it comes from, or with none if that is another crate.
fn reexports(root: &Module, rooms: &BTreeSet<String>) -> BTreeMap<String, Option<String>> {
    let mut names = BTreeMap::new();
    for (at, _) in root.tokens.iter().enumerate().filter(|(_, token)| token.is("use")) {
        let mut paths = Vec::new();
        let end = path_tree(&root.tokens, at + 1, &[], &mut paths);
        let renamed = root.tokens.get(end).filter(|token| token.is("as")).and(root.tokens.get(end + 1));
        for Mention { path, .. } in paths {
            let path: Vec<String> =
                path.into_iter().filter(|name| name != "crate" && name != "self").collect();
            let Some((first, last)) = path.first().zip(path.last()) else { continue };
            let name = renamed.map_or(last, |token| &token.text);
            names.insert(name.clone(), rooms.get(first).cloned());
        }
    }
    names
}

/// The rooms that the root names in its own definitions. Its public imports are none: they only give names.
fn from_the_root(root: &Module, rooms: &BTreeSet<String>) -> Vec<Mention> {
    let tokens = &root.tokens;
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].is("pub") {
            // `pub` or `pub(…)`.
            let after = match tokens.get(at + 1) {
                Some(token) if token.is("(") => {
                    tokens[at..].iter().position(|token| token.is(")")).map(|n| at + n + 1)
                }
                _ => Some(at + 1),
            };
            if after.and_then(|after| tokens.get(after)).is_some_and(|token| token.is("use")) {
                at += tokens[at..].iter().position(|token| token.is(";")).unwrap_or(tokens.len());
            }
        }
        let Some(token) = tokens.get(at) else { break };
        let continues = at > 0 && tokens[at - 1].is("::");
        if !continues && rooms.contains(&token.text) && tokens.get(at + 1).is_some_and(|next| next.is("::")) {
            found.push(Mention { path: vec![token.text.clone()], line: token.line });
        }
        at += 1;
    }
    found
}

/// The macros of a crate, each with its room.
fn macros(modules: &[Module]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for module in modules {
        let room = module.path.first().map_or(ROOT, String::as_str);
        for three in module.tokens.windows(3).filter(|three| three[0].is("macro_rules") && three[2].is_word())
        {
            found.insert(three[2].text.clone(), room.to_string());
        }
    }
    found
}

/// The macros of the crate that a module invokes.
fn invocations(module: &Module, macros: &BTreeMap<String, String>) -> Vec<Mention> {
    let pairs = module.tokens.windows(2).filter(|pair| pair[1].is("!"));
    let known = pairs.filter(|pair| macros.contains_key(&pair[0].text));
    known.map(|pair| Mention { path: vec![pair[0].text.clone()], line: pair[0].line }).collect()
}

#[test]
fn paths_are_found_with_the_room_that_defines_them() {
    let folder = std::env::temp_dir().join(format!("ptxc-rooms-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("b")).expect("the folder is made");
    let files = [
        (
            "lib.rs",
            "mod a; mod b; mod c; pub use b::{Thing as Other, inner::{Deep}}; pub use std::fmt;\nfn f() { a::g(); }",
        ),
        ("a.rs", "use crate::{Deep, fmt, c::{self, d}};\nfn g() { crate::f() }"),
        ("b/mod.rs", "pub mod inner; pub struct Thing; #[cfg(test)] mod tests { use crate::a; }"),
        ("b/inner.rs", "pub struct Deep; use super::Thing; fn h() { super::super::c::d() }"),
        ("c.rs", "pub fn d() {} // crate::a"),
    ];
    for (name, text) in files {
        std::fs::write(folder.join(name), text).expect("the file is written");
    }
    let found = uses(&folder.join("lib.rs"));
    std::fs::remove_dir_all(&folder).expect("the folder is removed");
    let found: Vec<(&str, &str)> = found.keys().map(|(from, to)| (from.as_str(), to.as_str())).collect();
    assert_eq!(found, [("a", "b"), ("a", "c"), ("a", ROOT), ("b", "c"), (ROOT, "a")]);
}
