//! A progress bar on stderr while a batch runs.
//!
//! By bytes, since inputs differ too much in size for their number to tell how long the rest takes.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Voice;
use crate::batch::{Progress, Source};
use crate::text::thousands;

/// A bar of the bytes and inputs that are done; invisible if stderr is not a terminal.
pub(super) struct Bar {
    bar: ProgressBar,
    inputs: usize,
    done: AtomicU64,
    waiting: AtomicU64,
}

const TEMPLATE: &str = "{wide_bar} {bytes} of {total_bytes}, {msg}, {bytes_per_sec}, {eta} left";

impl Bar {
    /// For these inputs. What cannot be looked up counts nothing.
    pub(super) fn new(inputs: &[Source], voice: Voice) -> Self {
        let is_wanted = voice > Voice::Quiet
            && inputs.len() > 1
            && io::stderr().is_terminal()
            && std::env::var_os("CI").is_none();
        let bar = match is_wanted {
            true => {
                let sizes = inputs.iter().map(size);
                ProgressBar::with_draw_target(Some(sizes.sum()), ProgressDrawTarget::stderr())
            }
            false => ProgressBar::hidden(),
        };
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        let bar = Bar {
            bar,
            inputs: inputs.len(),
            done: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
        };
        bar.say();
        bar
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
        let inputs = thousands(self.inputs as u64);
        let message = match self.waiting.load(Ordering::Relaxed) {
            0 => format!("{done} of {inputs} files"),
            n => format!("{done} of {inputs} files, {n} with the server"),
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
}

/// The bytes on the disk.
pub(super) fn size(input: &Source) -> u64 {
    match input {
        Source::Stdin => 0,
        Source::File(file) => std::fs::metadata(&file.path).map_or(0, |seen| seen.len()),
    }
}
