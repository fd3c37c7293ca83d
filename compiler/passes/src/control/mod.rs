//! Control codes: scoreboards, stalls, reuse and yield.
