//! Registers to values, in the manner of Braun, Buchwald, Hack, Leißa, Mallach and Zwinkau, "Simple and
//! Efficient Construction of Static Single Assignment Form" (CC 2013), without its recursion.
//!
//! The translator writes and reads registers while it fills blocks in source order. A read finds the last
//! write in its block, or walks up while there is one predecessor only and that is known; where flow may
//! join, it makes a block parameter and leaves the arguments for later. When all blocks are filled,
//! [`Ssa::finish`] works off that list (finding an argument may make further parameters), removes the
//! parameters that turn out to have a single value, and puts the rest into the edges.
//!
//! Cost: a parameter is made only for a register that is read behind the join, so the work is the number
//! of such (register, join) pairs times their edges, plus the lengths of the walks, which every walk
//! shortens for the next by noting what it found.

use crate::interrupt;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use ptxc_ir::{Block, Function, Inst, InstData, Op, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::check::scope::Register;

/// A walk notes what it found in one block out of so many, and where it ended.
const NOTED_APART: usize = 16;

/// Where to look for a register that a block has not written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Above {
    /// The block may be reached from several places, or from later ones.
    #[default]
    Join,
    /// It has just this predecessor.
    Single(Block),
    /// It joins the two: a short block behind the first, in which few registers are written.
    Around(Block, Block),
    /// It is the entry.
    Nothing,
}

/// An edge into a block.
#[derive(Clone, Copy)]
struct Edge {
    /// Where it comes from.
    from: Block,
    /// The terminator there, and the number of the target in it.
    inst: Inst,
    index: usize,
}

/// A register.
#[derive(Clone, Copy)]
struct Variable {
    /// The block that wrote it last, if one did, and what.
    block: PackedOption<Block>,
    value: Value,
    /// The type of a read.
    ty: Type,
}

/// The state of the construction.
pub(super) struct Ssa {
    /// By register, with the last write: nearly all that is read was written in the same block just before.
    variables: Vec<Variable>,
    /// The last writes of blocks, but for those that `variables` has.
    others: FxHashMap<(Block, Register), Value>,
    above: SecondaryMap<Block, Above>,
    /// Parameters in the order of their making.
    params: Vec<(Value, Block, Register)>,
    undefs: FxHashMap<Type, Value>,
}

/// The other names of values: of those that turned out to be the same as another one, that one, which may have another name
/// in its turn.
type Names = SecondaryMap<Value, PackedOption<Value>>;

impl Ssa {
    /// Of an empty function.
    pub fn new() -> Ssa {
        Ssa {
            variables: Vec::new(),
            others: FxHashMap::default(),
            above: SecondaryMap::new(),
            params: Vec::new(),
            undefs: FxHashMap::default(),
        }
    }

    /// Says how a new block is reached. A block that nothing is said about is a join.
    pub fn enter(&mut self, block: Block, above: Above) {
        self.above[block] = above;
    }

    /// The place of a register.
    fn variable(&mut self, register: Register) -> &mut Variable {
        let index = register.0 as usize;
        if self.variables.len() <= index {
            let none = Variable { block: None.into(), value: Value::from_u32(0), ty: Type::B32 };
            self.variables.resize(index + 1, none);
        }
        &mut self.variables[index]
    }

    /// The value of a register from here to the next write in the block.
    pub fn write(&mut self, block: Block, register: Register, value: Value) {
        let variable = self.variable(register);
        let before = std::mem::replace(&mut variable.block, block.into()).expand();
        let old = std::mem::replace(&mut variable.value, value);
        if let Some(before) = before.filter(|&before| before != block) {
            self.others.insert((before, register), old);
        }
    }

    /// What a block wrote to a register that has a place.
    fn written(&self, block: Block, register: Register) -> Option<Value> {
        let variable = &self.variables[register.0 as usize];
        match variable.block.expand()? {
            last if last == block => Some(variable.value),
            // Whatever is there was written before.
            _ if self.others.is_empty() => None,
            _ => self.others.get(&(block, register)).copied(),
        }
    }

    /// The value of a register at the end of what the block has so far; `ty` is the register's type.
    pub fn read(&mut self, func: &mut Function, block: Block, register: Register, ty: Type) -> Value {
        self.variable(register).ty = ty;
        if let Some(value) = self.written(block, register) {
            return value;
        }
        let mut passed: SmallVec<[Block; 8]> = SmallVec::new();
        let mut at = block;
        let value = loop {
            passed.push(at);
            match self.above[at] {
                Above::Single(above) => at = above,
                Above::Around(above, short) if self.written(short, register).is_none() => at = above,
                Above::Nothing => break self.undef(func, ty),
                Above::Join | Above::Around(..) => {
                    let value = func.add_block_param(at, ty);
                    self.params.push((value, at, register));
                    break value;
                }
            }
            if let Some(value) = self.written(at, register) {
                break value;
            }
        };
        // Noting it in each block would take the product of blocks and registers, where a few steps more take little.
        let last = passed.len().saturating_sub(1);
        for (step, block) in passed.into_iter().enumerate() {
            if step == 0 {
                self.write(block, register, value);
            } else if step.is_multiple_of(NOTED_APART) || step == last {
                self.others.insert((block, register), value);
            }
        }
        value
    }

    /// A value of the type that may be anything, made once in the entry block.
    fn undef(&mut self, func: &mut Function, ty: Type) -> Value {
        *self.undefs.entry(ty).or_insert_with(|| {
            let inst = func.make_inst(InstData::new(Op::Undef, ty, &[]));
            let entry = func.entry();
            func.blocks[entry].insts.insert(0, inst);
            func.result(inst)
        })
    }

    /// Completes the function: all blocks of its layout are filled and reachable, and its edges have no
    /// arguments yet.
    pub fn finish(mut self, func: &mut Function) {
        let mut edges: SecondaryMap<Block, SmallVec<[Edge; 2]>> = SecondaryMap::new();
        edges.resize(func.blocks.len());
        for &block in &func.layout {
            interrupt::poll();
            let Some(inst) = func.terminator(block) else { continue };
            for (index, edge) in func.insts[inst].targets.iter().enumerate() {
                edges[edge.block].push(Edge { from: block, inst, index });
            }
        }
        // Arguments by parameter, in the order of the edges. Parameters of blocks that turned out
        // unreachable have none and are never looked at.
        let mut args: Vec<SmallVec<[Value; 2]>> = Vec::new();
        while args.len() < self.params.len() {
            interrupt::poll();
            let (_, block, register) = self.params[args.len()];
            let ty = self.variables[register.0 as usize].ty;
            let mut values = SmallVec::new();
            for edge in &edges[block] {
                values.push(self.read(func, edge.from, register, ty));
            }
            args.push(values);
        }
        if self.params.is_empty() {
            return;
        }
        let mut names = self.single_valued(func, &args);
        for (&(value, block, _), values) in self.params.iter().zip(&args) {
            interrupt::poll();
            if names[value].is_some() {
                continue;
            }
            for (edge, &value) in edges[block].iter().zip(values) {
                func.insts[edge.inst].targets[edge.index].args.push(value);
            }
        }
        for index in 0..func.layout.len() {
            interrupt::poll();
            let block = func.layout[index];
            if func.blocks[block].params.iter().any(|&param| names[param].is_some()) {
                let params = func.blocks[block].params.clone();
                func.retain_block_params(block, |index| names[params[index]].is_none());
            }
        }
        func.rewrite_uses(|value| {
            if names[value].is_none() {
                return value;
            }
            interrupt::poll();
            resolve(&mut names, value)
        });
    }

    /// The parameters that have one value apart from themselves, each with that value, which may be in
    /// the map in its turn. Removing one parameter may leave another with one value. A parameter is looked
    /// at again only when one of two values that told its arguments apart is renamed, and goes on where it
    /// found the second, since arguments that were the same stay the same (watched literals, as in Moskewicz
    /// et al., "Chaff", DAC 2001).
    fn single_valued(&mut self, func: &mut Function, args: &[SmallVec<[Value; 2]>]) -> Names {
        let mut number: SecondaryMap<Value, u32> = SecondaryMap::with_default(u32::MAX);
        number.resize(func.num_values());
        for (index, &(value, ..)) in (0..).zip(&self.params) {
            number[value] = index;
        }
        // By parameter, those that it told apart from another value.
        let mut watchers: Vec<Vec<usize>> = vec![Vec::new(); self.params.len()];
        // By parameter, the argument that the ones up to the second number agree with, themselves apart.
        let mut agreed: Vec<(usize, usize)> = vec![(0, 0); self.params.len()];
        let mut names = Names::new();
        names.resize(func.num_values());
        let mut work: Vec<usize> = (0..self.params.len()).rev().collect();
        while let Some(index) = work.pop() {
            let (param, _, register) = self.params[index];
            if names[param].is_some() || args[index].is_empty() {
                continue;
            }
            let (mut first, start) = agreed[index];
            let mut only = Some(resolve(&mut names, args[index][first])).filter(|&value| value != param);
            let mut other = None;
            let mut next = start;
            while let Some(&value) = args[index].get(next) {
                let value = resolve(&mut names, value);
                if value != param && only != Some(value) {
                    if only.is_some() {
                        other = Some(value);
                        break;
                    }
                    (only, first) = (Some(value), next);
                }
                next += 1;
            }
            agreed[index] = (first, next);
            if let Some(other) = other {
                for value in only.into_iter().chain([other]) {
                    if let Some(watchers) = watchers.get_mut(number[value] as usize) {
                        watchers.push(index);
                    }
                }
                continue;
            }
            let ty = self.variables[register.0 as usize].ty;
            let value = only.unwrap_or_else(|| self.undef(func, ty));
            names[param] = value.into();
            work.append(&mut watchers[index]);
        }
        names
    }
}

/// The last name of a value; shortens the way for the next one.
fn resolve(names: &mut Names, value: Value) -> Value {
    let mut last = value;
    while let Some(next) = names[last].expand() {
        last = next;
    }
    let mut at = value;
    while at != last {
        at = std::mem::replace(&mut names[at], last.into()).expand().unwrap_or(last);
    }
    last
}
