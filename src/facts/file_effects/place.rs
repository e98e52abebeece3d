//! The paths that a command refers to: one that it names, or those that match a pattern.
//!
//! PURE. A pattern over-approximates: an unknown expansion matches anything.

use std::collections::BTreeMap;

use crate::facts::path::is_relative;
use crate::facts::script::{Missing, Word};

/// The paths that a command refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::facts) enum PathSpec {
    /// This one, as written.
    At(String),
    /// Those that match, below a folder as written, or below any.
    Like {
        folder: Option<String>,
        pattern: Pattern,
    },
}

/// A pattern for paths or the folders that contain them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::facts) struct Pattern(Vec<Piece>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Char(char),
    /// Any character of a name.
    One,
    /// Any part of a name.
    Part,
    /// Any path, from here on.
    AnyPath,
    /// Anything, perhaps the path of another folder.
    Any,
}

/// What variables may hold.
pub(super) type Values = BTreeMap<String, Vec<Pattern>>;

/// Who expands a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The shell, and only outside of quotes.
    Shell,
    /// The program that receives it.
    Program,
}

/// The maximum number of alternatives of a word; with more, it may be anything.
pub(super) const MOST: usize = 64;

/// More characters than any path has.
pub(super) const LONGEST: usize = 4_096;

impl Pattern {
    /// Any path.
    pub(super) fn any() -> Pattern {
        Pattern(vec![Piece::AnyPath])
    }

    /// A pattern for exactly this path.
    pub(in crate::facts) fn path(text: &str) -> Pattern {
        Pattern(text.chars().map(Piece::Char).collect())
    }

    /// A pattern from text with wildcards.
    pub(super) fn written(text: &str, by: By) -> Pattern {
        let mut pattern = Pattern::default();
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            at += pattern.sign(&text[at..], c, by);
        }
        pattern
    }

    /// The patterns that a word may expand to.
    pub(super) fn of(word: &Word, by: By, values: &Values) -> Vec<Pattern> {
        let mut ways = vec![Pattern::default()];
        let mut gaps = word.gaps.iter().peekable();
        let text = &word.text;
        let mut at = 0;
        loop {
            let mut is_sign = by == By::Program;
            while let Some(gap) = gaps.next_if(|gap| gap.at <= at) {
                let known = match &gap.what {
                    // Inside an expansion that has already been read.
                    _ if gap.at < at => continue,
                    Missing::Pattern => {
                        is_sign = true;
                        continue;
                    }
                    Missing::Anything => None,
                    Missing::Variable(name) if name == "PWD" => Some(&[][..]),
                    Missing::Variable(name) => values.get(name).map(Vec::as_slice),
                };
                ways = match known {
                    // The current folder, which needs no name.
                    Some([]) => {
                        ways.iter_mut().for_each(|way| way.0.push(Piece::Char('.')));
                        ways
                    }
                    Some(known) if known.len() * ways.len() <= MOST => {
                        let joined = |way: &Pattern| {
                            let way = way.0.clone();
                            known
                                .iter()
                                .map(move |value| match way.len() + value.0.len() {
                                    0..=LONGEST => Pattern([&way[..], &value.0].concat()),
                                    _ => Pattern::any(),
                                })
                        };
                        ways.iter().flat_map(joined).collect()
                    }
                    Some(_) | None => {
                        ways.iter_mut().for_each(|way| way.0.push(Piece::Any));
                        ways
                    }
                };
            }
            // Nested values could double the text repeatedly.
            for way in &mut ways {
                if way.0.len() > LONGEST {
                    *way = Pattern::any();
                }
            }
            let Some(c) = text[at..].chars().next() else {
                return ways;
            };
            let mut taken = c.len_utf8();
            for way in &mut ways {
                if is_sign {
                    taken = way.sign(&text[at..], c, by);
                } else {
                    way.0.push(Piece::Char(c));
                }
            }
            at += taken;
        }
    }

    /// Adds the beginning of a text, which may be a wildcard; returns its length in bytes.
    fn sign(&mut self, text: &str, c: char, by: By) -> usize {
        let (piece, taken) = match c {
            // For git, `*` matches any path.
            '*' if by == By::Program || text.starts_with("**") => (
                Piece::AnyPath,
                text.len() - text.trim_start_matches('*').len(),
            ),
            '*' => (Piece::Part, 1),
            '?' => (Piece::One, 1),
            // No name is this long; treat it as matching anything.
            '[' | '{' if text.len() > LONGEST => (Piece::AnyPath, text.len()),
            '[' => match text.find(']') {
                Some(end) => (Piece::One, end + 1),
                None => (Piece::Char(c), 1),
            },
            '{' if by == By::Shell => match text.rfind('}') {
                Some(end) => (Piece::AnyPath, end + 1),
                None => (Piece::Char(c), 1),
            },
            c => (Piece::Char(c), c.len_utf8()),
        };
        self.0.push(piece);
        taken
    }

    /// The literal text, if the pattern has no wildcards.
    pub(super) fn text(&self) -> Option<String> {
        let chars = self.0.iter().map(|piece| match piece {
            Piece::Char(c) => Some(*c),
            Piece::One | Piece::Part | Piece::AnyPath | Piece::Any => None,
        });
        chars.collect()
    }

    /// Whether a part of it is what nobody knows.
    pub(super) fn is_unknown(&self) -> bool {
        self.0.contains(&Piece::Any)
    }

    /// This pattern below a folder.
    pub(super) fn below(&self, folder: &Pattern) -> Pattern {
        Pattern([&folder.0[..], &[Piece::Char('/')], &self.0].concat())
    }

    /// Whether a path, or a folder that contains it, matches.
    pub(in crate::facts) fn fits(&self, path: &str) -> bool {
        let pieces = &self.0;
        // The pieces that may come next.
        let mut next = vec![false; pieces.len() + 1];
        let mut then = next.clone();
        next[0] = true;
        self.skip(&mut next);
        for c in path.chars() {
            if c == '/' && next[pieces.len()] {
                return true;
            }
            then.fill(false);
            for (at, piece) in pieces.iter().enumerate().filter(|(at, _)| next[*at]) {
                match piece {
                    Piece::Char(own) => then[at + 1] |= *own == c,
                    Piece::One => then[at + 1] |= c != '/',
                    Piece::Part => then[at] |= c != '/',
                    Piece::AnyPath | Piece::Any => then[at] = true,
                }
            }
            self.skip(&mut then);
            if !then.contains(&true) {
                return false;
            }
            std::mem::swap(&mut next, &mut then);
        }
        next[pieces.len()]
    }

    /// Pieces that may match nothing can be skipped.
    fn skip(&self, next: &mut [bool]) {
        for (at, piece) in self.0.iter().enumerate() {
            if next[at] && matches!(piece, Piece::Part | Piece::AnyPath | Piece::Any) {
                next[at + 1] = true;
            }
        }
    }

    /// The paths that the pattern refers to in this folder; `None` if the pattern is too unspecific.
    pub(super) fn place(&self, folder: Option<&str>) -> Option<PathSpec> {
        /// The minimum number of letters and digits in a useful pattern.
        const FEWEST: usize = 3;
        if let Some(text) = self.text() {
            if text.is_empty() {
                // No command treats an empty path as the current folder.
                return None;
            }
            return match folder {
                _ if is_rooted(&text) => Some(PathSpec::At(text)),
                Some(folder) => Some(PathSpec::At(below(folder, &text))),
                None => Some(PathSpec::Like {
                    folder: None,
                    pattern: self.below(&Pattern::any()),
                }),
            };
        }
        let wild = self.0.iter().position(|p| !matches!(p, Piece::Char(_)))?;
        let before = self.0[..wild].iter();
        let start = before.clone().rposition(|p| *p == Piece::Char('/'));
        if let Some(end) = start {
            let path: String = Pattern(self.0[..end].to_vec()).text()?;
            let path = if path.is_empty() { "/" } else { &path[..] };
            let pattern = Pattern(self.0[end + 1..].to_vec());
            return Some(match folder {
                _ if is_rooted(path) => PathSpec::Like {
                    folder: Some(path.to_owned()),
                    pattern,
                },
                Some(folder) => PathSpec::Like {
                    folder: Some(below(folder, path)),
                    pattern,
                },
                None => PathSpec::Like {
                    folder: None,
                    pattern: self.below(&Pattern::any()),
                },
            });
        }
        // It may begin with another folder.
        let folder = folder.filter(|_| self.0.first() != Some(&Piece::Any));
        let telling = self.0.iter();
        let telling = telling.filter(|p| matches!(p, Piece::Char(c) if c.is_alphanumeric()));
        if folder.is_none() && telling.count() < FEWEST {
            return None;
        }
        Some(PathSpec::Like {
            folder: folder.map(str::to_owned),
            pattern: match folder {
                Some(_) => self.clone(),
                None => self.below(&Pattern::any()),
            },
        })
    }
}

/// Whether a path does not depend on the folder that a command runs in.
pub(super) fn is_rooted(path: &str) -> bool {
    !is_relative(path)
}

/// A path below a folder.
pub(super) fn below(folder: &str, path: &str) -> String {
    match folder.is_empty() || is_rooted(path) {
        true => path.to_owned(),
        false => format!("{}/{path}", folder.trim_end_matches('/')),
    }
}
