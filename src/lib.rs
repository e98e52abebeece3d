//! ctxpack compacts the JSONL transcripts of coding agents.

pub mod apply;
pub mod artifacts;
pub mod batch;
pub mod cli;
pub mod error;
pub mod format;
pub mod outcome;
pub mod pipeline;
pub mod plan;
pub mod policy;
pub mod report;
pub mod scan;
pub mod settle;
pub mod store;
pub mod text;
pub mod tokens;
pub mod transcript;
pub mod verify;
