//! Makes a function instruction by instruction.
//!
//! ```
//! use ptxc_ir::builder::Builder;
//! use ptxc_ir::{Access, FunctionKind, IntCond, MemType, Op, Space, SpecialReg, Type};
//!
//! // Each of the first `n` threads writes its number.
//! let mut builder = Builder::new("number", FunctionKind::Entry);
//! let (out, n) = (builder.param("out", 8), builder.param("n", 4));
//! let [work, end] = [builder.block(), builder.block()];
//!
//! let n = builder.value(Op::Param { offset: n }, Type::B32, &[]);
//! let thread = builder.value(Op::SpecialReg(SpecialReg::TidX), Type::B32, &[]);
//! let is_inside = builder.value(Op::Icmp(IntCond::Ult), Type::B32, &[thread, n]);
//! builder.branch(is_inside, (work, &[]), (end, &[]));
//!
//! builder.switch_to(work);
//! let out = builder.value(Op::Param { offset: out }, Type::B64, &[]);
//! let four = builder.constant(Type::B32, 4);
//! let offset = builder.value(Op::UmulWide, Type::B32, &[thread, four]);
//! let place = builder.value(Op::Iadd, Type::B64, &[out, offset]);
//! builder.inst(Op::Store(Access::weak(Space::Global, MemType::B32)), Type::B32, &[place, thread]);
//! builder.jump(end, &[]);
//!
//! builder.switch_to(end);
//! builder.end(Op::Exit, &[]);
//! let function = builder.finish().unwrap();
//! assert!(function.to_string().contains("icmp.ult.b32"));
//! ```

use crate::entities::{Block, Inst, Value};
use crate::function::{BlockCall, Function, FunctionKind, InstData, Param, SourceLoc};
use crate::op::Op;
use crate::types::Type;
use crate::verify::{Level, VerifierError, verify};

/// A function under construction, and the block at whose end new instructions are put.
#[derive(Clone, Debug)]
pub struct Builder {
    func: Function,
    block: Block,
    loc: SourceLoc,
}

impl Builder {
    /// A function with an entry block, which is the current one.
    pub fn new(name: impl Into<String>, kind: FunctionKind) -> Builder {
        let mut func = Function::new(name, kind);
        let block = func.add_block();
        Builder { func, block, loc: SourceLoc::NONE }
    }

    /// Adds a parameter of `size` bytes (1, 2, 4, 8 or a multiple of 8) to a kernel. The parameter
    /// is aligned to its size, but to at most 8 bytes. Returns its offset, for [`Op::Param`].
    pub fn param(&mut self, name: impl Into<String>, size: u32) -> u32 {
        let end = self.func.params.last().map_or(0, |last| last.offset + last.size);
        let offset = end.next_multiple_of(size.clamp(1, 8));
        self.func.params.push(Param { name: name.into(), size, offset, image: None });
        offset
    }

    /// Adds a block at the end of the layout.
    pub fn block(&mut self) -> Block {
        self.func.add_block()
    }

    /// Adds a parameter to a block. Every edge to the block must pass an argument for it.
    pub fn block_param(&mut self, block: Block, ty: Type) -> Value {
        self.func.add_block_param(block, ty)
    }

    /// Makes a block the current one.
    pub fn switch_to(&mut self, block: Block) {
        self.block = block;
    }

    /// The current block.
    pub fn current(&self) -> Block {
        self.block
    }

    /// Sets the source location of the instructions that follow.
    pub fn at(&mut self, loc: SourceLoc) {
        self.loc = loc;
    }

    /// Adds an instruction that is not a terminator; `ty` is its controlling type, see [`Op`].
    pub fn inst(&mut self, op: Op, ty: Type, args: &[Value]) -> Inst {
        self.func.append(self.block, InstData::new(op, ty, args).at(self.loc))
    }

    /// Adds an instruction with one or more results and returns the first result.
    ///
    /// # Panics
    /// If the operation has no result with that type.
    pub fn value(&mut self, op: Op, ty: Type, args: &[Value]) -> Value {
        let inst = self.inst(op, ty, args);
        self.func.result(inst)
    }

    /// Adds a constant, given by its bits.
    pub fn constant(&mut self, ty: Type, bits: u64) -> Value {
        self.value(Op::Const(bits), ty, &[])
    }

    /// Ends the current block with a jump.
    pub fn jump(&mut self, to: Block, args: &[Value]) {
        self.terminator(Op::Jump, &[], vec![BlockCall::new(to, args)]);
    }

    /// Ends the current block with a branch: to the first block if `condition` holds, else to the second.
    pub fn branch(&mut self, condition: Value, then: (Block, &[Value]), otherwise: (Block, &[Value])) {
        let targets = vec![BlockCall::new(then.0, then.1), BlockCall::new(otherwise.0, otherwise.1)];
        self.terminator(Op::Branch { uni: false }, &[condition], targets);
    }

    /// Ends the current block with a terminator without targets: `exit`, `trap` or `return`.
    pub fn end(&mut self, op: Op, args: &[Value]) {
        self.terminator(op, args, Vec::new());
    }

    /// Ends the current block with any terminator.
    pub fn terminator(&mut self, op: Op, args: &[Value], targets: Vec<BlockCall>) {
        let data = InstData { targets, ..InstData::new(op, Type::B32, args).at(self.loc) };
        self.func.append(self.block, data);
    }

    /// The function in its current state, for changes that the builder has no method for.
    pub fn function(&mut self) -> &mut Function {
        &mut self.func
    }

    /// The finished function.
    ///
    /// # Errors
    /// The rules that the verifier finds broken.
    pub fn finish(self) -> Result<Function, Vec<VerifierError>> {
        verify(&self.func, Level::Built)?;
        Ok(self.func)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_function_is_an_error() {
        let mut builder = Builder::new("k", FunctionKind::Entry);
        let block = builder.block();
        builder.jump(block, &[]);
        assert!(builder.clone().finish().is_err());
        builder.switch_to(block);
        builder.end(Op::Exit, &[]);
        assert!(builder.finish().is_ok());
    }

    #[test]
    fn parameters_are_aligned() {
        let mut builder = Builder::new("k", FunctionKind::Entry);
        let offsets = [1, 2, 4, 1, 16, 4].map(|size| builder.param("p", size));
        assert_eq!(offsets, [0, 2, 4, 8, 16, 32]);
    }
}
