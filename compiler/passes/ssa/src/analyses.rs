//! What is known of a function, from one pass to the next: of its flow of control above all.
//!
//! The graph, its dominators and its loops are computed when a pass first asks for them, and stay until one changes the
//! flow of control: that one calls [`forget`](Analyses::forget). Most passes rewrite what is in the blocks alone.

use std::cell::OnceCell;

use ptxc_ir::{Cfg, Dominators, Function, Loops};

/// What has been found out about a function so far.
#[derive(Debug, Default)]
pub struct Analyses {
    /// How often each value is used, until anything changes.
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

    /// How often each value is used, by number, if a pass has counted and nothing has changed since.
    pub(crate) fn take_uses(&mut self) -> Option<Vec<u32>> {
        self.uses.take()
    }

    /// A pass leaves these counts.
    pub(crate) fn leave_uses(&mut self, uses: Vec<u32>) {
        self.uses = Some(uses);
    }

    /// The flow of control has changed.
    pub fn forget(&mut self) {
        *self = Analyses::default();
    }

    /// Whether what is known still holds: the edges are as they were.
    pub(crate) fn hold_for(&self, func: &Function) -> bool {
        self.cfg.get().is_none_or(|known| *known == Cfg::compute(func))
    }
}
