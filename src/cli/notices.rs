//! The closing lines of a run: one for each reason why something was not done, or was done less well.
//!
//! Failures are always shown; `-q` hides warnings.

use std::io::{self, Write};

use serde_json::json;

use super::{Context, Fault, Voice};
use crate::outcome::{LINES, NAMED, NAMED_AT_MOST, Notice, NoticeLevel, Notices};
use crate::policy::{self, Effective, Idle, Use};
use crate::text::{count, printable, shown_name, thousands};

impl Context {
    /// Writes the notices to stderr.
    pub(super) fn notices(&self, notices: Notices) {
        for notice in notices.into_list() {
            if notice.weight == NoticeLevel::Failed || self.voice > Voice::Quiet {
                self.notice(&notice);
            }
        }
    }

    /// Prints a line about the run that is not a warning.
    pub(super) fn say(&self, line: &str) {
        if self.is_for_people() {
            let _ = writeln!(io::stderr().lock(), "{}", printable(line));
        }
    }

    /// A warning about the run itself, not about an input.
    pub(super) fn remark(&self, kind: &str, message: &str, hint: Option<&str>) {
        if self.voice > Voice::Quiet {
            self.fault(&Fault {
                kind: json!(kind),
                file: None,
                line: None,
                message: &format!("warning: {message}"),
                hint,
            });
        }
    }

    /// Reports the settings of this run that have no effect under any of its policies.
    pub(super) fn without_effect<'e>(
        &self,
        policies: impl IntoIterator<Item = &'e Effective>,
        used: Use,
    ) {
        for Idle { keys, origin, why } in policy::idle(policies, used) {
            let verb = if keys.len() == 1 { "has" } else { "have" };
            let keys = keys.join(", ");
            let message = format!("{keys} (from {origin}) {verb} no effect here: {why}");
            self.remark("no_effect", &message, None);
        }
    }

    fn notice(&self, notice: &Notice) {
        let named = match self.voice {
            Voice::Quiet | Voice::Normal => NAMED,
            Voice::Loud => NAMED_AT_MOST,
        };
        let is_one = notice.files == 1;
        let line = match notice.lines.as_slice() {
            [line] if is_one => Some(*line),
            _ => None,
        };
        self.fault(&Fault {
            kind: json!(notice.kind),
            file: notice.names.first().filter(|_| is_one).cloned(),
            line,
            message: &sentence(notice, named),
            hint: notice.hint,
        });
    }
}

/// `3 files: warning: not a known transcript format; left as it is (a.jsonl, b.jsonl, c.jsonl)`; for a single file, the name
/// precedes the sentence.
fn sentence(notice: &Notice, most: usize) -> String {
    let weight = match notice.weight {
        NoticeLevel::Failed | NoticeLevel::Note => "",
        NoticeLevel::Warning => "warning: ",
    };
    let message = &notice.message;
    let (all, named) = match (notice.files, notice.lines.as_slice()) {
        (1, [] | [_]) => return format!("{weight}{message}"),
        (1, lines) => {
            let lines: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
            let named = and_more(&lines, notice.places, LINES);
            let lines = match notice.places {
                places if places > LINES as u64 => format!("{} lines:", thousands(places)),
                _ => "lines".to_owned(),
            };
            return format!("{weight}{message} ({lines} {named})");
        }
        (files, _) => {
            let named = notice.names.iter().take(most);
            let named: Vec<String> = named.map(|name| shown_name(name).into_owned()).collect();
            (files, and_more(&named, files, most))
        }
    };
    let files = count(all, notice.inputs.noun());
    format!("{files}: {weight}{message} ({named})")
}

/// `a, b and 3 more`
fn and_more(shown: &[String], all: u64, most: usize) -> String {
    let mut text = shown.join(", ");
    if all > most as u64 {
        text.push_str(&format!(" and {} more", thousands(all - most as u64)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(files: u64, lines: &[u64], weight: NoticeLevel) -> String {
        let mut notices = Notices::default();
        for file in 0..files {
            let name = format!("{file}.jsonl");
            if lines.is_empty() {
                notices.add(weight, "kind", "it broke", None, (&name, None));
            }
            for line in lines {
                notices.add(weight, "kind", "it broke", None, (&name, Some(*line)));
            }
        }
        sentence(&notices.into_list()[0], NAMED)
    }

    #[test]
    fn one_line_says_how_many_and_which() {
        assert_eq!(said(1, &[], NoticeLevel::Failed), "it broke");
        assert_eq!(said(1, &[7], NoticeLevel::Warning), "warning: it broke");
        assert_eq!(
            said(1, &[7, 9], NoticeLevel::Warning),
            "warning: it broke (lines 7, 9)"
        );
        assert_eq!(
            said(1, &[7, 7, 9, 7], NoticeLevel::Warning),
            "warning: it broke (lines 7, 9)"
        );
        assert_eq!(said(1, &[7, 7], NoticeLevel::Failed), "it broke");
        let many: Vec<u64> = (1..=13).collect();
        assert_eq!(
            said(1, &many, NoticeLevel::Failed),
            "it broke (13 lines: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 3 more)"
        );
        assert_eq!(
            said(2, &[3], NoticeLevel::Failed),
            "2 files: it broke (0.jsonl, 1.jsonl)"
        );
        assert_eq!(
            said(1_003, &[], NoticeLevel::Warning),
            "1 003 files: warning: it broke (0.jsonl, 1.jsonl, 2.jsonl and 1 000 more)"
        );
    }
}
