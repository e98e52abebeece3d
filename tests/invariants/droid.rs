//! Sessions of Factory Droid: a header and messages in their order, with compactions that name the last message that they cover.

use std::collections::BTreeSet;

use super::anthropic::{READS, TOOLS};
use super::known::{Known, Window};
use super::tape::Tape;
use super::text::{Json, Mode, Style, object, output, text_of, unknown_fields, words};

/// The lines of a session of 1 to 40 messages, and which of them are live.
pub(super) fn session(tape: &mut Tape, mode: Mode) -> (Vec<Vec<u8>>, Known) {
    let most = tape.between(1, 40);
    let mut writer = Writer {
        // Only this program recognises a type that is written with escapes.
        style: Style::any(tape, Mode::Clean),
        mode,
        lines: Vec::new(),
        kinds: Vec::new(),
        messages: Vec::new(),
        summary: None,
        begins: 0,
        calls: 0,
        tape,
    };
    writer.header();
    while writer.messages.len() < most {
        writer.turn(most);
        if writer.tape.one_in(8) {
            writer.compaction();
        }
    }
    let known = match mode {
        Mode::Clean => writer.known(),
        Mode::Noisy => Known::default(),
    };
    (writer.lines, known)
}

/// What a line is, if it may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It stays.
    Session,
    Message,
    Compaction,
    /// How the turn of that message ended.
    Outcome(usize),
}

struct Writer<'t> {
    tape: &'t mut Tape,
    mode: Mode,
    style: Style,
    lines: Vec<Vec<u8>>,
    kinds: Vec<Kind>,
    /// The lines of all messages.
    messages: Vec<usize>,
    summary: Option<usize>,
    /// How many of them are summarised.
    begins: usize,
    calls: usize,
}

fn id(line: usize) -> Json {
    text_of(format!("{line:08x}-1111-4222-8333-444455556666"))
}

impl Writer<'_> {
    fn line(&mut self, kind: Kind, mut entries: Vec<(&'static str, Json)>) -> usize {
        unknown_fields(self.tape, &mut entries);
        if self.tape.one_in(16) {
            // A duplicate key: the last one counts, and it is the same in whatever order they are written.
            let twice = entries[self.tape.below(entries.len())].clone();
            entries.push(twice);
        }
        self.lines.push(self.style.write(&Json::Object(entries)));
        self.kinds.push(kind);
        self.lines.len() - 1
    }

    fn header(&mut self) {
        let entries = vec![
            ("type", text_of("session_start")),
            ("id", id(0)),
            ("version", Json::Raw("2")),
            ("cwd", text_of("/w")),
        ];
        self.line(Kind::Session, entries);
    }

    fn message(&mut self, role: &str, content: Json, more: Vec<(&'static str, Json)>) -> usize {
        let number = self.lines.len();
        let mut message = vec![("role", text_of(role)), ("content", content)];
        message.extend(more);
        unknown_fields(self.tape, &mut message);
        let mut entries = vec![
            ("type", text_of("message")),
            ("id", id(number)),
            ("timestamp", text_of("2026-01-02T00:00:00.000Z")),
        ];
        if let Some(last) = self.messages.last() {
            let parent = match self.mode == Mode::Noisy && self.tape.one_in(30) {
                true => self.tape.below(60),
                false => *last,
            };
            entries.push(("parentId", id(parent)));
        }
        entries.push(("message", Json::Object(message)));
        self.messages.push(number);
        self.line(Kind::Message, entries)
    }

    fn text(&mut self) -> Json {
        let said = text_of(words(self.tape, self.mode));
        object([("type", text_of("text")), ("text", said)])
    }

    fn turn(&mut self, most: usize) {
        match self.tape.below(10) {
            0 => {
                let said = self.text();
                let hidden = vec![("visibility", text_of("llm_only"))];
                self.message("user", Json::List(vec![said]), hidden);
            }
            1 => {
                let said = self.text();
                let shown = vec![("visibility", text_of("user_only"))];
                self.message("system", Json::List(vec![said]), shown);
            }
            2 => {
                let todos = vec![("type", text_of("todo_state")), ("todos", Json::Raw("{}"))];
                self.line(Kind::Session, todos);
            }
            _ => {}
        }
        let mut parts = vec![self.text()];
        if self.tape.one_in(6) {
            let source =
                Json::Raw("{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"aGk=\"}");
            parts.push(object([("type", text_of("image")), ("source", source)]));
        }
        let prompt = self.message("user", Json::List(parts), Vec::new());
        while self.messages.len() < most && self.tape.one_in(2) {
            self.round();
        }
        if !self.tape.one_in(8) {
            let said = self.text();
            self.message("assistant", Json::List(vec![said]), Vec::new());
        }
        if self.tape.one_in(2) {
            let entries = vec![
                ("type", text_of("agent_turn_outcome")),
                ("turnId", id(prompt)),
                ("reason", text_of("completed")),
            ];
            self.line(Kind::Outcome(prompt), entries);
        }
    }

    /// An answer with calls, and a result of each.
    fn round(&mut self) {
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        if self.tape.one_in(3) {
            calls.push(self.text());
        }
        for _ in 0..self.tape.between(1, 3) {
            // Noise contains duplicate ids.
            if self.mode == Mode::Clean || !self.tape.one_in(10) {
                self.calls += 1;
            }
            let call = format!("call_{}", self.calls);
            let (name, input) = match self.tape.one_in(2) {
                true => self.tape.pick(&READS),
                false => (
                    self.tape.pick(&TOOLS),
                    "{ \"q\" : \"世\\u00e9\", \"n\": 1e3 }",
                ),
            };
            calls.push(object([
                ("type", text_of("tool_use")),
                ("id", text_of(&*call)),
                ("name", text_of(name)),
                ("input", Json::Raw(input)),
            ]));
            let said = text_of(output(self.tape, self.mode));
            let content = match self.tape.one_in(4) {
                true => Json::List(vec![object([("type", text_of("text")), ("text", said)])]),
                false => said,
            };
            let failed = if self.tape.one_in(8) { "true" } else { "false" };
            results.push(object([
                ("type", text_of("tool_result")),
                ("tool_use_id", text_of(call)),
                ("is_error", Json::Raw(failed)),
                ("content", content),
            ]));
        }
        self.message("assistant", Json::List(calls), Vec::new());
        if self.mode == Mode::Noisy && self.tape.one_in(12) {
            results.pop();
        }
        self.message("user", Json::List(results), Vec::new());
    }

    /// A compaction of all messages, or of all but the last turns, or one whose last message is missing.
    fn compaction(&mut self) {
        let mut entries = vec![
            ("type", text_of("compaction_state")),
            ("id", id(self.lines.len())),
            ("summaryText", text_of(words(self.tape, self.mode))),
            ("summaryKind", text_of("llm_summary")),
        ];
        let covered = self.messages.len() - 1;
        let (anchor, begins) = match self.tape.below(4) {
            0 => (Some(object([("id", text_of("gone"))])), 0),
            1 => (None, 0),
            _ => {
                let named = object([
                    ("id", id(self.messages[covered])),
                    ("index", Json::Raw("3")),
                ]);
                (Some(named), covered + 1)
            }
        };
        entries.extend(anchor.map(|anchor| ("anchorMessage", anchor)));
        self.begins = begins;
        self.summary = Some(self.line(Kind::Compaction, entries));
    }

    fn known(&self) -> Known {
        let live = self.summary.into_iter();
        let live: Vec<usize> = live
            .chain(self.messages[self.begins..].iter().copied())
            .collect();
        let is_gone = |line: &usize| self.messages[..self.begins].contains(line);
        let is_dead = |line: &usize| match self.kinds[*line] {
            Kind::Session => false,
            Kind::Message => is_gone(line),
            Kind::Compaction => Some(*line) != self.summary,
            Kind::Outcome(prompt) => is_gone(&prompt),
        };
        let dead: BTreeSet<usize> = match self.summary {
            Some(_) => (0..self.lines.len()).filter(is_dead).collect(),
            None => BTreeSet::new(),
        };
        Known {
            windows: vec![Window {
                lines: live,
                ..Window::default()
            }],
            dead,
            ..Known::default()
        }
    }
}
