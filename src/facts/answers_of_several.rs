//! The answers of a call that reads several files, where the result has one for each, as Cline's does.
//!
//! PURE. An answer belongs to the file that it names, and to no other: where two may be meant, to none.

use super::exchanges::FactLocation;
use super::operation::Done;
use crate::scan::Value;
use crate::transcript::{Shape, Transcript};

/// What was answered about one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The file, and the lines that were asked for behind a colon.
    query: String,
    /// What was shown.
    pub(super) text: String,
    pub(super) done: Done,
}

/// So many files are told apart; of more, none.
const MOST: usize = 64;

/// The answers in a result.
pub(super) fn answers(transcript: &Transcript<'_>, result: FactLocation) -> Vec<Answer> {
    let block = transcript.block(result.block);
    if block.shape != Shape::List {
        return Vec::new();
    }
    let mut all = Vec::new();
    Value::part(transcript.line(block.line), block.content).elements(|item| {
        let [query, text, success] = item.fields(["query", "result", "success"]);
        let [query, text] = [query, text].map(|value| value.text().map(|text| text.into_owned()));
        all.push(Answer {
            query: query.unwrap_or_default(),
            done: match (success.raw(), &text) {
                (b"true", Some(_)) => Done::Yes,
                (b"false", _) => Done::Failed,
                _ => Done::Unclear,
            },
            text: text.unwrap_or_default(),
        });
    });
    match all.len() {
        2..=MOST => all,
        _ => Vec::new(),
    }
}

/// The answer about the file of this path, as the call names it.
pub(super) fn about<'a>(answers: &'a [Answer], path: &str) -> Option<&'a Answer> {
    let is_its = |answer: &&Answer| {
        let rest = answer.query.strip_prefix(path);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    };
    let mut its = answers.iter().filter(is_its);
    its.next().filter(|_| its.next().is_none())
}
