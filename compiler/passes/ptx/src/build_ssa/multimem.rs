//! Accesses to multicast addresses. Several devices have such an address in common: it stands for a place
//! in the memory of each.
//!
//! ```text
//! multimem.st.global.v2.bf16x2 [a], {b, c};         =>   store.global.b32.v2 [a], b, c
//! multimem.red.global.add.f16x2 [a], b;             =>   red.fadd.global.relaxed.b32.f16x2 [a], b
//! multimem.ld_reduce.global.add.v4.f32 {…}, [a];    =>   load_reduce.fadd.global.relaxed.b32.v4.f32 [a]
//! ```
//!
//! Stores and updates are those of ordinary addresses, as in ptxas's code: the memory system finds the
//! places. Only loads have an instruction of their own.

use ptxc_ir::{Access, AtomicOp, MemType, Op, Order, Scope, Space, Type, Value};
use ptxc_syntax::ast::Operand;
use smallvec::SmallVec;

use super::form::{Form, Translated, Unsupported};
use super::memory::{address, atomic_op, lanes};
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::table::{Modifier, modifiers};

/// The elements of an access.
struct Elements {
    /// As they are written.
    scalar: Scalar,
    /// Their number.
    count: u8,
    /// The type of a value: an element, or two halves.
    ty: Type,
    /// The number of values.
    values: u8,
}

impl Elements {
    fn of(form: &mut Form) -> Translated<Elements> {
        let scalar = form.ty()?;
        let count = form.choose::<modifiers::Vector>().map_or(1, u8::from);
        let pair = match scalar {
            Scalar::F16 => Some(Type::F16x2),
            Scalar::Bf16 => Some(Type::BF16x2),
            _ => None,
        };
        Ok(match pair {
            Some(ty) => Elements { scalar, count, ty, values: count / 2 },
            None => Elements { scalar, count, ty: scalar.ir().ok_or(Unsupported)?, values: count },
        })
    }

    fn are_paired(&self) -> bool {
        self.values != self.count
    }

    /// The values that an operand holds.
    fn read(&self, t: &mut Translator, operand: &Operand) -> Translated<SmallVec<[Value; 8]>> {
        let elements = lanes(operand, self.count)?.iter().map(|element| t.read(element, self.scalar));
        let elements: SmallVec<[Value; 8]> = elements.collect::<Translated<_>>()?;
        if !self.are_paired() {
            return Ok(elements);
        }
        let pack = |pair: &[Value]| {
            let [low, high] = [pair[0], pair[1]].map(|half| t.convert(half, Type::B16));
            Ok(t.emit(Op::Pack, self.ty, &[low?, high?]))
        };
        elements.chunks_exact(2).map(pack).collect()
    }

    /// Gives values to the registers of an operand.
    fn write(&self, t: &mut Translator, operand: &Operand, values: &[Value]) -> Translated {
        let destinations = lanes(operand, self.count)?;
        if !self.are_paired() {
            return destinations.iter().zip(values).try_for_each(|(to, &value)| t.write(to, value));
        }
        for (to, &value) in destinations.chunks_exact(2).zip(values) {
            let (low, high) = t.emit_pair(Op::Unpack, self.ty, &[value]);
            t.write(&to[0], low)?;
            t.write(&to[1], high)?;
        }
        Ok(())
    }

    fn access(&self, order: Order, scope: Scope) -> Translated<Access> {
        let elem = match self.ty.bits() {
            32 => MemType::B32,
            64 => MemType::B64,
            _ => return Err(Unsupported),
        };
        Ok(Access { order, scope, lanes: self.values, ..Access::weak(Space::Global, elem) })
    }
}

/// The order and scope that an instruction names, and whether it names an order.
fn order(form: &mut Form) -> (Option<Order>, Scope) {
    let order = form.choose::<modifiers::Order>().map(Order::from);
    form.take(Modifier::Global);
    (order, form.choose::<modifiers::Scope>().map_or(Scope::Sys, Scope::from))
}

/// `multimem.st`.
pub(super) fn store(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(2)?;
    let (order, scope) = order(form);
    let elements = Elements::of(form)?;
    let mut access = elements.access(order.unwrap_or(Order::Weak), scope)?;
    let to = address(t, form.operand(0)?, &mut access)?;
    let mut args: SmallVec<[Value; 9]> = SmallVec::from_slice(&[to]);
    let ty = elements.ty.as_int();
    for value in elements.read(t, form.operand(1)?)? {
        args.push(t.convert(value, ty)?);
    }
    t.inst(Op::Store(access), ty, &args);
    Ok(())
}

/// `multimem.red`.
pub(super) fn update(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(2)?;
    let (order, scope) = order(form);
    let elements = Elements::of(form)?;
    let op = operation(form, &elements)?;
    let mut access = elements.access(order.unwrap_or(Order::Relaxed), scope)?;
    let to = address(t, form.operand(0)?, &mut access)?;
    let mut args: SmallVec<[Value; 9]> = SmallVec::from_slice(&[to]);
    args.extend(elements.read(t, form.operand(1)?)?);
    t.inst(Op::Red { op, access }, elements.ty, &args);
    Ok(())
}

/// `multimem.ld_reduce`.
pub(super) fn load(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(2)?;
    let (order, scope) = order(form);
    let elements = Elements::of(form)?;
    let op = operation(form, &elements)?;
    let wide = form.take(Modifier::AccF32);
    let acquires = order == Some(Order::Acquire);
    let mut access = elements.access(Order::Relaxed, Scope::Sys)?;
    let from = address(t, form.operand(1)?, &mut access)?;
    let inst = t.inst(Op::LoadReduce { op, wide, access }, elements.ty, &[from]);
    let values: SmallVec<[Value; 8]> = t.function.results(inst).iter().copied().collect();
    elements.write(t, form.operand(0)?, &values)?;
    if acquires {
        t.inst(Op::Fence { order: Order::Acquire, scope }, Type::B32, &[]);
    }
    Ok(())
}

fn operation(form: &mut Form, elements: &Elements) -> Translated<AtomicOp> {
    atomic_op(form.choose::<modifiers::Atomic>().ok_or(Unsupported)?, elements.scalar)
}
