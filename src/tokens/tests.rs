//! Estimates against figures worked out by hand.

use super::*;
use crate::format::{Format, Warnings};
use crate::policy;

fn settings(toml: &str) -> Tokens {
    policy::parse("test", &format!("[tokens]\n{toml}"))
        .unwrap()
        .tokens
}

/// The tokens of a conversation, and of each of its messages.
fn count(format: Format, text: &str, toml: &str) -> (u64, Vec<u64>) {
    let transcript = format.read(text.as_bytes(), 1, &mut Warnings::default());
    let mut sizes = Sizes::new(Estimator::new(&settings(toml)).unwrap());
    let conversation = &transcript.conversations[0];
    let total = sizes.conversation(&transcript, conversation);
    let each = conversation.messages.iter().map(|m| {
        let size = sizes.message(&transcript, conversation, m);
        sizes.estimator().tokens(size)
    });
    (total, each.collect())
}

const CHARS: &str = "method = \"chars\"\n";

/// Ten characters, twelve UTF-16 units; a call; a list result; a string result.
const ANTHROPIC: &str = concat!(
    r#"{"role": "user", "content": "h\u00e9llo 世🎉🎉x"}"#,
    "\n",
    r#"{"role":"assistant","content":[{"type":"text","text":"ok"},{"type":"tool_use","id":"t","name":"Read","input":{"a": "\u00e9"}}]}"#,
    "\n",
    r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"12345"},{"type":"image","source":{"data":"AAAA"}}]}]}"#,
    "\n",
    r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"1234567"}]}"#,
    "\n",
);

#[test]
fn content_counts_what_the_model_reads() {
    // 10/4; "ok" + "Read" + {"a": "\u00e9"} as it stands (15); 5/4 and an image; 7/4.
    let scope = format!("{CHARS}image_tokens = 100");
    assert_eq!(
        count(Format::Anthropic, ANTHROPIC, &scope),
        (2 + 5 + 101 + 1, vec![2, 5, 101, 1])
    );
    let ceil = format!("{scope}\nrounding = \"ceil\"");
    assert_eq!(
        count(Format::Anthropic, ANTHROPIC, &ceil),
        (3 + 6 + 102 + 2, vec![3, 6, 102, 2])
    );
    let utf16 = format!("{ceil}\nunit = \"utf16\"\nper = \"conversation\"");
    // 12 + 21 + 5 + 7 = 45 units.
    assert_eq!(count(Format::Anthropic, ANTHROPIC, &utf16).0, 12 + 100);
}

#[test]
fn strings_count_no_inputs_and_no_lists() {
    let scope = format!("{CHARS}scope = \"strings\"\nimage_tokens = 0\nchars_per_token = 1");
    assert_eq!(count(Format::Anthropic, ANTHROPIC, &scope).1, [10, 2, 0, 7]);
}

#[test]
fn json_scopes_count_the_compact_form() {
    let scope = format!("{CHARS}scope = \"message_json\"\nimage_tokens = 0\nchars_per_token = 1");
    let text = "{\"role\": \"user\", \"content\": \"h\\u00e9\\/\\n\"}\n";
    // {"role":"user","content":"hé/\n"}
    assert_eq!(count(Format::Anthropic, text, &scope), (33, vec![33]));
    let call = r#"{"role":"assistant","content":[{"type":"text", "text":"ok"}, {"type":"redacted_thinking","data":"x"}]}"#;
    let compact = call.replace(", ", ",");
    assert_eq!(
        count(Format::Anthropic, call, &scope).0,
        compact.len() as u64
    );
    let history =
        format!("{CHARS}scope = \"history_json\"\nper = \"conversation\"\nchars_per_token = 1");
    assert_eq!(
        count(Format::Anthropic, &format!("{text}{text}"), &history).0,
        33 + 33 + 3
    );
    let role = format!("{CHARS}scope = \"role_content\"\nchars_per_token = 1");
    assert_eq!(
        count(
            Format::Anthropic,
            r#"{"role":"user","content":"abc"}"#,
            &role
        )
        .1,
        [4 + 5]
    );
}

#[test]
fn openai_arguments_are_text() {
    let line = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}"#;
    let scope = format!("{CHARS}chars_per_token = 1");
    assert_eq!(count(Format::OpenAi, line, &scope).0, 1 + 7);
}

#[test]
fn classes_weigh_characters() {
    let estimator = Estimator::new(&settings("method = \"classes\"")).unwrap();
    let tokens = |text: &str| estimator.tokens(estimator.text(text));
    assert_eq!(tokens(""), 0);
    // 10 × 0.2031, 4 × 1.0034, 3 × 0.8107 + 0.7344.
    assert_eq!(tokens("abcdefghij"), 2);
    assert_eq!(tokens("2026"), 4);
    assert_eq!(tokens("世世世\n"), 3);
    assert_eq!(
        classes::written(br"\u4e16\ud83c\udf89\n"),
        classes::plain("世🎉\n".as_bytes())
    );
    assert_eq!(classes::plain(b"\xff"), classes::plain(b"\x01"));
}

#[test]
fn bpe_is_refused_with_a_way_out() {
    let error = Estimator::new(&settings("method = \"bpe\"")).unwrap_err();
    assert_eq!(
        error.hint.as_deref(),
        Some("use tokens.method = \"classes\" or \"chars\"")
    );
}
