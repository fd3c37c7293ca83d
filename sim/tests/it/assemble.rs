//! Programs from SASS text, cases from words.

use std::path::PathBuf;

use ptxc_machine::Arch;
use ptxc_sass::program::{ParamInfo, Resources};
use ptxc_sass::text::parse_inst;
use ptxc_sass::{Coded, Control, Inst, PReg, Program};
use ptxc_sim::Case;
use ptxc_sim::case::{Argument, Buffer, Elem, Tolerance};

/// A buffer of words.
pub fn buffer(name: &str, init: &[u32], expect: &[u32]) -> Argument {
    let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    Argument::Buffer(Buffer {
        name: name.to_string(),
        elem: Elem::U32,
        init: bytes(init),
        expect: Some(bytes(expect)),
        tolerance: Tolerance::Exact,
    })
}

/// A case with a one-dimensional launch.
pub fn case(grid: u32, block: u32, args: Vec<Argument>) -> Case {
    Case {
        images: Vec::new(),
        ptx: PathBuf::new(),
        entry: "k".to_string(),
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        dynamic_smem: 0,
        ending: Default::default(),
        cluster: None,
        cooperative: false,
        args,
    }
}

/// Instructions and the labels among them.
pub type Insts = (Vec<Inst<PReg>>, Vec<u32>);

/// Reads one instruction or label (`.L_x_3:`) per line; the error is the line that cannot be read.
pub fn try_program(text: &str) -> Result<Insts, String> {
    let (mut insts, mut labels) = (Vec::new(), Vec::new());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(label) = line.strip_prefix(".L_x_").and_then(|label| label.strip_suffix(':')) {
            let label: usize = label.parse().map_err(|_| line.to_string())?;
            labels.resize(labels.len().max(label + 1), u32::MAX);
            labels[label] = insts.len() as u32;
            continue;
        }
        let (inst, _) = parse_inst(line, Arch::Sm90).map_err(|error| format!("{line}: {error:?}"))?;
        insts.push(inst);
    }
    Ok((insts, labels))
}

/// A program of sm_90 with the parameters of a case, all barriers, and enough shared and local
/// memory for any test.
pub fn case_program((insts, labels): Insts, case: &Case) -> Program {
    let mut offset = 0u32;
    let params = case.args.iter().map(|arg| {
        let size = arg.size();
        offset = offset.next_multiple_of(size);
        let param = ParamInfo { name: format!("p{offset}"), size, offset, image: None };
        offset += size;
        param
    });
    Program {
        name: case.entry.clone(),
        arch: Arch::Sm90,
        accelerated: false,
        trap_handler: false,
        device_function: false,
        params: params.collect(),
        frequency: vec![1024; insts.len()],
        insts: insts
            .into_iter()
            .map(|inst| Coded { inst, control: Control::plain(), loc: u32::MAX })
            .collect(),
        labels,
        tables: Vec::new(),
        literals: Vec::new(),
        relocations: Vec::new(),
        kept_relocations: Vec::new(),
        unknown: Vec::new(),
        lines: Vec::new(),
        files: Vec::new(),
        kept: Default::default(),
        functions: Vec::new(),
        resources: Resources {
            shared_bytes: 0xc000,
            local_bytes: 0x400,
            barriers: 16,
            ..Resources::default()
        },
        image_words: Vec::new(),
        variables: Vec::new(),
    }
}

/// The same from text without errors.
pub fn program(text: &str, case: &Case) -> Program {
    case_program(try_program(text).unwrap_or_else(|line| panic!("{line}")), case)
}
