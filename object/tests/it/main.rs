//! Cubins: what is written can be read, by this crate and by NVIDIA's tools.

mod cubin;
mod kept_bytes;
mod oracle;
mod relocations;
