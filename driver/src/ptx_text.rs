//! PTX from files.

use crate::input::Input;
use crate::kind::{Kind, expect};
use crate::output::{read_bytes, text_of};
use crate::streams::{Outcome, Streams};

/// Reads PTX for a command. Reports the reason if the file cannot be read or is of another kind.
pub(crate) fn read_ptx(input: &Input, command: &str, streams: &mut Streams<'_>) -> Result<String, Outcome> {
    let bytes =
        read_bytes(input, streams.stdin).map_err(|error| streams.failed(format!("{input}: {error}")))?;
    expect(input, &bytes, command, &[Kind::Ptx]).map_err(|message| streams.failed(message))?;
    Ok(text_of(bytes))
}
