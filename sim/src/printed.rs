//! The texts that a kernel has printed.

/// A text that a thread printed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Printed {
    /// The number of the CTA in the grid, x fastest.
    pub cta: u64,
    /// The number of the thread in the CTA.
    pub thread: u32,
    /// The text.
    pub text: String,
}

/// The printed texts, thread by thread: an order that does not depend on timing.
pub(crate) fn in_order(mut printed: Vec<Printed>) -> String {
    printed.sort_by_key(|printed| (printed.cta, printed.thread));
    printed.into_iter().map(|printed| printed.text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_in_the_order_of_threads() {
        let printed = |cta, thread, text: &str| Printed { cta, thread, text: text.into() };
        let list = vec![printed(1, 0, "d"), printed(0, 5, "b"), printed(0, 1, "a"), printed(0, 5, "c")];
        assert_eq!(in_order(list), "abcd");
    }
}
