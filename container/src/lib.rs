//! Finds machine code in files: [images](visit) in containers, and the [functions](Image) in an
//! image.
//!
//! | bytes | parts that are read |
//! |---|---|
//! | a cubin: an ELF file of NVIDIA's machine | its sections `.text.…` |
//! | a fatbin | each entry that is a cubin, compressed or not |
//! | an object, a shared object or a program of the host | the fatbins in `.nv_fatbin` and `__nv_relfatbin` |
//! | an archive | each member that is one of these |
//! | text of `nvdisasm -hex` or `cuobjdump -sass` | the encodings after the instructions |
//!
//! ```
//! use ptxc_container::{Found, visit};
//!
//! let mut messages = Vec::new();
//! visit(b"no such file", &mut |_, found| match found {
//!     Found::Image(image) => messages.push(format!("{} functions", image.functions.len())),
//!     Found::Skipped(content) => messages.push(format!("{content} left out")),
//!     Found::Broken(why) => messages.push(why.to_string()),
//! });
//! assert_eq!(messages, ["no machine code of a known kind was found"]);
//! ```
//!
//! Files are untrusted: any bytes give images or errors, and an error does not hide later images.
//! Memory stays within a small multiple of the file and the largest image, which [`MAX_IMAGE`]
//! limits. Images are visited one after the other, so that only one image of a library with
//! thousands is decompressed at a time. There is no recursion: an archive in an archive, or a
//! fatbin in a fatbin, is not an image. Linear in the bytes, except for sorting each image's
//! symbols.

mod code;
mod compression;
mod error;
mod fatbin;
mod found;
mod host;
mod image;
mod listing;
#[cfg(test)]
mod tests;
mod visit;

pub use error::ContainerError;
pub use found::{Content, Found, Place};
pub use image::{Function, Image, MAX_IMAGE, MAX_NAME};
use visit::Visit;

/// Calls a function with each image in a file, in the order of the file, and with each entry that
/// is not an image or is broken.
pub fn visit(bytes: &[u8], each: &mut dyn FnMut(&Place, Found<'_>)) {
    let mut visit = Visit::new(each);
    if bytes.starts_with(host::ARCHIVE) {
        host::archive(bytes, &mut visit);
    } else if !host::object(bytes, &mut visit) {
        match listing::images(bytes) {
            Ok(images) => images
                .into_iter()
                .for_each(|image| visit.next(image.map_or_else(Found::Broken, Found::Image))),
            Err(why) => visit.broken(why),
        }
    }
}
