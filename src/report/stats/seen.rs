//! What every rendering of a report on `stats` says about all inputs together, collected in one pass over them.
//!
//! Holds sums and the largest few, however many inputs there are.

use std::io;

use super::columns;
use crate::outcome::{Entries, Examined, FileStatus, Timings};
use crate::report::column::{Column, Sum, shown};
use crate::report::groups::{Grouped, Groups};
use crate::report::ranking::Largest;
use crate::report::rows::Folder;
use crate::report::times::{RunTimings, with_times};
use crate::stats::{ConversationStats, FileStats, Standing, Totals};

/// A batch of up to this many inputs is shown in full; of a longer one, this many of the largest.
const FILES_SHOWN: usize = 20;
/// The maximum number of curves.
pub(super) const CURVES: usize = 6;

/// What was seen of all inputs, in path order.
pub(super) struct Seen {
    pub(super) folder: Folder,
    pub(super) groups: Groups,
    /// The phases of all inputs together.
    pub(super) phases: Timings,
    /// The indices of the largest inputs, the largest first; equal ones in path order.
    pub(super) files: Vec<usize>,
    /// How many conversations there are.
    pub(super) conversations: u64,
    /// The largest of them; a single one in any case.
    pub(super) windows: Vec<Shown>,
    /// How many conversations have several turns.
    pub(super) curves: u64,
    /// The largest of them.
    pub(super) largest_curves: Vec<Shown>,
    pub(super) standings: Standings,
    /// The sums of the columns for people, in order; times come last.
    sums: Vec<Sum>,
}

/// A conversation with what its name needs from its file.
#[derive(Clone)]
pub(super) struct Shown {
    pub(super) path: String,
    /// How many conversations its file has.
    pub(super) of: usize,
    pub(super) conversation: ConversationStats,
}

/// How all conversations compare with the thresholds.
#[derive(Default)]
pub(super) struct Standings {
    /// For each limit on live tokens, the number of conversations over it.
    pub(super) trigger: u64,
    pub(super) target: u64,
    pub(super) offload: u64,
    /// For each limit on results, the number of results over it.
    pub(super) demote: u64,
    pub(super) clear: u64,
}

impl Seen {
    /// Reads all entries and adds them up, with the `top` largest consumers and conversations.
    ///
    /// # Errors
    /// If an entry cannot be read.
    pub(super) fn of(
        entries: &dyn Entries<Examined<FileStats>>,
        top: usize,
        windows: usize,
    ) -> io::Result<(Self, Totals)> {
        let mut totals = Totals::default();
        let columns = summed();
        let columns = shown(&columns);
        let mut seen = Seen {
            folder: Folder::default(),
            groups: Groups::default(),
            phases: Timings::default(),
            files: Vec::new(),
            conversations: 0,
            windows: Vec::new(),
            curves: 0,
            largest_curves: Vec::new(),
            standings: Standings::default(),
            sums: columns.iter().map(|_| Sum::default()).collect(),
        };
        let mut files = Largest::new(FILES_SHOWN);
        let mut windows = Largest::new(windows.max(1));
        let mut curves = Largest::new(CURVES);
        let mut at = 0;
        entries.each(&mut |file| {
            totals.add(file, top);
            seen.add(file, &columns);
            files.add(file.found.counts.live.tokens, || at);
            at += 1;
            for conversation in &file.found.conversations {
                let shown = || Shown::of(file, conversation);
                seen.conversations += 1;
                windows.add(conversation.tokens, shown);
                if conversation.timeline.len() > 1 {
                    seen.curves += 1;
                    curves.add(conversation.tokens, shown);
                }
            }
            Ok(())
        })?;
        seen.files = files.into_list();
        seen.windows = windows.into_list();
        seen.largest_curves = curves.into_list();
        Ok((seen, totals))
    }

    fn add(&mut self, file: &Examined<FileStats>, columns: &[&Column<Examined<FileStats>>]) {
        self.folder.see(&file.file.path);
        match file.status {
            FileStatus::Examined => self.groups.add(&Grouped {
                file: &file.file,
                tokens: [file.found.counts.live.tokens; 2],
            }),
            FileStatus::Unsupported(_) | FileStatus::Failed => {}
        }
        if let Some(timings) = &file.file.timings {
            self.phases += timings;
        }
        for (column, sum) in columns.iter().zip(&mut self.sums) {
            column.add(sum, file);
        }
        for conversation in &file.found.conversations {
            self.standings.add(&conversation.standing);
        }
    }

    /// The figures of all inputs together in these columns for people.
    pub(super) fn figures(&self, columns: &[&Column<Examined<FileStats>>]) -> Vec<String> {
        let figures = columns.iter().zip(&self.sums);
        figures
            .flat_map(|(column, sum)| column.figures_of(sum))
            .collect()
    }

    /// The only conversation, if there is no other.
    pub(super) fn only(&self) -> Option<&ConversationStats> {
        let first = self.windows.first().filter(|_| self.conversations == 1)?;
        Some(&first.conversation)
    }
}

/// The columns that are added up, including times, whether shown or not.
fn summed() -> Vec<Column<Examined<FileStats>>> {
    with_times(columns::columns(), Some(&RunTimings::default()))
}

impl Shown {
    fn of(file: &Examined<FileStats>, conversation: &ConversationStats) -> Self {
        Shown {
            path: file.file.path.clone(),
            of: file.found.conversations.len(),
            conversation: conversation.clone(),
        }
    }
}

impl Standings {
    fn add(&mut self, standing: &Standing) {
        let Standing {
            trigger,
            target,
            offload,
            demote,
            clear,
        } = standing;
        for (over, window) in [
            (&mut self.trigger, trigger),
            (&mut self.target, target),
            (&mut self.offload, offload),
        ] {
            *over += u64::from(window.is_some_and(|window| window.since.is_some()));
        }
        for (over, stands) in [(&mut self.demote, demote), (&mut self.clear, clear)] {
            *over += stands.map_or(0, |stands| stands.results);
        }
    }
}
