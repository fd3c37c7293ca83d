//! The inputs of passes besides the function itself: settings, callees, and analyses that earlier
//! passes left valid.

use std::borrow::Cow;

use ptxc_codegen::func_code::{Callees, Summaries, summaries};
use ptxc_codegen::mir::Liveness;
use ptxc_codegen::schedule::{Heuristic, heuristic_by_name};
use ptxc_ptx::diagnostic::Diagnostic;
use ptxc_ssa::analyses::Analyses;
use ptxc_ssa::uniformity::Uniformity;
use ptxc_syntax::NodeId;

use crate::halt::INTERNAL;
use crate::{Analysis, CodeSettings, Form, Halt};

static NO_CALLEES: Callees = Callees::new();

/// The settings, the callees and the valid analyses of one run over one function.
pub struct Context<'a> {
    pub(crate) settings: &'a CodeSettings,
    /// The code of functions that the function calls, by symbol.
    pub(crate) callees: &'a Callees,
    /// The facts about callees, if they are not those of `callees`.
    summaries: Option<&'a Summaries>,
    heuristic: Option<&'a mut dyn Heuristic>,
    built_in: Option<Box<dyn Heuristic + Send>>,
    pub(crate) known: Known,
    /// Whether the verifiers run after each pass.
    pub(crate) verifies: bool,
}

/// The analyses that are valid.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) flow: Analyses,
    pub(crate) uniformity: Option<Uniformity>,
    pub(crate) liveness: Option<Liveness>,
}

impl<'a> Context<'a> {
    /// A context without callees, which schedules by the heuristic that the settings name.
    pub fn new(settings: &'a CodeSettings) -> Context<'a> {
        let known = Known::default();
        Context {
            settings,
            callees: &NO_CALLEES,
            summaries: None,
            heuristic: None,
            built_in: None,
            known,
            verifies: cfg!(debug_assertions),
        }
    }

    /// Adds the code of callees.
    pub fn with_callees(self, callees: &'a Callees) -> Context<'a> {
        Context { callees, ..self }
    }

    /// Adds facts about callees whose code is not there.
    pub fn with_summaries(self, summaries: &'a Summaries) -> Context<'a> {
        Context { summaries: Some(summaries), ..self }
    }

    /// Schedules by this heuristic instead of the one that the settings name.
    pub fn with_heuristic(self, heuristic: &'a mut dyn Heuristic) -> Context<'a> {
        Context { heuristic: Some(heuristic), ..self }
    }

    /// Runs the verifiers after each pass in release builds, too, if `always` holds.
    pub fn verifying(self, always: bool) -> Context<'a> {
        Context { verifies: self.verifies || always, ..self }
    }

    /// The facts that the function's code may rely on about its callees.
    pub(crate) fn summaries(&self) -> Cow<'a, Summaries> {
        self.summaries.map_or_else(|| Cow::Owned(summaries(self.callees)), Cow::Borrowed)
    }

    /// The heuristic, and the analyses beside it.
    pub(crate) fn heuristic(&mut self) -> Result<(&mut dyn Heuristic, &mut Known), Halt> {
        let Context { settings, heuristic, built_in, known, .. } = self;
        if let Some(own) = heuristic {
            return Ok((&mut **own, known));
        }
        if built_in.is_none() {
            *built_in = heuristic_by_name(&settings.heuristic);
        }
        match built_in {
            Some(built_in) => Ok((&mut **built_in, known)),
            None => {
                let message = format!("there is no heuristic `{}`", settings.heuristic);
                Err(vec![Diagnostic::error(INTERNAL, NodeId(0), message)])
            }
        }
    }
}

impl Known {
    /// Computes an analysis of a form, unless it is valid.
    pub(crate) fn find(&mut self, analysis: Analysis, form: &Form) {
        match (analysis, form) {
            // Its parts are computed when they are asked for.
            (Analysis::Flow, _) => {}
            (Analysis::Uniformity, Form::Ssa(func)) if self.uniformity.is_none() => {
                self.uniformity = Some(Uniformity::compute_converged_in(func, &self.flow));
            }
            (Analysis::Liveness, Form::Machine(mir)) if self.liveness.is_none() => {
                self.liveness = Some(Liveness::new(mir));
            }
            (Analysis::Uniformity | Analysis::Liveness, _) => {}
        }
    }

    /// Drops the analyses that a pass does not keep valid.
    pub(crate) fn keep(&mut self, kept: &[Analysis]) {
        if !kept.contains(&Analysis::Flow) {
            self.flow.forget();
        }
        if !kept.contains(&Analysis::Uniformity) {
            self.uniformity = None;
        }
        if !kept.contains(&Analysis::Liveness) {
            self.liveness = None;
        }
    }
}
