//! Arithmetic with the carry flag: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`.
//!
//! The flag is a register of one bit ([`Register::CARRY`]) that instructions with `.cc` write and those with a
//! `c` at their end read. After a subtraction it is set where nothing was borrowed, as the hardware has it.
//!
//! ```text
//! add.cc.u32 %r5, %r1, %r3;         v5, v6 = iadd_cout.b32 v1, v3
//! addc.u32 %r6, %r2, %r4;     =>    v7 = iadd_cin.b32 v2, v4, v6
//! ```

use ptxc_ir::{Op, Type};

use super::arith::{Half, product};
use super::form::{Form, Translated, Unsupported};
use super::scalar::Scalar;
use super::translator::Translator;

pub(super) fn translate(t: &mut Translator, form: &mut Form) -> Option<Translated> {
    let carries = match form.mnemonic {
        "addc" | "subc" | "madc" => true,
        "add" | "sub" | "mad" => false,
        _ => return None,
    };
    let writes = form.take("cc");
    if !carries && !writes {
        return None;
    }
    Some(sum(t, form, carries, writes))
}

fn sum(t: &mut Translator, form: &mut Form, carries: bool, writes: bool) -> Translated {
    let multiply = form.mnemonic.starts_with("mad");
    let subtract = form.mnemonic.starts_with("sub");
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
