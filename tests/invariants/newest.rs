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
use serde_json::json;

use super::case::compact;
use super::dialect::Script;
use super::tape::Tape;
use super::{config, policies};

/// First lines of files, as found in source code.
const FIRST: [&str; 8] = [
    "fn main() {",
    "from app.errors import AppError",
    "//! What cannot be done is an error.",
    "use crate::error::{Exception, Result};",
    "error_chain! {",
    "errors = ['not found', 'permission denied']",
    "class NotFoundError(Exception):",
    "# Error: an introduction",
];

/// Messages that state why there is no content, for results without a flag.
const WHY_NOT: [&str; 5] = [
    "Error: ENOENT: no such file or directory, open 'a'",
    "cat: a: No such file or directory",
    "",
    "Error: no carrier\nup\ndown\nup\ndown\nup",
    "Failed to read file: too large",
];

/// What happened to a file.
enum Event {
    /// It is read, and has this content.
    Read(String),
    /// Its second and third lines are read.
    Part(String),
    /// A read of it fails, with or without a flag.
    Failed(&'static str, Outcome),
    /// Its mark is replaced by another.
    Edit(String, String),
}

impl Event {
    /// Writes it.
    fn write(&self, path: &str, script: &mut Script) {
        let dialect = script.dialect;
        match self {
            Event::Read(text) => script.call(dialect.read(path, None), text, Outcome::Fine),
            Event::Part(text) => script.call(dialect.read(path, Some((2, 2))), text, Outcome::Fine),
            Event::Failed(said, outcome) => script.call(dialect.read(path, None), said, *outcome),
            Event::Edit(old, new) => {
                let input = json!({"path": path, "old_string": old, "new_string": new});
                let said = "The file has been updated.";
                script.call(("edit_file", input), said, Outcome::Fine)
            }
        };
    }
}

/// Whether something was restored; all of it must be the newest content.
fn check(format: Format, mut tape: Tape) -> Result<bool, TestCaseError> {
    let mut script = Script::new(format);
    // The mark of the last shown state, or none where it is not known.
    let mut shown: BTreeMap<&str, Option<String>> = BTreeMap::new();
    script.user("Look at these files.");
    for n in 0..tape.between(4, 14) {
        let path = tape.pick(&["/w/a.py", "/w/b.rs"]);
        let mark = format!("mark_{n}_of_{}", &path[3..4]);
        let rest = "    the gauge at the sluice is read again\n".repeat(30);
        let old = shown.get(path).cloned().flatten();
        let event = match (tape.below(5), old) {
            (1, _) => {
                // What a part shows is current; nothing is known about the rest.
                shown.insert(path, Some(mark.clone()));
                Event::Part(format!("    {mark}\n    more of it"))
            }
            (2, _) => {
                let outcome = match script.dialect.flags_failures() && tape.one_in(2) {
                    true => Outcome::Failed,
                    false => Outcome::Fine,
                };
                if outcome == Outcome::Fine {
                    shown.insert(path, None);
                }
                Event::Failed(tape.pick(&WHY_NOT), outcome)
            }
            (3, Some(old)) => {
                shown.insert(path, Some(mark.clone()));
                Event::Edit(old, mark)
            }
            _ => {
                shown.insert(path, Some(mark.clone()));
                Event::Read(format!("{}\n    {mark}\n{rest}", tape.pick(&FIRST)))
            }
        };
        event.write(path, &mut script);
    }
    script.user("Go on.");
    let bytes = script.bytes;
    let mut policy = policies::named("auto");
    policy.summary.when = SummaryWhen::Always;
    (
        policy.summary.keep_messages,
        policy.summary.keep_tokens,
        policy.trigger.tokens,
    ) = (0, 0, 0);
    let run = compact(&bytes, &policy, Keeping::Nothing);
    prop_assert!(matches!(
        run.outcome.status,
        Status::Compacted | Status::Unchanged
    ));
    let text = String::from_utf8_lossy(&run.bytes).into_owned();
    let sections = text.split("[File restored: ").skip(1).map(in_string);
    for section in sections.clone() {
        let path = if section.starts_with("/w/a.py") {
            "/w/a.py"
        } else {
            "/w/b.rs"
        };
        let marks = section.match_indices("mark_").map(|(at, _)| {
            section[at..]
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect::<String>()
        });
        let own = format!("_of_{}", &path[3..4]);
        for mark in marks.filter(|mark| mark.ends_with(&own)) {
            prop_assert_eq!(
                Some(&mark),
                shown[path].as_ref(),
                "{}",
                String::from_utf8_lossy(&bytes)
            );
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
        let times = (0..20).filter(|n| some(*n)).count();
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
