//! ctxpack compacts the JSONL transcripts of coding agents: they become smaller, stay valid for the provider's API, and the agents
//! can continue from them.
//!
//! A transcript is the record of a session by an agent such as Claude Code, Codex, pi or Copilot CLI, or a plain list of chat
//! messages (Anthropic, OpenAI, AI SDK), with one JSON object per line. This crate reads all of these, estimates their tokens,
//! checks them against the rules of the APIs, and compacts them by a [`Policy`]: old tool outputs are cleared, oversize outputs
//! move to a store, old history is summarised, recently read files come back.
//!
//! | call | what it does |
//! | --- | --- |
//! | [`read()`] | the conversations of a transcript, with messages, blocks and tokens |
//! | [`verify()`] | where a history breaks the rules of its provider |
//! | [`compact()`] | a smaller transcript, in memory |
//! | [`compact_file()`] | a smaller transcript in another file, with a record for [`undo()`] |
//! | [`undo()`] | the bytes that a compacted file was made from |
//!
//! # A first example
//!
//! ```
//! use ctxpack::{Policy, Severity};
//!
//! # let session = br#"{"role":"user","content":"Where is the error?"}
//! # {"role":"assistant","content":"In the second line."}
//! # "#;
//! // `session` holds the bytes of a transcript, in any of the formats.
//! let before = ctxpack::read(session)?;
//! println!("{}: {} tokens", before.format(), before.tokens());
//!
//! // `auto` is the default of the program; single keys can be set on top of a preset.
//! let policy = Policy::preset("auto")?.with([("clear.keep", "3")])?;
//! let compacted = ctxpack::compact(session, &policy)?;
//! println!("{}: {} tokens", compacted.outcome.status, compacted.outcome.tokens_after());
//!
//! let findings = ctxpack::verify(&compacted.bytes)?;
//! assert!(findings.iter().all(|finding| finding.severity != Severity::Error));
//! # Ok::<(), ctxpack::Error>(())
//! ```
//!
//! [`read()`] and [`compact()`] have further examples.
//!
//! # What always holds
//!
//! * **Identity**: the policy `none` changes no byte, whatever the bytes are.
//! * **Splice**: an edited line differs only inside the edited values; unknown lines and fields pass through.
//! * **Valid**: the result has no finding that the input lacks. Otherwise it is rejected, and the input comes back.
//! * **Never worse**: no more tokens than before, by the same estimate.
//! * **Idempotent**: compacting a result again by the same policy changes nothing.
//! * **Deterministic**: the same input, policy and answers of a server give the same bytes.
//! * **Reversible**: [`undo()`] gives back the exact bytes of the input.
//!
//! Each of these is a property test.
//!
//! The program's manual (formats, policy keys, fields of a report, exit codes) is printed by `ctxpack help TOPIC`.
//!
//! # Features
//!
//! Both are on by default; `default-features = false` builds only the library.
//!
//! * `cli`: the program `ctxpack` (brings clap and indicatif).
//! * `http`: summaries by a provider's server (brings ureq). Without it, a policy that names a provider is an error.
//!
//! # The map
//!
//! For contributors; of these modules, only `outcome` belongs to the crate's interface. A transcript takes this path:
//!
//! ```text
//! bytes ─read→ lines ─format→ conversations ─facts, tokens→ ─plan→ Plan ─artifacts→ Artifacts ─settle→ ChangeSet ─apply→ lines ─verify→ write → Outcome → Report
//! ```
//!
//! This happens in steps, each with its own plan, artifacts, settle and apply (`pipeline/run.rs`); steps are repeated in rounds
//! until nothing changes:
//!
//! 1. the free layers, which cost nothing but old outputs: dead lines, outputs of other reads, clearing, moving to the store;
//! 2. `offload`, where the policy has it;
//! 3. a summary of the main conversation, then of its sidechains, where it is due; files come back with it;
//! 4. pruning where a summary failed, and the lines that are dead now;
//! 5. `offload` once more, for what is old now; then what a target still asks for.
//!
//! For example, a result is cleared by `plan/clear.rs` (whether it is a candidate, and why), `settle/results.rs` (the text that
//! takes its place, if that saves tokens), `settle/content.rs` (the bytes of the new content) and `apply.rs`. A summary is decided
//! in `pipeline/planning.rs` (whether it is due, what it covers), asked for in `artifacts/summary.rs` where a server writes it,
//! composed in `settle/summary.rs` and `settle/draft.rs` (the extract comes from `summarizer/extractive/`), and becomes lines in
//! the dialect's `splice` (`format/shapes/splice.rs`, or a `compaction.rs` of its own).
//!
//! Decisions are data until the very end. `plan`, `settle`, `apply` and `verify` are pure; all reading in between happens in
//! `artifacts` (and in `http`, which asks a server if a policy names one); writing comes last, in `batch`. An edited line differs
//! only inside the edited spans, and is read again before it is written, as is every new line, so that what was verified is what is
//! written. Summaries are made from the input as it was before these layers. A model writes a narrative, which is followed by rows
//! of the built-in summary; if a policy uses the model's text alone, as the published systems do, the model is sent what the layers
//! have left.
//!
//! | module | what it is |
//! | --- | --- |
//! | `scan` | bytes to lines to spans: the hot path |
//! | `transcript` | the model: lines, blocks, conversations |
//! | `verify` | the providers' rules |
//! | `format` | which format it is; a dialect each: its lines, live windows, summaries, rules, tools |
//! | `policy` | every key of a policy; the presets |
//! | `tokens` | estimates |
//! | `emit` | a transcript as messages of a provider's API |
//! | `redact` | secrets in a text, masked |
//! | `facts` | what happened in a conversation, as data |
//! | `summarizer` | a span of messages in few tokens |
//! | `plan` | what each layer would do, as data with reasons |
//! | `artifacts` | external inputs of a plan: results for the store, files, answers of a model |
//! | `http` | servers that write summaries |
//! | `settle` | a plan and its artifacts become a change set, by actual sizes |
//! | `apply` | a change set becomes lines: the only way a transcript changes |
//! | `pipeline` | one transcript through these stages, step by step |
//! | `stats` | what a transcript is made of |
//! | `diff` | what a compaction did, read off two transcripts; two outputs of one input |
//! | `replay` | a policy turn by turn over a recorded session |
//! | `eval` | what can still be found after a compaction, measured |
//! | `store` | atomic files, archive, records, undo |
//! | `outcome`, `report` | what happened, added up and rendered |
//! | `batch` | many inputs in parallel |
//! | `cli` | the commands |
//! | `library` | what this page documents |
//! | `ids`, `text`, `semaphore`, `threads`, `error` | maps by id, display text, a semaphore, work that threads share, the error type |
//!
//! Imports go strictly downward, in the order of the list below; modules on one line do not import each other, and neither do any
//! two files. `tests/layering.rs` enforces this, and that pure modules stay pure.
//!
//! ```text
//! cli, library
//! batch
//! report
//! eval, replay
//! pipeline, stats, diff
//! apply
//! settle
//! http
//! artifacts
//! plan, store
//! outcome
//! summarizer
//! facts
//! tokens, emit
//! policy
//! format
//! verify
//! transcript
//! ids
//! scan
//! error, redact
//! semaphore, text, threads
//! ```

mod ids;
mod library;
pub mod outcome;

pub use error::{Error, ErrorKind, Result};
pub use library::{
    Block, Compacted, Conversation, Message, Policy, Transcript, compact, compact_file, read,
    read_with, undo, verify,
};
pub use transcript::{BlockKind, Role};
pub use verify::{Finding, Rule, Severity};

pub mod presets {
    //! The published systems that presets follow, statement by statement.
    //!
    #![doc = include_str!("policy/presets/systems.md")]
}

// Public only for the program, its tests and its tools: these modules may change in any release.
#[doc(hidden)]
pub mod apply;
#[doc(hidden)]
pub mod artifacts;
#[doc(hidden)]
pub mod batch;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod diff;
#[doc(hidden)]
pub mod emit;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod eval;
#[doc(hidden)]
pub mod facts;
#[doc(hidden)]
pub mod format;
#[cfg(feature = "http")]
#[doc(hidden)]
pub mod http;
#[doc(hidden)]
pub mod pipeline;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod policy;
#[doc(hidden)]
pub mod redact;
#[doc(hidden)]
pub mod replay;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod scan;
#[doc(hidden)]
pub mod semaphore;
#[doc(hidden)]
pub mod settle;
#[doc(hidden)]
pub mod stats;
#[doc(hidden)]
pub mod store;
#[doc(hidden)]
pub mod summarizer;
#[doc(hidden)]
pub mod text;
mod threads;
#[doc(hidden)]
pub mod tokens;
#[doc(hidden)]
pub mod transcript;
#[doc(hidden)]
pub mod verify;
