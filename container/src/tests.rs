//! Every container of `tests/decode` has the same code; damaged containers are errors.

use proptest::prelude::*;
use ptxc_machine::Arch;

use super::*;

const CUBIN: &[u8] = include_bytes!("../../tests/decode/scale.sm_90.cubin");
const ZSTD: &[u8] = include_bytes!("../../tests/decode/scale.zstd.fatbin");
const LZ4: &[u8] = include_bytes!("../../tests/decode/scale.lz4.fatbin");
const GROUP: &[u8] = include_bytes!("../../tests/decode/scale.group.fatbin");
const ARCHIVE: &[u8] = include_bytes!("../../tests/decode/scale.a");
const CUOBJDUMP: &[u8] = include_bytes!("../../tests/decode/scale.cuobjdump.txt");
const NVDISASM: &[u8] = include_bytes!("../../tests/decode/scale.nvdisasm.txt");

/// The content found, one line each: the architecture with functions and their sizes, or the other
/// kind of content.
fn found(bytes: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    visit(bytes, &mut |place, found| {
        let what = match found {
            Found::Image(image) => {
                let arch = image.arch.map_or("?".to_string(), |arch| arch.to_string());
                let functions = image.functions.iter();
                let functions: Vec<_> =
                    functions.map(|function| format!("{} {}", function.name, function.len())).collect();
                format!("{arch}: {}", functions.join(", "))
            }
            Found::Skipped(content) => content.to_string(),
            Found::Broken(why) => format!("error: {why}"),
        };
        lines.push(format!("{place}: {what}"));
    });
    lines
}

/// The code of the kernel for sm_90, in whatever container it is.
fn code(bytes: &[u8]) -> Vec<u8> {
    let mut code = Vec::new();
    visit(bytes, &mut |_, found| {
        if let Found::Image(image) = found
            && image.arch == Some(Arch::Sm90)
            && code.is_empty()
        {
            code = image.functions[0].code.to_vec();
        }
    });
    code
}

#[test]
fn every_container_has_the_kernel() {
    assert_eq!(found(CUBIN), ["image 1: sm_90: scale 32"]);
    let both = ["image 1: sm_75: scale 16", "image 2: sm_90: scale 32", "image 3: PTX"];
    assert_eq!(found(ZSTD), both);
    assert_eq!(found(LZ4), both);
    let group = ["image 1: PTX", "image 2: sm_75: scale 16", "image 3: sm_90: scale 32"];
    assert_eq!(found(GROUP), group);
    let members = ["image 1 (scale.o): sm_90: scale 32", "image 2 (scale.rdc.o): sm_90: scale 32"];
    assert_eq!(found(ARCHIVE), members);
    for text in [CUOBJDUMP, NVDISASM] {
        assert_eq!(found(text), ["image 1: sm_90: scale 32"]);
    }
    let expected = code(CUBIN);
    assert_eq!(expected.len(), 32 * 16);
    for bytes in [ZSTD, LZ4, GROUP, ARCHIVE, CUOBJDUMP, NVDISASM] {
        assert_eq!(code(bytes), expected);
    }
}

/// A fatbin with one entry: the payload, and a header that `change` modifies.
fn fatbin(payload: &[u8], change: impl Fn(&mut [u8])) -> Vec<u8> {
    let mut entry = vec![0; 64];
    entry[0] = 2;
    entry[4..8].copy_from_slice(&64u32.to_le_bytes());
    entry[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    entry[16..20].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    change(&mut entry);
    let mut bytes = 0xba55_ed50u32.to_le_bytes().to_vec();
    bytes.extend([1, 0, 16, 0]);
    bytes.extend(((entry.len() + payload.len()) as u64).to_le_bytes());
    bytes.extend(entry);
    bytes.extend(payload);
    bytes
}

fn compressed(flag: u16, size: u64) -> impl Fn(&mut [u8]) {
    move |entry| {
        entry[40..42].copy_from_slice(&flag.to_le_bytes());
        entry[56..64].copy_from_slice(&size.to_le_bytes());
    }
}

#[test]
fn sizes_in_headers_are_checked() {
    // A frame of zstd that is a gigabyte of zeros: magic, no checksum, a window of 1 KiB, then blocks of one byte repeated.
    let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
    for block in 0..8192u32 {
        let header = u32::from(block == 8191) | 1 << 1 | (128 << 10) << 3;
        bomb.extend(&header.to_le_bytes()[..3]);
        bomb.push(0);
    }
    for (size, expected) in [
        (1 << 40, "an image claims 1099511627776 bytes, more than it can have"),
        (4096, "its compressed bytes are malformed: they become"),
    ] {
        let lines = found(&fatbin(&bomb, compressed(0x8000, size)));
        assert!(lines.len() == 1 && lines[0].contains(expected), "{lines:?}");
    }
    let lines = found(&fatbin(&[0x1f; 100], compressed(0x2000, 1 << 20)));
    assert!(lines[0].contains("an image claims 1048576 bytes, more than its"), "{lines:?}");
    assert!(lines[0].contains("at most 25500"), "{lines:?}");
    let lines = found(&fatbin(CUBIN, compressed(0xa000, 1)));
    assert!(lines[0].contains("compressed in two ways"), "{lines:?}");
}

#[test]
fn lists_and_sizes_that_make_no_sense_end() {
    let with = |at: usize, value: u8| {
        let mut bytes = fatbin(CUBIN, |_| {});
        bytes[at] = value;
        found(&bytes)
    };
    // The header of an entry of zero bytes, which would be read again and again.
    assert!(with(16 + 4, 0)[0].contains("the header of a fatbin's entry has 0 bytes"));
    assert!(with(6, 0)[0].contains("a fatbin's header has 0 bytes"));
    assert!(with(16 + 15, 0x80)[0].contains("an entry of a fatbin reaches beyond the end"));
    // Two members of a group with the same bytes.
    let list = |entry: &mut [u8]| {
        entry[1] = 1;
        entry[0] = 0;
    };
    let mut group = fatbin(CUBIN, list);
    let mut members = [0u8; 8 + 2 * 64];
    members[0] = 2;
    for member in [8, 72] {
        members[member] = 2;
        members[member + 8..member + 16].copy_from_slice(&(CUBIN.len() as u64).to_le_bytes());
    }
    group.splice(16 + 64..16 + 64, members.iter().copied());
    group[16 + 4..16 + 8].copy_from_slice(&(64 + members.len() as u32).to_le_bytes());
    let size = u64::from_le_bytes(*group[8..].first_chunk().unwrap()) + members.len() as u64;
    group[8..16].copy_from_slice(&size.to_le_bytes());
    let lines = found(&group);
    assert_eq!(lines, ["image 1: sm_90: scale 32", "image 2: error: two members of a group overlap"]);
}

#[test]
fn errors_of_texts_name_the_missing_part() {
    for (text, expected) in [
        ("", "no machine code of a known kind was found"),
        (".text.k:\n/*0000*/ NOP ;\n", "the text has no encodings of instructions"),
        (".text.k:\n/*0000*/ NOP ; /* 0x0000000000007918 */\n", "an instruction reaches beyond the end"),
        ("/*0000*/ NOP ; /* 0x0000000000007918 */\n", "an instruction is outside of all functions: `NOP ;`"),
        (
            ".text.k:\n/*0010*/ NOP ; /* 0x0000000000007918 */\n",
            "an instruction is not at its offset: `NOP ;`",
        ),
    ] {
        assert_eq!(found(text.as_bytes()), [format!("the file: error: {expected}")]);
    }
    let nop = "NOP ; /* 0x0000000000007918 */\n/* 0x000fc00000000000 */\n";
    let text = format!(".text.k:\n{nop}.L_x_0:\n{nop}$k$f:\n{nop}");
    assert_eq!(found(text.as_bytes()), ["image 1: ?: k 2, $k$f 1"]);
    let text = format!("code for sm_100\nFunction : a\n{nop}code for sm_90\nFunction : b\n{nop}");
    let lines = ["image 1: error: the instructions of sm_100 are not known here", "image 2: sm_90: b 1"];
    assert_eq!(found(text.as_bytes()), lines);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damaged_files_are_errors_and_no_panic(
        which in 0usize..7,
        bytes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        words in prop::collection::vec(
            (any::<prop::sample::Index>(), prop::sample::select(vec![0, 1, u32::MAX, 1 << 31, 64, 0x100])), 0..4),
        end in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut file = [CUBIN, ZSTD, LZ4, GROUP, ARCHIVE, CUOBJDUMP, NVDISASM][which].to_vec();
        for (at, byte) in bytes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        for (at, word) in words {
            let at = at.index(file.len() / 4) * 4;
            file[at..at + 4].copy_from_slice(&u32::to_le_bytes(word));
        }
        if let Some(end) = end {
            file.truncate(end.index(file.len()));
        }
        // Every function has whole instructions, and the images have no more bytes than the
        // decompressed file.
        let mut total = 0;
        visit(&file, &mut |_, found| {
            if let Found::Image(image) = found {
                for function in &image.functions {
                    assert_eq!(function.code.len() % 16, 0);
                    total += function.code.len();
                }
            }
        });
        prop_assert!(total <= 64 * file.len().max(1 << 12));
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200), magic in 0usize..4) {
        let magics: [&[u8]; 4] = [b"", b"\x7fELF\x02\x01\x01", b"!<arch>\n", &[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0]];
        let file: Vec<u8> = magics[magic].iter().copied().chain(bytes).collect();
        visit(&file, &mut |_, _| {});
    }
}
