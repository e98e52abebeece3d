//! The table of the largest blocks, and what each of them is about, in few characters.
//!
//! A path is shown by its end. Two paths never look the same.

use std::collections::{BTreeMap, BTreeSet};

use super::View;
use crate::report::rows::Table;
use crate::stats::Consumer;
use crate::text::{printable, thousands};
use crate::transcript::BlockKind;

/// The maximum length of what a block is about, in characters, and the least that a narrow screen leaves of it.
const MOST: usize = 60;
const LEAST: usize = 16;

/// The largest blocks of so many files, whose names begin with `folder`.
pub(super) fn largest(consumers: &[Consumer], (files, folder): (usize, &str), view: View) -> Table {
    let mut table = Table::new(["largest", "tokens", "message", "line"]);
    table.words = &[0, 3];
    let kinds: Vec<String> = consumers.iter().map(kind).collect();
    let about = consumers.iter().zip(&kinds);
    let about = about.filter(|(consumer, _)| consumer.hint.is_some());
    let label = about
        .map(|(_, kind)| kind.chars().count() + ": ".len())
        .max();
    let room = view.screen.width.saturating_sub(label.unwrap_or(0));
    let hints = hints(consumers, room);
    for ((consumer, kind), hint) in consumers.iter().zip(kinds).zip(hints) {
        let what = match hint.as_str() {
            "" => kind,
            hint => format!("{kind}: {hint}"),
        };
        let place = match &consumer.path {
            Some(path) if files > 1 => {
                format!("{}:{}", printable(&path[folder.len()..]), consumer.line)
            }
            Some(_) | None => consumer.line.to_string(),
        };
        table.rows.push(vec![
            printable(&what).into_owned(),
            thousands(consumer.tokens),
            thousands(consumer.message),
            place,
        ]);
    }
    table
}

/// The kind of a block.
fn kind(consumer: &Consumer) -> String {
    match &consumer.tool {
        Some(tool) => match consumer.kind {
            BlockKind::Call => format!("{tool} call"),
            BlockKind::Result => format!("{tool} result"),
            kind => format!("{tool} {}", kind.name()),
        },
        None if consumer.role == consumer.kind.name() => consumer.role.clone().into_owned(),
        None => format!("{} {}", consumer.role, consumer.kind.name()),
    }
}

/// What is left of a long text, from the shortest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shown {
    /// The end of a path, the beginning of a command.
    Part,
    /// The beginning and the end.
    Ends,
    All,
}

/// What each block is about, in `room` characters; "" if that is not known. Different texts are shown as different ones, if need be
/// in full.
pub(super) fn hints(consumers: &[Consumer], room: usize) -> Vec<String> {
    let most = room.clamp(LEAST, MOST);
    let all: Vec<&str> = consumers
        .iter()
        .map(|consumer| consumer.hint.as_deref().unwrap_or_default())
        .collect();
    let mut shown: BTreeMap<&str, Shown> = all.iter().map(|hint| (*hint, Shown::Part)).collect();
    for next in [Shown::Ends, Shown::All] {
        let mut alike: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for (hint, how) in &shown {
            alike.entry(cut(hint, *how, most)).or_default().insert(hint);
        }
        for hint in alike.values().filter(|hints| hints.len() > 1).flatten() {
            shown.insert(hint, next);
        }
    }
    let cut = |hint: &&str| cut(hint, shown.get(hint).copied().unwrap_or(Shown::All), most);
    all.iter().map(cut).collect()
}

fn cut(hint: &str, how: Shown, most: usize) -> String {
    let length = hint.chars().count();
    let (first, last) = match how {
        _ if length <= most => return hint.to_owned(),
        Shown::All => return hint.to_owned(),
        Shown::Part if is_path(hint) => (0, most - 1),
        Shown::Part => (most - 1, 0),
        Shown::Ends => ((most - 1) / 2, most / 2),
    };
    let begins: String = hint.chars().take(first).collect();
    let ends: String = hint.chars().skip(length - last).collect();
    format!("{}…{ends}", begins.trim_end())
}

/// Whether a text is a path rather than a command: the text of a long command is never longer than this.
fn is_path(hint: &str) -> bool {
    hint.chars().count() > MOST || !hint.contains(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(hints: &[&str]) -> Vec<Consumer> {
        let about = |hint: &&str| Consumer {
            path: None,
            line: 1,
            conversation: "main".to_owned(),
            message: 1,
            role: "tool_result".into(),
            kind: BlockKind::Result,
            tool: Some("Read".to_owned()),
            tokens: 1,
            hint: Some((*hint).to_owned()),
        };
        hints.iter().map(about).collect()
    }

    #[test]
    fn a_path_is_shown_by_its_end_and_a_command_by_its_beginning() {
        let path = format!("/srv/{}/main.rs", "deep/".repeat(20));
        let command = "cargo test --workspace --all-features";
        let shown = hints(&about(&[&path, command, "a.rs"]), 24);
        let end: String = path.chars().skip(path.len() - 23).collect();
        assert_eq!(
            shown,
            [
                format!("…{end}"),
                "cargo test --workspace…".into(),
                "a.rs".into()
            ]
        );
        assert_eq!(hints(&about(&[command]), usize::MAX), [command]);
        assert_eq!(hints(&about(&[&path]), usize::MAX)[0].chars().count(), MOST);
        assert_eq!(hints(&about(&[&path]), 0)[0].chars().count(), LEAST);
    }

    #[test]
    fn paths_that_differ_look_different() {
        let below = |folder: &str| format!("/home/{folder}/{}/main.rs", "deep/".repeat(20));
        let (alpha, beta) = (below("alpha"), below("beta"));
        for room in [0, 40, usize::MAX] {
            let shown = hints(&about(&[&alpha, &beta, &alpha]), room);
            assert_ne!(shown[0], shown[1]);
            assert_eq!(shown[0], shown[2]);
        }
        let shown = hints(&about(&[&alpha, &beta]), 40);
        assert_eq!(shown[0], "/home/alpha/deep/de…p/deep/deep//main.rs");
        // Where neither the beginning nor the end tells them apart, all of it does.
        let inside = |name: &str| format!("{0}/{name}/{0}", "deep/".repeat(20));
        let (x, y) = (inside("x"), inside("y"));
        assert_eq!(hints(&about(&[&x, &y]), 40), [x, y]);
    }
}
