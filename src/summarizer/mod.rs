//! Who writes summaries.
//!
//! PURE so far: the summariser that is built in takes words from the transcript and adds none. Never decides what is
//! summarised, nor where a summary goes.

pub mod extractive;
pub mod gate;
pub mod input;
pub mod prompt;
pub mod reading;
pub mod retry;
