//! Checks the packages of `Cargo.lock` against the licences that `deny.toml` allows, and against
//! `docs/dependencies.md`, which has a line for each package: its user, its purpose, its licence.
//!
//! `cargo deny check` checks more, but must be installed; this check needs only cargo, and no
//! network if the packages are present.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};

/// The output of `cargo metadata` about all packages.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: BTreeSet<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    license: Option<String>,
    description: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    dependencies: Vec<String>,
}

/// The facts about a package in a line of the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Line {
    needed_by: BTreeSet<String>,
    why: String,
    licences: BTreeSet<String>,
}

/// Compares; the error names each package that differs.
pub(crate) fn run() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read =
        |name: &str| std::fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"));
    let metadata = metadata(&root)?;
    let packages = packages(&metadata);
    let mut wrong = Vec::new();
    for member in metadata.packages.iter().filter(|package| metadata.workspace_members.contains(&package.id))
    {
        if member.description.is_none() || member.license.is_none() {
            wrong.push(format!("{} has no description, or no licence", member.name));
        }
    }
    wrong.extend(forbidden(&packages, &allowed(&read("deny.toml")?)?));
    wrong.extend(differences(&packages, &lines(&read("docs/dependencies.md")?)));
    println!("licences: {} packages, {} wrong", packages.len(), wrong.len());
    wrong.iter().for_each(|what| println!("    {what}"));
    if wrong.is_empty() { Ok(()) } else { Err("see deny.toml and docs/dependencies.md".into()) }
}

fn metadata(root: &Path) -> Result<Metadata, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--format-version=1", "--locked"]).current_dir(root);
    let output = cargo.output().map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

/// The packages that are not part of this workspace, by name; several versions of a package count
/// as one.
fn packages(metadata: &Metadata) -> BTreeMap<String, Line> {
    let by_id: BTreeMap<&str, &Package> =
        metadata.packages.iter().map(|package| (package.id.as_str(), package)).collect();
    let mut packages: BTreeMap<String, Line> = BTreeMap::new();
    for package in
        metadata.packages.iter().filter(|package| !metadata.workspace_members.contains(&package.id))
    {
        let licence = package.license.clone().unwrap_or_else(|| "none".into());
        packages.entry(package.name.clone()).or_default().licences.insert(licence);
    }
    for node in &metadata.resolve.nodes {
        for dependency in node.dependencies.iter().filter_map(|id| by_id.get(id.as_str())) {
            if let (Some(line), Some(user)) =
                (packages.get_mut(&dependency.name), by_id.get(node.id.as_str()))
            {
                line.needed_by.insert(user.name.clone());
            }
        }
    }
    packages
}

/// The licences that `deny.toml` allows.
fn allowed(text: &str) -> Result<Vec<Licensee>, String> {
    let section = text.split("[licenses]").nth(1).and_then(|rest| rest.split("allow = [").nth(1));
    let list = section.and_then(|rest| rest.split(']').next()).ok_or("deny.toml allows no licences")?;
    let names = list.split('"').skip(1).step_by(2);
    names.map(|name| Licensee::parse(name).map_err(|error| format!("deny.toml: {name}: {error}"))).collect()
}

/// The messages about packages that have none of the allowed licences.
fn forbidden(packages: &BTreeMap<String, Line>, allowed: &[Licensee]) -> Vec<String> {
    let is_allowed = |licence: &str| {
        Expression::parse_mode(licence, ParseMode::LAX).is_ok_and(|expression| {
            expression.evaluate(|needed| allowed.iter().any(|licence| licence.satisfies(needed)))
        })
    };
    let pairs =
        packages.iter().flat_map(|(name, line)| line.licences.iter().map(move |licence| (name, licence)));
    let forbidden = pairs.filter(|(_, licence)| !is_allowed(licence));
    forbidden.map(|(name, licence)| format!("{name}: the licence {licence} is not allowed")).collect()
}

/// The lines of the page.
fn lines(page: &str) -> BTreeMap<String, Line> {
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| {
        let row = row.strip_prefix("| ")?.strip_suffix("|")?;
        <[&str; 4]>::try_from(row.split('|').map(str::trim).collect::<Vec<_>>()).ok()
    });
    let set =
        |text: &str, separator| text.split(separator).map(|item: &str| item.trim().to_string()).collect();
    let lines = cells.filter(|[name, ..]| *name != "package").map(|[name, needed_by, why, licences]| {
        let line =
            Line { needed_by: set(needed_by, ','), why: why.to_string(), licences: set(licences, ';') };
        (name.to_string(), line)
    });
    lines.collect()
}

/// The messages about lines of the page that are missing or wrong.
fn differences(packages: &BTreeMap<String, Line>, lines: &BTreeMap<String, Line>) -> Vec<String> {
    let page = "docs/dependencies.md";
    let mut wrong = Vec::new();
    for (name, package) in packages {
        let Some(line) = lines.get(name) else {
            wrong.push(format!("{name} has no line in {page}"));
            continue;
        };
        if line.why.len() < 3 {
            wrong.push(format!("{name}: {page} does not say why it is there"));
        }
        let list =
            |set: &BTreeSet<String>, separator| set.iter().cloned().collect::<Vec<_>>().join(separator);
        if line.needed_by != package.needed_by {
            wrong.push(format!(
                "{name}: {page} does not say that it is needed by {}",
                list(&package.needed_by, ", ")
            ));
        }
        if line.licences != package.licences {
            wrong.push(format!("{name}: {page} does not say the licence {}", list(&package.licences, "; ")));
        }
    }
    let gone = lines.keys().filter(|name| !packages.contains_key(*name));
    wrong.extend(gone.map(|name| format!("{name} has a line in {page}, and nothing needs it")));
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(rows: &str) -> BTreeMap<String, Line> {
        lines(&format!(
            "# Dependencies\n\n| package | needed by | why | licence |\n|---|---|---|---|\n{rows}"
        ))
    }

    #[test]
    fn a_page_is_compared_line_by_line() {
        let packages = page("| a | x, y | it sorts | MIT |\n| b | a | it counts | MIT; Zlib |\n");
        assert_eq!(packages["a"].needed_by.len(), 2);
        assert_eq!(differences(&packages, &packages), Vec::<String>::new());
        let found = differences(&packages, &page("| a | x | | Apache-2.0 |\n| c | a | it is old | MIT |\n"));
        let messages = found.join("\n");
        for part in ["a: docs", "needed by x, y", "licence MIT", "b has no line", "c has a line"] {
            assert!(messages.contains(part), "{part}: {messages}");
        }
    }

    #[test]
    fn one_allowed_licence_of_several_is_enough_and_all_of_a_conjunction_are_needed() {
        let allowed = allowed("[licenses]\nallow = [\n    \"MIT\",\n    \"Unicode-3.0\",\n]\n").unwrap();
        let count =
            |licence: &str| forbidden(&page(&format!("| a | x | it sorts | {licence} |\n")), &allowed).len();
        for licence in ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR Zlib) AND Unicode-3.0"] {
            assert_eq!(count(licence), 0, "{licence}");
        }
        for licence in ["GPL-3.0-only", "MIT AND Zlib", "none", "Apache-2.0 WITH LLVM-exception"] {
            assert_eq!(count(licence), 1, "{licence}");
        }
    }
}
