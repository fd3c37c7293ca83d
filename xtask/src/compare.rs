//! Our code beside ptxas's: instructions and registers, kernel by kernel and in the geometric mean.

use std::collections::BTreeMap;
use std::path::Path;

use ptxc_compiler::output::kernels as lowered;
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};

use crate::kernels::kernels;
use crate::oracle::Oracle;

/// What the geometric mean of a ratio may be at most.
const LIMIT: f64 = 1.5;

/// Prints the table; an error if a mean is above the limit.
pub(crate) fn run(corpus: &Path) -> Result<(), String> {
    let Some(oracle) = Oracle::find() else {
        println!("SKIPPED: the comparison with ptxas; ORACLE names no folder with ptxas");
        return Ok(());
    };
    println!(
        "{:20} {:>6} {:>6} {:>6}   {:>4} {:>5} {:>6}",
        "kernel", "insts", "ptxas", "ratio", "regs", "ptxas", "ratio"
    );
    let (mut insts, mut registers) = (Vec::new(), Vec::new());
    let mut known: BTreeMap<_, Vec<(String, usize, u32)>> = BTreeMap::new();
    for kernel in kernels(corpus) {
        if !known.contains_key(&kernel.ptx) {
            known.insert(kernel.ptx.clone(), oracle.compile(&kernel.ptx)?);
        }
        let theirs = known[&kernel.ptx].iter().find(|(name, ..)| name == kernel.entry);
        let &(_, their_insts, their_registers) = theirs.ok_or("ptxas has no such kernel")?;
        let text = std::fs::read_to_string(&kernel.ptx).map_err(|error| error.to_string())?;
        let db = Database::default();
        let file = SourceFile::new(&db, kernel.entry.to_string(), text);
        let options = Options::defaults(&db);
        if let Some(first) = diagnostics(&db, file, options).first() {
            return Err(format!("{}: {}: {}", kernel.entry, first.code, first.message));
        }
        let ours = lowered(&db, file, options).into_iter().find(|(func, _)| func.name(&db) == kernel.entry);
        let program = &ours.and_then(|(_, code)| code).ok_or("no code")?.program;
        // ptxas reports the highest register plus one, plus two that the system keeps.
        let (our_insts, our_registers) = (program.insts.len(), program.resources.registers + 2);
        let ratio = |ours: f64, theirs: f64| ours / theirs.max(1.0);
        insts.push(ratio(our_insts as f64, their_insts as f64));
        registers.push(ratio(f64::from(our_registers), f64::from(their_registers)));
        println!(
            "{:20} {our_insts:6} {their_insts:6} {:6.2}   {our_registers:4} {their_registers:5} {:6.2}",
            kernel.entry,
            insts[insts.len() - 1],
            registers[registers.len() - 1],
        );
    }
    let mean = |list: &[f64]| (list.iter().map(|ratio| ratio.ln()).sum::<f64>() / list.len() as f64).exp();
    println!(
        "{:20} {:>6} {:>6} {:6.2}   {:>4} {:>5} {:6.2}",
        "geometric mean",
        "",
        "",
        mean(&insts),
        "",
        "",
        mean(&registers)
    );
    if mean(&insts) > LIMIT || mean(&registers) > LIMIT {
        return Err(format!("a geometric mean is above {LIMIT}"));
    }
    Ok(())
}
