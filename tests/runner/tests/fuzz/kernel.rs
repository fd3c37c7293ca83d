//! A kernel as a tree of statements, its text, and the ways to make it smaller.

use std::fmt::Write;

/// Registers of each class that a kernel may use as variables.
pub const POOLS: &[(&str, &str, usize)] = &[
    ("%r", ".b32", 6),
    ("%ur", ".b32", 3),
    ("%wr", ".b32", 3),
    ("%d", ".b64", 4),
    ("%ud", ".b64", 2),
    ("%wd", ".b64", 1),
    ("%h", ".b16", 3),
    ("%uh", ".b16", 1),
    ("%wh", ".b16", 1),
    ("%f", ".f32", 4),
    ("%p", ".pred", 4),
    ("%up", ".pred", 2),
    ("%wp", ".pred", 2),
];

/// Bytes that each thread has of its own in global and in shared memory.
pub const OWN_BYTES: u32 = 64;
/// Bytes of each thread's dump of its registers.
pub const DUMP_BYTES: u32 = 192;

/// A statement.
#[derive(Clone, Debug)]
pub enum Node {
    /// Instructions that stay together.
    Lines(String),
    /// Two arms, either may be empty.
    If(String, Vec<Node>, Vec<Node>),
    /// A loop: the number of its counter, the word that bounds it, whether it is tested at the top.
    Loop(usize, String, bool, Vec<Node>),
    /// A loop with two entries: counter, condition for entering in the middle, both halves.
    Irreducible(usize, String, Vec<Node>, Vec<Node>),
    /// A choice between arms, by comparisons or by `brx.idx`; an arm falls through into the next one if it
    /// says so. The number of arms is a power of two.
    Switch(String, bool, Vec<(bool, Vec<Node>)>),
    /// Blocks that go to one another in any way, until a counter says that it is enough: the counter, a word that
    /// chooses the first block and the targets of switches, the blocks.
    Graph(usize, String, Vec<GraphBlock>),
    /// Leaves the loop around it, under a guard.
    Break(String),
    /// Goes on with the next turn of the loop around it, under a guard.
    Continue(String),
}

/// A block of a [`Node::Graph`].
#[derive(Clone, Debug)]
pub struct GraphBlock {
    /// What it does.
    pub body: Vec<Node>,
    /// If this holds it goes to the first target; without a condition it chooses among all by `brx.idx`.
    pub condition: Option<String>,
    /// Where it goes; a power of two.
    pub targets: Vec<usize>,
}

/// A kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The statements.
    pub body: Vec<Node>,
    /// The registers that the kernel shows in the end, by pool and number.
    pub shown: Vec<(usize, usize)>,
    /// What registers begin with, pool by pool.
    pub starts: Vec<Vec<String>>,
}

struct Writer {
    text: String,
    labels: usize,
    /// Labels behind the loops around, and in front of their next turns.
    loops: Vec<(usize, usize)>,
}

impl Kernel {
    /// The text.
    pub fn text(&self) -> String {
        let mut writer = Writer { text: String::new(), labels: 0, loops: Vec::new() };
        writer.text.push_str(PROLOGUE);
        for (&(prefix, ty, count), starts) in POOLS.iter().zip(&self.starts) {
            writer.line(&format!(".reg {ty} {prefix}<{count}>;"));
            for (index, start) in starts.iter().enumerate() {
                match ty {
                    ".pred" => writer.line(&format!("setp.ne.u32 {prefix}{index}, {start}, 0;")),
                    _ => writer.line(&format!("mov{ty} {prefix}{index}, {start};")),
                }
            }
        }
        writer.nodes(&self.body);
        self.show(&mut writer);
        writer.text.push_str("\tret;\n}\n");
        writer.text
    }

    fn show(&self, writer: &mut Writer) {
        let mut offset = 0;
        for &(pool, index) in &self.shown {
            let (prefix, ty, _) = POOLS[pool];
            let (size, store) = match ty {
                ".b64" => (8, format!("{prefix}{index}")),
                ".b16" => (2, format!("{prefix}{index}")),
                ".pred" => {
                    writer.line(&format!("selp.b32 %t0, 1, 0, {prefix}{index};"));
                    (4, "%t0".to_string())
                }
                _ => (4, format!("{prefix}{index}")),
            };
            offset = u32::next_multiple_of(offset, size);
            writer.line(&format!("st.global.b{} [%dump+{offset}], {store};", 8 * size));
            offset += size;
        }
        assert!(offset <= DUMP_BYTES, "the registers fit the dump");
    }

    /// All kernels that are one step smaller, one after the other.
    pub fn smaller(&self, step: usize) -> Option<Kernel> {
        let mut kernel = self.clone();
        let mut left = step;
        if shrink(&mut kernel.body, &mut left) {
            return Some(kernel);
        }
        if left < kernel.shown.len() {
            kernel.shown.remove(left);
            return Some(kernel);
        }
        None
    }
}

/// Makes the change number `left` to the statements, if there are so many.
fn shrink(nodes: &mut Vec<Node>, left: &mut usize) -> bool {
    let mut index = 0;
    while index < nodes.len() {
        if *left == 0 {
            nodes.remove(index);
            return true;
        }
        *left -= 1;
        let arms: Vec<&mut Vec<Node>> = match &mut nodes[index] {
            Node::If(_, a, b) | Node::Irreducible(_, _, a, b) => vec![a, b],
            Node::Loop(_, _, _, body) => vec![body],
            Node::Switch(_, _, arms) => arms.iter_mut().map(|(_, arm)| arm).collect(),
            Node::Graph(_, _, blocks) => blocks.iter_mut().map(|block| &mut block.body).collect(),
            Node::Lines(_) | Node::Break(_) | Node::Continue(_) => Vec::new(),
        };
        let mut replacement = None;
        for arm in arms {
            if *left == 0 {
                replacement = Some(arm.clone());
                break;
            }
            *left -= 1;
            if shrink(arm, left) {
                return true;
            }
        }
        if let Some(arm) = replacement {
            nodes.splice(index..=index, arm);
            return true;
        }
        index += 1;
    }
    false
}

impl Writer {
    fn line(&mut self, line: &str) {
        // Writing to a string can't fail.
        let _ = writeln!(self.text, "\t{line}");
    }

    fn label(&mut self, label: usize) {
        let _ = writeln!(self.text, "L{label}:");
    }

    fn fresh(&mut self) -> usize {
        self.labels += 1;
        self.labels
    }

    /// Goes to the label whose number `%t0` holds.
    fn table(&mut self, labels: &[usize]) {
        let table = self.fresh();
        let list: Vec<String> = labels.iter().map(|label| format!("L{label}")).collect();
        self.line(&format!("T{table}: .branchtargets {};", list.join(", ")));
        self.line(&format!("brx.idx %t0, T{table};"));
    }

    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            self.node(node);
        }
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Lines(text) => text.lines().for_each(|line| self.line(line)),
            Node::If(condition, then, otherwise) => {
                let (other, end) = (self.fresh(), self.fresh());
                self.line(&format!("@!{condition} bra L{other};"));
                self.nodes(then);
                if !otherwise.is_empty() {
                    self.line(&format!("bra L{end};"));
                }
                self.label(other);
                self.nodes(otherwise);
                self.label(end);
            }
            Node::Loop(counter, bound, top, body) => {
                let (head, next, end) = (self.fresh(), self.fresh(), self.fresh());
                self.line(&format!("mov.u32 %c{counter}, 0;"));
                self.line(&format!("and.b32 %b{counter}, {bound}, 3;"));
                self.label(head);
                let test = format!("setp.ge.u32 %q, %c{counter}, %b{counter};");
                if *top {
                    self.line(&test);
                    self.line(&format!("@%q bra L{end};"));
                }
                self.loops.push((end, next));
                self.nodes(body);
                self.loops.pop();
                self.label(next);
                if !top {
                    self.line(&test);
                }
                self.line(&format!("add.u32 %c{counter}, %c{counter}, 1;"));
                self.line(&if *top { format!("bra L{head};") } else { format!("@!%q bra L{head};") });
                self.label(end);
            }
            Node::Irreducible(counter, condition, first, second) => {
                let (head, middle, end) = (self.fresh(), self.fresh(), self.fresh());
                self.line(&format!("mov.u32 %c{counter}, 0;"));
                self.line(&format!("@{condition} bra L{middle};"));
                self.label(head);
                self.loops.push((end, middle));
                self.nodes(first);
                self.label(middle);
                self.loops.pop();
                self.line(&format!("add.u32 %c{counter}, %c{counter}, 1;"));
                self.nodes(second);
                self.line(&format!("setp.lt.u32 %q, %c{counter}, 3;"));
                self.line(&format!("@%q bra L{head};"));
                self.label(end);
            }
            Node::Switch(index, table, arms) => {
                let labels: Vec<usize> = arms.iter().map(|_| self.fresh()).collect();
                let end = self.fresh();
                self.line(&format!("and.b32 %t0, {index}, {};", arms.len() - 1));
                if *table {
                    self.table(&labels);
                } else {
                    for (number, label) in labels.iter().enumerate().skip(1) {
                        self.line(&format!("setp.eq.u32 %q, %t0, {number};"));
                        self.line(&format!("@%q bra L{label};"));
                    }
                }
                for (label, (through, arm)) in labels.into_iter().zip(arms) {
                    self.label(label);
                    self.nodes(arm);
                    if !through {
                        self.line(&format!("bra L{end};"));
                    }
                }
                self.label(end);
            }
            Node::Graph(counter, selector, blocks) => {
                let labels: Vec<usize> = blocks.iter().map(|_| self.fresh()).collect();
                let end = self.fresh();
                self.line(&format!("mov.u32 %c{counter}, 0;"));
                self.line(&format!("and.b32 %t0, {selector}, 1;"));
                self.table(&labels[..2]);
                for (block, &label) in blocks.iter().zip(&labels) {
                    let targets: Vec<usize> = block.targets.iter().map(|&target| labels[target]).collect();
                    let next = self.fresh();
                    self.label(label);
                    self.loops.push((end, next));
                    self.nodes(&block.body);
                    self.loops.pop();
                    self.label(next);
                    self.line(&format!("add.u32 %c{counter}, %c{counter}, 1;"));
                    self.line(&format!("setp.gt.u32 %q, %c{counter}, 9;"));
                    self.line(&format!("@%q bra L{end};"));
                    match &block.condition {
                        Some(condition) => {
                            self.line(&format!("@{condition} bra L{};", targets[0]));
                            self.line(&format!("bra L{};", targets[targets.len() - 1]));
                        }
                        None => {
                            self.line(&format!("add.u32 %t0, {selector}, %c{counter};"));
                            self.line(&format!("and.b32 %t0, %t0, {};", targets.len() - 1));
                            self.table(&targets);
                        }
                    }
                }
                self.label(end);
            }
            Node::Break(guard) => {
                if let Some(&(end, _)) = self.loops.last() {
                    self.line(&format!("@{guard} bra L{end};"));
                }
            }
            Node::Continue(guard) => {
                if let Some(&(_, next)) = self.loops.last() {
                    self.line(&format!("@{guard} bra L{next};"));
                }
            }
        }
    }
}

/// Addresses: `%in` read by all, `%acc` updated by all, `%own` and `%sh` of this thread alone, `%next` the
/// next thread's part of shared memory.
const PROLOGUE: &str = "\
.version 8.0
.target sm_90
.address_size 64

.visible .entry fuzz(
	.param .u64 in, .param .u64 acc, .param .u64 own, .param .u64 dump,
	.param .u32 n, .param .u64 m, .param .f32 x
)
{
	.reg .b32 %t<4>;
	.reg .b64 %a<4>;
	.reg .b32 %c<16>;
	.reg .b32 %b<16>;
	.reg .pred %q;
	.reg .b64 %in, %acc, %own, %dump;
	.reg .b32 %sh, %next, %n, %tid, %cta, %warp, %zero;
	.reg .b64 %m;
	.reg .f32 %x, %y;
	.shared .align 16 .b8 shared[8192];
	ld.param.u64 %in, [in];
	ld.param.u64 %acc, [acc];
	ld.param.u64 %own, [own];
	ld.param.u64 %dump, [dump];
	ld.param.u32 %n, [n];
	ld.param.u64 %m, [m];
	ld.param.f32 %x, [x];
	mov.f32 %y, %x;
	cvta.to.global.u64 %in, %in;
	cvta.to.global.u64 %acc, %acc;
	cvta.to.global.u64 %own, %own;
	cvta.to.global.u64 %dump, %dump;
	mov.u32 %tid, %tid.x;
	mov.u32 %cta, %ctaid.x;
	mov.u32 %zero, 0;
	shr.u32 %warp, %tid, 5;
	mov.u32 %t0, %ntid.x;
	mad.lo.u32 %t1, %cta, %t0, %tid;
	mul.wide.u32 %a0, %t1, 64;
	add.s64 %own, %own, %a0;
	mul.wide.u32 %a0, %t1, 192;
	add.s64 %dump, %dump, %a0;
	mov.u32 %t2, shared;
	mad.lo.u32 %sh, %tid, 64, %t2;
	add.u32 %t3, %tid, 1;
	setp.eq.u32 %q, %t3, %t0;
	selp.b32 %t3, 0, %t3, %q;
	mad.lo.u32 %next, %t3, 64, %t2;
	st.shared.v2.u64 [%sh], {%m, %m};
	st.shared.v2.u64 [%sh+16], {%m, %m};
	st.shared.v4.u32 [%sh+32], {%n, %tid, %n, %cta};
	st.shared.v4.f32 [%sh+48], {%x, %x, %x, %x};
	mov.u32 %c0, 0; mov.u32 %c1, 0; mov.u32 %c2, 0; mov.u32 %c3, 0;
	mov.u32 %c4, 0; mov.u32 %c5, 0; mov.u32 %c6, 0; mov.u32 %c7, 0;
";
