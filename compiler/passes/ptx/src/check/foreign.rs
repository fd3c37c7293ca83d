//! The PTX names of things that other languages call by other names: CUDA C, LLVM, SASS, x86.
//!
//! Edit distance does not lead from `store` to `st`, and it suggests a wrong name for `cmp`.

use ptxc_syntax::ast::Opcode;

/// Mnemonics of other languages, with the PTX to write instead.
const INSTRUCTIONS: &[(&str, &str)] = &[
    ("b", "bra"),
    ("bar_sync", "bar.sync"),
    ("br", "bra"),
    ("branch", "bra"),
    ("cmp", "setp"),
    ("fadd", "add.f32"),
    ("fcmp", "setp"),
    ("fdiv", "div.rn.f32"),
    ("ffma", "fma.rn.f32"),
    ("fmul", "mul.f32"),
    ("fsub", "sub.f32"),
    ("goto", "bra"),
    ("iadd", "add.s32"),
    ("icmp", "setp"),
    ("imad", "mad.lo.s32"),
    ("imul", "mul.lo.s32"),
    ("isetp", "setp"),
    ("isub", "sub.s32"),
    ("jmp", "bra"),
    ("jump", "bra"),
    ("load", "ld"),
    ("mod", "rem"),
    ("move", "mov"),
    ("popcnt", "popc"),
    ("return", "ret"),
    ("select", "selp"),
    ("shuffle", "shfl.sync"),
    ("store", "st"),
    ("syncthreads", "bar.sync 0"),
];

/// Types and comparisons of other languages, with the PTX to write instead.
const MODIFIERS: &[(&str, &str)] = &[
    ("bool", "pred"),
    ("char", "s8"),
    ("double", "f64"),
    ("float", "f32"),
    ("gte", "ge"),
    ("half", "f16"),
    ("i16", "s16"),
    ("i32", "s32"),
    ("i64", "s64"),
    ("i8", "s8"),
    ("int", "s32"),
    ("int16", "s16"),
    ("int32", "s32"),
    ("int64", "s64"),
    ("int8", "s8"),
    ("long", "s64"),
    ("lte", "le"),
    ("neq", "ne"),
    ("short", "s16"),
    ("uint", "u32"),
    ("uint16", "u16"),
    ("uint32", "u32"),
    ("uint64", "u64"),
    ("uint8", "u8"),
    ("unsigned", "u32"),
];

/// Variables of CUDA C, and the special registers that hold them.
const VARIABLES: &[(&str, &str)] =
    &[("blockDim", "ntid"), ("blockIdx", "ctaid"), ("gridDim", "nctaid"), ("threadIdx", "tid")];

fn find(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    table.binary_search_by_key(&name, |&(from, _)| from).ok().map(|index| table[index].1)
}

/// The PTX instruction for a mnemonic of another language.
pub(super) fn instruction(opcode: &Opcode) -> Option<&'static str> {
    find(INSTRUCTIONS, opcode.mnemonic())
}

/// The PTX modifier for a type or comparison of another language.
pub(super) fn modifier(name: &str) -> Option<&'static str> {
    find(MODIFIERS, name)
}

/// The special register for a variable of CUDA C, with or without `%`.
pub(super) fn special_register(name: &str) -> Option<String> {
    let name = name.trim_start_matches('%');
    let (base, element) = name.split_once('.').unwrap_or((name, "x"));
    find(VARIABLES, base).map(|register| format!("%{register}.{element}"))
}

#[cfg(test)]
mod tests {
    use super::super::table::TABLE;
    use super::*;

    #[test]
    fn tables_are_sorted_and_name_existing_things() {
        for table in [INSTRUCTIONS, MODIFIERS, VARIABLES] {
            assert!(table.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
        for (foreign, own) in INSTRUCTIONS {
            let exists = |name: &str| TABLE.mnemonics().any(|mnemonic| mnemonic == name);
            assert!(!exists(foreign), "{foreign}");
            assert!(own.split('.').next().is_some_and(exists), "{own}");
        }
    }

    #[test]
    fn variables_of_cuda_keep_their_element() {
        assert_eq!(special_register("%threadIdx.y").as_deref(), Some("%tid.y"));
        assert_eq!(special_register("blockDim").as_deref(), Some("%ntid.x"));
        assert_eq!(special_register("%tid.x"), None);
    }
}
