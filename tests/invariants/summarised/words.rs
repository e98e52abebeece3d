//! What a person typed, and which words a summary may contain.

use std::collections::BTreeSet;

use ctxpack::format::{Format, Warnings};
use ctxpack::pipeline::{Input, Part, Pipeline, Stored};
use ctxpack::plan::Keeping;
use ctxpack::scan::unescape;
use ctxpack::tokens::Estimator;

use super::super::case::{Case, Run, split};
use super::super::dialect;
use super::super::json::{self, Kind, Node};
use super::super::policies;

/// The text of a message, if only a person wrote it.
pub(in super::super) fn typed_in(line: &[u8], message: &Node) -> Option<String> {
    let string = |node: &Node, key: &str| node.get(key).map(|n| n.text(line)).unwrap_or_default();
    if string(message, "role") != "user" && string(message, "type") != "user" {
        return None;
    }
    let content = message.get("content")?;
    if content.is_text() {
        return Some(content.text(line))
            .filter(|said| !is_echo(said))
            .map(|said| after_reminders(&said).to_owned());
    }
    let mut texts = Vec::new();
    for block in content.list() {
        match string(block, "type").as_str() {
            "text" | "input_text" => texts.push(string(block, "text")),
            "" if block.get("text").is_some() => texts.push(string(block, "text")),
            "" if block.get("inlineData").is_some() => texts.push(String::new()),
            // A picture, which has no text.
            "image" | "image_url" | "input_image" => texts.push(String::new()),
            _ => return None,
        }
    }
    // An agent adds reminders to a person's message.
    texts.retain(|text| !is_reminder(text));
    if texts.first().is_none_or(|first| is_echo(first)) {
        return None;
    }
    texts.retain(|text| !text.is_empty());
    let texts: Vec<&str> = texts.iter().map(|text| after_reminders(text)).collect();
    Some(texts.join("\n"))
}

/// Whether an agent wrote it, by the beginnings that the generators use.
pub(in super::super) fn is_echo(text: &str) -> bool {
    let begins = [
        "<command-name>",
        "<environment_context>",
        "Another language model started to solve this problem and produced a summary",
    ];
    let begins = begins
        .iter()
        .any(|begin| text.trim_start().starts_with(begin));
    begins || is_reminder(text)
}

/// Whether a text is nothing but reminders: without an end, or with words behind it, a person may have typed it.
pub(in super::super) fn is_reminder(text: &str) -> bool {
    after_reminders(text).trim().is_empty() && !text.trim().is_empty()
}

/// The rest of a text behind the reminders that it begins with.
pub(in super::super) fn after_reminders(text: &str) -> &str {
    let mut rest = text;
    while let Some(inside) = rest.trim_start().strip_prefix("<system-reminder>")
        && let Some((_, after)) = inside.split_once("</system-reminder>")
    {
        rest = after.trim_start();
    }
    rest
}

/// The typed messages of each conversation of the input.
pub(super) fn typed(case: &Case) -> Vec<Vec<String>> {
    let (_, lines) = split(&case.bytes);
    let of_line = |line: &usize| -> Vec<String> {
        let line = lines[*line].0;
        let Some(root) = json::object(line) else {
            return Vec::new();
        };
        dialect::of(case.format).typed(line, &root)
    };
    let windows = case.known.windows.iter();
    windows
        .map(|window| window.lines.iter().flat_map(of_line).collect())
        .collect()
}

/// All texts of an output that a model would read, unescaped.
pub(super) fn live(case: &Case, run: &Run) -> Vec<String> {
    let (_, lines) = split(&run.bytes);
    let numbers: Vec<usize> = if case.is_session() {
        let transcript = case.format.read(&run.bytes, 1, &mut Warnings::default());
        let paths = transcript.conversations.iter().flat_map(|c| &c.path);
        paths.map(|line| *line as usize).collect()
    } else {
        (0..lines.len()).collect()
    };
    let mut strings = Vec::new();
    for number in numbers {
        let line = lines[number].0;
        if let Some(root) = json::object(line) {
            let message = root.get("message").filter(|_| case.is_session());
            collect(line, message.unwrap_or(&root), &mut strings);
        }
    }
    strings
}

/// The strings in a value; of a duplicate key the last one counts.
fn collect(line: &[u8], node: &Node, strings: &mut Vec<String>) {
    match &node.kind {
        Kind::Object(entries) => {
            for (n, (key, value)) in entries.iter().enumerate() {
                if !entries[n + 1..].iter().any(|(other, _)| other == key) {
                    collect(line, value, strings);
                }
            }
        }
        Kind::List(list) => list.iter().for_each(|node| collect(line, node, strings)),
        Kind::Text => strings.push(node.text(line)),
        Kind::Plain | Kind::Json => {}
    }
}

/// Counts tokens as the policy does.
pub(super) struct Counter {
    estimator: Estimator,
    most: u64,
}

impl Counter {
    pub(super) fn new(case: &Case) -> Counter {
        Counter {
            estimator: Estimator::new(&case.policy.tokens).unwrap(),
            most: case.policy.summary.user_message_max,
        }
    }

    /// Whether a message with this text is quoted in full.
    pub(super) fn fits(&self, words: &str) -> bool {
        self.estimator.tokens(self.estimator.text(words)) <= self.most
    }
}

/// The tokens of a file that is one conversation.
pub(super) fn count(case: &Case, format: Format, bytes: &[u8]) -> u64 {
    let policy = policies::none(&case.policy);
    let pipeline = Pipeline::new(&policy, Keeping::Store).unwrap();
    let input = Input {
        format,
        bytes,
        first_line: 1,
        part: Part::File,
        stored: Stored::default(),
        strings: &ctxpack::scan::NO_STRINGS,
        instruction_source: None,
        weights: &ctxpack::summarizer::extractive::WEIGHTS,
    };
    let compacted = pipeline.compact(input, &mut Warnings::default());
    compacted
        .conversations
        .iter()
        .map(|c| c.tokens_before)
        .sum()
}

/// The program's own words around the text of a transcript.
const OURS: [&str; 42] = [
    "unknown",
    "picture",
    "document",
    "bytes",
    "Original",
    "searched",
    "search",
    "before",
    "Skill",
    "User",
    "requests",
    "Earlier",
    "summary",
    "Plan",
    "to-dos",
    "To-dos",
    "Files",
    "File",
    "Commands",
    "Errors",
    "Decisions",
    "findings",
    "Details",
    "Current",
    "state",
    "unanswered",
    "outcome",
    "failed",
    "wrote",
    "edited",
    "deleted",
    "read",
    "said",
    "call",
    "result",
    "exit",
    "interrupted",
    "as",
    "was",
    "ran",
    "running",
    "restored",
];

/// The program's words in entries of files, in states, and in notes of how much of an output was omitted.
const MORE: [&str; 38] = [
    "calls",
    "not",
    "described",
    "under",
    "over",
    "token",
    "tokens",
    "omitted",
    "edit",
    "write",
    "delete",
    "cancelled",
    "assistant",
    "content",
    "user",
    "lines",
    "line",
    "from",
    "Cut",
    "here",
    "there",
    "more",
    "plan",
    "accepted",
    "refused",
    "pending",
    "progress",
    "done",
    "message",
    "messages",
    "of",
    "the",
    "left",
    "out",
    "no",
    "room",
    "begun",
    "background",
];

/// What a summary may contain.
pub(super) struct Known {
    text: String,
    strings: BTreeSet<String>,
}

impl Known {
    pub(super) fn new(case: &Case, free: &Run) -> Known {
        let mut all = Vec::new();
        for bytes in [&case.bytes, &free.bytes] {
            for (line, _) in split(bytes).1 {
                if let Some(root) = json::object(line) {
                    collect_all(line, &root, &mut all);
                }
            }
        }
        let mut text = all.join("\n");
        for string in &all {
            // A string may contain JSON, which in turn contains strings.
            if string.contains('\\') {
                text.push('\n');
                text.push_str(&String::from_utf8_lossy(&unescape(string.as_bytes())));
            }
        }
        text.push_str(&String::from_utf8_lossy(&case.bytes));
        text.push_str(case.policy.summary.text.as_str());
        text.push_str(&case.policy.summary.ack);
        // A target may demote results that nothing else would.
        text.push_str(case.policy.demote.text.as_str());
        text.push_str(&case.replies);
        text.push_str(&case.archives().join("\n"));
        // If the target is a share of the original, the summary contains the original's tokens.
        for conversation in &free.outcome.conversations {
            text.push_str(&format!("\n{}\n", conversation.tokens_before));
        }
        Known {
            text,
            strings: all.into_iter().collect(),
        }
    }

    pub(super) fn has(&self, word: &str) -> bool {
        let is_mark = word.strip_prefix('L').is_some_and(is_number);
        let is_range = word
            .split_once('-')
            .is_some_and(|(first, last)| is_number(first) && is_number(last));
        let is_offload = word
            .strip_prefix(".ctxpack/offloaded/")
            .and_then(|name| name.strip_suffix(".txt"))
            .is_some_and(|hash| hash.len() == 32 && hash.bytes().all(|b| b.is_ascii_hexdigit()));
        is_mark
            || is_range
            || is_offload
            || OURS.contains(&word)
            || MORE.contains(&word)
            || self.text.contains(word)
            // A preview that ends within a word.
            || word.starts_with("ctxpack-summary-")
            || word.strip_suffix("...").is_some_and(|cut| self.text.contains(cut))
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// The strings in a value, including keys.
fn collect_all(line: &[u8], node: &Node, strings: &mut Vec<String>) {
    match &node.kind {
        Kind::Object(entries) => {
            for (key, value) in entries {
                strings.push(key.clone());
                collect_all(line, value, strings);
            }
        }
        Kind::List(list) => list
            .iter()
            .for_each(|node| collect_all(line, node, strings)),
        Kind::Text => strings.push(node.text(line)),
        Kind::Plain | Kind::Json => {}
    }
}

/// The strings in the messages of an output that the input did not have.
pub(super) fn new_texts(run: &Run, known: &Known) -> Vec<String> {
    let dialect = run.detected.map(|(format, _)| dialect::of(format));
    let mut texts = Vec::new();
    for (line, _) in split(&run.bytes).1 {
        let Some(root) = json::object(line) else {
            continue;
        };
        let said = match dialect {
            Some(dialect) => dialect.texts(&root),
            None => Some(&root),
        };
        if let Some(said) = said {
            collect_all(line, said, &mut texts);
        }
    }
    texts.retain(|text| !known.strings.contains(text));
    texts
}

/// The parts of a text that look like names.
pub(super) fn names(text: &str) -> BTreeSet<&str> {
    let is_in = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-');
    let words = text.split(|c| !is_in(c));
    words.filter(|word| word.len() >= 4).collect()
}
