//! Cargo takes the features of build dependencies into account only where there is a build script.

fn main() {}
