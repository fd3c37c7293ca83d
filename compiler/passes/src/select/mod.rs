//! Instruction selection: SSA to machine IR.
