//! A progress bar on stderr while a batch runs.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Voice;
use crate::batch::Progress;

/// A bar that counts inputs and bytes; invisible if stderr is not a terminal.
pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new(inputs: u64, voice: Voice) -> Self {
        let is_wanted = voice > Voice::Quiet
            && inputs > 1
            && io::stderr().is_terminal()
            && std::env::var_os("CI").is_none();
        let target = if is_wanted {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(inputs), target);
        let template = "{wide_bar} {human_pos}/{human_len} files, {eta} left{msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Bar(bar)
    }

    pub(super) fn finish(self) {
        self.0.finish_and_clear();
    }
}

impl Progress for Bar {
    fn done(&self, _bytes: u64) {
        self.0.inc(1);
    }

    fn waiting(&self, summaries: usize) {
        self.0.set_message(match summaries {
            0 => String::new(),
            n => format!(", {n} with the server"),
        });
    }
}
