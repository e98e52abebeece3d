//! Commands as units: each once, with its last status, and with the folder that it ran in if that matters.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::clip::{CUT, clip};
use super::form::{Row, Section};
use super::gather::Gather;
use super::label::{IN, ended};
use super::units::Claim;
use crate::facts::{
    CommandStatus, Exchange, commands, commands_of_user, names_its_folder, spelled,
};

/// The maximum length of a quoted command, in bytes.
pub(super) const LONGEST_COMMAND: usize = 240;

/// The number of characters of a command that are always quoted.
const HEAD: usize = 56;

/// The value of a command besides its names.
pub(super) const RAN: f64 = 2.0;

/// Each command once, with its last result; those that the user ran, too. In another folder it is another command.
pub(super) fn add_commands(gather: &mut Gather<'_, '_>, own: &[Exchange], later: &[Exchange]) {
    let mut last: BTreeMap<(String, Option<&str>), usize> = BTreeMap::new();
    let mut commands = commands(gather.transcript, own);
    let users = commands_of_user(gather.transcript, gather.conversation).into_iter();
    commands.extend(users.filter(|ran| gather.span.contains(&(ran.call.message as usize))));
    for (n, command) in commands.iter().enumerate() {
        let text = clip(command.text.trim(), LONGEST_COMMAND).into_owned();
        last.insert((text, command.folder.as_deref()), n);
    }
    let mut folders: BTreeMap<String, u32> = BTreeMap::new();
    for (text, _) in last.keys() {
        *folders.entry(text.clone()).or_default() += 1;
    }
    let after = commands_of(gather, later);
    let all: BTreeSet<String> = folders.keys().cloned().chain(after).collect();
    for ((text, folder), n) in last {
        let command = &commands[n];
        let ending = ended(command);
        let mut label = ending.clone();
        let is_elsewhere = folder.is_some() && folder != gather.found.folder.as_deref();
        let has_failed = match command.exit {
            CommandStatus::Code(code) => code != 0,
            CommandStatus::Failed => true,
            CommandStatus::Succeeded
            | CommandStatus::Interrupted
            | CommandStatus::Begun
            | CommandStatus::Running
            | CommandStatus::WasRunning
            | CommandStatus::Refused
            | CommandStatus::Unanswered
            | CommandStatus::Unknown => false,
        };
        // A failure elsewhere is not fixed by a success here.
        if let Some(folder) = folder
            && (folders.get(&text).is_some_and(|folders| *folders > 1)
                || is_elsewhere && has_failed)
        {
            label = label_in(gather, &label, folder);
        }
        let mark = gather.mark_of(command.call, command.result, &ending);
        gather.ran.push((text.clone(), folder.map(str::to_owned)));
        let row = Row {
            section: Section::Commands,
            mark,
            label,
            text,
        };
        let head = head(&row.text, &all);
        if let Some(unit) = gather.add(row, command.call.message, Claim::Free, RAN) {
            unit.head = head;
        }
    }
}

/// The label of a command with the folder that it ran in.
fn label_in(gather: &Gather<'_, '_>, label: &str, folder: &str) -> String {
    let base = gather.found.folder.as_deref();
    let rest = base.and_then(|base| folder.strip_prefix(base)?.strip_prefix('/'));
    let rest = rest.filter(|rest| !rest.is_empty()).map(Cow::Borrowed);
    let shown = rest.unwrap_or_else(|| gather.found.separator.shown(folder));
    // It could not be parsed as a label.
    match shown.contains('\n') || shown.contains(": ") {
        true => label.to_owned(),
        false => format!("{label}{IN}{shown}"),
    }
}

/// Whether a command of an earlier summary was run again since; that summary's paths are relative to `folder`.
///
/// The row of a failed command names its folder, or the command ran in `folder`. Rows of other commands may omit the folder, so any
/// folder counts.
pub(super) fn is_run_again(gather: &Gather<'_, '_>, row: &Row, folder: Option<&str>) -> bool {
    let named = folder_named(row, folder);
    let is_there = |ran_in: Option<&str>| match &named {
        _ if names_its_folder(&row.text) => true,
        Some(named) => ran_in == Some(named),
        None if has_failed(row) => ran_in.is_none() || ran_in == folder,
        None => true,
    };
    let begins = row.text.strip_suffix(CUT).map(str::trim_end);
    let is_it =
        |text: &str| text == row.text || begins.is_some_and(|begins| text.starts_with(begins));
    let mut ran = gather.ran.iter();
    ran.any(|(text, ran_in)| is_there(ran_in.as_deref()) && is_it(text))
}

/// Adds the folder to a command of an earlier summary if paths are now relative to another folder, or the same command ran in
/// another one since.
pub(super) fn name_folder(gather: &Gather<'_, '_>, row: &mut Row, folder: Option<&str>) {
    if names_its_folder(&row.text) {
        return;
    }
    let is_twice = || {
        let mut ran = gather.ran.iter();
        ran.any(|(text, ran_in)| ran_in.is_some() && *text == row.text)
    };
    let is_elsewhere = || gather.found.folder.as_deref() != folder;
    row.label = match (folder_named(row, folder), folder) {
        (Some(named), _) => {
            let label = row.label.split(IN).next().unwrap_or_default();
            label_in(gather, label, &named)
        }
        (None, Some(folder)) if has_failed(row) && (is_twice() || is_elsewhere()) => {
            label_in(gather, &row.label, folder)
        }
        (None, _) => return,
    };
}

/// The folder named by a command's label, given that paths are relative to `folder`.
fn folder_named(row: &Row, folder: Option<&str>) -> Option<String> {
    let (_, named) = row.label.split_once(IN)?;
    Some(spelled(named, folder))
}

/// Whether a command's label says that it failed.
fn has_failed(row: &Row) -> bool {
    row.label.starts_with("exit ") || row.label.starts_with("failed")
}

/// The commands of exchanges, in quoted form.
fn commands_of(gather: &Gather<'_, '_>, exchanges: &[Exchange]) -> Vec<String> {
    let commands = commands(gather.transcript, exchanges);
    let quoted = commands
        .iter()
        .map(|command| clip(command.text.trim(), LONGEST_COMMAND));
    quoted.map(Cow::into_owned).collect()
}

/// The number of bytes that identify a command: some words, and enough to distinguish it from all others.
fn head(text: &str, all: &BTreeSet<String>) -> usize {
    let same = |other: &String| {
        let pairs = text.chars().zip(other.chars());
        let same = pairs.take_while(|(a, b)| a == b);
        same.map(|(c, _)| c.len_utf8()).sum::<usize>()
    };
    let before = all.range::<str, _>((Bound::Unbounded, Bound::Excluded(text)));
    let after = all.range::<str, _>((Bound::Excluded(text), Bound::Unbounded));
    let shared = [before.last().map(same), after.take(1).map(same).last()];
    let shared = shared.into_iter().flatten().max().unwrap_or(0);
    let words = text
        .char_indices()
        .nth(HEAD)
        .map_or(text.len(), |(at, _)| at);
    let at = text[shared..]
        .chars()
        .next()
        .map_or(shared, |c| shared + c.len_utf8());
    at.max(words)
}
