//! Line-by-line differences between two texts, at bounded cost.

use std::ops::Range;

use similar::algorithms::{Capture, Compact, Replace, patience};
use similar::{ChangeTag, DiffOp, group_diff_ops};

use super::align::Alignment;
use super::side::hash;

/// Unchanged lines around a change.
const CONTEXT: usize = 2;
/// Where more lines than this differ, all of them are shown as removed and added: to find out which of them are alike could take
/// a minute.
const MOST: usize = 4_000;

/// The lines that differ, each with its sign, and some around them; `@@` lines say where. Empty if the texts are the same.
pub fn unified(old: &str, new: &str) -> Vec<String> {
    if old == new {
        return Vec::new();
    }
    let (olds, news): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    if olds.len().max(news.len()) == 1 && olds != news {
        // With a single line, there is no need for a position.
        let removed = olds.iter().map(|line| format!("-{line}"));
        return removed
            .chain(news.iter().map(|line| format!("+{line}")))
            .collect();
    }
    let start = olds.iter().zip(&news).take_while(|(a, b)| a == b).count();
    let ends = olds[start..].iter().rev().zip(news[start..].iter().rev());
    let end = ends.take_while(|(a, b)| a == b).count();
    let middle = (olds.len() - start - end).max(news.len() - start - end);
    if middle > MOST {
        let removed = olds[start..olds.len() - end]
            .iter()
            .map(|line| format!("-{line}"));
        let added = news[start..news.len() - end]
            .iter()
            .map(|line| format!("+{line}"));
        let head = format!("@@ -{0} +{0} @@", start + 1);
        return [head].into_iter().chain(removed).chain(added).collect();
    }
    let mut lines = Vec::new();
    for group in group_diff_ops(operations(&olds, &news), CONTEXT) {
        let first = group
            .first()
            .map(|op| (op.old_range().start, op.new_range().start));
        let (from, to) = first.unwrap_or_default();
        lines.push(format!("@@ -{} +{} @@", from + 1, to + 1));
        let changes = group
            .iter()
            .flat_map(|op| op.iter_changes(&olds[..], &news[..]));
        lines.extend(changes.map(|change| {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            format!("{sign}{}", change.value())
        }));
    }
    if lines.is_empty() {
        lines.push("the last line's end, or a carriage return, differs".to_owned());
    }
    lines
}

/// The operations that turn `old` into `new`. The library's convenience function would compile all its algorithms, for any kind of
/// text: 2 % of this program's code.
fn operations(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let mut hook = Compact::new(Replace::new(Capture::new()), old, new);
    let Ok(()) = patience::diff(&mut hook, old, 0..old.len(), new, 0..new.len());
    hook.into_inner().into_inner().into_ops()
}

/// The ranges of lines of `old` and `new` that lie between equal lines. Takes about as long as a sort.
pub fn differing(old: &[&[u8]], new: &[&[u8]]) -> Vec<[Range<usize>; 2]> {
    let keys = |lines: &[&[u8]]| -> Vec<Option<u64>> {
        lines.iter().map(|line| Some(hash(&[line]))).collect()
    };
    let mut alignment = Alignment::new(old.len(), new.len());
    alignment.pass(&keys(old), &keys(new));
    let gaps = alignment.gaps().into_iter();
    gaps.map(|gap| [gap.old, gap.new]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_shown_with_what_is_around_it() {
        let old = "a\nb\nc\nd\ne\nf\n";
        assert_eq!(unified(old, old), Vec::<String>::new());
        assert_eq!(
            unified(old, "a\nb\nc\nX\ne\nf\n"),
            ["@@ -2 +2 @@", " b", " c", "-d", "+X", " e", " f"]
        );
        assert_eq!(unified("a\n", "a").len(), 1);
        assert_eq!(unified("", "new"), ["+new"]);
        assert_eq!(unified("one", "two"), ["-one", "+two"]);
    }

    #[test]
    fn long_texts_cost_little() {
        let text =
            |step: usize| -> String { (0..200_000).map(|n| format!("{}\n", n * step)).collect() };
        assert_eq!(unified(&text(2), &text(3)).len(), 2 * 199_999 + 1);
    }
}
