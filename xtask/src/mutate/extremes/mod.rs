//! Inputs in which one property is extreme: depths, lengths, numbers, counts.

mod counts;
mod depths;
mod flow;
mod lengths;
mod sizes;

use fastrand::Rng;

/// The property, its greatest size, and the text for a size.
pub(super) type Extreme = (&'static str, usize, fn(usize) -> Vec<u8>);

/// The text before every module.
const HEADER: &str = ".version 8.5\n.target sm_90\n.address_size 64\n";

/// A module with a kernel of that body.
fn kernel(body: &str) -> Vec<u8> {
    module(&format!(".visible .entry k(.param .u64 out)\n{{\n{body}\nret;\n}}\n"))
}

/// A module of these items.
fn module(items: &str) -> Vec<u8> {
    format!("{HEADER}{items}").into_bytes()
}

/// The concatenation of a text for each number below `n`.
fn each(n: usize, one: impl Fn(usize) -> String) -> String {
    (0..n).map(one).collect()
}

/// All extremes, by file.
fn all() -> impl Iterator<Item = &'static Extreme> {
    [depths::ALL, lengths::ALL, sizes::ALL, counts::ALL, flow::ALL].into_iter().flatten()
}

/// The number of extremes.
pub(super) fn count() -> usize {
    all().count()
}

/// The name and the text of the extreme of that number at its full size.
pub(super) fn full(number: usize) -> Option<(String, Vec<u8>)> {
    let (name, most, text) = all().nth(number)?;
    Some((format!("{name} ({most})"), text(*most)))
}

/// A random extreme of a random size.
pub(super) fn any(rng: &mut Rng) -> (String, Vec<u8>) {
    let number = rng.usize(..count());
    let (name, most, text) = all().nth(number).expect("the number is below the count");
    // Each bit length of the size is equally likely.
    let size = (*most >> rng.u32(..most.ilog2() + 1)).max(1);
    let size = rng.usize(size / 2..=size);
    (format!("{name} ({size})"), text(size))
}
