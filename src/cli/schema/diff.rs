//! The report of `diff`: of two files, or of what two policies make of one.

use serde_json::Value;

use super::build::{
    Form, Key, Schema, any, count, counts, from_one, key, list, object, one_of, or_null, pair,
    text, to,
};
use super::common::{conversation_id, estimator, hash, policy, policy_key, version};
use super::words::every;
use crate::diff::Fate;
use crate::error::Result;
use crate::format::Format;
use crate::transcript::{BlockKind, Role};

pub(super) fn schema(form: Form) -> Result<Schema> {
    let stat = key(
        "stat",
        list(stat()),
        "Messages and tokens for each kind of outcome.",
    );
    let outside = key("outside", outside(), "The lines that no model sees.");
    let record = key(
        "record",
        or_null(text()),
        "The report that the reasons are from, or null.",
    );
    let conversations = |part: &str, about: &str| key("conversations", list(to(part)), about);
    let first_byte = key(
        "first_byte",
        or_null(count()),
        "The first byte that differs, from 0; null where the outputs are equal.",
    );
    let lines = key(
        "lines",
        list(line()),
        "Lines that differ in something that no model reads.",
    );
    let mut parts = vec![
        policy()?,
        ("compared", compared()),
        ("fate", one_of(Fate::ALL.map(Fate::name))),
        ("at", at()),
        ("change", change()),
        ("row", row()),
        ("conversation", conversation()),
        ("row_of_two", row_of_two()),
        ("added", added()),
        ("conversation_of_two", conversation_of_two()),
    ];
    let (mut files, mut policies) = (head_of_files(), head_of_policies());
    let names = match form {
        Form::Whole => {
            files.extend([record, stat]);
            files.extend(sizes());
            files.push(conversations(
                "conversation",
                "Conversations of the old file, then conversations that only the new file has.",
            ));
            files.push(outside);
            policies.extend(sizes_of_two());
            policies.push(conversations(
                "conversation_of_two",
                "The conversations that differ.",
            ));
            policies.extend([lines, first_byte]);
            ["files", "policies"].as_slice()
        }
        Form::Line => {
            files.extend([record, stat, outside]);
            policies.extend(sizes_of_two());
            policies.extend([lines, first_byte]);
            ["conversation", "files", "conversation_of_two", "policies"].as_slice()
        }
    };
    parts.extend([("files", object(files)), ("policies", object(policies))]);
    Ok(Schema {
        title: "ctxpack diff",
        about: "What became of messages, in a compacted file or under two policies: ctxpack help diff.",
        root: any(names.iter().map(|name| to(name)).collect()),
        parts,
    })
}

fn head_of_files() -> Vec<Key> {
    let mut keys = version();
    keys.push(policy_key());
    keys.extend(counted());
    keys.extend([
        key("old", to("compared"), "The old file."),
        key("new", to("compared"), "The new file."),
    ]);
    keys
}

fn head_of_policies() -> Vec<Key> {
    let mut keys = version();
    keys.push(key("policies", pair(to("policy")), "The two policies."));
    keys.extend(counted());
    keys.push(key("input", to("compared"), "The file."));
    keys
}

/// How the tokens were counted, and in which format the files were read.
fn counted() -> [Key; 2] {
    [
        key(
            "estimator",
            estimator(),
            "The estimator that counted the tokens.",
        ),
        key(
            "format",
            one_of(Format::ALL.map(Format::name)),
            "The format of the files.",
        ),
    ]
}

fn compared() -> Value {
    object(vec![
        key("path", text(), "Its path as given, or what it is."),
        key(
            "hash",
            or_null(hash()),
            "Its hash on disk; null if it was made in memory.",
        ),
        key("bytes", count(), "Its size, unpacked."),
    ])
}

fn fate() -> Key {
    key("fate", to("fate"), "What became of it.")
}

fn stat() -> Value {
    let mut keys = vec![fate()];
    keys.extend(counts([
        ("messages", "How many messages."),
        ("tokens_before", "Their tokens before."),
        ("tokens_after", "Their tokens after."),
    ]));
    object(keys)
}

fn sizes() -> Vec<Key> {
    counts([
        ("tokens_before", "Live tokens before."),
        ("tokens_after", "Live tokens after."),
        ("messages_before", "Live messages before."),
        ("messages_after", "Live messages after."),
    ])
}

fn sizes_of_two() -> Vec<Key> {
    vec![
        key("tokens_before", count(), "Live tokens of the input."),
        key("tokens_after", pair(count()), "Live tokens of the outputs."),
        key(
            "messages_after",
            pair(count()),
            "Live messages of the outputs.",
        ),
    ]
}

fn outside() -> Value {
    let run = object(vec![
        key("line", from_one(), "The first one."),
        key("lines", from_one(), "How many."),
        key(
            "messages",
            count(),
            "How many of these lines are dead messages.",
        ),
    ]);
    object(vec![
        key(
            "kept",
            count(),
            "Old lines with the same bytes in the new file.",
        ),
        key(
            "edited",
            count(),
            "Old lines that are still there, with other bytes.",
        ),
        key("dropped", list(run), "Old lines that are gone, in runs."),
        key("inserted", count(), "Lines that only the new file has."),
        key(
            "mended",
            count(),
            "Lines of live messages that have another link or recorded figure.",
        ),
    ])
}

fn conversation() -> Value {
    let mut keys = vec![conversation_id("id")];
    keys.extend(sizes());
    keys.push(key(
        "rows",
        list(to("row")),
        "Its messages, what was replaced before what replaced it.",
    ));
    object(keys)
}

fn at() -> Value {
    object(vec![
        key("line", from_one(), "Its first line in the file."),
        key("message", from_one(), "Its number in the conversation."),
    ])
}

/// The role of a message, and the tools that it is about.
fn speaker() -> [Key; 2] {
    let roles = every!(Role.name: System User Assistant Tool);
    [
        key("role", one_of(roles), "Its role."),
        key("tools", list(text()), "The tools of its calls and results."),
    ]
}

fn row() -> Value {
    let mut keys = vec![
        fate(),
        key("old", or_null(to("at")), "Where it was, or null."),
        key("new", or_null(to("at")), "Where it is, or null."),
    ];
    keys.extend(speaker());
    keys.extend([
        key(
            "tokens_before",
            count(),
            "Tokens that it added to the old window.",
        ),
        key(
            "tokens_after",
            count(),
            "Tokens that it adds to the new window.",
        ),
        key("reason", or_null(text()), "Why, if a report says so."),
        key("words", text(), "Its first words."),
        key("changes", list(to("change")), "The parts that changed."),
        key(
            "text",
            or_null(text()),
            "Its full text, if only the new file has it.",
        ),
        key(
            "restored",
            list(text()),
            "The headers of what was restored in it.",
        ),
    ]);
    object(keys)
}

fn change() -> Value {
    let parts = every!(BlockKind.name: Text Image Document Thinking Redacted Call Result Server Attachment Other);
    object(vec![
        fate(),
        key("part", one_of(parts), "Its kind of block."),
        key(
            "place",
            from_one(),
            "Its place among the parts of its message.",
        ),
        key(
            "line",
            from_one(),
            "Its line in the old file; for what only the new one has, the line there.",
        ),
        key(
            "tool",
            or_null(text()),
            "Its tool, if it is a call or a result.",
        ),
        key("tokens_before", count(), "Tokens of the content before."),
        key("tokens_after", count(), "Tokens of the content after."),
        key("reason", or_null(text()), "Why, if a report says so."),
        key("words", text(), "Its first words before."),
        key(
            "text",
            or_null(text()),
            "All of the new text; null if the part is gone.",
        ),
    ])
}

fn conversation_of_two() -> Value {
    object(vec![
        conversation_id("id"),
        key("tokens_before", count(), "Its tokens in the input."),
        key("tokens_after", pair(count()), "Its tokens in the outputs."),
        key(
            "rows",
            list(to("row_of_two")),
            "The messages of the input whose outcomes differ.",
        ),
        key(
            "added",
            list(to("added")),
            "The messages that the input does not have, and that differ.",
        ),
    ])
}

fn row_of_two() -> Value {
    let mut keys = vec![key("old", to("at"), "Where it was.")];
    keys.extend(speaker());
    keys.extend([
        key("words", text(), "Its first words."),
        key("tokens_before", count(), "Its tokens in the input."),
        key("tokens_after", pair(count()), "Its tokens in the outputs."),
        key("fates", pair(to("fate")), "What became of it."),
        key(
            "reasons",
            pair(or_null(text())),
            "Why, where that is known.",
        ),
        key(
            "texts",
            list(text()),
            "How the texts that took the place of its parts differ, as a unified diff.",
        ),
    ]);
    object(keys)
}

fn added() -> Value {
    object(vec![
        fate(),
        key(
            "new",
            pair(or_null(to("at"))),
            "Where it is in the outputs that have it.",
        ),
        key("tokens_after", pair(count()), "Its tokens in the outputs."),
        key(
            "restored",
            pair(list(text())),
            "The headers of what was restored in it.",
        ),
        key(
            "text",
            list(text()),
            "How its text differs, as a unified diff.",
        ),
    ])
}

fn line() -> Value {
    object(vec![
        key(
            "lines",
            pair(or_null(from_one())),
            "Its number in each output; null where it is missing.",
        ),
        key("what", list(text()), "What differs, a value each."),
    ])
}
