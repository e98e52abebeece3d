//! What could stand in a summary: typed units, gathered from the messages and the facts of a span.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::clip::{clip, sentences};
use super::earlier::{self, Earlier};
use super::entities::Class;
use super::focus::Focus;
use super::form::{Mark, Row, Section};
use super::lines::{is_outline, key_lines, without_number};
use super::names::{Names, NamesOf, Speaker, hash};
use super::{facts_of, queued};
use crate::facts::{Exchange, Exit, exchanges, said, todos};
use crate::policy::{Policy, ToolKind, UserWords};
use crate::scan::unescape;
use crate::transcript::{Block, BlockKind, Conversation, Message, Role, Transcript, Typed};

/// A statement that a summary may make.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) row: Row,
    /// Its place in time: the message, from 0.
    pub(super) message: u32,
    /// Its place among those of its section that would be in the same place else: what is changed comes before what is read.
    pub(super) rank: u8,
    pub(super) claim: Claim,
    /// What it is worth besides its names.
    pub(super) base: f64,
    /// How much of its names' worth is its own.
    pub(super) share: f64,
    pub(super) names: NamesOf,
}

/// Which part of a budget a unit has a claim to before all compete for the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// Words of the user: the number of their message among those of the span, or none where an earlier summary holds
    /// them.
    Request(Option<u32>),
    /// Of these, the last ones, as a whole: they are always told.
    Last(Option<u32>),
    /// What was said and done last.
    State,
    /// What is to be done.
    Plan,
    /// A file that was changed.
    Changed,
    /// A line of a summary that somebody wrote.
    Earlier,
    /// None.
    Free,
}

/// Everything that could stand in a summary of one span.
#[derive(Debug, Default)]
pub(super) struct Units {
    pub(super) units: Vec<Unit>,
    pub(super) names: Names,
    /// How many messages of the user the span holds.
    pub(super) requests: u32,
    /// Names that are still seen after the span.
    pub(super) seen_behind: BTreeSet<u32>,
}

/// How much of a call or a result shows what was done last, in bytes.
const GLANCE: usize = 400;

/// The last blocks that can show what was done last: as many as a large budget has room for.
const LAST_BLOCKS: usize = 60;

/// How many names of a result an index of it can hold, and a line of that index.
const INDEXED: usize = 240;
const IN_A_LINE: usize = 6;

/// The longest statement of any kind but the user's, in bytes.
pub(super) const LONGEST: usize = 320;

/// Where the units of a span are taken from.
pub(super) struct Gather<'g, 'a> {
    pub(super) transcript: &'g Transcript<'a>,
    pub(super) conversation: &'g Conversation,
    pub(super) span: Range<usize>,
    pub(super) first_line: u64,
    pub(super) policy: &'g Policy,
    pub(super) focus: Focus,
    pub(super) found: Units,
    /// Lines of outputs that are units already.
    pub(super) lines: BTreeSet<u64>,
    /// Texts of the user that are units already.
    pub(super) said: BTreeSet<u64>,
    /// What the user has written last, with its message and its claim.
    pub(super) last_request: Option<(Row, u32, Claim)>,
}

impl Gather<'_, '_> {
    /// All units of the span.
    pub(super) fn all(mut self) -> Units {
        let (transcript, conversation) = (self.transcript, self.conversation);
        let all = exchanges(transcript, conversation, &self.policy.tools);
        let place = |exchange: &Exchange| exchange.call.message as usize;
        let start = all.partition_point(|exchange| place(exchange) < self.span.start);
        let end = all.partition_point(|exchange| place(exchange) < self.span.end);
        let own = &all[start..end];
        let shown = facts_of::gather(&mut self, own, todos(transcript, &all[end..]).is_some());
        let kinds: BTreeMap<u32, ToolKind> = own
            .iter()
            .filter_map(|e| Some((e.result?.block, e.kind)))
            .collect();
        for number in self.span.clone() {
            let message = &conversation.messages[number];
            if earlier::is_acknowledgement(transcript, conversation, message, self.policy) {
                continue;
            }
            match earlier::read(transcript, conversation, message, self.policy) {
                Some(Earlier::Ours(rows)) => self.carried(rows, number as u32, message),
                Some(Earlier::Prose(text)) => self.prose(&text, number as u32, message),
                None => self.message(number as u32, message, &kinds, &shown),
            }
        }
        queued::gather(&mut self);
        self.keep_last_request();
        self.state();
        self.behind();
        self.found
    }

    /// Adds a unit; what says nothing is none.
    pub(super) fn add(&mut self, row: Row, message: u32, claim: Claim, base: f64) {
        self.ranked(row, message, claim, base, 0);
    }

    pub(super) fn ranked(&mut self, row: Row, message: u32, claim: Claim, base: f64, rank: u8) {
        self.push(row, message, claim, base, rank, 1.0);
    }

    fn push(&mut self, row: Row, message: u32, claim: Claim, base: f64, rank: u8, share: f64) {
        let row = Row {
            text: row.text.trim().to_owned(),
            ..row
        };
        if row.text.is_empty() {
            return;
        }
        let names = self.found.names.of(&row.text);
        self.found.units.push(Unit {
            base: base + self.focus.worth(&row.text),
            row,
            message,
            rank,
            claim,
            share,
            names,
        });
    }

    /// The number of a line in its file.
    pub(super) fn mark(&self, line: u32) -> Mark {
        Mark::line(self.first_line + u64::from(line))
    }

    fn message(
        &mut self,
        number: u32,
        message: &Message,
        kinds: &BTreeMap<u32, ToolKind>,
        shown: &BTreeSet<u32>,
    ) {
        let (transcript, conversation) = (self.transcript, self.conversation);
        let blocks = conversation.blocks(message);
        if message.typed == Typed::Yes {
            let text = words(transcript, blocks);
            let line = conversation.first_line(message);
            self.request(&text, number, line);
            return;
        }
        let calls = |b: &u32| transcript.block(*b).kind == BlockKind::Call;
        let is_answer = !blocks.iter().any(calls);
        for number_of_block in blocks {
            let block = transcript.block(*number_of_block);
            match (block.kind, message.role) {
                (BlockKind::Text, Role::Assistant) => {
                    let text = said(transcript, block);
                    let base = if is_answer { 1.0 } else { 0.3 };
                    self.findings(&text, number, block, base);
                }
                (BlockKind::Call, _) => {
                    let input = input(transcript, block);
                    self.found
                        .names
                        .count(&input, number, Speaker::Author, |_, _| {});
                }
                (BlockKind::Result, _) => {
                    let kind = kinds.get(number_of_block).copied();
                    let is_shown = shown.contains(number_of_block);
                    self.result(number, block, kind.unwrap_or(ToolKind::Other), is_shown);
                }
                (BlockKind::Attachment, _) => queued::attached(self, number, block),
                (
                    BlockKind::Text
                    | BlockKind::Image
                    | BlockKind::Document
                    | BlockKind::Thinking
                    | BlockKind::Redacted
                    | BlockKind::Server
                    | BlockKind::Other,
                    _,
                ) => {}
            }
        }
    }

    /// What the user has written: as a whole where it stands word for word, else sentence by sentence.
    pub(super) fn request(&mut self, text: &str, message: u32, line: u32) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        self.said.insert(hash(text));
        let claim = Claim::Request(Some(self.found.requests));
        self.found.requests += 1;
        self.found
            .names
            .count(text, message, Speaker::Author, |_, _| {});
        let mark = self.mark(line);
        self.words_of_user(text, message, mark, claim);
    }

    fn words_of_user(&mut self, text: &str, message: u32, mark: Mark, claim: Claim) {
        let row = |text: &str| Row {
            section: Section::Requests,
            mark,
            label: String::new(),
            text: text.to_owned(),
        };
        if self
            .last_request
            .as_ref()
            .is_none_or(|(_, last, _)| *last <= message)
        {
            self.last_request = Some((row(text), message, claim));
        }
        match self.policy.summary.user_words {
            UserWords::Verbatim => self.add(row(text), message, claim, 2.0),
            UserWords::Budget => {
                for sentence in sentences(text) {
                    self.add(row(sentence), message, claim, 2.0);
                }
            }
        }
    }

    /// Where the user's words share a budget, the last ones of the whole conversation are told as a whole all the same.
    fn keep_last_request(&mut self) {
        let behind = &self.conversation.messages[self.span.end..];
        let is_typed = |message: &Message| message.typed == Typed::Yes;
        let shares = self.policy.summary.user_words == UserWords::Budget;
        let Some((row, message, claim)) = self.last_request.take() else {
            return;
        };
        if let Claim::Request(number) = claim
            && shares
            && !behind.iter().any(is_typed)
        {
            let is_part = |unit: &Unit| {
                unit.row.section == row.section && unit.claim == claim && unit.message == message
            };
            self.found
                .units
                .retain(|unit| !(number.is_some() && is_part(unit)));
            self.add(row, message, Claim::Last(number), 2.0);
        }
    }

    fn findings(&mut self, text: &str, message: u32, block: &Block, base: f64) {
        self.found
            .names
            .count(text, message, Speaker::Author, |_, _| {});
        for sentence in sentences(text) {
            let row = self.row(Section::Findings, block.line, &clip(sentence, LONGEST));
            self.add(row, message, Claim::Free, base);
        }
    }

    fn result(&mut self, message: u32, block: &Block, kind: ToolKind, is_shown: bool) {
        let text = said(self.transcript, block);
        let mut index: Vec<&str> = Vec::new();
        self.found
            .names
            .count(&text, message, Speaker::Tool, |class, name| {
                let is_pointed_at = match class {
                    Class::Path | Class::Symbol | Class::Url | Class::Id => true,
                    Class::Error | Class::Flag | Class::Number => false,
                };
                if is_pointed_at && index.len() < INDEXED && name.len() <= LONGEST {
                    index.push(name);
                }
            });
        match kind {
            ToolKind::Read if is_shown => {
                for line in text
                    .split('\n')
                    .map(without_number)
                    .filter(|l| is_outline(l))
                {
                    self.detail(line, message, block.line, 0.1);
                }
            }
            ToolKind::Read => {}
            ToolKind::Shell => {
                let (lines, last) = key_lines(&text);
                for line in lines {
                    self.detail(line, message, block.line, 0.0);
                }
                // The status is told with the command.
                for line in last.filter(|line| !line.starts_with("Exit code")) {
                    self.detail(line, message, block.line, 0.5);
                }
            }
            ToolKind::Write
            | ToolKind::Edit
            | ToolKind::Search
            | ToolKind::Web
            | ToolKind::Other => {
                let (lines, last) = key_lines(&text);
                for line in lines.chain(last) {
                    self.detail(line, message, block.line, 0.0);
                }
            }
        }
        for names in index.chunks(IN_A_LINE) {
            let row = self.row(Section::Details, block.line, &names.join(", "));
            // Worth less: names alone say little.
            self.push(row, message, Claim::Free, 0.0, 0, 0.35);
        }
    }

    /// A line of an output or of a file, if no other one said the same and it names something.
    pub(super) fn detail(&mut self, line: &str, message: u32, at: u32, base: f64) {
        let line = clip(line.trim(), LONGEST);
        if line.len() < 6 || !self.lines.insert(hash(&line)) {
            return;
        }
        let row = self.row(Section::Details, at, &line);
        let units = self.found.units.len();
        self.add(row, message, Claim::Free, base);
        let names_something = |unit: &Unit| !unit.names.is_empty();
        if base == 0.0 && self.found.units.last().is_some_and(|u| !names_something(u)) {
            self.found.units.truncate(units);
        }
    }

    /// A row without a label.
    pub(super) fn row(&self, section: Section, line: u32, text: &str) -> Row {
        Row {
            section,
            mark: self.mark(line),
            label: String::new(),
            text: text.to_owned(),
        }
    }

    /// The rows of an earlier summary of ours. They come from its message now, which comes from where they say.
    fn carried(&mut self, rows: Vec<Row>, message: u32, of: &Message) {
        let mark = self.mark(self.conversation.first_line(of));
        let is_known = |gather: &Self, row: &Row| {
            let same = |unit: &Unit| unit.row.section == row.section && unit.row.text == row.text;
            gather.found.units.iter().any(same)
        };
        for row in rows {
            let row = Row { mark, ..row };
            let names = &mut self.found.names;
            names.count(&row.text, message, Speaker::Author, |_, _| {});
            match row.section {
                Section::Requests => {
                    self.words_of_user(&row.text, message, mark, Claim::Request(None));
                }
                // What was done to a file, or how a command ended, may be told anew.
                Section::Files if !is_known(self, &row) => {
                    if facts_of::is_change(&row.label) {
                        self.add(row, message, Claim::Changed, 3.0);
                    } else {
                        self.ranked(row, message, Claim::Free, 0.6, 1);
                    }
                }
                Section::Commands if !is_known(self, &row) => {
                    self.add(row, message, Claim::Free, 1.0);
                }
                Section::Plan if !self.has_plan(&row) => {
                    self.add(row, message, Claim::Plan, 1.0);
                }
                Section::Files | Section::Commands | Section::Plan => {}
                Section::Earlier => {
                    let (section, claim) = (row.section, Claim::Earlier);
                    self.line_by_line(&row, section, message, claim, 0.5);
                }
                Section::Errors => self.add(row, message, Claim::Free, 1.0),
                Section::Findings => {
                    self.line_by_line(&row, Section::Findings, message, Claim::Free, 0.5);
                }
                Section::Details => {
                    self.line_by_line(&row, Section::Details, message, Claim::Free, 0.0);
                }
                // What was current then is history now.
                Section::State if row.label == "said" => {
                    self.line_by_line(&row, Section::Findings, message, Claim::Free, 0.5);
                }
                Section::State => {
                    self.line_by_line(&row, Section::Details, message, Claim::Free, 0.0);
                }
            }
        }
    }

    /// Whether the span itself tells of a plan or of to-dos, whichever `row` is about.
    fn has_plan(&self, row: &Row) -> bool {
        let is_plan = |row: &Row| facts_of::is_proposal(&row.label);
        let mut units = self.found.units.iter();
        units.any(|unit| {
            let is_new = unit.row.section == Section::Plan && unit.row.mark != row.mark;
            is_new && is_plan(&unit.row) == is_plan(row)
        })
    }

    fn line_by_line(&mut self, row: &Row, section: Section, message: u32, claim: Claim, base: f64) {
        for line in row.text.split('\n') {
            let row = Row {
                section,
                mark: row.mark,
                label: String::new(),
                text: line.to_owned(),
            };
            self.add(row, message, claim, base);
        }
    }

    /// A summary that an agent wrote, line by line.
    fn prose(&mut self, text: &str, message: u32, of: &Message) {
        self.found
            .names
            .count(text, message, Speaker::Author, |_, _| {});
        let line = self.conversation.first_line(of);
        for sentence in text.split('\n').filter(|line| !line.trim().is_empty()) {
            let row = self.row(Section::Earlier, line, &clip(sentence, 2 * LONGEST));
            self.add(row, message, Claim::Earlier, 0.5);
        }
    }

    /// The last blocks of the span as they stand; where others follow it, the last words of the assistant only.
    fn state(&mut self) {
        let (transcript, conversation) = (self.transcript, self.conversation);
        let is_followed = self.span.end < conversation.messages.len();
        let mut left = LAST_BLOCKS;
        let mut last = Vec::new();
        for number in self.span.clone().rev() {
            let message = &conversation.messages[number];
            let is_old = earlier::read(transcript, conversation, message, self.policy).is_some();
            if left == 0 || is_old {
                break;
            }
            if earlier::is_acknowledgement(transcript, conversation, message, self.policy) {
                continue;
            }
            for block in conversation.blocks(message).iter().rev() {
                let block = transcript.block(*block);
                let (label, text) = match (block.kind, message.role) {
                    (BlockKind::Text, Role::Assistant) => ("said", said(transcript, block)),
                    (BlockKind::Call, _) => ("call", input(transcript, block)),
                    (BlockKind::Result, _) => ("result", said(transcript, block)),
                    _ => continue,
                };
                if is_followed && label != "said" {
                    continue;
                }
                let text = text.trim();
                let most = if label == "said" { 4 * GLANCE } else { GLANCE };
                left = if is_followed {
                    0
                } else {
                    left.saturating_sub(1)
                };
                last.push((
                    number as u32,
                    block.line,
                    label,
                    clip(text, most).into_owned(),
                ));
                if left == 0 {
                    break;
                }
            }
        }
        for (message, line, label, text) in last.into_iter().rev() {
            let row = Row {
                label: label.to_owned(),
                ..self.row(Section::State, line, &text)
            };
            self.add(row, message, Claim::State, 0.0);
        }
    }

    /// Names that are seen without the summary.
    fn behind(&mut self) {
        let (transcript, conversation) = (self.transcript, self.conversation);
        for message in &conversation.messages[self.span.end..] {
            for block in conversation.blocks(message) {
                let block = transcript.block(*block);
                let text = match block.kind {
                    BlockKind::Text | BlockKind::Result => said(transcript, block),
                    BlockKind::Call => input(transcript, block),
                    BlockKind::Image
                    | BlockKind::Document
                    | BlockKind::Thinking
                    | BlockKind::Redacted
                    | BlockKind::Server
                    | BlockKind::Attachment
                    | BlockKind::Other => continue,
                };
                let Units {
                    names, seen_behind, ..
                } = &mut self.found;
                names.each(&text, |name| {
                    seen_behind.insert(name);
                });
            }
        }
    }
}

/// What a person wrote in a message, without what the agent put beside it.
fn words(transcript: &Transcript<'_>, blocks: &[u32]) -> String {
    let mut words: Vec<Cow<'_, str>> = Vec::new();
    for block in blocks {
        let block = transcript.block(*block);
        if block.kind == BlockKind::Text {
            let text = said(transcript, block);
            if !text.trim_start().starts_with("<system-reminder>") {
                words.push(text);
            }
        }
    }
    words.join("\n")
}

/// A call's input as JSON; what stands in strings is as it reads.
fn input<'t>(transcript: &'t Transcript<'_>, call: &Block) -> Cow<'t, str> {
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match transcript.bytes(call.line, call.content) {
        [b'"', inside @ .., b'"'] => Cow::Owned(lossy(&unescape(&unescape(inside)))),
        raw => Cow::Owned(lossy(&unescape(raw))),
    }
}

/// How a command ended, in words of ours and with the status that was said.
pub(super) fn ended(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit {code}"),
        Exit::Well => "ok".to_owned(),
        Exit::Badly => "failed".to_owned(),
        Exit::Interrupted => "interrupted".to_owned(),
        Exit::Running => "running".to_owned(),
        Exit::Unknown => "ran".to_owned(),
    }
}
