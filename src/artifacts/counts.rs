//! Detects silent prompt truncation by comparing the server's token count with the estimate.
//!
//! PURE. A server that counts far fewer tokens than were sent has cut the prompt, or the estimate is too high for its model. A
//! smaller prompt tells these apart: if it is counted at about the same share of its estimate, nothing was cut.

use super::Excess;

/// No server has a smaller window, in tokens: one that counts fewer does not count what it was sent.
const LEAST_WINDOW: u64 = 1_000;
/// A server that counts less than this share of our estimate may have cut the prompt.
const COUNTED: f64 = 0.75;
/// Shares that differ by less than this factor are about the same.
const SAME: f64 = 1.25;

/// What a server does with a prompt that is too long for it, besides an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PromptCut {
    /// Nothing that is known.
    #[default]
    Never,
    /// It silently reads only a part of the prompt.
    InSilence,
}

/// What a token count says about its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It was read, as far as that can be known.
    Read,
    /// It may have been cut.
    MayBeCut,
    /// It was read, and so were all that may have been cut at about the same share.
    ReadAfterAll,
}

/// What the counts so far say.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// The counted share of the estimate, for the last prompt that may have been truncated.
    doubted: Option<f64>,
    /// Whether the estimate is known to be too high.
    is_estimate_high: bool,
    /// The most tokens that were counted for a prompt: the server reads at least this many at once.
    most: u64,
    /// What is certain.
    cut: PromptCut,
}

impl Counts {
    /// Judges the count for a prompt of `sent` tokens, by our estimate; a count of 0 means that the server reports none.
    pub(super) fn judge(&mut self, counted: u64, sent: u64) -> Verdict {
        let is_known = counted >= LEAST_WINDOW || counted > 0 && self.doubted.is_some();
        if self.is_estimate_high || !is_known {
            return Verdict::Read;
        }
        let share = counted as f64 / sent.max(1) as f64;
        let is_below_most = counted < self.most;
        self.most = self.most.max(counted);
        match self.doubted {
            None => {}
            Some(doubted) if share < COUNTED && share <= doubted * SAME => {
                self.is_estimate_high = true;
                return Verdict::ReadAfterAll;
            }
            // The share of the estimate differs: the earlier prompt was truncated.
            Some(_) => self.cut = PromptCut::InSilence,
        }
        if share >= COUNTED || is_below_most {
            return Verdict::Read;
        }
        self.doubted = Some(share);
        Verdict::MayBeCut
    }

    /// Whether it is certain that a prompt was cut.
    pub(super) fn are_certain(&self) -> bool {
        self.cut == PromptCut::InSilence
    }

    /// What the server does, as far as the counts tell.
    pub(super) fn cut(&self) -> PromptCut {
        match self.doubted {
            Some(_) if !self.is_estimate_high => PromptCut::InSilence,
            Some(_) | None => self.cut,
        }
    }
}

/// The window that a server reports, converted to our estimate: of what was sent, or of that plus the answer, whichever is closer
/// to the server's count.
pub(super) fn window_of(excess: Excess, sent: u64, total: u64) -> u64 {
    let Excess { prompt, limit } = excess;
    let counts_answer = prompt.abs_diff(total) < prompt.abs_diff(sent);
    let counted = if counts_answer { total } else { sent };
    (counted as f64 * limit as f64 / prompt.max(1) as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::Verdict::{MayBeCut, Read, ReadAfterAll};
    use super::*;

    fn judged(counts: &[(u64, u64)]) -> (Vec<Verdict>, PromptCut) {
        let mut all = Counts::default();
        let verdicts = counts
            .iter()
            .map(|(counted, sent)| all.judge(*counted, *sent));
        (verdicts.collect(), all.cut())
    }

    #[test]
    fn a_window_is_that_of_the_prompt_or_of_prompt_and_answer() {
        let of = |prompt, limit| window_of(Excess { prompt, limit }, 1_000, 1_500);
        // The server's tokens are the same as ours, or a tenth more.
        assert_eq!([of(1_000, 800), of(1_100, 880)], [800, 800]);
        assert_eq!([of(1_500, 1_200), of(1_650, 1_320)], [1_200, 1_200]);
    }

    #[test]
    fn a_count_far_below_the_estimate_is_a_cut_unless_smaller_prompts_are_counted_so_too() {
        let cut = PromptCut::InSilence;
        for (counts, verdicts, expected) in [
            (
                &[(9_000, 10_000), (700, 1_000)][..],
                &[Read, Read][..],
                PromptCut::Never,
            ),
            (
                &[(0, 10_000), (100, 10_000)],
                &[Read, Read],
                PromptCut::Never,
            ),
            (&[(4_096, 40_000)], &[MayBeCut], cut),
            (&[(4_096, 40_000), (2_000, 2_100)], &[MayBeCut, Read], cut),
            (
                &[(4_096, 8_000), (1_300, 2_500), (10, 9_000)],
                &[MayBeCut, ReadAfterAll, Read],
                PromptCut::Never,
            ),
            // Cut first, and the estimate is too high besides: more was read at once.
            (
                &[(4_096, 40_000), (1_400, 2_000), (700, 1_000)],
                &[MayBeCut, Read, Read],
                cut,
            ),
            // Truncated again, at about the same length.
            (
                &[(4_096, 40_000), (4_100, 6_000)],
                &[MayBeCut, MayBeCut],
                cut,
            ),
        ] {
            assert_eq!(judged(counts), (verdicts.to_vec(), expected), "{counts:?}");
        }
    }
}
