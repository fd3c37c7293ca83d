//! A launch from the command line: `--grid 4 --block 256 --arg buf:f32:1024:rand --arg u32:1024`.
//!
//! In: the options and the kernel's parameters. Out: a [`Case`] that expects nothing. An argument
//! is a scalar `TYPE:VALUE`, a structure `bytes:HEX`, or a buffer `buf:TYPE:COUNT:INIT` (see
//! [`content`](super::content)).
//! The arguments must match the parameters in number and size. If SASS text does not declare the
//! parameters, the arguments lie one after another, each aligned to its size.

use ptxc_sass::ParamInfo;
use ptxc_sim::Case;
use ptxc_sim::case::{Argument, Buffer, Elem, Ending, Tolerance, bytes_of_hex};

use super::code::Code;
use super::content::{Init, scalar};
use crate::cli::RunArgs;

/// The largest size of a buffer, in bytes.
const MOST_BYTES: usize = 1 << 30;

/// An option of a launch that was given, if any.
pub(crate) fn given(args: &RunArgs) -> Option<&'static str> {
    let options = [
        ("--entry", args.entry.is_some()),
        ("--grid", args.grid.is_some()),
        ("--block", args.block.is_some()),
        ("--smem", args.smem.is_some()),
        ("--cooperative", args.cooperative),
        ("--arg", !args.arg.is_empty()),
        ("--print", args.print != crate::cli::PRINTED),
    ];
    options.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
}

/// The launch of a kernel.
pub(crate) fn case(code: &Code, args: &RunArgs) -> Result<Case, String> {
    let grid = size("--grid", args.grid.as_deref(), 65536)?;
    let block = size("--block", args.block.as_deref(), 1024)?;
    let mut arguments = Vec::new();
    for (index, text) in args.arg.iter().enumerate() {
        let name = match code.params.as_ref().and_then(|params| params.get(index)) {
            Some(param) => param.name.clone(),
            None => format!("argument {}", index + 1),
        };
        arguments.push(argument(text, name).map_err(|why| format!("--arg {text}: {why}"))?);
    }
    if let Some(params) = &code.params {
        fit(params, &arguments, &args.arg).map_err(|why| format!("{why}\n{}", list(code, params)))?;
    }
    Ok(Case {
        ptx: args.input.path().to_path_buf(),
        entry: code.entry.clone(),
        grid,
        block,
        dynamic_smem: args.smem.unwrap_or(0),
        args: arguments,
        ending: Ending::default(),
        cluster: None,
        cooperative: args.cooperative,
        images: Vec::new(),
    })
}

/// `4`, `4,2`, `4,2,1`.
fn size(option: &str, text: Option<&str>, most: u32) -> Result<[u32; 3], String> {
    let Some(text) = text else { return Ok([1; 3]) };
    let wrong = || format!("{option} {text}: expected one to three numbers, separated by commas");
    let mut size = [1; 3];
    for (index, part) in text.split(',').enumerate() {
        *size.get_mut(index).ok_or_else(wrong)? = part.trim().parse().map_err(|_| wrong())?;
    }
    let product = size.iter().try_fold(1u32, |product, &n| product.checked_mul(n));
    match product {
        Some(product) if (1..=most).contains(&product) => Ok(size),
        _ => Err(format!("{option} {text}: the product must be between 1 and {most}")),
    }
}

fn argument(text: &str, name: String) -> Result<Argument, String> {
    let (kind, rest) = text.split_once(':').ok_or("expected TYPE:VALUE, bytes:HEX or buf:TYPE:COUNT:INIT")?;
    if kind == "bytes" {
        return bytes(rest).map(Argument::Bytes);
    }
    if kind != "buf" {
        let elem = elem(kind)?;
        return Ok(Argument::Scalar { elem, bits: scalar(elem, rest)? });
    }
    let (kind, rest) = rest.split_once(':').ok_or("expected buf:TYPE:COUNT:INIT")?;
    let (count, init) = rest.split_once(':').unwrap_or((rest, "zero"));
    let elem = elem(kind)?;
    let count: usize =
        count.parse().map_err(|_| format!("expected a number of elements, found `{count}`"))?;
    let bytes = count.checked_mul(elem.bytes() as usize).filter(|bytes| *bytes <= MOST_BYTES);
    bytes.ok_or_else(|| format!("{count} elements are too many"))?;
    let init = Init::parse(elem, init)?.content(elem, count)?;
    Ok(Argument::Buffer(Buffer { name, elem, init, expect: None, tolerance: Tolerance::Exact }))
}

/// The bytes of a structure, as pairs of hexadecimal digits.
fn bytes(text: &str) -> Result<Vec<u8>, String> {
    bytes_of_hex(text)
        .filter(|bytes| !bytes.is_empty())
        .ok_or_else(|| "expected pairs of hexadecimal digits".to_string())
}

fn elem(name: &str) -> Result<Elem, String> {
    let known = Elem::ALL.into_iter().find(|elem| elem.name() == name);
    known.ok_or_else(|| {
        let names = Elem::ALL.map(Elem::name).join(", ");
        format!("`{name}` is not a type; expected one of {names}, or buf:TYPE:COUNT:INIT")
    })
}

/// Checks that the arguments match the parameters.
fn fit(params: &[ParamInfo], arguments: &[Argument], texts: &[String]) -> Result<(), String> {
    for ((param, argument), text) in params.iter().zip(arguments).zip(texts) {
        let bytes = argument.size();
        if bytes != param.size {
            let what = match argument {
                Argument::Scalar { .. } | Argument::Bytes(_) | Argument::Struct(..) => "",
                Argument::Image(..) | Argument::Sampler(..) => ", a handle",
                Argument::TensorMap(_) => ", a tensor map",
                Argument::Buffer(_) | Argument::Address { .. } => ", the address of a buffer",
            };
            return Err(format!(
                "--arg {text} has {bytes} bytes{what}, but the parameter `{}` has {}",
                param.name, param.size
            ));
        }
    }
    if params.len() != arguments.len() {
        let (params, arguments) = (params.len(), arguments.len());
        return Err(format!(
            "expected {params} arguments (--arg), one for each parameter, found {arguments}"
        ));
    }
    Ok(())
}

/// The parameters for a message.
fn list(code: &Code, params: &[ParamInfo]) -> String {
    let mut text = format!("the parameters of `{}`, in order:", code.entry);
    for param in params {
        let example = match param.size {
            8 => "--arg buf:f32:1024:rand, --arg u64:7",
            4 => "--arg u32:7, --arg f32:0.5",
            2 => "--arg u16:7, --arg f16:0.5",
            1 => "--arg u8:7",
            _ => "--arg bytes:HEX",
        };
        text.push_str(&format!("\n  {:<24} {} bytes, such as {example}", param.name, param.size));
    }
    if params.is_empty() {
        text.push_str(" none");
    }
    text
}

/// Parameters for arguments if nothing is known about them: one after another, each aligned to its
/// size.
pub(crate) fn assumed(arguments: &[Argument]) -> Vec<ParamInfo> {
    let mut offset: u32 = 0;
    let place = |(index, argument): (usize, &Argument)| {
        // The alignment of a structure is not known; the greatest is the most likely.
        let size = argument.size();
        let is_structure = matches!(argument, Argument::Bytes(_) | Argument::Struct(..));
        let start = offset.next_multiple_of(if is_structure { 16 } else { size });
        offset = start + size;
        ParamInfo { name: format!("argument {}", index + 1), size, offset: start, image: None }
    };
    arguments.iter().enumerate().map(place).collect()
}
