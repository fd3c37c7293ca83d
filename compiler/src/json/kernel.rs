//! A kernel: its resources, its blocks, and its lists of instructions and dependences.

use ptxc_codegen::func_code::FuncCode;
use ptxc_sass::blocks::{Block as Range, Way, blocks};
use ptxc_sass::dependences::{Edge, Protection, dependences};
use ptxc_sass::{Program, program};
use serde::{Serialize, Serializer};

use super::instruction::Instructions;

/// A kernel.
#[derive(Serialize)]
pub(super) struct Kernel<'a> {
    name: &'a str,
    resources: Resources,
    parameter_base: u32,
    parameters: Vec<Parameter<'a>>,
    static_cycles: u64,
    functions: Vec<Function<'a>>,
    blocks: Vec<Block>,
    instructions: Instructions<'a>,
    dependences: Dependences<'a>,
}

#[derive(Serialize)]
struct Resources {
    registers: u32,
    uniform_registers: u32,
    shared_bytes: u32,
    local_bytes: u32,
    open_stack: bool,
    barriers: u32,
    spills: u32,
    cluster: Option<[u32; 3]>,
    explicit_cluster: bool,
    threads: Option<[u32; 3]>,
    max_threads: Option<[u32; 3]>,
    max_registers: Option<u32>,
    /// Whether the code runs only on exactly this architecture.
    accelerated: bool,
}

#[derive(Serialize)]
struct Parameter<'a> {
    name: &'a str,
    size: u32,
    offset: u32,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    start: Option<u32>,
}

#[derive(Serialize)]
struct Block {
    index: usize,
    labels: Vec<String>,
    start: u32,
    end: u32,
    frequency: Option<f64>,
    successors: Vec<Successor>,
}

#[derive(Serialize)]
struct Successor {
    block: u32,
    way: &'static str,
}

impl<'a> Kernel<'a> {
    pub(super) fn new(code: &'a FuncCode) -> Kernel<'a> {
        let program = &code.program;
        let ranges = blocks(program);
        let parameter =
            |one: &'a program::ParamInfo| Parameter { name: &one.name, size: one.size, offset: one.offset };
        let function = |one: &'a program::ProgramFunction| Function { name: &one.name, start: one.start };
        let dependences = Dependences { program, blocks: ranges.clone() };
        Kernel {
            name: &program.name,
            resources: resources(program),
            parameter_base: program.arch.facts().banks.param_base,
            parameters: program.params.iter().map(parameter).collect(),
            static_cycles: program.static_cycles(),
            functions: program.functions.iter().map(function).collect(),
            blocks: block_list(program, &ranges),
            instructions: Instructions { code, blocks: ranges },
            dependences,
        }
    }
}

fn resources(program: &Program) -> Resources {
    let needs = &program.resources;
    Resources {
        registers: needs.registers,
        uniform_registers: needs.uniform_registers,
        shared_bytes: needs.shared_bytes,
        local_bytes: needs.local_bytes,
        open_stack: needs.open_stack != 0,
        barriers: needs.barriers,
        spills: needs.spills,
        cluster: needs.cluster(),
        explicit_cluster: needs.explicit_cluster != 0,
        threads: needs.threads(),
        max_threads: needs.max_threads(),
        max_registers: (needs.max_registers != 0).then_some(needs.max_registers),
        accelerated: program.accelerated,
    }
}

fn block_list(program: &Program, ranges: &[Range]) -> Vec<Block> {
    let mut labels: Vec<Vec<String>> = vec![Vec::new(); ranges.len()];
    for (number, &place) in program.labels.iter().enumerate() {
        // Labels divide blocks; a label after the last instruction is in no block.
        if let Ok(block) = ranges.binary_search_by_key(&place, |range| range.start) {
            labels[block].push(format!(".L_x_{number}"));
        }
    }
    let once = Program::ONCE as f64;
    let block = |(index, (range, labels)): (usize, (&Range, Vec<String>))| Block {
        index,
        labels,
        start: range.start,
        end: range.end,
        frequency: program.frequency.get(range.start as usize).map(|&times| times as f64 / once),
        successors: range
            .successors
            .iter()
            .map(|next| Successor { block: next.block, way: way(next.way) })
            .collect(),
    };
    ranges.iter().zip(labels).enumerate().map(block).collect()
}

/// How control reaches a block, in the words of the document.
const fn way(way: Way) -> &'static str {
    match way {
        Way::Taken => "taken",
        Way::Indexed => "indexed",
        Way::FallsThrough => "fallthrough",
    }
}

/// The dependences. They are computed when they are written.
struct Dependences<'a> {
    program: &'a Program,
    blocks: Vec<Range>,
}

impl Serialize for Dependences<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(dependences(self.program, &self.blocks).iter().map(Dependence::new))
    }
}

#[derive(Serialize)]
struct Dependence {
    from: u32,
    to: u32,
    kind: &'static str,
    registers: Vec<String>,
    carried: bool,
    #[serde(flatten)]
    protection: By,
}

#[derive(Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
enum By {
    Stall { cycles: u32, legal: u8, safe: u8 },
    Scoreboard { scoreboard: u8, wait: u32 },
    Order,
}

impl Dependence {
    fn new(edge: &Edge) -> Dependence {
        Dependence {
            from: edge.from,
            to: edge.to,
            kind: edge.kind.name(),
            registers: edge.registers.iter().map(ToString::to_string).collect(),
            carried: edge.carried,
            protection: match edge.protection {
                Protection::Stall { cycles, legal, safe } => By::Stall { cycles, legal, safe },
                Protection::Scoreboard { scoreboard, wait } => By::Scoreboard { scoreboard, wait },
                Protection::Order => By::Order,
            },
        }
    }
}
