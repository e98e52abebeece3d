//! All tests from outside, in one binary: a module an area.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

// What others run in their pipelines.
#[cfg(unix)]
mod ci;
// The program as a user meets it: files, exit codes, words.
mod cli;
// Any bytes at all, where bytes of others are read.
mod fuzz;
// What always holds, as properties over generated transcripts.
mod invariants;
// What is JSON, to us and to others.
mod json;
// The order of imports, and that pure rooms stay pure.
mod layering;
// What the README says, as far as it can be run.
mod readme;
// What the table of the published systems names.
mod systems;
// What the topics of `ctxpack help` say, as far as it can be compared with the code.
mod topics;
