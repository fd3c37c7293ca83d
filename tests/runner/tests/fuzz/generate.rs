//! Random kernels whose result does not depend on the order in which threads run.
//!
//! Every register is written before the first statement, every loop ends after a few turns, and a thread
//! writes nothing that another one reads except across a barrier or by operations that commute. So the
//! text may be cut anywhere between two statements and stays a valid kernel.
//!
//! Registers come in three flavours: anything (`%r`), the same in all threads of a CTA (`%ur`), the same
//! in all threads of a warp (`%wr`). What is uniform is written only where control is as uniform, and
//! barriers and votes stand only there.

use crate::kernel::{GraphBlock, Kernel, Node, POOLS};
use crate::random::Random;

/// How far threads go the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Flow {
    Thread,
    Warp,
    Cta,
}

/// Instructions on integers and predicates, which can be uniform. `!r` is a destination, `=r` a register,
/// `?r` a register or constant: `r` of 32 bits, `d` of 64, `h` of 16, `p` predicates; `<a|b>` is a choice.
const INTEGER: &[&str] = &[
    "<add|sub|min|max>.<s32|u32> !r, ?r, ?r",
    "<add|sub>.s32 !r, =r, ?r",
    "mul.<lo|hi>.<s32|u32> !r, ?r, ?r",
    "mad.lo.<s32|u32> !r, ?r, ?r, ?r",
    "mad.hi.<s32|u32> !r, =r, ?r, ?r",
    "mul.wide.<s32|u32> !d, ?r, ?r",
    "mad.wide.<s32|u32> !d, ?r, ?r, ?d",
    "mul.wide.<s16|u16> !r, ?h, ?h",
    "sad.<s32|u32> !r, ?r, ?r, ?r",
    "<abs|neg>.s32 !r, =r",
    "<popc|clz|brev|not|cnot>.b32 !r, =r",
    "bfe.<u32|s32> !r, =r, <0|3|8|16>, <1|5|8|16>",
    "bfi.b32 !r, =r, =r, <0|3|8|16>, <1|5|8|16>",
    "<and|or|xor>.b32 !r, ?r, ?r",
    "<and|or|xor>.b32 !r, =r, ?r",
    "<shl.b32|shr.u32|shr.s32|shr.b32> !r, ?r, <=r|0|1|7|31|32|40>",
    "shf.<l|r>.<wrap|clamp>.b32 !r, ?r, ?r, <=r|0|5|31|32|33>",
    "prmt.b32 !r, ?r, ?r, <=r|0x5410|0x3210|0x7632|0x0123|0x8888|0xba98|0x4440>",
    "setp.<eq|ne|lt|le|gt|ge>.<s32|u32> !p, ?r, ?r",
    "setp.<lt|ge|eq|hi|ls>.<and|or|xor>.u32 !p, =r, ?r, <=p|!=p>",
    "setp.<lt|gt|ne>.<and|or>.s32 !p|!p, =r, ?r, =p",
    "selp.<b32|s32|u32> !r, ?r, ?r, =p",
    "slct.<u32|s32|b32>.s32 !r, ?r, ?r, =r",
    "set.<lt|ge|eq>.u32.<s32|u32> !r, =r, ?r",
    "mov.<b32|u32|s32> !r, ?r",
    "<add|sub|min|max>.<s64|u64> !d, ?d, ?d",
    "<add|sub>.s64 !d, =d, ?d",
    "mul.<lo|hi>.<s64|u64> !d, ?d, ?d",
    "mad.lo.<s64|u64> !d, ?d, ?d, ?d",
    "<abs|neg>.s64 !d, =d",
    "<popc|clz>.b64 !r, =d",
    "<brev|not|cnot>.b64 !d, =d",
    "<and|or|xor>.b64 !d, ?d, ?d",
    "<shl.b64|shr.u64|shr.s64> !d, ?d, <=r|0|1|7|31|32|33|63|64|70>",
    "bfe.<u64|s64> !d, =d, <0|3|30|40>, <1|5|8|20>",
    "bfi.b64 !d, =d, =d, <0|3|30|40>, <1|5|8|20>",
    "setp.<eq|ne|lt|le|gt|ge>.<s64|u64> !p, ?d, ?d",
    "selp.<b64|s64|u64> !d, ?d, ?d, =p",
    "mov.<b64|u64> !d, ?d",
    "mov.b64 {!r, !r}, =d",
    "mov.b64 !d, {=r, =r}",
    "mov.b32 {!h, !h}, =r",
    "mov.b32 !r, {=h, =h}",
    "<add|sub|min|max>.<s16|u16> !h, ?h, ?h",
    "mul.<lo|hi>.<s16|u16> !h, ?h, ?h",
    "mad.lo.<s16|u16> !h, ?h, ?h, ?h",
    "<abs|neg>.s16 !h, =h",
    "<not|cnot>.b16 !h, =h",
    "<and|or|xor>.b16 !h, ?h, ?h",
    "<shl.b16|shr.u16|shr.s16> !h, ?h, <=r|0|1|7|15|16|20>",
    "setp.<eq|ne|lt|le|gt|ge>.<s16|u16> !p, ?h, ?h",
    "selp.<b16|s16|u16> !h, ?h, ?h, =p",
    "cvt.<s32|u32>.<s16|u16> !r, =h",
    "cvt.<s16|u16>.<s32|u32> !h, =r",
    "cvt.<s64|u64>.<s32|u32> !d, =r",
    "cvt.<s32|u32>.<s64|u64> !r, =d",
    "cvt.<s64|u64>.<s16|u16> !d, =h",
    "cvt.<s16|u16>.<s64|u64> !h, =d",
    "cvt.<s32|u32>.<s8|u8> !r, =r",
    "cvt.<s8|u8>.<s32|u32> !r, =r",
    "cvt.sat.<s16|u16>.<s32|u32> !h, =r",
    "cvt.sat.<s32|u32>.<s64|u64> !r, =d",
    "cvt.sat.<s8|u8>.<s32|u32> !r, =r",
    "<and|or|xor>.pred !p, =p, =p",
    "not.pred !p, =p",
    "mov.pred !p, =p",
];

/// Floating point, `f` of 32 bits. All rounding is explicit, so that nothing may be fused.
const FLOAT: &[&str] = &[
    "<add|sub|mul>.<rn|rz|rm|rp><|.ftz><|.sat>.f32 !f, ?f, ?f",
    "<add|sub|mul>.rn.f32 !f, =f, ?f",
    "fma.<rn|rz|rm|rp><|.ftz><|.sat>.f32 !f, ?f, ?f, ?f",
    "<min|max><|.ftz>.f32 !f, ?f, ?f",
    // What NaN these give is not specified; the sum makes it the one of all arithmetic.
    "<abs|neg><|.ftz>.f32 %y, =f;\nadd.rn.f32 !f, %y, 0f80000000",
    "setp.<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan><|.ftz>.f32 !p, =f, ?f",
    "setp.<lt|geu|neu>.<and|or|xor>.f32 !p, =f, ?f, <=p|!=p>",
    "setp.<lt|ge|num>.and.f32 !p|!p, =f, ?f, =p",
    "set.<lt|ge|equ>.<u32|s32>.f32 !r, =f, ?f",
    "set.<lt|ge|equ>.f32.f32 !f, =f, ?f",
    "selp.<f32|b32> !f, ?f, ?f, =p",
    "slct.f32.<s32> !f, =f, ?f, =r",
    "slct.<u32|s32>.f32 !r, =r, ?r, =f",
    "mov.<f32|b32> !f, ?f",
    "mov.b32 !r, =f",
    "mov.b32 !f, =r",
    "cvt.<rn|rz|rm|rp>.f32.<s32|u32> !f, =r",
    "cvt.rn.f32.<s16|u16> !f, =h",
    "cvt.<rni|rzi|rmi|rpi><|.ftz>.<s32|u32>.f32 !r, =f",
    "cvt.rzi.<s16|u16>.f32 !h, =f",
    "cvt<|.ftz>.sat.f32.f32 !f, =f",
    "<rcp|rsqrt|sqrt|ex2|lg2>.approx.ftz.f32 !f, =f",
];

/// Memory of the thread alone. `@` is the address: of the width that follows it.
const MEMORY: &[&str] = &[
    "ld.<S><u8|s8|b8> !r, [@1]",
    "ld.<S><u8|s8> !h, [@1]",
    "ld.<S><u16|s16|b16> !r, [@2]",
    "ld.<S><u16|s16|b16> !h, [@2]",
    "ld.<S><u32|s32|b32> !r, [@4]",
    "ld.<S><u32|s32> !d, [@4]",
    "ld.<S>f32 !f, [@4]",
    "ld.<S><u64|s64|b64> !d, [@8]",
    "ld.<S>v2.<u32|b32> {!r, !r}, [@8]",
    "ld.<S>v2.f32 {!f, !f}, [@8]",
    "ld.<S>v2.<u64|b64> {!d, !d}, [@16]",
    "ld.<S>v4.<u32|b32> {!r, !r, !r, !r}, [@16]",
    "st.<S><u8|b8> [@1], =r",
    "st.<S>u8 [@1], =h",
    "st.<S><u16|b16> [@2], =h",
    "st.<S><u16|b16> [@2], =r",
    "st.<S><u32|b32> [@4], ?r",
    "st.<S>f32 [@4], =f",
    "st.<S><u64|b64> [@8], ?d",
    "st.<S>v2.<u32|b32> [@8], {=r, =r}",
    "st.<S>v2.<u64|b64> [@16], {=d, =d}",
    "st.<S>v4.<u32|b32> [@16], {=r, =r, =r, =r}",
    "st.<S>v4.f32 [@16], {=f, =f, =f, =f}",
    "atom.<S><add|min|max|inc|dec>.u32 !r, [@4], ?r",
    "atom.<S><min|max|add>.s32 !r, [@4], ?r",
    "atom.<S><and|or|xor|exch>.b32 !r, [@4], ?r",
    "atom.global.<exch.b64|add.u64> !d, [@8], =d",
    "red.<S><add|min|max|inc|dec>.u32 [@4], ?r",
    "red.<S><and|or|xor>.b32 [@4], ?r",
];

/// Updates that commute, each with a place of its own in the memory of all.
const SHARED_BY_ALL: &[&str] = &[
    "red.global.add.u32 [%acc], ?r",
    "red.global.min.s32 [%acc+4], ?r",
    "red.global.max.u32 [%acc+8], ?r",
    "red.global.and.b32 [%acc+12], ?r",
    "red.global.or.b32 [%acc+16], ?r",
    "red.global.xor.b32 [%acc+20], ?r",
    "red.global.add.u64 [%acc+24], =d",
    "red.global.relaxed.gpu.add.u32 [%acc+32], ?r",
];

/// What a whole warp does together.
const WARP: &[&str] = &[
    "vote.sync.<all|any|uni>.pred !wp, =p, 0xffffffff",
    "vote.sync.ballot.b32 !wr, =p, 0xffffffff",
    "shfl.sync.<up|down|bfly|idx>.b32 !r|!p, =r, <=r|0|1|3|16|31>, <0|0x1f|0x181f|0x1c03>, 0xffffffff",
    "shfl.sync.idx.b32 !wr, =r, <0|1|7|31>, 0x1f, 0xffffffff",
    "bar.warp.sync 0xffffffff",
];

/// What a whole CTA does together.
const CTA: &[&str] = &[
    "bar.sync 0;\nld.shared.u32 %t0, [%next];\nbar.sync 0;\nxor.b32 !r, =r, %t0",
    "bar.sync 0;\nld.shared.v2.u32 {!r, !r}, [%next+8];\nbar.sync 0",
    "bar.red.popc.u32 !ur, 0, =p",
    "bar.red.<and|or>.pred !up, 0, =p",
    "barrier.sync 1",
];

/// Makes one kernel.
pub struct Generator<'a> {
    random: &'a mut Random,
    /// Statements that may still be made.
    budget: usize,
    loops: usize,
    /// The counters of the loops around, with how uniform they are.
    counters: Vec<(usize, Flow)>,
    /// Whether threads may end early; then nothing is done together.
    exits: bool,
}

/// A kernel of about `size` statements.
pub fn kernel(random: &mut Random, size: usize) -> Kernel {
    let exits = random.chance(30);
    let mut generator = Generator { random, budget: size, loops: 0, counters: Vec::new(), exits };
    let starts =
        POOLS.iter().map(|&(prefix, ty, count)| (0..count).map(|_| generator.start(prefix, ty)).collect());
    let starts = starts.collect();
    let body = generator.block(Flow::Cta, None, 0);
    let mut shown = Vec::new();
    for (pool, &(_, _, count)) in POOLS.iter().enumerate() {
        shown.extend((0..count).map(|index| (pool, index)));
    }
    shown.retain(|_| random.chance(60));
    Kernel { body, shown, starts }
}

impl Generator<'_> {
    fn start(&mut self, prefix: &str, ty: &str) -> String {
        let words: &[&str] = match (prefix.as_bytes()[1], ty) {
            (b'u', _) => &["%n", "%cta", "%zero"],
            (b'w', _) => &["%n", "%warp", "%cta", "%zero"],
            _ => &["%tid", "%n"],
        };
        match ty {
            ".b64" if self.random.chance(50) => "%m".to_string(),
            ".b64" => format!("{:#x}", self.random.word(64)),
            ".b16" => format!("{:#x}", self.random.word(16)),
            ".f32" if self.random.chance(50) => "%x".to_string(),
            ".f32" => format!("0f{:08x}", self.random.word(32)),
            ".b32" if self.random.chance(30) => format!("{:#x}", self.random.word(32)),
            _ => self.random.pick(words).to_string(),
        }
    }

    fn block(&mut self, flow: Flow, in_loop: Option<Flow>, depth: usize) -> Vec<Node> {
        let mut nodes = Vec::new();
        let length = if depth == 0 { usize::MAX } else { self.random.below(6) };
        while nodes.len() < length && self.budget > 0 {
            self.budget -= 1;
            nodes.push(self.node(flow, in_loop, depth));
        }
        nodes
    }

    fn condition(&mut self, flow: Flow) -> String {
        self.register('p', flow)
    }

    /// Some flow that is not more uniform than the one around.
    fn inner(&mut self, flow: Flow) -> Flow {
        if self.random.chance(40) { flow } else { Flow::Thread }
    }

    fn node(&mut self, flow: Flow, in_loop: Option<Flow>, depth: usize) -> Node {
        let kind = self.random.below(100);
        if depth < 4 && kind < 12 {
            let inner = self.inner(flow);
            let condition = self.condition(inner);
            let then = self.block(inner, in_loop, depth + 1);
            let otherwise =
                if self.random.chance(50) { self.block(inner, in_loop, depth + 1) } else { Vec::new() };
            return Node::If(condition, then, otherwise);
        }
        if depth < 3 && kind < 18 && self.loops < 8 {
            let counter = self.loops;
            self.loops += 1;
            let inner = self.inner(flow);
            let bound = self.register('r', inner);
            if self.random.chance(10) {
                let condition = self.condition(inner);
                // Which half is counted when depends on the entry.
                let first = self.block(Flow::Thread, None, depth + 1);
                let second = self.block(Flow::Thread, None, depth + 1);
                return Node::Irreducible(counter, condition, first, second);
            }
            self.counters.push((counter, inner));
            let body = self.block(inner, Some(inner), depth + 1);
            self.counters.pop();
            return Node::Loop(counter, bound, self.random.chance(50), body);
        }
        if depth < 3 && kind < 20 {
            let inner = self.inner(flow);
            let index = self.register('r', inner);
            let (count, table) = (self.random.pick(&[2, 4, 8]), self.random.chance(50));
            let arms = (0..count).map(|_| (self.random.chance(25), self.block(inner, in_loop, depth + 1)));
            return Node::Switch(index, table, arms.collect());
        }
        if depth < 2 && kind < 22 && self.loops < 8 {
            let counter = self.loops;
            self.loops += 1;
            let selector = self.register('r', Flow::Thread);
            let count = self.random.pick(&[2, 4, 7]);
            let blocks = (0..count).map(|_| {
                let body = self.block(Flow::Thread, Some(Flow::Thread), depth + 2);
                let condition = self.random.chance(60).then(|| self.condition(Flow::Thread));
                let ways = self.random.pick(&[1, 2, 4, 8]);
                let targets = (0..ways).map(|_| self.random.below(count)).collect();
                GraphBlock { body, condition, targets }
            });
            return Node::Graph(counter, selector, blocks.collect());
        }
        if kind < 26 && in_loop == Some(flow) {
            let guard = self.condition(flow);
            let guard = if self.random.chance(50) { guard } else { format!("!{guard}") };
            return if self.random.chance(60) { Node::Break(guard) } else { Node::Continue(guard) };
        }
        if kind < 27 && (self.exits || flow == Flow::Cta) {
            let inner = if self.exits { Flow::Thread } else { Flow::Cta };
            let (guard, value) = (self.condition(inner), self.register('r', Flow::Thread));
            return Node::Lines(format!("@{guard} st.global.u32 [%own+60], {value};\n@{guard} ret;"));
        }
        Node::Lines(self.lines(flow))
    }

    fn lines(&mut self, flow: Flow) -> String {
        let kind = self.random.below(100);
        let together = !self.exits;
        let (template, written) = match kind {
            0..=4 if together && flow == Flow::Cta => (self.random.pick(CTA), Flow::Thread),
            5..=11 if together && flow >= Flow::Warp => (self.random.pick(WARP), Flow::Thread),
            12..=14 => (self.random.pick(SHARED_BY_ALL), Flow::Thread),
            15..=17 => return self.table_load(),
            18..=19 => return self.indexed_store(),
            20..=39 => return self.memory(),
            40..=57 => (self.random.pick(FLOAT), Flow::Thread),
            58..=72 => (self.random.pick(INTEGER), flow),
            _ => (self.random.pick(INTEGER), Flow::Thread),
        };
        let text = self.fill(template, written);
        let collective = CTA.contains(&template) || WARP.contains(&template);
        if collective { format!("{text};") } else { self.guarded(text, written) }
    }

    fn guarded(&mut self, text: String, flow: Flow) -> String {
        if !self.random.chance(20) {
            return format!("{text};");
        }
        let guard = self.condition(flow);
        let not = if self.random.chance(50) { "!" } else { "" };
        format!("@{not}{guard} {text};")
    }

    fn memory(&mut self) -> String {
        let space = self.random.pick(&["global.", "shared."]);
        let template = self.random.pick(MEMORY).replace("<S>", space);
        let mut text = self.fill(&template, Flow::Thread);
        if let Some(at) = text.find('@') {
            let digits: String = text[at + 1..].chars().take_while(char::is_ascii_digit).collect();
            let width: usize = digits.parse().unwrap_or(4);
            let base = if template.contains("global") { "%own" } else { "%sh" };
            let offset = self.random.below(56 / width.min(16)) * width;
            let offset = offset.min(48 / width * width);
            text.replace_range(at..at + 1 + digits.len(), &format!("{base}+{offset}"));
        }
        self.guarded(text, Flow::Thread)
    }

    /// A load from an address that is computed.
    fn table_load(&mut self) -> String {
        let nc = self.random.pick(&["", ".nc"]);
        let template = match self.random.below(3) {
            0 => format!(
                "and.b32 %t0, =r, 63;\nmul.wide.u32 %a0, %t0, 4;\nadd.s64 %a0, %in, %a0;\nld.global{nc}.u32 !r, [%a0]"
            ),
            1 => format!(
                "and.b32 %t0, =r, 248;\ncvt.u64.u32 %a0, %t0;\nadd.s64 %a0, %a0, %in;\nld.global{nc}.u64 !d, [%a0]"
            ),
            _ => "and.b32 %t0, =r, 60;\nadd.u32 %t0, %sh, %t0;\nld.shared.u32 !r, [%t0]".to_string(),
        };
        format!("{};", self.fill(&template, Flow::Thread))
    }

    /// A store to an address of the thread that is computed.
    fn indexed_store(&mut self) -> String {
        let template = if self.random.chance(50) {
            "and.b32 %t0, =r, 28;\ncvt.u64.u32 %a0, %t0;\nadd.s64 %a0, %a0, %own;\nst.global.u32 [%a0+<0|4|16|32>], =r"
        } else {
            "and.b32 %t0, =r, 15;\nshl.b32 %t0, %t0, 2;\nadd.u32 %t0, %sh, %t0;\nst.shared.f32 [%t0], =f"
        };
        format!("{};", self.fill(template, Flow::Thread))
    }

    /// A register of a class that is at least as uniform as `flow`.
    fn register(&mut self, class: char, flow: Flow) -> String {
        let flow = match self.random.below(4) {
            0 => flow.max(Flow::Cta),
            1 => flow.max(Flow::Warp),
            _ => flow,
        };
        if class == 'r' && self.random.chance(15) {
            let fitting: Vec<usize> =
                self.counters.iter().filter(|(_, how)| *how >= flow).map(|(counter, _)| *counter).collect();
            if !fitting.is_empty() {
                return format!("%c{}", self.random.pick(&fitting));
            }
        }
        self.variable(class, if class == 'f' { Flow::Thread } else { flow })
    }

    fn variable(&mut self, class: char, flow: Flow) -> String {
        let prefix = match flow {
            Flow::Thread => format!("%{class}"),
            Flow::Warp => format!("%w{class}"),
            Flow::Cta => format!("%u{class}"),
        };
        let count = POOLS.iter().find(|(name, ..)| *name == prefix).map_or(1, |pool| pool.2);
        format!("{prefix}{}", self.random.below(count))
    }

    /// Replaces choices and operands of a template; destinations get the given flavour.
    fn fill(&mut self, template: &str, flow: Flow) -> String {
        let mut chosen = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('<') {
            let (choices, behind) = after.split_once('>').unwrap_or((after, ""));
            let choices: Vec<&str> = choices.split('|').collect();
            chosen.push_str(before);
            chosen.push_str(self.random.pick(&choices));
            rest = behind;
        }
        chosen.push_str(rest);
        let mut text = String::new();
        let mut written: Vec<String> = Vec::new();
        let mut chars = chosen.chars().peekable();
        while let Some(mark) = chars.next() {
            let operand =
                matches!(mark, '!' | '?' | '=') && chars.peek().is_some_and(char::is_ascii_lowercase);
            if !operand {
                text.push(mark);
                continue;
            }
            let mut class = chars.next().unwrap_or('r');
            let mut to = flow;
            if matches!(class, 'u' | 'w') {
                to = if class == 'u' { Flow::Cta } else { Flow::Warp };
                class = chars.next().unwrap_or('r');
            }
            match mark {
                '!' => {
                    let mut name = self.variable(class, to);
                    // Destinations of one instruction differ; a class with too few of them takes others.
                    for _ in 0..20 {
                        if !written.contains(&name) {
                            break;
                        }
                        name = self.variable(class, Flow::Thread);
                    }
                    text.push_str(&name);
                    written.push(name);
                }
                '?' if self.random.chance(35) => text.push_str(&self.constant(class)),
                _ => text.push_str(&self.register(class, flow)),
            }
        }
        text
    }

    fn constant(&mut self, class: char) -> String {
        match class {
            'f' => format!("0f{:08x}", self.random.word(32)),
            'd' => format!("{}", self.random.word(64) as i64),
            'h' => format!("{}", self.random.word(16) as i16),
            _ => format!("{}", self.random.word(32) as i32),
        }
    }
}
