//! The codes of the checker's findings, each with the rule behind it.
//!
//! `E0101` to `E0199` say what an instruction may look like, `E0201` to `E0299` are about names and types, `E0301` to
//! `E0399` about what a function does, as far as that is known without running it; these are warnings.
//! A code never changes its meaning. Each has a page in `docs/errors`.

use ptxc_syntax::codes::Code;

macro_rules! codes {
    ($($name:ident = $number:literal, $rule:literal;)*) => {
        $(#[doc = $rule] pub const $name: Code = Code($number);)*

        /// Every code of the checker with its rule, in ascending order.
        pub const ALL: &[(Code, &str)] = &[$(($name, $rule)),*];
    };
}

codes! {
    UNKNOWN_INSTRUCTION = 101, "The first part of an opcode is the name of an instruction.";
    UNKNOWN_MODIFIER = 102, "A modifier is one that some form of the instruction has.";
    CONTRADICTORY_MODIFIERS = 103, "Of modifiers that exclude each other an instruction has at most one.";
    MODIFIER_NOT_HERE = 104, "Modifiers stand together only where one form of the instruction has them all.";
    MISSING_MODIFIER = 105, "A form's modifiers without a default have to be written.";
    MISPLACED_MODIFIER = 106, "What belongs to the name of an instruction stands directly behind it.";
    OUT_OF_RANGE = 107, "A constant operand lies within the range that its instruction gives it.";
    OPERAND_COUNT = 108, "An instruction has the operands of its form, no more and no fewer.";
    OPERAND_KIND = 109, "Each operand is of the kind that its form gives it: register, constant, address, vector, label.";
    VERSION_TOO_OLD = 110, "An instruction or modifier may be used from its PTX version on.";
    TARGET_TOO_OLD = 111, "An instruction or modifier may be used on the targets that have it.";
    NOT_A_MULTIPLE = 112, "A thread count is a multiple of the warp size, 32.";
    REMOVED = 113, "`shfl` and `vote` without `.sync` are gone on sm_70 and later from PTX 6.4 on.";
    VECTOR_SIZE = 114, "A vector operand has as many elements as the instruction moves.";
    DISCARDED_RESULT = 115, "A result is thrown away with `_` only where the instruction is useful without it.";
    DEPRECATED = 116, "`shfl` and `vote` without `.sync` are for machines whose warps never part for good: before sm_70.";
    HINT_SPACE = 118, "A cache policy goes with a global or generic address.";
    SPLIT_VECTOR = 119, "A vector is updated as a whole on sm_90 and later; for earlier targets its update is split.";
    REGISTERS_STAY = 120, "A warp keeps the registers that its kernel was launched with.";
    LAUNCH_BOUND = 121, "The bounds of a launch are positive numbers, and `.maxntid` and `.reqntid` exclude each other.";
    TARGET_BEFORE_VERSION = 130, "A module may have a target from the version of PTX on that brought it.";
    UNKNOWN_TARGET = 131, "`.target` names one of PTX's architectures, and options.";
    UNKNOWN_VERSION = 132, "`.version` names a version of PTX.";
    NARROW_ADDRESSES = 133, "Code for sm_90 and later has addresses of 64 bits.";
    UNDECLARED_REGISTER = 201, "A register is declared before it is used.";
    UNDECLARED_SYMBOL = 202, "A variable, parameter or function is declared in the module or around its use.";
    UNDECLARED_LABEL = 203, "A branch goes to a label of the block around it or of one further out.";
    REDECLARED = 204, "A name is declared once in a scope.";
    BAD_SIZE = 205, "The size of a variable and the count of a range of registers is a constant that fits the machine.";
    TYPE_MISMATCH = 206, "The type of a register agrees with that of the instruction.";
    CONSTANT_TYPE = 207, "An integer instruction takes integer constants, a floating-point one floating-point constants.";
    GUARD_NOT_PREDICATE = 208, "The guard of an instruction is a predicate register.";
    UNKNOWN_SPECIAL_REGISTER = 209, "A special register is one that PTX defines.";
    SPECIAL_REGISTER_NOT_HERE = 210, "Special registers are read by `mov` and `cvt` alone.";
    STATE_SPACE = 211, "A variable is accessed in its own state space or by its generic address.";
    ADDRESS_TYPE = 212, "An address is an integer or untyped register.";
    NOT_A_LABEL = 213, "A branch goes to a label.";
    NOT_CALLABLE = 214, "A call goes to a device function or through a register with a prototype or a list of targets.";
    ARGUMENT_COUNT = 215, "A call has the arguments and results that the function declares.";
    ARGUMENT_SIZE = 216, "An argument has the size that the function declares.";
    ASSIGNED_CONSTANT = 217, "Results go into registers that can be written.";
    MISALIGNED = 218, "An access lies at a multiple of its own size.";
    OUT_OF_BOUNDS = 219, "An access by the name of a variable or parameter stays within it.";
    MISFIT_INITIALISER = 220, "An initialiser has values of its variable's type, and no more of them than there are elements.";
    PROTOTYPES_DIFFER = 221, "Every declaration of a function has the same parameters and results.";
    PREDICATE_STORAGE = 222, "A predicate is a single register.";
    OUTSIDE_A_FUNCTION = 223, "Registers, local variables and parameters are declared in functions.";
    ALIGNED_IN_DIVERGENT_CODE = 301, "All threads of a CTA execute an aligned barrier, or none does.";
    MIXED_BARRIER = 302, "A reduction at a barrier takes part in no phase of it with `sync` or `arrive`.";
    BARRIER_NUMBER = 303, "A barrier's name and count in registers are those that constants may be.";
    UNWRITTEN_REGISTER = 304, "A register is written before it is read.";
    UNREACHABLE = 305, "Every instruction lies on some way from the start of its function.";
    FALLS_OFF = 306, "A body ends with `ret`, `exit`, `trap` or a branch.";
}

/// The rule behind `code`, if it is a code of the checker.
pub fn explain(code: Code) -> Option<&'static str> {
    ALL.binary_search_by_key(&code, |entry| entry.0).ok().map(|index| ALL[index].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_ascend_within_their_range() {
        assert!(ALL.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(ALL.iter().all(|(code, rule)| (100..400).contains(&code.0) && rule.ends_with('.')));
    }
}
