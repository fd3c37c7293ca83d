//! Loads, stores and atomics.
//!
//! `ld.param` in a kernel reads the parameter block. At a constant offset it is not a memory access.
//! The parameters of device functions and of calls are [values](super::params), unless their address
//! is taken.

use ptxc_ir::{
    Access, AtomicOp, CacheOp, Eviction, FunctionKind, MemType, Op, Order, Param, Scope, Space, Type, Value,
};
use ptxc_syntax::ast::{Address, Operand, OperandKind};
use smallvec::SmallVec;

use super::cache_policy::hinted;
use super::form::{Form, Translated, Unsupported};
use super::params::Image;
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::table::Modifier;
use crate::check::table::modifiers::{self, Atomic};

/// The element of a type in memory.
fn element(scalar: Scalar) -> Translated<MemType> {
    Ok(match (scalar.bits(), scalar.is_signed()) {
        (8, true) => MemType::S8,
        (8, false) => MemType::B8,
        (16, true) => MemType::S16,
        (16, false) => MemType::B16,
        (32, _) => MemType::B32,
        (64, _) => MemType::B64,
        (128, _) => MemType::B128,
        _ => return Err(Unsupported),
    })
}

/// Space, order, scope, cache operator and vector size of an access.
fn access(form: &mut Form, load: bool) -> Translated<Access> {
    let space = form.choose::<modifiers::Space>().map_or(Space::Generic, Space::from);
    let mut access = Access::weak(space, element(form.ty()?)?);
    if let Some(order) = form.choose::<modifiers::Order>() {
        access.order = order.into();
    }
    if !matches!(access.order, Order::Weak | Order::Volatile) {
        access.scope = form.choose::<modifiers::Scope>().ok_or(Unsupported)?.into();
    }
    if let Some(cache) = form.choose::<modifiers::Cache>() {
        access.cache = cache.into();
    }
    if load && form.take(Modifier::Nc) {
        if access.space != Space::Global {
            return Err(Unsupported);
        }
        if access.cache == CacheOp::Cs {
            access.eviction = Eviction::First;
        }
        access.cache = CacheOp::Nc;
    }
    if let Some(eviction) = form.choose::<modifiers::L1Eviction>() {
        access.eviction = eviction.into();
    }
    if let Some(prefetch) = form.choose::<modifiers::Prefetch>() {
        access.prefetch = prefetch.into();
    }
    access.lanes = form.choose::<modifiers::Vector>().map_or(1, u8::from);
    Ok(access)
}

/// Makes an access of `.mmio` one to registers of a device. Returns the order of the fence that it
/// needs beside it.
fn device_order(form: &mut Form, access: &mut Access) -> Option<Order> {
    if !form.take(Modifier::Mmio) {
        return None;
    }
    let order = std::mem::replace(&mut access.order, Order::Mmio);
    matches!(order, Order::Acquire | Order::Release).then_some(order)
}

/// A fence of the system.
fn fence(t: &mut Translator, order: Order) {
    t.inst(Op::Fence { order, scope: Scope::Sys }, Type::B32, &[]);
}

/// The address operand of an access: its base value, with the constant part moved into the access.
pub(super) fn address(t: &mut Translator, operand: &Operand, access: &mut Access) -> Translated<Value> {
    let OperandKind::Address(address) = &operand.kind else { return Err(Unsupported) };
    if !address.rest.is_empty() || address.property.is_some() {
        return Err(Unsupported);
    }
    let offset = t.offset(&address.place)?;
    let ty = access.space.address_type();
    let Some(base) = &address.place.base else {
        return Ok(t.constant(ty, offset as u64));
    };
    let base = t.named(operand.id, base)?;
    let base = t.extend(base, ty, false)?;
    match i32::try_from(offset) {
        // Offsets of accesses have 24 bits on every target.
        Ok(offset) if (-(1 << 23)..1 << 23).contains(&offset) => {
            access.offset = offset;
            Ok(base)
        }
        _ => {
            let offset = t.constant(ty, offset as u64);
            Ok(t.emit(Op::Iadd, ty, &[base, offset]))
        }
    }
}

/// An operand that is a constant.
pub(super) fn constant(operand: &Operand) -> Translated<u64> {
    match &operand.kind {
        OperandKind::Immediate(expr) => super::translator::integer(expr),
        _ => Err(Unsupported),
    }
}

/// The operands of a vector, or the single one.
pub(super) fn lanes(operand: &Operand, count: u8) -> Translated<&[Operand]> {
    let operands = match &operand.kind {
        OperandKind::Vector(elements) => &elements[..],
        _ => std::slice::from_ref(operand),
    };
    if operands.len() == usize::from(count) { Ok(operands) } else { Err(Unsupported) }
}

pub(super) fn load(t: &mut Translator, form: &mut Form) -> Translated {
    let policies = usize::from(form.take(Modifier::L2CacheHint));
    form.expect_operands(2 + policies)?;
    let scalar = form.ty()?;
    let mut access = access(form, true)?;
    let acquires = device_order(form, &mut access);
    let destinations = lanes(form.operand(0)?, access.lanes)?;
    if access.space == Space::Param
        && let OperandKind::Address(address) = &form.operand(1)?.kind
        && let Some(start) = parameter(t, address)?
    {
        return load_parameter(t, scalar, destinations, start);
    }
    if access.space == Space::Param
        && let Some((image, offset)) = image_place(t, form.operand(1)?)?
    {
        return load_image(t, scalar, destinations, &image, offset);
    }
    if access.space == Space::Param && t.function.kind == FunctionKind::Device {
        // The address of a parameter of a device function is one in local memory.
        access.space = Space::Local;
    }
    let mut address = address(t, form.operand(1)?, &mut access)?;
    if policies > 0 {
        address = hinted(t, access.space, address, form.operand(2)?)?;
    }
    // The results of a load have one type. It is as wide as the widest destination, but at most 32
    // bits if the memory element has no more.
    let mut ty = narrowest(scalar)?;
    for destination in destinations {
        match t.destination_type(destination)? {
            Some(to) if to.bits() == ty.bits() => ty = if destinations.len() == 1 { to } else { ty },
            Some(to) if to.bits() > ty.bits() && ty.bits() < 32 => ty = Type::B32,
            _ => {}
        }
    }
    let inst = t.inst(Op::Load(access), ty, &[address]);
    let values: SmallVec<[Value; 8]> = t.function.results(inst).iter().copied().collect();
    for (destination, value) in destinations.iter().zip(values) {
        let value = match t.destination_type(destination)? {
            Some(to) if to.bits() < t.ty(value).bits() => t.convert(value, to)?,
            _ => value,
        };
        t.write_extended(destination, value, scalar.is_signed())?;
    }
    if let Some(order) = acquires {
        fence(t, order);
    }
    Ok(())
}

/// The IR type of a loaded or stored element; 8 bits travel in 16.
fn narrowest(scalar: Scalar) -> Translated<Type> {
    match scalar.bits() {
        8 => Ok(Type::B16),
        bits => Type::int(bits).ok_or(Unsupported),
    }
}

/// The offset in the parameter block of an address of the form `[name+4]`, if the name is a
/// parameter's.
fn parameter(t: &Translator, address: &Address) -> Translated<Option<u32>> {
    let Some(base) = &address.place.base else { return Ok(None) };
    let Some(start) = t.parameter(base) else { return Ok(None) };
    let offset = t.offset(&address.place)?;
    let place = i64::from(start).checked_add(offset).and_then(|place| u32::try_from(place).ok());
    place.map(Some).ok_or(Unsupported)
}

/// The parameter of a call or device function that an address in the `.param` space names, and /// The parameter of a call or device function that an address in the `.param` space names, and the
/// offset in it; `None` for an address in a register.
fn image_place(t: &Translator, operand: &Operand) -> Translated<Option<(Image, u32)>> {
    let OperandKind::Address(address) = &operand.kind else { return Err(Unsupported) };
    let image = address.place.base.as_ref().and_then(|name| t.image(name));
    match image {
        Some((image, _)) if address.rest.is_empty() => {
            let offset = u32::try_from(t.offset(&address.place)?).map_err(|_| Unsupported)?;
            Ok(Some((image, offset)))
        }
        None => Ok(None),
        Some(_) => Err(Unsupported),
    }
}

/// Whether a range of bytes of the parameter block belongs to one parameter.
fn is_in_parameter(t: &Translator, start: u32, bytes: u32) -> bool {
    let params = &t.function.params;
    let index = params.partition_point(|param| param.offset <= start);
    let within = |param: &Param| {
        u64::from(start) + u64::from(bytes) <= u64::from(param.offset) + u64::from(param.size)
    };
    index.checked_sub(1).is_some_and(|index| within(&params[index]))
}

fn load_parameter(t: &mut Translator, scalar: Scalar, destinations: &[Operand], start: u32) -> Translated {
    let bytes = scalar.bits() / 8;
    for (index, destination) in destinations.iter().enumerate() {
        let place = start.checked_add(index as u32 * bytes).ok_or(Unsupported)?;
        let declared = t.destination_type(destination)?;
        let value = load_element(t, scalar, declared, place)?;
        t.write_extended(destination, value, scalar.is_signed())?;
    }
    Ok(())
}

/// An element at a place of the parameter block. Past the parameters there is nothing.
fn load_element(t: &mut Translator, scalar: Scalar, declared: Option<Type>, place: u32) -> Translated<Value> {
    let bytes = scalar.bits() / 8;
    let end = t.function.params.iter().map(|param| param.offset + param.size).max().unwrap_or(0);
    let full = Type::int(scalar.bits().max(16)).ok_or(Unsupported)?;
    let ty = match declared {
        Some(ty) if ty.bits() == scalar.bits() => ty,
        Some(ty) if scalar.bits() == 8 && ty.bits() > 16 => Type::B32,
        _ => full,
    };
    if place.checked_add(bytes).is_none_or(|last| last > end) {
        return Ok(t.emit(Op::Undef, ty, &[]));
    }
    // A byte, and what is not within one parameter, is read through memory.
    if matches!(bytes, 2 | 4 | 8) && is_in_parameter(t, place, bytes) {
        return Ok(t.emit(Op::Param { offset: place }, ty, &[]));
    }
    if !place.is_multiple_of(bytes) {
        return Err(Unsupported);
    }
    let address = t.constant(Type::B32, place.into());
    // The constant bank has words of at most 64 bits.
    if bytes == 16 {
        let halves = [0, 8].map(|offset| {
            let access = Access { offset, ..Access::weak(Space::Param, MemType::B64) };
            t.emit(Op::Load(access), Type::B64, &[address])
        });
        return Ok(t.emit(Op::Pack, Type::B128, &halves));
    }
    let ty = if bytes == 1 { ty } else { full };
    Ok(t.emit(Op::Load(Access::weak(Space::Param, element(scalar)?)), ty, &[address]))
}

pub(super) fn store(t: &mut Translator, form: &mut Form) -> Translated {
    let policies = usize::from(form.take(Modifier::L2CacheHint));
    form.expect_operands(2 + policies)?;
    let scalar = form.ty()?;
    let mut access = access(form, false)?;
    if let Some(order) = device_order(form, &mut access) {
        fence(t, order);
    }
    if access.space == Space::Const {
        return Err(Unsupported);
    }
    // A stored value has no sign.
    access.elem = element(scalar.untyped()?)?;
    let sources = lanes(form.operand(1)?, access.lanes)?;
    let image = match access.space {
        Space::Param => image_place(t, form.operand(0)?)?,
        _ => None,
    };
    let target = match image {
        Some(place) => Err(place),
        None => {
            if access.space == Space::Param {
                // The address of a result of a device function is one in local memory.
                let is_device = t.function.kind == FunctionKind::Device;
                access.space = is_device.then_some(Space::Local).ok_or(Unsupported)?;
            }
            Ok(address(t, form.operand(0)?, &mut access)?)
        }
    };
    let target = match target {
        Ok(address) if policies > 0 => Ok(hinted(t, access.space, address, form.operand(2)?)?),
        _ if policies > 0 => return Err(Unsupported),
        plain => plain,
    };
    let mut values: SmallVec<[Value; 9]> = SmallVec::new();
    for source in sources {
        values.push(match &source.kind {
            // The element stays as it is in memory.
            OperandKind::Sink => continue,
            OperandKind::Immediate(_) if scalar.bits() == 8 => t.read(source, Scalar::B16)?,
            OperandKind::Immediate(_) => t.read(source, scalar)?,
            _ => {
                let value = t.any(source)?;
                if t.ty(value).bits() < scalar.bits() || t.ty(value) == Type::Pred {
                    return Err(Unsupported);
                }
                value
            }
        });
    }
    let address = match target {
        Ok(address) => address,
        Err((image, offset)) => return store_parameter(t, scalar, &image, offset, &values),
    };
    if values.len() < sources.len() {
        return store_parts(t, scalar, access, address, sources, &values);
    }
    // All values of a store have one type: the type of the register if there is one value or if all
    // agree, and 32 bits if registers are wider than the element.
    let first = t.ty(values[0]);
    let same = values.iter().all(|&value| t.ty(value) == first);
    let ty = match first.bits() {
        width if same && (width == scalar.bits() || width <= 32) => first,
        _ if scalar.bits() < 32 => Type::B32,
        _ => narrowest(scalar)?,
    };
    for value in &mut values {
        *value = t.extend(*value, ty, false)?;
    }
    values.insert(0, address);
    t.inst(Op::Store(access), ty, &values);
    Ok(())
}

/// Stores the elements of a vector that are not `_`, each alone: an access of a vector is an access
/// of each element, in any order.
fn store_parts(
    t: &mut Translator,
    scalar: Scalar,
    mut access: Access,
    address: Value,
    sources: &[Operand],
    values: &[Value],
) -> Translated {
    access.lanes = 1;
    let start = access.offset;
    let present = (0..).zip(sources).filter(|(_, source)| source.kind != OperandKind::Sink);
    for ((lane, _), &value) in present.zip(values) {
        access.offset = start + lane * (scalar.bits() / 8) as i32;
        let value = t.convert(value, narrowest(scalar)?)?;
        t.inst(Op::Store(access), t.ty(value), &[address, value]);
    }
    Ok(())
}

/// Loads elements of the parameter of a device function or of the result of a call.
fn load_image(
    t: &mut Translator,
    scalar: Scalar,
    destinations: &[Operand],
    image: &Image,
    offset: u32,
) -> Translated {
    let bytes = scalar.bits() / 8;
    for (destination, lane) in destinations.iter().zip(0..) {
        let at = offset.checked_add(lane * bytes).ok_or(Unsupported)?;
        let value = t.load_image(image, at, bytes, scalar.is_signed())?;
        let value = match t.destination_type(destination)? {
            Some(declared) if declared.bits() <= t.ty(value).bits() => t.convert(value, declared)?,
            _ => value,
        };
        t.write_extended(destination, value, scalar.is_signed())?;
    }
    Ok(())
}

/// Stores elements in the parameter of a call or a result.
fn store_parameter(
    t: &mut Translator,
    scalar: Scalar,
    image: &Image,
    offset: u32,
    values: &[Value],
) -> Translated {
    let bytes = scalar.bits() / 8;
    for (&value, lane) in values.iter().zip(0..) {
        let at = offset.checked_add(lane * bytes).ok_or(Unsupported)?;
        let value = t.convert(value, t.ty(value).as_int())?;
        let value = if bytes < 4 { value } else { t.convert(value, narrowest(scalar)?)? };
        t.store_image(image, at, bytes, value)?;
    }
    Ok(())
}

/// The atomic operation on memory of a type.
pub(super) fn atomic_op(operation: Atomic, scalar: Scalar) -> Translated<AtomicOp> {
    let pick = |float, signed, unsigned| match scalar {
        _ if scalar.is_float() => Ok(float),
        _ if scalar.is_signed() => Ok(signed),
        _ if scalar.is_number() => Ok(unsigned),
        _ => Err(Unsupported),
    };
    Ok(match operation {
        Atomic::And => AtomicOp::And,
        Atomic::Or => AtomicOp::Or,
        Atomic::Xor => AtomicOp::Xor,
        Atomic::Exch => AtomicOp::Exch,
        Atomic::Cas => AtomicOp::Cas,
        Atomic::Add if scalar.is_float() => AtomicOp::Fadd,
        Atomic::Add => AtomicOp::Add,
        Atomic::Inc => AtomicOp::Inc,
        Atomic::Dec => AtomicOp::Dec,
        Atomic::Min => pick(AtomicOp::Fmin, AtomicOp::Smin, AtomicOp::Umin)?,
        Atomic::Max => pick(AtomicOp::Fmax, AtomicOp::Smax, AtomicOp::Umax)?,
    })
}

pub(super) fn atomic(t: &mut Translator, form: &mut Form, with_result: bool) -> Translated {
    let scalar = form.ty()?;
    let space = form.choose::<modifiers::Space>().map_or(Space::Generic, Space::from);
    if matches!(space, Space::Const | Space::Param | Space::Local) {
        return Err(Unsupported);
    }
    let order = form.choose::<modifiers::Order>();
    let scope = form.choose::<modifiers::Scope>().map_or(Scope::Gpu, Scope::from);
    let mut op = atomic_op(form.choose::<Atomic>().ok_or(Unsupported)?, scalar)?;
    // Halves are never flushed and must say so; sums of `f32` may say so.
    let is_half = scalar.is_float() && (scalar.bits() == 16 || scalar.is_pair());
    match form.take(Modifier::Noftz) {
        noftz if noftz == is_half => {}
        true if op == AtomicOp::Fadd && scalar.ir() == Some(Type::F32) => op = AtomicOp::FaddNoftz,
        _ => return Err(Unsupported),
    }
    // A hint to the cache, with a policy after the operands.
    let policies = usize::from(form.take(Modifier::L2CacheHint));
    let ty = scalar.ir().ok_or(Unsupported)?;
    let mut access = Access {
        order: order.map_or(Order::Relaxed, Order::from),
        scope,
        lanes: form.choose::<modifiers::Vector>().map_or(1, u8::from),
        ..Access::weak(space, element(scalar.untyped()?)?)
    };
    let first = usize::from(with_result);
    let sources = if op == AtomicOp::Cas { 2 } else { 1 };
    form.expect_operands(first + 1 + sources + policies)?;
    let mut args: SmallVec<[Value; 9]> = SmallVec::new();
    let mut place = address(t, form.operand(first)?, &mut access)?;
    if policies > 0 {
        place = hinted(t, space, place, form.operand(first + 1 + sources)?)?;
    }
    args.push(place);
    for index in 0..sources {
        for element in lanes(form.operand(first + 1 + index)?, access.lanes)? {
            args.push(t.read(element, scalar)?);
        }
    }
    if with_result {
        let destinations = lanes(form.operand(0)?, access.lanes)?;
        let inst = t.inst(Op::Atomic { op, access }, ty, &args);
        let old: SmallVec<[Value; 8]> = t.function.results(inst).iter().copied().collect();
        destinations.iter().zip(old).try_for_each(|(destination, old)| t.write(destination, old))
    } else {
        t.inst(Op::Red { op, access }, ty, &args);
        Ok(())
    }
}
