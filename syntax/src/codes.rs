//! The codes of all syntax errors, in one list.
//!
//! `E0001` to `E0099` belong to this crate. A code never changes its meaning; [`explain`] gives its
//! rule.

use std::fmt;

/// The number of a diagnostic; prints as `E0012`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub u16);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "E{:04}", self.0)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

macro_rules! codes {
    ($($name:ident = $number:literal, $rule:literal;)*) => {
        $(#[doc = $rule] pub const $name: Code = Code($number);)*

        /// Every code of this crate with its rule, in ascending order.
        pub const ALL: &[(Code, &str)] = &[$(($name, $rule)),*];
    };
}

codes! {
    UNKNOWN_CHARACTER = 1, "PTX does not use this character outside of comments and strings.";
    UNTERMINATED_COMMENT = 2, "A block comment runs from `/*` to the next `*/`.";
    UNTERMINATED_STRING = 3, "A string literal ends with `\"` on the line where it starts.";
    MALFORMED_NUMBER = 4, "Numbers are decimal, octal `017`, hexadecimal `0x1F` or binary `0b101`, each with an optional `U`, or decimal floats; \
        `0f` takes 8 and `0d` 16 hexadecimal digits.";
    NUMBER_TOO_LARGE = 5, "Integer literals have at most 64 bits.";
    FILE_TOO_LARGE = 6, "A file must be smaller than 4 GiB.";
    PREPROCESSOR = 7, "PTX has no preprocessor; only the line markers that one leaves, such as `# 7 \"k.cu\"`, are allowed.";
    DOTTED_NAME = 8, "The name of a variable, a function or a label has no dot, because a dot begins a modifier or an element.";
    FLOAT_OUT_OF_RANGE = 9, "A decimal float is zero or a normal number in double precision.";
    EXPECTED_ITEM = 10, "A module consists of header directives, variables, functions, aliases and debug sections.";
    UNKNOWN_DIRECTIVE = 11, "The directive does not exist, or is not allowed in this place.";
    MALFORMED_HEADER = 12, "The header is `.version MAJOR.MINOR`, `.target NAME, …` and `.address_size 32` or `64`.";
    EXPECTED_NAME = 13, "An identifier is a letter followed by letters, digits, `_` and `$`, or one of `_`, `$`, `%` followed by at least one of these.";
    DIRECTIVE_ARGUMENTS = 14, "The directive takes a different number of arguments.";
    EXPECTED_NUMBER = 15, "The directive needs a number here.";
    EXPECTED_STRING = 16, "The directive needs a string literal here.";
    EXPECTED_TYPE = 20, "A declaration names a fundamental type: `.b8` to `.b128`, `.u8` to `.u64`, `.s8` to `.s64`, `.f16`, `.f16x2`, `.f32`, `.f64`, \
        `.pred`, `.texref`, `.samplerref` or `.surfref`.";
    EXPECTED_SPACE = 21, "A declaration names a state space.";
    DUPLICATE_SPECIFIER = 22, "Linkage, state space, alignment, vector size, type, and each directive of a device function occur at most once in a \
        declaration.";
    MALFORMED_PARAMETER = 23, "A parameter is `.param` or `.reg`, its type, and one name.";
    MALFORMED_INITIALISER = 24, "An initialiser is a constant, an address, or a list of initialisers in braces.";
    EXPECTED_STATEMENT = 30, "A body consists of labels, instructions, declarations, directives and blocks.";
    EXPECTED_OPERAND = 31, "An operand is a register, a constant, an address in brackets, a vector in braces or a label.";
    EXPECTED_SEMICOLON = 32, "Instructions and declarations end with `;`.";
    EXPECTED_COMMA = 33, "Operands are separated by `,` and end with `;`.";
    UNCLOSED_BRACKET = 34, "Every `(`, `[`, `{` and `<` of a statement must be closed before its `;`.";
    UNCLOSED_BODY = 35, "Every `{` that opens a body, a block or a section has its `}`.";
    UNMATCHED_BRACE = 36, "Every `}` closes a `{`.";
    EXPECTED_LABEL = 37, "`.branchtargets`, `.calltargets` and `.callprototype` must follow a label.";
    MALFORMED_GUARD = 38, "A guard is `@` or `@!` followed by a predicate register.";
    BODY_TOO_LARGE = 39, "The body of a function has at most 500,000 statements.";
    EXPECTED_EXPRESSION = 40, "A constant expression consists of literals, `WARP_SZ`, operators, casts and parentheses.";
    EXPRESSION_TOO_DEEP = 41, "Constant expressions and initialisers nest at most 200 levels deep.";
    SYMBOL_IN_EXPRESSION = 42, "A symbol must come first, followed by `+` or `-` and a constant expression.";
    MISSING_COLON = 43, "A label ends with `:`.";
    MALFORMED_SECTION = 50, "A debug section contains labels and `.b8`, `.b16`, `.b32`, `.b64` data.";
    TOO_MANY_ERRORS = 99, "At most 1000 errors are reported for one item.";
}

/// The rule of `code`, if it is a code of this crate.
pub fn explain(code: Code) -> Option<&'static str> {
    ALL.binary_search_by_key(&code, |entry| entry.0).ok().map(|index| ALL[index].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_ascend_within_the_range_of_the_crate() {
        assert!(ALL.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(ALL.iter().all(|(code, rule)| (1..100).contains(&code.0) && !rule.is_empty()));
    }
}
