//! Model messages of the AI SDK, one per line.

use super::anthropic::{READS, TOOLS, block};
use super::tape::Tape;
use super::text::{Json, Mode, Style, object, output, text_of, unknown_fields, words};

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
    if writer.tape.one_in(3) {
        writer.system();
    }
    loop {
        if writer.tape.one_in(12) {
            writer.system();
        }
        let said = writer.user_content();
        writer.message("user", said);
        while writer.lines.len() < most && writer.tape.one_in(2) {
            writer.round();
        }
        if writer.lines.len() >= most {
            break;
        }
        let said = writer.answer();
        writer.message("assistant", said);
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
        if self.tape.one_in(8) {
            entries.push((
                "providerOptions",
                Json::Raw("{\"anthropic\":{\"cacheControl\":{}}}"),
            ));
        }
        unknown_fields(self.tape, &mut entries);
        if self.tape.one_in(12) {
            self.style = Style::any(self.tape, self.mode);
        }
        self.lines.push(self.style.write(&Json::Object(entries)));
    }

    fn system(&mut self) {
        let prompt = text_of(words(self.tape, self.mode));
        self.message("system", prompt);
    }

    fn words(&mut self) -> Json {
        let said = text_of(words(self.tape, self.mode));
        block("text", [("text", said)])
    }

    fn user_content(&mut self) -> Json {
        let picture =
            Json::Raw("{\"type\":\"image\",\"image\":\"aGk=\",\"mediaType\":\"image/png\"}");
        match self.tape.below(5) {
            0..3 => text_of(words(self.tape, self.mode)),
            3 => Json::List(vec![self.words()]),
            _ => Json::List(vec![self.words(), picture]),
        }
    }

    fn answer(&mut self) -> Json {
        if self.tape.one_in(2) {
            return text_of(words(self.tape, self.mode));
        }
        let mut parts = self.thoughts();
        parts.push(self.words());
        Json::List(parts)
    }

    fn thoughts(&mut self) -> Vec<Json> {
        let mut parts = Vec::new();
        if self.tape.one_in(3) {
            let said = text_of(words(self.tape, self.mode));
            let options = Json::Raw("{\"anthropic\":{\"signature\":\"Ep8C+/==\"}}");
            parts.push(block(
                "reasoning",
                [("text", said), ("providerOptions", options)],
            ));
        }
        if self.tape.one_in(3) {
            parts.push(self.words());
        }
        parts
    }

    /// An answer with calls, and tool messages with the results of these.
    fn round(&mut self) {
        let mut parts = self.thoughts();
        let mut results = Vec::new();
        for _ in 0..self.tape.between(1, 3) {
            // Noise contains duplicate ids.
            if self.mode == Mode::Clean || !self.tape.one_in(10) {
                self.ids += 1;
            }
            let id = format!("call_{}", self.ids);
            let (name, input) = if self.tape.one_in(2) {
                self.tape.pick(&READS)
            } else {
                let input = [
                    "{\"path\":\"/a\"}",
                    "{}",
                    "{ \"q\" : \"世\\u00e9\", \"n\": 1e3 }",
                ];
                (self.tape.pick(&TOOLS), self.tape.pick(&input))
            };
            let is_older = self.tape.one_in(6);
            let mut call = vec![
                ("type", text_of("tool-call")),
                ("toolCallId", text_of(&id)),
                ("toolName", text_of(name)),
                (if is_older { "args" } else { "input" }, Json::Raw(input)),
            ];
            unknown_fields(self.tape, &mut call);
            parts.push(Json::Object(call));
            results.push(self.result(&id, name, is_older));
        }
        if self.tape.one_in(8) {
            parts.extend(by_provider(&format!("srv_{}", self.ids)));
        }
        self.message("assistant", Json::List(parts));
        if self.mode == Mode::Noisy && self.tape.one_in(12) {
            results.pop();
        }
        if self.tape.one_in(2) {
            self.message("tool", Json::List(results));
        } else {
            for result in results {
                self.message("tool", Json::List(vec![result]));
            }
        }
    }

    fn result(&mut self, id: &str, name: &str, is_older: bool) -> Json {
        let mut result = vec![
            ("type", text_of("tool-result")),
            ("toolCallId", text_of(id)),
            ("toolName", text_of(name)),
        ];
        let said = output(self.tape, self.mode);
        if is_older {
            result.push(("result", text_of(&said)));
            if self.tape.one_in(4) {
                result.push(("isError", Json::Raw("true")));
            }
        } else {
            result.push(("output", self.output(said)));
        }
        unknown_fields(self.tape, &mut result);
        Json::Object(result)
    }

    fn output(&mut self, said: String) -> Json {
        let text = || block("text", [("text", text_of(said.as_str()))]);
        let of =
            |kind: &'static str, value: Json| object([("type", text_of(kind)), ("value", value)]);
        let kinds = if self.mode == Mode::Clean { 12 } else { 13 };
        match self.tape.below(kinds) {
            0..4 => of("text", text_of(said)),
            4 | 5 => of(
                "json",
                object([("stdout", text_of(said)), ("code", Json::Raw("0"))]),
            ),
            6 => of("json", Json::Raw("[ 1, 2.50,{\"a\": \"b\\n\"} ]")),
            7 => of("error-text", text_of(said)),
            8 => of("error-json", object([("message", text_of(said))])),
            9 => of("content", Json::List(vec![text(), text()])),
            10 => {
                let picture =
                    "{\"type\":\"image-data\",\"data\":\"aGk=\",\"mediaType\":\"image/png\"}";
                of("content", Json::List(vec![text(), Json::Raw(picture)]))
            }
            11 => object([
                ("type", text_of("execution-denied")),
                ("reason", text_of(said)),
            ]),
            _ => of("from-the-future", text_of(said)),
        }
    }
}

/// A call that the provider makes and answers itself.
fn by_provider(id: &str) -> [Json; 2] {
    let call = [
        ("toolCallId", text_of(id)),
        ("toolName", text_of("web_search")),
        ("input", Json::Raw("{\"query\":\"rust\"}")),
        ("providerExecuted", Json::Raw("true")),
    ];
    let found = Json::Raw("{\"type\":\"json\",\"value\":[{\"url\":\"https://example.com\"}]}");
    let result = [
        ("toolCallId", text_of(id)),
        ("toolName", text_of("web_search")),
        ("output", found),
    ];
    [block("tool-call", call), block("tool-result", result)]
}
