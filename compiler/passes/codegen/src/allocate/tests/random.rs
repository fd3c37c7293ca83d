//! Random functions: loops, branches, tuples, guarded definitions, predicates, uniform registers,
//! calls.
//!
//! A function is built like a structured program, so that definitions dominate uses: statements,
//! two-armed branches whose arms meet in parameters, and loops that carry values and may permute
//! them. Operands come from everything in scope, so many values stay live for long.

use ptxc_ir::SourceLoc;
use ptxc_sass::{Address, Inst, Op, Operand, PReg, RegFile, SpecialReg, choice, slot};
use smallvec::{SmallVec, smallvec};

use crate::mir::{CallSite, Edge, EdgeArg, Fixed, MBlock, MBlockId, MInst, Mir, Term, Tuple, VReg};

/// A small generator of pseudo-random numbers (Marsaglia's xorshift).
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % bound.max(1)
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// The values that dominate a point, by file; widths of general registers vary.
#[derive(Clone, Default)]
struct Scope {
    general: Vec<(VReg, u8)>,
    predicates: Vec<VReg>,
    uniform: Vec<VReg>,
    uniform_pairs: Vec<VReg>,
}

struct Builder {
    mir: Mir<VReg>,
    random: Random,
    block: MBlockId,
    frequency: u64,
    divergent: bool,
    undefined: bool,
}

/// A function of about `statements` statements. With `undefined` some edges leave a parameter
/// undefined.
pub(super) fn function(seed: u64, statements: usize, undefined: bool) -> Mir<VReg> {
    let mut builder = Builder {
        mir: Mir::new("random", ptxc_machine::Arch::Sm90),
        random: Random::new(seed),
        block: MBlockId::from_u32(0),
        frequency: 1024,
        divergent: false,
        undefined,
    };
    builder.start_block(Vec::new());
    let mut scope = Scope::default();
    builder.prologue(&mut scope);
    let mut left = statements;
    while left > 0 {
        builder.construct(&mut scope, 0, &mut left);
    }
    for _ in 0..8 {
        builder.store(&scope);
    }
    builder.mir
}

impl Builder {
    fn start_block(&mut self, params: Vec<Tuple<VReg>>) -> MBlockId {
        let id = self.mir.blocks.push(MBlock {
            params,
            insts: Vec::new(),
            term: Term::Exit,
            term_loc: SourceLoc::NONE,
            frequency: self.frequency,
            divergent: self.divergent,
        });
        self.mir.layout.push(id);
        self.block = id;
        id
    }

    fn emit(&mut self, inst: Inst<VReg>) {
        let insts = &mut self.mir.blocks[self.block].insts;
        let loc = SourceLoc(insts.len() as u32);
        insts.push(MInst::new(inst, loc));
    }

    fn new_general(&mut self, width: u8) -> VReg {
        self.mir.new_vreg(RegFile::Gpr, width)
    }

    fn prologue(&mut self, scope: &mut Scope) {
        for (index, sr) in [SpecialReg::TidX, SpecialReg::CtaidX, SpecialReg::ClockLo].into_iter().enumerate()
        {
            let d = self.new_general(1);
            self.emit(Inst::new(Op::S2R).ops([Operand::reg(d), Operand::special(sr)]));
            scope.general.push((d, 1));
            let d = self.new_general(2);
            let source = Operand::constant(0, 0x210 + 8 * index as u32);
            self.emit(Inst::new(Op::LDC).ops([Operand::reg(d), source]).with(choice!(LDC, ".64")));
            scope.general.push((d, 2));
        }
        let pair = self.mir.new_vreg(RegFile::Ugpr, 2);
        self.emit(
            Inst::new(Op::ULDC)
                .ops([Operand::reg(pair), Operand::constant(0, 0x208)])
                .with(choice!(ULDC, ".64")),
        );
        scope.uniform_pairs.push(pair);
        let one = self.mir.new_vreg(RegFile::Ugpr, 1);
        self.emit(Inst::new(Op::UMOV).ops([Operand::reg(one), Operand::imm(7)]));
        scope.uniform.push(one);
        self.compare(scope);
    }

    fn scalar(&mut self, scope: &Scope) -> VReg {
        let (reg, width) = self.random.pick(&scope.general);
        reg.offset(self.random.below(width as usize) as u8)
    }

    /// An aligned pair: a value of two components or half of one of four.
    fn pair(&mut self, scope: &Scope) -> VReg {
        let pairs: Vec<(VReg, u8)> = scope.general.iter().copied().filter(|&(_, width)| width != 1).collect();
        let (reg, width) = self.random.pick(&pairs);
        reg.offset(2 * self.random.below(width as usize / 2) as u8)
    }

    fn address(&mut self, scope: &Scope) -> Operand<VReg> {
        let offset = 4 * self.random.below(16) as i32;
        let descriptor = self.random.pick(&scope.uniform_pairs);
        Operand::mem(Address::global(self.pair(scope), offset, Some(descriptor)))
    }

    fn store(&mut self, scope: &Scope) {
        let address = self.address(scope);
        let inst = if self.random.below(2) == 0 {
            let data = self.scalar(scope);
            Inst::new(Op::STG).ops([address, Operand::reg(data)])
        } else {
            let data = self.pair(scope);
            Inst::new(Op::STG).ops([address, Operand::reg(data)]).with(choice!(STG, ".64"))
        };
        self.emit(inst);
    }

    fn compare(&mut self, scope: &mut Scope) {
        let (a, b) = (self.scalar(scope), self.scalar(scope));
        let p = self.mir.new_vreg(RegFile::Pred, 1);
        let mut inst = Inst::new(Op::ISETP).ops([p, a, b].map(Operand::reg)).with(choice!(ISETP, ".GE"));
        if self.random.below(3) == 0 && !scope.predicates.is_empty() {
            inst = inst.slot(slot!(ISETP, "ps"), Operand::reg(self.random.pick(&scope.predicates)));
        }
        self.emit(inst);
        scope.predicates.push(p);
    }

    fn statement(&mut self, scope: &mut Scope) {
        match self.random.below(14) {
            0..=2 => {
                let (d, a, c) = (self.new_general(1), self.scalar(scope), self.scalar(scope));
                let b = match self.random.below(3) {
                    0 => Operand::reg(self.random.pick(&scope.uniform)),
                    1 => Operand::imm(3),
                    _ => Operand::reg(self.scalar(scope)),
                };
                self.emit(Inst::new(Op::IADD3).ops([Operand::reg(d), Operand::reg(a), b, Operand::reg(c)]));
                scope.general.push((d, 1));
            }
            3 => {
                // A tuple whose components are copied or computed one by one.
                let width = self.random.pick(&[2u8, 4]);
                let d = self.new_general(width);
                for component in 0..width {
                    let (a, b) = (self.scalar(scope), self.scalar(scope));
                    let to = Operand::reg(d.offset(component));
                    let inst = match self.random.below(3) {
                        0 => Inst::new(Op::FADD).ops([to, Operand::reg(a), Operand::reg(b)]),
                        1 => Inst::new(Op::MOV).ops([to, Operand::imm(9)]),
                        _ => Inst::new(Op::MOV).ops([to, Operand::reg(a)]),
                    };
                    self.emit(inst);
                }
                scope.general.push((d, width));
            }
            4 => {
                let (d, a, c) = (self.new_general(2), self.scalar(scope), self.pair(scope));
                let operands = [Operand::reg(d), Operand::reg(a), Operand::imm(4), Operand::reg(c)];
                self.emit(Inst::new(Op::IMAD_WIDE).ops(operands));
                scope.general.push((d, 2));
            }
            5 => {
                let width = self.random.pick(&[1u8, 2, 4]);
                let (d, address) = (self.new_general(width), self.address(scope));
                let inst = Inst::new(Op::LDG).ops([Operand::reg(d), address]);
                self.emit(match width {
                    2 => inst.with(choice!(LDG, ".64")),
                    4 => inst.with(choice!(LDG, ".128")),
                    _ => inst,
                });
                scope.general.push((d, width));
            }
            6 => self.store(scope),
            7 => self.compare(scope),
            8 => {
                // A guarded definition, sometimes of a value that lives on.
                let (d, old, new) = (self.new_general(1), self.scalar(scope), self.scalar(scope));
                let guard = self.random.pick(&scope.predicates);
                let negated = self.random.below(2) == 0;
                self.emit(
                    Inst::new(Op::MOV).ops([Operand::reg(d), Operand::reg(new)]).guarded(guard, negated),
                );
                let insts = &mut self.mir.blocks[self.block].insts;
                if let Some(last) = insts.last_mut() {
                    last.tied.push((0, old));
                }
                scope.general.push((d, 1));
            }
            9 => {
                let (d, a, b) = (self.new_general(1), self.scalar(scope), self.scalar(scope));
                let p = self.random.pick(&scope.predicates);
                let ps = if self.random.below(2) == 0 { Operand::reg(p) } else { Operand::reg(p).not() };
                self.emit(Inst::new(Op::SEL).ops([Operand::reg(d), Operand::reg(a), Operand::reg(b), ps]));
                scope.general.push((d, 1));
            }
            10 if !self.divergent => {
                let d = self.mir.new_vreg(RegFile::Ugpr, 1);
                let (a, b) = (self.random.pick(&scope.uniform), self.random.pick(&scope.uniform));
                let operands = [d, a, b].map(Operand::reg);
                self.emit(
                    Inst::new(Op::UIADD3).ops(operands.into_iter().chain([Operand::zero(RegFile::Ugpr)])),
                );
                scope.uniform.push(d);
            }
            10 => {
                let d = self.mir.new_vreg(RegFile::Ugpr, 1);
                let bits = self.random.below(100) as u32;
                self.emit(Inst::new(Op::UMOV).ops([Operand::reg(d), Operand::imm(bits)]));
                scope.uniform.push(d);
            }
            11 => {
                let p = self.mir.new_vreg(RegFile::Pred, 1);
                let (a, b) = (self.random.pick(&scope.predicates), self.random.pick(&scope.predicates));
                let tables = [Operand::imm(0x80), Operand::imm(0)];
                let regs = [Operand::reg(p), Operand::reg(a), Operand::reg(b), Operand::pt()];
                self.emit(Inst::new(Op::PLOP3).ops(regs.into_iter().chain(tables)));
                scope.predicates.push(p);
            }
            12 => self.call(scope),
            _ => {
                let d = self.new_general(1);
                let offset = 0x210 + 4 * self.random.below(8) as u32;
                self.emit(Inst::new(Op::LDC).ops([Operand::reg(d), Operand::constant(0, offset)]));
                scope.general.push((d, 1));
            }
        }
    }

    /// A call of a routine that destroys some of the lower registers, often all predicates.
    fn call(&mut self, scope: &mut Scope) {
        let mut site = CallSite::default();
        let mut next = 2 * self.random.below(3) as u8 + 2;
        for _ in 0..self.random.below(4) {
            let width = self.random.pick(&[1u8, 2]);
            let reg = if width == 2 { self.pair(scope) } else { self.scalar(scope) };
            let place = PReg::r(next.next_multiple_of(width));
            site.args.push(Fixed { value: Tuple { reg, width }, place });
            next = place.index() + width;
        }
        if self.random.below(3) == 0 {
            let value = Tuple { reg: self.random.pick(&scope.predicates), width: 1 };
            site.args.push(Fixed { value, place: PReg::p(self.random.below(3) as u8) });
        }
        let mut next = self.random.below(5) as u8 + 3;
        for _ in 0..self.random.below(3) {
            let width = self.random.pick(&[1u8, 2]);
            let (reg, place) = (self.new_general(width), PReg::r(next.next_multiple_of(width)));
            site.results.push(Fixed { value: Tuple { reg, width }, place });
            scope.general.push((reg, width));
            next = place.index() + width;
        }
        site.clobbers.insert_tuple(PReg::r(2), self.random.below(12) as u8);
        site.clobbers.insert_tuple(PReg::p(0), self.random.below(8) as u8);
        site.clobbers.insert_tuple(PReg::ur(0), self.random.below(4) as u8);
        site.uses_stack = self.random.below(4) == 0;
        self.emit(Inst::new(Op::NOP));
        if let Some(last) = self.mir.blocks[self.block].insts.last_mut() {
            last.call = Some(Box::new(site));
        }
    }

    /// Parameters for a block where paths meet, and for each path how to choose its arguments.
    fn new_params(&mut self, uniform: bool) -> Vec<Tuple<VReg>> {
        let mut list = Vec::new();
        for _ in 0..self.random.below(5) {
            let (file, width) = match self.random.below(8) {
                0 => (RegFile::Pred, 1),
                1 if uniform => (RegFile::Ugpr, 1),
                2 | 3 => (RegFile::Gpr, 2),
                _ => (RegFile::Gpr, 1),
            };
            list.push(Tuple { reg: self.mir.new_vreg(file, width), width });
        }
        list
    }

    fn arguments(
        &mut self,
        scope: &Scope,
        params: &[Tuple<VReg>],
        uniform: bool,
    ) -> SmallVec<[EdgeArg<VReg>; 2]> {
        let mut args = SmallVec::new();
        for param in params {
            args.push(match (self.random.below(8), param.reg.file()) {
                (0, _) => EdgeArg::Imm(self.random.below(2) as u64),
                (1, RegFile::Gpr) if self.undefined => EdgeArg::Undef,
                (_, RegFile::Pred) => EdgeArg::Reg(self.random.pick(&scope.predicates)),
                (_, RegFile::Ugpr) if uniform => EdgeArg::Reg(self.random.pick(&scope.uniform)),
                (_, RegFile::Gpr) if param.width == 2 => EdgeArg::Reg(self.pair(scope)),
                (_, RegFile::Gpr) => EdgeArg::Reg(self.scalar(scope)),
                _ => EdgeArg::Imm(1),
            });
        }
        args
    }

    fn enter(&self, scope: &mut Scope, params: &[Tuple<VReg>]) {
        for param in params {
            match param.reg.file() {
                RegFile::Gpr => scope.general.push((param.reg, param.width)),
                RegFile::Pred => scope.predicates.push(param.reg),
                _ => scope.uniform.push(param.reg),
            }
        }
    }

    fn construct(&mut self, scope: &mut Scope, depth: usize, left: &mut usize) {
        match self.random.below(12) {
            0 | 1 if depth < 3 => self.branch(scope, depth, left),
            2 if depth < 3 => self.repeat(scope, depth, left),
            _ => {
                *left = left.saturating_sub(1);
                self.statement(scope);
            }
        }
    }

    fn branch(&mut self, scope: &mut Scope, depth: usize, left: &mut usize) {
        let pred = self.random.pick(&scope.predicates);
        let source = self.block;
        let (outer, frequency) = (self.divergent, self.frequency);
        let uniform = !outer && self.random.below(2) == 0;
        self.divergent = !uniform;
        self.frequency = frequency / 2;
        let mut arms = Vec::new();
        let params = self.new_params(uniform);
        for _ in 0..2 {
            let arm = self.start_block(Vec::new());
            let mut inner = scope.clone();
            for _ in 0..self.random.below(6) {
                self.construct(&mut inner, depth + 1, left);
            }
            if self.random.below(4) == 0 {
                self.emit(Inst::new(Op::BSYNC).ops([Operand::convergence(0)]));
            }
            let args = self.arguments(&inner, &params, uniform);
            arms.push((arm, self.block, args));
        }
        (self.divergent, self.frequency) = (outer, frequency);
        let join = self.start_block(params.clone());
        let mut targets: Vec<Edge<VReg>> = Vec::new();
        for (arm, end, args) in arms {
            // An arm without instructions is omitted: its edge goes to the join, and may be
            // critical.
            if arm == end && self.mir.blocks[arm].insts.is_empty() && targets.is_empty() {
                self.mir.layout.retain(|&block| block != arm);
                targets.push(Edge { block: join, args });
            } else {
                self.mir.blocks[end].term = Term::Jump(Edge { block: join, args });
                targets.push(Edge { block: arm, args: smallvec![] });
            }
        }
        let (other, then) = (targets.remove(1), targets.remove(0));
        self.mir.blocks[source].term = Term::Branch { pred, negated: self.random.below(2) == 0, then, other };
        self.enter(scope, &params);
    }

    fn repeat(&mut self, scope: &mut Scope, depth: usize, left: &mut usize) {
        let (outer, frequency) = (self.divergent, self.frequency);
        let uniform = !outer && self.random.below(2) == 0;
        let params = self.new_params(uniform);
        let args = self.arguments(scope, &params, uniform);
        let source = self.block;
        self.divergent = !uniform;
        self.frequency = frequency * 8;
        let header = self.start_block(params.clone());
        self.mir.blocks[source].term = Term::Jump(Edge { block: header, args });
        self.enter(scope, &params);
        let mut inner = scope.clone();
        for _ in 0..self.random.below(8) {
            self.construct(&mut inner, depth + 1, left);
        }
        self.compare(&mut inner);
        let pred = inner.predicates[inner.predicates.len() - 1];
        let mut args = self.arguments(&inner, &params, uniform);
        if self.random.below(2) == 0 {
            // Parameters in another order: cycles on the back edge.
            for from in 0..params.len() {
                let to = self.random.below(params.len());
                let (a, b) = (params[from], params[to]);
                if a.reg.file() == b.reg.file() && a.width == b.width {
                    args[from] = EdgeArg::Reg(b.reg);
                    args[to] = EdgeArg::Reg(a.reg);
                }
            }
        }
        let latch = self.block;
        (self.divergent, self.frequency) = (outer, frequency);
        let exit = self.start_block(Vec::new());
        self.mir.blocks[latch].term = Term::Branch {
            pred,
            negated: false,
            then: Edge { block: header, args },
            other: Edge { block: exit, args: smallvec![] },
        };
    }
}
