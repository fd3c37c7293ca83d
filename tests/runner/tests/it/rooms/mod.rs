//! There is no dependency cycle between the rooms of a crate: the modules directly below its root.
//!
//! The sources of every crate are read. A room uses another one where it names it by a path that begins with `crate`, `self`
//! or `super`; a name that the root of the crate exports belongs to the room that defines it. Modules of tests don't count.

mod tokens;
mod uses;

use std::path::{Path, PathBuf};

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use uses::{Uses, uses};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folders of all packages, as the workspace lists them.
fn packages() -> Vec<String> {
    let manifest = std::fs::read_to_string(repository().join("Cargo.toml")).expect("the manifest is read");
    let members = manifest.split_once("members = [").and_then(|(_, rest)| rest.split_once(']'));
    let (members, _) = members.expect("the manifest lists the members");
    members.split('"').skip(1).step_by(2).map(str::to_string).collect()
}

/// The groups of rooms that use each other.
fn cycles<'a>(uses: impl Iterator<Item = &'a (String, String)>) -> Vec<Vec<&'a str>> {
    let mut graph: DiGraphMap<&str, ()> = DiGraphMap::new();
    for (from, to) in uses {
        graph.add_edge(from, to, ());
    }
    let mut groups = tarjan_scc(&graph);
    groups.retain(|group| group.len() > 1);
    groups.iter_mut().for_each(|group| group.sort_unstable());
    groups
}

/// Where the rooms of a group use each other.
fn described(package: &str, group: &[&str], uses: &Uses) -> String {
    let mut text = format!("{package}: a cycle between {}\n", group.join(", "));
    for ((from, to), sites) in uses {
        if !group.contains(&from.as_str()) || !group.contains(&to.as_str()) {
            continue;
        }
        text += &format!("  {from} uses {to}\n");
        for (file, line) in sites {
            let file = file.strip_prefix(repository()).unwrap_or(file);
            text += &format!("    {}:{line}\n", file.display());
        }
    }
    text
}

#[test]
fn rooms_do_not_use_each_other_in_cycles() {
    let mut found = String::new();
    for package in packages() {
        let source = repository().join(&package).join("src");
        let roots = ["lib.rs", "main.rs"].map(|name| source.join(name));
        let root = roots.iter().find(|root| root.is_file()).expect("a package has a root");
        let uses = uses(root);
        for group in cycles(uses.keys()) {
            found += &described(&package, &group, &uses);
        }
    }
    assert!(
        found.is_empty(),
        "rooms use each other; move what both need to a file of its own, or to the room that the other one may use\n{found}"
    );
}
