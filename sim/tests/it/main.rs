//! Both engines and the model of time, on programs written for the test.

mod assemble;
mod asynchronous;
mod corpus;
mod sass;
mod ssa;
mod timing;
