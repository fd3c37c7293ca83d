//! A function: its values, instructions, blocks and the memory it names.
//!
//! Storage is dense maps by entity, as in Cranelift. A block owns its parameters and the list of its
//! instructions; the last instruction is the terminator and carries the edges, each with the arguments
//! for the parameters of its target. Passes that insert into the middle of a block rebuild its list.

mod interface;

use cranelift_entity::{EntityRef, PrimaryMap};
pub use interface::{
    Callee, CalleeKind, CalleeLanes, CalleeStack, External, FunctionKind, LaunchBounds, Layout, Layouts,
    Param,
};
use smallvec::SmallVec;

use crate::entities::{Block, FuncRef, Inst, Symbol, Value};
use crate::memory::Space;
use crate::op::{Op, Results};
use crate::symbol::{ImageWord, SymbolData};
use crate::types::Type;

/// Where an instruction was written: the number of a node of the function's syntax tree. A byte
/// offset would change whenever the text moves or a comment grows; the node number does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceLoc(pub u32);

impl SourceLoc {
    /// No place in the source.
    pub const NONE: SourceLoc = SourceLoc(u32::MAX);
}

impl Default for SourceLoc {
    fn default() -> Self {
        SourceLoc::NONE
    }
}

/// An edge: a target block and the arguments for its parameters.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct BlockCall {
    /// The target.
    pub block: Block,
    /// One value for each parameter of the target.
    pub args: SmallVec<[Value; 4]>,
}

impl Clone for BlockCall {
    /// Copies all arguments at once, which the derived `clone` does not.
    #[inline]
    fn clone(&self) -> BlockCall {
        BlockCall::new(self.block, &self.args)
    }
}

impl BlockCall {
    /// An edge with arguments.
    #[inline]
    pub fn new(block: Block, args: &[Value]) -> BlockCall {
        BlockCall { block, args: arguments(args) }
    }
}

/// An instruction without its results, which the function stores separately.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct InstData {
    /// The operation.
    pub op: Op,
    /// The controlling type; see [`Op`]. `b32` where the operation has no use for one.
    pub ty: Type,
    /// The arguments.
    pub args: SmallVec<[Value; 4]>,
    /// The edges of a terminator.
    pub targets: Vec<BlockCall>,
    /// Where the instruction was written.
    pub loc: SourceLoc,
}

impl Clone for InstData {
    /// Copies the arguments, of which nearly all instructions have few, one by one, and does not
    /// copy an empty list of edges. The derived `clone` does neither.
    #[inline]
    fn clone(&self) -> InstData {
        let InstData { op, ty, ref args, ref targets, loc } = *self;
        let targets = if targets.is_empty() { Vec::new() } else { targets.clone() };
        InstData { op, ty, args: arguments(args), targets, loc }
    }
}

impl InstData {
    /// An instruction that is not a terminator.
    #[inline]
    pub fn new(op: Op, ty: Type, args: &[Value]) -> InstData {
        InstData { op, ty, args: arguments(args), targets: Vec::new(), loc: SourceLoc::NONE }
    }

    /// The same instruction at a source location.
    pub fn at(mut self, loc: SourceLoc) -> InstData {
        self.loc = loc;
        self
    }
}

/// A list of arguments. Up to three are stored one by one, which is faster than copying a slice of
/// any length.
#[inline]
fn arguments(args: &[Value]) -> SmallVec<[Value; 4]> {
    let none = Value::from_u32(0);
    match *args {
        [] => SmallVec::new(),
        [a] => SmallVec::from_buf_and_len([a, none, none, none], 1),
        [a, b] => SmallVec::from_buf_and_len([a, b, none, none], 2),
        [a, b, c] => SmallVec::from_buf_and_len([a, b, c, none], 3),
        _ => SmallVec::from_slice(args),
    }
}

/// Where a value is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueDef {
    /// That result of an instruction.
    Result(Inst, u16),
    /// That parameter of a block.
    Param(Block, u32),
}

/// A value's type and definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueData {
    /// The type.
    pub ty: Type,
    /// The definition.
    pub def: ValueDef,
}

/// A block's parameters and instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockData {
    /// The parameters.
    pub params: Vec<Value>,
    /// The instructions in order; the last is the terminator.
    pub insts: Vec<Inst>,
}

/// A function in SSA form.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// The PTX name.
    pub name: String,
    /// Whether it is launched or called.
    pub kind: FunctionKind,
    /// Launch bounds.
    pub bounds: LaunchBounds,
    /// A kernel's parameters, in order. Those of a device function are the parameters of its entry block.
    pub params: Vec<Param>,
    /// The types of the values that a device function returns.
    pub returns: Vec<Type>,
    /// The layouts of a device function's parameters and results, if it has the calling convention of
    /// the platform; other modules may call it.
    pub platform: Option<Box<Layouts>>,
    /// The functions that it calls or takes the address of, and the prototypes of its calls through addresses.
    pub callees: PrimaryMap<FuncRef, Callee>,
    /// The kinds of this function's operations that wait for lanes, such as `warp.shfl.bfly`, that
    /// other lanes of a warp may execute at the same time in another function, or at another place
    /// of this function in another activation.
    pub elsewhere: Vec<String>,
    /// The variables it names.
    pub symbols: PrimaryMap<Symbol, SymbolData>,
    /// The words with numbers of textures, samplers and surfaces; made by legalization.
    pub image_words: Vec<ImageWord>,
    /// The blocks; those in [`layout`](Self::layout) are part of the function.
    pub blocks: PrimaryMap<Block, BlockData>,
    /// The blocks in order; the first is the entry, which has no predecessors. Its parameters are those of a
    /// device function; a kernel's has none.
    pub layout: Vec<Block>,
    /// The instructions; those listed in a block are part of the function.
    pub insts: PrimaryMap<Inst, InstData>,
    /// Where the results of each instruction start in `all_results`. Shorter than the list of
    /// instructions if the last ones have no results.
    results: Vec<ResultList>,
    /// The results of all instructions; those of one instruction are adjacent.
    all_results: Vec<Value>,
    values: PrimaryMap<Value, ValueData>,
}

/// Where the results of an instruction are in the list of all results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ResultList {
    start: u32,
    len: u32,
}

impl Clone for Function {
    /// Leaves room for the instructions and blocks that a pass adds, because most copies are made
    /// for a pass: without room, the first new instruction would move all others. Joins add 30
    /// percent more instructions and 50 percent more blocks to code with a branch in every third
    /// instruction.
    fn clone(&self) -> Function {
        let mut insts = Vec::with_capacity(self.insts.len() + self.insts.len() / 2);
        insts.extend_from_slice(self.insts.as_values_slice());
        let mut blocks = Vec::with_capacity(self.blocks.len() + self.blocks.len() / 2);
        blocks.extend_from_slice(self.blocks.as_values_slice());
        let mut values = Vec::with_capacity(self.values.len() + self.values.len() / 4);
        values.extend_from_slice(self.values.as_values_slice());
        Function {
            name: self.name.clone(),
            kind: self.kind,
            bounds: self.bounds.clone(),
            params: self.params.clone(),
            returns: self.returns.clone(),
            platform: self.platform.clone(),
            callees: self.callees.clone(),
            elsewhere: self.elsewhere.clone(),
            symbols: self.symbols.clone(),
            image_words: self.image_words.clone(),
            blocks: PrimaryMap::from(blocks),
            layout: self.layout.clone(),
            insts: PrimaryMap::from(insts),
            results: self.results.clone(),
            all_results: self.all_results.clone(),
            values: PrimaryMap::from(values),
        }
    }
}

impl Function {
    /// An empty function.
    pub fn new(name: impl Into<String>, kind: FunctionKind) -> Function {
        Function {
            name: name.into(),
            kind,
            bounds: LaunchBounds::default(),
            params: Vec::new(),
            returns: Vec::new(),
            platform: None,
            callees: PrimaryMap::new(),
            elsewhere: Vec::new(),
            symbols: PrimaryMap::new(),
            image_words: Vec::new(),
            blocks: PrimaryMap::new(),
            layout: Vec::new(),
            insts: PrimaryMap::new(),
            results: Vec::new(),
            all_results: Vec::new(),
            values: PrimaryMap::new(),
        }
    }

    /// Makes room for that many more instructions with one result each.
    pub fn reserve(&mut self, insts: usize) {
        self.insts.reserve(insts);
        self.values.reserve(insts);
        self.results.reserve(insts);
        self.all_results.reserve(insts);
    }

    /// Bytes of local memory that the function's variables occupy, up to the end of the last one.
    pub fn local_bytes(&self) -> u32 {
        let local = self.symbols.values().filter(|symbol| symbol.space == Space::Local);
        local.map(|symbol| symbol.end_from(symbol.offset.unwrap_or(0))).max().unwrap_or(0)
    }

    /// The entry block. Panics on a function without blocks, which the verifier rejects.
    #[inline]
    pub fn entry(&self) -> Block {
        self.layout[0]
    }

    /// Adds a block at the end of the layout.
    pub fn add_block(&mut self) -> Block {
        let block = self.blocks.push(BlockData::default());
        self.layout.push(block);
        block
    }

    /// Adds a parameter to a block. Every edge to the block then needs one more argument.
    pub fn add_block_param(&mut self, block: Block, ty: Type) -> Value {
        let index = self.blocks[block].params.len() as u32;
        let value = self.values.push(ValueData { ty, def: ValueDef::Param(block, index) });
        self.blocks[block].params.push(value);
        value
    }

    /// Keeps the parameters of a block for which `keep` holds, by index. The edges to it must lose the
    /// same arguments.
    pub fn retain_block_params(&mut self, block: Block, mut keep: impl FnMut(usize) -> bool) {
        let old = std::mem::take(&mut self.blocks[block].params);
        let kept: Vec<Value> =
            old.into_iter().enumerate().filter(|(i, _)| keep(*i)).map(|(_, value)| value).collect();
        for (index, &value) in kept.iter().enumerate() {
            self.values[value].def = ValueDef::Param(block, index as u32);
        }
        self.blocks[block].params = kept;
    }

    /// The types of an operation's results; none if the controlling type does not suit the
    /// operation.
    pub fn result_types(&self, op: &Op, ty: Type) -> SmallVec<[Type; 2]> {
        match op.results(ty) {
            Results::None | Results::Invalid => SmallVec::new(),
            Results::One(ty) => SmallVec::from_slice(&[ty]),
            Results::Two(first, second) => SmallVec::from_slice(&[first, second]),
            Results::Many(ty, count) => SmallVec::from_elem(ty, count.into()),
            Results::Flagged(ty, count) => {
                let mut types: SmallVec<_> = SmallVec::from_elem(ty, count.into());
                types.push(Type::Pred);
                types
            }
            Results::OfCallee(callee) => SmallVec::from_slice(&self.callees[callee].results),
        }
    }

    /// The types of the arguments of a call or a return, which depend on the function rather than
    /// on the operation.
    pub fn value_arguments(&self, op: &Op) -> Option<SmallVec<[Type; 8]>> {
        match op {
            Op::Call { callee, .. } => Some(self.callees[*callee].arguments().collect()),
            Op::CallIndirect(prototype) => {
                Some(std::iter::once(Type::B64).chain(self.callees[*prototype].arguments()).collect())
            }
            Op::Return => Some(SmallVec::from_slice(&self.returns)),
            _ => None,
        }
    }

    /// The bytes at the lower end of its part of local memory for the parameters and results of the
    /// functions that it calls.
    pub fn outgoing_bytes(&self) -> u32 {
        let own = self.callees.values().map(|callee| callee.stack).filter(|stack| !stack.moves);
        own.map(|stack| stack.bytes).max().unwrap_or(0).next_multiple_of(16)
    }

    /// The callee of that name; added if the function does not call it yet.
    pub fn callee(&mut self, callee: &Callee) -> FuncRef {
        match self.callees.iter().find(|(_, known)| *known == callee) {
            Some((known, _)) => known,
            None => self.callees.push(callee.clone()),
        }
    }

    /// The prototype of calls through addresses with these parameters and results; added if there
    /// is none yet. Its name contains a dot, so it cannot be a PTX name.
    pub fn prototype(&mut self, layouts: Layouts, params: Vec<Type>, results: Vec<Type>) -> FuncRef {
        let is_prototype = |known: &Callee| matches!(known.kind, CalleeKind::Prototype(_));
        let prototypes = || self.callees.iter().filter(|(_, known)| is_prototype(known));
        let kind = CalleeKind::Prototype(Box::new(layouts));
        let same = |known: &Callee| known.kind == kind && known.params == params && known.results == results;
        match prototypes().find(|(_, known)| same(known)) {
            Some((known, _)) => known,
            None => {
                let name = format!("prototype.{}", prototypes().count());
                let lanes = CalleeLanes::default();
                let stack = CalleeStack::default();
                self.callees.push(Callee { name, kind, params, results, lanes, stack })
            }
        }
    }

    /// Appends a call to a block; `pure` follows from the callee's kind.
    pub fn append_call(&mut self, block: Block, callee: FuncRef, args: &[Value]) -> Inst {
        let op = self.call(callee);
        self.append(block, InstData::new(op, Type::B32, args))
    }

    /// The operation that calls a callee.
    pub fn call(&self, callee: FuncRef) -> Op {
        Op::Call { callee, pure: self.callees[callee].kind == CalleeKind::Routine }
    }

    /// Makes an instruction and its results without putting it into a block.
    #[inline]
    pub fn make_inst(&mut self, data: InstData) -> Inst {
        let results = data.op.results(data.ty);
        // Most operations have one result; only the others need a list of types.
        if let Results::One(ty) = results {
            let inst = self.insts.push(data);
            self.add_result(inst, ty);
            return inst;
        }
        let types = self.result_types(&data.op, data.ty);
        let inst = self.insts.push(data);
        for ty in types {
            self.add_result(inst, ty);
        }
        inst
    }

    /// Makes another result of the last instruction.
    #[inline]
    fn add_result(&mut self, inst: Inst, ty: Type) {
        let list = self.result_list(inst);
        let number = list.len as u16;
        list.len += 1;
        let value = self.values.push(ValueData { ty, def: ValueDef::Result(inst, number) });
        self.all_results.push(value);
    }

    /// The list of results of an instruction, whose next result is put at the end of all results.
    #[inline]
    fn result_list(&mut self, inst: Inst) -> &mut ResultList {
        let start = self.all_results.len() as u32;
        if self.results.len() <= inst.index() {
            self.results.resize(inst.index(), ResultList::default());
            self.results.push(ResultList { start, len: 0 });
        }
        let list = &mut self.results[inst.index()];
        if list.len == 0 {
            list.start = start;
        }
        debug_assert_eq!(list.start + list.len, start, "the results of {inst} are adjacent");
        list
    }

    /// Makes an instruction and puts it at the end of a block.
    #[inline]
    pub fn append(&mut self, block: Block, data: InstData) -> Inst {
        let inst = self.make_inst(data);
        self.blocks[block].insts.push(inst);
        inst
    }

    /// Makes `value` the value with that definition, and makes a value of every lower number.
    /// Numbers that no definition takes belong to `undef` instructions outside of all blocks.
    pub(crate) fn define(&mut self, value: Value, ty: Type, def: ValueDef) {
        if value.index() > self.values.len() {
            let gap = self.insts.push(InstData::new(Op::Undef, Type::B32, &[]));
            let data = ValueData { ty: Type::B32, def: ValueDef::Result(gap, 0) };
            while self.values.len() < value.index() {
                self.values.push(data);
            }
        }
        let data = ValueData { ty, def };
        match self.values.get_mut(value) {
            Some(gap) => *gap = data,
            None => {
                self.values.push(data);
            }
        }
        if let ValueDef::Result(inst, _) = def {
            self.result_list(inst).len += 1;
            self.all_results.push(value);
        }
    }

    /// Gives an instruction another operation and arguments. The results keep their names, so the new
    /// operation must have results of the same types.
    #[inline]
    pub fn replace(&mut self, inst: Inst, op: Op, ty: Type, args: &[Value]) {
        let data = &mut self.insts[inst];
        data.op = op;
        data.ty = ty;
        data.args = arguments(args);
    }

    /// As [`replace`](Self::replace), but the only result gets another type. The caller must also
    /// change all uses of the result.
    pub fn replace_retyped(&mut self, inst: Inst, op: Op, ty: Type, args: &[Value]) {
        self.replace(inst, op, ty, args);
        let result = self.result(inst);
        if let Results::One(new) = op.results(ty) {
            self.values[result].ty = new;
        }
    }

    /// The results of an instruction.
    #[inline]
    pub fn results(&self, inst: Inst) -> &[Value] {
        let ResultList { start, len } = self.results.get(inst.index()).copied().unwrap_or_default();
        &self.all_results[start as usize..(start + len) as usize]
    }

    /// The first result of an instruction that has one or more.
    #[inline]
    pub fn result(&self, inst: Inst) -> Value {
        self.results(inst)[0]
    }

    /// A value's type.
    #[inline]
    pub fn ty(&self, value: Value) -> Type {
        self.values[value].ty
    }

    /// A value's definition.
    #[inline]
    pub fn def(&self, value: Value) -> ValueDef {
        self.values[value].def
    }

    /// The instruction that defines a value, unless it is a block parameter.
    #[inline]
    pub fn def_inst(&self, value: Value) -> Option<&InstData> {
        match self.def(value) {
            ValueDef::Result(inst, _) => Some(&self.insts[inst]),
            ValueDef::Param(..) => None,
        }
    }

    /// The bits of a value that a `const` defines.
    #[inline]
    pub fn constant(&self, value: Value) -> Option<u64> {
        match self.def_inst(value)?.op {
            Op::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// The number of values ever made: one more than the greatest index.
    #[inline]
    pub fn num_values(&self) -> usize {
        self.values.len()
    }

    /// Whether an index names a value.
    #[inline]
    pub fn is_value(&self, value: Value) -> bool {
        value.index() < self.values.len()
    }

    /// The terminator of a block, if it has one.
    #[inline]
    pub fn terminator(&self, block: Block) -> Option<Inst> {
        let last = *self.blocks[block].insts.last()?;
        self.insts[last].op.is_terminator().then_some(last)
    }

    /// The edges out of a block, in the order of its terminator.
    #[inline]
    pub fn edges(&self, block: Block) -> &[BlockCall] {
        match self.terminator(block) {
            Some(inst) => &self.insts[inst].targets,
            None => &[],
        }
    }

    /// The blocks that a block may go to, with repetition.
    pub fn successors(&self, block: Block) -> impl Iterator<Item = Block> + '_ {
        self.edges(block).iter().map(|edge| edge.block)
    }

    /// Renames every use of a value in the laid-out blocks: arguments of instructions and of edges.
    pub fn rewrite_uses(&mut self, mut rename: impl FnMut(Value) -> Value) {
        for &block in &self.layout {
            for &inst in &self.blocks[block].insts {
                let data = &mut self.insts[inst];
                for arg in &mut data.args {
                    *arg = rename(*arg);
                }
                for target in &mut data.targets {
                    for arg in &mut target.args {
                        *arg = rename(*arg);
                    }
                }
            }
        }
    }
}
