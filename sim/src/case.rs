//! Execution cases: a launch, with its buffers and their expected content.
//!
//! In: a JSON file such as
//!
//! ```text
//! { "ptx": "ptx/t1/saxpy.sm_90.ptx", "entry": "saxpy", "grid": [2, 1, 1], "block": [128, 1, 1],
//!   "dynamic_smem": 0, "args": [
//!     {"kind": "scalar", "elem": "s32", "value": 200},
//!     {"kind": "buffer", "name": "y", "elem": "f32", "init": {"zeros": 800},
//!      "expect": {"hex": "0000803f…"}, "tolerance": "exact"} ] }
//! ```
//!
//! The arguments are in the order of the kernel's parameters. A scalar is passed by value, and so is a
//! structure, whose bytes are given (`{"kind": "bytes", "hex": "0100…"}`); a buffer is passed by its
//! address in device memory. A structure with addresses and tensor maps is of the kind `struct` and has
//! [parts](Part). An [image](image) is passed by its handle; for a parameter that is a `.texref`, and in
//! the list `images`, it has the name of the texture or surface in the module. A [tensor map](tensor)
//! describes a buffer and is passed by value or by its address.
//! `expect` is null if nothing is expected. `ptx` is relative to the corpus, the parent of the folder
//! that contains the case. A case may also expect a text or a fault ([ending]). `about` is a comment.

mod ending;
mod image;
mod place;
mod tensor;

use std::path::{Path, PathBuf};

use ptxc_semantics::image::Sampler;
use serde::Deserialize;

pub use self::ending::{Ending, ExpectedFault};
use self::image::{RawImage, RawSampler};
use self::tensor::RawTensor;
pub use self::tensor::TensorArgument;
use crate::error::SimError;
use crate::images::Texels;
use crate::memory::MOST_PARAMETER_BYTES;
use crate::tensor_map;

/// The element type of a buffer or scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Elem {
    /// An unsigned byte.
    U8,
    /// A signed byte.
    S8,
    /// An unsigned 16-bit integer.
    U16,
    /// A signed 16-bit integer.
    S16,
    /// An unsigned 32-bit integer.
    U32,
    /// A signed 32-bit integer.
    S32,
    /// An unsigned 64-bit integer.
    U64,
    /// A signed 64-bit integer.
    S64,
    /// A binary16.
    F16,
    /// A bfloat16.
    Bf16,
    /// A binary32.
    F32,
    /// A binary64.
    F64,
}

impl Elem {
    /// Every type, smaller ones first.
    pub const ALL: [Elem; 12] = [
        Elem::U8,
        Elem::S8,
        Elem::U16,
        Elem::S16,
        Elem::U32,
        Elem::S32,
        Elem::U64,
        Elem::S64,
        Elem::F16,
        Elem::Bf16,
        Elem::F32,
        Elem::F64,
    ];

    /// Its name in a case: `u32`.
    pub const fn name(self) -> &'static str {
        match self {
            Elem::U8 => "u8",
            Elem::S8 => "s8",
            Elem::U16 => "u16",
            Elem::S16 => "s16",
            Elem::U32 => "u32",
            Elem::S32 => "s32",
            Elem::U64 => "u64",
            Elem::S64 => "s64",
            Elem::F16 => "f16",
            Elem::Bf16 => "bf16",
            Elem::F32 => "f32",
            Elem::F64 => "f64",
        }
    }

    /// Size in bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            Elem::U8 | Elem::S8 => 1,
            Elem::U16 | Elem::S16 | Elem::F16 | Elem::Bf16 => 2,
            Elem::U32 | Elem::S32 | Elem::F32 => 4,
            Elem::U64 | Elem::S64 | Elem::F64 => 8,
        }
    }

    /// Whether it is a float.
    pub const fn is_float(self) -> bool {
        matches!(self, Elem::F16 | Elem::Bf16 | Elem::F32 | Elem::F64)
    }
}

/// The condition under which a result is right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// The values are equal: floats are compared as values, so -0 equals +0, and any NaN equals any
    /// other NaN.
    Exact,
    /// `|got - expected| <= abs + rel * |expected|`.
    Near {
        /// The absolute part.
        abs: f64,
        /// The relative part.
        rel: f64,
    },
}

/// An argument of the kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// Passed by value.
    Scalar {
        /// Its type.
        elem: Elem,
        /// Its bits.
        bits: u64,
    },
    /// A structure, passed by value.
    Bytes(Vec<u8>),
    /// A structure, passed by value, in which some bytes are addresses of buffers or tensor maps.
    Struct(Vec<u8>, Vec<Part>),
    /// Device memory, passed by address.
    Buffer(Buffer),
    /// Another address in the memory of a buffer.
    Address {
        /// The name of the buffer.
        of: String,
        /// The offset in the buffer, in bytes.
        offset: u64,
    },
    /// A texture or surface, passed by its handle, and its texels.
    Image(Buffer, Texels),
    /// A sampler without a texture, passed by its handle, and its name.
    Sampler(String, Sampler),
    /// The description of a tensor in a buffer.
    TensorMap(TensorArgument),
}

/// An address of a buffer, or a tensor map, that a structure contains.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its offset in the structure, in bytes.
    pub at: u32,
    /// The buffer, address or tensor map.
    pub argument: Argument,
}

impl Argument {
    /// The argument, then the parts of a structure.
    fn with_parts(&self) -> impl Iterator<Item = &Argument> {
        let parts = match self {
            Argument::Struct(_, parts) => parts.as_slice(),
            Argument::Scalar { .. } | Argument::Bytes(_) | Argument::Buffer(_) => &[],
            Argument::Image(..)
            | Argument::Sampler(..)
            | Argument::TensorMap(_)
            | Argument::Address { .. } => &[],
        };
        std::iter::once(self).chain(parts.iter().map(|part| &part.argument))
    }

    fn buffer(&self) -> Option<&Buffer> {
        match self {
            Argument::Buffer(buffer) | Argument::Image(buffer, _) => Some(buffer),
            Argument::Scalar { .. } | Argument::Bytes(_) | Argument::Struct(..) => None,
            Argument::Sampler(..) | Argument::TensorMap(_) | Argument::Address { .. } => None,
        }
    }

    /// A buffer with an expected content.
    fn expecting(&self) -> Option<&Buffer> {
        self.with_parts().filter_map(Argument::buffer).find(|buffer| buffer.expect.is_some())
    }

    /// The size of its parameter in bytes.
    pub fn size(&self) -> u32 {
        match self {
            Argument::Scalar { elem, .. } => elem.bytes(),
            Argument::Bytes(bytes) | Argument::Struct(bytes, _) => bytes.len() as u32,
            Argument::Buffer(_) | Argument::Address { .. } => 8,
            Argument::Image(..) | Argument::Sampler(..) => 8,
            Argument::TensorMap(tensor) => {
                if tensor.in_memory {
                    8
                } else {
                    tensor_map::BYTES as u32
                }
            }
        }
    }
}

/// Device memory before and after the launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub elem: Elem,
    /// Content before the launch.
    pub init: Vec<u8>,
    /// The expected content after the launch, if any; as long as `init`.
    pub expect: Option<Vec<u8>>,
    /// The condition under which an element is right.
    pub tolerance: Tolerance,
}

/// A launch and its expected results.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The PTX file.
    pub ptx: PathBuf,
    /// The kernel.
    pub entry: String,
    /// The grid, in CTAs.
    pub grid: [u32; 3],
    /// The CTA, in threads.
    pub block: [u32; 3],
    /// The CTAs of a cluster, unless the kernel states them itself.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory, in bytes.
    pub dynamic_smem: u32,
    /// The arguments in the order of the parameters.
    pub args: Vec<Argument>,
    /// The expected end.
    pub ending: Ending,
    /// Whether the CTAs may wait for each other: all of them are resident, and the driver gives them a
    /// workspace for their barrier.
    pub cooperative: bool,
    /// The textures, samplers and surfaces that the module declares, by their names.
    pub images: Vec<Argument>,
}

impl Case {
    /// Reads a case. Errors name the file.
    pub fn load(path: impl AsRef<Path>) -> Result<Case, SimError> {
        let path = path.as_ref();
        let named = |what: String| SimError::Case(format!("{}: {what}", path.display()));
        let is_file = std::fs::metadata(path).map_err(|error| named(error.to_string()))?.is_file();
        if !is_file {
            return Err(named("is not a regular file".to_string()));
        }
        let text = std::fs::read_to_string(path).map_err(|error| named(error.to_string()))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        Case::parse(text, &corpus_of(path)).map_err(named)
    }

    /// Parses a case; its PTX path is relative to `corpus`.
    pub fn parse(text: &str, corpus: &Path) -> Result<Case, String> {
        let raw: RawCase = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let threads = raw.block.iter().try_fold(1u32, |product, &n| product.checked_mul(n));
        let ctas = raw.grid.iter().try_fold(1u32, |product, &n| product.checked_mul(n));
        if raw.cluster.is_some_and(|cluster| cluster.contains(&0)) {
            return Err("a cluster must have at least 1 CTA".to_string());
        }
        if !matches!(threads, Some(1..=1024)) || !matches!(ctas, Some(1..=65536)) {
            return Err("a grid must have 1 to 65536 CTAs here, and a CTA 1 to 1024 threads".to_string());
        }
        let args = checked(raw.args)?;
        if raw.fault.as_ref().is_some_and(|fault| fault.text.is_empty()) {
            return Err("the text of a fault must not be empty".to_string());
        }
        if let (Some(_), Some(buffer)) = (&raw.fault, args.iter().find_map(Argument::expecting)) {
            let name = &buffer.name;
            return Err(format!("buffer {name}: expect must be null, because the case expects a fault"));
        }
        Ok(Case {
            ptx: corpus.join(raw.ptx),
            entry: raw.entry,
            grid: raw.grid,
            block: raw.block,
            dynamic_smem: raw.dynamic_smem,
            args,
            images: images(raw.images)?,
            ending: Ending { printed: raw.printed, fault: raw.fault },
            cluster: raw.cluster,
            cooperative: raw.cooperative,
        })
    }

    /// The buffers, in order. Those of a structure are at its place.
    pub fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        let arguments = self.args.iter().chain(&self.images);
        arguments.flat_map(|arg| arg.with_parts()).filter_map(Argument::buffer)
    }

    /// The buffers, in the order of [`buffers`](Case::buffers).
    pub fn buffers_mut(&mut self) -> Vec<&mut Buffer> {
        let mut buffers = Vec::new();
        for arg in self.args.iter_mut().chain(&mut self.images) {
            match arg {
                Argument::Buffer(buffer) | Argument::Image(buffer, _) => buffers.push(buffer),
                Argument::Struct(_, parts) => {
                    let inner = parts.iter_mut().filter_map(|part| match &mut part.argument {
                        Argument::Buffer(buffer) => Some(buffer),
                        _ => None,
                    });
                    buffers.extend(inner);
                }
                Argument::Scalar { .. } | Argument::Bytes(_) => {}
                Argument::Sampler(..) | Argument::TensorMap(_) | Argument::Address { .. } => {}
            }
        }
        buffers
    }
}

/// The folder that contains the folder of a case.
fn corpus_of(case: &Path) -> PathBuf {
    let folder = case.parent().unwrap_or(Path::new(""));
    // `.`, `..` and the current folder, whose path is empty, do not name the folder above them.
    match (folder.file_name(), folder.parent()) {
        (Some(_), Some(corpus)) => corpus.to_path_buf(),
        _ => folder.join(".."),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCase {
    /// A comment.
    #[serde(rename = "about")]
    _about: Option<String>,
    ptx: PathBuf,
    entry: String,
    grid: [u32; 3],
    block: [u32; 3],
    #[serde(default)]
    dynamic_smem: u32,
    cluster: Option<[u32; 3]>,
    #[serde(default)]
    cooperative: bool,
    printed: Option<String>,
    fault: Option<ExpectedFault>,
    args: Vec<RawArg>,
    #[serde(default)]
    images: Vec<RawArg>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum RawArg {
    Scalar {
        elem: Elem,
        value: serde_json::Number,
        /// A comment: the argument belongs to the parameter at its place.
        #[serde(rename = "name")]
        _name: Option<String>,
    },
    Bytes(Content),
    Address {
        of: String,
        #[serde(default)]
        offset: u64,
    },
    Struct {
        init: Content,
        parts: Vec<RawPart>,
    },
    Buffer {
        name: String,
        elem: Elem,
        init: Content,
        expect: Option<Content>,
        tolerance: RawTolerance,
    },
    Image(Box<RawImage>),
    Sampler(RawSampler),
    #[serde(rename = "tensor_map")]
    TensorMap(Box<RawTensor>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPart {
    at: u32,
    argument: RawArg,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Content {
    Hex(String),
    Zeros(usize),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawTolerance {
    Word(String),
    Near { abs: f64, rel: f64 },
}

/// The most bytes that all buffers of a case may have.
const MOST_BYTES: usize = 1 << 31;

fn checked(args: Vec<RawArg>) -> Result<Vec<Argument>, String> {
    let mut bytes = 0;
    args.into_iter()
        .map(|arg| {
            let arg = arg.check()?;
            bytes += arg.with_parts().filter_map(Argument::buffer).map(|one| one.init.len()).sum::<usize>();
            match bytes {
                0..=MOST_BYTES => Ok(arg),
                _ => Err(format!("the buffers have more than {MOST_BYTES} bytes")),
            }
        })
        .collect()
}

/// The images and samplers of a module.
fn images(raw: Vec<RawArg>) -> Result<Vec<Argument>, String> {
    let images = checked(raw)?;
    let is_image = |image: &Argument| matches!(image, Argument::Image(..) | Argument::Sampler(..));
    match images.iter().all(is_image) {
        true => Ok(images),
        false => Err("`images` has only images and samplers".to_string()),
    }
}

impl RawArg {
    fn check(self) -> Result<Argument, String> {
        match self {
            RawArg::Scalar { elem, value, .. } => {
                let bits = scalar_bits(elem, &value).ok_or_else(|| {
                    format!("{value} is not a valid {} argument", format!("{elem:?}").to_lowercase())
                })?;
                Ok(Argument::Scalar { elem, bits })
            }
            RawArg::Bytes(content) => structure(content).map(Argument::Bytes),
            RawArg::Address { of, offset } => Ok(Argument::Address { of, offset }),
            RawArg::Struct { init, parts } => {
                let bytes = structure(init)?;
                let parts =
                    parts.into_iter().map(|part| part.check(bytes.len())).collect::<Result<_, _>>()?;
                Ok(Argument::Struct(bytes, parts))
            }
            RawArg::Image(image) => {
                let texels = image.texels().map_err(|what| format!("image {}: {what}", image.name))?;
                let RawImage { name, elem, init, expect, tolerance, .. } = *image;
                let buffer = checked_buffer(name, elem, init, expect, tolerance)?;
                if texels.bytes() != Some(buffer.init.len() as u64) {
                    return Err(format!(
                        "image {}: the lengths of its sizes and init do not match",
                        buffer.name
                    ));
                }
                Ok(Argument::Image(buffer, texels))
            }
            RawArg::Sampler(sampler) => {
                let name = sampler.name().to_string();
                let sampler = sampler.check().map_err(|what| format!("a sampler: {what}"))?;
                Ok(Argument::Sampler(name, sampler))
            }
            RawArg::TensorMap(tensor) => {
                let name = tensor.name().to_string();
                let tensor = tensor.check().map_err(|what| format!("tensor map {name}: {what}"))?;
                Ok(Argument::TensorMap(tensor))
            }
            RawArg::Buffer { name, elem, init, expect, tolerance } => {
                checked_buffer(name, elem, init, expect, tolerance).map(Argument::Buffer)
            }
        }
    }
}

impl RawPart {
    /// Checks a part of a structure of a number of bytes.
    fn check(self, bytes: usize) -> Result<Part, String> {
        let (at, argument) = (self.at, self.argument.check()?);
        if !matches!(argument, Argument::Buffer(_) | Argument::Address { .. } | Argument::TensorMap(_)) {
            return Err("a part of a structure must be a buffer, an address or a tensor map".to_string());
        }
        match at as usize + argument.size() as usize <= bytes {
            true => Ok(Part { at, argument }),
            false => Err(format!("a part at byte {at} is not within the {bytes} bytes of its structure")),
        }
    }
}

/// The bytes of a structure that is passed by value.
fn structure(content: Content) -> Result<Vec<u8>, String> {
    let bytes = content.bytes().map_err(|what| format!("an argument: {what}"))?;
    match bytes.len() as u64 {
        1..=MOST_PARAMETER_BYTES => Ok(bytes),
        count => Err(format!("a structure of {count} bytes cannot be an argument")),
    }
}

fn checked_buffer(
    name: String,
    elem: Elem,
    init: Content,
    expect: Option<Content>,
    tolerance: RawTolerance,
) -> Result<Buffer, String> {
    let init = init.bytes().map_err(|what| format!("buffer {name}: {what}"))?;
    let expect = expect.map(Content::bytes).transpose();
    let expect = expect.map_err(|what| format!("buffer {name}: {what}"))?;
    if !init.len().is_multiple_of(elem.bytes() as usize)
        || expect.as_ref().is_some_and(|expect| expect.len() != init.len())
    {
        return Err(format!("buffer {name}: the lengths of type, init and expect do not match"));
    }
    let tolerance = match tolerance {
        RawTolerance::Word(word) if word == "exact" => Tolerance::Exact,
        RawTolerance::Word(word) => return Err(format!("unknown tolerance {word:?}")),
        RawTolerance::Near { abs, rel } => Tolerance::Near { abs, rel },
    };
    Ok(Buffer { name, elem, init, expect, tolerance })
}

/// The bits of a scalar, if the type can hold the number.
fn scalar_bits(elem: Elem, value: &serde_json::Number) -> Option<u64> {
    match elem {
        Elem::F32 => value.as_f64().map(|value| u64::from((value as f32).to_bits())),
        Elem::F64 => value.as_f64().map(f64::to_bits),
        Elem::F16 | Elem::Bf16 => None,
        _ => {
            let bits = elem.bytes() * 8;
            let value = value.as_i64().map(i128::from).or(value.as_u64().map(i128::from))?;
            let fits = value >= -(1 << (bits - 1)) && value < 1 << bits;
            fits.then_some(value as u64 & (u64::MAX >> (64 - bits)))
        }
    }
}

/// The bytes that pairs of hexadecimal digits stand for; `None` for any other text.
pub fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |&byte: &u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some((digit(pair.first()?)? << 4 | digit(pair.get(1)?)?) as u8)).collect()
}

impl Content {
    fn bytes(self) -> Result<Vec<u8>, String> {
        match self {
            Content::Zeros(count) if count <= 1 << 30 => Ok(vec![0; count]),
            Content::Zeros(count) => Err(format!("{count} bytes are too many")),
            Content::Hex(text) => text
                .as_bytes()
                .chunks(2)
                .map(|pair| {
                    match std::str::from_utf8(pair).map(|pair| (pair.len(), u8::from_str_radix(pair, 16))) {
                        Ok((2, Ok(byte))) => Ok(byte),
                        _ => Err(format!("{:?} is not a hexadecimal byte", String::from_utf8_lossy(pair))),
                    }
                })
                .collect(),
        }
    }
}
