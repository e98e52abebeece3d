//! Writes a summary as the agent's own compaction does: a user message whose metadata say what it is. It replaces the messages
//! before the first kept one.
//!
//! Its content is a string, since that is how a summary's size is estimated. The metadata repeat the text, from which the agent
//! makes its next summary, and count the prompts that it covers.

use crate::format::shapes::splice::Summary;
use crate::scan::Value;
use crate::text::push_json_string;
use crate::transcript::{ChangeSet, Conversation, Source, Transcript, Typed};

/// Replaces the messages before `tail` with a summary, or removes them.
pub(super) fn splice(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    tail: usize,
    summary: Option<Summary<'_>>,
) -> Option<ChangeSet> {
    let units = transcript.units();
    let (old, kept) = units.split_at_checked(tail)?;
    old.last()?;
    let place = kept
        .first()
        .map_or(transcript.after_messages(), |unit| unit.line);
    let summary = summary.map(|summary| record(transcript, conversation, tail, summary));
    Some(ChangeSet {
        drop: old.iter().map(|unit| unit.line).collect(),
        insert: summary
            .into_iter()
            .map(|message| (place, vec![message]))
            .collect(),
        ..ChangeSet::default()
    })
}

/// The message of a summary.
fn record(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    tail: usize,
    summary: Summary<'_>,
) -> Vec<u8> {
    let old = &transcript.units()[..tail];
    let message = |line: u32| Value::of(transcript.line(line));
    let runs = old.iter().zip(&conversation.messages).map(|(unit, of)| {
        let span = message(unit.line).within(&["metadata", "userRunSpan"]);
        match unit.source == Source::Summary {
            true => span.number().unwrap_or(1),
            false => u64::from(of.typed == Typed::Yes),
        }
    });
    let runs: u64 = runs.sum();
    let time = old.iter().rev().find_map(|unit| {
        let time = message(unit.line).field("ts");
        time.number::<u64>()
    });
    let mut said = Vec::new();
    push_json_string(&mut said, summary.text);
    let time = time.map(|time| time.to_string()).unwrap_or_default();
    let hash = blake3::hash(&[time.as_bytes(), b"\n", &said].concat()).to_hex();
    let timed = |key: &str| match time.is_empty() {
        true => String::new(),
        false => format!(",\"{key}\":{time}"),
    };
    [
        b"{\"id\":\"ctxpack-summary-",
        &hash.as_bytes()[..16],
        b"\",\"role\":\"user\",\"content\":",
        &said,
        timed("ts").as_bytes(),
        b",\"metadata\":{\"kind\":\"compaction_summary\",\"displayRole\":\"system\",\"userRunSpan\":",
        runs.to_string().as_bytes(),
        b",\"summary\":",
        &said,
        b",\"details\":{\"readFiles\":[],\"modifiedFiles\":[]},\"tokensBefore\":",
        summary.tokens_before.to_string().as_bytes(),
        timed("generatedAt").as_bytes(),
        b"}}",
    ]
    .concat()
}
