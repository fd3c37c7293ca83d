//! Brackets divergent regions with BSSY and BSYNC.
