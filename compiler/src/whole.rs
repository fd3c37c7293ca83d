//! A program from several files: each becomes an object, and the objects are linked.
//!
//! ```text
//! File a ──> object ─┐
//! File b ──> object ─┴─> whole
//! ```
//! After an edit only the object of its file is made again, from the code of the functions that the
//! edit affects. If the object stays the same, nothing is linked. The link takes time linear in the
//! contents of all objects.

#![allow(missing_docs, reason = "salsa generates methods that carry no documentation")]

use std::fmt;
use std::sync::Arc;

use ptxc_object::cubin::{Cubin, CubinError, LinkError, link, write};

use crate::cubin::object;
use crate::db::Db;
use crate::input::{Options, SourceFile};

/// The files of a program.
#[salsa::input(debug)]
pub struct Whole {
    /// In the order in which they are linked.
    #[returns(ref)]
    pub files: Vec<SourceFile>,
}

/// Why files do not become one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WholeError {
    /// A file that a cubin can't hold.
    Object {
        /// The index of the file.
        file: usize,
        /// The reason.
        error: CubinError,
    },
    /// Objects that do not fit together. Their indices are those of the files.
    Link(LinkError),
    /// A program that a cubin can't hold.
    Cubin(CubinError),
}

impl fmt::Display for WholeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WholeError::Object { error, .. } | WholeError::Cubin(error) => error.fmt(f),
            WholeError::Link(error) => error.fmt(f),
        }
    }
}

/// The bytes of a program's cubin. Functions with errors are missing from it, so check the
/// [`diagnostics`](crate::diagnostics) of all files first. The options must be those of a
/// [relocatable](Options::relocatable) object.
///
/// # Errors
/// Each name that is defined twice or not at all, and anything that a cubin can't hold.
#[salsa::tracked(returns(ref))]
pub fn whole(db: &dyn Db, program: Whole, options: Options) -> Arc<Result<Vec<u8>, Vec<WholeError>>> {
    Arc::new(linked(db, program, options))
}

fn linked(db: &dyn Db, program: Whole, options: Options) -> Result<Vec<u8>, Vec<WholeError>> {
    let objects = program.files(db).iter().map(|&file| object(db, file, options));
    let errors = objects.clone().enumerate().filter_map(|(file, object)| {
        Some(WholeError::Object { file, error: object.as_ref().as_ref().err()?.clone() })
    });
    let errors: Vec<WholeError> = errors.collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    let objects: Vec<Cubin> = objects.filter_map(|object| object.as_ref().as_ref().ok().cloned()).collect();
    let program =
        link(objects).map_err(|errors| errors.into_iter().map(WholeError::Link).collect::<Vec<_>>())?;
    write(&program).map_err(|error| vec![WholeError::Cubin(error)])
}
