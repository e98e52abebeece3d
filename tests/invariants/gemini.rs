//! Sessions of Gemini CLI: messages that are written again, results that stand twice, resumptions that write the whole history
//! anew, and prompts that were taken back.
//!
//! The writer knows which lines a model still sees.

use std::collections::BTreeSet;

use super::anthropic::{READS, TOOLS};
use super::known::{Known, Window};
use super::tape::Tape;
use super::text::{Json, Mode, Style, object, output, text_of, unknown_fields, words};

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    pub lines: Vec<Vec<u8>>,
    pub known: Known,
}

/// A session of 1 to 40 messages.
pub(super) fn session(tape: &mut Tape, mode: Mode) -> Session {
    let mut writer = Writer {
        // Only this program recognises a type that is written with escapes.
        style: Style::any(tape, Mode::Clean),
        mode,
        lines: Vec::new(),
        kinds: Vec::new(),
        messages: Vec::new(),
        restart: 0,
        ids: 0,
        calls: 0,
        prompts: BTreeSet::new(),
        tape,
    };
    writer.main();
    writer.session()
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It stays.
    Session,
    /// It has a message, or several, or changes which there are.
    Message,
    /// Only says when the session was changed.
    Time,
}

/// A message that the agent has.
#[derive(Debug, Clone)]
struct Message {
    id: String,
    /// The line with its last version.
    line: usize,
    /// Whether it is sent, as an answer or in the user's name.
    kind: Option<&'static str>,
    parts: Vec<Json>,
    /// The results that it holds, which are sent after it.
    results: Vec<Json>,
}

struct Writer<'t> {
    tape: &'t mut Tape,
    mode: Mode,
    style: Style,
    lines: Vec<Vec<u8>>,
    kinds: Vec<Kind>,
    messages: Vec<Message>,
    /// The line that last replaced all messages.
    restart: usize,
    ids: usize,
    calls: usize,
    /// The ids of what the user typed.
    prompts: BTreeSet<String>,
}

const TIME: &str = "2026-01-02T00:00:00.000Z";

impl Writer<'_> {
    fn main(&mut self) {
        self.header();
        self.context();
        let most = self.tape.between(1, 40);
        while self.ids < most {
            match self.tape.below(14) {
                10 => self.note(),
                11 => self.rewind(),
                // Noise may make a part of a list superfluous, which is removed without its line.
                12 | 13 if self.mode == Mode::Clean => self.resume(),
                _ => {}
            }
            self.turn(most);
        }
        if self.mode == Mode::Clean && self.tape.one_in(6) {
            self.resume();
        }
    }

    fn line(&mut self, kind: Kind, mut entries: Vec<(&'static str, Json)>) -> usize {
        if self.tape.one_in(16) {
            self.style = Style::any(self.tape, Mode::Clean);
        }
        if kind == Kind::Message {
            unknown_fields(self.tape, &mut entries);
            if self.tape.one_in(12) {
                // A duplicate key: the last one counts, and it is the same in whatever order they are written.
                let at = self.tape.below(entries.len());
                let twice = entries[at].clone();
                entries.push(twice);
            }
        }
        self.lines.push(self.style.write(&Json::Object(entries)));
        self.kinds.push(kind);
        self.lines.len() - 1
    }

    fn header(&mut self) {
        let id = "1307a0e7-228c-4264-9f9a-3632866d31f0";
        let entries = vec![
            ("sessionId", text_of(id)),
            ("projectHash", text_of("3a2a0eeefd7e41d2")),
            ("startTime", text_of(TIME)),
            ("lastUpdated", text_of(TIME)),
            ("kind", text_of("main")),
        ];
        self.line(Kind::Session, entries);
    }

    /// The agent's context, which it writes anew for every request.
    fn context(&mut self) {
        let said = part("<session_context>\nThis is the agent.\n</session_context>");
        let item = message("c0", "user", vec![("content", Json::List(vec![said]))]);
        self.replace(vec![Json::Object(item)]);
        self.messages.clear();
    }

    fn replace(&mut self, items: Vec<Json>) -> usize {
        let set = object([
            ("messages", Json::List(items)),
            ("lastUpdated", text_of(TIME)),
        ]);
        self.restart = self.line(Kind::Message, vec![("$set", set)]);
        self.restart
    }

    fn time(&mut self) {
        if self.tape.one_in(2) {
            let set = object([("lastUpdated", text_of(TIME))]);
            self.line(Kind::Time, vec![("$set", set)]);
        }
    }

    fn id(&mut self) -> String {
        self.ids += 1;
        format!("m{}", self.ids)
    }

    /// A message for the user.
    fn note(&mut self) {
        let id = self.id();
        let kind = self.tape.pick(&["info", "error", "warning"]);
        let said = text_of(words(self.tape, self.mode));
        let line = self.line(Kind::Message, message(&id, kind, vec![("content", said)]));
        self.has(&id, line, None, Vec::new(), Vec::new());
    }

    fn has(
        &mut self,
        id: &str,
        line: usize,
        kind: Option<&'static str>,
        parts: Vec<Json>,
        results: Vec<Json>,
    ) {
        let new = Message {
            id: id.to_owned(),
            line,
            kind,
            parts,
            results,
        };
        match self.messages.iter_mut().find(|message| message.id == id) {
            Some(message) => *message = new,
            None => self.messages.push(new),
        }
    }

    /// Words that are neither blank nor begin like a command.
    fn words(&mut self) -> String {
        format!("so {}", words(self.tape, self.mode))
    }

    fn turn(&mut self, most: usize) {
        let said = self.words();
        let mut parts = vec![part(&said)];
        if self.tape.one_in(6) {
            let data = object([
                ("mimeType", text_of("image/png")),
                ("data", text_of("aGk=")),
            ]);
            parts.push(object([("inlineData", data)]));
        }
        let content = match self.tape.one_in(4) && parts.len() == 1 {
            true => text_of(&*said),
            false => Json::List(parts.clone()),
        };
        let id = self.id();
        let line = self.line(
            Kind::Message,
            message(&id, "user", vec![("content", content)]),
        );
        self.has(&id, line, Some("user"), parts, Vec::new());
        self.prompts.insert(id);
        self.time();
        while self.ids < most && self.tape.one_in(2) {
            self.round();
        }
        if !self.tape.one_in(8) {
            let said = self.words();
            self.answer(&said);
        }
    }

    fn answer(&mut self, said: &str) {
        let id = self.id();
        let entries = self.answered(text_of(said));
        let line = self.line(Kind::Message, message(&id, "gemini", entries));
        self.has(&id, line, Some("gemini"), vec![part(said)], Vec::new());
        self.time();
    }

    fn answered(&mut self, content: Json) -> Vec<(&'static str, Json)> {
        let mut thoughts = Vec::new();
        if self.tape.one_in(3) {
            let said = text_of(words(self.tape, self.mode));
            thoughts.push(object([
                ("subject", text_of("Looking")),
                ("description", said),
            ]));
        }
        vec![
            ("content", content),
            ("thoughts", Json::List(thoughts)),
            (
                "tokens",
                Json::Raw("{\"input\":12,\"output\":3,\"cached\":0,\"total\":15}"),
            ),
            ("model", text_of("gemini-2.5-pro")),
        ]
    }

    /// An answer with calls, and a result of each.
    fn round(&mut self) {
        let said = if self.tape.one_in(3) {
            self.words()
        } else {
            String::new()
        };
        let mut parts: Vec<Json> = Vec::new();
        if !said.is_empty() {
            parts.push(part(&said));
        }
        let (mut calls, mut tools, mut results) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.tape.between(1, 3) {
            // Noise contains duplicate ids.
            if self.mode == Mode::Clean || !self.tape.one_in(10) {
                self.calls += 1;
            }
            let id = format!("call_{}", self.calls);
            let (name, args) = if self.tape.one_in(2) {
                self.tape.pick(&READS)
            } else {
                (
                    self.tape.pick(&TOOLS),
                    "{ \"q\" : \"世\\u00e9\", \"n\": 1e3 }",
                )
            };
            let called = || {
                vec![
                    ("id", text_of(&*id)),
                    ("name", text_of(name)),
                    ("args", Json::Raw(args)),
                ]
            };
            let (response, is_error) = self.response();
            let result = function_response(&id, name, response);
            calls.push(object([("functionCall", Json::Object(called()))]));
            let mut tool = called();
            tool.push(("result", Json::List(vec![result.clone()])));
            let status = if is_error { "error" } else { "success" };
            tool.push(("status", text_of(status)));
            if self.tape.one_in(2) {
                tool.push(("resultDisplay", self.shown()));
            }
            unknown_fields(self.tape, &mut tool);
            tools.push(Json::Object(tool));
            results.push(result);
        }
        parts.extend(calls.clone());
        match self.tape.below(3) {
            0 => self.recorded(&said, parts, tools, results),
            1 => {
                let id = self.id();
                let mut entries = self.answered(text_of(&*said));
                entries.push(("toolCalls", Json::List(tools)));
                let line = self.line(Kind::Message, message(&id, "gemini", entries));
                self.has(&id, line, Some("gemini"), parts, results);
            }
            _ => self.resumed(parts, results),
        }
        self.time();
    }

    /// As the agent records it: without the calls, with them, and then the results once more.
    fn recorded(&mut self, said: &str, parts: Vec<Json>, tools: Vec<Json>, results: Vec<Json>) {
        let id = self.id();
        let mut entries = self.answered(text_of(said));
        self.line(Kind::Message, message(&id, "gemini", entries.clone()));
        self.time();
        entries.push(("toolCalls", Json::List(tools)));
        // Results are repeated as they were written.
        let line = self.line(Kind::Message, message(&id, "gemini", entries));
        let style = self.style;
        self.has(&id, line, Some("gemini"), parts, results.clone());
        if self.tape.one_in(5) {
            return;
        }
        let id = self.id();
        let entries = message(&id, "user", vec![("content", Json::List(results))]);
        self.lines.push(style.write(&Json::Object(entries)));
        self.kinds.push(Kind::Message);
        let line = self.lines.len() - 1;
        self.has(&id, line, None, Vec::new(), Vec::new());
        // It is sent as a repetition, so that it is dead at once.
        if let Some(repeated) = self.messages.last_mut() {
            repeated.kind = Some("repeated");
        }
    }

    /// As it stands after a resumption: calls and results as parts of messages.
    fn resumed(&mut self, parts: Vec<Json>, mut results: Vec<Json>) {
        let id = self.id();
        let entries = vec![("content", Json::List(parts.clone()))];
        let line = self.line(Kind::Message, message(&id, "gemini", entries));
        self.has(&id, line, Some("gemini"), parts, Vec::new());
        if self.mode == Mode::Noisy && self.tape.one_in(12) {
            results.pop();
        }
        let id = self.id();
        let entries = vec![("content", Json::List(results.clone()))];
        let line = self.line(Kind::Message, message(&id, "user", entries));
        self.has(&id, line, Some("user"), results, Vec::new());
    }

    /// What a tool said, and whether it failed.
    fn response(&mut self) -> (Json, bool) {
        let said = text_of(output(self.tape, self.mode));
        match self.tape.below(12) {
            0..9 => (object([("output", said)]), false),
            9 => (object([("error", said)]), true),
            10 => (object([("output", said), ("code", Json::Raw("0"))]), false),
            _ => (Json::Raw("{\"rows\":[1,2.50]}"), false),
        }
    }

    fn shown(&mut self) -> Json {
        let said = text_of(output(self.tape, self.mode));
        match self.tape.one_in(3) {
            true => object([("fileDiff", said), ("fileName", text_of("a.rs"))]),
            false => said,
        }
    }

    /// The agent is opened again: it begins a session, finds the old one, and writes all messages anew.
    fn resume(&mut self) {
        let before = std::mem::take(&mut self.messages);
        self.header();
        self.context();
        let set = object([("sessionId", text_of("1307a0e7-228c-4264-9f9a-3632866d31f0"))]);
        self.line(Kind::Session, vec![("$set", set)]);
        let mut items = Vec::new();
        let mut messages = Vec::new();
        for old in before {
            let Some(kind) = old.kind.filter(|kind| *kind != "repeated") else {
                continue;
            };
            let content = vec![("content", Json::List(old.parts.clone()))];
            items.push(Json::Object(message(&old.id, kind, content)));
            let results = old.results.clone();
            messages.push(Message {
                results: Vec::new(),
                ..old.clone()
            });
            if !results.is_empty() {
                let id = format!("{}_response", old.id);
                let content = vec![("content", Json::List(results.clone()))];
                items.push(Json::Object(message(&id, "user", content)));
                messages.push(Message {
                    id,
                    kind: Some("user"),
                    parts: results,
                    results: Vec::new(),
                    ..old
                });
            }
        }
        let line = self.replace(items);
        for message in &mut messages {
            message.line = line;
        }
        self.messages = messages;
    }

    /// A prompt since the last resumption is taken back, with all that followed.
    fn rewind(&mut self) {
        let is_prompt =
            |message: &&Message| message.line > self.restart && self.prompts.contains(&message.id);
        let prompts: Vec<String> = self
            .messages
            .iter()
            .filter(is_prompt)
            .map(|m| m.id.clone())
            .collect();
        let Some(most) = prompts.len().checked_sub(1) else {
            return;
        };
        let id = prompts[self.tape.below(most + 1)].clone();
        let at = self.messages.iter().position(|message| message.id == id);
        self.messages.truncate(at.unwrap_or(0));
        self.line(Kind::Message, vec![("$rewindTo", text_of(id))]);
    }

    fn session(self) -> Session {
        let known = match self.mode {
            Mode::Clean => self.known(),
            Mode::Noisy => Known::default(),
        };
        Session {
            lines: self.lines,
            known,
        }
    }

    fn known(&self) -> Known {
        let sent = self
            .messages
            .iter()
            .filter(|m| matches!(m.kind, Some("user" | "gemini")));
        let mut lines: Vec<usize> = sent.map(|message| message.line).collect();
        lines.dedup();
        let mut stays: BTreeSet<usize> = lines.iter().copied().collect();
        let notes = self
            .messages
            .iter()
            .filter(|message| message.kind.is_none());
        stays.extend(notes.map(|note| note.line));
        stays.insert(self.restart);
        let times = |line: &usize| self.kinds[*line] == Kind::Time;
        let last_time = (0..self.lines.len()).rfind(times);
        let is_dead = |line: &usize| match self.kinds[*line] {
            Kind::Session => false,
            Kind::Message => !stays.contains(line),
            Kind::Time => *line < self.restart && Some(*line) != last_time,
        };
        let dead = (0..self.lines.len()).filter(is_dead).collect();
        let is_empty = lines.is_empty();
        let repeated = self.messages.iter();
        let repeated = repeated.filter(|message| message.kind == Some("repeated"));
        Known {
            windows: vec![Window {
                lines,
                copies: repeated.map(|message| message.line).collect(),
                ..Window::default()
            }],
            dead: if is_empty { BTreeSet::new() } else { dead },
            ..Known::default()
        }
    }
}

fn message(
    id: &str,
    kind: &'static str,
    more: Vec<(&'static str, Json)>,
) -> Vec<(&'static str, Json)> {
    let mut entries = vec![
        ("id", text_of(id)),
        ("timestamp", text_of(TIME)),
        ("type", text_of(kind)),
    ];
    entries.extend(more);
    entries
}

fn part(said: &str) -> Json {
    object([("text", text_of(said))])
}

fn function_response(id: &str, name: &str, response: Json) -> Json {
    let said = object([
        ("id", text_of(id)),
        ("name", text_of(name)),
        ("response", response),
    ]);
    object([("functionResponse", said)])
}
