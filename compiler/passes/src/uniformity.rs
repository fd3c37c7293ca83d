//! Which values are the same in every thread of a warp, and which branches diverge.
