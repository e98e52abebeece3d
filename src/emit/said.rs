//! Reads off a conversation who said what, in one form for all formats: texts, calls, results, pictures.
//!
//! Strings are borrowed as they are written. A result stays where it is; which call it answers is decided later. Never
//! looks at names of formats, and never changes an order.

use std::borrow::Cow;

use super::json::escaped;
use super::loss::{Loss, Losses};
use super::media::Media;
use crate::scan::{BOM, Kind, Span, Text, Value};
use crate::transcript::{
    Answer as Answered, Block, BlockKind, Conversation, LinkKind, Message, Outcome, Role,
    Transcript,
};

/// Content of a message.
#[derive(Debug)]
pub(super) struct Say<'t> {
    /// Who.
    pub(super) role: Role,
    /// The role as it is written where that has another name: `developer`.
    pub(super) written: Option<&'t [u8]>,
    /// The name of who says it, between quotes.
    pub(super) name: Option<&'t [u8]>,
    /// What, in order.
    pub(super) pieces: Vec<Piece<'t>>,
}

/// A part of what is said.
#[derive(Debug)]
pub(super) enum Piece<'t> {
    /// A text, between its quotes.
    Words(Cow<'t, [u8]>),
    /// The words with which a model refuses, between their quotes.
    Refusal(&'t [u8]),
    /// A picture or a document.
    Media(BlockKind, Value<'t>),
    /// Thinking, readable or not.
    Thinking(Value<'t>),
    /// A call or a result of a tool that the provider runs.
    Server(Value<'t>),
    /// Anything else.
    Other(Value<'t>),
    /// A call.
    Call(Call<'t>),
}

/// A call.
#[derive(Debug)]
pub(super) struct Call<'t> {
    /// Its id, between the quotes.
    pub(super) id: &'t [u8],
    /// The tool's name, between the quotes.
    pub(super) tool: &'t [u8],
    /// What the tool gets.
    pub(super) arguments: Arguments<'t>,
    /// Its result.
    pub(super) answer: Option<Answer<'t>>,
}

/// What a tool gets.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arguments<'t> {
    /// Nothing.
    None,
    /// A JSON value.
    Value(&'t [u8]),
    /// JSON in a string, between its quotes.
    Text(&'t [u8]),
    /// A text that is no JSON, between its quotes.
    Free(&'t [u8]),
}

/// A result.
#[derive(Debug)]
pub(super) struct Answer<'t> {
    /// Its place among the results of the conversation.
    pub(super) place: usize,
    /// What it says.
    pub(super) pieces: Vec<Piece<'t>>,
    /// Whether the call has failed.
    pub(super) outcome: Outcome,
}

/// What is in a conversation.
#[derive(Debug)]
pub(super) enum Item<'t> {
    /// Something is said.
    Say(Say<'t>),
    /// A result, with the id of its call and the tool's name.
    Result(&'t [u8], &'t [u8], Answer<'t>),
}

/// The call, if a piece is one.
pub(super) fn call_of<'s, 't>(piece: &'s Piece<'t>) -> Option<&'s Call<'t>> {
    match piece {
        Piece::Call(call) => Some(call),
        Piece::Words(_)
        | Piece::Refusal(_)
        | Piece::Media(..)
        | Piece::Thinking(_)
        | Piece::Server(_)
        | Piece::Other(_) => None,
    }
}

/// Everything in a conversation, in order.
pub(super) fn items<'t>(
    transcript: &'t Transcript<'_>,
    conversation: &Conversation,
    losses: &mut Losses,
) -> Vec<Item<'t>> {
    let mut all = Reader {
        transcript,
        items: Vec::new(),
        results: 0,
    };
    for message in &conversation.messages {
        let line = conversation.first_line(message);
        let link = transcript.links().get(line as usize);
        if link.is_some_and(|link| link.answer == Answered::ApiError) {
            // The agent's own words about a request that failed: it does not send them.
            losses.add(Loss::DeadLine, 1);
            continue;
        }
        all.message(conversation, message, losses);
    }
    all.items
}

/// The system prompt beside the messages of a conversation on one line.
pub(super) fn beside<'t>(line: &'t [u8]) -> Option<Item<'t>> {
    let system = Value::of(line.strip_prefix(BOM).unwrap_or(line)).field("system");
    let mut pieces = Vec::new();
    let words = |text: &'t [u8]| Piece::Words(Cow::Borrowed(text));
    match system.string() {
        Some(text) => pieces.push(words(text)),
        None => system.elements(|block| match block.field("text").string() {
            Some(text) => pieces.push(words(text)),
            None => pieces.push(Piece::Other(block)),
        }),
    }
    (!pieces.is_empty()).then_some(Item::Say(Say {
        role: Role::System,
        written: None,
        name: None,
        pieces,
    }))
}

struct Reader<'t, 'a> {
    transcript: &'t Transcript<'a>,
    items: Vec<Item<'t>>,
    results: usize,
}

impl<'t> Reader<'t, '_> {
    fn message(&mut self, conversation: &Conversation, message: &Message, losses: &mut Losses) {
        let transcript = self.transcript;
        let [role, name, refusal] = match message.object.is_empty() {
            true => [Value::default(); 3],
            false => {
                let line = transcript.line(conversation.first_line(message));
                Value::part(line, message.object).fields(["role", "name", "refusal"])
            }
        };
        let is_own = role.string().is_some() && message.role != Role::Tool;
        let said = |pieces| Say {
            role: message.role,
            written: role.string().filter(|role| *role == b"developer"),
            name: name.string().filter(|name| is_own && !name.is_empty()),
            pieces,
        };
        // Where a new one begins: a model that speaks after a result has read it.
        let mut open: Option<usize> = None;
        let mut has_results = false;
        let mut before: Option<&Block> = None;
        for number in conversation.blocks(message) {
            let block = transcript.block(*number);
            if block.kind == BlockKind::Result && !is_of_user(block, message.role) {
                let answer = Answer {
                    place: self.results,
                    pieces: self.result(block, losses),
                    outcome: block.outcome,
                };
                self.results += 1;
                let [id, tool] =
                    [block.call_id, block.tool].map(|span| transcript.bytes(block.line, span));
                self.items.push(Item::Result(id, tool, answer));
                has_results = true;
                continue;
            }
            let pieces = match before.filter(|before| self.is_around(before, block)) {
                // The words are repeated within what is around them.
                Some(_) => {
                    let whole = inside(transcript.bytes(block.line, block.content));
                    let last = open.and_then(|at| self.items.get_mut(at));
                    if let Some(Item::Say(say)) = last {
                        say.pieces.pop();
                    }
                    vec![Piece::Words(Cow::Borrowed(whole.unwrap_or_default()))]
                }
                None => self.pieces(block, losses),
            };
            before = Some(block);
            if message.role == Role::Tool
                && let Some(Item::Result(_, _, answer)) = self.items.last_mut()
            {
                // What the agent says of a result belongs to it.
                answer.pieces.extend(pieces);
                continue;
            }
            let is_new = has_results && message.role == Role::Assistant;
            if is_new && block.kind != BlockKind::Call {
                (open, has_results) = (None, false);
            }
            match open.and_then(|at| self.items.get_mut(at)) {
                Some(Item::Say(say)) => say.pieces.extend(pieces),
                Some(Item::Result(..)) | None => {
                    open = Some(self.items.len());
                    self.items.push(Item::Say(said(pieces)));
                }
            }
        }
        let refusal = refusal.string().filter(|_| is_own);
        match (refusal, open.and_then(|at| self.items.get_mut(at))) {
            (Some(words), Some(Item::Say(say))) => say.pieces.push(Piece::Refusal(words)),
            (Some(words), _) => {
                let say = said(vec![Piece::Refusal(words)]);
                self.items.push(Item::Say(say));
            }
            (None, None) if !has_results && message.role != Role::Tool => {
                losses.add(Loss::EmptyMessage, 1);
            }
            (None, _) => {}
        }
    }

    /// Whether `block` is the text that an agent sends around the words of the block `before` it.
    fn is_around(&self, before: &Block, block: &Block) -> bool {
        let transcript = self.transcript;
        let ([words], BlockKind::Text) = (transcript.texts(before), block.kind) else {
            return false;
        };
        let around = transcript.texts(block);
        let Some(whole) = inside(transcript.bytes(block.line, block.content)) else {
            return false;
        };
        let len: usize = around.iter().map(|text| text.span.len as usize).sum();
        let words = transcript.bytes(before.line, words.span);
        before.kind == BlockKind::Text
            && before.line == block.line
            && !around.is_empty()
            && len + words.len() == whole.len()
            && memchr::memmem::find(whole, words).is_some()
    }

    /// What a block says that is no result.
    fn pieces(&self, block: &Block, losses: &mut Losses) -> Vec<Piece<'t>> {
        let transcript = self.transcript;
        let value = Value::part(transcript.line(block.line), block.value);
        vec![match block.kind {
            BlockKind::Text => {
                let texts = transcript.texts(block).iter();
                return texts.map(|text| self.words(block, text)).collect();
            }
            // A command that the user ran: the model read it as the user's words.
            BlockKind::Result => return self.result(block, losses),
            BlockKind::Image | BlockKind::Document => Piece::Media(block.kind, value),
            BlockKind::Thinking | BlockKind::Redacted => Piece::Thinking(value),
            BlockKind::Server => Piece::Server(value),
            BlockKind::Attachment => self.attached(block),
            BlockKind::Other => Piece::Other(value),
            BlockKind::Call => {
                let [id, tool, raw] = [block.call_id, block.tool, block.content]
                    .map(|span| transcript.bytes(block.line, span));
                let arguments = match (raw, inside(raw)) {
                    (b"" | b"null", _) => Arguments::None,
                    (_, Some(text)) if is_free(value) => Arguments::Free(text),
                    (_, Some(text)) => Arguments::Text(text),
                    (raw, None) => Arguments::Value(raw),
                };
                Piece::Call(Call {
                    id,
                    tool,
                    arguments,
                    answer: None,
                })
            }
        }]
    }

    /// Content that the agent added: the JSON of it, within the tags that the agent uses if it is no part of a message.
    fn attached(&self, block: &Block) -> Piece<'t> {
        let value = self.transcript.bytes(block.line, block.value);
        let link = self.transcript.links().get(block.line as usize);
        let text = match link.is_some_and(|link| link.kind == LinkKind::Attachment) {
            true => [b"<system-reminder>\n", value, &b"\n</system-reminder>"[..]].concat(),
            false => value.to_vec(),
        };
        Piece::Words(Cow::Owned(escaped(&text)))
    }

    /// A text, between its quotes.
    fn words(&self, block: &Block, text: &Text) -> Piece<'t> {
        let raw = self.transcript.bytes(block.line, text.span);
        Piece::Words(match text.span == block.content {
            // A JSON value, which the model reads as it is written.
            true => Cow::Owned(escaped(raw)),
            false => Cow::Borrowed(raw),
        })
    }

    /// What a result says: its string with all that stands in it, or its texts and pictures in order.
    fn result(&self, block: &Block, losses: &mut Losses) -> Vec<Piece<'t>> {
        let transcript = self.transcript;
        let line = transcript.line(block.line);
        let content = Value::part(line, block.content);
        let texts = transcript.texts(block);
        if let (Some(whole), false) = (content.string(), texts.is_empty()) {
            self.lost(block, &[], losses);
            return vec![Piece::Words(Cow::Borrowed(whole))];
        }
        let mut placed: Vec<(u32, Piece<'t>)> = texts
            .iter()
            .map(|text| (text.span.start, self.words(block, text)))
            .collect();
        let mut found: Vec<(Span, BlockKind)> = Vec::new();
        let mut look = |at: Value<'t>| {
            if at.kind() != Some(Kind::Object) || says(at, texts) {
                return;
            }
            if let Some(media) = Media::of(at) {
                let kind = match media.is_picture() || is_picture(at) {
                    true => BlockKind::Image,
                    false => BlockKind::Document,
                };
                found.push((at.span(), kind));
                placed.push((at.span().start, Piece::Media(kind, at)));
            }
        };
        if block.images > 0 || block.documents > 0 {
            content.elements(&mut look);
            let value = Value::part(line, block.value);
            value
                .within(&["functionResponse", "parts"])
                .elements(&mut look);
        }
        self.lost(block, &found, losses);
        placed.sort_by_key(|(at, _)| *at);
        placed.into_iter().map(|(_, piece)| piece).collect()
    }

    /// Counts what a result has that was not found in it.
    fn lost(&self, block: &Block, found: &[(Span, BlockKind)], losses: &mut Losses) {
        let of = |kind| found.iter().filter(|(_, found)| *found == kind).count() as u64;
        let all = u64::from(block.images) + u64::from(block.documents);
        let missing = all.saturating_sub(of(BlockKind::Image) + of(BlockKind::Document));
        let images = u64::from(block.images).saturating_sub(of(BlockKind::Image));
        losses.add(Loss::Image, images.min(missing));
        losses.add(Loss::Document, missing - images.min(missing));
        losses.add(Loss::Other, u64::from(block.others));
    }
}

/// Whether a result answers no call: the user ran the command.
fn is_of_user(block: &Block, role: Role) -> bool {
    role == Role::User && block.call_id.is_empty()
}

/// Whether one of the texts stands in this value.
fn says(value: Value<'_>, texts: &[Text]) -> bool {
    let Span { start, .. } = value.span();
    let within = |text: &Text| text.span.start >= start && text.span.end() <= value.span().end();
    texts.iter().any(within)
}

/// Whether a part says that it is a picture.
fn is_picture(part: Value<'_>) -> bool {
    let kind = part.field("type").string().unwrap_or_default();
    memchr::memmem::find(kind, b"image").is_some()
}

/// Whether the string that a call gives to its tool is no JSON.
fn is_free(call: Value<'_>) -> bool {
    let [kind, custom] = call.fields(["type", "custom"]);
    custom.is_there() || matches!(kind.string(), Some(b"custom" | b"custom_tool_call"))
}

/// What is between the quotes, if it is a string.
fn inside(raw: &[u8]) -> Option<&[u8]> {
    raw.strip_prefix(b"\"")?.strip_suffix(b"\"")
}
