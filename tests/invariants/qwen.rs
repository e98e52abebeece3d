//! Sessions of Qwen Code: a chain of records, of which those on the path to the last one count, with compactions that hold a whole
//! history, and prompts that were taken back.
//!
//! The writer records the parent of each record and derives from that which ones are live.

use std::collections::BTreeSet;

use super::anthropic::{READS, TOOLS};
use super::known::{Chain as Wholeness, Known, Window};
use super::tape::Tape;
use super::text::{Json, Mode, Style, object, output, text_of, unknown_fields, words};

/// The lines of a session of 1 to 40 messages, and which of them are live.
pub(super) fn session(tape: &mut Tape, mode: Mode) -> (Vec<Vec<u8>>, Known) {
    let most = tape.between(1, 40);
    let mut writer = Writer {
        // Only this program recognises a type that is written with escapes.
        style: Style::any(tape, Mode::Clean),
        mode,
        records: Vec::new(),
        leaf: None,
        said: Vec::new(),
        turns: Vec::new(),
        messages: 0,
        calls: 0,
        tape,
    };
    while writer.messages < most {
        match writer.tape.below(12) {
            8 => writer.compaction(),
            9 => writer.rewind(),
            10 => writer.note(),
            _ => {}
        }
        writer.turn(most);
    }
    if writer.tape.one_in(6) {
        writer.compaction();
    }
    let known = match mode {
        Mode::Clean => writer.known(),
        Mode::Noisy => Known::default(),
    };
    let lines = writer.records.into_iter().map(|record| record.line);
    (lines.collect(), known)
}

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Message,
    /// An answer with a figure.
    Counted,
    /// A compaction, with a figure or without one.
    Compaction(bool),
    /// It repeats what was said.
    Telemetry,
    /// Only the last one counts.
    Snapshot,
    /// It sets up the session.
    Note,
    /// It is in no chain.
    Beside,
}

struct Record {
    what: What,
    parent: Option<usize>,
    line: Vec<u8>,
}

struct Writer<'t> {
    tape: &'t mut Tape,
    mode: Mode,
    style: Style,
    records: Vec<Record>,
    /// The last record of the chain.
    leaf: Option<usize>,
    /// What a model sees, each with the record that it is on.
    said: Vec<(usize, Json)>,
    /// The records before which the user typed a prompt, since the last compaction, with the number of messages then.
    turns: Vec<(Option<usize>, usize)>,
    messages: usize,
    calls: usize,
}

impl Writer<'_> {
    fn record(
        &mut self,
        what: What,
        kind: &'static str,
        subtype: Option<&'static str>,
        mut more: Vec<(&'static str, Json)>,
    ) -> usize {
        let number = self.records.len();
        let name = |number: usize| text_of(format!("u{number}"));
        let mut parent = self.leaf.map_or(Json::Raw("null"), name);
        if self.mode == Mode::Noisy && self.tape.one_in(30) {
            parent = name(self.tape.below(60));
        }
        let (minutes, seconds) = (number / 60 % 60, number % 60);
        let mut entries = vec![
            ("uuid", name(number)),
            ("parentUuid", parent),
            ("sessionId", text_of("f81de079-89a0-466b-819d-b6c71aff9e5b")),
            (
                "timestamp",
                text_of(format!("2026-01-02T00:{minutes:02}:{seconds:02}.000Z")),
            ),
            ("type", text_of(kind)),
            ("cwd", text_of("/w")),
        ];
        if self.tape.one_in(2) {
            entries.push(("provenance", text_of("system")));
        }
        entries.extend(subtype.map(|subtype| ("subtype", text_of(subtype))));
        entries.append(&mut more);
        unknown_fields(self.tape, &mut entries);
        if self.tape.one_in(16) {
            // A duplicate key: the last one counts, and it is the same in whatever order they are written.
            let twice = entries[self.tape.below(entries.len())].clone();
            entries.push(twice);
        }
        if self.mode == Mode::Noisy && self.tape.one_in(40) {
            // The agent skips it.
            entries.retain(|(key, _)| *key != "sessionId");
        }
        if self.tape.one_in(12) {
            self.style = Style::any(self.tape, Mode::Clean);
        }
        self.records.push(Record {
            what,
            parent: self.leaf,
            line: self.style.write(&Json::Object(entries)),
        });
        if what != What::Beside {
            self.leaf = Some(number);
        }
        number
    }

    /// A record with a message that a model sees.
    fn message(
        &mut self,
        what: What,
        (kind, subtype): (&'static str, Option<&'static str>),
        parts: Vec<Json>,
        more: Vec<(&'static str, Json)>,
    ) {
        let role = if kind == "assistant" { "model" } else { "user" };
        let mut message = vec![("role", text_of(role)), ("parts", Json::List(parts))];
        unknown_fields(self.tape, &mut message);
        let message = Json::Object(message);
        let mut fields = vec![("message", message.clone())];
        fields.extend(more);
        let number = self.record(what, kind, subtype, fields);
        self.said.push((number, message));
        self.messages += 1;
    }

    fn words(&mut self) -> Json {
        part(words(self.tape, self.mode))
    }

    fn turn(&mut self, most: usize) {
        self.turns.push((self.leaf, self.said.len()));
        let mut parts = vec![self.words()];
        if self.tape.one_in(6) {
            let data = object([
                ("mimeType", text_of("image/png")),
                ("data", text_of("aGk=")),
            ]);
            parts.push(object([("inlineData", data)]));
        }
        let subtype = match self.tape.below(12) {
            0 => Some("notification"),
            1 => Some("cron"),
            _ => None,
        };
        self.message(What::Message, ("user", subtype), parts, Vec::new());
        if self.tape.one_in(2) {
            let snapshot = object([("snapshot", Json::Raw("{\"promptCount\":1}"))]);
            let fields = vec![("systemPayload", snapshot)];
            self.record(
                What::Snapshot,
                "system",
                Some("attribution_snapshot"),
                fields,
            );
        }
        while self.messages < most && self.tape.one_in(2) {
            self.round();
        }
        if !self.tape.one_in(8) {
            let parts = vec![self.words()];
            self.answer(parts);
        }
    }

    fn answer(&mut self, mut parts: Vec<Json>) {
        if self.tape.one_in(2) {
            let event = object([
                ("event.name", text_of("qwen-code.api_response")),
                ("response_text", text_of(words(self.tape, self.mode))),
            ]);
            let payload = object([("uiEvent", event)]);
            let fields = vec![("systemPayload", payload)];
            self.record(What::Telemetry, "system", Some("ui_telemetry"), fields);
        }
        if self.tape.one_in(4) {
            let said = text_of(words(self.tape, self.mode));
            let thought = object([("text", said), ("thought", Json::Raw("true"))]);
            parts.insert(0, thought);
        }
        let mut more = vec![("model", text_of("qwen-test"))];
        let mut what = What::Message;
        if !self.tape.one_in(3) {
            what = What::Counted;
            let tokens = Json::Number(self.tape.between(1, 200_000) as u64);
            let key = self.tape.pick(&["promptTokenCount", "totalTokenCount"]);
            let usage = object([(key, tokens), ("candidatesTokenCount", Json::Number(7))]);
            more.push(("usageMetadata", usage));
        }
        self.message(what, ("assistant", None), parts, more);
    }

    /// An answer with calls, and a result of each.
    fn round(&mut self) {
        let mut parts: Vec<Json> = Vec::new();
        if self.tape.one_in(3) {
            parts.push(self.words());
        }
        let mut called = Vec::new();
        for _ in 0..self.tape.between(1, 3) {
            // Noise contains duplicate ids.
            if self.mode == Mode::Clean || !self.tape.one_in(10) {
                self.calls += 1;
            }
            let id = format!("call_{}", self.calls);
            let (name, args) = match self.tape.one_in(2) {
                true => self.tape.pick(&READS),
                false => (
                    self.tape.pick(&TOOLS),
                    "{ \"q\" : \"世\\u00e9\", \"n\": 1e3 }",
                ),
            };
            let call = object([
                ("id", text_of(&*id)),
                ("name", text_of(name)),
                ("args", Json::Raw(args)),
            ]);
            parts.push(object([("functionCall", call)]));
            called.push((id, name));
        }
        self.answer(parts);
        if self.mode == Mode::Noisy && self.tape.one_in(12) {
            called.pop();
        }
        let together = self.tape.one_in(4);
        let mut results = Vec::new();
        for (id, name) in called {
            let response = self.response();
            let said = object([
                ("id", text_of(&*id)),
                ("name", text_of(name)),
                ("response", response),
            ]);
            results.push(object([("functionResponse", said)]));
            if !together {
                let results = std::mem::take(&mut results);
                self.results(&id, results);
            }
        }
        if !results.is_empty() {
            self.results("call_0", results);
        }
        if self.tape.one_in(8) {
            let parts = vec![self.words()];
            let kind = ("user", Some("mid_turn_user_message"));
            self.message(What::Message, kind, parts, Vec::new());
        }
    }

    fn results(&mut self, id: &str, results: Vec<Json>) {
        let mut shown = vec![("callId", text_of(id)), ("status", text_of("success"))];
        match self.tape.below(4) {
            0 => shown.push(("resultDisplay", text_of(output(self.tape, self.mode)))),
            1 => {
                let said = text_of(output(self.tape, self.mode));
                let display = object([("type", text_of("shell_result")), ("output", said)]);
                shown.push(("resultDisplay", display));
            }
            2 => shown.push(("resultDisplay", text_of(""))),
            _ => {}
        }
        let more = vec![("toolCallResult", Json::Object(shown))];
        self.message(What::Message, ("tool_result", None), results, more);
    }

    /// What a tool said.
    fn response(&mut self) -> Json {
        let said = text_of(output(self.tape, self.mode));
        match self.tape.below(12) {
            0..9 => object([("output", said)]),
            9 => object([("error", said)]),
            10 => object([("output", said), ("code", Json::Raw("0"))]),
            _ => Json::Raw("{\"rows\":[1,2.50]}"),
        }
    }

    /// Records without a message.
    fn note(&mut self) {
        match self.tape.below(4) {
            0 => {
                let payload = object([("customTitle", text_of("so"))]);
                let fields = vec![("systemPayload", payload)];
                self.record(What::Note, "system", Some("custom_title"), fields);
            }
            1 => {
                let payload = object([
                    ("phase", text_of("invocation")),
                    ("rawCommand", text_of("/about")),
                ]);
                let fields = vec![("systemPayload", payload)];
                self.record(What::Note, "system", Some("slash_command"), fields);
            }
            2 => {
                self.record(What::Note, "system", Some("of_the_future"), Vec::new());
            }
            _ => {
                let subtype = Some("session_artifact_event");
                self.record(What::Beside, "system", subtype, Vec::new());
            }
        }
    }

    /// A compaction: by a summary, or of the same messages.
    fn compaction(&mut self) {
        let mut payload = Vec::new();
        let is_counted = self.tape.one_in(2);
        if is_counted {
            let tokens = Json::Number(self.tape.between(1, 90_000) as u64);
            payload.push(("info", object([("newTokenCount", tokens)])));
        }
        let said = std::mem::take(&mut self.said);
        let mut items: Vec<Json> = said.into_iter().map(|(_, message)| message).collect();
        if items.is_empty() || !self.tape.one_in(3) {
            let of =
                |role: &str, parts| object([("role", text_of(role)), ("parts", Json::List(parts))]);
            let summary = of("user", vec![self.words()]);
            let got = part("Got it. Thanks for the additional context!");
            items = vec![summary, of("model", vec![got])];
            if self.tape.one_in(3) {
                items.push(of("user", vec![self.words()]));
            }
        }
        payload.push(("compressedHistory", Json::List(items.clone())));
        unknown_fields(self.tape, &mut payload);
        let fields = vec![("systemPayload", Json::Object(payload))];
        let what = What::Compaction(is_counted);
        let number = self.record(what, "system", Some("chat_compression"), fields);
        self.said = items.into_iter().map(|item| (number, item)).collect();
        self.turns.clear();
    }

    /// A prompt since the last compaction is taken back, with all that followed.
    fn rewind(&mut self) {
        let Some(most) = self.turns.len().checked_sub(1) else {
            return;
        };
        let at = self.tape.below(most + 1);
        let (leaf, said) = self.turns[at];
        self.turns.truncate(at);
        self.said.truncate(said);
        self.leaf = leaf;
        if self.mode == Mode::Clean || self.tape.one_in(2) {
            let fields = vec![(
                "systemPayload",
                object([("truncatedCount", Json::Raw("2"))]),
            )];
            self.record(What::Note, "system", Some("rewind"), fields);
        }
    }

    fn known(&self) -> Known {
        let parent = |at: usize| self.records[at].parent;
        let mut path: Vec<usize> = std::iter::successors(self.leaf, |at| parent(*at)).collect();
        path.reverse();
        let what = |at: usize| self.records[at].what;
        let is_compaction = |at: &usize| matches!(what(*at), What::Compaction(_));
        let begins = path.iter().rposition(is_compaction).unwrap_or(0);
        let live = path[begins..].to_vec();
        let counts = |at: &usize| matches!(what(*at), What::Counted | What::Compaction(true));
        let counted = live.iter().copied().rfind(counts);
        let speaks =
            |at: &usize| is_compaction(at) || matches!(what(*at), What::Message | What::Counted);
        let snapshots = path.iter().filter(|at| what(**at) == What::Snapshot);
        let last_snapshot = snapshots.copied().next_back();
        let is_dead = |at: &usize| {
            if what(*at) == What::Beside || live.contains(at) {
                return false;
            }
            if speaks(at) {
                return true;
            }
            if path.contains(at) {
                return match what(*at) {
                    What::Telemetry => true,
                    What::Snapshot => Some(*at) != last_snapshot,
                    _ => false,
                };
            }
            let mut above = std::iter::successors(parent(*at), |at| parent(*at));
            let stop = above.find(|at| speaks(at) || path.contains(at));
            stop.is_some_and(|stop| speaks(&stop) && !live.contains(&stop))
        };
        let dead: BTreeSet<usize> = match self.said.is_empty() {
            true => BTreeSet::new(),
            false => (0..self.records.len()).filter(is_dead).collect(),
        };
        Known {
            windows: vec![Window {
                lines: live,
                counted: counted.into_iter().collect(),
                ..Window::default()
            }],
            dead,
            chain: Wholeness::Whole,
        }
    }
}

fn part(said: impl Into<String>) -> Json {
    object([("text", text_of(said))])
}
