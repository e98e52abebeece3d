//! Session logs of GitHub Copilot CLI: events, with those of subagents, hooks and compactions between the messages.
//!
//! The writer records which events a model sees: compactions in the background are implemented here a second time.

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
        live: Vec::new(),
        begins: 0,
        pending: None,
        asides: Vec::new(),
        messages: 0,
        ids: 0,
        tape,
    };
    writer.header();
    while writer.messages < most {
        writer.turn(most);
        match writer.tape.below(8) {
            5 => writer.compaction(),
            6 => writer.note(),
            7 => writer.subagent(),
            _ => {}
        }
    }
    let known = match mode {
        Mode::Clean => writer.known(),
        Mode::Noisy => Known::default(),
    };
    let write = |line: &Line| writer.style.write(&line.json);
    (writer.lines.iter().map(write).collect(), known)
}

struct Line {
    json: Json,
    what: What,
}

/// How a line is treated when dead lines are dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    /// What the user wrote.
    Words,
    /// Any other message, or an event of a turn.
    Turn,
    /// A system prompt.
    Prompt,
    /// It describes the session, or is a subagent's.
    Session,
}

/// Whose event it is.
#[derive(Clone, Copy)]
enum Whose<'a> {
    Main,
    Aside(&'a str),
}

struct Writer<'t> {
    tape: &'t mut Tape,
    mode: Mode,
    style: Style,
    lines: Vec<Line>,
    /// The lines that a model sees.
    live: Vec<usize>,
    /// The line before which only the summary is live.
    begins: usize,
    /// Where a compaction began: the number of live lines, and its line.
    pending: Option<(usize, usize)>,
    asides: Vec<Vec<usize>>,
    messages: usize,
    ids: usize,
}

impl Writer<'_> {
    fn event(
        &mut self,
        whose: Whose<'_>,
        kind: &'static str,
        mut data: Vec<(&'static str, Json)>,
        what: What,
    ) -> usize {
        unknown_fields(self.tape, &mut data);
        let number = self.lines.len();
        let parent = match number.checked_sub(1) {
            None => Json::Raw("null"),
            // Noise leads anywhere, and in circles.
            Some(_) if self.mode == Mode::Noisy && self.tape.one_in(40) => {
                text_of(format!("e{}", self.tape.below(60)))
            }
            Some(parent) => text_of(format!("e{parent}")),
        };
        let mut entries = vec![("type", text_of(kind)), ("data", Json::Object(data))];
        if let Whose::Aside(name) = whose {
            entries.push(("agentId", text_of(name)));
        }
        let (minutes, seconds) = (number / 60 % 60, number % 60);
        let time = format!("2026-01-02T00:{minutes:02}:{seconds:02}.000Z");
        entries.extend([
            ("id", text_of(format!("e{number}"))),
            ("timestamp", text_of(time)),
            ("parentId", parent),
        ]);
        unknown_fields(self.tape, &mut entries);
        if self.tape.one_in(24) {
            // A duplicate key: the last one counts, and it is the same in whatever order they are written.
            let twice = entries[1].clone();
            entries.push(twice);
        }
        let json = Json::Object(entries);
        self.lines.push(Line { json, what });
        number
    }

    /// An event of the main conversation that a model sees.
    fn message(&mut self, kind: &'static str, data: Vec<(&'static str, Json)>, what: What) {
        let line = self.event(Whose::Main, kind, data, what);
        self.live.push(line);
        self.messages += 1;
    }

    fn note_of(&mut self, kind: &'static str, data: Vec<(&'static str, Json)>, what: What) {
        self.event(Whose::Main, kind, data, what);
    }

    fn header(&mut self) {
        let data = vec![
            ("sessionId", text_of("7a58621e-637e-4352-9d17-e6a3b1c2d4e5")),
            ("version", Json::Raw("1")),
            ("producer", text_of("copilot-agent")),
            ("copilotVersion", text_of("1.0.102")),
            ("selectedModel", text_of("gpt-test")),
            ("context", object([("cwd", text_of("/w"))])),
        ];
        self.note_of("session.start", data, What::Session);
    }

    /// A message of the user, and what the agent does.
    fn turn(&mut self, most: usize) {
        self.users_words();
        if self.tape.one_in(4) {
            let data = vec![
                ("role", text_of("system")),
                ("content", text_of(words(self.tape, self.mode))),
            ];
            self.note_of("system.message", data, What::Prompt);
        }
        while self.messages < most && self.tape.one_in(2) {
            self.round();
            match self.tape.below(12) {
                8 => self.aside(),
                9 => self.start(),
                10 => self.end(),
                11 => self.subagent(),
                _ => {}
            }
        }
        if self.messages < most && !self.tape.one_in(6) {
            let said = words(self.tape, self.mode);
            self.answer(said, Vec::new());
        }
    }

    fn users_words(&mut self) {
        let said = words(self.tape, self.mode);
        let mut data = vec![("content", text_of(&*said))];
        let date = "<current_datetime>2026-01-02T00:00:00.000Z</current_datetime>\n\n";
        match self.tape.below(5) {
            0 | 1 => data.push(("transformedContent", text_of(format!("{date}{said}")))),
            2 => {
                let tables = "\n\n<system_reminder>\n<sql_tables>Available tables: todos</sql_tables>\n</system_reminder>";
                let sent = format!("{date}{said}{tables}");
                data.push(("transformedContent", text_of(sent)));
            }
            3 => data.push(("transformedContent", text_of(words(self.tape, self.mode)))),
            _ => {}
        }
        let mut what = What::Words;
        if self.tape.one_in(8) {
            data.push(("source", text_of("skill-x")));
            what = What::Turn;
        }
        self.message("user.message", data, what);
        if self.tape.one_in(4) {
            let input = object([("prompt", text_of(said))]);
            let data = vec![
                ("hookType", text_of("userPromptSubmitted")),
                ("input", input),
            ];
            self.note_of("hook.start", data, What::Turn);
        }
    }

    fn answer(&mut self, said: String, requests: Vec<Json>) {
        if self.tape.one_in(2) {
            let data = vec![("turnId", text_of("0"))];
            self.note_of("assistant.turn_start", data, What::Turn);
            let usage = object([("inputTokens", Json::Number(12_110))]);
            self.note_of(
                "session.usage_record",
                vec![("usage", usage)],
                What::Session,
            );
        }
        self.ids += 1;
        let mut data = vec![
            ("messageId", text_of("m")),
            ("model", text_of("gpt-test")),
            ("content", text_of(said)),
            ("toolRequests", Json::List(requests)),
            ("apiCallId", text_of(format!("api{}", self.ids))),
        ];
        if self.tape.one_in(4) {
            data.push(("reasoningText", text_of(words(self.tape, self.mode))));
        }
        if self.tape.one_in(6) {
            // Two thoughts: the answer is written in pieces.
            let mut piece = data.clone();
            piece[2].1 = text_of(words(self.tape, self.mode));
            piece[3].1 = Json::List(Vec::new());
            self.message("assistant.message", piece, What::Turn);
        }
        self.message("assistant.message", data, What::Turn);
    }

    /// An answer with calls, and a result of each.
    fn round(&mut self) {
        let (requests, called) = self.calls();
        let said = match self.tape.one_in(2) {
            true => words(self.tape, self.mode),
            false => String::new(),
        };
        self.answer(said, requests);
        for (id, name) in &called {
            let data = vec![
                ("toolCallId", text_of(&**id)),
                ("toolName", text_of(*name)),
                ("arguments", Json::Raw("{\"command\":\"ls\"}")),
            ];
            self.note_of("tool.execution_start", data, What::Turn);
        }
        for (id, _) in called {
            let data = self.result(&id);
            self.message("tool.execution_complete", data, What::Turn);
        }
    }

    fn calls(&mut self) -> (Vec<Json>, Vec<(String, &'static str)>) {
        let (mut requests, mut called) = (Vec::new(), Vec::new());
        for _ in 0..self.tape.between(1, 3) {
            // Noise contains duplicate ids.
            if self.mode == Mode::Clean || !self.tape.one_in(10) {
                self.ids += 1;
            }
            let id = format!("call_{}", self.ids);
            let (name, input) = match self.tape.below(8) {
                0..4 => {
                    let (name, input) = self.tape.pick(&READS);
                    (name, Json::Raw(input))
                }
                4..7 => {
                    let input = "{\"n\":12345678901234567890123}";
                    (self.tape.pick(&TOOLS), Json::Raw(input))
                }
                _ => {
                    let patch =
                        "*** Begin Patch\n*** Update File: /w/a.rs\n@@\n-x\n+y\n*** End Patch";
                    ("apply_patch", text_of(patch))
                }
            };
            let mut call = vec![
                ("toolCallId", text_of(&*id)),
                ("name", text_of(name)),
                ("arguments", input),
                ("type", text_of("function")),
            ];
            unknown_fields(self.tape, &mut call);
            requests.push(Json::Object(call));
            called.push((id, name));
        }
        if self.mode == Mode::Noisy && self.tape.one_in(12) {
            called.pop();
        }
        (requests, called)
    }

    fn result(&mut self, id: &str) -> Vec<(&'static str, Json)> {
        let said = output(self.tape, self.mode);
        let mut data = vec![("toolCallId", text_of(id)), ("model", text_of("gpt-test"))];
        if self.tape.one_in(6) {
            let error = object([("message", text_of(said)), ("code", text_of("failure"))]);
            data.extend([("success", Json::Raw("false")), ("error", error)]);
            return data;
        }
        let mut result = vec![("content", text_of(&*said))];
        match self.tape.below(6) {
            0..3 => result.push(("detailedContent", text_of(said))),
            3 => {
                let data = text_of("iVBORw0K/+".repeat(40));
                let picture = object([("type", text_of("image")), ("data", data)]);
                result.push(("binaryResultsForLlm", Json::List(vec![picture])));
            }
            4 => {
                let part = object([("type", text_of("text")), ("text", text_of(said))]);
                result.push(("contents", Json::List(vec![part])));
            }
            _ => {}
        }
        data.extend([
            ("success", Json::Raw("true")),
            ("result", Json::Object(result)),
        ]);
        data.push(("toolTelemetry", Json::Raw("{\"metrics\":{\"n\":1.0}}")));
        data
    }

    /// Messages beside the conversation, by the agent or the user.
    fn aside(&mut self) {
        let said = words(self.tape, self.mode);
        match self.tape.below(3) {
            0 => {
                let kind = object([("type", text_of("unclassified"))]);
                let data = vec![("content", text_of(said)), ("kind", kind)];
                self.message("system.notification", data, What::Turn);
            }
            1 => {
                let data = vec![("content", text_of(said)), ("source", text_of("skill-x"))];
                self.message("skill.context_delivered", data, What::Turn);
            }
            _ => {
                self.ids += 1;
                let mut data = self.result(&format!("user_{}", self.ids));
                data.push(("isUserRequested", Json::Raw("true")));
                self.message("tool.execution_complete", data, What::Turn);
            }
        }
    }

    /// Events without content.
    fn note(&mut self) {
        match self.tape.below(5) {
            0 => {
                let data = vec![("newModel", text_of("gpt-other"))];
                self.note_of("session.model_change", data, What::Session);
            }
            1 => {
                let data = vec![("cwd", text_of("/w"))];
                self.note_of("session.context_changed", data, What::Session);
            }
            2 => {
                let data = vec![("tokenLimit", Json::Number(64_000))];
                self.note_of("session.truncation", data, What::Turn);
            }
            3 => self.note_of(
                "from.the_future",
                vec![("x", Json::Raw("[]"))],
                What::Session,
            ),
            _ => {
                let data = vec![("messagesCleared", Json::Number(self.live.len() as u64))];
                self.note_of("session.context_cleared", data, What::Turn);
                (self.begins, self.pending) = (self.lines.len() - 1, None);
                self.live.clear();
                self.users_words();
            }
        }
    }

    /// A compaction begins.
    fn start(&mut self) {
        let data = vec![("conversationTokens", Json::Number(9_000))];
        self.note_of("session.compaction_start", data, What::Turn);
        self.pending = Some((self.live.len(), self.lines.len() - 1));
    }

    /// A compaction ends, or fails.
    fn end(&mut self) {
        match self.tape.below(4) {
            0 => {
                let data = vec![("success", Json::Raw("false")), ("error", text_of("no"))];
                return self.note_of("session.compaction_complete", data, What::Turn);
            }
            1 => {
                let data = vec![("success", Json::Raw("true"))];
                return self.note_of("session.compaction_complete", data, What::Turn);
            }
            _ => {}
        }
        let data = vec![
            ("success", Json::Raw("true")),
            ("summaryContent", text_of(words(self.tape, self.mode))),
        ];
        self.note_of("session.compaction_complete", data, What::Turn);
        let line = self.lines.len() - 1;
        let (at, begins) = self.pending.take().unwrap_or((self.live.len(), line));
        self.live.drain(..at);
        self.live.insert(0, line);
        self.begins = begins;
        self.messages += 1;
    }

    fn compaction(&mut self) {
        if self.tape.one_in(2) {
            self.start();
        }
        self.end();
    }

    /// A few events of a subagent.
    fn subagent(&mut self) {
        let at = self.tape.below(2).min(self.asides.len());
        if at == self.asides.len() {
            self.asides.push(Vec::new());
        }
        let name = ["toolu_first", "toolu_second"][at];
        let whose = Whose::Aside(name);
        let data = vec![("content", text_of(words(self.tape, self.mode)))];
        let line = self.event(whose, "user.message", data, What::Session);
        self.asides[at].push(line);
        let (requests, called) = self.calls();
        let data = vec![
            ("content", text_of("")),
            ("toolRequests", Json::List(requests)),
            ("parentToolCallId", text_of(name)),
        ];
        let line = self.event(whose, "assistant.message", data, What::Session);
        self.asides[at].push(line);
        for (id, _) in called {
            let mut data = self.result(&id);
            // A read with a picture that a target cuts to its text becomes one that a later read can supersede.
            if let Some((_, Json::Object(result))) =
                data.iter_mut().find(|(key, _)| *key == "result")
            {
                result.retain(|(key, _)| *key != "binaryResultsForLlm");
            }
            let line = self.event(whose, "tool.execution_complete", data, What::Session);
            self.asides[at].push(line);
        }
    }

    fn known(&self) -> Known {
        let main = Window {
            lines: self.live.clone(),
            ..Window::default()
        };
        let asides = self.asides.iter().map(|lines| Window {
            lines: lines.clone(),
            ..Window::default()
        });
        let numbered = || self.lines.iter().enumerate();
        let prompts = numbered().filter(|(_, line)| line.what == What::Prompt);
        let last_prompt = prompts
            .max_by_key(|(number, _)| *number)
            .map(|(number, _)| number);
        let is_dead = |(number, line): &(usize, &Line)| match line.what {
            What::Prompt => Some(*number) != last_prompt,
            What::Turn => *number < self.begins && !self.live.contains(number),
            What::Words | What::Session => false,
        };
        let dead: BTreeSet<usize> = match self.live.is_empty() {
            true => BTreeSet::new(),
            false => numbered()
                .filter(is_dead)
                .map(|(number, _)| number)
                .collect(),
        };
        Known {
            windows: [main].into_iter().chain(asides).collect(),
            dead,
            ..Known::default()
        }
    }
}
