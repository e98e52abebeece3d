//! Reads who said what in a conversation, in one form for all formats: texts, calls, results, pictures.
//!
//! Strings are borrowed as written. A result stays where it is; which call it answers is decided later. Never depends on the name
//! of a format, and never changes the order.

use std::borrow::Cow;

use super::json::escaped;
use super::loss::{Loss, Losses};
use super::media::Media;
use crate::scan::{BOM, Kind, Span, Text, Value};
use crate::transcript::{
    Answer as Answered, Block, BlockKind, Conversation, LinkKind, Message, Outcome, Role,
    Transcript,
};

/// The content of a message.
#[derive(Debug)]
pub(super) struct Say<'t> {
    /// The role of the speaker.
    pub(super) role: Role,
    /// The role as written, if it has another name: `developer`.
    pub(super) written: Option<&'t [u8]>,
    /// The name of the speaker, without quotes.
    pub(super) name: Option<&'t [u8]>,
    /// The pieces, in order.
    pub(super) pieces: Vec<Piece<'t>>,
}

/// A part of a message's content.
#[derive(Debug)]
pub(super) enum Piece<'t> {
    /// A text, between its quotes.
    Words(Cow<'t, [u8]>),
    /// The words of a model's refusal, without the quotes.
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
    /// Its id, without the quotes.
    pub(super) id: &'t [u8],
    /// The tool's name, without the quotes.
    pub(super) tool: &'t [u8],
    /// The tool's input.
    pub(super) arguments: Arguments<'t>,
    /// Its result.
    pub(super) answer: Option<Answer<'t>>,
}

/// The input of a tool.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arguments<'t> {
    /// Nothing.
    None,
    /// A JSON value.
    Value(&'t [u8]),
    /// JSON in a string, without the quotes.
    Text(&'t [u8]),
    /// Text that is not JSON, without the quotes.
    Free(&'t [u8]),
}

/// A result.
#[derive(Debug)]
pub(super) struct Answer<'t> {
    /// Its index among the results of the conversation.
    pub(super) place: usize,
    /// Its content.
    pub(super) pieces: Vec<Piece<'t>>,
    /// Whether the call failed.
    pub(super) outcome: Outcome,
}

/// An item of a conversation.
#[derive(Debug)]
pub(super) enum Item<'t> {
    /// A message.
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
            // The agent's own message about a failed request, which it does not send.
            losses.add(Loss::DeadLine, 1);
            continue;
        }
        all.message(conversation, message, losses);
    }
    all.items
}

/// The system prompt next to the messages of a conversation on one line.
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
        // Decides where a new message begins: a model that speaks after a result has read it.
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
                // The surrounding text repeats the words.
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
                // The agent's remarks on a result belong to it.
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

    /// Whether `block` is the text that an agent wraps around the words of the preceding block `before`.
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

    /// The content of a block that is not a result.
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

    /// Content that the agent added, as JSON; within the agent's tags if it is not part of a message.
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
            // A JSON value, which the model reads as written.
            true => Cow::Owned(escaped(raw)),
            false => Cow::Borrowed(raw),
        })
    }

    /// The content of a result: its whole string, or its texts and pictures in order.
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

    /// Counts the content of a result that was not found in it.
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

/// Whether a result answers no call because the user ran the command.
fn is_of_user(block: &Block, role: Role) -> bool {
    role == Role::User && block.call_id.is_empty()
}

/// Whether this value contains one of the texts.
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

/// Whether the string that a call passes to its tool is not JSON.
fn is_free(call: Value<'_>) -> bool {
    let [kind, custom] = call.fields(["type", "custom"]);
    custom.is_there() || matches!(kind.string(), Some(b"custom" | b"custom_tool_call"))
}

/// The content between the quotes, if the value is a string.
fn inside(raw: &[u8]) -> Option<&[u8]> {
    raw.strip_prefix(b"\"")?.strip_suffix(b"\"")
}
