//! Rewrites operations that the target lacks, one file a rule.
