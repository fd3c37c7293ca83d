//! Fatbins: files that `fatbinary` makes and that programs embed.
//!
//! A fatbin is one or more containers, each with a header and entries; each entry has a header and
//! a payload. Numbers are little-endian. The layout was found by experiments with fatbinary 13.5;
//! several public readers, such as `jiegec/fatbinary`, also describe it.
//!
//! | header, at byte | |
//! |---|---|
//! | 0 | `0xba55ed50` |
//! | 4, 6 | version 1; size of the header, 16 |
//! | 8 | 64 bits: bytes of all entries |
//!
//! | entry, at byte | |
//! |---|---|
//! | 0 | 16 bits: 1 PTX, 2 cubin, 8 intermediate code, 256 a group of entries that are compressed together |
//! | 4 | 32 bits: size of this header, 64 and more |
//! | 8 | 64 bits: bytes of the payload, padding included |
//! | 16 | 32 bits: bytes of the payload, if it is compressed |
//! | 28 | 32 bits: architecture, 90 for sm_90 |
//! | 40 | 64 bits: flags; `0x2000` LZ4, `0x8000` zstd |
//! | 56 | 64 bits: bytes before compression |
//!
//! After the header of a group's entry come the number of its members (32 bits), the size of the
//! following data including these eight bytes, and an entry of 64 bytes for each member. The
//! member's place in the decompressed bytes is at byte 4 of its entry, and its size at byte 8.

use std::borrow::Cow;

use crate::code;
use crate::compression::{Compression, unpack};
use crate::error::ContainerError;
use crate::found::{Content, Found};
use crate::visit::Visit;

const MAGIC: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
/// The size of a container's header.
const HEADER: usize = 16;
/// The least size of an entry's header.
const ENTRY: usize = 64;

const PTX: u16 = 1;
const CUBIN: u16 = 2;
const LINK_TIME: u16 = 8;
const GROUP: u16 = 256;

const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;

/// Whether the bytes start like a fatbin.
pub(crate) fn is_fatbin(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Visits the content of adjacent containers, as in a section of an object, with zeros between
/// them.
pub(crate) fn entries(bytes: &[u8], visit: &mut Visit<'_>) {
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        if rest[0] == 0 {
            at += 1;
            continue;
        }
        match container(rest, visit) {
            Ok(size) => at += size,
            Err(why) => return visit.broken(why),
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// The bytes from `start` on, as many as a header says.
fn slice(bytes: &[u8], start: usize, size: u64) -> Option<&[u8]> {
    let end = start.checked_add(usize::try_from(size).ok()?)?;
    bytes.get(start..end)
}

/// Visits the entries of the container at the start of the bytes; returns its size.
fn container(bytes: &[u8], visit: &mut Visit<'_>) -> Result<usize, ContainerError> {
    const WHAT: ContainerError = ContainerError::Truncated("a fatbin");
    if !is_fatbin(bytes) {
        return Err(ContainerError::Malformed("the bytes are not a fatbin".to_string()));
    }
    let header = usize::from(u16_at(bytes, 6).ok_or(WHAT)?);
    if header < HEADER {
        return Err(ContainerError::Malformed(format!("a fatbin's header has {header} bytes")));
    }
    let entries = slice(bytes, header, u64_at(bytes, 8).ok_or(WHAT)?).ok_or(WHAT)?;
    let mut at = 0;
    while at < entries.len() {
        at += entry(&entries[at..], visit)?;
    }
    Ok(header + entries.len())
}

/// Visits the entry at the start of the bytes; returns its size.
fn entry(bytes: &[u8], visit: &mut Visit<'_>) -> Result<usize, ContainerError> {
    const WHAT: ContainerError = ContainerError::Truncated("an entry of a fatbin");
    let header = bytes.get(..u32_at(bytes, 4).ok_or(WHAT)? as usize).ok_or(WHAT)?;
    if header.len() < ENTRY {
        return Err(ContainerError::Malformed(format!(
            "the header of a fatbin's entry has {} bytes",
            header.len()
        )));
    }
    let payload = slice(bytes, header.len(), u64_at(header, 8).ok_or(WHAT)?).ok_or(WHAT)?;
    let kind = u16_at(header, 0).ok_or(WHAT)?;
    // The members of a group may be for several architectures.
    visit.place.arch = u32_at(header, 28).filter(|_| kind != GROUP);
    match kind {
        PTX => visit.next(Found::Skipped(Content::Ptx)),
        LINK_TIME => visit.next(Found::Skipped(Content::LinkTime)),
        CUBIN => match content(header, payload) {
            Ok(content) => image(&content, visit),
            Err(why) => visit.next(Found::Broken(why)),
        },
        GROUP => match content(header, payload) {
            Ok(content) => group(header, &content, visit),
            Err(why) => visit.next(Found::Broken(why)),
        },
        kind => visit.next(Found::Skipped(Content::Other(kind))),
    }
    visit.place.arch = None;
    Ok(header.len() + payload.len())
}

/// The payload of an entry, decompressed and without padding.
fn content<'a>(header: &[u8], payload: &'a [u8]) -> Result<Cow<'a, [u8]>, ContainerError> {
    const WHAT: ContainerError = ContainerError::Truncated("a compressed entry");
    let flags = u64_at(header, 40).ok_or(WHAT)?;
    let compression = match (flags & LZ4 != 0, flags & ZSTD != 0) {
        (false, false) => return Ok(payload.into()),
        (true, false) => Compression::Lz4,
        (false, true) => Compression::Zstd,
        (true, true) => {
            return Err(ContainerError::Malformed("an entry is compressed in two ways".to_string()));
        }
    };
    let packed = slice(payload, 0, u64::from(u32_at(header, 16).ok_or(WHAT)?)).ok_or(WHAT)?;
    unpack(packed, compression, u64_at(header, 56).ok_or(WHAT)?).map(Cow::Owned)
}

fn image(bytes: &[u8], visit: &mut Visit<'_>) {
    if code::is_cubin(bytes) {
        visit.cubin(bytes);
    } else {
        visit.next(Found::Broken(ContainerError::Malformed("the entry holds no cubin".to_string())));
    }
}

/// Visits the members of a group.
fn group(header: &[u8], content: &[u8], visit: &mut Visit<'_>) {
    let table = &header[ENTRY..];
    let count = u32_at(table, 0).unwrap_or(0) as usize;
    let members = table.get(8..).unwrap_or_default().chunks_exact(ENTRY);
    if members.len() < count {
        visit.next(Found::Broken(ContainerError::Truncated("the list of a group")));
    }
    // Members are adjacent and in order; any other order could read the same bytes many times.
    let mut end = 0;
    for member in members.take(count) {
        let start = u32_at(member, 4).unwrap_or(0) as usize;
        let bytes = u64_at(member, 8).and_then(|size| slice(content, start, size));
        match (u16_at(member, 0), bytes) {
            (Some(PTX), _) => visit.next(Found::Skipped(Content::Ptx)),
            (Some(CUBIN), Some(_)) if start < end => {
                visit.next(Found::Broken(ContainerError::Overlapping("members of a group")));
            }
            (Some(CUBIN), Some(bytes)) => {
                end = start + bytes.len();
                image(bytes, visit);
            }
            (Some(CUBIN), None) => {
                visit.next(Found::Broken(ContainerError::Truncated("a member of a group")));
            }
            (kind, _) => visit.next(Found::Skipped(Content::Other(kind.unwrap_or(0)))),
        }
    }
}
