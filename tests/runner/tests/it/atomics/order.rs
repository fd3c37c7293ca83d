//! Whether updates of one location can have happened one after another.
//!
//! An update is an edge from the content that it read to the content that it left. There is an
//! order if and only if the edges form an Eulerian trail: it begins with the initial content, ends
//! with the final one, and uses each edge once. Such a trail exists if as many edges enter each
//! content as leave it, except for the two ends, and all are connected.

use std::collections::BTreeMap;

/// The reason why no order of the updates (pairs of old and new content) leads from the initial
/// content to the final one.
pub fn explain(initial: u128, last: u128, updates: &[(u128, u128)]) -> Result<(), String> {
    let mut balance: BTreeMap<u128, i64> = BTreeMap::new();
    let mut neighbours: BTreeMap<u128, Vec<u128>> = BTreeMap::new();
    for &(old, new) in updates {
        *balance.entry(old).or_default() += 1;
        *balance.entry(new).or_default() -= 1;
        neighbours.entry(old).or_default().push(new);
    }
    *balance.entry(initial).or_default() -= 1;
    *balance.entry(last).or_default() += 1;
    if let Some((content, surplus)) = balance.iter().find(|(_, surplus)| **surplus != 0) {
        return Err(format!("{content:#x} was seen {surplus} times more than it was there"));
    }
    // In a balanced graph, connected contents are reachable.
    let mut reached = vec![initial];
    let mut waiting = vec![initial];
    while let Some(content) = waiting.pop() {
        for new in neighbours.remove(&content).unwrap_or_default() {
            if !reached.contains(&new) {
                reached.push(new);
                waiting.push(new);
            }
        }
    }
    match neighbours.first_key_value() {
        Some((content, _)) => Err(format!("{content:#x} was seen and never there")),
        None => Ok(()),
    }
}

#[test]
fn orders_are_found_and_missed() {
    assert_eq!(explain(0, 3, &[(2, 3), (0, 1), (1, 2)]), Ok(()));
    assert_eq!(explain(0, 0, &[]), Ok(()));
    assert!(explain(0, 2, &[(0, 1), (0, 1)]).is_err());
    assert!(explain(0, 1, &[(0, 1), (7, 8), (8, 7)]).is_err());
    assert!(explain(0, 2, &[(0, 1)]).is_err());
}
