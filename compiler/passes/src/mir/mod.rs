//! Machine IR: SASS instructions over virtual or physical registers in a control-flow graph.
