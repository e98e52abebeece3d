//! Only the last shown content of a file is restored, whatever the text of files and however reads fail.
//!
//! Each state of a file contains its own mark, which shows from which state a text is.

use std::collections::BTreeMap;

use ctxpack::format::Format;
use ctxpack::outcome::Status;
use ctxpack::plan::Keeping;
use ctxpack::policy::SummaryWhen;
use ctxpack::transcript::Outcome;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::case::compact;
use super::dialect::Script;
use super::tape::Tape;
use super::{config, policies};

/// First lines of files, as found in source code and in logs. The last ones may be messages in a result without a flag.
const FIRST: [&str; 11] = [
    "fn main() {",
    "from app.errors import AppError",
    "//! What cannot be done is an error.",
    "use crate::error::{Exception, Result};",
    "error_chain! {",
    "errors = ['not found', 'permission denied']",
    "class NotFoundError(Exception):",
    "# Error: an introduction",
    "error: could not compile",
    "Traceback (most recent call last):",
    "1. a list",
];

/// Messages that state why there is no content, for results without a flag.
const WHY_NOT: [&str; 6] = [
    "Error: ENOENT: no such file or directory, open 'a'",
    "cat: a: No such file or directory",
    "",
    "Error: no carrier\nup\ndown\nup\ndown\nup",
    "Failed to read file: too large",
    "{\"error\":\"EACCES\"}",
];

/// Messages of a change that may have failed.
const MAY_HAVE_FAILED: [&str; 3] = ["Error: no match", "failed", "could not write"];

/// How a call is answered.
#[derive(Clone, Copy)]
enum Answer<'t> {
    /// By a result.
    Result(&'t str, Outcome),
    /// Not at all.
    Nothing,
}

const DONE: Answer<'_> = Answer::Result("The file has been updated.", Outcome::Fine);

/// What is known of a file.
#[derive(Clone)]
enum State {
    /// The mark of what was shown last.
    Shown(String),
    /// Nothing is, or no longer.
    Unknown,
}

/// A script and what it has shown.
struct Scene {
    script: Script,
    states: BTreeMap<&'static str, State>,
}

const PATHS: [&str; 3] = ["/w/a.py", "/w/b.rs", "/w/c.md"];

impl Scene {
    fn call(&mut self, call: (&str, Value), answer: Answer<'_>) {
        match answer {
            Answer::Result(said, outcome) => drop(self.script.call(call, said, outcome)),
            Answer::Nothing => drop(self.script.unanswered(call)),
        }
    }

    /// A read, whole or of two lines, with or without numbers and a hint.
    fn read(&mut self, path: &'static str, mark: &str, tape: &mut Tape) {
        let rest = "    the gauge at the sluice is read again\n".repeat(30);
        let (part, text) = match tape.one_in(3) {
            true => (Some((2, 2)), format!("    {mark}\n    more of it")),
            false => {
                let first = tape.pick(&FIRST);
                (None, format!("{first}\n    {mark}\n{rest}"))
            }
        };
        let from = part.map_or(1, |(from, _)| from);
        let text = match (tape.below(4), part) {
            (1, _) => {
                let lines = (from..).zip(text.split('\n'));
                let lines = lines.map(|(number, line)| format!("{number:6}\t{line}"));
                lines.collect::<Vec<_>>().join("\n")
            }
            (2, Some(_)) => {
                format!("{text}\n\n[7 more lines in file. Use offset=4 to continue]")
            }
            (3, Some(_)) => format!(
                "\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines 2-3 of 9 total lines.\nAction: Read on.\n\n--- FILE CONTENT (truncated) ---\n{text}"
            ),
            _ => text,
        };
        let call = self.script.dialect.read(path, part);
        self.call(call, Answer::Result(&text, Outcome::Fine));
        self.states.insert(path, State::Shown(mark.to_owned()));
    }

    /// An edit that replaces one mark by another.
    fn edit(&mut self, path: &'static str, old: &str, new: &str, answer: Answer<'_>) {
        let input = json!({"path": path, "old_string": old, "new_string": new});
        self.call(("edit_file", input), answer);
    }

    /// Something happens to a file.
    fn event(&mut self, number: usize, tape: &mut Tape) {
        let path = tape.pick(&PATHS);
        let mark = format!("mark_{number}_of_{}", &path[3..4]);
        let flags = self.script.dialect.flags_failures();
        let old = match self.states.get(path) {
            Some(State::Shown(old)) => Some(old.clone()),
            Some(State::Unknown) | None => None,
        };
        let unclear = match tape.one_in(3) {
            true => Answer::Nothing,
            false => Answer::Result(tape.pick(&MAY_HAVE_FAILED), Outcome::Fine),
        };
        match (tape.below(11), old) {
            // A read fails by a flag: what was shown last is what it was.
            (1, _) if flags => {
                let call = self.script.dialect.read(path, None);
                self.call(call, Answer::Result("EACCES: denied", Outcome::Failed));
            }
            // It has no flag, or no result.
            (1 | 2, _) => {
                let call = self.script.dialect.read(path, None);
                let answer = match tape.one_in(3) {
                    true => Answer::Nothing,
                    false => Answer::Result(tape.pick(&WHY_NOT), Outcome::Fine),
                };
                self.call(call, answer);
                self.states.insert(path, State::Unknown);
            }
            (3, Some(old)) => {
                self.edit(path, &old, &mark, DONE);
                self.states.insert(path, State::Shown(mark));
            }
            (4, Some(old)) => {
                self.edit(path, &old, &mark, unclear);
                self.states.insert(path, State::Unknown);
            }
            (5, Some(old)) if flags => {
                let answer = Answer::Result("Error: no match", Outcome::Failed);
                self.edit(path, &old, &mark, answer);
            }
            (6, _) => {
                let input = json!({"path": path, "content": format!("{mark}\n")});
                self.call(("write_file", input), unclear);
                self.states.insert(path, State::Unknown);
            }
            (7, _) => {
                let answer = match tape.one_in(2) {
                    true => unclear,
                    false => DONE,
                };
                self.call(("delete_file", json!({"path": path})), answer);
                self.states.insert(path, State::Unknown);
            }
            (8, _) => {
                let to = tape.pick(&PATHS);
                let input = json!({"source": path, "destination": to});
                self.call(("move_file", input), DONE);
                self.states.insert(path, State::Unknown);
                self.states.insert(to, State::Unknown);
            }
            (9, _) => {
                let command = tape.pick(&["rm", "cd /w && rm -f", "git rm -q"]);
                let call = self.script.dialect.shell(&format!("{command} {path}"));
                let said = tape.pick(&["", "removed"]);
                self.call(call, Answer::Result(said, Outcome::Fine));
                self.states.insert(path, State::Unknown);
            }
            _ => self.read(path, &mark, tape),
        }
    }
}

/// Whether something was restored; all of it must be the newest content.
fn check(format: Format, mut tape: Tape) -> Result<bool, TestCaseError> {
    let mut scene = Scene {
        script: Script::new(format),
        states: BTreeMap::new(),
    };
    scene.script.user("Look at these files.");
    for number in 0..tape.between(4, 14) {
        scene.event(number, &mut tape);
    }
    scene.script.user("Go on.");
    let bytes = &scene.script.bytes;
    let mut policy = policies::named("auto");
    policy.summary.when = SummaryWhen::Always;
    (
        policy.summary.keep_messages,
        policy.summary.keep_tokens,
        policy.trigger.tokens,
    ) = (0, 0, 0);
    let run = compact(bytes, &policy, Keeping::Nothing);
    prop_assert!(matches!(
        run.outcome.status,
        Status::Compacted | Status::Unchanged
    ));
    let text = String::from_utf8_lossy(&run.bytes).into_owned();
    let sections = text.split("[File restored: ").skip(1).map(in_string);
    for section in sections.clone() {
        let Some(path) = PATHS.iter().find(|path| section.starts_with(**path)) else {
            return Err(TestCaseError::fail(format!("restored: {section}")));
        };
        let marks = section.match_indices("mark_").map(|(at, _)| {
            section[at..]
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect::<String>()
        });
        let own = format!("_of_{}", &path[3..4]);
        let shown = match &scene.states[path] {
            State::Shown(mark) => Some(mark),
            State::Unknown => None,
        };
        for mark in marks.filter(|mark| mark.ends_with(&own)) {
            prop_assert_eq!(Some(&mark), shown, "{}", String::from_utf8_lossy(bytes));
        }
        // What a tool writes around a part is not in it.
        for hint in ["Use offset=", "FILE CONTENT"] {
            prop_assert!(!section.contains(hint), "{}", section);
        }
    }
    Ok(sections.count() > 0)
}

/// The rest of the string that a text begins in.
fn in_string(text: &str) -> &str {
    let mut escaped = false;
    let end = text.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map_or(text, |end| &text[..end])
}

/// In every format something is restored: otherwise the property would prove little.
#[test]
fn files_come_back() {
    let mut runner = TestRunner::deterministic();
    for format in crate::invariants::formats::of_lines() {
        let tapes = Tape::of_up_to(120);
        let mut some = |_| {
            let tape = tapes.new_tree(&mut runner).unwrap().current();
            check(format, tape).unwrap()
        };
        let times = (0..40).filter(|n| some(*n)).count();
        assert!(times > 5, "{format:?}: {times}");
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_comes_back_is_the_newest_that_was_shown(
        format in prop::sample::select(crate::invariants::formats::of_lines()),
        tape in Tape::of_up_to(120),
    ) {
        check(format, tape)?;
    }
}
