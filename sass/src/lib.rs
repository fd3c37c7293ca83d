//! The machine: instruction table, operands, control codes, latencies and text of SASS
