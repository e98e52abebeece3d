//! ctxpack compacts the JSONL transcripts of coding agents.
//!
//! # The way of a transcript
//!
//! ```text
//! bytes ─read→ lines ─format→ conversations ─facts, tokens→ ─plan→ Plan ─artifacts→ Artifacts ─settle→ changes ─apply→ lines ─verify→ write → Outcome → Report
//! ```
//!
//! What is decided is data until the very end. `plan`, `settle`, `apply` and `verify` are pure; all reading in the middle
//! is in `artifacts` (and in `http`, for those who ask a server); writing comes last, in `batch`. A line that is edited
//! differs only inside the edited spans, and is read again before it is written, as is every new line, so that what was
//! verified is what is written. The layers that cost nothing come first; what is over its trigger then is summarised, from
//! the input as it was before them.
//!
//! # Modules, in reading order
//!
//! | module | what it is |
//! | --- | --- |
//! | [`scan`] | bytes to lines to spans: the hot path |
//! | [`transcript`] | the model: lines, blocks, conversations |
//! | [`verify`] | the providers' rules |
//! | [`mod@format`] | which format it is; a dialect each: its lines, live windows, summaries, rules, tools |
//! | [`policy`] | every key of a policy; the presets |
//! | [`tokens`] | estimates |
//! | [`redact`] | secrets in a text, masked |
//! | [`facts`] | what happened in a conversation, as data |
//! | [`summarizer`] | a span of messages, told in few tokens |
//! | [`plan`] | which results each layer looks at |
//! | [`artifacts`] | what a plan needs from outside |
//! | [`http`] | servers that write summaries, where one is named |
//! | [`settle`] | the changes that are made, and the summary that fits, by actual sizes |
//! | [`apply`] | changes become edits, edits become lines |
//! | [`pipeline`] | one transcript through these stages |
//! | [`stats`] | what a transcript is made of |
//! | [`replay`] | a policy turn by turn over a recorded session |
//! | [`eval`] | what is still to be found after a compaction, measured |
//! | [`store`] | atomic files, archive, records, undo |
//! | [`outcome`], [`report`] | what happened, added up and rendered |
//! | [`batch`] | many inputs in parallel |
//! | [`cli`] | the commands |
//!
//! Imports go strictly downward, in this order; modules on one line know nothing of each other, and no two files need each
//! other. `tests/layering.rs` enforces both, and that pure modules stay pure.
//!
//! ```text
//! cli
//! batch
//! report
//! eval, replay
//! pipeline, stats
//! apply
//! settle
//! http
//! artifacts
//! plan, store
//! outcome
//! summarizer
//! facts
//! tokens
//! policy
//! format
//! verify
//! transcript
//! ids
//! scan
//! error, redact
//! text
//! ```
//!
//! # What always holds
//!
//! Identity (policy `none` changes nothing, whatever the bytes), splice (an edit changes its span alone), valid (no finding
//! that the input lacks), never worse (no more tokens), idempotent, deterministic, reversible, isolated (one bad line or
//! file never stops the rest). Each is a property test.
//!
#![doc = include_str!("systems.md")]

pub mod apply;
pub mod artifacts;
pub mod batch;
pub mod cli;
pub mod error;
pub mod eval;
pub mod facts;
pub mod format;
pub mod http;
mod ids;
pub mod outcome;
pub mod pipeline;
pub mod plan;
pub mod policy;
pub mod redact;
pub mod replay;
pub mod report;
pub mod scan;
pub mod settle;
pub mod stats;
pub mod store;
pub mod summarizer;
pub mod text;
pub mod tokens;
pub mod transcript;
pub mod verify;
