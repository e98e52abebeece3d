//! What a generator knows about the transcript that it wrote.

use std::collections::BTreeSet;

/// What the program has to find out by itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// The conversations, in their order.
    pub windows: Vec<Window>,
    /// The lines that are dropped with dead history.
    pub dead: BTreeSet<usize>,
    /// How the lines are linked.
    pub chain: Chain,
}

/// What a model sees of a conversation.
#[derive(Debug, Clone, Default)]
pub(super) struct Window {
    /// The live lines, in the order in which they are sent.
    pub lines: Vec<usize>,
    /// Those of them whose calls and results are also on other live lines, and lines that only repeat results.
    pub copies: BTreeSet<usize>,
    /// The lines of the last answer with figures of a provider.
    pub counted: BTreeSet<usize>,
    /// Whether it may be needed again.
    pub fate: Fate,
}

/// Whether a conversation is kept when dead history is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Fate {
    #[default]
    Stays,
    /// It belongs to a dead task.
    Leaves,
}

/// How the lines of a transcript are linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Chain {
    /// In the only way that follows all rules.
    #[default]
    Whole,
    /// Parents are missing, or a pointer leads away from the last compaction.
    Broken,
}

impl Known {
    /// A transcript in which every line is live.
    pub(super) fn all_live(windows: impl IntoIterator<Item = Vec<usize>>) -> Known {
        let window = |lines| Window {
            lines,
            ..Window::default()
        };
        Known {
            windows: windows.into_iter().map(window).collect(),
            ..Known::default()
        }
    }

    /// The same with other numbers for the lines.
    pub(super) fn moved(self, place: impl Fn(usize) -> usize) -> Known {
        let set = |lines: BTreeSet<usize>| lines.into_iter().map(&place).collect();
        let window = |window: Window| Window {
            lines: window.lines.into_iter().map(&place).collect(),
            copies: set(window.copies),
            counted: set(window.counted),
            fate: window.fate,
        };
        Known {
            windows: self.windows.into_iter().map(window).collect(),
            dead: set(self.dead),
            chain: self.chain,
        }
    }

    /// Every live line.
    pub(super) fn live(&self) -> BTreeSet<usize> {
        let windows = self.windows.iter();
        windows.flat_map(|w| w.lines.iter().copied()).collect()
    }
}
