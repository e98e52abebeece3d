//! Writes a conversation as Chat Completions: `{"messages":[…]}` on one line.
//!
//! Results follow the answer with their calls, in their own order. Content that the format cannot hold is counted. Never decides
//! which call a result answers.

use super::ids::{Ids, Rule};
use super::json::{escaped, mended, push_quoted};
use super::loss::{Loss, Losses};
use super::media::{Media, Source};
use super::said::{Answer, Arguments, Call, Piece, Say, call_of};
use crate::scan::{Kind, Value};
use crate::transcript::{BlockKind, Outcome, Role};

/// The line of a conversation and the number of its messages; `None` if nothing is left of it.
pub(super) fn line(said: &[Say<'_>], losses: &mut Losses) -> Option<(Vec<u8>, u64)> {
    let mut writer = Writer {
        out: br#"{"messages":["#.to_vec(),
        messages: 0,
        ids: Ids::new(said, Rule::OncePerAnswer),
        losses,
    };
    for say in said {
        writer.say(say);
    }
    let Writer {
        mut out, messages, ..
    } = writer;
    out.extend_from_slice(b"]}\n");
    (messages > 0).then_some((out, messages))
}

/// What a message may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// Only texts.
    Texts,
    /// Pictures, documents and sounds too.
    All,
}

struct Writer<'l> {
    out: Vec<u8>,
    messages: u64,
    ids: Ids,
    losses: &'l mut Losses,
}

impl Writer<'_> {
    fn say(&mut self, say: &Say<'_>) {
        let holds = match say.role {
            Role::User => Holds::All,
            Role::System | Role::Assistant | Role::Tool => Holds::Texts,
        };
        let content = self.content(&say.pieces, holds);
        let calls: Vec<&Call<'_>> = say.pieces.iter().filter_map(call_of).collect();
        let refusal = say.pieces.iter().find_map(|piece| match piece {
            Piece::Refusal(words) => Some(*words),
            Piece::Words(_)
            | Piece::Media(..)
            | Piece::Thinking(_)
            | Piece::Server(_)
            | Piece::Other(_)
            | Piece::Call(_) => None,
        });
        if content.is_none() && calls.is_empty() && refusal.is_none() {
            self.losses.add(Loss::EmptyMessage, 1);
            return;
        }
        let role = match (say.role, say.written) {
            (Role::System, Some(written)) => written,
            (Role::Tool, _) => Role::User.name().as_bytes(),
            (role, _) => role.name().as_bytes(),
        };
        self.begin(role);
        if let Some(name) = say.name {
            self.out.extend_from_slice(br#","name":"#);
            let name = mended(name, self.losses);
            push_quoted(&mut self.out, &name);
        }
        self.out.extend_from_slice(br#","content":"#);
        self.out
            .extend_from_slice(content.as_deref().unwrap_or(b"null"));
        if let Some(words) = refusal {
            self.out.extend_from_slice(br#","refusal":"#);
            let words = mended(words, self.losses);
            push_quoted(&mut self.out, &words);
        }
        let mut answers: Vec<(Vec<u8>, &Answer<'_>)> = Vec::new();
        self.ids.begin();
        for (n, call) in calls.iter().enumerate() {
            self.out.extend_from_slice(match n {
                0 => br#","tool_calls":["#,
                _ => b",",
            });
            let id = escaped(&self.ids.next(call.id, self.losses));
            self.call(call, &id);
            answers.extend(call.answer.as_ref().map(|answer| (id, answer)));
        }
        self.out
            .extend_from_slice(if calls.is_empty() { b"}" } else { b"]}" });
        answers.sort_by_key(|(_, answer)| answer.place);
        for (id, answer) in answers {
            self.answer(&id, answer);
        }
    }

    fn begin(&mut self, role: &[u8]) {
        if self.messages > 0 {
            self.out.push(b',');
        }
        self.messages += 1;
        self.out.extend_from_slice(br#"{"role":"#);
        push_quoted(&mut self.out, role);
    }

    fn call(&mut self, call: &Call<'_>, id: &[u8]) {
        let tool = mended(call.tool, self.losses);
        self.out.extend_from_slice(br#"{"id":"#);
        push_quoted(&mut self.out, id);
        let (kind, under) = match call.arguments {
            Arguments::Free(_) => ("custom", "input"),
            Arguments::None | Arguments::Value(_) | Arguments::Text(_) => ("function", "arguments"),
        };
        let head = format!(",\"type\":\"{kind}\",\"{kind}\":{{\"name\":");
        self.out.extend_from_slice(head.as_bytes());
        push_quoted(&mut self.out, &tool);
        self.out
            .extend_from_slice(format!(",\"{under}\":").as_bytes());
        match call.arguments {
            Arguments::None => self.out.extend_from_slice(br#""{}""#),
            Arguments::Text(text) | Arguments::Free(text) => {
                let text = mended(text, self.losses);
                push_quoted(&mut self.out, &text);
            }
            Arguments::Value(value) => {
                let value = mended(value, self.losses);
                push_quoted(&mut self.out, &escaped(&value));
            }
        }
        self.out.extend_from_slice(b"}}");
    }

    fn answer(&mut self, id: &[u8], answer: &Answer<'_>) {
        let content = self.content(&answer.pieces, Holds::Texts);
        self.begin(Role::Tool.name().as_bytes());
        self.out.extend_from_slice(br#","tool_call_id":"#);
        push_quoted(&mut self.out, id);
        self.out.extend_from_slice(br#","content":"#);
        self.out
            .extend_from_slice(content.as_deref().unwrap_or(br#""""#));
        self.out.push(b'}');
        let is_failed = answer.outcome == Outcome::Failed;
        self.losses.add(Loss::FailedMark, u64::from(is_failed));
    }

    /// Content: a string if it is a single text, otherwise a list of parts; `None` if there is none.
    fn content(&mut self, pieces: &[Piece<'_>], holds: Holds) -> Option<Vec<u8>> {
        let mut texts: Vec<Vec<u8>> = Vec::new();
        let mut parts: Vec<Vec<u8>> = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Words(words) => {
                    let mut text = Vec::with_capacity(words.len() + 2);
                    push_quoted(&mut text, &mended(words, self.losses));
                    parts.push([br#"{"type":"text","text":"#, &text[..], b"}"].concat());
                    texts.push(text);
                }
                Piece::Media(kind, value) => parts.extend(self.media(*kind, *value, holds)),
                Piece::Other(value) => {
                    let is_sound = value.field("type").string() == Some(b"input_audio");
                    match is_sound && holds == Holds::All {
                        true => parts.push(mended(value.raw(), self.losses).into_owned()),
                        false => self.losses.add(Loss::Other, 1),
                    }
                }
                Piece::Thinking(_) => self.losses.add(Loss::Thinking, 1),
                Piece::Server(_) => self.losses.add(Loss::ServerTool, 1),
                Piece::Refusal(_) | Piece::Call(_) => {}
            }
        }
        match (&mut texts[..], &parts[..]) {
            (_, []) => None,
            ([text], [_]) => Some(std::mem::take(text)),
            _ => Some([&b"["[..], &parts.join(&b','), b"]"].concat()),
        }
    }

    /// A picture or a document as a part.
    fn media(&mut self, kind: BlockKind, value: Value<'_>, holds: Holds) -> Option<Vec<u8>> {
        let media = Media::of(value);
        if let Some(Source::Text(text)) = media.as_ref().map(|media| &media.source) {
            let mut part = br#"{"type":"text","text":"#.to_vec();
            push_quoted(&mut part, &escaped(text));
            part.push(b'}');
            return Some(part);
        }
        let [written, picture, file] = value.fields(["type", "image_url", "file"]);
        let own = match written.string() {
            Some(b"image_url") => picture,
            Some(b"file") => file,
            _ => Value::default(),
        };
        let is_picture = kind == BlockKind::Image || media.as_ref().is_some_and(Media::is_picture);
        let part = match holds {
            Holds::Texts => None,
            Holds::All if own.kind() == Some(Kind::Object) => {
                Some(mended(value.raw(), self.losses).into_owned())
            }
            Holds::All if is_picture => media.and_then(|media| media.chat_picture()),
            Holds::All => media.and_then(|media| media.chat_document()),
        };
        if part.is_none() {
            let loss = if is_picture {
                Loss::Image
            } else {
                Loss::Document
            };
            self.losses.add(loss, 1);
        }
        part
    }
}
