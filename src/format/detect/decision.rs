//! Decides what a file is from the lines seen so far, with or without a format specified by the user.
//!
//! PURE. Looks at counts only, never at the lines themselves.

use std::collections::BTreeMap;

use super::document::{self, Whole};
use super::evidence::Lookalike;
use super::reason::{Extent, Kinds, Unsupported};
use super::{Detected, Detector, Layout, MAX_STRAY_LINES, Tally};
use crate::format::Format;

impl Detector {
    /// What the file is if the user specifies the format: that format, however much of the file its reader does not understand,
    /// unless the messages are of other formats.
    pub fn given(&self, format: Format) -> Detected {
        match &self.document {
            Some(Whole::Of(found, _)) if *found == format => {
                return Detected::Known(format, Layout::File);
            }
            Some(Whole::Of(found, contents)) => {
                return Detected::Unsupported(Unsupported {
                    given: Some(format.name()),
                    joined: vec![(found.name(), contents.messages)],
                    ..self.because("other", &[])
                });
            }
            Some(Whole::Broken(why)) => return self.unsupported(document::name(*why), &[]),
            None => {}
        }
        if let Some(others) = self.contradiction(format) {
            return Detected::Unsupported(others);
        }
        let is_a_line_each = format == Format::OpenAi && self.conversations.messages > 0
            || format == Format::Anthropic
                && (self.exchanges.messages > 0 || self.has_plain_conversations());
        let layout = match self.decide() {
            Detected::Known(same, layout) if same == format => layout,
            Detected::Known(_, Layout::Line) if is_a_line_each => Layout::Line,
            Detected::Unsupported(_) if is_a_line_each && self.bare.messages == 0 => Layout::Line,
            Detected::Known(..) | Detected::Unsupported(_) => Layout::File,
        };
        Detected::Known(format, layout)
    }

    /// Why the format that the user specified may be wrong, although the file is read as that: some lines would have been detected
    /// as another format.
    pub fn doubt(&self, format: Format) -> Option<String> {
        let Detected::Known(_, _) = self.given(format) else {
            return None;
        };
        let like = match self.decide() {
            // Plain messages may be of either format.
            Detected::Known(other, _) if other != format && self.own[other as usize].marks > 0 => {
                vec![other.name()]
            }
            Detected::Known(..) => Vec::new(),
            Detected::Unsupported(why) => {
                let joined = why.joined.iter().map(|(name, _)| *name);
                let like: Vec<_> = joined.chain(why.like).collect();
                let others = like.into_iter().filter(|name| *name != format.name());
                others.collect()
            }
        };
        let name = format.name();
        let like = (!like.is_empty()).then(|| like.join(" and "))?;
        Some(format!(
            "read as {name}, as --input-format says; lines of it look like {like}"
        ))
    }

    /// Whether there are one-per-line conversations of plain messages only, which either provider accepts.
    fn has_plain_conversations(&self) -> bool {
        self.conversations.messages > 0 && self.only_openai == 0
    }

    /// The messages of other formats, if there are any and none is of the format that the user specified.
    fn contradiction(&self, format: Format) -> Option<Unsupported> {
        let dialect = format.dialect();
        let is_bare_of = || match dialect.every_message_is_live() {
            true => self
                .bare
                .formats()
                .iter()
                .all(|(name, _)| *name == format.name()),
            false => dialect.writes_bare_items() && self.bare.messages == self.bare.items,
        };
        let families = self.families();
        let is_own = |family: &Lookalike| match family {
            Lookalike::Of(own) => *own == format,
            Lookalike::Conversations => {
                format == Format::OpenAi
                    || format == Format::Anthropic && self.has_plain_conversations()
            }
            Lookalike::Exchanges => format == Format::Anthropic,
            Lookalike::Bare => is_bare_of(),
            Lookalike::Nothing => false,
        };
        let named = self
            .named
            .iter()
            .filter(|(_, (_, tally))| tally.messages > 0);
        let mut others: Vec<_> = named
            .map(|(name, (_, tally))| (*name, tally.messages))
            .collect();
        // The plainest lines of another format may look like lines of this one.
        if others.is_empty() && families.iter().any(|(family, _)| is_own(family)) {
            return None;
        }
        others.extend(families.iter().map(|(family, n)| (self.name(*family), *n)));
        let is_other = !others.is_empty() || self.stray.messages > 0;
        is_other.then(|| Unsupported {
            given: Some(format.name()),
            joined: others,
            ..self.because("other", &[&self.stray.unrecognised])
        })
    }

    /// What the file is, judging by everything seen so far.
    pub fn decide(&self) -> Detected {
        match &self.document {
            Some(Whole::Of(format, contents)) => {
                return self.fitting(*format, Layout::File, &contents.unrecognised);
            }
            // Decided first: a message of a broken document that fits on one line looks like a line of a line-based file.
            Some(Whole::Broken(why)) => return self.unsupported(document::name(*why), &[]),
            None => {}
        }
        let families = self.families();
        let owner = self.named.iter().find(|(_, (like, tally))| {
            // The name for a line without a message counts only among lines that look like it.
            let is_like = match families.as_slice() {
                [] => self.first.is_none(),
                families => families.iter().all(|(family, _)| family == like),
            };
            tally.messages > 0 || is_like
        });
        if let Some((name, (like, tally))) = owner {
            return Detected::Unsupported(self.named(name, *like, tally, &families));
        }
        let [(family, _)] = families.as_slice() else {
            return match (families.len(), self.first, self.stray.messages) {
                (0, Some(format), 0) => Detected::Known(format, Layout::File),
                (0, _, _) if !self.is_begun => self.unsupported("empty", &[]),
                (0, _, _) => self.unsupported("unknown", &[&self.stray.unrecognised]),
                (_, _, _) => {
                    self.mixed(families.iter().map(|(f, n)| (self.name(*f), *n)).collect())
                }
            };
        };
        match family {
            Lookalike::Of(format) => {
                let mut unrecognised = self.own[*format as usize].unrecognised.clone();
                // Bare messages count here only if other lines have an envelope; otherwise they are another family.
                unrecognised.extend(self.bare.unrecognised[*format as usize].clone());
                self.fitting(*format, Layout::File, &unrecognised)
            }
            Lookalike::Conversations => self.fitting(
                Format::OpenAi,
                Layout::Line,
                &self.conversations.unrecognised,
            ),
            Lookalike::Exchanges => {
                let unrecognised = &self.exchanges.unrecognised;
                self.fitting(Format::Anthropic, Layout::Line, unrecognised)
            }
            Lookalike::Bare => self.bare(),
            Lookalike::Nothing => self.unsupported("unknown", &[&self.stray.unrecognised]),
        }
    }

    /// The families that have messages in the file.
    fn families(&self) -> Vec<(Lookalike, u64)> {
        let mut bare = self.bare.messages;
        let own = Format::ALL.map(|format| {
            let Tally {
                mut messages,
                marks,
                ..
            } = self.own[format as usize];
            let may_be_bare = format.dialect().writes_bare_items();
            if may_be_bare && messages + marks > 0 && bare == self.bare.items {
                // Bare items of the Responses API look like any API's messages.
                messages += std::mem::take(&mut bare);
            }
            (Lookalike::Of(format), messages)
        });
        let mut conversations = self.conversations.messages;
        let mut exchanges = self.exchanges.messages;
        if exchanges > 0 && self.only_openai == 0 {
            // Text-only conversations look the same in every API.
            exchanges += std::mem::take(&mut conversations);
        }
        let others = [
            (Lookalike::Bare, bare),
            (Lookalike::Conversations, conversations),
            (Lookalike::Exchanges, exchanges),
        ];
        let mut families: Vec<_> = own.into_iter().chain(others).collect();
        families.retain(|(_, messages)| *messages > 0);
        families
    }

    fn name(&self, family: Lookalike) -> &'static str {
        match family {
            Lookalike::Of(format) => format.name(),
            Lookalike::Bare => self.bare.format().map_or("messages", Format::name),
            Lookalike::Conversations => "openai conversations",
            Lookalike::Exchanges => "anthropic conversations",
            Lookalike::Nothing => "unknown",
        }
    }

    /// A format that is recognised by name, unless the file also has lines of other formats.
    fn named(
        &self,
        name: &'static str,
        like: Lookalike,
        tally: &Tally,
        families: &[(Lookalike, u64)],
    ) -> Unsupported {
        let strangers = families.iter().filter(|(family, _)| *family != like);
        let mut joined: Vec<_> = strangers.map(|(f, n)| (self.name(*f), *n)).collect();
        let others = self.named.iter().filter(|(other, _)| **other != name);
        joined.extend(
            others
                .filter(|(_, (_, tally))| tally.messages > 0)
                .map(|(name, (_, tally))| (*name, tally.messages)),
        );
        if !joined.is_empty() {
            joined.push((name, tally.messages));
            return self.joined(joined);
        }
        let plain = match like {
            Lookalike::Of(format) => &self.own[format as usize].unrecognised,
            Lookalike::Conversations => &self.conversations.unrecognised,
            Lookalike::Exchanges => &self.exchanges.unrecognised,
            Lookalike::Bare | Lookalike::Nothing => &BTreeMap::new(),
        };
        self.because(name, &[&tally.unrecognised, plain])
    }

    /// The format of these lines, if its reader understands all of them.
    fn fitting(&self, format: Format, layout: Layout, unrecognised: &Kinds) -> Detected {
        if unrecognised.is_empty() && self.stray.unrecognised.is_empty() {
            return Detected::Known(format, layout);
        }
        Detected::Unsupported(Unsupported {
            like: Some(format.name()),
            ..self.because("unknown", &[unrecognised, &self.stray.unrecognised])
        })
    }

    /// Messages without an envelope.
    fn bare(&self) -> Detected {
        let Some(format) = self.bare.format() else {
            return self.mixed(self.bare.formats());
        };
        let own = Format::ALL.map(|format| (format.name(), self.own[format as usize].marks));
        let own = own.into_iter().filter(|(_, marks)| *marks > 0);
        let bare = (format.name(), self.bare.messages);
        let marked: Vec<_> = own.chain([bare]).collect();
        if marked.len() > 1 {
            return self.mixed(marked);
        }
        let marks: u64 = self.named.values().map(|(_, tally)| tally.marks).sum();
        let mut unrecognised = self.bare.unrecognised[format as usize].clone();
        if self.others + marks > MAX_STRAY_LINES {
            unrecognised.insert("line without a message".to_owned(), self.others + marks);
        }
        self.fitting(format, Layout::File, &unrecognised)
    }

    fn mixed(&self, joined: Vec<(&'static str, u64)>) -> Detected {
        Detected::Unsupported(self.joined(joined))
    }

    fn joined(&self, joined: Vec<(&'static str, u64)>) -> Unsupported {
        Unsupported {
            joined,
            ..self.because("mixed", &[])
        }
    }

    fn unsupported(&self, name: &'static str, unrecognised: &[&Kinds]) -> Detected {
        Detected::Unsupported(self.because(name, unrecognised))
    }

    fn because(&self, name: &'static str, unrecognised: &[&Kinds]) -> Unsupported {
        let kinds = unrecognised.iter().flat_map(|kinds| kinds.iter());
        let mut unrecognised: Vec<_> = kinds.map(|(kind, n)| (kind.clone(), *n)).collect();
        unrecognised.sort_by(|(a, n), (b, m)| m.cmp(n).then(a.cmp(b)));
        Unsupported {
            name,
            unrecognised,
            extent: if self.is_settled {
                Extent::Beginning
            } else {
                Extent::Whole
            },
            ..Unsupported::default()
        }
    }
}
