//! Writes and reads operations up to their arguments, by their declarations in [`op`](mod@crate::op).

use crate::op::Op;
use crate::text::ParseError;
use crate::text::field::{OpReader, OpWriter};

/// Writes or reads one modifier: `T`, `(flag)` or a payload.
macro_rules! modifier {
    (write $out:ident T) => {
        $out.controlling_type()
    };
    (write $out:ident ($flag:ident)) => {
        if *$flag {
            $out.word(stringify!($flag))
        }
    };
    (write $out:ident $field:ident) => {
        $out.modifier($field)
    };
    (read $input:ident T) => {
        $input.controlling_type()?
    };
    (read $input:ident ($flag:ident)) => {
        $flag = $input.flag(stringify!($flag))
    };
    (read $input:ident $field:ident) => {
        $field = $input.modifier()?
    };
}

macro_rules! text_form {
    ({ $($(#[$doc:meta])* $variant:ident
        $(($payload:ident: $payload_type:ty))?
        $({ $($(#[$field_doc:meta])* $field:ident: $field_type:ty,)* })?
        = $mnemonic:literal [$($modifier:tt)*] [$($operand:ident)*] $types:ident ($($arg:ident),*)
        -> $results:tt $effects:tt $($mark:ident)?;)* }) => {
        /// Writes an operation up to its arguments.
        pub(super) fn write_op(op: &Op, out: &mut OpWriter<'_>) {
            match op {
                $(Op::$variant $(($payload))? $({ $($field),* })? => {
                    out.mnemonic($mnemonic);
                    $(modifier!(write out $modifier);)*
                    $(out.operand($operand);)*
                })*
            }
        }

        /// Reads an operation up to its arguments.
        pub(super) fn read_op(input: &mut OpReader<'_, '_>) -> Result<Op, ParseError> {
            match input.mnemonic() {
                $($mnemonic => {
                    $(let $payload;)?
                    $($(let $field;)*)?
                    $(modifier!(read input $modifier);)*
                    input.end_of_modifiers()?;
                    $($operand = input.operand()?;)*
                    Ok(Op::$variant $(($payload))? $({ $($field),* })?)
                })*
                other => Err(input.error(format!("there is no operation `{other}`"))),
            }
        }
    };
}

operations!(text_form);
