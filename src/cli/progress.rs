//! A progress bar on stderr while a batch runs.
//!
//! Measured in bytes, since inputs differ too much in size for their number to tell how long the rest takes. While inputs are still
//! being found, the total number of bytes is estimated from the number of inputs counted; before they are counted, no total is
//! shown.

use std::fmt;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::Voice;
use super::sibling_reports::BesideReports;
use crate::batch::{Progress, Source, SourceList};
use crate::error::Result;
use crate::outcome::Outcome;
use crate::text::thousands;

/// A bar of the finished bytes and inputs; invisible if stderr is not a terminal.
pub(super) struct Bar {
    bar: ProgressBar,
    is_wanted: bool,
    /// The number of inputs that there are, or that were found so far, and their bytes.
    inputs: AtomicU64,
    bytes: AtomicU64,
    /// The number of inputs that will be found, once counted.
    counted: AtomicU64,
    /// Whether there may be more inputs than are known.
    is_walking: AtomicBool,
    done: AtomicU64,
    waiting: AtomicU64,
    /// The reports that are written during the run.
    beside: Option<Arc<BesideReports>>,
    /// Set when the run was interrupted and no input is worked on any more.
    work_ended: Arc<AtomicBool>,
}

const KNOWN: &str = "{wide_bar} {bytes} of {total_bytes}, {msg}, {bytes_per_sec}{rest}";
const ESTIMATED: &str = "{wide_bar} {bytes} of about {total_bytes}, {msg}, {bytes_per_sec}{rest}";
const UNKNOWN: &str = "{bytes}, {msg}, {bytes_per_sec}";

impl Bar {
    /// A bar for these inputs. An input whose size cannot be determined counts as 0.
    ///
    /// # Errors
    /// If the list of inputs cannot be read.
    pub(super) fn new(inputs: &SourceList, voice: Voice) -> Result<Self> {
        Bar::of(inputs, &mut |_| Ok(true), voice)
    }

    /// A bar for the inputs that `is_meant` accepts; otherwise like [`Bar::new`]. It is called once for each input.
    ///
    /// # Errors
    /// Those of `is_meant` and of [`Bar::new`].
    pub(super) fn of(
        inputs: &SourceList,
        is_meant: &mut dyn FnMut(&Source) -> Result<bool>,
        voice: Voice,
    ) -> Result<Self> {
        let bar = Bar::hidden(voice);
        let (mut count, mut bytes) = (0, 0);
        for input in inputs.iter() {
            let input = input?;
            if is_meant(&input)? {
                count += 1;
                bytes += if bar.is_wanted { size(&input) } else { 0 };
            }
        }
        bar.inputs.store(count, Ordering::Relaxed);
        if bar.is_wanted && count > 1 {
            bar.bar.set_length(bytes);
            bar.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.say();
        Ok(bar)
    }

    /// A bar for inputs that are handed on one by one.
    pub(super) fn walking(voice: Voice) -> Self {
        let bar = Bar::hidden(voice);
        bar.is_walking.store(true, Ordering::Relaxed);
        bar.show_as(UNKNOWN);
        bar
    }

    fn hidden(voice: Voice) -> Self {
        let is_wanted =
            voice > Voice::Quiet && io::stderr().is_terminal() && std::env::var_os("CI").is_none();
        let bar = Bar {
            bar: ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden()),
            is_wanted,
            inputs: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            counted: AtomicU64::new(0),
            is_walking: AtomicBool::new(false),
            done: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            beside: None,
            work_ended: Arc::default(),
        };
        bar.show_as(KNOWN);
        bar
    }

    fn show_as(&self, template: &str) {
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.with_key("rest", rest));
        }
    }

    /// The estimated total of bytes, if the inputs still to be found are as large as the others.
    fn estimate(&self, bytes: u64) -> u64 {
        let inputs = self.inputs.load(Ordering::Relaxed).max(1);
        let counted = self.counted.load(Ordering::Relaxed).max(inputs);
        let estimate = u128::from(bytes) * u128::from(counted) / u128::from(inputs);
        u64::try_from(estimate).unwrap_or(u64::MAX)
    }

    /// The same, for a run that writes these reports.
    pub(super) fn with_reports(mut self, beside: Option<Arc<BesideReports>>) -> Self {
        self.beside = beside;
        self
    }

    /// The same, but sets `work_ended` when no input is being processed any more.
    pub(super) fn telling(mut self, work_ended: &Arc<AtomicBool>) -> Self {
        self.work_ended = Arc::clone(work_ended);
        self
    }

    /// Writes something else to stderr without the bar in between.
    pub(super) fn aside(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }

    pub(super) fn finish(self) {
        self.bar.finish_and_clear();
    }

    fn say(&self) {
        if self.bar.is_hidden() {
            return;
        }
        let done = thousands(self.done.load(Ordering::Relaxed));
        let inputs = self.inputs.load(Ordering::Relaxed);
        let counted = self.counted.load(Ordering::Relaxed);
        let (inputs, so_far) = match self.is_walking.load(Ordering::Relaxed) {
            true if counted == 0 => (inputs, " so far"),
            true => (counted.max(inputs), ""),
            false => (inputs, ""),
        };
        let inputs = thousands(inputs);
        let message = match self.waiting.load(Ordering::Relaxed) {
            0 => format!("{done} of {inputs} files{so_far}"),
            n => format!("{done} of {inputs} files{so_far}, {n} with the server"),
        };
        self.bar.set_message(message);
    }
}

/// The remaining time: empty before the first input is finished.
fn rest(state: &ProgressState, to: &mut dyn fmt::Write) {
    if state.pos() > 0 {
        // A failure to write to a terminal can be ignored.
        let _ = write!(to, ", {:#} left", HumanDuration(state.eta()));
    }
}

impl Progress for Bar {
    fn done(&self, bytes: u64) {
        self.done.fetch_add(1, Ordering::Relaxed);
        if self.is_wanted {
            self.bar.inc(bytes);
        }
        self.say();
    }

    fn waiting(&self, summaries: usize) {
        self.waiting.store(summaries as u64, Ordering::Relaxed);
        self.say();
    }

    fn found(&self, bytes: u64) {
        let others = self.inputs.fetch_add(1, Ordering::Relaxed);
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if self.is_wanted {
            self.bar.set_length(self.estimate(before + bytes));
            // A single input has no bar.
            if others == 1 {
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
                self.say();
            }
        }
    }

    fn wants_count(&self) -> bool {
        self.is_wanted
    }

    fn counted(&self, inputs: u64) {
        self.counted.store(inputs, Ordering::Relaxed);
        let is_walking = || self.is_walking.load(Ordering::SeqCst);
        if is_walking() {
            self.bar
                .set_length(self.estimate(self.bytes.load(Ordering::Relaxed)));
            self.show_as(ESTIMATED);
            self.say();
        }
        // The walk may have ended meanwhile.
        if !is_walking() {
            self.all_found();
        }
    }

    fn all_found(&self) {
        self.is_walking.store(false, Ordering::SeqCst);
        self.bar.set_length(self.bytes.load(Ordering::Relaxed));
        self.show_as(KNOWN);
        self.say();
    }

    fn work_ended(&self) {
        self.work_ended.store(true, Ordering::Relaxed);
    }

    fn ended(&self, outcome: &Outcome, base: Option<&Path>) {
        if let Some(beside) = &self.beside {
            beside.see(outcome, base);
        }
    }

    fn wants_outcomes(&self) -> bool {
        self.beside.is_some()
    }
}

/// The size of an input on disk, in bytes.
pub(super) fn size(input: &Source) -> u64 {
    match input {
        Source::Stdin => 0,
        Source::File(file) => std::fs::metadata(&file.path).map_or(0, |seen| seen.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_still_to_be_found_is_taken_to_be_as_large_as_what_was() {
        let mut bar = Bar::walking(Voice::Normal);
        bar.is_wanted = true;
        bar.bar = ProgressBar::hidden();
        let length = |bar: &Bar| bar.bar.length();
        bar.found(10);
        bar.found(20);
        assert_eq!(length(&bar), Some(30));
        bar.counted(10);
        assert_eq!(length(&bar), Some(150));
        bar.found(30);
        assert_eq!(length(&bar), Some(200));
        // More were found than were counted.
        (0..20).for_each(|_| bar.found(20));
        assert_eq!(length(&bar), Some(460));
        bar.all_found();
        bar.counted(99);
        assert_eq!(length(&bar), Some(460));
    }
}
