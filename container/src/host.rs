//! Files of the host's linker: objects, shared objects and programs in ELF, and archives of them.
//!
//! nvcc puts fatbins into the section `.nv_fatbin`, and the linked device code of several files
//! into `__nv_relfatbin`. The linker joins the sections of its inputs, so each may hold several
//! containers.

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection};

use crate::error::ContainerError;
use crate::visit::Visit;
use crate::{code, fatbin};

/// The bytes at the start of an archive.
pub(crate) const ARCHIVE: &[u8] = b"!<arch>\n";

/// The sections that hold fatbins.
const SECTIONS: [&[u8]; 2] = [b".nv_fatbin", b"__nv_relfatbin"];

/// Visits a file that is neither an archive nor a text; returns whether it is of a known kind.
pub(crate) fn object(bytes: &[u8], visit: &mut Visit<'_>) -> bool {
    if code::is_cubin(bytes) {
        visit.cubin(bytes);
    } else if fatbin::is_fatbin(bytes) {
        fatbin::entries(bytes, visit);
    } else if bytes.starts_with(&object::elf::ELFMAG) {
        fatbins(bytes, visit);
    } else {
        return false;
    }
    true
}

/// Visits the fatbins of an ELF file.
fn fatbins(bytes: &[u8], visit: &mut Visit<'_>) {
    let file = match object::File::parse(bytes) {
        Ok(file) => file,
        Err(why) => return visit.broken(ContainerError::Malformed(why.to_string())),
    };
    let sections = file.sections();
    let mut parts: Vec<(u64, u64)> = sections
        .filter(|section| section.name_bytes().is_ok_and(|name| SECTIONS.contains(&name)))
        .filter_map(|section| section.file_range())
        .collect();
    if parts.is_empty() {
        return visit.broken(ContainerError::NoFatbin);
    }
    parts.sort_unstable();
    let mut end = 0;
    for (start, size) in parts {
        if start < end {
            visit.broken(ContainerError::Overlapping("sections"));
            continue;
        }
        end = start.saturating_add(size);
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        match range.and_then(|(start, end)| bytes.get(start..end)) {
            Some(content) => fatbin::entries(content, visit),
            None => visit.broken(ContainerError::Truncated("a section")),
        }
    }
}

/// Visits the members of an archive. A member without device code is ignored.
pub(crate) fn archive(bytes: &[u8], visit: &mut Visit<'_>) {
    let mut found_any = false;
    let archive = match ArchiveFile::parse(bytes) {
        Ok(archive) => archive,
        Err(why) => return visit.broken(ContainerError::Malformed(why.to_string())),
    };
    for member in archive.members() {
        let member = match member.and_then(|member| Ok((member.name(), member.data(bytes)?))) {
            Ok(member) => member,
            Err(why) => {
                visit.place.member = None;
                return visit.broken(ContainerError::Malformed(why.to_string()));
            }
        };
        let (name, data) = member;
        visit.place.member = Some(String::from_utf8_lossy(name).into_owned());
        if data.starts_with(&object::elf::ELFMAG) && !code::is_cubin(data) && !has_fatbins(data) {
            continue;
        }
        found_any |= object(data, visit);
    }
    visit.place.member = None;
    if !found_any {
        visit.broken(ContainerError::NoFatbin);
    }
}

/// Whether an ELF file has a section with fatbins, or is malformed, which must be reported.
fn has_fatbins(bytes: &[u8]) -> bool {
    object::File::parse(bytes).map_or(true, |file| {
        file.sections().any(|section| section.name_bytes().is_ok_and(|name| SECTIONS.contains(&name)))
    })
}
