//! Neither decoding nor encoding an instruction allocates.

use ptxc_sass::{Arch, Op, bits};

#[test]
fn instructions_are_decoded_and_encoded_without_allocation() {
    for arch in Arch::ALL {
        let mut numbers = fastrand::Rng::with_seed(7);
        let list = (0..4000).map(|_| ptxc_words::random(Op::ALL, arch, &mut numbers));
        let list: Vec<_> = list.map(|coded| coded.expect("every architecture has rows")).collect();
        let mut decoded = 0;
        let asked = allocation_counter::measure(|| {
            for coded in &list {
                let word = bits::encode(coded, 0, arch, |_| None);
                decoded += usize::from(word.is_ok_and(|word| bits::decode(word, 0, arch).is_ok()));
            }
        });
        assert_eq!((asked.count_total, decoded), (0, list.len()), "{arch}");
    }
}
