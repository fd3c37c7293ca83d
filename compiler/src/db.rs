//! The database: salsa's storage and, for tests, a log of the queries that ran.

use std::fmt;
use std::sync::{Arc, Mutex};

use salsa::{Event, EventKind};

/// The view that queries have of the database.
#[salsa::db]
pub trait Db: salsa::Database {}

/// The memory of the incremental compiler: files, options, and all results that are still valid.
///
/// A clone shares all of it; clones on several threads compile functions in parallel.
#[salsa::db]
#[derive(Clone, Default)]
pub struct Database {
    storage: salsa::Storage<Self>,
    /// Stays empty unless the database is made [with a log](Self::with_log).
    log: Arc<Mutex<Option<Vec<String>>>>,
}

impl Database {
    /// A database that can log the queries that run. A plain one does less for each query.
    pub fn with_log() -> Self {
        let log: Arc<Mutex<Option<Vec<String>>>> = Arc::default();
        let sink = log.clone();
        let callback = move |event: Event| {
            if let EventKind::WillExecute { database_key } = event.kind {
                let mut log = sink.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                if let Some(log) = &mut *log {
                    log.push(format!("{database_key:?}"));
                }
            }
        };
        Database { storage: salsa::Storage::new(Some(Box::new(callback))), log }
    }

    /// Starts a log of the queries that run, if the database was made [with a log](Self::with_log).
    pub fn start_log(&self) {
        *self.log.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(Vec::new());
    }

    /// The queries that ran since the log was started or taken, each as `name(Id(…))`, in order.
    pub fn take_log(&self) -> Vec<String> {
        let mut log = self.log.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        log.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").finish_non_exhaustive()
    }
}

#[salsa::db]
impl salsa::Database for Database {}

#[salsa::db]
impl Db for Database {}
