//! The incremental compiler from PTX to SASS.
//!
//! A [`Database`] holds files, options and everything that was computed from them; [`lower`] and
//! [`diagnostics`] ask it. After an edit only what the edit touches is computed again: see [`items`],
//! [`module`] and [`stages`] for the query graph.
//!
//! ```
//! use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
//!
//! let db = Database::default();
//! let file = SourceFile::new(&db, "k.ptx".into(), ".version 9.0\n.target sm_90\n.entry k() { ret; }".into());
//! let options = Options::defaults(&db);
//! assert!(diagnostics(&db, file, options).is_empty());
//! ```

pub mod callees;
pub mod cubin;
pub mod db;
pub mod dot;
pub mod file;
mod header;
pub mod input;
pub mod items;
pub mod json;
pub mod module;
pub mod output;
pub mod render;
pub mod session;
pub mod settings;
pub mod stages;

pub use db::{Database, Db};
pub use file::{Change, File};
pub use input::{Options, SourceFile};
pub use output::{compile_function, compile_in_parallel, diagnostics, lower, ssa_diagnostics};
pub use ptxc_passes::interrupt::Interrupted;
pub use render::Located;
pub use session::{Session, Stop, Update};
pub use settings::Settings;
