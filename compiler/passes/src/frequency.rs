//! How often each block runs, estimated from the shape of the control flow.
