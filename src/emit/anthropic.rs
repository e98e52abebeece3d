//! Writes a conversation as Anthropic messages: `{"system":…,"messages":[…]}` on one line.
//!
//! Roles alternate; results come first in the user's message after their calls. Content that the format cannot hold is counted.
//! Never decides which call a result answers.

use std::borrow::Cow;

use super::ids::{Ids, Rule};
use super::json::{mended, push_quoted};
use super::loss::{Loss, Losses};
use super::media::{Media, anthropic_media, is_blank};
use super::said::{Answer, Arguments, Call, Piece, Say, call_of};
use crate::ids::IdSet;
use crate::scan::{Value, is_object, unescape};
use crate::transcript::{BlockKind, Outcome, Role};

/// The line of a conversation and the number of its messages; `None` if nothing is left of it.
pub(super) fn line(said: &[Say<'_>], losses: &mut Losses) -> Option<(Vec<u8>, u64)> {
    let mut writer = Writer {
        system: Vec::new(),
        turns: Vec::new(),
        ids: Ids::new(said, Rule::PlainOnce),
        answered: answered(said),
        losses,
    };
    for say in said {
        writer.say(say);
    }
    writer.finish()
}

/// A content block.
enum Block {
    /// A text, including its quotes.
    Text(Vec<u8>),
    /// Thinking, which must not end a conversation.
    Thinking(Vec<u8>),
    /// Any other block.
    Whole(Vec<u8>),
}

/// A turn of one side.
struct Turn {
    role: Role,
    blocks: Vec<Block>,
}

struct Writer<'l> {
    system: Vec<Block>,
    turns: Vec<Turn>,
    ids: Ids,
    /// The ids of the provider's own calls that have a result.
    answered: IdSet<Vec<u8>>,
    losses: &'l mut Losses,
}

impl Writer<'_> {
    fn say(&mut self, say: &Say<'_>) {
        self.losses.add(Loss::Name, u64::from(say.name.is_some()));
        let mut blocks = Vec::new();
        let mut answers: Vec<(Vec<u8>, &Answer<'_>)> = Vec::new();
        for piece in &say.pieces {
            match call_of(piece) {
                Some(call) => {
                    let id = self.ids.next(call.id, self.losses);
                    blocks.push(self.call(call, &id));
                    answers.extend(call.answer.as_ref().map(|answer| (id, answer)));
                }
                None => blocks.extend(self.piece(piece, say.role)),
            }
        }
        if blocks.is_empty() {
            self.losses.add(Loss::EmptyMessage, 1);
            return;
        }
        match say.role {
            Role::System if self.turns.is_empty() => self.system.append(&mut blocks),
            Role::System => {
                self.losses.add(Loss::SystemPlace, 1);
                self.add(Role::User, blocks);
            }
            Role::User | Role::Tool => self.add(Role::User, blocks),
            Role::Assistant => self.add(Role::Assistant, blocks),
        }
        answers.sort_by_key(|(_, answer)| answer.place);
        for (id, answer) in answers {
            let block = self.answer(&id, answer);
            self.add(Role::User, vec![block]);
        }
    }

    fn add(&mut self, role: Role, mut blocks: Vec<Block>) {
        match self.turns.last_mut().filter(|turn| turn.role == role) {
            Some(turn) => turn.blocks.append(&mut blocks),
            None => self.turns.push(Turn { role, blocks }),
        }
    }

    fn call(&mut self, call: &Call<'_>, id: &[u8]) -> Block {
        let mut out = br#"{"type":"tool_use","id":"#.to_vec();
        push_quoted(&mut out, id);
        out.extend_from_slice(br#","name":"#);
        push_quoted(&mut out, &mended(call.tool, self.losses));
        out.extend_from_slice(br#","input":"#);
        out.extend_from_slice(&self.input(call.arguments));
        out.push(b'}');
        Block::Whole(out)
    }

    /// The arguments as an object.
    fn input(&mut self, arguments: Arguments<'_>) -> Vec<u8> {
        let value: Cow<'_, [u8]> = match arguments {
            Arguments::None => Cow::Borrowed(b"{}"),
            Arguments::Value(value) => Cow::Borrowed(value),
            Arguments::Text(text) if is_blank(text) => Cow::Borrowed(b"{}"),
            Arguments::Text(text) => {
                let value = unescape(text);
                match is_object(&value) {
                    true => value,
                    false => Cow::Owned([b"\"", text, b"\""].concat()),
                }
            }
            Arguments::Free(text) => Cow::Owned([b"\"", text, b"\""].concat()),
        };
        let value = mended(value.trim_ascii(), self.losses);
        if value.starts_with(b"{") {
            return value.into_owned();
        }
        self.losses.add(Loss::Arguments, 1);
        [br#"{"input":"#, &value[..], b"}"].concat()
    }

    fn answer(&mut self, id: &[u8], answer: &Answer<'_>) -> Block {
        let blocks: Vec<Block> = answer
            .pieces
            .iter()
            .filter_map(|piece| self.piece(piece, Role::Tool))
            .collect();
        let mut out = br#"{"type":"tool_result","tool_use_id":"#.to_vec();
        push_quoted(&mut out, id);
        out.extend_from_slice(br#","content":"#);
        match blocks.is_empty() {
            true => out.extend_from_slice(br#""""#),
            false => push_content(&mut out, &blocks),
        }
        if answer.outcome == Outcome::Failed {
            out.extend_from_slice(br#","is_error":true"#);
        }
        out.push(b'}');
        Block::Whole(out)
    }

    /// Converts a piece that is not a call.
    fn piece(&mut self, piece: &Piece<'_>, role: Role) -> Option<Block> {
        match piece {
            Piece::Words(words) => self.words(words, role),
            Piece::Refusal(words) => self.words(words, role),
            Piece::Media(kind, value) => self.media(*kind, *value, role),
            Piece::Thinking(value) => {
                let [kind, thinking, signature, data] =
                    value.fields(["type", "thinking", "signature", "data"]);
                let strings = [thinking, signature, data].map(|value| value.string().is_some());
                match (kind.unescaped().as_deref(), strings) {
                    (Some(b"thinking"), [true, true, _])
                    | (Some(b"redacted_thinking"), [_, _, true]) => {
                        let value = mended(value.raw(), self.losses);
                        Some(Block::Thinking(value.into_owned()))
                    }
                    _ => self.lose(Loss::Thinking),
                }
            }
            Piece::Server(value) => {
                let id = server_call(*value).or(server_result(*value));
                match id.is_some_and(|id| self.answered.contains(&*id)) {
                    true => Some(Block::Whole(mended(value.raw(), self.losses).into_owned())),
                    false => self.lose(Loss::ServerTool),
                }
            }
            Piece::Other(_) => self.lose(Loss::Other),
            Piece::Call(_) => None,
        }
    }

    fn lose(&mut self, loss: Loss) -> Option<Block> {
        self.losses.add(loss, 1);
        None
    }

    fn words(&mut self, words: &[u8], role: Role) -> Option<Block> {
        if is_blank(words) {
            // An empty result is still a result; dropping white space would be a loss.
            let is_lost = role != Role::Tool || !words.is_empty();
            self.losses.add(Loss::EmptyMessage, u64::from(is_lost));
            return None;
        }
        let mut text = Vec::with_capacity(words.len() + 2);
        push_quoted(&mut text, &mended(words, self.losses));
        Some(Block::Text(text))
    }

    fn media(&mut self, kind: BlockKind, value: Value<'_>, role: Role) -> Option<Block> {
        let media = Media::of(value);
        let is_picture = kind == BlockKind::Image || media.as_ref().is_some_and(Media::is_picture);
        let block = match role {
            Role::System | Role::Assistant => None,
            Role::User | Role::Tool => anthropic_media(kind, value),
        };
        let loss = if is_picture {
            Loss::Image
        } else {
            Loss::Document
        };
        match block {
            Some(block) => Some(Block::Whole(mended(&block, self.losses).into_owned())),
            None => self.lose(loss),
        }
    }

    fn finish(mut self) -> Option<(Vec<u8>, u64)> {
        // The API rejects a conversation that ends with thinking.
        while let Some(turn) = self.turns.last_mut() {
            while let Some(Block::Thinking(_)) = turn.blocks.last() {
                turn.blocks.pop();
                self.losses.add(Loss::Thinking, 1);
            }
            match turn.blocks.is_empty() {
                true => drop(self.turns.pop()),
                false => break,
            }
        }
        let Some(first) = self.turns.first() else {
            let is_alone = !self.system.is_empty();
            self.losses.add(Loss::SystemAlone, u64::from(is_alone));
            return None;
        };
        let is_answer = first.role == Role::Assistant;
        self.losses.add(Loss::AnswerFirst, u64::from(is_answer));
        let mut out = b"{".to_vec();
        if !self.system.is_empty() {
            out.extend_from_slice(br#""system":"#);
            push_content(&mut out, &self.system);
            out.push(b',');
        }
        out.extend_from_slice(br#""messages":["#);
        for (n, turn) in self.turns.iter().enumerate() {
            let role = turn.role.name();
            let comma = if n > 0 { "," } else { "" };
            out.extend_from_slice(format!("{comma}{{\"role\":\"{role}\",\"content\":").as_bytes());
            push_content(&mut out, &turn.blocks);
            out.push(b'}');
        }
        out.extend_from_slice(b"]}\n");
        Some((out, self.turns.len() as u64))
    }
}

/// The id of a server tool call, if a block is one.
fn server_call(block: Value<'_>) -> Option<Cow<'_, [u8]>> {
    let [kind, id] = block.fields(["type", "id"]);
    id.unescaped()
        .filter(|_| kind.unescaped().as_deref() == Some(b"server_tool_use"))
}

/// The id of the call that a server tool result answers, if a block is one.
fn server_result(block: Value<'_>) -> Option<Cow<'_, [u8]>> {
    let [kind, id] = block.fields(["type", "tool_use_id"]);
    let kind = kind.unescaped()?;
    let is_result = kind.ends_with(b"_tool_result") && *kind != b"mcp_tool_result"[..];
    id.unescaped().filter(|_| is_result)
}

/// The ids of server tool calls that have a later result.
fn answered(said: &[Say<'_>]) -> IdSet<Vec<u8>> {
    let (mut called, mut answered) = (IdSet::default(), IdSet::default());
    for piece in said.iter().flat_map(|say| &say.pieces) {
        let Piece::Server(block) = piece else {
            continue;
        };
        called.extend(server_call(*block));
        let result = server_result(*block).filter(|id| called.contains(id));
        answered.extend(result.map(Cow::into_owned));
    }
    answered
}

/// Writes content: as a string if it is a single text, otherwise as a list of blocks.
fn push_content(out: &mut Vec<u8>, blocks: &[Block]) {
    if let [Block::Text(text)] = blocks {
        out.extend_from_slice(text);
        return;
    }
    for (n, block) in blocks.iter().enumerate() {
        out.push(if n > 0 { b',' } else { b'[' });
        match block {
            Block::Text(text) => {
                out.extend_from_slice(br#"{"type":"text","text":"#);
                out.extend_from_slice(text);
                out.push(b'}');
            }
            Block::Thinking(whole) | Block::Whole(whole) => out.extend_from_slice(whole),
        }
    }
    out.push(b']');
}
