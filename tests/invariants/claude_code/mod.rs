//! Claude Code session files: a tree of lines, of which one path is live.
//!
//! The writer records the true parent of each line, whatever its ids and dates are; `tree` derives from that which lines are
//! live. `rounds` writes calls and results, `around` lines that are not messages, `turns` changes of older history.

mod around;
mod rounds;
mod tree;
mod turns;

use super::anthropic::{answer, block, user_content};
use super::known::{Chain as Wholeness, Known};
use super::tape::Tape;
use super::text::{Json, Mode, Style, object, text_of, unknown_fields};

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    pub lines: Vec<Vec<u8>>,
    pub known: Known,
}

/// A session of 1 to 40 messages in its main conversation, with the other lines of such files.
pub(super) fn session(tape: &mut Tape, mode: Mode) -> Session {
    let mut writer = Writer {
        // Only this program recognises a type that is written with escapes.
        style: Style::any(tape, Mode::Clean),
        mode,
        lines: Vec::new(),
        ids: 0,
        messages: 0,
        clock: 0,
        usage: usage(tape),
        seams: Seams::Whole,
        at_seam: false,
        chain: Wholeness::Whole,
        main: Aside::No,
        tape,
    };
    if writer.tape.one_in(8) {
        writer.main = Aside::Yes;
    }
    if writer.tape.one_in(4) {
        writer.seams = Seams::Torn;
    }
    writer.main();
    let (order, places, overridden) = writer.shuffled();
    let tree = tree::Tree {
        lines: &writer.lines,
        places: &places,
        overridden: &overridden,
        main: writer.main,
        chain: writer.chain,
    };
    let write = |at: &usize| {
        let line = &writer.lines[*at];
        line.style.write(&line.json())
    };
    Session {
        lines: order.iter().map(write).collect(),
        known: match mode {
            Mode::Clean => tree.known(),
            Mode::Noisy => Known::default(),
        },
    }
}

/// A line before it is written.
#[derive(Debug, Clone)]
struct Line {
    style: Style,
    what: What,
    chained: Option<Chained>,
    fields: Vec<(&'static str, Json)>,
}

/// What a line is.
#[derive(Debug, Clone)]
enum What {
    /// A text message, with its text where it may be a task's prompt.
    Words { said: Option<String> },
    /// A part of an answer: its message, the prompts of its tasks, and whether it has figures of a provider.
    Answer {
        message: String,
        tasks: Vec<String>,
        counted: bool,
    },
    /// Results of these calls.
    Results { ids: Vec<String> },
    /// A compaction, and the lines before it that it kept.
    Boundary { kept: Vec<usize> },
    /// Has no content, but a conversation can continue here.
    Note,
    /// Has no content, and a conversation continues at the line above it.
    Passed,
    /// Describes the session, or is of an unknown type.
    Session,
    /// A copy of a request.
    Request,
    /// The line at which the session is to continue, if there is one.
    Pointer { to: Option<usize> },
}

/// Its place in the tree.
#[derive(Debug, Clone)]
struct Chained {
    id: String,
    parent: Option<String>,
    /// Its true parent.
    above: Option<usize>,
    /// The line of the answer that it is, or that its results belong to.
    asked: Option<usize>,
    aside: Aside,
    /// Milliseconds.
    time: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aside {
    No,
    Yes,
}

/// Whether parents are missing between turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seams {
    Whole,
    Torn,
}

impl Line {
    fn json(&self) -> Json {
        let Some(chained) = &self.chained else {
            return Json::Object(self.fields.clone());
        };
        let aside = if chained.aside == Aside::Yes {
            "true"
        } else {
            "false"
        };
        let parent = chained.parent.as_ref();
        let mut entries = vec![
            ("parentUuid", parent.map_or(Json::Raw("null"), text_of)),
            ("isSidechain", Json::Raw(aside)),
            ("userType", text_of("external")),
            ("sessionId", text_of("5c0375b4")),
            ("cwd", text_of("/w")),
        ];
        entries.extend(self.fields.iter().cloned());
        entries.push(("uuid", text_of(&chained.id)));
        entries.push(("timestamp", text_of(timestamp(chained.time))));
        Json::Object(entries)
    }
}

fn timestamp(time: u64) -> String {
    let (seconds, milliseconds) = (time / 1_000, time % 1_000);
    let (minutes, hours) = (seconds / 60 % 60, seconds / 3_600);
    format!(
        "2026-01-02T{hours:02}:{minutes:02}:{:02}.{milliseconds:03}Z",
        seconds % 60
    )
}

/// The figures of a provider: almost nothing, or a window that is nearly full.
fn usage(tape: &mut Tape) -> Json {
    let mut entries = Vec::new();
    for (key, counts) in [
        ("input_tokens", [3, 0, 40, 1_200]),
        ("cache_creation_input_tokens", [0, 60, 700, 20_000]),
        ("cache_read_input_tokens", [0, 15, 900, 196_000]),
    ] {
        if !tape.one_in(8) {
            entries.push((key, Json::Number(tape.pick(&counts))));
        }
    }
    entries.push(("output_tokens", Json::Raw("8")));
    entries.push(("service_tier", text_of("standard")));
    unknown_fields(tape, &mut entries);
    Json::Object(entries)
}

/// One conversation while it grows.
#[derive(Debug, Clone)]
struct Chain {
    aside: Aside,
    /// The parent of the next line.
    leaf: Option<usize>,
    /// The turns since the last compaction: the parent of each one's first line.
    turns: Vec<Option<usize>>,
}

impl Chain {
    fn new(aside: Aside) -> Chain {
        Chain {
            aside,
            leaf: None,
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
    /// Milliseconds.
    clock: u64,
    usage: Json,
    seams: Seams,
    /// Whether the next line may be without its parent.
    at_seam: bool,
    chain: Wholeness,
    main: Aside,
}

impl Writer<'_> {
    fn main(&mut self) {
        let mut chain = Chain::new(self.main);
        let most = self.tape.between(1, 40);
        while self.messages == 0 || self.messages < most {
            self.around(&mut chain);
            match self.tape.below(16) {
                11 => self.rewind(&mut chain),
                12 | 13 => self.compaction(&mut chain),
                14 => self.written_again(&mut chain),
                15 => {
                    let prompt = super::text::words(self.tape, self.mode);
                    self.sidechain(&chain, prompt);
                }
                _ => {}
            }
            self.turn(&mut chain, most, None);
        }
        self.last_prompt(&mut chain);
    }

    /// A turn, which begins with `prompt` or with any typed message.
    fn turn(&mut self, chain: &mut Chain, most: usize, prompt: Option<String>) {
        chain.turns.push(chain.leaf);
        self.at_seam = true;
        let said = match &prompt {
            Some(prompt) if self.tape.one_in(2) => {
                Json::List(vec![block("text", [("text", text_of(prompt))])])
            }
            Some(prompt) => text_of(prompt),
            None => user_content(self.tape, self.mode),
        };
        self.words(chain, prompt, said, Vec::new());
        while self.messages < most && self.tape.one_in(2) {
            self.round(chain);
        }
        match self.tape.below(8) {
            0..5 => {
                let said = answer(self.tape, self.mode);
                let id = self.message_id();
                self.assistant(chain, &id, said, Vec::new());
            }
            5 => {
                let error = block("text", [("text", text_of("API Error: 529"))]);
                let fields = vec![("isApiErrorMessage", Json::Raw("true"))];
                let what = What::Answer {
                    message: self.message_id(),
                    tasks: Vec::new(),
                    counted: false,
                };
                self.message(chain, what, Json::List(vec![error]), fields);
            }
            _ => {}
        }
    }

    /// Adds a line that is the parent of the next one.
    fn line(&mut self, chain: &mut Chain, what: What, fields: Vec<(&'static str, Json)>) -> usize {
        let line = self.hang(chain.aside, chain.leaf, what, fields);
        chain.leaf = Some(line);
        line
    }

    /// Adds a child of `above` that need not have children itself.
    fn hang(
        &mut self,
        aside: Aside,
        above: Option<usize>,
        what: What,
        mut fields: Vec<(&'static str, Json)>,
    ) -> usize {
        self.ids += 1;
        let id = format!("u{}", self.ids);
        unknown_fields(self.tape, &mut fields);
        self.clock += self.tape.pick(&[0, 1, 700, 4_999, 5_000, 5_001, 60_000]);
        let mut parent = above.map(|line| self.id(line).to_owned());
        let mut above = above;
        if self.mode == Mode::Noisy && self.tape.one_in(60) {
            parent = Some(format!("u{}", self.tape.below(60)));
        } else if self.mode == Mode::Noisy && self.tape.one_in(60) {
            parent = None;
        }
        let may_tear = std::mem::take(&mut self.at_seam) && self.seams == Seams::Torn;
        if may_tear && aside == self.main && self.tape.one_in(5) {
            parent = Some(format!("gone{}", self.ids));
            above = self.bridged(aside);
            self.chain = Wholeness::Broken;
        }
        if self.tape.one_in(16) {
            self.style = Style::any(self.tape, Mode::Clean);
        }
        let line = self.lines.len();
        let asked = match &what {
            What::Answer { .. } => Some(line),
            What::Results { .. } | What::Note | What::Passed => above.and_then(|l| self.asked(l)),
            _ => None,
        };
        self.lines.push(Line {
            style: self.style,
            what,
            chained: Some(Chained {
                id,
                parent,
                above,
                asked,
                aside,
                time: self.clock,
            }),
            fields,
        });
        line
    }

    /// The line before, where it is close enough in time to replace a missing parent.
    fn bridged(&self, aside: Aside) -> Option<usize> {
        let is_near = |line: &usize| {
            let chained = self.lines[*line].chained.as_ref();
            chained.is_some_and(|c| (c.time..=c.time + 5_000).contains(&self.clock))
        };
        let lines = 0..self.lines.len();
        let of_these = |line: &usize| {
            let chained = self.lines[*line].chained.as_ref();
            chained.is_some_and(|c| c.aside == aside)
        };
        lines.rev().find(of_these).filter(is_near)
    }

    fn id(&self, line: usize) -> &str {
        let chained = self.lines[line].chained.as_ref();
        chained.map_or("", |chained| &chained.id)
    }

    fn asked(&self, line: usize) -> Option<usize> {
        self.lines[line].chained.as_ref()?.asked
    }

    /// Adds a line that describes the session.
    fn plain(&mut self, what: What, mut fields: Vec<(&'static str, Json)>) {
        unknown_fields(self.tape, &mut fields);
        self.lines.push(Line {
            style: self.style,
            what,
            chained: None,
            fields,
        });
    }

    fn message(
        &mut self,
        chain: &mut Chain,
        what: What,
        content: Json,
        more: Vec<(&'static str, Json)>,
    ) -> usize {
        self.messages += 1;
        let kind = match what {
            What::Answer { .. } => "assistant",
            _ => "user",
        };
        let mut message = vec![("role", text_of(kind)), ("content", content)];
        if let What::Answer { message: id, .. } = &what {
            message.insert(0, ("id", text_of(id)));
            message.push(("model", text_of("claude")));
            if !self.tape.one_in(12) {
                message.push(("usage", self.usage.clone()));
            }
        }
        if self.tape.one_in(12) {
            // A duplicate key: the last one counts, and it is the same in whatever order they are written.
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
        self.line(chain, what, fields)
    }

    fn words(
        &mut self,
        chain: &mut Chain,
        said: Option<String>,
        content: Json,
        more: Vec<(&'static str, Json)>,
    ) -> usize {
        self.message(chain, What::Words { said }, content, more)
    }

    fn assistant(
        &mut self,
        chain: &mut Chain,
        id: &str,
        content: Json,
        tasks: Vec<String>,
    ) -> usize {
        let what = What::Answer {
            message: id.to_owned(),
            tasks,
            counted: true,
        };
        self.message(chain, what, content, Vec::new())
    }

    /// The id of the next answer, which has its own usage.
    fn message_id(&mut self) -> String {
        self.ids += 1;
        if self.tape.one_in(2) {
            self.usage = usage(self.tape);
        }
        format!("msg_{}", self.ids)
    }
}

/// The field with the type of a line.
fn kind(kind: &str) -> (&'static str, Json) {
    ("type", text_of(kind))
}

/// A field of a fixed value.
fn raw(key: &'static str, value: &'static str) -> (&'static str, Json) {
    (key, Json::Raw(value))
}

/// A call of a task, with the prompt with which its sidechain begins.
fn task(id: &str, name: &str, prompt: &str) -> Json {
    let input = object([
        ("description", text_of("look")),
        ("prompt", text_of(prompt)),
    ]);
    let call = [
        ("id", text_of(id)),
        ("name", text_of(name)),
        ("input", input),
    ];
    block("tool_use", call)
}
