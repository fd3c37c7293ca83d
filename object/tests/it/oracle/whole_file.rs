//! A file of NVIDIA's compiler that becomes text and a file again loses nothing.
//!
//! Every section, relocation, attribute and symbol of the first file is compared with the second.
//! [`DIFFERENCES`] lists what may differ, with reasons. An entry that no file needs is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use object::LittleEndian as LE;
use object::elf::{FileHeader64, SHT_NOBITS, SHT_REL, SHT_RELA, SHT_SYMTAB, STT_SECTION};
use object::read::elf::{FileHeader, Rel, Rela, SectionHeader, Sym};
use ptxc_machine::Arch;
use ptxc_object::cubin::{Abi, CubinError, assemble_text, read, write, write_text};
use ptxc_sample::stride;
use ptxc_sass::text::{ReadOptions, Style, parse_module};

use super::FOLDERS;
use super::tools::oracle;

/// The parts that may differ: the beginning of a fact's name, and the reason.
const DIFFERENCES: &[(&str, &str)] = &[
    ("data .debug_frame", "frames are made again from the code, unless the file has more debug information"),
    (
        "relocation .debug_frame",
        "frames are made again from the code, unless the file has more debug information",
    ),
    ("data .note.nv.tkinfo", "it names the tool that wrote the file"),
    ("section .note.nv.cuinfo", "the tools link it to the other note in some files"),
    ("data .note.nv.cuinfo", "it names the version of that tool's interface"),
    ("symbol .nv.reservedSmem.offset0", "code does not name the shared memory of the system"),
    ("symbol __nv_reservedSMEM_offset_0_alias", "the same"),
    ("section .nv.shared.reserved.0", "it has only that symbol"),
    ("data .nv.shared.reserved.0", "it has only that symbol"),
    ("data .nv.callgraph", "calls do not leave a program"),
    ("registers .text.", "they are those of the attribute, which may be more"),
    ("section .nv.constant2.", "the bank may be aligned to 8 bytes without need"),
    ("symbol \0", "the symbol has neither name nor section"),
    ("section .nv.rel.action", "it is about relocations of a linker"),
    ("data .nv.rel.action", "it is about relocations of a linker"),
];

type Header = FileHeader64<LE>;

/// The facts about a file: names and values. A name may have several values.
fn facts(bytes: &[u8]) -> BTreeSet<(String, String)> {
    let header = Header::parse(bytes).expect("an ELF file");
    let table = header.sections(LE, bytes).expect("sections");
    let symbols = table.symbols(LE, bytes, SHT_SYMTAB).expect("symbols");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let section_name = |index: usize| {
        let section = table.section(object::SectionIndex(index)).expect("a section");
        text(table.section_name(LE, section).expect("a name"))
    };
    let symbol_name = |index: usize| {
        if index == 0 {
            return String::new();
        }
        let symbol = symbols.symbol(object::SymbolIndex(index)).expect("a symbol");
        match symbol.st_type() == STT_SECTION {
            true => section_name(symbol.st_shndx(LE).into()),
            false => text(symbols.symbol_name(LE, symbol).expect("a name")),
        }
    };
    let mut facts = BTreeSet::new();
    let mut add = |name: String, value: String| facts.insert((name, value));
    for index in (1..symbols.len()).map(object::SymbolIndex) {
        let symbol = symbols.symbol(index).expect("a symbol");
        let section = usize::from(symbol.st_shndx(LE));
        let place = if section == 0 { "nowhere".to_string() } else { section_name(section) };
        if symbol.st_type() != STT_SECTION {
            let (kind, other) = (symbol.st_info(), symbol.st_other());
            let (value, size) = (symbol.st_value(LE), symbol.st_size(LE));
            let name = symbol_name(index.0);
            let name = if name.is_empty() { "\0".to_string() } else { name };
            add(format!("symbol {name}"), format!("{place} {value:#x} {size} {kind:#x} {other:#x}"));
        }
    }
    for section in table.iter().skip(1) {
        let name = text(table.section_name(LE, section).expect("a name"));
        let kind = section.sh_type(LE);
        let data = section.data(LE, bytes).expect("data");
        let target = || section_name(section.sh_info(LE) as usize);
        if name == ".shstrtab" || name == ".strtab" || kind == SHT_SYMTAB {
            continue;
        } else if kind == SHT_RELA {
            for one in section.rela(LE, bytes).expect("relocations").expect("relocations").0 {
                let (symbol, addend) = (symbol_name(one.r_sym(LE, false) as usize), one.r_addend(LE));
                let value = format!("{:#x} {} {symbol}+{addend}", one.r_offset(LE), one.r_type(LE, false));
                add(format!("relocation {}", target()), value);
            }
        } else if kind == SHT_REL {
            for one in section.rel(LE, bytes).expect("relocations").expect("relocations").0 {
                let value = format!(
                    "{:#x} {} {}+0",
                    one.r_offset(LE),
                    one.r_type(LE),
                    symbol_name(one.r_sym(LE) as usize)
                );
                add(format!("relocation {}", target()), value);
            }
        } else if name.starts_with(".nv.info") || name == ".nv.compat" {
            for (code, value) in attributes(data) {
                let value = match code {
                    0x0a | 0x11 | 0x12 | 0x2f => {
                        format!("{} {:?}", symbol_name(value[0] as usize), &value[1..])
                    }
                    0x0f => {
                        value.iter().map(|&symbol| symbol_name(symbol as usize)).collect::<Vec<_>>().join(" ")
                    }
                    _ => format!("{value:x?}"),
                };
                add(format!("attribute {name} {code:#04x}"), value);
            }
        } else {
            let size = section.sh_size(LE);
            let flags = section.sh_flags(LE);
            if size > 0 || kind == SHT_NOBITS {
                add(format!("section {name}"), format!("{kind:#x} {flags:#x} {}", section.sh_addralign(LE)));
                add(format!("data {name}"), format!("{size} {data:02x?}"));
            }
            if name.starts_with(".text.") {
                let info = section.sh_info(LE);
                add(format!("owner {name}"), symbol_name((info & 0xff_ffff) as usize));
                add(format!("registers {name}"), (info >> 24).to_string());
            }
        }
    }
    facts
}

/// The attributes of a section; a value of 8 or 16 bits is one word.
fn attributes(data: &[u8]) -> Vec<(u8, Vec<u32>)> {
    let mut list = Vec::new();
    let mut rest = data;
    while let [format, code, low, high, after @ ..] = rest {
        let number = u16::from_le_bytes([*low, *high]);
        let size = if *format == 4 { usize::from(number) } else { 0 };
        let value = match *format {
            4 => after[..size]
                .chunks(4)
                .map(|word| word.iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte)))
                .collect(),
            _ => vec![number.into()],
        };
        list.push((*code, value));
        rest = &after[size..];
    }
    list
}

/// The file that text and assembler make of a file.
fn again(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let cubin = read(bytes).map_err(|error| error.to_string())?;
    let (text, _) = write_text(&cubin, &[], &Style::default()).map_err(|error| error.to_string())?;
    let options = ReadOptions::default();
    let module = parse_module(&text, &options).map_err(|errors| errors[0].to_string())?;
    let cubin = assemble_text(&module, Abi::V8).map_err(|error| error.to_string())?;
    write(&cubin).map_err(|error| error.to_string())
}

/// Compares a file with what becomes of it. Returns the differences that the list lacks, and adds
/// the entries of the list that it needs.
fn compare(bytes: &[u8], used: &mut BTreeSet<&str>) -> Vec<String> {
    let again = match again(bytes) {
        Ok(again) => again,
        Err(why) => return vec![why],
    };
    let (theirs, own) = (facts(bytes), facts(&again));
    let lost = theirs.difference(&own).map(|fact| ("lost", fact));
    let added = own.difference(&theirs).map(|fact| ("added", fact));
    let has_information = theirs.iter().any(|(name, _)| name.starts_with("data .nv_debug_info"));
    let mut found = Vec::new();
    for (what, (name, value)) in lost.chain(added) {
        match DIFFERENCES.iter().find(|(start, _)| name.starts_with(start)) {
            // With more debug information, frames are kept.
            Some((start, _)) if !(start.ends_with(".debug_frame") && has_information) => {
                used.insert(start);
            }
            _ => found.push(format!("{what}: {name}: {:.200}", value)),
        }
    }
    found
}

#[test]
fn text_loses_nothing_of_a_file() {
    let Some(oracle) = oracle() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut used = BTreeSet::new();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut files = 0;
    for arch in Arch::ALL {
        let kernels = oracle.sample(FOLDERS, arch);
        let step = stride(STRIDE);
        for (number, ptx) in kernels.iter().enumerate().step_by(step) {
            let name = ptx.file_stem().unwrap_or_default().to_string_lossy();
            let options: &[&str] = [&["-O3"][..], &["-g"], &["-lineinfo"]][(number / step) % 3];
            let file = folder.join(format!("{name}.{arch}.whole.cubin"));
            oracle.assemble(ptx, arch, options, &file);
            let differences = compare(&std::fs::read(&file).expect("the file is there"), &mut used);
            std::fs::remove_file(&file).expect("the file is there");
            if !differences.is_empty() {
                found.insert(format!("{name} {arch} {options:?}"), differences);
            }
            files += 1;
        }
    }
    assert!(found.is_empty(), "{} of {files} files: {found:#?}", found.len());
    if files < ENOUGH {
        return;
    }
    let unused: Vec<_> = DIFFERENCES.iter().filter(|(start, _)| !used.contains(start)).collect();
    assert!(unused.is_empty(), "no file needs {unused:?}");
}

/// So many files need every entry of the list.
const ENOUGH: usize = 70;

/// One of this many kernels of the sample is compared.
const STRIDE: usize = 2;

/// The file of an object can be shown, whatever its relocations are; but its text is no program.
#[test]
fn objects_are_shown_and_not_assembled() {
    let Some(oracle) = oracle() else { return };
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("object.whole.cubin");
    for (place, folder) in FOLDERS.iter().enumerate() {
        let kernels = oracle.kernels(&[folder], Arch::Sm80);
        for ptx in kernels.iter().skip(place).step_by(9) {
            oracle.assemble(ptx, Arch::Sm80, &["-c", "-lineinfo"], &file);
            let cubin = read(&std::fs::read(&file).expect("the file is there")).expect("ours to read");
            let (text, programs) = write_text(&cubin, &[], &Style::default()).expect("ours to show");
            assert!(!programs.is_empty(), "{}", ptx.display());
            let module = parse_module(&text, &ReadOptions::default());
            let module = module.unwrap_or_else(|errors| panic!("{}: {}", ptx.display(), errors[0]));
            assert_eq!(assemble_text(&module, Abi::V8), Err(CubinError::Relocatable));
        }
    }
    std::fs::remove_file(&file).expect("the file is there");
}
