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

/// A use that is part of a cycle and is there for a reason.
struct Allowed {
    /// The folder of the crate.
    package: &'static str,
    from: &'static str,
    to: &'static str,
    reason: &'static str,
}

/// The list may only shrink: an entry that removes no cycle fails the test.
const ALLOWED: &[Allowed] = &[
    Allowed {
        package: "sass",
        from: "table",
        to: "inst",
        reason: "a row judges the instructions that are made of it: kinds of operands, image, facts",
    },
    Allowed {
        package: "sass",
        from: "table",
        to: "latency",
        reason: "the facts of a row include the ports that its operands are read at",
    },
    Allowed {
        package: "sass",
        from: "operand",
        to: "table",
        reason: "an operand may be a special register, and the table lists them",
    },
    Allowed {
        package: "compiler",
        from: "input",
        to: "items",
        reason: "a file lists its functions, and a function names its file",
    },
    Allowed {
        package: "compiler",
        from: "callees",
        to: "stages",
        reason: "queries: callees have stages of their own",
    },
    Allowed {
        package: "compiler",
        from: "callees",
        to: "meetings",
        reason: "queries: where lanes meet depends on the callees, and how callees return depends on where lanes meet",
    },
    Allowed {
        package: "tests/fuzz",
        from: "program",
        to: "calls",
        reason: "a call is a statement, and a function that is called has statements",
    },
];

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
        let allowed: Vec<&Allowed> = ALLOWED.iter().filter(|allowed| allowed.package == package).collect();
        let without = |left_out: &[&Allowed]| {
            let is_left_out = |from: &str, to: &str| {
                left_out.iter().any(|allowed| (allowed.from, allowed.to) == (from, to))
            };
            cycles(uses.keys().filter(|(from, to)| !is_left_out(from, to)))
        };
        for group in without(&allowed) {
            found += &described(&package, &group, &uses);
        }
        for &Allowed { from, to, reason, .. } in &allowed {
            let others: Vec<&Allowed> =
                allowed.iter().copied().filter(|other| (other.from, other.to) != (*from, *to)).collect();
            let is_needed = uses.contains_key(&(from.to_string(), to.to_string()))
                && without(&others).iter().any(|group| group.contains(from) && group.contains(to));
            assert!(is_needed, "{package}: {from} -> {to} is in no cycle ({reason}): remove the entry");
        }
    }
    assert!(
        found.is_empty(),
        "rooms use each other; move what both need to a file of its own, or to the room that the other one may use\n{found}"
    );
}
