//! Parameters and results for which the convention has no register: they are on the stack.
//!
//! In: a function that passes values of any number. Out: the same function in which the values without a
//! register are in memory: the caller stores parameters from its stack pointer up, and the callee finds
//! them there. In ptxc's own convention, results without a register follow the parameters. In the
//! platform's, an array of any size follows them, and a result of more than 48 bytes is above that;
//! the first parameter is its address. Large parameters and results, whose values are addresses, are
//! copied to and from those places.
//!
//! ```text
//! v70 = call @f, v0, …, v69      =>    v71 = sreg.b32 outgoing
//!                                      store.local.b32 [v71 + 0], v60
//!                                      …
//!                                      v70 = call @f, v0, …, v59
//! ```
//! Callers and callees are changed separately; the places depend on the types alone. Linear.

use cranelift_entity::SecondaryMap;
use ptxc_ir::{
    Access, Callee, CalleeKind, FuncRef, Function, FunctionKind, Inst, InstData, IntCond, Layout, Layouts,
    MemType, Op, SourceLoc, Space, SpecialReg, Type, Value,
};

use super::{Home, homes, platform};

/// The places of the values of a call.
#[derive(Clone, Debug, Default)]
struct Plan {
    params: Vec<Home>,
    results: Vec<Home>,
    /// The bytes on the stack up to the array of any size, if there is one, or the results in memory.
    bytes: u32,
    /// The results, if they are in memory and their address is the first parameter.
    in_memory: Option<Layout>,
    /// The layouts of what is left in registers, in the platform's convention.
    left: Layouts,
}

impl Plan {
    /// The plan of ptxc's own convention.
    fn own(params: &[Type], results: &[Type]) -> Plan {
        let mut bytes = 0;
        let params = homes(params, &mut bytes);
        let results = homes(results, &mut bytes);
        Plan { params, results, bytes, ..Plan::default() }
    }

    /// The plan of the platform's convention. `None` if the values do not fit the layouts.
    fn platform(layouts: &Layouts, params: &[Type], results: &[Type]) -> Option<Plan> {
        let mut bytes = 0;
        let in_memory = !platform::fit(&layouts.results);
        let address = in_memory.then_some(platform::ADDRESS);
        let all: Vec<Layout> = address.into_iter().chain(layouts.params.iter().copied()).collect();
        let starts = platform::homes(&all, &mut bytes);
        let mut left = Layouts { params: kept(&all, &starts).collect(), results: layouts.results.clone() };
        let large = layouts.results.iter().filter(|layout| layout.is_large()).count();
        let (addresses, rest) = params.split_at_checked(large)?;
        let own = platform::pieces(&layouts.params, &starts[usize::from(in_memory)..], rest)?;
        let (mut area, mut homes) = (None, vec![Home::Register; layouts.results.len()]);
        if in_memory {
            let align = layouts.results.iter().map(|one| one.align).max().unwrap_or(0).max(8);
            let mut end = 0;
            homes = platform::in_memory(&layouts.results, &mut end);
            area = Some(Layout { bytes: end, align });
            left.results.clear();
        }
        // The values of large results are the first parameters.
        let mut params = Vec::with_capacity(addresses.len() + own.len());
        let (mut small, mut homes_of_small) = (Vec::new(), Vec::new());
        for (&layout, &home) in layouts.results.iter().zip(&homes) {
            match home {
                Home::Stack(start) if layout.is_large() => params.push(Home::LargeResult(start, layout)),
                _ => {
                    small.push(layout);
                    homes_of_small.push(home);
                }
            }
        }
        params.extend(own);
        let results = platform::pieces(&small, &homes_of_small, results)?;
        Some(Plan { params, results, bytes, in_memory: area, left })
    }

    /// Whether everything is in registers.
    fn is_plain(&self) -> bool {
        self.bytes == 0 && self.in_memory.is_none() && self.params.iter().all(|&home| home == Home::Register)
    }

    /// The place of the results in memory if an array of that many bytes precedes them.
    fn returned_at(&self, array: u32) -> Option<u32> {
        self.in_memory.map(|area| (self.bytes + array).next_multiple_of(area.align))
    }

    /// The bytes on the stack with an array of that many bytes.
    fn total(&self, array: u32) -> u32 {
        let end = self.in_memory.zip(self.returned_at(array)).map(|(area, start)| start + area.bytes);
        end.unwrap_or(self.bytes + array).next_multiple_of(STACK_ALIGN)
    }

    /// The bytes of the array that a call passes. `None` if the call does not say, or names more than
    /// a parameter may have.
    fn array_of(&self, func: &Function, call: &InstData) -> Option<u32> {
        if !self.params.iter().any(|home| matches!(home, Home::Array(_))) {
            return Some(0);
        }
        let args = call.args.get(first_argument(&call.op)..)?;
        let (&bytes, _) = args.iter().zip(&self.params).find(|(_, home)| **home == Home::ArrayBytes)?;
        let bytes = func.constant(bytes).and_then(|bytes| u32::try_from(bytes).ok());
        bytes.filter(|&bytes| bytes <= MOST_ARRAY)
    }
}

/// Puts the values that have no register on the stack: in calls, at the function's entry, and where it
/// returns.
pub fn put_on_stack(func: &mut Function) {
    let mut plans: SecondaryMap<FuncRef, Option<Plan>> = SecondaryMap::new();
    for (callee, known) in func.callees.iter() {
        plans[callee] = plan_of_callee(known);
    }
    // Selection reports what is left without a register.
    let Some(arrays) = arrays(func, &plans) else { return };
    let mut any = false;
    for callee in func.callees.keys().collect::<Vec<_>>() {
        if let Some(plan) = &plans[callee] {
            apply(plan, arrays[callee], &mut func.callees[callee]);
            any = true;
        }
    }
    let own = plan_of_function(func);
    if !any && own.is_none() {
        return;
    }
    let mut change = Change { func, names: SecondaryMap::new(), list: Vec::new(), loc: SourceLoc::NONE };
    let returned = own.as_ref().and_then(|plan| change.enter(plan));
    for block in change.func.layout.clone() {
        ptxc_interrupt::poll();
        for inst in std::mem::take(&mut change.func.blocks[block].insts) {
            change.loc = change.func.insts[inst].loc;
            match (change.func.insts[inst].op, &own) {
                (Op::Call { callee, .. } | Op::CallIndirect(callee), _) if plans[callee].is_some() => {
                    if let Some(plan) = &plans[callee] {
                        change.call(inst, callee, plan);
                    }
                }
                (Op::Return, Some(plan)) => change.leave(inst, plan, returned),
                _ => change.list.push(inst),
            }
        }
        change.func.blocks[block].insts = std::mem::take(&mut change.list);
    }
    change.rename();
}

/// The most bytes of an array that calls pass to each callee. `None` if those of one are not known.
fn arrays(
    func: &Function,
    plans: &SecondaryMap<FuncRef, Option<Plan>>,
) -> Option<SecondaryMap<FuncRef, u32>> {
    let mut most = SecondaryMap::new();
    for &inst in func.layout.iter().flat_map(|&block| &func.blocks[block].insts) {
        let data = &func.insts[inst];
        if let Op::Call { callee, .. } | Op::CallIndirect(callee) = data.op
            && let Some(plan) = &plans[callee]
        {
            most[callee] = plan.array_of(func, data)?.max(most[callee]);
        }
    }
    Some(most)
}

/// The plan of a callee. `None` if everything is in registers.
fn plan_of_callee(known: &Callee) -> Option<Plan> {
    let plan = match &known.kind {
        CalleeKind::Routine => return None,
        CalleeKind::Device | CalleeKind::Prototype(_) => Plan::own(&known.params, &known.results),
        CalleeKind::External(external) => Plan::platform(&external.layouts, &known.params, &known.results)?,
    };
    (!plan.is_plain()).then_some(plan)
}

/// Takes what goes to the stack, with an array of that many bytes, from the description of a callee.
fn apply(plan: &Plan, array: u32, known: &mut Callee) {
    let address = plan.in_memory.map(|_| Type::B32);
    known.params = address.into_iter().chain(kept(&known.params, &plan.params)).collect();
    known.results = kept(&known.results, &plan.results).collect();
    known.stack.bytes = plan.total(array);
    if let CalleeKind::External(external) = &mut known.kind {
        external.layouts = plan.left.clone();
    }
}

/// The same for the function itself.
fn plan_of_function(func: &mut Function) -> Option<Plan> {
    if func.kind == FunctionKind::Entry {
        return None;
    }
    let params: Vec<Type> = func.blocks[func.entry()].params.iter().map(|&param| func.ty(param)).collect();
    let plan = match &mut func.platform {
        // Routines take what fits into registers.
        None if ptxc_ssa::runtime::is_routine(&func.name) => return None,
        None => Plan::own(&params, &func.returns),
        Some(layouts) => {
            let plan = Plan::platform(layouts, &params, &func.returns)?;
            **layouts = plan.left.clone();
            plan
        }
    };
    func.returns = kept(&func.returns, &plan.results).collect();
    (!plan.is_plain()).then_some(plan)
}

/// The alignment of the stack pointer at a call, in bytes.
const STACK_ALIGN: u32 = 16;

/// The most bytes that a call copies. Local memory of a thread has at most 512 KiB.
const MOST_ARRAY: u32 = 1 << 20;

/// The values that stay in registers.
fn kept<T: Copy>(values: &[T], homes: &[Home]) -> impl Iterator<Item = T> {
    values.iter().zip(homes).filter(|(_, home)| **home == Home::Register).map(|(&value, _)| value)
}

/// A function that is changed.
struct Change<'a> {
    func: &'a mut Function,
    /// The value that replaces another.
    names: SecondaryMap<Value, Option<Value>>,
    /// The new instructions of a block.
    list: Vec<Inst>,
    loc: SourceLoc,
}

impl Change<'_> {
    fn emit(&mut self, op: Op, ty: Type, args: &[Value]) -> Inst {
        let inst = self.func.make_inst(InstData::new(op, ty, args).at(self.loc));
        self.list.push(inst);
        inst
    }

    fn value(&mut self, op: Op, ty: Type, args: &[Value]) -> Value {
        let inst = self.emit(op, ty, args);
        self.func.result(inst)
    }

    fn constant(&mut self, bits: u64) -> Value {
        self.value(Op::Const(bits), Type::B32, &[])
    }

    /// Stores a value at an address plus an offset.
    fn store(&mut self, base: Value, offset: u32, value: Value) {
        let ty = self.func.ty(value);
        let value = match ty {
            Type::Pred => {
                let (one, zero) = (self.constant(1), self.constant(0));
                self.value(Op::Select, Type::B32, &[value, one, zero])
            }
            _ => value,
        };
        let ty = self.func.ty(value);
        self.emit(Op::Store(access(ty, offset)), ty, &[base, value]);
    }

    /// Stores the values whose homes are on the stack.
    fn store_all(&mut self, base: Value, values: &[Value], homes: &[Home]) {
        for (&value, home) in values.iter().zip(homes) {
            if let Home::Stack(offset) = *home {
                self.store(base, offset, value);
            }
        }
    }

    /// Copies whole words between two addresses plus offsets, which are multiples of the alignment.
    fn copy(&mut self, to: (Value, u32), from: (Value, u32), layout: Layout) {
        let mut at = 0;
        while at < layout.bytes {
            let left = layout.bytes - at;
            let ty = match layout.align {
                16.. if left >= 16 => Type::B128,
                8.. if left >= 8 => Type::B64,
                _ => Type::B32,
            };
            let part = self.load(from.0, from.1 + at, ty);
            self.store(to.0, to.1 + at, part);
            at += ty.bits() / 8;
        }
    }

    /// Loads a value of a type.
    fn load(&mut self, base: Value, offset: u32, ty: Type) -> Value {
        if ty != Type::Pred {
            return self.value(Op::Load(access(ty, offset)), ty, &[base]);
        }
        let word = self.value(Op::Load(access(Type::B32, offset)), Type::B32, &[base]);
        let zero = self.constant(0);
        self.value(Op::Icmp(IntCond::Ne), Type::B32, &[word, zero])
    }

    /// Stores the parameters of a call and loads its results.
    fn call(&mut self, inst: Inst, callee: FuncRef, plan: &Plan) {
        let data = self.func.insts[inst].clone();
        let results = self.func.results(inst).to_vec();
        let (target, rest) = data.args.split_at(first_argument(&data.op));
        let array = plan.array_of(self.func, &data).unwrap_or(0);
        let (values, pointer) = rest.split_at(plan.params.len());
        let pointer = pointer.first().map(|&pointer| {
            let bytes = self.constant(self.func.callees[callee].stack.bytes.into());
            self.value(Op::Isub, Type::B32, &[pointer, bytes])
        });
        let base = match pointer {
            Some(pointer) => pointer,
            None => self.value(Op::SpecialReg(SpecialReg::Outgoing), Type::B32, &[]),
        };
        self.store_all(base, values, &plan.params);
        for (&address, home) in values.iter().zip(&plan.params) {
            match *home {
                Home::Array(start) => {
                    self.copy((base, start), (address, 0), Layout { bytes: array, align: 4 })
                }
                Home::Large(start, layout) => self.copy((base, start), (address, 0), layout),
                _ => {}
            }
        }
        let returned = plan.returned_at(array).map(|start| {
            let start = self.constant(start.into());
            self.value(Op::Iadd, Type::B32, &[base, start])
        });
        let in_registers = kept(values, &plan.params);
        let args: Vec<Value> =
            target.iter().copied().chain(returned).chain(in_registers).chain(pointer).collect();
        let made = self.emit(data.op, data.ty, &args);
        let mut left = self.func.results(made).to_vec().into_iter();
        for (&result, home) in results.iter().zip(&plan.results) {
            self.names[result] = match *home {
                Home::Register => left.next(),
                Home::Stack(offset) => {
                    let ty = self.func.ty(result);
                    Some(self.load(returned.unwrap_or(base), offset, ty))
                }
                // Results have a size, and the addresses of large ones are parameters.
                Home::Array(_) | Home::ArrayBytes | Home::Large(..) | Home::LargeResult(..) => None,
            };
        }
        for (&address, home) in values.iter().zip(&plan.params) {
            if let Home::LargeResult(start, layout) = *home {
                self.copy((address, 0), (returned.unwrap_or(base), start), layout);
            }
        }
    }

    /// Loads the function's own parameters. Returns the address for its results, if it has one.
    fn enter(&mut self, plan: &Plan) -> Option<Value> {
        let entry = self.func.entry();
        let old = std::mem::take(&mut self.func.blocks[entry].params);
        let returned = plan.in_memory.map(|_| self.func.add_block_param(entry, Type::B32));
        let mut base = None;
        for (&param, home) in old.iter().zip(&plan.params) {
            let ty = self.func.ty(param);
            let mut stack = || {
                let caller = Op::SpecialReg(SpecialReg::CallerStack);
                *base.get_or_insert_with(|| self.value(caller, Type::B32, &[]))
            };
            self.names[param] = Some(match *home {
                Home::Register | Home::ArrayBytes => self.func.add_block_param(entry, ty),
                Home::Stack(offset) => {
                    let base = stack();
                    self.load(base, offset, ty)
                }
                Home::Array(start) | Home::Large(start, _) => {
                    let (base, start) = (stack(), self.constant(start.into()));
                    self.value(Op::Iadd, Type::B32, &[base, start])
                }
                Home::LargeResult(start, _) => {
                    let base = returned.unwrap_or_else(&mut stack);
                    let start = self.constant(start.into());
                    self.value(Op::Iadd, Type::B32, &[base, start])
                }
            });
        }
        returned
    }

    /// Stores the results that are in memory.
    fn leave(&mut self, inst: Inst, plan: &Plan, returned: Option<Value>) {
        let values = self.func.insts[inst].args.clone();
        if plan.results.iter().any(|home| *home != Home::Register) {
            let base = match returned {
                Some(address) => address,
                None => self.value(Op::SpecialReg(SpecialReg::CallerStack), Type::B32, &[]),
            };
            self.store_all(base, &values, &plan.results);
        }
        self.func.insts[inst].args = kept(&values, &plan.results).collect();
        self.list.push(inst);
    }

    /// Lets every use name the new values.
    fn rename(&mut self) {
        for &block in &self.func.layout {
            for &inst in &self.func.blocks[block].insts {
                let data = &mut self.func.insts[inst];
                let edges = data.targets.iter_mut().flat_map(|target| target.args.iter_mut());
                for value in data.args.iter_mut().chain(edges) {
                    if let Some(new) = self.names[*value] {
                        *value = new;
                    }
                }
            }
        }
    }
}

/// The number of the first argument of a call that is a parameter.
fn first_argument(call: &Op) -> usize {
    usize::from(matches!(call, Op::CallIndirect(_)))
}

/// A weak access to local memory.
fn access(ty: Type, offset: u32) -> Access {
    let elem = match ty.bits() {
        16 => MemType::B16,
        64 => MemType::B64,
        128 => MemType::B128,
        _ => MemType::B32,
    };
    Access { offset: offset as i32, ..Access::weak(Space::Local, elem) }
}
