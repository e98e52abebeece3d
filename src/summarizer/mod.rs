//! Summaries: the built-in extractive summariser, and what a model needs to write one.
//!
//! PURE. The extractive summariser takes its text from the transcript and adds none. Nothing here decides what is
//! summarised or where a summary goes.

mod cite;
pub mod evidence;
pub mod extractive;
pub mod gate;
pub mod input;
pub mod prompt;
pub mod reading;
pub mod retry;
