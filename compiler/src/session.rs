//! A file that is compiled, edited, and compiled again.

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::RefUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ptxc_codegen::func_code::FuncCode;
use ptxc_interrupt::{self, Interrupted};
use ptxc_sass::text::Style;
use ptxc_syntax::items::ItemKind;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::affected::{Graph, Seen, is_shared};
use crate::db::{Database, Db};
use crate::file::{Change, File};
use crate::input::items::{Func, items};
use crate::input::{Options, SourceFile};
use crate::known::{Difference, Known, Replacement, replacements};
use crate::output::{
    defined_kernels, function_findings, locate, module_findings, program_text, sort, variables_text,
};
use crate::render::Located;
use crate::settings::Settings;

/// A PTX file, its settings, and the results of compiling it.
///
/// [`edit`](Self::edit) the text any number of times, then [`update`](Self::update): only functions
/// that the edits affect are compiled again. If the edits stay within the bodies of functions, and
/// change none of the variables and addresses that these use, an update asks only for these functions,
/// and for their callers if a fact about the code that callers use has changed. A kernel that calls
/// functions is linked when its code is asked for.
///
/// ```
/// use ptxc_compiler::{Session, Settings};
///
/// let text = ".version 9.0\n.target sm_90\n.entry a() { ret; }\n.entry b() { bar.sync 0; ret; }\n";
/// let mut session = Session::new("k.ptx", text, Settings::default());
/// assert_eq!(session.update()?.lowered, ["a", "b"]);
///
/// let at = session.text().find("bar.sync 0").unwrap();
/// session.edit(at..at + 10, "bar.sync 1");
/// assert_eq!(session.update()?.lowered, ["b"]);
/// assert!(session.code("b").unwrap().program.insts.len() > 1);
/// # Ok::<(), ptxc_compiler::Interrupted>(())
/// ```
#[derive(Debug)]
pub struct Session {
    db: Database,
    file: File,
    options: Options,
    /// The results of the last compilation of each function.
    known: FxHashMap<Func, Known>,
    /// The calls between the functions at the last update.
    graph: Graph,
    /// The number of kernels with a body in the file.
    count: usize,
    /// Findings outside functions.
    between: Vec<Located>,
    stale: Change,
    flag: Arc<AtomicBool>,
}

/// The result of an [update](Session::update).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// The kernels that were compiled or have another callee, in the order of the file.
    pub lowered: Vec<String>,
    /// Those whose code changed.
    pub changed: Vec<String>,
    /// The number of kernels with a body in the file.
    pub kernels: usize,
    /// The number of runs of each query; empty unless [counting is on](Session::count_queries).
    pub queries: BTreeMap<String, usize>,
}

/// An edit in the body of a function.
struct Edit {
    func: Func,
    seen: Seen,
    /// The new code for the kernels that are linked with it, if no other function is affected.
    replacements: Option<Vec<Replacement>>,
}

/// Stops a session's update from another thread.
#[derive(Clone, Debug)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Makes the update that is in progress, if any, end with [`Interrupted`], usually at once and
    /// at most 50 ms later.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Session {
    /// A session for a file that has not been compiled yet.
    pub fn new(path: impl Into<String>, text: impl Into<String>, settings: Settings) -> Session {
        let db = Database::with_log();
        let file = File::new(&db, path, text);
        let options = settings.options(&db);
        Session {
            db,
            file,
            options,
            known: FxHashMap::default(),
            graph: Graph::default(),
            count: 0,
            between: Vec::new(),
            stale: Change { bodies: Vec::new(), all: true },
            flag: Arc::default(),
        }
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.source().text(&self.db)
    }

    /// The database, for custom queries.
    pub fn db(&self) -> &Database {
        &self.db
    }

    /// The file as an input of queries.
    pub fn source(&self) -> SourceFile {
        self.file.source()
    }

    /// The options as an input of queries.
    pub fn options(&self) -> Options {
        self.options
    }

    /// Replaces some bytes of the text.
    ///
    /// # Panics
    /// If the range is not in the text or cuts a character.
    pub fn edit(&mut self, range: Range<usize>, replacement: &str) {
        let change = self.file.edit(&mut self.db, range, replacement);
        self.stale.and(change);
    }

    /// Gives the file another text, as an edit of the part that differs.
    pub fn replace(&mut self, text: &str) {
        let change = self.file.replace(&mut self.db, text);
        self.stale.and(change);
    }

    /// A handle that stops updates.
    pub fn stop(&self) -> Stop {
        Stop(self.flag.clone())
    }

    /// Makes updates count the runs of each query.
    pub fn count_queries(&self) {
        self.db.start_log();
    }

    /// Compiles the functions that the edits since the last update affect, in parallel on the
    /// current rayon pool.
    ///
    /// # Errors
    /// If it was [stopped](Stop). The next update does the remaining work.
    pub fn update(&mut self) -> Result<Update, Interrupted> {
        self.flag.store(false, Ordering::Relaxed);
        let (source, options) = (self.source(), self.options);
        self.stale.all |= !self.stale.bodies.is_empty() && is_shared(&self.db, source);
        let edits = if self.stale.all { Vec::new() } else { self.edits()? };
        // Kernels are only linked again if no caller can tell the edited function from the old one.
        let (linked, edits): (Vec<Edit>, Vec<Edit>) =
            edits.into_iter().partition(|edit| edit.replacements.is_some());
        let affected = match self.stale.all {
            true => None,
            false => self.graph.affected(edits.iter().map(|edit| (edit.func, &edit.seen))),
        };
        self.stale.all |= affected.is_none();
        let mut functions: Vec<Func> = match affected {
            Some(affected) => linked.iter().map(|edit| edit.func).chain(affected).collect(),
            None => items(&self.db, source).functions.clone(),
        };
        functions.sort_by_key(|func| func.index(&self.db));
        functions.dedup();
        let done = each(&self.db, &functions, &self.flag, |db, func| Known::of(db, func, options))?;
        let mut before = FxHashMap::default();
        if self.stale.all {
            let seen = each(&self.db, &functions, &self.flag, Seen::of)?;
            self.graph = Graph::new(&self.db, source, functions.iter().copied().zip(seen));
            self.between = module_findings(&self.db, source, options);
            before = std::mem::take(&mut self.known);
        }
        let mut kernels: FxHashMap<Func, Difference> = FxHashMap::default();
        for (&func, known) in functions.iter().zip(done) {
            let before = before.remove(&func).or_else(|| self.known.remove(&func));
            if func.kind(&self.db) == ItemKind::Entry && func.has_body(&self.db) {
                let difference = before.map_or(Difference::Changed, |before| known.since(&before));
                kernels.insert(func, difference);
            }
            self.known.insert(func, known);
        }
        if self.stale.all {
            self.count = defined_kernels(&self.db, source).count();
        }
        for edit in linked.into_iter().chain(edits) {
            if !self.stale.all {
                self.graph.insert(edit.func, edit.seen);
            }
            for new in edit.replacements.into_iter().flatten() {
                // A kernel that was asked has the new code already.
                if functions
                    .binary_search_by_key(&new.kernel.index(&self.db), |func| func.index(&self.db))
                    .is_err()
                    && let Some(known) = self.known.get_mut(&new.kernel)
                {
                    kernels.insert(new.kernel, Difference::Changed);
                    known.replace(new);
                }
            }
        }
        self.stale = Change::default();
        Ok(self.report(kernels))
    }

    /// The edits in bodies since the last update.
    fn edits(&mut self) -> Result<Vec<Edit>, Interrupted> {
        self.stale.bodies.sort_by_key(|func| func.index(&self.db));
        self.stale.bodies.dedup();
        let (options, graph, known) = (self.options, &self.graph, &self.known);
        each(&self.db, &self.stale.bodies, &self.flag, |db, func| {
            let seen = Seen::of(db, func);
            let replacements = replacements(db, func, &seen, options, graph, known);
            Edit { func, seen, replacements }
        })
    }

    /// The result of an update, given the difference to the last one of the kernels that it concerns.
    fn report(&self, kernels: FxHashMap<Func, Difference>) -> Update {
        let mut update = Update { kernels: self.count, ..Update::default() };
        let mut compiled: Vec<(Func, Difference)> = kernels.into_iter().collect();
        compiled.retain(|(_, difference)| *difference != Difference::None);
        compiled.sort_by_key(|(func, _)| func.index(&self.db));
        for (func, difference) in compiled {
            update.lowered.push(func.name(&self.db).to_string());
            if difference == Difference::Changed {
                update.changed.push(func.name(&self.db).to_string());
            }
        }
        for query in self.db.take_log() {
            let name = query.split('(').next().unwrap_or("").to_string();
            *update.queries.entry(name).or_insert(0) += 1;
        }
        update
    }

    /// Every finding of the last update, sorted by place in the present text.
    pub fn diagnostics(&self) -> Vec<Located> {
        let (source, options) = (self.source(), self.options);
        // The places may have changed since, so they are computed from the present text.
        let mut found = match self.between.is_empty() {
            true => Vec::new(),
            false => module_findings(&self.db, source, options),
        };
        for func in &items(&self.db, source).functions {
            let Some(known) = self.known.get(func) else { continue };
            if known.may_have_findings {
                found.extend(function_findings(&self.db, *func, options));
            }
            let errors = known.link_errors().into_iter().flatten();
            found.extend(errors.map(|error| locate(&self.db, *func, error)));
        }
        sort(source.text(&self.db), found)
    }

    /// The kernels and their code, in the order of the file; the code is `None` if errors were
    /// found.
    pub fn kernels(&self) -> impl Iterator<Item = (&str, Option<&FuncCode>)> {
        defined_kernels(&self.db, self.source()).map(|func| {
            let known = self.known.get(&func);
            (func.name(&self.db).as_str(), known.and_then(Known::program))
        })
    }

    /// The code of a kernel.
    pub fn code(&self, kernel: &str) -> Option<&FuncCode> {
        self.kernels().find(|(name, _)| *name == kernel)?.1
    }

    /// The kernels as SASS text.
    pub fn sass(&self, style: &Style) -> String {
        let codes = || self.kernels().filter_map(|(_, code)| code);
        let mut parts: Vec<String> = codes().map(|code| program_text(code, style, false)).collect();
        parts.extend(variables_text(codes()));
        parts.join("\n")
    }
}

/// Computes something for each of some functions in parallel.
fn each<T: Send>(
    db: &Database,
    functions: &[Func],
    flag: &Arc<AtomicBool>,
    work: impl Fn(&dyn Db, Func) -> T + Sync + RefUnwindSafe,
) -> Result<Vec<T>, Interrupted> {
    let one = |db: &Database, func: Func| {
        let work = || ptxc_interrupt::run(flag, || work(db, func));
        // A thread that waits for the result of an interrupted thread unwinds, too.
        match salsa::Cancelled::catch(work) {
            Ok(result) => result,
            Err(_) if flag.load(Ordering::Relaxed) => Err(Interrupted),
            Err(cancelled) => std::panic::resume_unwind(Box::new(cancelled)),
        }
    };
    match functions {
        [func] => Ok(vec![one(db, *func)?]),
        functions => {
            // Each worker has a clone of the database: a handle to the same storage.
            let clones: Vec<(Database, Func)> = functions.iter().map(|&func| (db.clone(), func)).collect();
            clones.into_par_iter().map(|(db, func)| one(&db, func)).collect()
        }
    }
}
