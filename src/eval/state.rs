//! Whether a summary is correct about files and commands: the last operation on each file, and how each command ended.
//!
//! Only summaries that can be read back as rows make such statements. A statement is not judged if the kept messages mention the
//! file or command, since they show the newer state, or if it repeats an earlier summary about things that no call has touched
//! since.

use std::collections::{BTreeMap, BTreeSet};

use super::call::{CELL_TOOL, End, Work};
use super::events::{Event, EventKind};
use super::index::Index;
use super::sought::PatternSet;
use crate::summarizer::extractive::{Row, Section, parse};

/// The numbers of statements and of true statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Truth {
    pub(super) statements: usize,
    pub(super) right: usize,
}

impl Truth {
    /// In percent; `None` without statements.
    pub(super) fn share(self) -> Option<f64> {
        (self.statements > 0).then(|| self.right as f64 * 100.0 / self.statements as f64)
    }
}

/// What the calls before a cut did.
#[derive(Debug)]
pub(super) struct State<'i> {
    index: &'i Index,
    /// What was done to each file.
    files: BTreeMap<&'i str, FileWork>,
    /// The commands, in their order.
    commands: Vec<Command<'i>>,
    /// How each command last ended.
    ends: BTreeMap<&'i str, (usize, CommandEnd)>,
    /// The statements of earlier summaries.
    carried: BTreeSet<(Section, String)>,
}

/// What was done to a file by calls that name it.
#[derive(Debug, Clone, Copy, Default)]
struct FileWork {
    /// The last call that did not fail, and its event.
    last: Option<(usize, Work)>,
    /// The last change that did not fail.
    changed: Option<Work>,
    /// The last call that failed.
    failed: Option<Work>,
}

/// Whether it is unknown how the individual commands of a cell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vague {
    Yes,
    No,
}

/// How a command ended.
#[derive(Debug, Clone, Copy)]
struct CommandEnd {
    /// `None` if it has no result.
    end: Option<End>,
    /// Whether its result is that of a cell that does not state how the command ended.
    vague: Vague,
}

#[derive(Debug)]
struct Command<'i> {
    event: usize,
    text: &'i str,
    has_failed: bool,
    vague: Vague,
}

/// The last command that names a text, the last such command that failed, and the last that may have removed it, as indices into
/// [`State::commands`].
#[derive(Debug, Clone, Copy, Default)]
struct Named {
    last: Option<usize>,
    failed: Option<usize>,
    removed: Option<usize>,
}

impl<'i> State<'i> {
    /// The state after the events before `cut`.
    pub(super) fn new(index: &'i Index, cut: usize) -> State<'i> {
        let mut state = State {
            index,
            files: BTreeMap::new(),
            commands: Vec::new(),
            ends: BTreeMap::new(),
            carried: BTreeSet::new(),
        };
        for (number, event) in index.events[..cut].iter().enumerate() {
            let rows = parse(&event.text).rows.into_iter();
            state
                .carried
                .extend(rows.map(|row| (row.section, row.text)));
            let EventKind::Call { tool, call } = &event.what else {
                continue;
            };
            let end = index.end_of(number, cut);
            let has_failed = end.is_some_and(End::is_failure);
            for (path, work) in &call.files {
                let file = state.files.entry(index.folders.spelled(path)).or_default();
                if has_failed {
                    file.failed = Some(*work);
                } else {
                    file.last = Some((number, *work));
                    if *work != Work::Read {
                        file.changed = Some(*work);
                    }
                }
            }
            let vague = match tool == CELL_TOOL && end.is_none_or(|end| end == End::Fine) {
                true => Vague::Yes,
                false => Vague::No,
            };
            for text in call.commands.iter().chain(&call.own_words) {
                let end = CommandEnd { end, vague };
                state.ends.insert(text.trim(), (number, end));
            }
            for text in &call.commands {
                state.commands.push(Command {
                    event: number,
                    text,
                    has_failed,
                    vague,
                });
            }
        }
        state
    }

    /// Counts the true statements of `kept_events` about files and about commands before the cut.
    pub(super) fn truth(&self, kept_events: &[Event]) -> [Truth; 2] {
        let mut rows = Vec::new();
        let (mut files, mut commands) = (BTreeSet::new(), BTreeMap::new());
        for event in kept_events {
            match &event.what {
                EventKind::Call { call, .. } => {
                    let paths = call.files.iter();
                    files.extend(paths.map(|(path, _)| self.spelled(path)));
                    commands.extend(call.commands.iter().map(|c| (c.trim(), (0, ()))));
                }
                EventKind::User | EventKind::Agent | EventKind::Notice => {
                    rows.extend(parse(&event.text).rows)
                }
                EventKind::Result { .. } => {}
            }
        }
        let named = self.commands_that_name(&rows);
        let mut truth = [Truth::default(); 2];
        for row in &rows {
            let (of, verdict) = match row.section {
                Section::Files if !files.contains(self.spelled(&row.text)) => {
                    (0, self.file(row, &named))
                }
                Section::Commands if last_of(row, &commands).is_none() => (1, self.command(row)),
                Section::Files
                | Section::Commands
                | Section::Requests
                | Section::Earlier
                | Section::Errors
                | Section::Plan
                | Section::Findings
                | Section::Details
                | Section::State => continue,
            };
            let is_right = match verdict {
                Verdict::True => true,
                Verdict::False => false,
                Verdict::Unheard if !self.carried.contains(&(row.section, row.text.clone())) => {
                    false
                }
                Verdict::Unheard | Verdict::Unsaid => continue,
            };
            truth[of].statements += 1;
            truth[of].right += usize::from(is_right);
        }
        truth
    }

    fn spelled<'p>(&self, path: &'p str) -> &'p str {
        self.index.folders.spelled(path)
    }

    /// The commands that name the paths or the file names of `rows`, keyed by that name.
    fn commands_that_name<'r>(&self, rows: &'r [Row]) -> BTreeMap<&'r str, Named> {
        let rows = rows.iter().filter(|row| row.section == Section::Files);
        let names = rows.flat_map(|row| {
            let path = self.spelled(&row.text);
            folders(path).chain([path, file_name(path)])
        });
        let names: BTreeSet<&str> = names.collect();
        let sought = PatternSet::new(names.iter().map(|name| (*name).to_owned()));
        let mut named = vec![Named::default(); names.len()];
        for (number, command) in self.commands.iter().enumerate() {
            sought.each_in(command.text.as_bytes(), |name| {
                named[name].last = Some(number);
                if command.has_failed {
                    named[name].failed = Some(number);
                }
                if REMOVES.iter().any(|by| command.text.contains(by)) {
                    named[name].removed = Some(number);
                }
            });
        }
        names.into_iter().zip(named).collect()
    }

    /// Whether a row correctly states what was last done to its file.
    fn file(&self, row: &Row, named: &BTreeMap<&str, Named>) -> Verdict {
        let path = self.spelled(&row.text);
        let [by_path, by_name] =
            [path, file_name(path)].map(|name| named.get(name).copied().unwrap_or_default());
        let FileWork {
            last,
            changed,
            failed,
        } = self.files.get(path).copied().unwrap_or_default();
        // The effect of a shell command on a file is unknown; any command that names the file may have caused it.
        let shell_of = by_name.last.map(|number| &self.commands[number]);
        // A command that names only the end of the path may mean another file.
        let has_shell_failed = by_name.failed.is_some() && by_name.failed >= by_path.last;
        if last.is_none() && failed.is_none() && shell_of.is_none() {
            return Verdict::Unheard;
        }
        let is_after = |command: &&Command<'_>| last.is_none_or(|(last, _)| command.event >= last);
        let shell = shell_of.filter(is_after).map(|command| command.text);
        // Deleting or moving a folder includes its contents.
        let removing = folders(path).chain([path]);
        let removing = removing.filter_map(|name| named.get(name)?.removed).max();
        let is_gone = removing.is_some_and(|number| is_after(&&self.commands[number]));
        let is = |work: Work| match (last, shell) {
            (Some((_, last)), _) if last == work => true,
            _ if work == Work::Delete && is_gone => true,
            (_, None) => false,
            (_, Some(_)) if work == Work::Read => true,
            (_, Some(command)) => WRITES.iter().any(|writes| command.contains(writes)),
        };
        // Ignores these parts, which only say that there is no result, or no clear one.
        let label = row.label.replace(", unanswered", "");
        let label = &label.replace(", outcome unknown", "")[..];
        let what = row.label.split(", ").next().unwrap_or_default();
        let is_unsure = row.label.starts_with(&format!("{what}, outcome unknown"));
        let is_by_git = |what: &str| matches!(what, "reverted" | "stashed" | "unstashed");
        // A command need not name the files that git reverts, or that match a pattern.
        if is_by_git(what) || is_unsure && matches!(what, "deleted" | "moved away") {
            return Verdict::Unsaid;
        }
        // If a label lists several things, its last one counts.
        let label = label.rsplit_once(", then ").map_or(label, |(_, last)| last);
        let (label, before) = match label
            .strip_suffix(" before")
            .and_then(|label| label.split_once(", "))
        {
            Some((last, change)) => (last, Some(change)),
            None => (label, None),
        };
        if before.is_some_and(is_by_git) {
            return Verdict::Unsaid;
        }
        // The cell of the last command that names it does not state how that ended.
        let is_end_unknown = |command: &Command<'_>| command.vague == Vague::Yes;
        let is_known_to_fail = failed.is_some() || has_shell_failed;
        if label.ends_with(" failed") && !is_known_to_fail && shell_of.is_some_and(is_end_unknown) {
            return Verdict::Unsaid;
        }
        // No call shows a change that an earlier summary mentions.
        let was_so =
            before.is_none_or(|change| changed.is_none_or(|work| works_of(change).contains(&work)));
        Verdict::of(
            was_so
                && match label.ends_with(" failed") {
                    true => is_known_to_fail && last.is_none(),
                    false => works_of(label).iter().any(|work| is(*work)),
                },
        )
    }

    /// Whether a row correctly states how its command last ended.
    fn command(&self, row: &Row) -> Verdict {
        // The calls of a command in several folders cannot be distinguished.
        if row.label.ends_with(" not described") || row.label.contains(" in ") {
            return Verdict::Unsaid;
        }
        let Some((_, CommandEnd { end, vague })) = last_of(row, &self.ends) else {
            return Verdict::Unheard;
        };
        if vague == Vague::Yes {
            return Verdict::Unsaid;
        }
        // The name of a running command is not part of its state.
        let label = row.label.split(" as ").next().unwrap_or_default();
        let is_right = match (label, end) {
            ("ran", _) => return Verdict::Unsaid,
            ("unanswered", end) => end.is_none(),
            (_, None) => false,
            ("ok", Some(end)) => !end.is_failure(),
            ("failed", Some(end)) => end.is_failure(),
            ("running" | "was running", Some(End::Code(_))) => false,
            // There are too many ways to say that a command was refused or interrupted, or goes on.
            (
                "refused" | "interrupted" | "running" | "was running" | "begun in the background",
                Some(_),
            ) => return Verdict::Unsaid,
            (label, Some(End::Code(code))) => label == format!("exit {code}"),
            (_, Some(End::Failed | End::Fine)) => false,
        };
        Verdict::of(is_right)
    }
}

/// Parts of commands that may change or delete a file.
const WRITES: [&str; 9] = [
    ">",
    "sed -i",
    "tee ",
    "rm ",
    "mv ",
    "cp ",
    "git ",
    "unlink ",
    "Remove-Item",
];

/// Parts of commands that may delete or move a file.
const REMOVES: [&str; 4] = ["rm ", "mv ", "unlink ", "Remove-Item"];

/// The judgement of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    True,
    False,
    /// No call names its subject.
    Unheard,
    /// It cannot be compared with a call.
    Unsaid,
}

impl Verdict {
    fn of(is_true: bool) -> Verdict {
        match is_true {
            true => Verdict::True,
            false => Verdict::False,
        }
    }
}

/// The operations that a row may mean; none if its words are not known.
fn works_of(label: &str) -> &'static [Work] {
    let mut words = label.split([' ', ',']);
    match (words.next(), words.next()) {
        (Some("read" | "searched"), _) => &[Work::Read],
        (Some("wrote"), _) => &[Work::Write],
        (Some("edited"), _) => &[Work::Edit],
        (Some("deleted"), _) | (Some("moved"), Some("away")) => &[Work::Delete],
        // A patch moves a file and edits it.
        (Some("moved"), Some("here")) => &[Work::Write, Work::Edit],
        (_, _) => &[],
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The folders that contain a path.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(at, _)| &path[..at]);
    ends.filter(|folder| !folder.is_empty())
}

/// The last command that matches a row, with its event index; a row contains only a part of a long command.
fn last_of<T: Copy>(row: &Row, commands: &BTreeMap<&str, (usize, T)>) -> Option<(usize, T)> {
    match row.text.strip_suffix('…') {
        Some(begins) => {
            let begins = begins.trim_end();
            let from = commands.range(begins..);
            let own = from.take_while(|(command, _)| command.starts_with(begins));
            own.map(|(_, last)| *last).max_by_key(|(event, _)| *event)
        }
        None => commands.get(&row.text[..]).copied(),
    }
}

#[cfg(test)]
mod tests;
