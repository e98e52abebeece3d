//! Sums over inputs.

use std::cmp::Reverse;
use std::ops::AddAssign;

use serde::Serialize;

use super::{
    By, Consumer, Counts, Dead, FileStats, Live, Mirrors, PathCount, Share, ToolCount, Weigh,
};
use crate::outcome::{Examined, FileStatus};

/// Sums over many inputs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Totals {
    /// All inputs.
    pub files: u64,
    /// Of these, counted.
    pub counted: u64,
    /// Of these, unsupported.
    pub unsupported: u64,
    /// Of these, failed.
    pub failed: u64,
    /// The sums of the counts.
    #[serde(flatten)]
    pub counts: Counts,
}

impl Totals {
    /// The sums over `files`, which are in path order, with the `top` largest consumers of all.
    pub fn of(files: &[Examined<FileStats>], top: usize) -> Self {
        let mut totals = Totals::default();
        files.iter().for_each(|file| totals.add(file, top));
        totals
    }

    /// Adds a file, which comes after all others in path order, and keeps the `top` largest consumers.
    pub fn add(&mut self, file: &Examined<FileStats>, top: usize) {
        self.files += 1;
        *match file.status {
            FileStatus::Examined => &mut self.counted,
            FileStatus::Unsupported(_) => &mut self.unsupported,
            FileStatus::Failed => &mut self.failed,
        } += 1;
        self.counts += &file.found.counts;
        let largest = &mut self.counts.largest;
        let least = match largest.len() < top {
            true => None,
            false => largest.last().map(|consumer| consumer.tokens),
        };
        // On a tie, the earlier one stays. Most candidates are too small to be worth copying.
        let found = file.found.counts.largest.iter();
        let found = found.filter(|consumer| least.is_none_or(|least| consumer.tokens > least));
        let located = found.map(|consumer| Consumer {
            path: Some(file.file.path.clone()),
            ..consumer.clone()
        });
        largest.extend(located);
        keep_largest(largest, top);
    }
}

/// Sorts the largest first, keeping the order of equal ones, and truncates to `top`.
pub(super) fn keep_largest(consumers: &mut Vec<Consumer>, top: usize) {
    consumers.sort_by_key(|consumer| Reverse(consumer.tokens));
    consumers.truncate(top);
}

/// Implements addition field by field.
macro_rules! adds_up {
    ($($name:ident { $($field:ident),* })*) => {$(
        impl AddAssign<&$name> for $name {
            fn add_assign(&mut self, other: &$name) {
                $(self.$field += &other.$field;)*
            }
        }
    )*};
}

adds_up! {
    // The largest blocks cannot be added: the totals select among them.
    Counts { bytes, live, dead, mirrors, coverage, roles, blocks, tools, paths, estimates, presets }
    Live { conversations, messages, turns, tokens, bytes }
    Dead { lines, bytes, tokens }
    Mirrors { lines, bytes }
    Share { blocks, tokens }
    ToolCount { calls, call_tokens, results, result_tokens, failed }
    PathCount { reads, edits, call_tokens, result_tokens }
}

impl<T: for<'o> AddAssign<&'o T> + Weigh + Default> AddAssign<&By<T>> for By<T> {
    fn add_assign(&mut self, other: &By<T>) {
        for (name, count) in &other.0 {
            *self.entry(name) += count;
        }
    }
}
