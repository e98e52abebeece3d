//! Whether a summary tells the truth about files and commands: what was done to each last, and how it ended last.
//!
//! Only summaries that read back as rows say such things. What is said of a file or a command that stands in the kept
//! messages behind the summary is not judged, for these say it again; nor what an earlier summary has said of things that
//! nobody touched since, for no call tells.

use std::collections::BTreeSet;

use super::call::{End, Work};
use super::events::{Event, What};
use super::index::{Index, holds};
use super::names::spelled;
use super::references::end_of;
use crate::summarizer::extractive::{Row, Section, parse};

/// How many statements there are, and how many of them are true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Truth {
    pub(super) said: usize,
    pub(super) right: usize,
}

impl Truth {
    /// In percent; `None` where nothing is said.
    pub(super) fn share(self) -> Option<f64> {
        (self.said > 0).then(|| self.right as f64 * 100.0 / self.said as f64)
    }
}

/// The truth about files, and that about commands, of what `left` says about the events before `cut`.
pub(super) fn truth(index: &Index, cut: usize, left: &[Event]) -> [Truth; 2] {
    let mut rows = Vec::new();
    let (mut files, mut commands) = (BTreeSet::new(), BTreeSet::new());
    for event in left {
        match &event.what {
            What::Call { call, .. } => {
                let paths = call.files.iter();
                files.extend(paths.map(|(path, _)| spelled(path, &index.folders)));
                commands.extend(call.command.as_deref().map(str::trim));
            }
            What::User | What::Agent | What::Told => rows.extend(parse(&event.text).rows),
            What::Result { .. } => {}
        }
    }
    let before = &index.events[..cut];
    let carried = before.iter().flat_map(|event| parse(&event.text).rows);
    let carried: BTreeSet<(Section, String)> = carried.map(|row| (row.section, row.text)).collect();
    let mut truth = [Truth::default(); 2];
    for row in &rows {
        let (of, is_right) = match row.section {
            Section::Files if !files.contains(spelled(&row.text, &index.folders)) => {
                (0, file(index, before, row))
            }
            Section::Commands if !commands.iter().any(|c| is_of(row, c)) => {
                (1, command(before, row))
            }
            _ => continue,
        };
        let is_right = match is_right {
            Verdict::True => true,
            Verdict::False => false,
            Verdict::Unheard if !carried.contains(&(row.section, row.text.clone())) => false,
            Verdict::Unheard | Verdict::Unsaid => continue,
        };
        truth[of].said += 1;
        truth[of].right += usize::from(is_right);
    }
    truth
}

/// What comes of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    True,
    False,
    /// No call names what it is about.
    Unheard,
    /// It says nothing that can be held against a call.
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

/// Whether a row says what was done to its file last.
fn file(index: &Index, events: &[Event], row: &Row) -> Verdict {
    let path = spelled(&row.text, &index.folders);
    let mut last: Option<(usize, Work)> = None;
    let mut changed: Option<Work> = None;
    let mut failed: Option<Work> = None;
    // What a shell does to a file is not known; a command that names it may have done what is said.
    let mut shell: Option<(usize, &str)> = None;
    let mut has_shell_failed = false;
    for (number, event) in events.iter().enumerate() {
        let What::Call { call, .. } = &event.what else {
            continue;
        };
        for (written, work) in &call.files {
            if spelled(written, &index.folders) == path {
                if end_of(events, number).is_some_and(End::is_failure) {
                    failed = Some(*work);
                } else {
                    last = Some((number, *work));
                    changed = Some(*work).filter(|work| *work != Work::Read).or(changed);
                }
            }
        }
        if let Some(command) = call.command.as_deref()
            && (holds(command, path) || holds(command, file_name(path)))
        {
            shell = Some((number, command));
            let has_failed = end_of(events, number).is_some_and(End::is_failure);
            // One that names no more than the end of the path may look for it anywhere.
            has_shell_failed = has_failed || has_shell_failed && !holds(command, path);
        }
    }
    if last.is_none() && failed.is_none() && shell.is_none() {
        return Verdict::Unheard;
    }
    let behind = |(number, _): &(usize, &str)| last.is_none_or(|(last, _)| *number >= last);
    let shell = shell.filter(behind).map(|(_, command)| command);
    let is = |work: Work| match (last, shell) {
        (Some((_, last)), _) if last == work => true,
        (_, None) => false,
        (_, Some(_)) if work == Work::Read => true,
        (_, Some(command)) => [">", "sed -i", "tee ", "rm ", "mv ", "cp ", "git "]
            .iter()
            .any(|writes| command.contains(writes)),
    };
    let said = row.label.trim_end_matches(", unanswered");
    // Of several things the last one is what is said to be last.
    let said = said.rsplit_once(", then ").map_or(said, |(_, last)| last);
    let (said, before) = match said
        .strip_suffix(" before")
        .and_then(|said| said.split_once(", "))
    {
        Some((last, change)) => (last, Some(change)),
        None => (said, None),
    };
    // What an earlier summary says of a change stands in no call.
    let was_so =
        before.is_none_or(|change| changed.is_none_or(|work| work_of(change) == Some(work)));
    Verdict::of(
        was_so
            && match work_of(said) {
                _ if said.ends_with(" failed") => {
                    (failed.is_some() || has_shell_failed) && last.is_none()
                }
                Some(work) => is(work),
                None => false,
            },
    )
}

/// What a row says was done, by its first word.
fn work_of(said: &str) -> Option<Work> {
    match said.split(' ').next()? {
        "read" | "searched" => Some(Work::Read),
        "wrote" => Some(Work::Write),
        "edited" => Some(Work::Edit),
        "deleted" => Some(Work::Delete),
        _ => None,
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a row is about this command; a long one is told in part.
fn is_of(row: &Row, command: &str) -> bool {
    match row.text.strip_suffix('…') {
        Some(begins) => command.starts_with(begins.trim_end()),
        None => row.text == command,
    }
}

/// Whether a row says how its command ended last.
fn command(events: &[Event], row: &Row) -> Verdict {
    let last = events.iter().rposition(|event| match &event.what {
        What::Call { call, .. } => call
            .command
            .as_deref()
            .is_some_and(|c| is_of(row, c.trim())),
        What::User | What::Agent | What::Told | What::Result { .. } => false,
    });
    let Some(last) = last else {
        return Verdict::Unheard;
    };
    let end = end_of(events, last);
    let is_right = match (&row.label[..], end) {
        ("ran", _) => return Verdict::Unsaid,
        (_, None) => false,
        ("ok", Some(end)) => !end.is_failure(),
        ("failed", Some(end)) => end.is_failure(),
        // How a person stops a command, and how one goes on, is said in too many ways.
        ("interrupted" | "running", Some(_)) => return Verdict::Unsaid,
        (label, Some(End::Code(code))) => label == format!("exit {code}"),
        (_, Some(End::Failed | End::Fine)) => false,
    };
    Verdict::of(is_right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::events::{Queued, events};
    use crate::format::{Format, Warnings};

    fn read(lines: &[String]) -> Vec<Event> {
        let text = lines.join("\n");
        let transcript = Format::Anthropic.read(text.as_bytes(), 1, &mut Warnings::default());
        events(&transcript, &transcript.conversations[0], Queued::Told)
    }

    /// A call and its result.
    fn step(id: usize, tool: &str, input: &str, result: &str) -> [String; 2] {
        [
            format!(
                r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"{tool}","input":{input}}}]}}"#
            ),
            format!(
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"{result}"}}]}}"#
            ),
        ]
    }

    #[test]
    fn only_the_last_operation_and_the_last_status_are_true() {
        let steps = [
            step(1, "Edit", r#"{"file_path":"a.rs"}"#, "ok"),
            step(2, "Read", r#"{"file_path":"b.rs"}"#, "ok"),
            step(3, "Read", r#"{"file_path":"a.rs"}"#, "ok"),
            step(4, "Bash", r#"{"command":"make"}"#, "Exit code 2"),
            step(5, "Bash", r#"{"command":"make"}"#, "Exit code 0"),
            step(6, "Bash", r#"{"command":"ls"}"#, "Exit code 1"),
        ];
        let index = Index::new(read(&steps.concat()), Vec::new());
        let summary = |rows: &str| {
            let line = serde_json::json!({"role": "user", "content": rows});
            truth(&index, index.events.len(), &read(&[line.to_string()]))
        };
        let truth = |said, right| Truth { said, right };
        assert_eq!(
            summary("## Files\n[L1,2] edited: a.rs\n[L3,4] read: b.rs\n[L1] read: c.rs\n"),
            [truth(3, 1), truth(0, 0)]
        );
        assert_eq!(
            summary(
                "## Files\n[L5,6] read: a.rs\n\n## Commands\n[L9] exit 0: make\n[L9] exit 2: make\n[L9] ran: ls\n"
            ),
            [truth(1, 1), truth(2, 1)]
        );
        assert_eq!(
            summary("## Files\n[L5] read, edited before: a.rs\n[L3] read, wrote before: b.rs\n"),
            [truth(2, 2), truth(0, 0)]
        );
        assert_eq!(
            summary("## Files\n[L5] read, wrote before: a.rs\n"),
            [truth(1, 0), truth(0, 0)]
        );
        assert_eq!(summary("Files: a.rs was edited"), [truth(0, 0); 2]);
        // Of files that only commands name, whether the last of these failed.
        let steps = [
            step(1, "Bash", r#"{"command":"cat a.rs b.rs"}"#, "Exit code 1"),
            step(2, "Bash", r#"{"command":"cat b.rs"}"#, "Exit code 0"),
        ];
        let index = Index::new(read(&steps.concat()), Vec::new());
        let line = serde_json::json!({"role": "user", "content": "## Files\n[L1] read failed: a.rs\n[L1] read failed: b.rs\n"});
        assert_eq!(
            super::truth(&index, index.events.len(), &read(&[line.to_string()])),
            [truth(2, 1), truth(0, 0)]
        );
    }

    #[test]
    fn what_an_earlier_summary_says_is_not_judged_again() {
        let earlier = "## Files\n[L1] edited: x.rs\n[L2] read: a.rs\n";
        let line = |text: &str| serde_json::json!({"role": "user", "content": text}).to_string();
        let mut lines = vec![line(earlier)];
        lines.extend(step(1, "Edit", r#"{"file_path":"a.rs"}"#, "ok"));
        let index = Index::new(read(&lines), Vec::new());
        let left = read(&[line(&format!("{earlier}[L3] read: y.rs\n"))]);
        // x.rs was not touched; a.rs was edited since; of y.rs nobody knows.
        let expected = [Truth { said: 2, right: 0 }, Truth::default()];
        assert_eq!(truth(&index, index.events.len(), &left), expected);
    }
}
