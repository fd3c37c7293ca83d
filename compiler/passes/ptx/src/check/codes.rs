//! The codes of the checker's findings, each with its rule.
//!
//! `E0101` to `E0199` concern the form of an instruction, and `E0201` to `E0299` names and types.
//! `E0301` to `E0399` are warnings about the behaviour of a function, as far as it is known without
//! running it. A code never changes its meaning. Each has a page in `docs/errors`.

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
    UNKNOWN_MODIFIER = 102, "A modifier must belong to some form of the instruction.";
    CONTRADICTORY_MODIFIERS = 103, "An instruction has at most one of several modifiers that exclude each other.";
    MODIFIER_NOT_HERE = 104, "Modifiers can be combined only if one form of the instruction has all of them.";
    MISSING_MODIFIER = 105, "A modifier without a default must be written.";
    MISPLACED_MODIFIER = 106, "A modifier that is part of the instruction's name must directly follow the mnemonic.";
    OUT_OF_RANGE = 107, "A constant operand must be within the range of its instruction.";
    OPERAND_COUNT = 108, "An instruction has exactly the operands of its form.";
    OPERAND_KIND = 109, "Each operand has the kind that its form requires: register, constant, address, vector, label.";
    VERSION_TOO_OLD = 110, "An instruction, modifier or directive needs the PTX version that introduced it, or a later one.";
    TARGET_TOO_OLD = 111, "An instruction, modifier or directive needs a target that has it.";
    NOT_A_MULTIPLE = 112, "A thread count is a multiple of the warp size, 32.";
    REMOVED = 113, "A later version of PTX removed the instruction or directive.";
    VECTOR_SIZE = 114, "A vector operand has as many elements as the instruction transfers.";
    DISCARDED_RESULT = 115, "`_` may discard a result only if the instruction is useful without it.";
    DEPRECATED = 116, "`shfl` and `vote` without `.sync` are for targets before sm_70, whose warps always reconverge.";
    HINT_SPACE = 118, "A cache policy needs a global or generic address.";
    SPLIT_VECTOR = 119, "A vector update is one operation on sm_90 and later; for earlier targets it is split.";
    REGISTERS_STAY = 120, "A warp keeps the registers that its kernel was launched with.";
    LAUNCH_BOUND = 121, "The bounds of a launch are positive numbers, and some of them exclude or need each other.";
    TARGET_BEFORE_VERSION = 130, "A target needs the PTX version that introduced it, or a later one.";
    UNKNOWN_TARGET = 131, "`.target` names a target of PTX, and options.";
    UNKNOWN_VERSION = 132, "`.version` names a version of PTX.";
    NARROW_ADDRESSES = 133, "Machine code has 64-bit addresses.";
    UNDECLARED_REGISTER = 201, "A register must be declared before it is used.";
    UNDECLARED_SYMBOL = 202, "A variable, parameter or function must be declared in the module or in a block around its use.";
    UNDECLARED_LABEL = 203, "The label of a branch is in the same block, or in a block around it.";
    REDECLARED = 204, "A scope declares a name once.";
    BAD_SIZE = 205, "The size of a variable and the count of a register range are constants within the limits of the machine.";
    TYPE_MISMATCH = 206, "The type of a register must agree with that of the instruction.";
    CONSTANT_TYPE = 207, "An integer instruction takes integer constants, and a floating-point instruction takes floating-point constants.";
    GUARD_NOT_PREDICATE = 208, "The guard of an instruction is a predicate register.";
    UNKNOWN_SPECIAL_REGISTER = 209, "A special register must be one that PTX defines.";
    SPECIAL_REGISTER_NOT_HERE = 210, "Only `mov` and `cvt` read special registers.";
    STATE_SPACE = 211, "An access uses the state space of the variable, or its generic address.";
    ADDRESS_TYPE = 212, "An address is an integer or untyped register.";
    NOT_A_LABEL = 213, "The target of a branch is a label.";
    NOT_CALLABLE = 214, "A call names a device function, or a register with a prototype or a list of targets.";
    ARGUMENT_COUNT = 215, "A call has the arguments and results that the function declares.";
    ARGUMENT_SIZE = 216, "An argument has the size that the function declares.";
    ASSIGNED_CONSTANT = 217, "Results need registers that can be written.";
    MISALIGNED = 218, "The address of an access is a multiple of its size.";
    OUT_OF_BOUNDS = 219, "An access by the name of a variable or parameter stays within it.";
    MISFIT_INITIALISER = 220, "An initialiser has values of its variable's type, and at most one for each element.";
    PROTOTYPES_DIFFER = 221, "Every declaration of a function has the same parameters and results.";
    PREDICATE_STORAGE = 222, "A predicate is a single register.";
    OUTSIDE_A_FUNCTION = 223, "Registers, local variables and parameters must be declared in functions.";
    DECLARATION_FORM = 224, "A declaration has a type, a size and a linkage that its state space and its place allow.";
    CALL_SEQUENCE = 225, "The result of a call is loaded after the call, and parameters of calls are accessed without a guard.";
    UNKNOWN_SIZE = 226, "A variable without a definition has a size.";
    ALIGNED_IN_DIVERGENT_CODE = 301, "All threads of a CTA execute an aligned barrier, or none does.";
    MIXED_BARRIER = 302, "One phase of a barrier contains either reductions, or `sync` and `arrive`.";
    BARRIER_NUMBER = 303, "A barrier's name and count in registers obey the limits for constants.";
    UNWRITTEN_REGISTER = 304, "A register must be written before it is read.";
    UNREACHABLE = 305, "Every instruction must be reachable from the start of its function.";
    FALLS_OFF = 306, "A body ends with `ret`, `exit`, `trap` or a branch.";
    WITHOUT_KERNEL = 307, "A program contains the code of its kernels, and of the functions that they call.";
    SERIALIZED_PRODUCTS = 308, "The registers of a product of a warpgroup are left alone until a wait for its group.";
    WITHOUT_DEFINITION = 309, "A variable with `.extern` is defined in some module of the program.";
}

/// The rule of `code`, if it is a code of the checker.
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
