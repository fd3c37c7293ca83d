//! Block order and the branches that realise it.
