//! What a model sees of a session: the messages that the agent would build now from the records that count, in file order.
//!
//! An answer is a step: it begins and ends with a record of its own, and its parts, calls and results name it. Messages that
//! arrived while calls were waiting for their results come after the results. A compaction keeps the tail of the messages after its
//! summary or, in newer versions, the user's messages before it.

use std::collections::{BTreeSet, VecDeque};

use super::chain::Chain;
use crate::format::shapes::joined_sessions::joined;
use crate::ids::IdMap;
use crate::scan::{Span, Value};
use crate::transcript::{
    Answer, BlockKind, Compaction, Conversation, ConversationId, Link, LinkKind, Role, Transcript,
    Typed,
};

/// The maximum number of user messages that a compaction keeps: each has at least one token.
const MOST_KEPT: u64 = 20_000;

/// What happens to recorded compactions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Compactions {
    /// They replace what was before them.
    Apply,
    /// They are ignored.
    PassOver,
}

/// A message as the agent builds it.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    /// Its lines; empty for a message that the agent itself adds.
    pub(super) lines: Vec<u32>,
    pub(super) role: Option<Role>,
}

/// The messages of a session.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// The messages that are sent, in order.
    pub(super) live: VecDeque<Entry>,
    /// Lines of messages that are no longer sent, and of the records that undid them.
    pub(super) dead: BTreeSet<u32>,
    /// Results that the agent ignores, since no call waits for them.
    pub(super) ignored: Vec<u32>,
    /// The last compaction that counts.
    pub(super) compaction: Option<u32>,
    /// Whether it keeps messages before it.
    pub(super) keeps_end: bool,
    /// Whether a compaction removed messages or the user cleared any.
    pub(super) is_cut: bool,
}

impl Window {
    pub(super) fn of(transcript: &Transcript<'_>, compactions: Compactions) -> Self {
        let chain = Chain::of(transcript);
        let links = (0u32..).zip(transcript.links());
        let records = || links.clone().filter(|(line, _)| transcript.is_there(*line));
        // A file belongs to one agent, which ignores records of others.
        let own = records()
            .find(|(_, link)| link.concerns_messages())
            .map(|(_, link)| link.is_sidechain);
        let mut fold = Fold::new(transcript, compactions);
        for (line, link) in records() {
            if Some(link.is_sidechain) != own {
                continue;
            }
            match chain.has(line) {
                true => fold.record(line, link),
                false if link.concerns_messages() => drop(fold.window.dead.insert(line)),
                false => {}
            }
        }
        fold.finish()
    }

    /// The lines of live messages.
    pub(super) fn lines(&self) -> impl Iterator<Item = u32> + '_ {
        self.live
            .iter()
            .flat_map(|entry| entry.lines.iter().copied())
    }
}

/// Whether the agent's programming language treats a character as white space.
fn is_blank(c: char) -> bool {
    c == '\u{feff}' || c.is_whitespace() && c != '\u{85}'
}

/// The open step.
struct Open<'t> {
    /// The number of its entry.
    entry: i64,
    id: &'t [u8],
    has_calls: bool,
    is_empty: bool,
}

/// Builds the messages record by record.
struct Fold<'t, 'a> {
    transcript: &'t Transcript<'a>,
    compactions: Compactions,
    window: Window,
    /// The number of the first live entry: entries keep their numbers.
    first: i64,
    /// The numbers of the messages that the user can go back to, since the last summary.
    turns: VecDeque<i64>,
    open: Option<Open<'t>>,
    /// Calls without results, each with the number of times it occurs.
    pending: IdMap<&'t [u8], u32>,
    /// Messages that wait for these results.
    deferred: Vec<u32>,
}

impl<'t, 'a> Fold<'t, 'a> {
    fn new(transcript: &'t Transcript<'a>, compactions: Compactions) -> Self {
        Fold {
            transcript,
            compactions,
            window: Window::default(),
            first: 0,
            turns: VecDeque::new(),
            open: None,
            pending: IdMap::default(),
            deferred: Vec::new(),
        }
    }

    fn finish(mut self) -> Window {
        self.pending.clear();
        self.settle_deferred();
        self.window
    }

    fn record(&mut self, line: u32, link: &Link) {
        match link.kind {
            LinkKind::Node if link.message.is_empty() => self.message(line),
            LinkKind::Node => self.event(line, link),
            LinkKind::GoBack => self.take_back(line, link),
            LinkKind::Compaction(what) => self.compaction(line, what),
            LinkKind::Other
            | LinkKind::Attachment
            | LinkKind::Pointer
            | LinkKind::ChosenPointer
            | LinkKind::Title
            | LinkKind::Request
            | LinkKind::Folder
            | LinkKind::Count => {}
        }
    }

    fn link(&self, line: u32) -> &'t Link {
        &self.transcript.links()[line as usize]
    }

    fn push(&mut self, lines: Vec<u32>, role: Option<Role>) -> i64 {
        self.window.live.push_back(Entry { lines, role });
        self.first + self.window.live.len() as i64 - 1
    }

    fn entry(&mut self, number: i64) -> Option<&mut Entry> {
        self.window
            .live
            .get_mut(usize::try_from(number - self.first).ok()?)
    }

    fn message(&mut self, line: u32) {
        match self.pending.is_empty() {
            true => self.said(line),
            false => self.deferred.push(line),
        }
    }

    fn said(&mut self, line: u32) {
        let link = self.link(line);
        let number = self.push(vec![line], link.role);
        if link.is_summary {
            self.turns.clear();
        }
        if link.is_root {
            self.turns.push_back(number);
        }
    }

    fn settle_deferred(&mut self) {
        if self.pending.is_empty() {
            for line in std::mem::take(&mut self.deferred) {
                self.said(line);
            }
        }
    }

    /// Ends the open step. The agent adds a result for each call that has none, and drops an empty step.
    fn settle(&mut self) {
        let Some(open) = self.open.take() else { return };
        for _ in 0..self.pending.drain().map(|(_, times)| times).sum() {
            self.push(Vec::new(), Some(Role::Tool));
        }
        self.settle_deferred();
        if !open.has_calls && open.is_empty {
            self.forget(open.entry);
        }
    }

    /// Removes an entry that is near the end.
    fn forget(&mut self, number: i64) {
        let Ok(at) = usize::try_from(number - self.first) else {
            return;
        };
        if let Some(entry) = self.window.live.remove(at) {
            self.remove([entry]);
            let later = self
                .turns
                .iter_mut()
                .rev()
                .take_while(|turn| **turn > number);
            later.for_each(|turn| *turn -= 1);
        }
    }

    fn event(&mut self, line: u32, link: &Link) {
        let transcript = self.transcript;
        match transcript.bytes(line, link.message) {
            b"step.begin" => {
                self.settle();
                let entry = self.push(vec![line], Some(Role::Assistant));
                self.open = Some(Open {
                    entry,
                    id: transcript.bytes(line, link.id),
                    has_calls: false,
                    is_empty: true,
                });
            }
            b"step.end" => {
                let Some(open) = &self.open else { return };
                let entry = open.entry;
                if transcript.bytes(line, link.id) == open.id
                    && let Some(entry) = self.entry(entry)
                {
                    entry.lines.push(line);
                }
                if link.answer != Answer::Uncounted {
                    self.settle();
                    self.settle_deferred();
                }
            }
            b"tool.result" => self.result(line),
            _ => self.part(line, link),
        }
    }

    /// A part of an answer, or a call.
    fn part(&mut self, line: u32, link: &Link) {
        let transcript = self.transcript;
        let step = transcript.bytes(line, link.parent);
        let Some(open) = self.open.as_mut().filter(|open| open.id == step) else {
            return;
        };
        let mut call = None;
        for block in transcript.blocks_of_line(line) {
            let block = transcript.block(block);
            let says = |text: &str| !text.chars().all(is_blank);
            match block.kind {
                BlockKind::Call => call = Some(transcript.bytes(line, block.call_id)),
                BlockKind::Text => open.is_empty &= !says(&transcript.block_text(block)),
                BlockKind::Thinking => {
                    let part = Value::part(transcript.line(line), block.value);
                    let is_sealed = part.field("encrypted").is_there();
                    open.is_empty &= !is_sealed && !says(&transcript.block_text(block));
                }
                BlockKind::Image => open.is_empty = false,
                BlockKind::Document
                | BlockKind::Redacted
                | BlockKind::Result
                | BlockKind::Server
                | BlockKind::Attachment
                | BlockKind::Other => open.is_empty = false,
            }
        }
        open.has_calls |= call.is_some();
        let entry = open.entry;
        if let Some(entry) = self.entry(entry) {
            entry.lines.push(line);
        }
        if let Some(call) = call {
            self.pending.insert(call, 1);
        }
    }

    fn result(&mut self, line: u32) {
        let transcript = self.transcript;
        let first = transcript.blocks_of_line(line).next();
        let id = first.map(|block| transcript.bytes(line, transcript.block(block).call_id));
        if id.and_then(|id| self.pending.remove(id)).is_none() {
            self.window.ignored.push(line);
            return;
        }
        self.push(vec![line], Some(Role::Tool));
        self.settle_deferred();
    }

    fn reset(&mut self) {
        self.open = None;
        self.pending.clear();
        let dead = &mut self.window.dead;
        dead.extend(self.deferred.drain(..));
    }

    /// Removes entries, whose lines are dead afterwards.
    fn remove(&mut self, entries: impl IntoIterator<Item = Entry>) {
        let lines = entries.into_iter().flat_map(|entry| entry.lines);
        self.window.dead.extend(lines);
    }

    /// Undoes turns at the user's request. The agent does so only if there are that many, and not across a summary.
    fn take_back(&mut self, line: u32, link: &Link) {
        let count = Value::part(self.transcript.line(line), link.content).number::<usize>();
        let at = count.and_then(|count| self.turns.len().checked_sub(count.max(1)));
        let Some(at) = at.filter(|_| count != Some(0)) else {
            return;
        };
        let mut cut = self.turns[at];
        let transcript = self.transcript;
        let prompt = |number: i64, fold: &Self| -> Option<&'t [u8]> {
            let entry = fold
                .window
                .live
                .get(usize::try_from(number - fold.first).ok()?)?;
            let line = *entry.lines.first()?;
            Some(transcript.bytes(line, transcript.links()[line as usize].id))
        };
        let id = prompt(cut, self).unwrap_or_default();
        // The reminders before the prompt that belong to it are removed, too.
        while !id.is_empty() && cut > self.first {
            let before = self.window.live.get((cut - 1 - self.first) as usize);
            let line = before.and_then(|entry| entry.lines.first().copied());
            let owner = line.map(|line| (line, self.link(line)));
            let is_owned = owner.is_some_and(|(line, link)| {
                link.answer == Answer::Uncounted && transcript.bytes(line, link.parent) == id
            });
            if !is_owned {
                break;
            }
            cut -= 1;
        }
        self.turns.truncate(at);
        self.reset();
        let removed = self.window.live.split_off((cut - self.first) as usize);
        self.remove(removed);
        self.window.dead.insert(line);
    }

    fn compaction(&mut self, line: u32, what: Compaction) {
        if self.compactions == Compactions::PassOver {
            return;
        }
        match what {
            Compaction::Boundary => {
                let all = std::mem::take(&mut self.window.live);
                self.window.is_cut |= !all.is_empty();
                self.remove(all);
                self.turns.clear();
            }
            Compaction::Summary => {
                let record = Value::of(self.transcript.line(line));
                let [new, old] = record.fields(["compactedCount", "count"]);
                let count = new.number::<f64>().or(old.number()).unwrap_or(0.0);
                let count = (count as usize).min(self.window.live.len());
                let removed: Vec<Entry> = self.window.live.drain(..count).collect();
                self.remove(removed);
                self.first += count as i64 - 1;
                self.window.keeps_end = !self.window.live.is_empty();
                let summary = Entry {
                    lines: vec![line],
                    role: Some(Role::User),
                };
                self.window.live.push_front(summary);
                while self.turns.front().is_some_and(|turn| *turn <= self.first) {
                    self.turns.pop_front();
                }
                (self.window.compaction, self.window.is_cut) = (Some(line), true);
            }
            Compaction::UserWords => {
                self.words_stay(line);
                self.window.keeps_end = false;
                (self.window.compaction, self.window.is_cut) = (Some(line), true);
            }
            Compaction::Replacement | Compaction::Unreadable => return,
        }
        self.window.dead.extend(self.window.ignored.drain(..));
        self.reset();
    }

    /// Keeps as many of the user's messages as the compaction says, and adds its summary and a note to the model.
    fn words_stay(&mut self, line: u32) {
        let transcript = self.transcript;
        let all = std::mem::take(&mut self.window.live);
        let is_words = |entry: &Entry| {
            let link = entry
                .lines
                .first()
                .map(|line| &transcript.links()[*line as usize]);
            link.is_some_and(|link| {
                link.role == Some(Role::User)
                    && link.kind == LinkKind::Node
                    && !link.is_injected
                    && !link.is_summary
            })
        };
        let (words, others): (Vec<Entry>, Vec<Entry>) = all.into_iter().partition(is_words);
        self.remove(others);
        let counts = ["keptUserMessageCount", "keptHeadUserMessageCount"];
        let [kept, head] = Value::of(transcript.line(line)).fields(counts);
        let is_parted = head.is_there();
        let [kept, head] = [kept, head].map(|count| {
            let count = count.number::<u64>().unwrap_or(0).min(MOST_KEPT);
            (count as usize).min(words.len())
        });
        // The same message may end the head and begin the tail: the agent cuts it in two.
        let tail = words.len() - kept.saturating_sub(head);
        let mut gone = Vec::new();
        for (number, entry) in words.into_iter().enumerate() {
            if number == tail && is_parted {
                self.push(Vec::new(), Some(Role::User));
            }
            match number < head || number >= tail {
                true => self.window.live.push_back(entry),
                false => gone.push(entry),
            }
        }
        self.remove(gone);
        self.push(vec![line], Some(Role::User));
        self.push(Vec::new(), Some(Role::User));
        self.turns.clear();
    }
}

/// What a model would see of a session now.
pub(super) fn link(transcript: &Transcript<'_>) -> Conversation {
    let mut main = conversation(transcript, &Window::of(transcript, Compactions::Apply));
    // Its header names no session.
    main.spared = joined(transcript, "metadata", |line| line.field("created_at"));
    main
}

/// The whole conversation, as if nothing had been compacted.
pub(super) fn full_history(transcript: &Transcript<'_>) -> Conversation {
    conversation(transcript, &Window::of(transcript, Compactions::PassOver))
}

fn conversation(transcript: &Transcript<'_>, window: &Window) -> Conversation {
    let mut conversation = Conversation::new(ConversationId::Main);
    let blocks_of = |line: &u32| transcript.blocks_of_line(*line);
    for entry in &window.live {
        let Some((role, first)) = entry.role.zip(entry.lines.first()) else {
            continue;
        };
        let blocks: Vec<u32> = entry.lines.iter().flat_map(blocks_of).collect();
        if blocks.is_empty() {
            continue;
        }
        let link = &transcript.links()[*first as usize];
        let content = match entry.lines.len() {
            1 => link.content,
            _ => Span::default(),
        };
        let message = conversation.push(role, Span::default(), content);
        let message = &mut conversation.messages[message];
        message.is_summary = link.is_summary;
        message.typed = match link.is_injected || link.is_echo || link.is_summary {
            true => Typed::No,
            false => transcript.is_typed(role, &blocks),
        };
        for line in &entry.lines {
            conversation.extend(*line, blocks_of(line));
        }
        conversation.path.extend(&entry.lines);
    }
    let mirrors = transcript.mirrors().iter().map(|mirror| mirror.line);
    conversation.mirrors = mirrors.collect();
    conversation.mirrors.dedup();
    conversation
}
