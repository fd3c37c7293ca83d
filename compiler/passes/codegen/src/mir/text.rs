//! Machine IR as text, for `--emit=mir`, `--print-after` and tests.
//!
//! ```text
//! mir saxpy shared=0 local=0 barriers=0
//! mb0:
//!     S2R %r0, SR_TID.X
//!     ISETP.GE.AND %p1, PT, %r0, %ur2, PT
//!     branch %p1, mb2, mb1(%r0, 0x0)
//! mb1(%r3, %r4): freq=512 divergent
//!     @!%p1 MOV %r5, 0x1 tied(%r4)
//! ```
//!
//! A parameter of several components has its width behind a colon, `%r3:2`. The frequency of a block is in
//! units of 1/1024 of the entry's; the entry's own is not printed. `tied(…)` names the registers whose
//! content stays where the guard fails, in the order of the definitions. The text follows the layout and
//! nothing else, so that equal functions print equally. A call has `args(…)` and `results(…)`, each a value and
//! its register, `%r4:2 in R4`, `clobbers(…)` and, if the routine has a frame, `stack`.

use std::fmt;

use ptxc_sass::Register;

use super::{Edge, EdgeArg, Fixed, MInst, Mir, Term, Tuple};

impl<R: Register> fmt::Display for Mir<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "mir {} shared={} local={} barriers={}",
            self.name, self.shared_bytes, self.local_bytes, self.barriers
        )?;
        for (place, &id) in self.layout.iter().enumerate() {
            let block = &self.blocks[id];
            write!(f, "{id}")?;
            list(f, &block.params)?;
            f.write_str(":")?;
            if place > 0 {
                write!(f, " freq={}", block.frequency)?;
            }
            f.write_str(if block.divergent { " divergent\n" } else { "\n" })?;
            for inst in &block.insts {
                writeln!(f, "    {inst}")?;
            }
            writeln!(f, "    {}", block.term)?;
        }
        Ok(())
    }
}

impl<R: Register> fmt::Display for MInst<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inst.fmt(f)?;
        if !self.tied.is_empty() {
            f.write_str(" tied")?;
            let old: Vec<R> = self.tied.iter().map(|&(_, old)| old).collect();
            list(f, &old)?;
        }
        let Some(call) = &self.call else { return Ok(()) };
        for (name, values) in [(" args", &call.args[..]), (" results", &call.results[..])] {
            if !values.is_empty() {
                f.write_str(name)?;
                list(f, values)?;
            }
        }
        if !call.clobbers.is_empty() {
            write!(f, " clobbers({})", call.clobbers)?;
        }
        f.write_str(if call.uses_stack { " stack" } else { "" })
    }
}

impl<R: Register> fmt::Display for Term<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Term::Jump(edge) => write!(f, "jump {edge}"),
            Term::Branch { pred, negated, then, other } => {
                write!(f, "branch {}{pred}, {then}, {other}", if *negated { "!" } else { "" })
            }
            Term::Together { mask: Some(mask), here, apart } => write!(f, "together {mask}, {here}, {apart}"),
            Term::Together { mask: None, here, apart } => write!(f, "together {here}, {apart}"),
            Term::Table { address, offset, edges } => {
                write!(f, "table {address}, {offset:#x}")?;
                edges.iter().try_for_each(|edge| write!(f, ", {edge}"))
            }
            Term::Exit => f.write_str("exit"),
            Term::Return => f.write_str("return"),
        }
    }
}

impl<R: Register> fmt::Display for Edge<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.block)?;
        list(f, &self.args)
    }
}

impl<R: Register> fmt::Display for EdgeArg<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EdgeArg::Reg(reg) => write!(f, "{reg}"),
            EdgeArg::Imm(bits) => write!(f, "{bits:#x}"),
            EdgeArg::Undef => f.write_str("undef"),
        }
    }
}

impl<R: Register> fmt::Display for Tuple<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reg)?;
        if self.width > 1 { write!(f, ":{}", self.width) } else { Ok(()) }
    }
}

impl<R: Register> fmt::Display for Fixed<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.value, self.place)
    }
}

/// A list in parentheses; nothing for an empty one.
fn list(f: &mut fmt::Formatter<'_>, items: &[impl fmt::Display]) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        f.write_str(if index == 0 { "(" } else { ", " })?;
        item.fmt(f)?;
    }
    if items.is_empty() { Ok(()) } else { f.write_str(")") }
}
