//! Masks secrets in text: each is replaced with `[REDACTED:<kind>]`, and the text around it does not change.
//!
//! Pure: no I/O, no state outside a [`Redactor`]. Recognises secrets by their form (a token's prefix, a key's armour, a password in
//! an address) or by the name before them, so it cannot find all of them and never proves that none is left. **Invariant:**
//! redacting a redacted text changes nothing, and a text without secrets is never copied.

mod assign;
mod bytes;
mod command;
mod encoded;
mod header;
mod kind;
mod name;
mod near;
mod pem;
mod secret_file;
#[cfg(test)]
mod tests;
mod token;
mod url;
mod value;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, Input, MatchKind};

pub use kind::Kind;
pub use secret_file::is_secret_file;

use crate::text::ceil_boundary;
use near::{Clue, clues};
use token::{Token, tokens};

/// The beginning of a mask; the kind's name and `]` follow.
const MASK: &str = "[REDACTED:";

/// The maximum number of scans of a text. A mask can reveal a second secret next to it, but never many in a row.
const MAX_PASSES: usize = 8;

/// Finds secrets and masks them. Build it once: it compiles its patterns.
#[derive(Debug)]
pub struct Redactor {
    anchors: AhoCorasick,
    /// The role of each anchor, by the anchor's number.
    roles: Vec<Role>,
    clues: Vec<Clue>,
}

/// A text after redaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'t> {
    /// The text with masks; borrowed if nothing was found.
    pub text: Cow<'t, str>,
    /// How many secrets of each kind were masked, in the order of [`Kind::ALL`].
    pub counts: BTreeMap<Kind, u64>,
}

/// A range of text to mask.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    range: Range<usize>,
    kind: Kind,
}

/// What may begin at an anchor in the text, or be near it.
#[derive(Debug, Clone, Copy)]
enum Role {
    /// A mask that this program wrote: it is not searched.
    Mask,
    /// A token with this prefix.
    Token(Token),
    /// A name to which a secret may be assigned.
    Name,
    /// An `Authorization` header, or a name with `auth` in it.
    Auth,
    /// A token after `Bearer`.
    Bearer,
    /// A cookie header.
    Cookie,
    /// An address.
    Url,
    /// The armour of a key.
    Pem,
    /// A command that takes a password as an argument.
    Command,
    /// A command that reads a password from a pipe.
    Piped,
    /// The private part of a PuTTY key file.
    Putty,
    /// A web token.
    Jwt,
    /// The signature of an address.
    Signature,
    /// A token without a prefix, by the index of its clue.
    Clue(usize),
}

/// The anchors that are not prefixes of tokens.
const CONTEXTS: &[(&str, Role)] = &[
    (MASK, Role::Mask),
    ("pass", Role::Name),
    ("pwd", Role::Name),
    ("secret", Role::Name),
    ("token", Role::Name),
    ("key", Role::Name),
    ("_pat", Role::Name),
    ("auth", Role::Auth),
    ("bearer", Role::Bearer),
    ("cookie", Role::Cookie),
    ("://", Role::Url),
    ("-----begin ", Role::Pem),
    ("curl ", Role::Command),
    ("mysql", Role::Command),
    ("mongo", Role::Command),
    ("sshpass ", Role::Command),
    ("redis-cli ", Role::Command),
    ("docker login ", Role::Command),
    ("identified by ", Role::Command),
    ("sudo -", Role::Piped),
    ("private-lines: ", Role::Putty),
    ("eyj", Role::Jwt),
    ("sig=", Role::Signature),
    ("-signature=", Role::Signature),
];

/// The lines of a list, without comments and empty lines.
fn lines(list: &'static str) -> impl Iterator<Item = &'static str> {
    let lines = list.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

impl Redactor {
    /// Compiles the anchors.
    ///
    /// # Errors
    /// If the automaton becomes too large, which it does not with these fixed lists.
    pub fn new() -> Result<Self, BuildError> {
        let clues: Vec<Clue> = clues().collect();
        let mut anchors: Vec<(&str, Role)> = CONTEXTS.to_vec();
        for (number, clue) in clues.iter().enumerate() {
            anchors.extend(clue.anchors().map(|anchor| (anchor, Role::Clue(number))));
        }
        anchors.extend(tokens().map(|token| (token.prefix, Role::Token(token))));
        let (patterns, roles): (Vec<&str>, Vec<Role>) = anchors.into_iter().unzip();
        // Leftmost-longest, so that the more specific of `key` and `tskey-`, or of `secret` and `secret_`, is reported.
        let anchors = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .kind(Some(AhoCorasickKind::DFA))
            .build(patterns)?;
        Ok(Redactor {
            anchors,
            roles,
            clues,
        })
    }

    /// `text` with its secrets masked.
    pub fn redact<'t>(&self, text: &'t str) -> Redacted<'t> {
        let mut redacted = Redacted {
            text: Cow::Borrowed(text),
            counts: BTreeMap::new(),
        };
        for _ in 0..MAX_PASSES {
            let text = redacted.text.as_bytes();
            let mut found = self.find(text);
            encoded::find(text, |decoded| self.find(decoded), &mut found);
            let found = merge(&redacted.text, found);
            if found.is_empty() {
                break;
            }
            for find in &found {
                *redacted.counts.entry(find.kind).or_default() += 1;
            }
            redacted.text = Cow::Owned(mask(&redacted.text, &found));
        }
        redacted
    }

    fn find(&self, text: &[u8]) -> Vec<Found> {
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(anchor) = self.anchors.find(Input::new(text).range(at..)) {
            let role = &self.roles[anchor.pattern().as_usize()];
            at = self.look(role, text, anchor.range(), &mut found);
        }
        found
    }

    /// Examines one anchor. Returns where to continue the search: always after the anchor's first byte.
    fn look(
        &self,
        role: &Role,
        text: &[u8],
        anchor: Range<usize>,
        found: &mut Vec<Found>,
    ) -> usize {
        let mut at_end = |find: Option<Range<usize>>, kind: Kind| match find {
            Some(range) => {
                let end = range.end.max(anchor.end);
                found.push(Found { range, kind });
                end
            }
            None => anchor.end,
        };
        match role {
            Role::Mask => mask_end(text, anchor.end).unwrap_or(anchor.end),
            // A prefix without a token after it may contain another anchor.
            Role::Token(token) => match token.find(text, &anchor) {
                Some(find) => {
                    let end = find.range.end;
                    if find.kind == Kind::AwsAccessKeyId {
                        found.extend(near::aws_secret(text, end));
                    }
                    found.push(find);
                    end
                }
                None => anchor.start + 1,
            },
            Role::Jwt => at_end(near::jwt(text, &anchor), Kind::Jwt),
            Role::Signature => at_end(near::signature(text, &anchor), Kind::SignedUrl),
            Role::Clue(number) => self.clues[*number].find(text, anchor, found),
            Role::Name => assign::find(text, anchor, found),
            Role::Auth => header::authorization(text, anchor, found),
            Role::Bearer => header::bearer(text, anchor, found),
            Role::Cookie => header::cookie(text, anchor, found),
            Role::Url => url::find(text, anchor, found),
            Role::Pem => pem::find(text, anchor, found),
            Role::Command => command::find(text, anchor, found),
            Role::Piped => at_end(command::piped(text, anchor.clone()), Kind::Password),
            Role::Putty => pem::putty(text, anchor, found),
        }
    }
}

/// The end of the mask whose kind's name begins at `at`.
fn mask_end(text: &[u8], at: usize) -> Option<usize> {
    let rest = &text[at..];
    let name = &rest[..rest.iter().take(40).position(|&b| b == b']')?];
    let known = Kind::ALL.iter().any(|kind| kind.name().as_bytes() == name);
    known.then_some(at + name.len() + 1)
}

/// Sorts the secrets found and joins overlapping ones. A secret that was cut at the maximum length of its kind is shortened so that
/// it does not end within a character.
fn merge(text: &str, mut found: Vec<Found>) -> Vec<Found> {
    found.retain(|find| !find.range.is_empty());
    found.sort_by_key(|find| (find.range.start, find.range.end));
    let mut merged: Vec<Found> = Vec::with_capacity(found.len());
    for mut find in found {
        find.range.end = ceil_boundary(text, find.range.end);
        match merged.last_mut() {
            Some(last) if find.range.start < last.range.end => {
                last.range.end = last.range.end.max(find.range.end);
                last.kind = last.kind.min(find.kind);
            }
            _ => merged.push(find),
        }
    }
    merged
}

fn mask(text: &str, found: &[Found]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut kept = 0;
    for Found { range, kind } in found {
        out.push_str(&text[kept..range.start]);
        out.push_str(MASK);
        out.push_str(kind.name());
        out.push(']');
        kept = range.end;
    }
    out.push_str(&text[kept..]);
    out
}
