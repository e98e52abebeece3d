//! OpenAI chat completions: one message or one conversation per line.

use super::anthropic::{READS, TOOLS, block};
use super::tape::Tape;
use super::text::{Json, Mode, Style, object, output, text_of, unknown_fields, words};

/// The lines of a transcript of 1 to 40 messages, one per line.
pub(super) fn lines(tape: &mut Tape, mode: Mode) -> Vec<Vec<u8>> {
    let mut style = Style::any(tape, mode);
    let messages = messages(tape, mode, 40);
    let write = |message| {
        if tape.one_in(12) {
            style = Style::any(tape, mode);
        }
        style.write(&message)
    };
    messages.into_iter().map(write).collect()
}

/// The lines of 1 to 6 conversations, one per line.
pub(super) fn conversations(tape: &mut Tape, mode: Mode) -> Vec<Vec<u8>> {
    let style = Style::any(tape, mode);
    let count = tape.between(1, 6);
    let conversation = |_| {
        let mut entries = vec![("messages", Json::List(messages(tape, mode, 14)))];
        if tape.one_in(3) {
            let tools = "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{}}}]";
            entries.push(("tools", Json::Raw(tools)));
        }
        unknown_fields(tape, &mut entries);
        style.write(&Json::Object(entries))
    };
    (0..count).map(conversation).collect()
}

fn messages(tape: &mut Tape, mode: Mode, longest: usize) -> Vec<Json> {
    let most = tape.between(1, longest);
    let mut writer = Writer {
        tape,
        mode,
        messages: Vec::new(),
        ids: 0,
    };
    if writer.tape.one_in(2) {
        let role = writer.tape.pick(&["system", "developer"]);
        let prompt = text_of(words(writer.tape, mode));
        writer.message(role, vec![("content", prompt)]);
    }
    loop {
        if writer.tape.one_in(12) {
            let prompt = text_of(words(writer.tape, mode));
            writer.message("system", vec![("content", prompt)]);
        }
        let said = writer.user_content();
        writer.message("user", vec![("content", said)]);
        while writer.messages.len() < most && writer.tape.one_in(2) {
            if writer.tape.one_in(6) {
                writer.older_round();
            } else {
                writer.round();
            }
        }
        if writer.messages.len() >= most {
            break;
        }
        let said = text_of(words(writer.tape, mode));
        let mut entries = vec![("content", said)];
        writer.thoughts(&mut entries);
        writer.message("assistant", entries);
    }
    writer.messages
}

struct Writer<'t> {
    tape: &'t mut Tape,
    mode: Mode,
    messages: Vec<Json>,
    ids: usize,
}

impl Writer<'_> {
    fn message(&mut self, role: &'static str, entries: Vec<(&'static str, Json)>) {
        let mut all = vec![("role", text_of(role))];
        all.extend(entries);
        if self.tape.one_in(10) {
            // A duplicate key: the last one counts, and it is the same in whatever order they are written.
            let at = self.tape.below(all.len());
            let twice = all[at].clone();
            all.push(twice);
        }
        unknown_fields(self.tape, &mut all);
        self.messages.push(Json::Object(all));
    }

    fn user_content(&mut self) -> Json {
        let said = text_of(words(self.tape, self.mode));
        let picture = Json::Raw("{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:x\"}}");
        match self.tape.below(5) {
            0..3 => said,
            3 => Json::List(vec![block("text", [("text", said)])]),
            _ => Json::List(vec![block("text", [("text", said)]), picture]),
        }
    }

    fn thoughts(&mut self, entries: &mut Vec<(&'static str, Json)>) {
        if self.tape.one_in(5) {
            let key = self.tape.pick(&["reasoning_content", "reasoning"]);
            entries.push((key, text_of(words(self.tape, self.mode))));
        }
        if self.tape.one_in(8) {
            entries.push(("refusal", Json::Raw("null")));
        }
    }

    /// An assistant message with calls and a tool message for each.
    fn round(&mut self) {
        let mut ids = Vec::new();
        for _ in 0..self.tape.between(1, 3) {
            // Noise contains duplicate ids.
            if self.mode == Mode::Clean || !self.tape.one_in(10) {
                self.ids += 1;
            }
            ids.push(format!("call_{}", self.ids));
        }
        let calls = ids.iter().map(|id| call(self.tape, id)).collect();
        let content = match self.tape.below(4) {
            0 | 1 => Json::Raw("null"),
            2 => text_of(""),
            _ => text_of(words(self.tape, self.mode)),
        };
        let mut entries = vec![("content", content), ("tool_calls", Json::List(calls))];
        if self.tape.one_in(5) {
            entries.remove(0);
        }
        self.thoughts(&mut entries);
        self.message("assistant", entries);
        if self.mode == Mode::Noisy && self.tape.one_in(12) {
            ids.pop();
        }
        for id in ids {
            let mut entries = vec![("tool_call_id", text_of(id))];
            let contents = if self.tape.one_in(10) { 2 } else { 1 };
            for _ in 0..contents {
                entries.push(("content", self.result()));
            }
            if self.tape.one_in(4) {
                entries.push(("name", text_of(self.tape.pick(&TOOLS))));
            }
            self.message("tool", entries);
        }
    }

    /// The older form: one call per message, without ids.
    fn older_round(&mut self) {
        // Here the name links the result to its call, so it is a valid one.
        let (name, arguments) = if self.tape.one_in(2) {
            self.tape.pick(&READS)
        } else {
            (self.tape.pick(&TOOLS[..8]), "{\"a\":1}")
        };
        let called = [("name", text_of(name)), ("arguments", text_of(arguments))];
        let asks = [
            ("content", Json::Raw("null")),
            ("function_call", object(called)),
        ];
        self.message("assistant", asks.into());
        let result = self.result();
        self.message(
            "function",
            vec![("name", text_of(name)), ("content", result)],
        );
    }

    fn result(&mut self) -> Json {
        let output = output(self.tape, self.mode);
        let text = || block("text", [("text", text_of(output.as_str()))]);
        let picture = Json::Raw("{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:y\"}}");
        let kinds = if self.mode == Mode::Clean { 16 } else { 20 };
        match self.tape.below(kinds) {
            0..10 => text_of(output),
            10..12 => Json::List(vec![text()]),
            12 => Json::List(vec![text(), text()]),
            13 => Json::List(vec![text(), picture]),
            14 => Json::List(vec![picture]),
            15 => text_of(""),
            16 => Json::Raw("null"),
            17 => Json::Raw("{\"rows\":[1,2.50]}"),
            18 => Json::List(vec![text_of(output), Json::Raw("3")]),
            _ => Json::List(Vec::new()),
        }
    }
}

fn call(tape: &mut Tape, id: &str) -> Json {
    let (name, arguments) = if tape.one_in(2) {
        tape.pick(&READS)
    } else {
        let arguments = [
            "{\"path\":\"/a\"}",
            "",
            "{not json",
            "{\"q\": \"世\\u00e9\"}",
        ];
        (tape.pick(&TOOLS), tape.pick(&arguments))
    };
    let name = ("name", text_of(name));
    let mut entries = vec![("id", text_of(id))];
    if tape.one_in(6) {
        let called = object([name, ("input", text_of(arguments))]);
        entries.extend([("type", text_of("custom")), ("custom", called)]);
    } else {
        let called = object([name, ("arguments", text_of(arguments))]);
        entries.extend([("type", text_of("function")), ("function", called)]);
    }
    unknown_fields(tape, &mut entries);
    Json::Object(entries)
}
