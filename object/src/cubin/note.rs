//! Notes: the tool that made a file, and the target of the file.
//!
//! In the layout of CUDA 13, notes hold the facts that the header held before: the virtual
//! architecture and the version of the toolkit. They also name the tool that wrote the file.

const OWNER: &[u8; 12] = b"NVIDIA Corp\0";
const CUDA_INFO: u32 = 1000;
const TOOL_INFO: u32 = 2000;
/// The version of the layout of the notes.
const VERSION: u16 = 2;

fn note(kind: u32, data: &[u8]) -> Vec<u8> {
    let sizes = [OWNER.len() as u32, data.len() as u32, kind];
    let mut bytes: Vec<u8> = sizes.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(OWNER);
    bytes.extend(data);
    bytes
}

/// `.note.nv.cuinfo`: the virtual architecture by its number, and the toolkit's version.
pub(super) fn cuda_info(number: u32, toolkit: u32) -> Vec<u8> {
    let mut data = Vec::new();
    data.extend(VERSION.to_le_bytes());
    data.extend((number as u16).to_le_bytes());
    data.extend(toolkit.to_le_bytes());
    note(CUDA_INFO, &data)
}

/// `.note.nv.tkinfo`: the start of each of five strings (the source, the tool, its version, its
/// branch, its options), then the strings.
pub(super) fn tool_info() -> Vec<u8> {
    let strings = ["", "ptxc", concat!("ptxc ", env!("CARGO_PKG_VERSION")), "", ""];
    let mut data = u32::from(VERSION).to_le_bytes().to_vec();
    let mut at = 0u32;
    for string in strings {
        data.extend(at.to_le_bytes());
        at += string.len() as u32 + 1;
    }
    for string in strings {
        data.extend(string.as_bytes());
        data.push(0);
    }
    data.resize(data.len().next_multiple_of(4), 0);
    note(TOOL_INFO, &data)
}
