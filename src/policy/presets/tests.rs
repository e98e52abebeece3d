//! The numbers and words of each published system, as documented.

use serde_json::{Value, json};

use super::super::keys;
use super::preset;

/// Whether the preset holds each of these values, under its name and its alias.
fn holds(name: &str, alias: &str, values: &[(&str, Value)]) {
    let policy = preset(alias).unwrap();
    assert_eq!(policy, preset(name).unwrap());
    let value = policy.to_json().unwrap();
    for (key, expected) in values {
        assert_eq!(keys::find(key).unwrap().get(&value), expected, "{key}");
    }
}

#[test]
fn layered_holds_its_systems_numbers_and_words() {
    holds(
        "layered",
        "v5",
        &[
            ("name", json!("layered")),
            (
                "layers",
                json!(["drop", "demote", "clear", "summarize", "restore"]),
            ),
            ("archive", json!("always")),
            ("tokens.method", json!("chars")),
            ("tokens.unit", json!("scalar")),
            ("tokens.chars_per_token", json!(4.0)),
            ("tokens.rounding", json!("floor")),
            ("tokens.per", json!("message")),
            ("tokens.scope", json!("content")),
            ("window.context", json!(200_000)),
            ("window.max_output", json!(16_384)),
            ("window.output_cap", json!(20_000)),
            ("window.buffer", json!(13_000)),
            ("trigger.on", json!("window")),
            ("trigger.compare", json!(">")),
            ("trigger.min_savings", json!(20_000)),
            ("target.tokens", json!(0)),
            ("demote.min_tokens", json!(40_000)),
            ("demote.preview_chars", json!(2_000)),
            (
                "demote.text",
                json!("Output too large. Saved to: {name}\nPreview:\n{preview}..."),
            ),
            ("clear.keep", json!(3)),
            ("clear.tools", json!(["shell", "read", "write", "edit"])),
            ("clear.min_tokens", json!(1_000)),
            (
                "clear.placeholder",
                json!("[Output compacted - re-read if needed]"),
            ),
            ("summary.keep_messages", json!(5)),
            ("summary.keep_tokens", json!(0)),
            ("summary.role", json!("user")),
            (
                "summary.text",
                json!("[Conversation compressed]\n{summary}"),
            ),
            (
                "summary.ack",
                json!("Understood. Continuing with compressed context."),
            ),
            ("summary.tries", json!(1)),
            ("summary.on_failure", json!("keep")),
            ("summary.too_large", json!("accept")),
            ("summary.max_invented", json!(-1)),
            ("restore.files", json!(5)),
            ("restore.tokens_per_file", json!(5_000)),
            ("restore.tokens_total", json!(50_000)),
            ("restore.extras", json!([])),
            ("env", json!({})),
        ],
    );
}

#[test]
fn offload_first_holds_its_systems_numbers_and_words() {
    holds(
        "offload-first",
        "synapse",
        &[
            ("layers", json!(["drop", "offload", "summarize"])),
            ("archive", json!("auto")),
            ("tokens.method", json!("bpe")),
            ("tokens.encoding", json!("cl100k_base")),
            ("tokens.unit", json!("utf16")),
            ("tokens.scope", json!("message_json")),
            ("tokens.images", json!("written")),
            ("tokens.per", json!("message")),
            ("window.context", json!(200_000)),
            ("trigger.on", json!("tokens")),
            ("trigger.tokens", json!(150_000)),
            ("trigger.compare", json!(">=")),
            ("trigger.min_savings", json!(0)),
            ("trigger.offload_freed_below", json!(15_000)),
            ("offload.tokens", json!(150_000)),
            ("offload.share", json!(0.5)),
            ("offload.min_chars", json!(50)),
            ("offload.text", json!("Tool result is at: {name}")),
            ("offload.restore_before_summary", json!(true)),
            (
                "offload.unavailable",
                json!("[Content unavailable: {name}]"),
            ),
            ("offload.cleanup", json!(true)),
            ("summary.model", json!("")),
            ("summary.prompt", json!("offload-first")),
            ("summary.prompt_role", json!("system")),
            ("summary.cut_off", json!("accept")),
            ("summary.keep_messages", json!(5)),
            ("summary.keep_turns", json!(0)),
            ("summary.keep_tokens", json!(0)),
            ("summary.role", json!("user")),
            ("summary.text", json!("[Compressed History]\n\n{summary}")),
            ("summary.ack", json!("")),
            ("summary.tokens", json!(8_000)),
            ("summary.output_factor", json!(1.2)),
            ("summary.tries", json!(3)),
            ("summary.wait_ms", json!(1_000)),
            ("summary.wait", json!("linear")),
            ("summary.on_failure", json!("keep")),
            ("summary.too_large", json!("accept")),
            ("target.tokens", json!(0)),
            (
                "env",
                json!({
                    "SYNAPSE_COMPACT_TRIGGER_THRESHOLD": "trigger.offload_freed_below>0",
                    "SYNAPSE_COMPACT_TARGET_TOKENS": "summary.tokens>0",
                    "SYNAPSE_COMPACT_PRESERVE_COUNT": "summary.keep_messages>0",
                    "SYNAPSE_COMPACT_MODEL": "summary.model",
                    "SYNAPSE_COMPACT_RETRY_COUNT": "summary.tries>0",
                    "SYNAPSE_OFFLOAD_THRESHOLD": "offload.tokens+trigger.tokens>0",
                    "SYNAPSE_OFFLOAD_SCAN_RATIO": "offload.share>0",
                    "SYNAPSE_OFFLOAD_MIN_CHARS": "offload.min_chars>0",
                }),
            ),
        ],
    );
}

#[test]
fn reset_holds_its_systems_numbers_and_words() {
    holds(
        "reset",
        "s06",
        &[
            ("layers", json!(["drop", "clear", "summarize"])),
            ("archive", json!("always")),
            ("tokens.method", json!("chars")),
            ("tokens.unit", json!("scalar")),
            ("tokens.chars_per_token", json!(4.0)),
            ("tokens.rounding", json!("floor")),
            ("tokens.per", json!("conversation")),
            ("tokens.scope", json!("history_repr")),
            ("tokens.images", json!("written")),
            ("trigger.on", json!("tokens")),
            ("trigger.tokens", json!(50_000)),
            ("trigger.compare", json!(">")),
            ("trigger.manual_tool", json!("compact")),
            ("clear.keep", json!(3)),
            ("clear.tools", json!([])),
            ("clear.min_tokens", json!(0)),
            ("clear.min_chars", json!(100)),
            ("clear.shapes", json!(["string"])),
            ("clear.placeholder", json!("[Previous: used {tool}]")),
            ("summary.prompt", json!("reset")),
            ("summary.input", json!("ascii_json")),
            ("summary.input_chars", json!(80_000)),
            ("summary.keep_messages", json!(0)),
            ("summary.keep_turns", json!(0)),
            ("summary.keep_tokens", json!(0)),
            ("summary.role", json!("user")),
            (
                "summary.text",
                json!("[Conversation compressed. Transcript: {name}]\n\n{summary}"),
            ),
            (
                "summary.ack",
                json!("Understood. I have the context from the summary. Continuing."),
            ),
            ("summary.tokens", json!(2_000)),
            ("summary.output_factor", json!(1.0)),
            ("summary.tries", json!(1)),
            ("summary.cut_off", json!("accept")),
            ("summary.on_failure", json!("keep")),
            ("env", json!({"MODEL_ID": "summary.model"})),
        ],
    );
}

#[test]
fn boundary_holds_its_systems_numbers_and_words() {
    holds(
        "boundary",
        "s24",
        &[
            ("layers", json!(["drop", "summarize"])),
            ("archive", json!("auto")),
            ("tokens.method", json!("chars")),
            ("tokens.unit", json!("utf16")),
            ("tokens.chars_per_token", json!(3.0)),
            ("tokens.rounding", json!("ceil")),
            ("tokens.per", json!("conversation")),
            ("tokens.scope", json!("strings")),
            ("window.context", json!(200_000)),
            ("window.max_output", json!(16_000)),
            ("window.output_cap", json!(0)),
            ("window.buffer", json!(13_000)),
            ("trigger.on", json!("window")),
            ("trigger.compare", json!(">")),
            ("trigger.skip", json!(["compaction", "session_memory"])),
            ("summary.model", json!("claude-sonnet-4-20250514")),
            ("summary.prompt", json!("boundary")),
            ("summary.prompt_role", json!("user_after")),
            ("summary.reads", json!("all")),
            ("summary.cut_off", json!("accept")),
            ("summary.system", json!("你是一个对话摘要助手。")),
            ("summary.keep_messages", json!(0)),
            ("summary.keep_turns", json!(1)),
            ("summary.keep_tokens", json!(0)),
            ("summary.role", json!("user")),
            ("summary.text", json!("[对话摘要]\n{summary}\n[摘要结束]")),
            ("summary.ack", json!("我已了解之前的对话上下文。请继续。")),
            ("summary.tries", json!(1)),
            ("summary.drop_rounds", json!(0)),
            ("summary.breaker", json!(3)),
            ("summary.breaker_scope", json!("conversation")),
            ("summary.on_failure", json!("keep")),
            ("restore.extras", json!([])),
            (
                "env",
                json!({
                    "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "window.context<",
                    "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "trigger.cap_share%",
                    "DISABLE_COMPACT": "summary.when=never!",
                    "DISABLE_AUTO_COMPACT": "summary.when=never",
                }),
            ),
        ],
    );
}

#[test]
fn production_differs_from_boundary_by_what_its_column_says() {
    let (boundary, production) = (
        preset("boundary").unwrap(),
        preset("s24-production").unwrap(),
    );
    let differs: Vec<(&str, Value)> = boundary
        .keys()
        .unwrap()
        .into_iter()
        .zip(production.keys().unwrap())
        .filter(|((_, before), (_, after))| before != after)
        .map(|(_, (key, after))| (key, after))
        .collect();
    assert_eq!(
        differs,
        [
            ("name", json!("boundary-production")),
            ("aliases", json!(["s24-production"])),
            ("layers", json!(["drop", "summarize", "restore"])),
            ("summary.drop_rounds", json!(3)),
            ("restore.tokens_per_file", json!(5_000)),
            ("restore.tokens_total", json!(50_000)),
            ("restore.skip_visible", json!(false)),
            ("restore.extras", json!(["plan", "todos", "skills"])),
        ]
    );
    assert_eq!(production.restore.files, 5);
}

#[test]
fn turns_holds_its_systems_numbers_and_words() {
    holds(
        "turns",
        "05",
        &[
            ("layers", json!(["drop", "summarize"])),
            ("archive", json!("auto")),
            ("tokens.method", json!("chars")),
            ("tokens.unit", json!("utf16")),
            ("tokens.chars_per_token", json!(4.0)),
            ("tokens.rounding", json!("ceil")),
            ("tokens.per", json!("conversation")),
            ("tokens.scope", json!("role_content")),
            ("window.context", json!(64_000)),
            ("trigger.on", json!("share")),
            ("trigger.share", json!(0.75)),
            ("trigger.compare", json!(">=")),
            ("trigger.max_compactions", json!(2)),
            ("trigger.force_on_finish", json!(["length", "max_tokens"])),
            ("summary.keep_messages", json!(0)),
            ("summary.keep_turns", json!(6)),
            ("summary.keep_tokens", json!(0)),
            ("summary.role", json!("assistant")),
            ("summary.text", json!("[COMPACTED_CONTEXT]\n{summary}")),
            ("summary.ack", json!("")),
            ("summary.on_failure", json!("prune")),
            ("summary.too_large", json!("last_turns")),
            ("summary.too_large_share", json!(0.5)),
            (
                "env",
                json!({
                    "CONTEXT_WINDOW_TOKENS": "window.context",
                    "COMPACT_TRIGGER": "trigger.share|trigger.tokens",
                    "COMPACT_TARGET": "summary.too_large_share|summary.too_large_tokens",
                    "KEEP_LAST_TURNS": "summary.keep_turns",
                    "MAX_COMPACTION_ATTEMPTS": "trigger.max_compactions?summary.when=never",
                }),
            ),
        ],
    );
}
