//! Carries over an earlier summary: its rows if it has our form, otherwise its lines.
//!
//! The source of these rows is now the line of that summary, since their old line numbers belong to another file. Text after the
//! summary in the same message is the user's.

use super::clip::clip;
use super::form::{self, Mark, Row, Section};
use super::gather::{Gather, LONGEST};
use super::names::{Speaker, hash};
use super::units::Claim;
use super::{command_ends, command_units, fact_units, file_units, requests, state, todo_units};
use crate::facts::{block_text, folder, is_relative, is_restored_header, spelled};
use crate::summarizer::cite::without_citations;
use crate::transcript::{BlockKind, Message, Role};

/// Adds the summary in `message`.
pub(super) fn gather(gather: &mut Gather<'_, '_>, number: u32, message: &Message) {
    let (transcript, conversation) = (gather.transcript, gather.conversation);
    let line = conversation.first_line(message);
    let mark = gather.mark(line);
    let folder = folder(transcript, line).map(|folder| spelled(&folder, None));
    for block in conversation.blocks(message) {
        let block = transcript.block(*block);
        if block.kind != BlockKind::Text {
            continue;
        }
        let text = block_text(transcript, block);
        let form::Parsed {
            before,
            rows,
            after,
        } = form::parse(gather.earlier.summary_in(&text));
        prose(gather, before, number, mark);
        // We write nothing there but restored entries, so this is text of someone who quotes a summary.
        let after = after.trim();
        if message.role == Role::User && !after.is_empty() && !is_restored_header(after) {
            requests::carry(gather, after, number, mark);
        }
        for row in rows {
            carry(gather, Row { mark, ..row }, number, folder.as_deref());
        }
    }
}

/// Adds a summary by an agent or a model, line by line. The lines that it cites belong to another file.
fn prose(gather: &mut Gather<'_, '_>, text: &str, message: u32, mark: Mark) {
    for line in without_citations(text)
        .split('\n')
        .take_while(|line| !is_restored_header(line))
    {
        let names = &mut gather.found.names;
        names.count(line, message, Speaker::Agent, |_, _, _| false);
        let row = Row {
            section: Section::Earlier,
            mark,
            label: String::new(),
            text: clip(line, 2 * LONGEST).into_owned(),
        };
        gather.add(row, message, Claim::Earlier, 0.5);
    }
}

/// Adds a row of our form, from a summary with paths relative to `folder`, unless something newer is known.
fn carry(gather: &mut Gather<'_, '_>, mut row: Row, message: u32, folder: Option<&str>) {
    if row.section == Section::Requests {
        requests::carry(gather, &row.text, message, row.mark);
        return;
    }
    if row.section == Section::Plan {
        match todo_units::carried(gather, row) {
            Some(now) => row = now,
            None => return,
        }
    }
    let names = &mut gather.found.names;
    names.count(&row.text, message, Speaker::Agent, |_, _, _| false);
    if row.section == Section::Files {
        let path = spelled(&row.text, folder);
        file_units::removed_since(gather, &path, &mut row);
        if let Some(unit) = gather.files.get(&hash(&path)) {
            return file_units::changed_before(&mut gather.found.units[*unit], &row);
        }
        if is_relative(&row.text) && gather.found.folder.as_deref() != folder {
            row.text = path;
        }
    }
    if fact_units::key(&row).is_some_and(|key| gather.known.contains(&key)) {
        return;
    }
    if row.section == Section::Commands && !fact_units::is_missed(&row) {
        if command_units::is_run_again(gather, &row, folder) {
            return;
        }
        command_ends::settle(gather, &mut row);
        command_units::name_folder(gather, &mut row, folder);
    }
    let (section, claim, base) = match row.section {
        Section::Requests => return,
        Section::Files if file_units::is_change(&row.label) => {
            (Section::Files, Claim::Changed, file_units::CHANGED)
        }
        Section::Files => (Section::Files, Claim::Free, file_units::SEEN),
        Section::Commands => (Section::Commands, Claim::Free, command_units::RAN),
        // A closed to-do has no claim besides the open ones.
        Section::Plan if todo_units::is_closed(&row) => {
            (Section::Plan, Claim::Free, todo_units::PLANNED / 2.0)
        }
        Section::Plan => (Section::Plan, Claim::Plan, todo_units::PLANNED),
        // However old, the error is not known to be fixed.
        Section::Errors => (Section::Errors, Claim::Free, fact_units::FAILED),
        Section::Earlier => (Section::Earlier, Claim::Earlier, 0.5),
        Section::Findings => (Section::Findings, Claim::Free, 0.5),
        Section::Details => (Section::Details, Claim::Free, 0.0),
        // The last state in the earlier summary is out of date.
        Section::State if row.label == state::SAID => (Section::Findings, Claim::Free, 0.5),
        Section::State => (Section::Details, Claim::Free, 0.0),
    };
    match section {
        Section::Earlier | Section::Errors | Section::Findings | Section::Details => {
            for line in row.text.split('\n') {
                let row = Row {
                    section,
                    mark: row.mark,
                    label: String::new(),
                    text: line.to_owned(),
                };
                gather.add(row, message, claim, base);
            }
        }
        Section::Requests | Section::Plan | Section::Files | Section::Commands | Section::State => {
            gather.add(row, message, claim, base);
        }
    }
}
