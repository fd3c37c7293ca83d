//! Decoding and encoding an instruction does not allocate, and neither does its text if the buffer
//! has room for it.

use ptxc_machine::Arch;
use ptxc_sass::text::{push_inst, write_inst};
use ptxc_sass::{Coded, Op, bits};

fn random(arch: Arch) -> Vec<Coded> {
    let mut numbers = fastrand::Rng::with_seed(7);
    let list = (0..4000).map(|_| ptxc_words::random(Op::ALL, arch, &mut numbers));
    list.map(|coded| coded.expect("every architecture has rows")).collect()
}

#[test]
fn instructions_are_decoded_and_encoded_without_allocation() {
    for arch in Arch::ALL {
        let list = random(arch);
        let (mut decoded, mut last) = (0, bits::blank());
        let mut read = || {
            decoded = 0;
            for coded in &list {
                let word = bits::encode(coded, 0, arch, |_| None);
                decoded += usize::from(word.is_ok_and(|word| {
                    bits::decode_into(word, 0, arch, &mut last).is_ok() && bits::decode(word, 0, arch).is_ok()
                }));
            }
        };
        // An operation's table is read when the first of its words appears.
        read();
        let asked = allocation_counter::measure(read).count_total;
        assert_eq!((asked, decoded), (0, list.len()), "{arch}");
    }
}

#[test]
fn instructions_are_written_without_allocation() {
    for arch in Arch::ALL {
        let list = random(arch);
        let (mut bytes, mut text) = (Vec::new(), String::new());
        let mut write = || {
            for coded in &list {
                bytes.clear();
                text.clear();
                push_inst(&mut bytes, &coded.inst, coded.control.reuse, &[], arch);
                let written = write_inst(&mut text, &coded.inst, coded.control.reuse, &[], arch);
                assert!(written.is_ok() && bytes == text.as_bytes());
            }
        };
        // The facts about a row are computed when it is first written, and the texts get room for
        // the longest one.
        write();
        assert_eq!(allocation_counter::measure(write).count_total, 0, "{arch}");
    }
}
