//! Sessions that are one document, under every policy: the promises that other formats keep line by line.
//!
//! The document is read here by `serde_json`, which shares no code with the program.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use ctxpack::format::{Detected, Detector, Format, Layout, Warnings};
use ctxpack::outcome::{ActionKind, Status};
use ctxpack::plan::Keeping;
use ctxpack::policy::{History, Policy};
use ctxpack::verify::Severity;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::Value;
use serde_json::value::RawValue;

use super::case::{Case, Kind, compact};
use super::known::Known;
use super::tape::Tape;
use super::{config_of, policies};

mod cline;
mod gemini;
mod opencode;

/// What is around the messages, by its keys.
type Around = BTreeMap<&'static str, Value>;

/// A document, and what a compaction may change in its messages.
struct Written {
    around: Around,
    messages: Vec<String>,
}

/// What the properties know about a format of documents.
struct Document {
    format: Format,
    session: fn(&mut Tape) -> Written,
    id: fn(&Value) -> &Value,
    blank: fn(&mut Value),
    /// The lists of a message from which a prune may take something.
    lists: &'static [&'static str],
    /// How many messages a summary is.
    of_a_summary: usize,
}

/// All of them.
const DOCUMENTS: [Document; 3] = [
    Document {
        format: Format::OpenCode,
        session: opencode::session,
        id: opencode::id,
        blank: opencode::blank,
        lists: &["parts"],
        of_a_summary: 2,
    },
    Document {
        format: Format::Gemini,
        session: gemini::session,
        id: gemini::id,
        blank: gemini::blank,
        lists: &["content", "toolCalls"],
        of_a_summary: 1,
    },
    Document {
        format: Format::Cline,
        session: cline::session,
        id: cline::id,
        blank: cline::blank,
        lists: &["content"],
        of_a_summary: 1,
    },
];

fn of(format: Format) -> &'static Document {
    DOCUMENTS
        .iter()
        .find(|document| document.format == format)
        .unwrap()
}

/// The session as a file: in one line, on many lines, or with a message on each line; what is around them before or behind.
fn bytes(tape: &mut Tape, written: &Written) -> Vec<u8> {
    let (gap, pretty) = match tape.below(4) {
        0 => ("", false),
        1 => ("\n", false),
        2 => (" \r\n ", false),
        _ => ("\n", true),
    };
    let one = |message: &String| match pretty {
        true => {
            serde_json::to_string_pretty(&serde_json::from_str::<Value>(message).unwrap()).unwrap()
        }
        false => message.clone(),
    };
    let messages: Vec<String> = written.messages.iter().map(one).collect();
    let list = messages.join(&format!(",{gap}"));
    let mut members: Vec<String> = written
        .around
        .iter()
        .map(|(key, value)| format!("\"{key}\":{value}"))
        .collect();
    if tape.one_in(3) {
        members.push("\"x\":{\"messages\":[1]}".to_owned());
    }
    let at = tape.below(members.len() + 1);
    members.insert(at, format!("\"messages\":[{gap}{list}{gap}]"));
    let text = format!("{{{gap}{}{gap}}}", members.join(&format!(",{gap}")));
    let mark: &[u8] = if tape.one_in(12) {
        b"\xef\xbb\xbf"
    } else {
        b""
    };
    let end: &[u8] = if tape.one_in(2) { b"\n" } else { b"" };
    [mark, text.as_bytes(), end].concat()
}

fn cases(format: Format, any_policy: fn(&mut Tape) -> Policy) -> impl Strategy<Value = Case> {
    (Tape::of_up_to(900), Tape::of_up_to(200)).prop_map(move |(mut tape, mut policy)| {
        let written = (of(format).session)(&mut tape);
        Case {
            format,
            layout: Layout::File,
            bytes: bytes(&mut tape, &written),
            known: Known::default(),
            keeping: if policy.one_in(8) {
                Keeping::Nothing
            } else {
                Keeping::Store
            },
            policy: any_policy(&mut policy),
            replies: policies::replies(&mut policy),
            first: OnceCell::new(),
        }
    })
}

/// What is around the messages, as it is written, and the messages.
fn read(bytes: &[u8]) -> (BTreeMap<String, &str>, Vec<&str>) {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut members: BTreeMap<String, &RawValue> = serde_json::from_slice(bytes).unwrap();
    let messages: Vec<&RawValue> =
        serde_json::from_str(members.remove("messages").unwrap().get()).unwrap();
    let around = members.into_iter().map(|(key, value)| (key, value.get()));
    (
        around.collect(),
        messages.into_iter().map(RawValue::get).collect(),
    )
}

fn value(message: &str) -> Value {
    serde_json::from_str(message).unwrap()
}

/// Whether there is a message to be seen: without one, nothing tells the formats apart.
fn has_messages(case: &Case) -> bool {
    case.format == Format::OpenCode || !read(&case.bytes).1.is_empty()
}

/// What holds for every document under every policy.
fn promises(case: &Case) -> TestCaseResult {
    prop_assume!(has_messages(case));
    let own = of(case.format);
    let same = compact(&case.bytes, &policies::none(&case.policy), case.keeping);
    prop_assert!(same.bytes == case.bytes);
    prop_assert_eq!(same.detected, Some((case.format, Layout::File)));
    let transcript = case.format.read(&case.bytes, 1, &mut Warnings::default());
    let mut errors = case.format.verify(&transcript);
    errors.retain(|finding| finding.severity == Severity::Error);
    prop_assert_eq!(errors, []);
    let run = case.compact();
    prop_assert_ne!(run.outcome.status, Status::Rejected);
    super::no_rule_is_broken(case)?;
    super::summarised::a_second_run_changes_nothing(case)?;
    super::the_same_bytes_every_time(case)?;
    for conversation in &run.outcome.conversations {
        prop_assert!(conversation.tokens_after <= conversation.tokens_before);
        super::actions_add_up(conversation)?;
    }
    let again = compact(&run.bytes, &policies::none(&case.policy), case.keeping).outcome;
    let said = run.outcome.conversations.iter().map(|c| c.tokens_after);
    let counted = again.conversations.iter().map(|c| c.tokens_before);
    prop_assert_eq!(said.collect::<Vec<_>>(), counted.collect::<Vec<_>>());

    let (before, after) = (read(&case.bytes), read(&run.bytes));
    prop_assert_eq!(before.0, after.0);
    let old: Vec<Value> = before.1.iter().map(|message| value(message)).collect();
    let known: BTreeMap<String, usize> = old
        .iter()
        .zip(0..)
        .map(|(message, at)| ((own.id)(message).to_string(), at))
        .collect();
    let (mut last, mut new) = (None, 0);
    let actions: Vec<ActionKind> = run
        .outcome
        .conversations
        .iter()
        .flat_map(|c| c.actions.iter().map(|action| action.kind))
        .collect();
    let is_pruned = actions.contains(&ActionKind::Prune);
    for raw in &after.1 {
        let mut is = value(raw);
        let Some(place) = known.get(&(own.id)(&is).to_string()).copied() else {
            new += 1;
            continue;
        };
        prop_assert!(last < Some(place), "out of order");
        last = Some(place);
        if before.1[place] == *raw {
            continue;
        }
        let mut was = old[place].clone();
        (own.blank)(&mut was);
        (own.blank)(&mut is);
        for list in own.lists.iter().filter(|_| is_pruned) {
            let left = is.get(list).and_then(Value::as_array);
            let all = was.get_mut(list).and_then(Value::as_array_mut);
            if let (Some(left), Some(all)) = (left, all) {
                all.retain(|part| left.contains(part));
            }
        }
        prop_assert_eq!(was, is);
    }
    prop_assert!(new == 0 || new == own.of_a_summary, "{} new messages", new);
    let takes = [ActionKind::Prune, ActionKind::Drop, ActionKind::Summarize];
    let takes_any = actions.iter().any(|action| takes.contains(action));
    if case.policy.history == History::Keep && !takes_any {
        prop_assert_eq!(after.1.len(), before.1.len());
    }
    Ok(())
}

/// A document that breaks off, that has something behind it, or that is named for another format stays as it is.
fn what_is_no_document_of_it_is_left_alone(
    case: &Case,
    at: &prop::sample::Index,
) -> TestCaseResult {
    prop_assume!(has_messages(case));
    let text = String::from_utf8_lossy(&case.bytes).into_owned();
    let end = text.trim_end().len();
    let cuts: Vec<usize> = text[..end].char_indices().map(|(at, _)| at).collect();
    let cut = cuts[at.index(cuts.len())];
    let twice = [
        text.as_bytes(),
        b"\n",
        text.trim_start_matches('\u{feff}').as_bytes(),
    ]
    .concat();
    for bytes in [text.as_bytes()[..cut].to_vec(), twice] {
        let run = case.compact_bytes(&bytes);
        prop_assert_eq!(run.outcome.status, Status::Unsupported);
        prop_assert!(run.bytes == bytes);
    }
    let mut detector = Detector::default();
    detector.look(&case.bytes);
    for format in Format::ALL {
        let is_known = matches!(detector.given(format), Detected::Known(..));
        prop_assert_eq!(is_known, format == case.format, "{:?}", format);
    }
    Ok(())
}

/// A document with lines of another format before or behind it is left alone.
fn joined_with_lines_it_is_left_alone(case: &Case, lines: &Case) -> TestCaseResult {
    prop_assume!(has_messages(case));
    let bare = |bytes: &[u8]| {
        bytes
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(bytes)
            .to_vec()
    };
    let (document, lines_of_it) = (bare(&case.bytes), bare(&lines.bytes));
    let says = |line: &[u8]| matches!(serde_json::from_slice(line), Ok(Value::Object(_)));
    prop_assume!(lines_of_it.split(|byte| *byte == b'\n').any(says));
    let behind = [&document[..], b"\n", &lines_of_it].concat();
    let run = case.compact_bytes(&behind);
    prop_assert_eq!(run.outcome.status, Status::Unsupported);
    prop_assert!(run.bytes == behind);
    // Among lines, those of a document that are no JSON are notes.
    let before = [&lines_of_it[..], b"\n", &document].concat();
    let run = case.compact_bytes(&before);
    match run.detected {
        // Plain texts could be of several formats.
        Some((format, _)) => prop_assert!(format == lines.format || !lines.is_session()),
        None => prop_assert!(run.bytes == before),
    }
    Ok(())
}

macro_rules! every_document {
    ($($name:ident: $format:ident,)*) => {$(
        mod $name {
            use super::*;

            proptest! {
                #![proptest_config(config_of(100))]

                #[test]
                fn every_promise_holds_without_summaries(case in cases(Format::$format, policies::any)) {
                    promises(&case)?;
                }

                #[test]
                fn every_promise_holds_with_summaries(case in cases(Format::$format, policies::summarising)) {
                    promises(&case)?;
                }

                #[test]
                fn every_promise_holds_for_published_systems(case in cases(Format::$format, policies::system)) {
                    promises(&case)?;
                }

                #[test]
                fn what_is_no_document_is_left_alone(case in cases(Format::$format, policies::summarising), at in any::<prop::sample::Index>()) {
                    what_is_no_document_of_it_is_left_alone(&case, &at)?;
                }

                #[test]
                fn a_document_among_lines_is_left_alone(
                    case in cases(Format::$format, policies::summarising),
                    lines in (0..super::super::formats::of_lines().len()).prop_flat_map(|at| {
                        Case::summarised(super::super::formats::of_lines()[at], Kind::Valid)
                    }),
                ) {
                    joined_with_lines_it_is_left_alone(&case, &lines)?;
                }
            }
        }
    )*};
}

every_document! {
    of_opencode: OpenCode,
    of_gemini: Gemini,
    of_cline: Cline,
}

/// The formats of documents that have no other layout.
pub(super) fn only_documents() -> Vec<Format> {
    let lines = super::formats::of_lines();
    let all = DOCUMENTS.iter().map(|document| document.format);
    all.filter(|format| !lines.contains(format)).collect()
}
