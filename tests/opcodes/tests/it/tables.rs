//! The tables can be read, and cover the instructions that they are meant for.

use std::collections::BTreeSet;

use ptxc_opcodes::{FAMILIES, Module, Target, modules};

/// The families that do not start with Turing, and their targets.
const LATER: &[(&str, &[Target])] =
    &[("bulk", &[Target::Sm90, Target::Sm90a]), ("warpgroup", &[Target::Sm90a])];

fn all(target: Target) -> Vec<Module> {
    FAMILIES.iter().flat_map(|family| modules(family, target).expect(family.name)).collect()
}

#[test]
fn each_family_has_something_for_each_target_that_has_it() {
    for family in FAMILIES {
        let later = LATER.iter().find(|(name, _)| *name == family.name);
        let usual = &Target::ALL[..Target::ALL.len() - 1];
        let expected = later.map_or(usual, |(_, targets)| targets);
        let has = |target: &Target| !modules(family, *target).expect(family.name).is_empty();
        let found: Vec<Target> = Target::ALL.into_iter().filter(has).collect();
        assert_eq!(found, expected, "{}", family.name);
    }
}

#[test]
fn the_same_modules_every_time_under_names_of_their_own() {
    let made = all(Target::Sm90);
    assert!(made == all(Target::Sm90));
    let names: BTreeSet<&str> = made.iter().map(|module| module.name.as_str()).collect();
    assert_eq!(names.len(), made.len());
}

#[test]
fn lines_of_steps_are_theirs() {
    for module in all(Target::Sm75) {
        let lines: Vec<&str> = module.text.lines().collect();
        for step in &module.steps {
            let own = &lines[step.lines.start() - 1..*step.lines.end()];
            assert_eq!((own.first(), own.last()), (Some(&"{"), Some(&"}")), "{}", step.text);
            let opening = step.text.split(';').next().unwrap_or_default();
            assert!(own.iter().any(|line| line.starts_with(opening)), "{}", step.text);
        }
    }
}

#[test]
fn nothing_of_a_template_is_left_in_its_steps() {
    for family in FAMILIES {
        for section in family.sections().expect(family.name) {
            let steps = section.steps().expect(family.name);
            assert!(steps.len() >= section.templates.len());
            let left: Vec<&String> = steps.iter().filter(|step| step.contains(['<', '>', '$'])).collect();
            assert!(left.is_empty(), "{}: {left:?}", family.name);
        }
    }
}
