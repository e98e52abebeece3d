//! What commands consist of: words, where a shell may put something else into them, and how commands are joined.
//!
//! PURE.

/// A command: a program and its arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::facts) struct SimpleCommand {
    pub(in crate::facts) words: Vec<Word>,
    /// The files that its output goes to.
    pub(in crate::facts) outputs: Vec<Word>,
    /// The document that stands behind it, if there is one.
    pub(in crate::facts) document: Option<String>,
    /// What follows it.
    pub(in crate::facts) joint: Separator,
    /// The brackets that open before it, and those that close behind it: what is in them has a folder of its own.
    pub(in crate::facts) opens: usize,
    pub(in crate::facts) closes: usize,
}

/// How a command is joined to what follows it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(in crate::facts) enum Separator {
    /// Nothing follows, or only the end of brackets.
    #[default]
    End,
    /// The next one runs if it has ended well.
    And,
    /// The next one runs if it has not.
    Or,
    /// The next one reads its output.
    Pipe,
    /// The next one runs in any case.
    Sequence,
    /// The next one does not wait for it.
    Background,
}

/// A word of a command.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(in crate::facts) struct Word {
    pub(in crate::facts) text: String,
    pub(in crate::facts) kind: WordKind,
    /// Where a shell puts something else.
    pub(in crate::facts) gaps: Vec<ExpansionSite>,
}

/// Whether a word is what it says.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(in crate::facts) enum WordKind {
    #[default]
    Literal,
    /// A shell puts something else in its place.
    Expanded,
}

/// A place in a word where a shell puts something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::facts) struct ExpansionSite {
    /// Where in the word's text, in bytes.
    pub(in crate::facts) at: usize,
    /// What is put there.
    pub(in crate::facts) what: Missing,
}

/// What a shell puts into a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::facts) enum Missing {
    /// Names of files that fit a pattern, or several words: the sign stands in the text.
    Pattern,
    /// The value of the variable of this name.
    Variable(String),
    /// Nobody knows.
    Anything,
}

impl Missing {
    /// What the text that begins with `$` or with a backtick stands for.
    pub(super) fn of(text: &str) -> Missing {
        let rest = text.strip_prefix('$').unwrap_or_default();
        let (name, is_whole) = match rest.strip_prefix('{') {
            Some(inside) => {
                let name = name(inside);
                (name, inside[name.len()..].starts_with('}'))
            }
            None => (name(rest), true),
        };
        match is_whole && !name.is_empty() {
            true => Missing::Variable(name.to_owned()),
            false => Missing::Anything,
        }
    }
}

fn name(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

impl Word {
    /// Notes that something else is put in here.
    pub(super) fn gap(&mut self, what: Missing) {
        self.kind = WordKind::Expanded;
        self.gaps.push(ExpansionSite {
            at: self.text.len(),
            what,
        });
    }
}
