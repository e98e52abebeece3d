//! Claude Code session files: a tree of lines, of which one path is live.
//!
//! The generator knows what is live because it walks forward where the program walks back.

use super::anthropic::{answer, answers, block, call, image, thoughts, user_content};
use super::tape::Tape;
use super::text::{Json, Mode, Style, object, output, text_of, unknown_fields, words};

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    pub lines: Vec<Vec<u8>>,
    /// The live lines of each conversation, in its order.
    pub live: Vec<Vec<usize>>,
}

/// A session of 1 to 40 messages in its main conversation, and what else stands in such files.
pub(super) fn session(tape: &mut Tape, mode: Mode) -> Session {
    let mut writer = Writer {
        style: Style::any(tape, mode),
        mode,
        lines: Vec::new(),
        ids: 0,
        messages: 0,
        asides: Vec::new(),
        tape,
    };
    let aside = if writer.tape.one_in(8) {
        Aside::Yes
    } else {
        Aside::No
    };
    let main = writer.main(aside);
    let live = [vec![main], std::mem::take(&mut writer.asides)].concat();
    let (order, places) = writer.shuffled();
    let write = |at: &usize| {
        let line = &writer.lines[*at];
        line.style.write(&line.json())
    };
    Session {
        lines: order.iter().map(write).collect(),
        live: live
            .into_iter()
            .map(|chain| chain.live.into_iter().map(|line| places[line]).collect())
            .collect(),
    }
}

/// A line before it is written.
#[derive(Debug, Clone)]
struct Line {
    style: Style,
    chained: Option<Chained>,
    fields: Vec<(&'static str, Json)>,
}

/// Its place in the tree.
#[derive(Debug, Clone)]
struct Chained {
    id: String,
    parent: Option<String>,
    aside: Aside,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aside {
    No,
    Yes,
}

impl Line {
    fn json(&self) -> Json {
        let Some(Chained { id, parent, aside }) = &self.chained else {
            return Json::Object(self.fields.clone());
        };
        let mut entries = vec![
            (
                "parentUuid",
                parent.as_ref().map_or(Json::Raw("null"), text_of),
            ),
            (
                "isSidechain",
                Json::Raw(if *aside == Aside::Yes {
                    "true"
                } else {
                    "false"
                }),
            ),
            ("userType", text_of("external")),
            ("sessionId", text_of("5c0375b4")),
            ("cwd", text_of("/w")),
        ];
        entries.extend(self.fields.iter().cloned());
        entries.push(("uuid", text_of(id)));
        entries.push(("timestamp", text_of("2026-01-02T03:04:05.678Z")));
        Json::Object(entries)
    }
}

/// One conversation while it grows.
#[derive(Debug, Clone)]
struct Chain {
    aside: Aside,
    /// The line that the next one hangs on.
    leaf: Option<String>,
    live: Vec<usize>,
    /// The turns since the last compaction: what each began on, and what was live then.
    turns: Vec<(Option<String>, usize)>,
}

impl Chain {
    fn new(aside: Aside) -> Chain {
        Chain {
            aside,
            leaf: None,
            live: Vec::new(),
            turns: Vec::new(),
        }
    }
}

struct Writer<'t> {
    tape: &'t mut Tape,
    mode: Mode,
    style: Style,
    lines: Vec<Line>,
    ids: usize,
    messages: usize,
    asides: Vec<Chain>,
}

impl Writer<'_> {
    fn main(&mut self, aside: Aside) -> Chain {
        let mut chain = Chain::new(aside);
        let most = self.tape.between(1, 40);
        while self.messages == 0 || self.messages < most {
            self.around(&mut chain);
            match self.tape.below(16) {
                11 => self.rewind(&mut chain),
                12 | 13 => self.compaction(&mut chain),
                14 => self.written_again(&mut chain),
                15 if aside == Aside::No => self.sidechain(&chain),
                _ => {}
            }
            self.turn(&mut chain, most);
        }
        self.last_prompt(&mut chain);
        chain
    }

    fn turn(&mut self, chain: &mut Chain, most: usize) {
        chain.turns.push((chain.leaf.clone(), chain.live.len()));
        let said = user_content(self.tape, self.mode);
        self.user(chain, said, Vec::new());
        while self.messages < most && self.tape.one_in(2) {
            self.round(chain);
        }
        match self.tape.below(8) {
            0..5 => {
                let said = answer(self.tape, self.mode);
                let id = self.message_id();
                self.assistant(chain, &id, said);
            }
            5 => {
                let error = block("text", [("text", text_of("API Error: 529"))]);
                let fields = vec![("isApiErrorMessage", Json::Raw("true"))];
                let id = self.message_id();
                self.message(chain, "assistant", &id, Json::List(vec![error]), fields);
            }
            _ => {}
        }
    }

    /// Adds a line that the next one hangs on.
    fn line(&mut self, chain: &mut Chain, fields: Vec<(&'static str, Json)>) -> String {
        let id = self.hang(chain.aside, chain.leaf.clone(), fields);
        chain.live.push(self.lines.len() - 1);
        chain.leaf = Some(id.clone());
        id
    }

    /// Adds a line below `parent` on which nothing has to hang.
    fn hang(
        &mut self,
        aside: Aside,
        parent: Option<String>,
        mut fields: Vec<(&'static str, Json)>,
    ) -> String {
        self.ids += 1;
        let id = format!("u{}", self.ids);
        unknown_fields(self.tape, &mut fields);
        let parent = match self.mode {
            Mode::Noisy if self.tape.one_in(60) => Some(format!("u{}", self.tape.below(60))),
            Mode::Noisy if self.tape.one_in(60) => None,
            Mode::Noisy | Mode::Clean => parent,
        };
        if self.tape.one_in(16) {
            self.style = Style::any(self.tape, self.mode);
        }
        self.lines.push(Line {
            style: self.style,
            chained: Some(Chained {
                id: id.clone(),
                parent,
                aside,
            }),
            fields,
        });
        id
    }

    fn message(
        &mut self,
        chain: &mut Chain,
        kind: &'static str,
        id: &str,
        content: Json,
        more: Vec<(&'static str, Json)>,
    ) -> String {
        self.messages += 1;
        let mut message = vec![("role", text_of(kind)), ("content", content)];
        if kind == "assistant" {
            let usage = "{\"input_tokens\":3,\"output_tokens\":8,\"service_tier\":\"standard\"}";
            message.insert(0, ("id", text_of(id)));
            message.extend([("model", text_of("claude")), ("usage", Json::Raw(usage))]);
        }
        if self.tape.one_in(12) {
            // A key twice: the last one counts, and is the same in whatever order they are written.
            let at = self.tape.below(message.len());
            let twice = message[at].clone();
            message.push(twice);
        }
        let mut fields = vec![("type", text_of(kind)), ("message", Json::Object(message))];
        if self.tape.one_in(24) {
            let twice = fields[1].clone();
            fields.push(twice);
        }
        fields.extend(more);
        self.line(chain, fields)
    }

    fn user(
        &mut self,
        chain: &mut Chain,
        content: Json,
        more: Vec<(&'static str, Json)>,
    ) -> String {
        self.message(chain, "user", "", content, more)
    }

    fn assistant(&mut self, chain: &mut Chain, id: &str, content: Json) -> String {
        self.message(chain, "assistant", id, content, Vec::new())
    }

    fn message_id(&mut self) -> String {
        self.ids += 1;
        format!("msg_{}", self.ids)
    }

    /// An answer with calls, spread over lines in one of the ways in which it is.
    fn round(&mut self, chain: &mut Chain) {
        let message = self.message_id();
        let before = thoughts(self.tape, self.mode);
        let calls: Vec<(String, Json)> = (0..self.tape.between(1, 3))
            .map(|_| {
                // Noise has ids twice.
                if self.mode == Mode::Clean || !self.tape.one_in(10) {
                    self.ids += 1;
                }
                let id = format!("toolu_{}", self.ids);
                let call = call(self.tape, &id);
                (id, call)
            })
            .collect();
        let layout = self.tape.below(5);
        if layout < 2 {
            let blocks = before
                .into_iter()
                .chain(calls.iter().map(|(_, call)| call.clone()));
            self.assistant(chain, &message, Json::List(blocks.collect()));
            for (id, _) in &calls {
                self.progress(chain, id);
            }
            if layout == 1 {
                return self.results_on_a_line(chain, &calls);
            }
            return calls.iter().for_each(|(id, _)| self.result(chain, id));
        }
        for block in before {
            self.assistant(chain, &message, Json::List(vec![block]));
        }
        match layout {
            // A line a block, then the results, one on the other.
            2 => {
                for (id, call) in &calls {
                    self.assistant(chain, &message, Json::List(vec![call.clone()]));
                    self.progress(chain, id);
                }
                calls.iter().for_each(|(id, _)| self.result(chain, id));
            }
            // Each result right after its call.
            3 => {
                for (id, call) in &calls {
                    self.assistant(chain, &message, Json::List(vec![call.clone()]));
                    self.progress(chain, id);
                    self.result(chain, id);
                }
            }
            // Each result hangs on its own call; only the last one is on the path.
            _ => {
                let callers: Vec<String> = calls
                    .iter()
                    .map(|(_, call)| {
                        self.assistant(chain, &message, Json::List(vec![call.clone()]))
                    })
                    .collect();
                for ((id, _), caller) in calls.iter().zip(callers) {
                    chain.leaf = Some(caller);
                    self.progress(chain, id);
                    self.result(chain, id);
                }
            }
        }
    }

    /// A call's result on a line of its own, with the mirror that its tool leaves.
    fn result(&mut self, chain: &mut Chain, id: &str) {
        let output = output(self.tape, self.mode);
        for result in answers(self.tape, self.mode, id, &output) {
            let mirror = self.mirror(&output);
            self.user(chain, Json::List(vec![result]), mirror);
        }
    }

    fn results_on_a_line(&mut self, chain: &mut Chain, calls: &[(String, Json)]) {
        let mut blocks = Vec::new();
        let mut all = String::new();
        for (id, _) in calls {
            let output = output(self.tape, self.mode);
            blocks.extend(answers(self.tape, self.mode, id, &output));
            all.push_str(&output);
        }
        if self.tape.one_in(4) {
            blocks.push(block(
                "text",
                [("text", text_of(words(self.tape, self.mode)))],
            ));
        }
        let mirror = self.mirror(&all);
        self.user(chain, Json::List(blocks), mirror);
    }

    fn mirror(&mut self, output: &str) -> Vec<(&'static str, Json)> {
        let out = || text_of(output);
        let value = match self.tape.below(8) {
            0 => return Vec::new(),
            1 | 2 => object([
                ("stdout", out()),
                ("stderr", text_of("")),
                ("interrupted", Json::Raw("false")),
                ("isImage", Json::Raw("false")),
            ]),
            3 => object([
                ("type", text_of("text")),
                (
                    "file",
                    object([
                        ("filePath", text_of("/a/b.rs")),
                        ("content", out()),
                        ("numLines", Json::Raw("12")),
                        ("totalLines", Json::Raw("123456789012345678901234567890")),
                    ]),
                ),
            ]),
            4 => object([
                ("filePath", text_of("/a/b.rs")),
                ("oldString", out()),
                ("originalFile", out()),
                (
                    "structuredPatch",
                    Json::List(vec![object([("lines", Json::List(vec![out()]))])]),
                ),
                ("userModified", Json::Raw("false")),
            ]),
            5 => object([
                ("mode", text_of("content")),
                ("filenames", Json::List(vec![out(), out()])),
            ]),
            6 => text_of(format!("Error: {output}")),
            _ => Json::List(vec![block("text", [("text", out())]), image(self.tape)]),
        };
        let mut fields = vec![("toolUseResult", value)];
        if self.tape.one_in(12) {
            fields.push(("toolUseResult", out()));
        }
        fields
    }

    /// Lines for a viewer, below the call or in the chain.
    fn progress(&mut self, chain: &mut Chain, call: &str) {
        while self.tape.one_in(4) {
            let output = output(self.tape, self.mode);
            let data = match self.tape.below(3) {
                0 => object([
                    ("type", text_of("bash_progress")),
                    ("fullOutput", text_of(output)),
                ]),
                1 => object([
                    ("type", text_of("agent_progress")),
                    (
                        "message",
                        object([(
                            "message",
                            object([("content", Json::List(vec![text_of(output)]))]),
                        )]),
                    ),
                ]),
                _ => text_of(output),
            };
            let fields = vec![
                ("type", text_of("progress")),
                ("data", data),
                ("toolUseID", text_of("x")),
                ("parentToolUseID", text_of(call)),
            ];
            if self.tape.one_in(2) {
                self.line(chain, fields);
            } else {
                self.hang(chain.aside, chain.leaf.clone(), fields);
            }
        }
    }

    /// What stands between turns and is no message.
    fn around(&mut self, chain: &mut Chain) {
        while self.tape.one_in(3) {
            let words = text_of(words(self.tape, self.mode));
            let raw = |key, value| (key, Json::Raw(value));
            let kind = |kind| ("type", text_of(kind));
            match self.tape.below(12) {
                0 => self.plain(vec![
                    kind("file-history-snapshot"),
                    raw("messageId", "\"m\""),
                    raw("snapshot", "{\"trackedFileBackups\":{}}"),
                ]),
                1 => self.plain(vec![
                    kind("queue-operation"),
                    raw("operation", "\"enqueue\""),
                    raw("sessionId", "\"5c0375b4\""),
                ]),
                2 => self.plain(vec![
                    kind("summary"),
                    ("summary", words),
                    raw("leafUuid", "\"elsewhere\""),
                ]),
                3 => self.plain(vec![
                    kind("api-request-blob"),
                    ("blob", text_of("x".repeat(400))),
                ]),
                4 => self.plain(vec![kind("no-such-type"), raw("x", "{\"a\":1,\"a\":2}")]),
                5 => {
                    // One that is there would decide what is live.
                    let leaf = match self.mode {
                        Mode::Clean => "\"elsewhere\"",
                        Mode::Noisy => "\"u1\"",
                    };
                    self.plain(vec![kind("last-prompt"), raw("leafUuid", leaf)]);
                }
                6 => drop(self.line(chain, vec![kind("new-chained-type"), raw("content", "[1]")])),
                7 => drop(self.line(
                    chain,
                    vec![kind("system"), raw("subtype", "\"turn_duration\"")],
                )),
                8 => {
                    let sent = [
                        "file",
                        "todo_reminder",
                        "queued_command",
                        "hook_success",
                        "date_change",
                    ];
                    let attachment =
                        object([("type", text_of(self.tape.pick(&sent))), ("content", words)]);
                    let fields = vec![kind("attachment"), ("attachment", attachment)];
                    if self.tape.one_in(4) {
                        self.hang(chain.aside, chain.leaf.clone(), fields);
                    } else {
                        self.line(chain, fields);
                    }
                }
                9 => drop(self.user(chain, words, vec![raw("isMeta", "true")])),
                10 => {
                    let echo = text_of("<command-name>/x</command-name>");
                    self.user(chain, echo, Vec::new());
                }
                _ => {
                    let reminder = text_of("<system-reminder>x</system-reminder>");
                    self.user(chain, reminder, Vec::new());
                }
            }
        }
    }

    fn plain(&mut self, mut fields: Vec<(&'static str, Json)>) {
        unknown_fields(self.tape, &mut fields);
        self.lines.push(Line {
            style: self.style,
            chained: None,
            fields,
        });
    }

    /// The person goes back to the beginning of a turn; what came after it is dead.
    fn rewind(&mut self, chain: &mut Chain) {
        if chain.turns.is_empty() {
            return;
        }
        let to = self.tape.below(chain.turns.len());
        let (leaf, live) = chain.turns[to].clone();
        chain.leaf = leaf;
        chain.live.truncate(live);
        chain.turns.truncate(to);
    }

    /// A recorded compaction, which may have kept the last turn.
    fn compaction(&mut self, chain: &mut Chain) {
        // The boundary names the line that will come after it.
        let summary = self.ids + 2;
        let kept = match chain.turns.last() {
            Some((_, from)) => chain.live[*from..].to_vec(),
            None => Vec::new(),
        };
        let id_of = |line: &usize| self.lines[*line].chained.as_ref().map(|c| c.id.clone());
        let ids: Vec<String> = kept.iter().filter_map(id_of).collect();
        let anchor = ("anchorUuid", text_of(format!("u{summary}")));
        let mut metadata = vec![
            ("trigger", text_of("auto")),
            ("preTokens", Json::Raw("167094")),
        ];
        let mut live = Vec::new();
        if let (Some(first), Some(leaf)) = (ids.first(), &chain.leaf) {
            match self.tape.below(3) {
                0 => {}
                1 => {
                    let ids = Json::List(ids.iter().map(text_of).collect());
                    metadata.push(("preservedMessages", object([anchor, ("uuids", ids)])));
                    live = kept;
                }
                _ => {
                    let ends = [("headUuid", text_of(first)), ("tailUuid", text_of(leaf))];
                    let segment = [anchor].into_iter().chain(ends).collect();
                    metadata.push(("preservedSegment", Json::Object(segment)));
                    live = kept;
                }
            }
        }
        let logical = chain.leaf.take().map_or(Json::Raw("null"), text_of);
        *chain = Chain::new(chain.aside);
        self.line(
            chain,
            vec![
                ("type", text_of("system")),
                ("subtype", text_of("compact_boundary")),
                ("logicalParentUuid", logical),
                ("content", text_of("Conversation compacted")),
                ("compactMetadata", Json::Object(metadata)),
            ],
        );
        let said = text_of("This session is being continued from a previous conversation.");
        let marks = vec![("isCompactSummary", Json::Raw("true"))];
        self.user(chain, said, marks);
        chain.live.extend(live);
    }

    /// History that was written again with other uuids, as agents do when they resume.
    fn written_again(&mut self, chain: &mut Chain) {
        let is_boundary = |line: &usize| {
            let fields = &self.lines[*line].fields;
            fields.iter().any(|(key, _)| *key == "compactMetadata")
        };
        if chain.live.iter().any(is_boundary) {
            return;
        }
        self.ids += 1;
        let again = {
            let ids = self.ids;
            move |id: &String| format!("{id}-again{ids}")
        };
        let old: Vec<Line> = chain
            .live
            .iter()
            .map(|line| self.lines[*line].clone())
            .collect();
        let first = self.lines.len();
        for mut line in old {
            if let Some(chained) = &mut line.chained {
                chained.id = again(&chained.id);
                chained.parent = chained.parent.as_ref().map(again);
            }
            self.lines.push(line);
        }
        chain.leaf = chain.leaf.as_ref().map(again);
        chain.live = (first..self.lines.len()).collect();
        chain.turns.clear();
    }

    /// A subagent's conversation in the middle of the file.
    fn sidechain(&mut self, main: &Chain) {
        let mut chain = Chain::new(Aside::Yes);
        if self.mode == Mode::Noisy && self.tape.one_in(4) {
            chain.leaf.clone_from(&main.leaf);
        }
        let most = self.messages + 1 + self.tape.below(8);
        self.turn(&mut chain, most);
        self.asides.push(chain);
    }

    /// The pointer to the leaf, by which an agent finds it.
    fn last_prompt(&mut self, chain: &mut Chain) {
        let leaf = match self.tape.below(4) {
            0 => return,
            1 => chain.leaf.clone().unwrap_or_default(),
            2 => "nowhere".to_owned(),
            // Back to a turn that was left, by a pointer alone.
            _ => {
                let left = chain.leaf.clone().unwrap_or_default();
                let live = chain.live.clone();
                self.rewind(chain);
                let said = user_content(self.tape, self.mode);
                self.user(chain, said, Vec::new());
                chain.live = live;
                left
            }
        };
        let words = text_of(words(self.tape, self.mode));
        let fields = vec![
            ("type", text_of("last-prompt")),
            ("lastPrompt", words),
            ("leafUuid", text_of(leaf)),
            ("sessionId", text_of("5c0375b4")),
        ];
        self.plain(fields);
    }

    /// The order of the file, and the place of each line in it: sometimes a parent comes after its child, or a line
    /// twice.
    fn shuffled(&mut self) -> (Vec<usize>, Vec<usize>) {
        let count = self.lines.len();
        let mut order: Vec<usize> = (0..count).collect();
        // What comes last decides which line is the leaf.
        let last = order
            .iter()
            .rposition(|line| self.lines[*line].chained.is_some());
        for at in 1..last.unwrap_or(0) {
            if self.tape.one_in(40) {
                order.swap(at - 1, at);
            }
        }
        let mut doubled = Vec::with_capacity(count);
        let mut places = vec![0; count];
        for line in order {
            let is_message = self.lines[line]
                .fields
                .iter()
                .any(|(key, _)| *key == "message");
            let copies = if is_message && self.tape.one_in(60) {
                2
            } else {
                1
            };
            doubled.extend(std::iter::repeat_n(line, copies));
            // Of two lines with one uuid the last one counts.
            places[line] = doubled.len() - 1;
        }
        (doubled, places)
    }
}
