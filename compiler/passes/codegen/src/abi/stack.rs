//! Parameters and results for which the convention has no register: they are on the stack.
//!
//! In: a function that passes values of any number. Out: the same function in which the values without a
//! register are in memory: the caller stores parameters from its stack pointer up, and the callee finds
//! them there. In ptxc's own convention, results without a register follow the parameters. In the
//! platform's, a result of more than 48 bytes is above them, and the first parameter is its address.
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
    Access, CalleeKind, FuncRef, Function, FunctionKind, Inst, InstData, IntCond, Layout, Layouts, MemType,
    Op, SourceLoc, Space, SpecialReg, Type, Value,
};

use super::{Home, homes, platform};

/// The places of the values of a call.
#[derive(Clone, Debug, Default)]
struct Plan {
    params: Vec<Home>,
    results: Vec<Home>,
    /// Where the results are on the stack, if their address is the first parameter.
    returned_at: Option<u32>,
    /// The bytes on the stack.
    bytes: u32,
}

impl Plan {
    /// The plan of ptxc's own convention.
    fn own(params: &[Type], results: &[Type]) -> Plan {
        let mut bytes = 0;
        let params = homes(params, &mut bytes);
        let results = homes(results, &mut bytes);
        Plan { params, results, returned_at: None, bytes }
    }

    /// The plan of the platform's convention, and the layouts of what is left in registers. `None` if the
    /// values do not fit the layouts.
    fn platform(layouts: &Layouts, params: &[Type], results: &[Type]) -> Option<(Plan, Layouts)> {
        let mut bytes = 0;
        let in_memory = !platform::fit(&layouts.results);
        let address = in_memory.then_some(platform::ADDRESS);
        let all: Vec<Layout> = address.into_iter().chain(layouts.params.iter().copied()).collect();
        let starts = platform::homes(&all, &mut bytes);
        let mut left = Layouts { params: kept(&all, &starts).collect(), results: layouts.results.clone() };
        let params = platform::pieces(&layouts.params, &starts[usize::from(in_memory)..], params)?;
        let (mut returned_at, mut homes) = (None, vec![Home::Register; layouts.results.len()]);
        if in_memory {
            let align = layouts.results.iter().map(|one| one.align).max().unwrap_or(0).max(8);
            let start = bytes.next_multiple_of(align);
            let mut end = 0;
            homes = platform::in_memory(&layouts.results, &mut end);
            (returned_at, bytes) = (Some(start), start + end);
            left.results.clear();
        }
        let results = platform::pieces(&layouts.results, &homes, results)?;
        Some((Plan { params, results, returned_at, bytes }, left))
    }

    /// Whether everything is in registers.
    fn is_plain(&self) -> bool {
        self.bytes == 0 && self.returned_at.is_none()
    }
}

/// Puts the values that have no register on the stack: in calls, at the function's entry, and where it
/// returns.
pub fn put_on_stack(func: &mut Function) {
    let mut plans: SecondaryMap<FuncRef, Option<Plan>> = SecondaryMap::new();
    let mut any = false;
    for callee in func.callees.keys().collect::<Vec<_>>() {
        plans[callee] = plan_of_callee(func, callee);
        any |= plans[callee].is_some();
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

/// The plan of a callee, whose description loses what goes to the stack. `None` if nothing does.
fn plan_of_callee(func: &mut Function, callee: FuncRef) -> Option<Plan> {
    let known = &mut func.callees[callee];
    let plan = match &mut known.kind {
        CalleeKind::Routine => return None,
        CalleeKind::Device | CalleeKind::Prototype => Plan::own(&known.params, &known.results),
        CalleeKind::External(external) => {
            let (plan, kept) = Plan::platform(&external.layouts, &known.params, &known.results)?;
            external.layouts = kept;
            plan
        }
    };
    if plan.is_plain() {
        return None;
    }
    let address = plan.returned_at.map(|_| Type::B32);
    known.params = address.into_iter().chain(kept(&known.params, &plan.params)).collect();
    known.results = kept(&known.results, &plan.results).collect();
    known.stack.bytes = plan.bytes.next_multiple_of(STACK_ALIGN);
    Some(plan)
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
            let (plan, kept) = Plan::platform(layouts, &params, &func.returns)?;
            **layouts = kept;
            plan
        }
    };
    func.returns = kept(&func.returns, &plan.results).collect();
    (!plan.is_plain()).then_some(plan)
}

/// The alignment of the stack pointer at a call, in bytes.
const STACK_ALIGN: u32 = 16;

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
        let first = usize::from(matches!(data.op, Op::CallIndirect(_)));
        let (target, rest) = data.args.split_at(first);
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
        let returned = plan.returned_at.map(|start| {
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
            };
        }
    }

    /// Loads the function's own parameters. Returns the address for its results, if it has one.
    fn enter(&mut self, plan: &Plan) -> Option<Value> {
        let entry = self.func.entry();
        let old = std::mem::take(&mut self.func.blocks[entry].params);
        let returned = plan.returned_at.map(|_| self.func.add_block_param(entry, Type::B32));
        let mut base = None;
        for (&param, home) in old.iter().zip(&plan.params) {
            let ty = self.func.ty(param);
            self.names[param] = Some(match *home {
                Home::Register => self.func.add_block_param(entry, ty),
                Home::Stack(offset) => {
                    let caller = Op::SpecialReg(SpecialReg::CallerStack);
                    let base = *base.get_or_insert_with(|| self.value(caller, Type::B32, &[]));
                    self.load(base, offset, ty)
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
