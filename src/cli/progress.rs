//! A progress bar on stderr while a batch runs.
//!
//! By bytes, since inputs differ too much in size for their number to tell how long the rest takes.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Voice;
use super::beside::BesideReports;
use crate::batch::{Progress, Source};
use crate::outcome::Outcome;
use crate::text::thousands;

/// A bar of the bytes and inputs that are done; invisible if stderr is not a terminal.
pub(super) struct Bar {
    bar: ProgressBar,
    is_wanted: bool,
    inputs: AtomicU64,
    /// Whether there may be more inputs than are known.
    is_walking: AtomicBool,
    done: AtomicU64,
    waiting: AtomicU64,
    /// The reports that are written on the way.
    beside: Option<Arc<BesideReports>>,
    /// Set when the run was interrupted and no input is worked on any more.
    work_ended: Arc<AtomicBool>,
}

const TEMPLATE: &str = "{wide_bar} {bytes} of {total_bytes}, {msg}, {bytes_per_sec}, {eta} left";

impl Bar {
    /// For these inputs. What cannot be looked up counts nothing.
    pub(super) fn new(inputs: &[Source], voice: Voice) -> Self {
        let bar = Bar::hidden(voice);
        bar.inputs.store(inputs.len() as u64, Ordering::Relaxed);
        if bar.is_wanted && inputs.len() > 1 {
            bar.bar.set_length(inputs.iter().map(size).sum());
            bar.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.say();
        bar
    }

    /// For inputs that are still to be found.
    pub(super) fn walking(voice: Voice) -> Self {
        let bar = Bar::hidden(voice);
        bar.is_walking.store(true, Ordering::Relaxed);
        bar
    }

    fn hidden(voice: Voice) -> Self {
        let is_wanted =
            voice > Voice::Quiet && io::stderr().is_terminal() && std::env::var_os("CI").is_none();
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        Bar {
            bar,
            is_wanted,
            inputs: AtomicU64::new(0),
            is_walking: AtomicBool::new(false),
            done: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            beside: None,
            work_ended: Arc::default(),
        }
    }

    /// The same, for a run that writes these reports.
    pub(super) fn with_reports(mut self, beside: Option<Arc<BesideReports>>) -> Self {
        self.beside = beside;
        self
    }

    /// The same, for a run of which somebody wants to know that.
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
        let inputs = thousands(self.inputs.load(Ordering::Relaxed));
        let so_far = match self.is_walking.load(Ordering::Relaxed) {
            true => " so far",
            false => "",
        };
        let message = match self.waiting.load(Ordering::Relaxed) {
            0 => format!("{done} of {inputs} files{so_far}"),
            n => format!("{done} of {inputs} files{so_far}, {n} with the server"),
        };
        self.bar.set_message(message);
    }
}

impl Progress for Bar {
    fn done(&self, bytes: u64) {
        self.done.fetch_add(1, Ordering::Relaxed);
        self.bar.inc(bytes);
        self.say();
    }

    fn waiting(&self, summaries: usize) {
        self.waiting.store(summaries as u64, Ordering::Relaxed);
        self.say();
    }

    fn found(&self, bytes: u64) {
        let others = self.inputs.fetch_add(1, Ordering::Relaxed);
        if self.is_wanted {
            self.bar.inc_length(bytes);
            // One alone has no bar.
            if others == 1 {
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
            }
        }
    }

    fn all_found(&self) {
        self.is_walking.store(false, Ordering::Relaxed);
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

/// The bytes on the disk.
pub(super) fn size(input: &Source) -> u64 {
    match input {
        Source::Stdin => 0,
        Source::File(file) => std::fs::metadata(&file.path).map_or(0, |seen| seen.len()),
    }
}
