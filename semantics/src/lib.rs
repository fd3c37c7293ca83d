//! The arithmetic of PTX and SASS as pure functions on bits
