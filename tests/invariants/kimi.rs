//! Sessions of Kimi Code: records of messages and of the events of steps, copies of both, compactions of two kinds, and what the
//! user cleared or took back.
//!
//! Switches of branches are left out: they name records by their numbers, and other lines may come between.

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
        has_copies: !tape.one_in(4),
        mode,
        lines: Vec::new(),
        kinds: Vec::new(),
        live: Vec::new(),
        dead: BTreeSet::new(),
        compaction: None,
        is_cut: false,
        written: 0,
        steps: 0,
        calls: 0,
        tape,
    };
    writer.header();
    while writer.written < most {
        writer.turn();
        match writer.tape.below(20) {
            0 => writer.cut_with_tail(),
            1 => writer.cut_with_words(),
            2 => writer.clear(),
            3 => writer.take_back(),
            _ => {}
        }
    }
    let known = match mode {
        Mode::Clean => writer.known(),
        Mode::Noisy => Known::default(),
    };
    (writer.lines, known)
}

/// What a line is, if it may leave.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// It stays.
    Session,
    /// A part of a message, or what changes messages.
    Message,
    /// A list of tools.
    Tools,
    /// What reports a turn.
    OfTurn,
    /// What a provider counted.
    Count,
    /// The record of a prompt, and a copy of a message: with the first line of that message.
    Prompt(usize),
    Copy(usize),
    /// The same of a result.
    CopiedResult(usize),
}

/// A message that is sent.
#[derive(Debug, Clone)]
struct Entry {
    lines: Vec<usize>,
    is_typed: bool,
    is_summary: bool,
}

struct Writer<'t> {
    tape: &'t mut Tape,
    mode: Mode,
    style: Style,
    /// Whether messages have ids and copies, as in newer versions.
    has_copies: bool,
    lines: Vec<Vec<u8>>,
    kinds: Vec<Kind>,
    live: Vec<Entry>,
    dead: BTreeSet<usize>,
    /// The last compaction, and whether it keeps what the user wrote.
    compaction: Option<(usize, bool)>,
    is_cut: bool,
    written: usize,
    steps: usize,
    calls: usize,
}

impl Writer<'_> {
    fn line(&mut self, kind: Kind, what: &str, more: Vec<(&'static str, Json)>) -> usize {
        let mut entries = vec![("type", text_of(what)), ("agentId", text_of("main"))];
        entries.extend(more);
        entries.push((
            "time",
            Json::Number(1_795_421_610_000 + self.lines.len() as u64),
        ));
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
        let version = vec![
            ("protocol_version", text_of("1.5")),
            ("created_at", Json::Number(1_795_421_610_000)),
        ];
        self.line(Kind::Session, "metadata", version);
        let disclosed = object([("cwd", text_of("/w"))]);
        let profile = vec![
            ("modelAlias", text_of("m")),
            ("systemPrompt", text_of("You are an agent.")),
            ("environmentDisclosure", disclosed),
        ];
        self.line(Kind::Session, "profile.bind", profile);
    }

    fn said(&mut self, lines: Vec<usize>) {
        self.live.push(Entry {
            lines,
            is_typed: false,
            is_summary: false,
        });
        self.written += 1;
    }

    /// A message as a whole.
    fn message(&mut self, role: &str, parts: Vec<Json>, origin: Json, id: Option<String>) -> usize {
        let mut message = vec![
            ("role", text_of(role)),
            ("content", Json::List(parts)),
            ("toolCalls", Json::List(Vec::new())),
            ("origin", origin),
        ];
        message.extend(id.map(|id| ("id", text_of(id))));
        unknown_fields(self.tape, &mut message);
        let more = vec![("message", Json::Object(message))];
        self.line(Kind::Message, "context.append_message", more)
    }

    /// Words of which the agent does not forget the step: not only blanks.
    fn words(&mut self) -> Json {
        let said = words(self.tape, self.mode);
        let is_blank = |c: char| c == '\u{feff}' || c.is_whitespace();
        match said.chars().all(is_blank) {
            true => text_of(said + "x"),
            false => text_of(said),
        }
    }

    fn text(&mut self) -> Json {
        let said = self.words();
        object([("type", text_of("text")), ("text", said)])
    }

    fn reminder(&mut self) -> usize {
        let said = object([
            ("type", text_of("text")),
            (
                "text",
                text_of("<system-reminder>\nGo on.\n</system-reminder>"),
            ),
        ]);
        let origin = object([("kind", text_of("injection")), ("variant", text_of("date"))]);
        self.message("user", vec![said], origin, None)
    }

    fn copy(&mut self, kind: Kind, role: &str, name: (&'static str, String), content: Json) {
        let mut message = vec![("role", text_of(role)), ("content", content)];
        let mut meta = vec![("source", text_of("llm"))];
        let (key, name) = name;
        match key {
            "toolCallId" => message.push((key, text_of(name))),
            key => meta.push((key, text_of(name))),
        }
        let both = object([
            ("message", Json::Object(message)),
            ("meta", Json::Object(meta)),
        ]);
        self.line(kind, "agent.message.appended", vec![("message", both)]);
    }

    fn turn(&mut self) {
        match self.tape.below(12) {
            0 => {
                self.line(
                    Kind::Session,
                    "permission.set_mode",
                    vec![("mode", text_of("auto"))],
                );
            }
            1 => {
                let tools = vec![
                    ("hash", text_of("b391")),
                    ("tools", Json::Raw("[{\"name\": \"Read\"}]")),
                ];
                self.line(Kind::Tools, "llm.tools_snapshot", tools);
            }
            _ => {}
        }
        let id = format!("msg_{}", self.lines.len());
        let mut parts = vec![self.text()];
        if self.tape.one_in(8) {
            let picture = Json::Raw("{\"url\":\"data:image/png;base64,aGk=\"}");
            parts.push(object([
                ("type", text_of("image_url")),
                ("imageUrl", picture),
            ]));
        }
        let prompt = self.lines.len();
        let mut entries = vec![("input", Json::List(parts.clone()))];
        if self.has_copies {
            entries.push(("promptId", text_of(&*id)));
        }
        self.line(Kind::Prompt(prompt + 1), "turn.prompt", entries);
        let origin = object([("kind", text_of("user"))]);
        let named = self.has_copies.then(|| id.clone());
        let message = self.message("user", parts.clone(), origin, named);
        self.said(vec![message]);
        if let Some(entry) = self.live.last_mut() {
            entry.is_typed = true;
        }
        if self.has_copies {
            let name = ("userMessageId", id);
            self.copy(Kind::Copy(message), "user", name, Json::List(parts));
        }
        if self.tape.one_in(4) {
            let line = self.reminder();
            self.said(vec![line]);
        }
        let mut copies = Vec::new();
        for _ in 0..self.tape.below(4) {
            self.step(true, &mut copies);
        }
        if !self.tape.one_in(8) {
            self.step(false, &mut copies);
        }
        for (kind, role, name, content) in copies {
            self.copy(kind, role, name, content);
        }
        if self.tape.one_in(2) {
            self.line(
                Kind::OfTurn,
                "turn.ended",
                vec![("reason", text_of("completed"))],
            );
        }
    }

    fn event(&mut self, what: &str, more: Vec<(&'static str, Json)>) -> usize {
        let mut event = vec![("type", text_of(what)), ("turnId", text_of("0"))];
        event.extend(more);
        unknown_fields(self.tape, &mut event);
        let more = vec![("event", Json::Object(event))];
        self.line(Kind::Message, "context.append_loop_event", more)
    }

    /// An answer, with calls and their results, or without.
    fn step(
        &mut self,
        calls: bool,
        copies: &mut Vec<(Kind, &'static str, (&'static str, String), Json)>,
    ) {
        self.steps += 1;
        let step = format!("step-{}", self.steps);
        let begin = self.event("step.begin", vec![("uuid", text_of(&*step))]);
        let mut lines = vec![begin];
        self.line(
            Kind::OfTurn,
            "llm.request",
            vec![("model", text_of("kimi-test"))],
        );
        let part = |writer: &mut Self, part: Json| {
            let more = vec![("stepUuid", text_of(&*step)), ("part", part)];
            writer.event("content.part", more)
        };
        if self.tape.one_in(3) {
            let thought = self.words();
            let thought = object([("type", text_of("think")), ("think", thought)]);
            lines.push(part(self, thought));
        }
        let is_silent = !calls && lines.len() == 1 && self.tape.one_in(8);
        if !is_silent && (!calls || self.tape.one_in(3)) {
            let said = self.text();
            lines.push(part(self, said));
        }
        let length = Json::Number(self.live.len() as u64 + 1);
        let tokens = Json::Number(self.tape.below(60_000) as u64);
        let counted = vec![("length", length), ("tokens", tokens)];
        self.line(Kind::Count, "token_counting.measured", counted);
        let mut asked = Vec::new();
        for _ in 0..if calls { self.tape.between(1, 3) } else { 0 } {
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
            lines.push(self.event(
                "tool.call",
                vec![
                    ("stepUuid", text_of(&*step)),
                    ("toolCallId", text_of(&*call)),
                    ("name", text_of(name)),
                    ("args", Json::Raw(input)),
                ],
            ));
            asked.push(call);
        }
        // What is said meanwhile follows the results.
        let meanwhile = (!asked.is_empty() && self.tape.one_in(10)).then(|| self.reminder());
        if self.tape.one_in(3) {
            asked.reverse();
        }
        if self.mode == Mode::Noisy && self.tape.one_in(12) {
            asked.pop();
        }
        let results: Vec<usize> = asked.iter().map(|call| self.result(call, copies)).collect();
        let answer = format!("answer-{}", self.steps);
        let mut more = vec![
            ("uuid", text_of(&*step)),
            ("finishReason", text_of("end_turn")),
            ("usage", Json::Raw("{\"inputOther\":3,\"output\":1}")),
        ];
        if self.has_copies {
            more.push(("messageId", text_of(&*answer)));
        }
        lines.push(self.event("step.end", more));
        if is_silent {
            self.dead.extend(lines);
            return;
        }
        if self.has_copies {
            let said = Json::List(Vec::new());
            copies.push((Kind::Copy(begin), "assistant", ("messageId", answer), said));
        }
        self.said(lines);
        for line in results.into_iter().chain(meanwhile) {
            self.said(vec![line]);
        }
    }

    fn result(
        &mut self,
        call: &str,
        copies: &mut Vec<(Kind, &'static str, (&'static str, String), Json)>,
    ) -> usize {
        let said = text_of(output(self.tape, self.mode));
        let part = object([("type", text_of("text")), ("text", said.clone())]);
        let content = match self.tape.one_in(4) {
            true => Json::List(vec![part.clone()]),
            false => said,
        };
        let mut result = vec![("output", content)];
        if self.tape.one_in(8) {
            result.push(("isError", Json::Raw("true")));
        }
        if self.tape.one_in(6) {
            result.push(("note", text_of("<system>7 lines read.</system>")));
        }
        unknown_fields(self.tape, &mut result);
        let line = self.event(
            "tool.result",
            vec![
                ("toolCallId", text_of(call)),
                ("result", Json::Object(result)),
            ],
        );
        if self.has_copies {
            let name = ("toolCallId", call.to_owned());
            copies.push((
                Kind::CopiedResult(line),
                "tool",
                name,
                Json::List(vec![part]),
            ));
        }
        line
    }

    fn remove(&mut self, entries: Vec<Entry>) {
        self.dead
            .extend(entries.into_iter().flat_map(|entry| entry.lines));
    }

    /// A compaction that keeps the messages from some prompt on, or none.
    fn cut_with_tail(&mut self) {
        let starts = (0..self.live.len()).filter(|n| self.live[*n].is_typed);
        let starts: Vec<usize> = starts.chain([self.live.len()]).collect();
        let count = starts[self.tape.below(starts.len())];
        let summary = text_of(words(self.tape, self.mode));
        let mut more = vec![
            ("summary", summary),
            ("compactedCount", Json::Number(count as u64)),
        ];
        match self.tape.one_in(2) {
            true => more.push(("legacyTail", Json::Raw("true"))),
            false => more.push(("tokensBefore", Json::Number(9))),
        }
        let line = self.line(Kind::Message, "context.apply_compaction", more);
        let kept = self.live.split_off(count);
        let gone = std::mem::replace(&mut self.live, kept);
        self.remove(gone);
        let summary = Entry {
            lines: vec![line],
            is_typed: false,
            is_summary: true,
        };
        self.live.insert(0, summary);
        (self.compaction, self.is_cut) = (Some((line, false)), true);
    }

    /// A compaction that keeps what the user wrote: all, or the last of it.
    fn cut_with_words(&mut self) {
        let all = std::mem::take(&mut self.live);
        let (mut typed, others): (Vec<Entry>, Vec<Entry>) =
            all.into_iter().partition(|entry| entry.is_typed);
        let kept = match self.tape.one_in(3) {
            true => self.tape.below(typed.len() + 1),
            false => typed.len(),
        };
        let more = vec![
            ("summary", text_of("a note of the agent")),
            ("contextSummary", text_of(words(self.tape, self.mode))),
            ("compactedCount", Json::Number(99)),
            ("keptUserMessageCount", Json::Number(kept as u64)),
        ];
        let line = self.line(Kind::Message, "context.apply_compaction", more);
        let tail = typed.split_off(typed.len() - kept);
        self.remove(others);
        self.remove(typed);
        self.live = tail;
        self.live.push(Entry {
            lines: vec![line],
            is_typed: false,
            is_summary: true,
        });
        // The agent adds a word of its own, which the next compaction counts.
        self.live.push(Entry {
            lines: Vec::new(),
            is_typed: false,
            is_summary: false,
        });
        (self.compaction, self.is_cut) = (Some((line, true)), true);
    }

    /// The user began anew. Something must be said afterwards.
    fn clear(&mut self) {
        self.line(Kind::OfTurn, "context.clear", Vec::new());
        let all = std::mem::take(&mut self.live);
        self.is_cut |= !all.is_empty();
        self.remove(all);
        self.turn();
    }

    /// The user took turns back, unless there are fewer, or they are summarised.
    fn take_back(&mut self) {
        let count = self.tape.between(1, 2);
        let line = self.line(
            Kind::Message,
            "context.undo",
            vec![("count", Json::Number(count as u64))],
        );
        let begins = self.live.iter().rposition(|entry| entry.is_summary);
        let begins = begins.map_or(0, |at| at + 1);
        let turns = (begins..self.live.len()).filter(|n| self.live[*n].is_typed);
        let turns: Vec<usize> = turns.collect();
        if let Some(at) = turns.len().checked_sub(count) {
            let gone = self.live.split_off(turns[at]);
            self.remove(gone);
            self.dead.insert(line);
            if self.live.is_empty() {
                self.turn();
            }
        }
    }

    /// The line from which on the reports of turns stay.
    fn begins(&self) -> usize {
        let lines = self
            .live
            .iter()
            .flat_map(|entry| entry.lines.iter().copied());
        let mut begins = match self.compaction {
            Some((line, true)) => line,
            _ => lines.min().unwrap_or(0),
        };
        let is_unnamed = !self.has_copies;
        while is_unnamed && begins > 0 && matches!(self.kinds[begins - 1], Kind::Prompt(_)) {
            begins -= 1;
        }
        begins
    }

    fn known(&self) -> Known {
        let lines = self
            .live
            .iter()
            .flat_map(|entry| entry.lines.iter().copied());
        let is = |line: &usize, is: fn(&Kind) -> bool| is(&self.kinds[*line]);
        let all = || 0..self.lines.len();
        let begins = match self.is_cut {
            true => self.begins(),
            false => 0,
        };
        let lists: Vec<usize> = all()
            .filter(|line| is(line, |kind| *kind == Kind::Tools))
            .collect();
        let is_dead = |line: &usize| match &self.kinds[*line] {
            Kind::Session => false,
            Kind::Message => self.dead.contains(line),
            Kind::Tools => lists.last() != Some(line),
            Kind::OfTurn | Kind::Count => *line < begins,
            Kind::Prompt(of) | Kind::Copy(of) | Kind::CopiedResult(of) => {
                match self.has_copies {
                    true => self.dead.contains(of),
                    // Without ids it is not known of what they are.
                    false => *line < begins,
                }
            }
        };
        Known {
            dead: all().filter(is_dead).collect(),
            windows: vec![Window {
                lines: lines.collect(),
                copies: all()
                    .filter(|line| is(line, |kind| matches!(kind, Kind::CopiedResult(_))))
                    .collect(),
                counted: all()
                    .filter(|line| is(line, |kind| *kind == Kind::Count))
                    .collect(),
                ..Window::default()
            }],
            ..Known::default()
        }
    }
}
