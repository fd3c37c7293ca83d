//! Opcodes as data: the instruction, its types and its modifiers, as the check found them in the
//! table.
//!
//! ```text
//! ld.global.ca.v2.f32    =>    Ld, types [F32], modifiers [Global, Ca, V2]
//! mul.wide.s32           =>    Mul, types [S32], modifiers [Wide]
//! fence.gpu              =>    Fence, no types, modifiers [Gpu, AcqRel]
//! ```

use smallvec::SmallVec;

use super::forms::Form;
use super::scalar::Scalar;
use super::table::{Choice, Mnemonic, Modifier};

/// An opcode that is a form of an instruction.
///
/// Several rows may share one opcode if the operands decide between them; the rows agree in
/// everything here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The instruction.
    pub instruction: Mnemonic,
    /// The types, in the order in which they are written.
    pub types: SmallVec<[Scalar; 8]>,
    /// The modifiers that are not part of the instruction's name, in the order in which they are
    /// written; then the defaults of the omitted ones.
    pub modifiers: SmallVec<[Modifier; 8]>,
}

impl Decoded {
    /// The opcode that has that form.
    pub(super) fn of(form: &Form) -> Decoded {
        let row = form.row;
        let groups = (0..row.groups.len()).filter(|&group| !row.is_name(group));
        let chosen = groups.filter_map(|group| Some((form.part(group), form.choice(group)?)));
        let mut chosen: SmallVec<[(usize, &Choice); 8]> = chosen.collect();
        chosen.sort_by_key(|&(part, _)| part);
        let choices = || chosen.iter().map(|(_, choice)| choice);
        Decoded {
            instruction: row.instruction,
            types: choices().filter_map(|choice| choice.scalar).collect(),
            modifiers: choices().filter_map(|choice| choice.modifier).collect(),
        }
    }

    /// Whether it has a modifier.
    pub fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
    }
}

#[cfg(test)]
mod tests {
    use super::super::forms::forms;
    use super::super::needs::{PtxTarget, PtxVersion, TargetKind};
    use super::*;

    fn decoded(opcode: &str) -> Decoded {
        let function = ptxc_syntax::parse_function(&format!(".entry k() {{ {opcode}; }}")).value;
        let body = function.body.unwrap();
        let ptxc_syntax::ast::StatementKind::Instruction(instruction) = &body[0].kind else {
            panic!("{opcode}")
        };
        let target = PtxTarget { number: 90, kind: TargetKind::Baseline };
        let decoded: Vec<Decoded> =
            forms(&instruction.opcode, PtxVersion::NEWEST, target).map(|form| Decoded::of(&form)).collect();
        assert!(decoded.iter().all(|other| *other == decoded[0]), "{opcode}");
        decoded[0].clone()
    }

    #[test]
    fn opcodes_decode_to_the_written_form() {
        use Modifier::*;
        let load = decoded("ld.volatile.shared.v2.u16");
        assert_eq!((load.instruction, &load.types[..]), (Mnemonic::Ld, &[Scalar::U16][..]));
        assert_eq!(load.modifiers[..], [Volatile, Shared, V2]);
        let convert = decoded("cvt.sat.rn.f16.f32");
        assert_eq!(convert.types[..], [Scalar::F16, Scalar::F32]);
        assert_eq!(convert.modifiers[..], [Sat, Rn]);
        assert_eq!(decoded("bar.cta.red.popc.u32").modifiers[..], [Cta, Popc]);
        assert_eq!(decoded("mbarrier.test_wait.parity.b64").instruction, Mnemonic::MbarrierTestWaitParity);
        for (opcode, half) in [("mul.wide.s32", Wide), ("mad.hi.sat.s32", Hi), ("mad.lo.s32", Lo)] {
            assert_eq!(decoded(opcode).modifiers[0], half);
        }
        assert_eq!(decoded("mov.b64"), decoded("mov.b64"));
    }

    #[test]
    fn omitted_modifiers_with_a_default_are_present() {
        assert_eq!(decoded("fence.gpu").modifiers[..], [Modifier::Gpu, Modifier::AcqRel]);
        assert_eq!(decoded("fence.sc.gpu").modifiers[..], [Modifier::Sc, Modifier::Gpu]);
    }
}
