//! pi session files: a header and entries, of which those on the path to the last one are live.
//!
//! The writer records the parent of each entry and derives from that which ones are live.

use std::collections::BTreeSet;

use super::anthropic::{TOOLS, block};
use super::known::{Chain as Wholeness, Known, Window};
use super::tape::Tape;
use super::text::{Json, Mode, Style, object, output, text_of, unknown_fields, words};

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    pub lines: Vec<Vec<u8>>,
    pub known: Known,
}

/// Calls that read a few files by many names, in whole and in part.
const READS: [(&str, &str); 8] = [
    ("read", "{\"path\":\"/w/a.rs\"}"),
    ("read", "{\"path\":\"a.rs\"}"),
    ("read", "{\"path\":\"/w/a.rs\",\"limit\":8}"),
    ("read", "{\"path\":\"./a.rs\",\"offset\":3,\"limit\":8}"),
    ("read", "{\"offset\":2, \"path\":\"\\/w//a.rs\"}"),
    ("Read", "{\"file_path\":\"/w/a.rs\"}"),
    ("read", "{\"path\":\"/w/b.rs\"}"),
    (
        "bash",
        "{\"command\":\"ls \\u002d\\u2014 世\",\"timeout\":1e3}",
    ),
];

/// A session of 1 to 40 messages.
pub(super) fn session(tape: &mut Tape, mode: Mode) -> Session {
    let mut writer = Writer {
        // Only this program recognises a type that is written with escapes.
        style: Style::any(tape, Mode::Clean),
        // The header comes first, and is not counted among the entries here.
        version: tape.pick(&["3", "", "3", "1", "2"]),
        mode,
        entries: Vec::new(),
        leaf: None,
        turns: Vec::new(),
        ids: 0,
        messages: 0,
        tape,
    };
    writer.main();
    writer.session()
}

/// An entry before it is written.
#[derive(Debug)]
struct Entry {
    style: Style,
    what: What,
    parent: Option<usize>,
    /// The bytes that are written instead of it, in noise.
    written: Option<String>,
    fields: Vec<(&'static str, Json)>,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// Part of what a model sees, or was meant to be.
    Message,
    /// An answer.
    Answer,
    /// An aborted answer.
    Broken,
    /// Has no content.
    Note,
    /// A compaction, and the first entry before it that it keeps.
    Compaction { kept: usize },
}

struct Writer<'t> {
    tape: &'t mut Tape,
    mode: Mode,
    style: Style,
    version: &'static str,
    entries: Vec<Entry>,
    leaf: Option<usize>,
    /// Where the turns that a model sees begin.
    turns: Vec<usize>,
    ids: usize,
    messages: usize,
}

impl Writer<'_> {
    fn main(&mut self) {
        let most = self.tape.between(1, 40);
        while self.messages == 0 || self.messages < most {
            match self.tape.below(12) {
                8 => self.note(),
                9 => self.aside(),
                10 if self.has_ids() => self.rewind(),
                11 => self.compaction(),
                _ => {}
            }
            self.turn(most);
        }
        match self.tape.below(8) {
            5 => self.note(),
            6 => self.compaction(),
            7 => self.broken(),
            _ => {}
        }
    }

    fn has_ids(&self) -> bool {
        matches!(self.version, "2" | "3")
    }

    fn turn(&mut self, most: usize) {
        let said = user_content(self.tape, self.mode);
        let entry = self.message("user", What::Message, vec![("content", said)]);
        self.turns.push(entry);
        while self.messages < most && self.tape.one_in(2) {
            self.round();
            if self.tape.one_in(10) {
                self.note();
            }
        }
        match self.tape.below(8) {
            0..6 => {
                let mut said = thoughts(self.tape, self.mode);
                said.push(text(&words(self.tape, self.mode)));
                self.answer(said, "stop");
            }
            6 => self.broken(),
            _ => {}
        }
    }

    /// An answer with calls, and a result of each.
    fn round(&mut self) {
        let mut asks = thoughts(self.tape, self.mode);
        let mut called = Vec::new();
        for _ in 0..self.tape.between(1, 3) {
            // Noise contains duplicate ids.
            if self.mode == Mode::Clean || !self.tape.one_in(10) {
                self.ids += 1;
            }
            let id = format!("toolu_{}", self.ids);
            let (name, arguments) = if self.tape.one_in(2) {
                self.tape.pick(&READS)
            } else {
                (self.tape.pick(&TOOLS), "{\"n\":12345678901234567890123}")
            };
            let mut call = vec![
                ("type", text_of("toolCall")),
                ("id", text_of(&id)),
                ("name", text_of(name)),
                ("arguments", Json::Raw(arguments)),
            ];
            unknown_fields(self.tape, &mut call);
            asks.push(Json::Object(call));
            called.push((id, name));
        }
        self.answer(asks, "toolUse");
        if self.mode == Mode::Noisy && self.tape.one_in(12) {
            called.pop();
        }
        for (id, name) in called {
            self.result(&id, name);
        }
    }

    fn result(&mut self, id: &str, name: &'static str) {
        let said = output(self.tape, self.mode);
        let kinds = if self.mode == Mode::Clean { 10 } else { 13 };
        let content = match self.tape.below(kinds) {
            0..7 => Json::List(vec![text(&said)]),
            7 => Json::List(vec![text(&said), text(&said)]),
            8 => Json::List(vec![text(&said), picture()]),
            9 => Json::List(Vec::new()),
            10 => text_of(&said),
            11 => Json::Raw("{\"rows\":[1,2.50]}"),
            _ => Json::List(vec![text(&said), Json::Raw("3")]),
        };
        let mut entries = vec![
            ("toolCallId", text_of(id)),
            ("toolName", text_of(name)),
            ("content", content),
        ];
        if self.tape.one_in(2) {
            let repeated = text_of(output(self.tape, self.mode));
            let more = Json::Raw("{\"truncated\":true,\"totalLines\":3}");
            let details = object([("diff", repeated), ("truncation", more)]);
            entries.push(("details", details));
        }
        let is_error = self.tape.pick(&["false", "false", "false", "true"]);
        entries.push(("isError", Json::Raw(is_error)));
        self.message("toolResult", What::Message, entries);
    }

    fn answer(&mut self, content: Vec<Json>, stop: &'static str) {
        let usage = usage(self.tape);
        let mut entries = vec![
            ("content", Json::List(content)),
            ("provider", text_of("anthropic")),
            ("usage", usage),
            ("stopReason", text_of(stop)),
        ];
        if self.mode == Mode::Noisy && self.tape.one_in(12) {
            entries.remove(2);
        }
        self.message("assistant", What::Answer, entries);
    }

    /// An aborted answer, with a call that was not carried out.
    fn broken(&mut self) {
        let call = Json::Raw(
            "{\"type\":\"toolCall\",\"id\":\"toolu_broken\",\"name\":\"bash\",\"arguments\":{},\"partialJson\":\"{\"}",
        );
        let reason = self.tape.pick(&["aborted", "error"]);
        let entries = vec![
            ("content", Json::List(vec![text("I will"), call])),
            ("usage", usage(self.tape)),
            ("stopReason", text_of(reason)),
            ("errorMessage", text_of("Request was aborted")),
        ];
        self.message("assistant", What::Broken, entries);
    }

    /// Entries beside the conversation, by the agent or the user, that are sent.
    fn aside(&mut self) {
        let said = words(self.tape, self.mode);
        match self.tape.below(4) {
            0 => {
                let left_out = self.tape.pick(&["false", "true"]);
                let entries = vec![
                    ("command", text_of("ls")),
                    ("output", text_of(said)),
                    ("exitCode", Json::Raw("0")),
                    ("excludeFromContext", Json::Raw(left_out)),
                ];
                self.message("bashExecution", What::Message, entries);
            }
            1 => {
                let fields = vec![
                    ("type", text_of("custom_message")),
                    ("customType", text_of("x")),
                    ("content", text_of(said)),
                    ("display", Json::Raw("true")),
                ];
                self.entry(What::Message, fields);
            }
            2 => {
                let fields = vec![
                    ("type", text_of("branch_summary")),
                    ("summary", text_of(said)),
                    ("fromId", text_of("root")),
                ];
                self.entry(What::Message, fields);
            }
            _ => {
                let entries = vec![("content", text_of(said)), ("customType", text_of("y"))];
                self.message("custom", What::Message, entries);
            }
        }
    }

    /// An entry without content.
    fn note(&mut self) {
        let fields = match self.tape.below(6) {
            0 => vec![
                ("type", text_of("model_change")),
                ("provider", text_of("openai")),
                ("modelId", text_of("m")),
            ],
            1 => vec![
                ("type", text_of("thinking_level_change")),
                ("thinkingLevel", text_of("high")),
            ],
            2 => vec![
                ("type", text_of("label")),
                ("targetId", text_of("e1")),
                ("label", text_of("here")),
            ],
            3 => vec![("type", text_of("session_info")), ("name", text_of("n"))],
            4 => vec![
                ("type", text_of("custom")),
                ("data", Json::Raw("{\"a\":1e2}")),
            ],
            _ => vec![("type", text_of("from_the_future")), ("x", Json::Raw("[]"))],
        };
        self.entry(What::Note, fields);
    }

    /// Goes back to where a turn began.
    fn rewind(&mut self) {
        let Some(turns) = self.turns.len().checked_sub(1) else {
            return;
        };
        let at = self.tape.below(turns + 1);
        self.leaf = self.entries[self.turns[at]].parent;
        self.turns.truncate(at);
        // It would only become another root.
        if self.leaf.is_none() {
            self.turns.clear();
        }
    }

    fn compaction(&mut self) {
        if self.turns.is_empty() {
            return;
        }
        let at = self.tape.below(self.turns.len());
        let kept = self.turns[at];
        self.turns.drain(..at);
        let mut fields = vec![
            ("type", text_of("compaction")),
            ("summary", text_of(words(self.tape, self.mode))),
            ("tokensBefore", Json::Number(9_000)),
        ];
        fields.push(if self.has_ids() {
            ("firstKeptEntryId", text_of(format!("e{kept}")))
        } else {
            ("firstKeptEntryIndex", Json::Number(kept as u64 + 1))
        });
        self.entry(What::Compaction { kept }, fields);
    }

    fn message(
        &mut self,
        role: &'static str,
        what: What,
        more: Vec<(&'static str, Json)>,
    ) -> usize {
        self.messages += 1;
        let mut message = vec![("role", text_of(role))];
        message.extend(more);
        message.push(("timestamp", Json::Number(1_765_233_665_294)));
        if self.tape.one_in(12) {
            // A duplicate key: the last one counts, and it is the same in whatever order they are written.
            let at = self.tape.below(message.len());
            let twice = message[at].clone();
            message.push(twice);
        }
        let mut fields = vec![
            ("type", text_of("message")),
            ("message", Json::Object(message)),
        ];
        if self.tape.one_in(24) {
            let twice = fields[1].clone();
            fields.push(twice);
        }
        self.entry(what, fields)
    }

    /// Adds an entry below the leaf.
    fn entry(&mut self, what: What, mut fields: Vec<(&'static str, Json)>) -> usize {
        unknown_fields(self.tape, &mut fields);
        if self.tape.one_in(16) {
            self.style = Style::any(self.tape, Mode::Clean);
        }
        let noise = self.mode == Mode::Noisy && self.tape.one_in(40);
        let number = self.entries.len();
        self.entries.push(Entry {
            style: self.style,
            what,
            parent: self.leaf,
            written: noise.then(|| format!("e{}", self.tape.below(60))),
            fields,
        });
        self.leaf = Some(number);
        number
    }

    fn session(self) -> Session {
        let mut header = vec![("type", text_of("session"))];
        if !self.version.is_empty() {
            header.push(("version", Json::Raw(self.version)));
        }
        header.extend([
            ("id", text_of("ffae836b-9420-4060-ac13-7745215f90ff")),
            ("timestamp", text_of("2026-01-02T00:00:00.000Z")),
            ("cwd", text_of("/w")),
        ]);
        let mut lines = vec![self.style.write(&Json::Object(header))];
        let has_ids = self.has_ids();
        for (number, entry) in self.entries.iter().enumerate() {
            let mut fields = entry.fields.clone();
            if has_ids {
                let parent = entry.parent.map(|parent| format!("e{parent}"));
                let parent = entry.written.clone().or(parent);
                let parent = parent.map_or(Json::Raw("null"), text_of);
                fields.insert(1, ("id", text_of(format!("e{number}"))));
                fields.insert(2, ("parentId", parent));
            }
            let (minutes, seconds) = (number / 60 % 60, number % 60);
            let time = format!("2026-01-02T00:{minutes:02}:{seconds:02}.000Z");
            fields.push(("timestamp", text_of(time)));
            lines.push(entry.style.write(&Json::Object(fields)));
        }
        let known = match self.mode {
            Mode::Clean => self.known(),
            Mode::Noisy => Known::default(),
        };
        Session { lines, known }
    }

    /// Which entries are live and which are dead, by what the writer intended.
    fn known(&self) -> Known {
        let mut path = Vec::new();
        let mut at = self.entries.len().checked_sub(1);
        while let Some(number) = at {
            path.insert(0, number);
            at = self.entries[number].parent;
        }
        let what = |number: usize| self.entries[number].what;
        let is_compaction = |number: usize| matches!(what(number), What::Compaction { .. });
        let mut window = path.clone();
        if let Some(last) = path.iter().rposition(|number| is_compaction(*number))
            && let What::Compaction { kept } = what(path[last])
        {
            let first = path.iter().position(|number| *number == kept);
            let first = first.unwrap_or(last);
            let older = path[first..last].iter().filter(|n| !is_compaction(**n));
            window = vec![path[last]];
            window.extend(older);
            window.extend(&path[last + 1..]);
        }
        let mut counted = BTreeSet::new();
        for number in window.iter().rev() {
            match what(*number) {
                What::Broken => drop(counted.insert(number + 1)),
                What::Answer => {
                    counted.insert(number + 1);
                    break;
                }
                What::Message | What::Note | What::Compaction { .. } => {}
            }
        }
        let mut dead = BTreeSet::new();
        for number in 0..self.entries.len() {
            let mut at = number;
            // The entry that a note is attached to decides, if the note is not on the path.
            while what(at) == What::Note && !path.contains(&at) {
                let Some(parent) = self.entries[at].parent else {
                    break;
                };
                at = parent;
            }
            if what(at) != What::Note && !window.contains(&at) {
                // A live note on the path keeps the entries attached to it.
                dead.insert(number + 1);
            }
        }
        Known {
            windows: vec![Window {
                lines: window.into_iter().map(|number| number + 1).collect(),
                counted,
                ..Window::default()
            }],
            dead,
            chain: Wholeness::Whole,
        }
    }
}

fn text(said: &str) -> Json {
    block("text", [("text", text_of(said))])
}

fn picture() -> Json {
    let data = text_of("iVBORw0K/+".repeat(40));
    block(
        "image",
        [("data", data), ("mimeType", text_of("image/png"))],
    )
}

/// The content of a person's message: a string, or a list with pictures.
fn user_content(tape: &mut Tape, mode: Mode) -> Json {
    let said = words(tape, mode);
    match tape.below(6) {
        0..3 => Json::List(vec![text(&said)]),
        3 | 4 => text_of(said),
        _ => Json::List(vec![text(&said), picture()]),
    }
}

/// Parts that may precede calls: thinking, a text.
fn thoughts(tape: &mut Tape, mode: Mode) -> Vec<Json> {
    let mut blocks = Vec::new();
    if tape.one_in(3) {
        let mut entries = vec![
            ("type", text_of("thinking")),
            ("thinking", text_of(words(tape, mode))),
        ];
        if !tape.one_in(6) {
            entries.push(("thinkingSignature", text_of("Ep8C+/==")));
        }
        if tape.one_in(8) {
            entries.push(("redacted", Json::Raw("true")));
        }
        blocks.push(Json::Object(entries));
    }
    if tape.one_in(3) {
        blocks.push(text(&words(tape, mode)));
    }
    blocks
}

/// The figures of a provider, with the costs.
fn usage(tape: &mut Tape) -> Json {
    let counts = [
        ("input", tape.pick(&[3, 0, 40, 1_200])),
        ("output", 8),
        ("cacheRead", tape.pick(&[0, 15, 900, 196_000])),
        ("cacheWrite", tape.pick(&[0, 60, 700, 20_000])),
    ];
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let mut entries: Vec<(&str, Json)> = counts
        .into_iter()
        .map(|(key, count)| (key, Json::Number(count)))
        .collect();
    if !tape.one_in(4) {
        entries.push(("totalTokens", Json::Number(total)));
    }
    let cost = "{\"input\":0.013875000000000002,\"total\":0.017400000000000002}";
    entries.push(("cost", Json::Raw(cost)));
    unknown_fields(tape, &mut entries);
    Json::Object(entries)
}
