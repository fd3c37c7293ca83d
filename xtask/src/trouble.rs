//! Why an execution case is not passed.

use ptxc_sim::{Report, SimError};

/// The reason why a run does not give the expected values.
pub(crate) enum Trouble {
    Wrong(String),
    Unsupported(String),
}

/// What is wrong with a run, if anything is.
pub(crate) fn passed(engine: &str, result: Result<Report, SimError>) -> Result<(), Trouble> {
    match result {
        Ok(report) if report.passed() => Ok(()),
        Ok(report) => Err(Trouble::Wrong(format!("{engine}: {report}"))),
        Err(SimError::Unsupported { what, .. }) => {
            Err(Trouble::Unsupported(format!("the {engine} engine: {what}")))
        }
        Err(error) => Err(Trouble::Wrong(format!("{engine}: {error}"))),
    }
}
