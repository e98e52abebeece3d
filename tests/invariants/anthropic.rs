//! Anthropic messages, one per line, and the content blocks that Claude Code shares with them.

use super::tape::Tape;
use super::text::{Json, Mode, Style, object, output, text_of, unknown_fields, words};

/// Names of tools of every kind, and some of unknown tools.
pub(super) const TOOLS: [&str; 14] = [
    "Bash",
    "Read",
    "Edit",
    "Write",
    "Grep",
    "WebFetch",
    "Task",
    "shell",
    "read_file",
    "str_replace_based_edit_tool",
    "mcp__db__query",
    "Прочитать",
    "say \"hi\"\\n",
    "",
];

/// Calls that read a few files by many names, completely or in part.
pub(super) const READS: [(&str, &str); 12] = [
    ("Read", "{\"file_path\":\"/w/a.rs\"}"),
    ("Read", "{\"file_path\":\"/w//a.rs\"}"),
    (
        "Read",
        "{ \"limit\" : \"5\", \"file_path\" : \"\\/w/./a.rs\" }",
    ),
    (
        "Read",
        "{\"file_path\":\"/w/a.rs\",\"offset\":3,\"limit\":8}",
    ),
    ("Read", "{\"file_path\":\"a.rs\",\"offset\":2}"),
    ("Read", "{\"file_path\":\"./a.rs\",\"limit\":null}"),
    ("read_file", "{\"path\":\"/w/a.rs\"}"),
    ("read_file", "{\"path\":\"/w/a.rs\",\"limit\":8}"),
    (
        "read_file",
        "{\"path\":\"/w/a.rs\",\"start_line\":3,\"end_line\":6}",
    ),
    ("read_file", "{\"path\":\"a.rs\",\"encoding\":\"hex\"}"),
    (
        "str_replace_based_edit_tool",
        "{\"command\":\"view\",\"path\":\"/w/a.rs\",\"view_range\":[2,-1]}",
    ),
    ("Read", "{\"file_path\":\"/w/b.rs\"}"),
];

/// The lines of a transcript of 1 to 40 messages.
pub(super) fn lines(tape: &mut Tape, mode: Mode) -> Vec<Vec<u8>> {
    let style = Style::any(tape, mode);
    let most = tape.between(1, 40);
    let mut writer = Writer {
        tape,
        mode,
        style,
        lines: Vec::new(),
        ids: 0,
    };
    if writer.tape.one_in(6) {
        let prompt = text_of(words(writer.tape, mode));
        writer.message("system", prompt);
    }
    loop {
        if writer.tape.one_in(12) {
            let prompt = text_of(words(writer.tape, mode));
            writer.message("system", prompt);
        }
        let said = user_content(writer.tape, mode);
        writer.message("user", said);
        while writer.lines.len() < most && writer.tape.one_in(2) {
            writer.round();
        }
        if writer.lines.len() >= most {
            break;
        }
        let answer = answer(writer.tape, mode);
        writer.message("assistant", answer);
    }
    writer.lines
}

struct Writer<'t> {
    tape: &'t mut Tape,
    mode: Mode,
    style: Style,
    lines: Vec<Vec<u8>>,
    ids: usize,
}

impl Writer<'_> {
    fn message(&mut self, role: &'static str, content: Json) {
        let mut entries = vec![("role", text_of(role)), ("content", content)];
        if self.tape.one_in(8) {
            // A duplicate key: the last one counts, and it is the same in whatever order they are written.
            let at = self.tape.below(entries.len());
            let twice = entries[at].clone();
            entries.push(twice);
        }
        if self.tape.one_in(3) {
            entries.push(("timestamp", text_of("2026-01-02T03:04:05.678Z")));
        }
        unknown_fields(self.tape, &mut entries);
        if self.tape.one_in(12) {
            self.style = Style::any(self.tape, self.mode);
        }
        self.lines.push(self.style.write(&Json::Object(entries)));
    }

    /// An answer with calls, and the results of these; each on one line or on several.
    fn round(&mut self) {
        let mut asks = thoughts(self.tape, self.mode);
        let mut results = Vec::new();
        for _ in 0..self.tape.between(1, 3) {
            let id = self.id();
            asks.push(call(self.tape, &id));
            let output = output(self.tape, self.mode);
            results.extend(answers(self.tape, self.mode, &id, &output));
        }
        if self.tape.one_in(6) {
            let id = self.id();
            asks.extend(server_call(&format!("srv{id}")));
        }
        self.split("assistant", asks);
        if self.tape.one_in(4) {
            results.push(block(
                "text",
                [("text", text_of(words(self.tape, self.mode)))],
            ));
        }
        self.split("user", results);
    }

    fn id(&mut self) -> String {
        // Noise contains duplicate ids.
        if self.mode == Mode::Clean || !self.tape.one_in(10) {
            self.ids += 1;
        }
        format!("toolu_{}", self.ids)
    }

    fn split(&mut self, role: &'static str, blocks: Vec<Json>) {
        if self.tape.one_in(3) {
            for block in blocks {
                self.message(role, Json::List(vec![block]));
            }
        } else if !blocks.is_empty() || self.mode == Mode::Noisy {
            self.message(role, Json::List(blocks));
        }
    }
}

/// A block of this type.
pub(super) fn block<const N: usize>(kind: &'static str, fields: [(&'static str, Json); N]) -> Json {
    let kind = [("type", text_of(kind))];
    Json::Object(kind.into_iter().chain(fields).collect())
}

/// The content of a person's message: a string, or a list with pictures.
pub(super) fn user_content(tape: &mut Tape, mode: Mode) -> Json {
    let said = text_of(words(tape, mode));
    match tape.below(6) {
        0..4 => said,
        4 => Json::List(vec![block("text", [("text", said)])]),
        _ => Json::List(vec![block("text", [("text", said)]), image(tape)]),
    }
}

/// The content of an answer without calls.
pub(super) fn answer(tape: &mut Tape, mode: Mode) -> Json {
    let said = text_of(words(tape, mode));
    if tape.one_in(3) {
        return said;
    }
    let mut blocks = thoughts(tape, mode);
    blocks.push(block("text", [("text", said)]));
    Json::List(blocks)
}

/// Blocks that may precede calls: thinking of both kinds, a text.
pub(super) fn thoughts(tape: &mut Tape, mode: Mode) -> Vec<Json> {
    let mut blocks = Vec::new();
    if tape.one_in(3) {
        let thought = [text_of(""), text_of(words(tape, mode))];
        let thinking = ("thinking", thought[tape.below(thought.len())].clone());
        blocks.push(if mode == Mode::Noisy && tape.one_in(6) {
            block("thinking", [thinking])
        } else {
            block("thinking", [thinking, ("signature", text_of("Ep8C+/=="))])
        });
    }
    if tape.one_in(12) {
        blocks.push(block("redacted_thinking", [("data", text_of("Em0="))]));
    }
    if tape.one_in(3) {
        blocks.push(block("text", [("text", text_of(words(tape, mode)))]));
    }
    blocks
}

/// A call of any tool.
pub(super) fn call(tape: &mut Tape, id: &str) -> Json {
    let (name, input) = if tape.one_in(2) {
        tape.pick(&READS)
    } else {
        let input = [
            "{\"file_path\":\"/a/b.rs\"}",
            "{}",
            "{ \"command\" : \"ls \\u002d\\u2014 世\", \"timeout\": 1e3 }",
            "{\"n\":12345678901234567890123,\"n\":2}",
        ];
        (tape.pick(&TOOLS), tape.pick(&input))
    };
    let mut entries = vec![
        ("type", text_of("tool_use")),
        ("id", text_of(id)),
        ("name", text_of(name)),
        ("input", Json::Raw(input)),
    ];
    unknown_fields(tape, &mut entries);
    Json::Object(entries)
}

fn server_call(id: &str) -> [Json; 2] {
    let query = Json::Raw("{\"query\":\"rust\"}");
    let found = Json::Raw("[{\"type\":\"web_search_result\",\"url\":\"https://example.com\"}]");
    let call = [
        ("id", text_of(id)),
        ("name", text_of("web_search")),
        ("input", query),
    ];
    let result = [("tool_use_id", text_of(id)), ("content", found)];
    [
        block("server_tool_use", call),
        block("web_search_tool_result", result),
    ]
}

/// The result of a call; in noise sometimes none, or two.
pub(super) fn answers(tape: &mut Tape, mode: Mode, id: &str, output: &str) -> Vec<Json> {
    let mut results = vec![result(tape, mode, id, output)];
    if mode == Mode::Noisy {
        match tape.below(16) {
            13 => results.clear(),
            14 => results.push(results[0].clone()),
            15 => results.push(result(tape, mode, "toolu_nobody", output)),
            _ => {}
        }
    }
    results
}

fn result(tape: &mut Tape, mode: Mode, id: &str, output: &str) -> Json {
    let mut entries = vec![
        ("type", text_of("tool_result")),
        ("tool_use_id", text_of(id)),
    ];
    let contents = if tape.one_in(10) { 2 } else { 1 };
    for _ in 0..contents {
        entries.extend(content(tape, mode, output).map(|content| ("content", content)));
    }
    if tape.one_in(4) {
        entries.push(("is_error", Json::Raw(tape.pick(&["false", "true"]))));
    }
    if tape.one_in(10) {
        entries.push(("cache_control", Json::Raw("{\"type\":\"ephemeral\"}")));
    }
    unknown_fields(tape, &mut entries);
    Json::Object(entries)
}

/// A result's content in any possible shape.
fn content(tape: &mut Tape, mode: Mode, output: &str) -> Option<Json> {
    let text = || block("text", [("text", text_of(output))]);
    let kinds = if mode == Mode::Clean { 26 } else { 32 };
    Some(match tape.below(kinds) {
        0..12 => text_of(output),
        12..16 => Json::List(vec![text()]),
        16..18 => Json::List(vec![text(), text()]),
        18 | 19 => Json::List(vec![text(), image(tape)]),
        20 => Json::List(vec![image(tape)]),
        21 => Json::List(vec![
            text(),
            Json::Raw("{\"type\":\"tool_reference\",\"tool_name\":\"x\"}"),
        ]),
        22 => Json::List(Vec::new()),
        23 => text_of(""),
        24 => Json::Raw("null"),
        25 => return None,
        26 => Json::List(vec![text_of(output), text()]),
        27 => Json::Raw("[7, null, [\"a\"]]"),
        28 => Json::Raw("{\"type\":\"text\",\"text\":\"an object\"}"),
        29 => Json::Raw("12.50"),
        30 => Json::List(vec![object([
            ("type", text_of("text")),
            ("text", Json::Raw("0")),
        ])]),
        _ => Json::List(vec![object([("text", text_of(output))])]),
    })
}

/// A picture of some bytes, or of some thousands.
pub(super) fn image(tape: &mut Tape) -> Json {
    let data = "iVBORw0K/+".repeat(tape.pick(&[1, 40, 600]));
    let source = object([
        ("type", text_of("base64")),
        ("media_type", text_of("image/png")),
        ("data", text_of(data)),
    ]);
    block("image", [("source", source)])
}
