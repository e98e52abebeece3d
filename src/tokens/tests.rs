//! Estimates, compared with figures computed by hand.

use super::*;
use crate::format::{Format, Warnings};
use crate::policy;
use crate::transcript::Role;

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
    // 10/4; "ok" + "Read" + {"a": "\u00e9"} as written (15); 5/4 and an image; 7/4.
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

/// The tokens of a conversation by who said them, in the order of reports.
fn voices(text: &str, toml: &str) -> [u64; 5] {
    let transcript = Format::Anthropic.read(text.as_bytes(), 1, &mut Warnings::default());
    let mut sizes = Sizes::new(Estimator::new(&settings(toml)).unwrap());
    let conversation = &transcript.conversations[0];
    let voices = sizes.voices(&transcript, conversation);
    let total = match conversation.messages.is_empty() {
        true => 0,
        false => sizes.conversation(&transcript, conversation),
    };
    assert_eq!(voices.total(), total, "{toml}");
    Voice::ALL.map(|voice| voices.of(voice))
}

#[test]
fn each_token_is_said_by_somebody() {
    let one = format!("{CHARS}image_tokens = 100\nchars_per_token = 1");
    assert_eq!(voices(ANTHROPIC, &one), [0, 10, 21, 112, 0]);
    // If several voices share a message, each gets its part of what the message adds: 4 and 12 of 16 characters, rounded together.
    let mixed = concat!(
        r#"{"role":"user","content":[{"type":"text","text":"1234"},"#,
        r#"{"type":"tool_result","tool_use_id":"t","content":"123456789012"}]}"#,
    );
    assert_eq!(voices(mixed, &one), [0, 4, 0, 12, 0]);
    let thirds = format!("{CHARS}chars_per_token = 3");
    assert_eq!(voices(mixed, &thirds), [0, 1, 0, 4, 0]);
    let both = format!("{ANTHROPIC}{mixed}\n");
    for per in ["message", "conversation"] {
        for scope in [
            "content",
            "strings",
            "message_json",
            "history_json",
            "history_repr",
            "role_content",
        ] {
            for method in ["chars", "classes", "bpe"] {
                for rounding in ["floor", "ceil"] {
                    let toml = format!(
                        "method = \"{method}\"\nscope = \"{scope}\"\nper = \"{per}\"\nrounding = \"{rounding}\""
                    );
                    voices(&both, &toml);
                    voices("\n", &toml);
                }
            }
        }
    }
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
    // A message whose whole content is a result: a string, or a list, whose brackets count once.
    for content in [r#""so""#, r#"[{"type":"text","text":"so"}]"#] {
        let line = format!(r#"{{"role":"tool","tool_call_id":"c","content":{content}}}"#);
        let length = line.len() as u64;
        assert_eq!(count(Format::OpenAi, &line, &scope), (length, vec![length]));
    }
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
        [4 + 3]
    );
    assert_eq!(
        count(
            Format::Anthropic,
            r#"{"role":"user","content":[{"type":"text","text":"abc"}]}"#,
            &role
        )
        .1,
        [4 + r#"[{"type":"text","text":"abc"}]"#.len() as u64]
    );
}

/// The figures are those of Python: `len(str(messages))`, and of each message.
#[test]
fn the_history_counts_as_python_prints_it() {
    let scope = format!("{CHARS}scope = \"history_repr\"\nimage_tokens = 0\nchars_per_token = 1");
    let written = format!("{scope}\nimages = \"written\"");
    let whole = |toml: &str| {
        count(
            Format::Anthropic,
            ANTHROPIC,
            &format!("{toml}\nper = \"conversation\""),
        )
        .0
    };
    assert_eq!(whole(&written), 450);
    assert_eq!(
        count(Format::Anthropic, ANTHROPIC, &written).1,
        [41, 136, 169, 96]
    );
    // Without {'type': 'image', 'source': {'data': 'AAAA'}}.
    assert_eq!(whole(&scope), 450 - 45);
    let estimator = estimator(&scope);
    assert_eq!(
        estimator.tokens(estimator.message(Role::User, "héllo 世🎉🎉x")),
        41
    );
}

#[test]
fn pictures_count_as_they_are_written_where_the_policy_says_so() {
    let picture = r#"{"type":"image","source":{"data":"AAAA"}}"#.len() as u64;
    for scope in ["message_json", "role_content"] {
        let scope = format!("{CHARS}scope = \"{scope}\"\nimage_tokens = 0\nchars_per_token = 1");
        let flat = count(Format::Anthropic, ANTHROPIC, &scope).1;
        let written = count(
            Format::Anthropic,
            ANTHROPIC,
            &format!("{scope}\nimages = \"written\""),
        )
        .1;
        assert_eq!(
            [written[0], written[1], written[3]],
            [flat[0], flat[1], flat[3]]
        );
        assert_eq!(written[2], flat[2] + picture, "{scope}");
    }
    // `image_tokens` applies only to flat pictures.
    assert_eq!(settings("images = \"written\"").images, Images::Written);
    assert_eq!(
        settings("images = \"written\"\nimage_tokens = 5").images,
        Images::Written
    );
    let preset = policy::preset("reset").unwrap();
    assert_eq!(preset.tokens.images, Images::Written);
}

#[test]
fn the_texts_of_a_messages_own_list_are_strings() {
    let scope = format!("{CHARS}scope = \"strings\"\nchars_per_token = 1");
    let line = r#"{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"so"},{"type":"text","text":"it"}]}"#;
    assert_eq!(count(Format::OpenAi, line, &scope).0, 4);
    let in_it = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"so"}]}]}"#;
    assert_eq!(count(Format::Anthropic, in_it, &scope).0, 0);
}

#[test]
fn a_window_grows_as_if_each_message_were_its_last() {
    let line = |text: &str| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n");
    let lines = ["abc", "a", "abcdef"].map(line).concat();
    let growth = |toml: &str| {
        let transcript = Format::Anthropic.read(lines.as_bytes(), 1, &mut Warnings::default());
        let tokens = settings(&format!("{CHARS}{toml}"));
        let mut sizes = Sizes::new(Estimator::new(&tokens).unwrap());
        sizes.growth(&transcript, &transcript.conversations[0])
    };
    // 3, 1 and 6 characters, rounded down message by message, and once.
    assert_eq!(growth("chars_per_token = 2"), [1, 1, 4]);
    let once = "per = \"conversation\"\n";
    assert_eq!(growth(&format!("{once}chars_per_token = 2")), [1, 2, 5]);
    // [{"role":"user","content":"abc"}] has 33, and each message after it brings a comma.
    let history = format!("{once}scope = \"history_json\"\nchars_per_token = 1");
    assert_eq!(growth(&history), [33, 33 + 30, 33 + 30 + 35]);
}

#[test]
fn openai_arguments_are_text() {
    let line = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}"#;
    let scope = format!("{CHARS}chars_per_token = 1");
    assert_eq!(count(Format::OpenAi, line, &scope).0, 1 + 7);
}

fn estimator(toml: &str) -> Estimator {
    Estimator::new(&settings(toml)).unwrap()
}

fn tokens(toml: &str, text: &str) -> u64 {
    let estimator = estimator(toml);
    estimator.tokens(estimator.text(text))
}

#[test]
fn classes_are_near_the_exact_count() {
    let texts = [
        include_str!("mod.rs"),
        include_str!("classes/mod.rs"),
        include_str!("../../README.md"),
        include_str!("../../Cargo.lock"),
        include_str!("../../tests/layering.rs"),
    ];
    for text in texts {
        let exact = tokens(O200K, text);
        let estimate = tokens("method = \"classes\"", text);
        // Nine of ten texts that the weights were not fitted to are within this.
        assert!(
            estimate.abs_diff(exact) * 10 <= exact,
            "{estimate} for {exact}: {}",
            &text[..60]
        );
    }
}

const O200K: &str = "method = \"bpe\"\nencoding = \"o200k_base\"";
const CL100K: &str = "method = \"bpe\"\nencoding = \"cl100k_base\"";

/// Texts with their tokens in o200k_base and cl100k_base, counted with `encode_ordinary` of Python's tiktoken 0.14.0.
const COUNTED: [(&str, u64, u64); 19] = [
    ("", 0, 0),
    ("hello world", 2, 2),
    ("The quick brown fox jumps over the lazy dog.", 10, 10),
    ("    def f(self):\n        return {'a': 1}\n", 13, 13),
    ("1234567890", 4, 4),
    ("2026-11-22T04:31:07Z", 13, 13),
    ("<|endoftext|>", 7, 7),
    ("<|im_start|>user<|im_end|>", 13, 13),
    ("上下文压缩已完成", 6, 9),
    ("会話の要約を作成します", 9, 10),
    ("대화를 요약합니다", 5, 7),
    ("🎉👩\u{200d}👩\u{200d}👧\u{200d}👦🇪🇺", 17, 27),
    ("naïve café", 4, 4),
    ("a\r\n\r\n\tb   c  \n", 6, 6),
    ("don't I'LL we're", 4, 7),
    ("/usr/lib/x86_64-linux-gnu/libc.so.6", 14, 13),
    ("d41d8cd98f00b204e9800998ecf8427e", 19, 19),
    ("\u{200b}\u{feff}\u{301}", 3, 3),
    (".\n/", 1, 2),
];

#[test]
fn bpe_counts_as_the_published_tokenizer() {
    for (text, o200k, cl100k) in COUNTED {
        assert_eq!(
            (tokens(O200K, text), tokens(CL100K, text)),
            (o200k, cl100k),
            "{text:?}"
        );
    }
}

#[test]
fn bpe_reads_escapes_as_what_they_say() {
    let line = r#"{"role":"user","content":"\u4e0a\u4e0b\u6587\u538b\u7f29\u5df2\u5b8c\u6210"}"#;
    assert_eq!(count(Format::Anthropic, line, O200K), (6, vec![6]));
}

#[test]
fn bpe_counts_a_message_as_one_json_text() {
    let scope = format!("{CL100K}\nscope = \"message_json\"\nimage_tokens = 1000");
    // Counted as above: {"role":"user","content":"hé/\n"}
    let text = "{\"role\": \"user\", \"content\": \"h\\u00e9\\/\\n\"}\n";
    assert_eq!(count(Format::Anthropic, text, &scope).1, [12]);
    // Counted as above: {"role":"user","content":[{"type":"text","text":"ok"},]}
    let list = r#"{"role":"user","content":[{"type":"text","text":"ok"}, {"type":"image","source":{"data":"AAAA"}}]}"#;
    assert_eq!(count(Format::Anthropic, list, &scope).1, [16 + 1000]);
}

#[test]
fn long_runs_are_counted_in_time() {
    let million = 1_000_000;
    // The longest runs of the vocabulary: 128 spaces, 8 letters a, 3 digits.
    assert_eq!(tokens(O200K, &" ".repeat(million)), 7813);
    assert_eq!(tokens(O200K, &"a".repeat(million)), 125_000);
    assert_eq!(tokens(O200K, &"7".repeat(10 * million)), 3_333_334);
}

#[test]
fn pictures_and_documents_cost_the_same_in_every_method() {
    let line = concat!(
        r#"{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"AAAA"}},"#,
        r#"{"type":"document","source":{"type":"base64","data":"AAAA"}}]}"#
    );
    for method in ["chars", "classes", "bpe"] {
        let toml = format!("method = \"{method}\"\nimage_tokens = 100\ndocument_tokens = 7");
        assert_eq!(count(Format::Anthropic, line, &toml).0, 107, "{method}");
    }
}

/// Otherwise an output could be replaced by a text that counts for more in its message.
#[test]
fn a_result_alone_counts_as_in_its_message_and_as_its_replacement() {
    let line = r#"{"role":"tool","tool_call_id":"c","content":"a\t\"b\"\n"}"#;
    let transcript = Format::OpenAi.read(line.as_bytes(), 1, &mut Warnings::default());
    let result = transcript.block(0);
    for scope in ["content", "strings", "role_content"] {
        let estimator = estimator(&format!("{CHARS}chars_per_token = 1\nscope = \"{scope}\""));
        let sizes = [
            estimator.result(&transcript, result),
            estimator.replaced(&transcript, result, "a\t\"b\"\n"),
            estimator.block(&transcript, result),
        ];
        assert_eq!(sizes.map(|size| estimator.tokens(size)), [6; 3], "{scope}");
    }
}
