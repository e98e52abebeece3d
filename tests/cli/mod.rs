//! The program from outside: its files, its streams, its exit codes.
//!
//! Each test works in a folder of its own, in an environment that holds nothing but `PATH`.

// Clippy lets tests unwrap, but not what tests call.
#![allow(clippy::unwrap_used)]

mod bytes;
mod check;
mod config;
mod errors;
mod eval;
mod gc;
mod harness;
#[cfg(unix)]
mod hooks;
mod http;
mod inplace;
mod inputs;
mod outputs;
mod policy;
mod replay;

mod reports;
mod secrets;
mod signals;
mod stats;
mod streams;
mod summaries;
mod systems;
mod undo;
mod verify;
