//! The program from outside: its files, its streams, its exit codes.
//!
//! Each test works in a folder of its own, in an environment that holds nothing but `PATH`.

// Clippy lets tests unwrap, but not what tests call.
#![allow(clippy::unwrap_used)]

mod aligned;
#[cfg(target_os = "linux")]
mod attributes;
mod bytes;
mod check;
mod check_expect;
mod check_review;
mod check_search;
mod config;
#[cfg(unix)]
mod continued;
mod controls;
mod diff;
mod emit;
mod errors;
mod eval;
mod filter;
mod filter_store;
mod gates;
mod gc;
mod groups;
mod harness;
#[cfg(unix)]
mod hooks;
#[cfg(target_os = "linux")]
mod hostile;
mod http;
mod inplace;
mod inputs;
#[cfg(target_os = "linux")]
mod leaving_out;
mod limits;
mod manners;
mod needless;
mod noted_in_short;
mod notices;
mod outputs;
mod packing;
mod pages;
#[cfg(unix)]
mod planted;
mod policy;
mod replay;

mod reports;
mod resume;
mod schemas;
mod secrets;
mod sessions;
mod shards;
mod shares;
mod signals;
mod spooled;
mod stats;
mod store_names;
mod streamed;
mod streams;
mod summaries;
mod systems;
mod timings;
mod undo;
#[cfg(target_os = "linux")]
mod undo_folders;
mod vanished;
mod verify;
#[cfg(target_os = "linux")]
mod walk;
mod walking;
