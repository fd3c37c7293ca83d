//! Ratios of the compiler's figures to ptxas's, and their geometric means.

/// The compiler's figure divided by ptxas's. Figures below 1 count as 1, so that no ratio is zero
/// or infinite.
pub(crate) fn ratio(ours: f64, theirs: f64) -> f64 {
    ours.max(1.0) / theirs.max(1.0)
}

/// A summary of ratios: their geometric mean, and the worst of them with its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary<'a> {
    pub(crate) mean: f64,
    pub(crate) worst: (f64, &'a str),
}

impl<'a> Summary<'a> {
    /// Summarizes ratios of which the highest is the worst.
    pub(crate) fn of(ratios: impl IntoIterator<Item = (f64, &'a str)>) -> Summary<'a> {
        Summary::by(ratios, |ratio, worst| ratio > worst)
    }

    /// Summarizes ratios of which the lowest is the worst.
    pub(crate) fn of_gains(ratios: impl IntoIterator<Item = (f64, &'a str)>) -> Summary<'a> {
        Summary::by(ratios, |ratio, worst| ratio < worst)
    }

    fn by(ratios: impl IntoIterator<Item = (f64, &'a str)>, is_worse: fn(f64, f64) -> bool) -> Summary<'a> {
        let (mut logarithms, mut count, mut worst) = (0.0, 0, None);
        for (ratio, name) in ratios {
            logarithms += ratio.ln();
            count += 1;
            if worst.is_none_or(|(found, _)| is_worse(ratio, found)) {
                worst = Some((ratio, name));
            }
        }
        Summary { mean: (logarithms / f64::from(count.max(1))).exp(), worst: worst.unwrap_or((1.0, "none")) }
    }
}

impl std::fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "geometric mean {:.2}, worst {:.2} ({})", self.mean, self.worst.0, self.worst.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_geometric_and_the_worst_is_named() {
        let ratios = [(0.5, "a"), (4.0, "b"), (0.5, "c")];
        assert_eq!(Summary::of(ratios), Summary { mean: 1.0, worst: (4.0, "b") });
        assert_eq!(
            Summary::of_gains(ratios),
            Summary { mean: 1.0, worst: (0.5, "a") },
            "the first of equal ones"
        );
        assert_eq!(Summary::of([]), Summary { mean: 1.0, worst: (1.0, "none") });
        assert_eq!((ratio(0.0, 4.0), ratio(3.0, 0.0)), (0.25, 3.0));
    }
}
