//! Analyses of a function that passes share, above all of its control flow.
//!
//! The graph, its dominators and its loops are computed when a pass first asks for them. They stay
//! valid until a pass changes the control flow and calls [`forget`](Analyses::forget). Most passes
//! only rewrite the contents of blocks.

use std::cell::OnceCell;

use ptxc_ir::{Cfg, Dominators, Function, Loops};

/// The analyses of a function so far.
#[derive(Debug, Default)]
pub struct Analyses {
    /// The number of uses of each value, until anything changes.
    uses: Option<Vec<u32>>,
    cfg: OnceCell<Cfg>,
    dominators: OnceCell<Dominators>,
    loops: OnceCell<Loops>,
}

impl Analyses {
    /// The control-flow graph.
    pub fn cfg(&self, func: &Function) -> &Cfg {
        self.cfg.get_or_init(|| {
            ptxc_interrupt::poll();
            Cfg::compute(func)
        })
    }

    /// The dominators.
    pub fn dominators(&self, func: &Function) -> &Dominators {
        self.dominators.get_or_init(|| {
            ptxc_interrupt::poll();
            Dominators::compute(self.cfg(func))
        })
    }

    /// The loops.
    pub fn loops(&self, func: &Function) -> &Loops {
        self.loops.get_or_init(|| {
            ptxc_interrupt::poll();
            Loops::compute(self.cfg(func), self.dominators(func))
        })
    }

    /// The number of uses of each value, by number, if a pass has counted them and nothing has
    /// changed since.
    pub(crate) fn take_uses(&mut self) -> Option<Vec<u32>> {
        self.uses.take()
    }

    /// Stores the use counts that a pass leaves.
    pub(crate) fn leave_uses(&mut self, uses: Vec<u32>) {
        self.uses = Some(uses);
    }

    /// Drops everything, because the control flow has changed.
    pub fn forget(&mut self) {
        *self = Analyses::default();
    }

    /// Whether the analyses are still valid: the edges have not changed.
    pub(crate) fn hold_for(&self, func: &Function) -> bool {
        self.cfg.get().is_none_or(|known| *known == Cfg::compute(func))
    }
}
