//! How opencode takes back a session that it exported, and how a copy of one gets ids of its own.
//!
//! PURE. Sessions are kept in a database. An import adds to a session that is there already, and replaces none of its messages:
//! that session has to be deleted first. A copy beside it needs other ids for its messages and their parts, too.

use std::ffi::OsString;
use std::path::Path;

use crate::format::agent::{Import, Importer, text_of};
use crate::format::shapes::removal::members;
use crate::format::shapes::splice::cuts;
use crate::scan::{Span, Value};

/// The beginning of every id of a session.
const SESSION: &str = "ses_";
/// The characters after the underscore of an id that tell when it was made. The agent compares the ids of messages to find out which
/// is later, so they stay, and stay in front.
const MADE: usize = 12;

/// The agent.
#[derive(Debug)]
pub(super) struct OpenCode;

impl Importer for OpenCode {
    fn import(&self, document: &[u8], file: &Path) -> Option<Import> {
        let [id, directory] = Value::of(document)
            .field("info")
            .fields(["id", "directory"]);
        let id = text_of(id).filter(|id| id.starts_with(SESSION))?;
        let command = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let mut take = command(&["opencode", "import"]);
        take.push(file.into());
        Some(Import {
            directory: text_of(directory),
            delete: command(&["opencode", "session", "delete", &id]),
            take,
            resume: command(&["opencode", "--session", &id]),
        })
    }

    fn id_of_copy(&self, document: &[u8], of: &str) -> Option<String> {
        let id = Value::of(document).field("info").field("id").string()?;
        let id = std::str::from_utf8(id).ok()?;
        let is_id = id.starts_with(SESSION) && is_plain(id);
        is_id.then(|| marked(id, MADE, &mark(&format!("{id}\n{of}"))))
    }

    fn under_id(&self, document: &[u8], id: &str) -> Vec<u8> {
        let ids = ids(document);
        let text = |span: Span| String::from_utf8_lossy(span.of(document));
        // In the same place of all ids of one layout, the mark does not change their order.
        let others = ids.iter().filter(|(_, of)| *of == Id::Other);
        let short = others.map(|(span, _)| made(&text(*span))).min();
        let short = short.unwrap_or(MADE);
        let mark = mark(id);
        let renamed = ids.iter().map(|(span, of)| {
            let new = match of {
                Id::Session => id.to_owned(),
                Id::Other => {
                    let old = text(*span);
                    let place = if made(&old) < MADE { short } else { MADE };
                    marked(&old, place, &mark)
                }
            };
            (*span, new)
        });
        let mut parts: Vec<(Span, String)> = renamed.collect();
        parts.extend(
            share(document)
                .into_iter()
                .map(|span| (span, String::new())),
        );
        parts.sort_unstable_by_key(|(span, _)| span.start);
        let mut out = Vec::with_capacity(document.len() + ids.len() * mark.len());
        let mut done = 0;
        for (span, new) in parts {
            out.extend_from_slice(&document[done..span.start as usize]);
            out.extend_from_slice(new.as_bytes());
            done = span.end();
        }
        out.extend_from_slice(&document[done..]);
        out
    }

    fn may_begin(&self, document: &[u8]) -> bool {
        memchr::memmem::find(document, b"\"ses_").is_some()
    }
}

/// What an id belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Id {
    /// The session.
    Session,
    /// A message or a part.
    Other,
}

/// The ids of a session, of its messages and of their parts wherever they are keys, in their order; without their quotes.
fn ids(document: &[u8]) -> Vec<(Span, Id)> {
    let [info, messages] = Value::of(document).fields(["info", "messages"]);
    let [session, revert] = info.fields(["id", "revert"]);
    let mut ids = Vec::new();
    let mut note = |value: Value<'_>, of: Id| {
        if let Some(span) = value.inside().filter(|span| !span.is_empty()) {
            ids.push((span, of));
        }
    };
    note(session, Id::Session);
    for id in revert.fields(["messageID", "partID"]) {
        note(id, Id::Other);
    }
    messages.elements(|message| {
        let [about, parts] = message.fields(["info", "parts"]);
        let [id, parent, of] = about.fields(["id", "parentID", "sessionID"]);
        note(id, Id::Other);
        note(parent, Id::Other);
        note(of, Id::Session);
        parts.elements(|part| {
            let names = ["id", "messageID", "tail_start_id", "sessionID", "state"];
            let [id, message, tail, of, state] = part.fields(names);
            for id in [id, message, tail] {
                note(id, Id::Other);
            }
            note(of, Id::Session);
            // Files that a tool gave back are parts, too.
            state.field("attachments").elements(|file| {
                let [id, message, of] = file.fields(["id", "messageID", "sessionID"]);
                note(id, Id::Other);
                note(message, Id::Other);
                note(of, Id::Session);
            });
        });
    });
    ids
}

/// What has to be cut so that a copy does not say where its original is shared.
fn share(document: &[u8]) -> Vec<Span> {
    let info = Value::of(document).field("info").span();
    let members = members(document, info).into_iter();
    let members: Vec<Span> = members.map(|(member, _)| member).collect();
    cuts(&members, |at| {
        members[at].of(document).starts_with(br#""share""#)
    })
}

/// What makes the ids of a copy other than those of its original.
fn mark(of: &str) -> String {
    blake3::hash(of.as_bytes()).to_hex()[..8].to_owned()
}

/// Whether an id is written like the agent's.
fn is_plain(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    id.bytes().all(is_plain)
}

/// The number of characters after the underscore, up to [`MADE`]; an id that is written otherwise counts as a long one.
fn made(id: &str) -> usize {
    match is_plain(id) {
        true => MADE.min(id.len() - prefix(id)),
        false => MADE,
    }
}

/// Where an id goes on behind the name of its kind.
fn prefix(id: &str) -> usize {
    id.find('_').map_or(0, |at| at + 1)
}

/// An id with a mark behind the time when it was made, which takes `made` characters.
fn marked(id: &str, made: usize, mark: &str) -> String {
    let at = match is_plain(id) {
        true => id.len().min(prefix(id) + made),
        false => id.len(),
    };
    let (start, end) = id.split_at(at);
    format!("{start}{mark}{end}")
}
