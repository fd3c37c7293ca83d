//! Arithmetic with the carry flag: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`.
//!
//! The flag is a register of one bit ([`Register::CARRY`]). Instructions with `.cc` write it, and
//! those whose names end in `c` read it. After a subtraction the flag is set if nothing was
//! borrowed, as in the hardware.
//!
//! ```text
//! add.cc.u32 %r5, %r1, %r3;         v5, v6 = iadd_cout.b32 v1, v3
//! addc.u32 %r6, %r2, %r4;     =>    v7 = iadd_cin.b32 v2, v4, v6
//! ```

use ptxc_ir::{Op, Type};

use super::arith::product;
use super::form::{Form, Translated, Unsupported};
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::table::Modifier;
use crate::check::table::modifiers::Half;

/// The term that is added.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Term {
    /// The second operand.
    Plus,
    /// The second operand, negated.
    Minus,
    /// The third operand, to the product of the first two.
    Product,
}

/// A sum. It reads the flag if `carries` holds, and writes the flag with `.cc`.
pub(super) fn sum(t: &mut Translator, form: &mut Form, term: Term, carries: bool) -> Translated {
    let writes = form.take(Modifier::Cc);
    let (multiply, subtract) = (term == Term::Product, term == Term::Minus);
    form.expect_operands(if multiply { 4 } else { 3 })?;
    let scalar: Scalar = form.ty()?;
    let ty = scalar.ir().filter(|_| scalar.is_number()).ok_or(Unsupported)?;
    let (a, b) = if multiply {
        let (value, half) = product(t, form)?;
        // The wide product has no form with carries.
        if half == Half::Wide {
            return Err(Unsupported);
        }
        (value, t.read(form.operand(3)?, scalar)?)
    } else {
        (t.read(form.operand(1)?, scalar)?, t.read(form.operand(2)?, scalar)?)
    };
    let op = match (subtract, carries, writes) {
        (false, false, _) => Op::IaddCarryOut,
        (false, true, false) => Op::IaddCarryIn,
        (false, true, true) => Op::IaddCarryInOut,
        (true, false, _) => Op::IsubCarryOut,
        (true, true, false) => Op::IsubCarryIn,
        (true, true, true) => Op::IsubCarryInOut,
    };
    let inst = if carries {
        let carry = t.carry();
        t.inst(op, ty, &[a, b, carry])
    } else {
        t.inst(op, ty, &[a, b])
    };
    let results = t.function.results(inst);
    let (value, carry) = (results[0], results.get(1).copied());
    if let Some(carry) = carry {
        debug_assert_eq!(t.ty(carry), Type::Pred);
        t.set_carry(carry);
    }
    t.write(form.operand(0)?, value)
}
