//! Codex rollouts: items of the Responses API, in envelopes or bare, with the events that repeat them.
//!
//! The writer records which lines a model sees: compactions and taken-back turns are implemented here a second time.

use std::collections::BTreeSet;

use super::anthropic::{READS, TOOLS};
use super::known::{Known, Window};
use super::summarised::words::is_reminder;
use super::tape::Tape;
use super::text::{Json, Mode, Style, object, output, text_of, unknown_fields, words};

/// The lines of a rollout of 1 to 40 items, and which of them are live.
pub(super) fn rollout(tape: &mut Tape, mode: Mode) -> (Vec<Vec<u8>>, Known) {
    let most = tape.between(1, 40);
    let mut writer = Writer {
        // Only this program recognises a type that is written with escapes.
        style: Style::any(tape, Mode::Clean),
        mode,
        generation: if tape.one_in(5) { 1 } else { 2 },
        lines: Vec::new(),
        seen: Seen::default(),
        turns: Vec::new(),
        taken_back: BTreeSet::new(),
        items: 0,
        ids: 0,
        tape,
    };
    writer.header();
    loop {
        writer.turn(most);
        if writer.items >= most {
            break;
        }
        if writer.generation == 2 {
            if writer.tape.one_in(6) {
                writer.compaction();
            }
            if writer.tape.one_in(6) {
                writer.go_back();
            }
        }
    }
    let known = match mode {
        Mode::Clean => writer.known(),
        Mode::Noisy => Known::default(),
    };
    let write = |line: &Line| writer.style.write(&line.json);
    (writer.lines.iter().map(write).collect(), known)
}

/// Cells of code mode: calls that are read, calls that may not have run, what is no program.
const CELLS: [&str; 7] = [
    "const r = await tools.exec_command({cmd: \"sed -n '1,200p' a.py\"});\ntext(r.output);",
    "text(await tools.apply_patch('*** Begin Patch\\n*** Update File: /w/a.py\\n@@\\n-x\\n+y\\n*** End Patch'));",
    "const [a, b] = await Promise.all([tools.exec_command({cmd: 'ls'}), tools.exec_command({cmd: 'cat b.rs'})]);\n\
     text(a.output); text(JSON.stringify(b));",
    "for (const f of ['a.py']) { text(await tools.apply_patch(`*** Begin Patch\n*** Update File: ${f}\n*** End Patch`)); }",
    "await tools.update_plan({plan: [{step: 'one', status: 'completed'}]}); text('ok')",
    "const w = await tools.write_stdin({session_id: 1, chars: ''}); text(JSON.stringify(w));",
    "tools.exec_command({cmd:",
];

struct Line {
    json: Json,
    what: What,
}

/// How a line is treated when dead lines are dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    /// An item, or a compaction.
    Item,
    /// An event about items.
    Event,
    /// It describes the session.
    Session,
}

/// The lines that a model sees, and whether each is the user's.
#[derive(Clone, Default)]
struct Seen {
    lines: Vec<(usize, Who)>,
    /// Everything before this line that is not live is dead.
    begins: usize,
    /// The live compaction, whatever its content.
    compaction: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    User,
    /// The agent, with the user's role.
    Injected,
    Agent,
}

struct Writer<'t> {
    tape: &'t mut Tape,
    mode: Mode,
    style: Style,
    generation: u8,
    lines: Vec<Line>,
    seen: Seen,
    /// The lines seen before each turn, and the line that it began on.
    turns: Vec<(usize, Seen)>,
    /// Lines of turns that were taken back.
    taken_back: BTreeSet<usize>,
    items: usize,
    ids: usize,
}

impl Writer<'_> {
    fn line(
        &mut self,
        kind: &'static str,
        payload: Vec<(&'static str, Json)>,
        what: What,
    ) -> usize {
        let json = if self.generation == 1 {
            Json::Object(payload)
        } else {
            let minute = self.lines.len() % 60;
            let time = text_of(format!("2026-01-01T10:{minute:02}:00.000Z"));
            let mut entries = vec![("timestamp", time), ("type", text_of(kind))];
            entries.push(("payload", Json::Object(payload)));
            unknown_fields(self.tape, &mut entries);
            Json::Object(entries)
        };
        self.lines.push(Line { json, what });
        self.lines.len() - 1
    }

    fn item(&mut self, who: Who, kind: &'static str, entries: Vec<(&'static str, Json)>) {
        let mut all = vec![("type", text_of(kind))];
        all.extend(entries);
        unknown_fields(self.tape, &mut all);
        let line = self.line("response_item", all, What::Item);
        self.seen.lines.push((line, who));
        self.items += 1;
        if self.generation == 1 && self.tape.one_in(2) {
            let state = object([("record_type", text_of("state"))]);
            self.lines.push(Line {
                json: state,
                what: What::Session,
            });
        }
    }

    fn event(&mut self, kind: &'static str, entries: Vec<(&'static str, Json)>) {
        if self.generation == 1 {
            return;
        }
        let mut all = vec![("type", text_of(kind))];
        all.extend(entries);
        self.line("event_msg", all, What::Event);
    }

    fn session(&mut self, kind: &'static str, entries: Vec<(&'static str, Json)>) {
        if self.generation == 2 {
            self.line(kind, entries, What::Session);
        }
    }

    fn header(&mut self) {
        let id = ("id", text_of("019a0000-7a1d-7e0c-8b5f-c0a570000001"));
        let time = ("timestamp", text_of("2026-01-01T10:00:00.000Z"));
        if self.generation == 1 {
            let git = ("git", Json::Raw("{}"));
            let instructions = ("instructions", Json::Raw("null"));
            let json = object([id, time, instructions, git]);
            let what = What::Session;
            self.lines.push(Line { json, what });
            return;
        }
        let by = [
            ("originator", "codex_exec"),
            ("cli_version", "0.169.0"),
            ("cwd", "/w"),
        ];
        let by = by.map(|(key, value)| (key, text_of(value)));
        let entries = [id, time].into_iter().chain(by);
        self.line("session_meta", entries.collect(), What::Session);
    }

    /// A message of the user, and what the agent does.
    fn turn(&mut self, most: usize) {
        if self.tape.one_in(2) {
            self.event("task_started", vec![("turn_id", text_of("t"))]);
        }
        if self.generation == 2 && self.tape.one_in(4) {
            let told = message("developer", "input_text", words(self.tape, self.mode));
            self.line("response_item", told, What::Session);
        }
        if self.tape.one_in(4) {
            let told = "<environment_context>\n  <cwd>/w</cwd>\n</environment_context>";
            let [_, entries @ ..] = &message("user", "input_text", told.to_owned())[..] else {
                unreachable!()
            };
            self.item(Who::Injected, "message", entries.to_vec());
        }
        if self.tape.one_in(3) {
            self.session("turn_context", vec![("cwd", text_of("/w"))]);
            self.session("world_state", vec![("full", Json::Raw("true"))]);
        }
        let before = self.seen.clone();
        let first = self.lines.len();
        let said = words(self.tape, self.mode);
        let content = match self.tape.below(4) {
            0..3 => vec![part("input_text", said.clone())],
            _ => {
                let picture = "{\"type\":\"input_image\",\"image_url\":\"data:x\"}";
                vec![part("input_text", said.clone()), Json::Raw(picture)]
            }
        };
        let is_typed = !said.trim_start().starts_with("<command-name>") && !is_reminder(&said)
            || content.len() > 1;
        let who = if is_reminder(&said) {
            // Beside a picture it is ignored.
            if content.len() > 1 {
                Who::User
            } else {
                Who::Injected
            }
        } else if is_typed {
            Who::User
        } else {
            Who::Injected
        };
        if who == Who::User {
            self.turns.push((first, before));
        }
        let entries = vec![("role", text_of("user")), ("content", Json::List(content))];
        self.item(who, "message", entries);
        self.event("user_message", vec![("message", text_of(said))]);
        while self.items < most && self.tape.one_in(2) {
            self.round();
        }
        if self.items < most {
            self.thoughts();
            let said = words(self.tape, self.mode);
            let [_, entries @ ..] = &message("assistant", "output_text", said)[..] else {
                unreachable!()
            };
            self.item(Who::Agent, "message", entries.to_vec());
            self.count();
        }
    }

    fn thoughts(&mut self) {
        if self.tape.one_in(4) {
            let thought = part("summary_text", words(self.tape, self.mode));
            let summary = if self.tape.one_in(2) {
                vec![thought]
            } else {
                Vec::new()
            };
            let entries = vec![
                ("id", text_of("rs_1")),
                ("summary", Json::List(summary)),
                ("encrypted_content", text_of("gAAAAABq")),
            ];
            self.item(Who::Agent, "reasoning", entries);
        }
    }

    /// Reasoning, texts, calls, and their outputs.
    fn round(&mut self) {
        self.thoughts();
        if self.tape.one_in(4) {
            let said = words(self.tape, self.mode);
            let [_, entries @ ..] = &message("assistant", "output_text", said)[..] else {
                unreachable!()
            };
            self.item(Who::Agent, "message", entries.to_vec());
        }
        if self.tape.one_in(8) {
            self.item(
                Who::Agent,
                "web_search_call",
                vec![("status", text_of("completed"))],
            );
        }
        let mut answers = Vec::new();
        for _ in 0..self.tape.between(1, 3) {
            // Noise contains duplicate ids.
            if self.mode == Mode::Clean || !self.tape.one_in(10) {
                self.ids += 1;
            }
            let id = format!("call_{}", self.ids);
            answers.push((id.clone(), self.call(&id)));
        }
        if self.mode == Mode::Noisy && self.tape.one_in(12) {
            answers.pop();
        }
        for (id, kind) in answers {
            self.answer(&id, kind);
        }
        self.count();
    }

    /// A call; returns the type of its output.
    fn call(&mut self, id: &str) -> &'static str {
        let id = ("call_id", text_of(id));
        let (name, input) = if self.tape.one_in(2) {
            self.tape.pick(&READS)
        } else {
            let inputs = [
                "{\"cmd\":\"ls -l\"}",
                "{}",
                "{not json",
                "{\"q\": \"世\\u00e9\"}",
            ];
            (self.tape.pick(&TOOLS), self.tape.pick(&inputs))
        };
        match self.tape.below(9) {
            0..6 => {
                let called = vec![("name", text_of(name)), ("arguments", text_of(input)), id];
                self.item(Who::Agent, "function_call", called);
                "function_call_output"
            }
            6 => {
                let called = vec![("name", text_of(name)), ("input", text_of(input)), id];
                self.item(Who::Agent, "custom_tool_call", called);
                "custom_tool_call_output"
            }
            7 => {
                let code = self.tape.pick(&CELLS);
                let called = vec![("name", text_of("exec")), ("input", text_of(code)), id];
                self.item(Who::Agent, "custom_tool_call", called);
                "custom_tool_call_output"
            }
            _ => {
                let action = "{\"type\":\"exec\",\"command\":[\"ls\"]}";
                let called = vec![id, ("action", Json::Raw(action))];
                self.item(Who::Agent, "local_shell_call", called);
                "function_call_output"
            }
        }
    }

    fn answer(&mut self, id: &str, kind: &'static str) {
        let said = output(self.tape, self.mode);
        let header = "Chunk ID: 30d4c1\nWall time: 0.1 seconds\nProcess exited with code";
        let picture = Json::Raw("{\"type\":\"input_image\",\"image_url\":\"data:y\"}");
        let text = || part("input_text", said.clone());
        let kinds = if self.mode == Mode::Clean { 16 } else { 19 };
        let output = match self.tape.below(kinds) {
            0..4 => text_of(said.clone()),
            4..8 => text_of(format!("{header} 0\nOutput:\n{said}")),
            8 => text_of(format!(
                "Exit code: 2\nWall time: 1 seconds\nOutput:\n{said}"
            )),
            9 => {
                let said = serde_json::to_string(&said).unwrap();
                text_of(format!(
                    "{{\"output\":{said},\"metadata\":{{\"exit_code\":1}}}}"
                ))
            }
            // As a cell ends.
            10..12 if kind == "custom_tool_call_output" => {
                let ends = [
                    "Script completed\nWall time 0.1 seconds\nOutput:\n",
                    "Script failed\nWall time 0.1 seconds\nOutput:\n",
                ];
                let end = self.tape.pick(&ends);
                let blocks = (0..self.tape.between(0, 2)).map(|_| text());
                Json::List(
                    [part("input_text", end.to_owned())]
                        .into_iter()
                        .chain(blocks)
                        .collect(),
                )
            }
            10..12 => Json::List(vec![text()]),
            12 => Json::List(vec![text(), text()]),
            13 => Json::List(vec![text(), picture]),
            14 => Json::List(vec![picture]),
            15 => text_of(""),
            16 => Json::Raw("null"),
            17 => Json::Raw("{\"type\":\"input_text\",\"text\":\"x\"}"),
            _ => Json::List(Vec::new()),
        };
        let mirror = ["exec_command_end", "item_completed", ""];
        let mirror = self.tape.pick(&mirror);
        let late = self.tape.one_in(2);
        if !late {
            self.mirror(mirror, id, &said);
        }
        let entries = vec![("call_id", text_of(id)), ("output", output)];
        self.item(Who::Agent, kind, entries);
        if late {
            self.mirror(mirror, id, &said);
        }
    }

    fn mirror(&mut self, kind: &'static str, id: &str, said: &str) {
        let said = || text_of(said);
        match kind {
            "exec_command_end" => {
                let entries = vec![
                    ("call_id", text_of(id)),
                    ("command", Json::List(vec![text_of("ls")])),
                    ("stdout", said()),
                    ("aggregated_output", said()),
                    ("exit_code", Json::Number(0)),
                ];
                self.event("exec_command_end", entries);
            }
            "item_completed" => {
                let item = object([
                    ("type", text_of("CommandExecution")),
                    ("id", text_of(id)),
                    ("aggregated_output", said()),
                ]);
                self.event("item_completed", vec![("item", item)]);
            }
            _ => {}
        }
    }

    fn count(&mut self) {
        let counts = [0, 40, 1_200, 20_000, 196_000];
        let cached = self.tape.pick(&counts);
        let input = cached + self.tape.pick(&counts);
        let usage = object([
            ("input_tokens", Json::Number(input)),
            ("cached_input_tokens", Json::Number(cached)),
            ("output_tokens", Json::Number(8)),
            ("total_tokens", Json::Number(input + 8)),
        ]);
        let info = if self.tape.one_in(8) {
            Json::Raw("null")
        } else {
            object([("last_token_usage", usage)])
        };
        self.event("token_count", vec![("info", info)]);
    }

    fn compaction(&mut self) {
        let summary = "Another language model started to solve this problem and produced a summary";
        let said = format!("{summary}: {}", words(self.tape, self.mode));
        let user = |text: String| Json::Object(message("user", "input_text", text));
        if self.tape.one_in(3) {
            let entries = vec![("message", text_of(said))];
            let line = self.line("compacted", entries, What::Item);
            self.seen.lines.retain(|(_, who)| *who == Who::User);
            self.seen.lines.push((line, Who::User));
            (self.seen.begins, self.seen.compaction) = (line, Some(line));
            return;
        }
        let mut items = Vec::new();
        for _ in 0..self.tape.below(3) {
            items.push(user(format!("words {}", words(self.tape, self.mode))));
        }
        if self.tape.one_in(3) {
            let told = message("developer", "input_text", words(self.tape, self.mode));
            items.push(Json::Object(told));
        }
        if self.tape.one_in(2) {
            let opaque = [
                ("type", text_of("compaction")),
                ("encrypted_content", text_of("gA")),
            ];
            items.push(object(opaque));
        } else {
            items.push(user(said));
        }
        let entries = vec![
            ("message", text_of("")),
            ("replacement_history", Json::List(items)),
        ];
        let line = self.line("compacted", entries, What::Item);
        self.seen = Seen {
            lines: vec![(line, Who::User)],
            begins: line,
            compaction: Some(line),
        };
    }

    /// The user takes back a turn or two.
    fn go_back(&mut self) {
        let number = self.tape.between(1, 2);
        let entries = vec![("num_turns", Json::Number(number as u64))];
        let line = self.lines.len();
        self.event("thread_rolled_back", entries);
        let at = self.turns.len().saturating_sub(number);
        let Some((mut first, mut before)) = self.turns.drain(at..).next() else {
            return;
        };
        while let Some((line, Who::Injected)) = before.lines.last().filter(|_| at > 0) {
            first = *line;
            before.lines.pop();
        }
        self.seen = before;
        self.taken_back.extend(first..=line);
    }

    fn known(&self) -> Known {
        let lines: Vec<usize> = self.seen.lines.iter().map(|(line, _)| *line).collect();
        let is_dead = |line: &usize| {
            let is_live = lines.contains(line) || self.seen.compaction == Some(*line);
            let may_drop = self.lines[*line].what != What::Session && !is_live;
            may_drop && (*line < self.seen.begins || self.taken_back.contains(line))
        };
        let dead = match lines.is_empty() {
            true => BTreeSet::new(),
            false => (0..self.lines.len()).filter(is_dead).collect(),
        };
        let window = Window {
            lines,
            ..Window::default()
        };
        Known {
            windows: vec![window],
            dead,
            ..Known::default()
        }
    }
}

fn part(kind: &'static str, text: String) -> Json {
    object([("type", text_of(kind)), ("text", text_of(text))])
}

/// A message, its type first.
fn message(role: &'static str, kind: &'static str, text: String) -> Vec<(&'static str, Json)> {
    vec![
        ("type", text_of("message")),
        ("role", text_of(role)),
        ("content", Json::List(vec![part(kind, text)])),
    ]
}
