//! Runs the lit tests.
