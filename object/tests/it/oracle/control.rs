//! The control fields that the disassembler accepts, compared with `Control::check`.

use std::collections::HashSet;

use ptxc_machine::Arch;
use ptxc_sass::Control;

use super::tools::oracle;

/// `FFMA R5, R3, R5, R7` without a control field. Each of its three operands may be kept for reuse.
const FFMA: u128 = 0x0000_0000_0000_0007_0000_0005_0305_7223;

/// Every stall with every yield hint, every value of the three bits that are reuse flags or a batch code, and PM bits.
#[test]
fn the_disassembler_takes_the_fields_that_check_takes() {
    let Some(oracle) = oracle() else { return };
    let no_scoreboard = (7 << 5) | (7 << 8);
    let highs: Vec<u64> = (0..1u64 << 8)
        .map(|choice| ((choice & 0x1f) | no_scoreboard | (choice >> 5) << 17) << (Control::LOWEST_BIT - 64))
        .flat_map(|field| (0..4u64).map(move |pm| field | pm << (Control::PM_BIT - 64)))
        .collect();
    let words: Vec<u128> = highs.iter().map(|&high| FFMA | u128::from(high) << 64).collect();
    for arch in Arch::ALL {
        let refused: HashSet<usize> = oracle.refused(&words, arch).into_iter().collect();
        for (index, &high) in highs.iter().enumerate() {
            let field = Control::of_word(high);
            assert_eq!(field.is_err(), refused.contains(&index), "{arch}: {high:#018x}: {field:?}");
            if let Ok(field) = field {
                assert_eq!(field.to_word(), Ok(high), "{arch}");
            }
        }
    }
}
