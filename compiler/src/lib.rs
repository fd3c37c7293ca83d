//! The incremental compiler from PTX to SASS
