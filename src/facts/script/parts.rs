//! The parts of commands: words, their shell expansions, and the separators that join commands.
//!
//! PURE.

/// A command: a program and its arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::facts) struct SimpleCommand {
    pub(in crate::facts) words: Vec<Word>,
    /// The files that its output goes to.
    pub(in crate::facts) outputs: Vec<Word>,
    /// Its here-document, if any.
    pub(in crate::facts) document: Option<String>,
    /// How it is joined to what follows.
    pub(in crate::facts) joint: Separator,
    /// The number of brackets that open before it and close after it: their contents have a folder of their own.
    pub(in crate::facts) opens: usize,
    pub(in crate::facts) closes: usize,
}

/// How a command is joined to what follows it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(in crate::facts) enum Separator {
    /// Nothing follows, or only the end of brackets.
    #[default]
    End,
    /// The next one runs if this one succeeded.
    And,
    /// The next one runs if this one failed.
    Or,
    /// The next one reads this one's output.
    Pipe,
    /// The next one runs in any case.
    Sequence,
    /// The next one does not wait for this one.
    Background,
}

/// A word of a command.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(in crate::facts) struct Word {
    pub(in crate::facts) text: String,
    pub(in crate::facts) kind: WordKind,
    /// Where a shell expands something.
    pub(in crate::facts) gaps: Vec<ExpansionSite>,
}

/// Whether a word is literal.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(in crate::facts) enum WordKind {
    #[default]
    Literal,
    /// A shell expands it.
    Expanded,
}

/// A place in a word where a shell expands something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::facts) struct ExpansionSite {
    /// The offset in the word's text, in bytes.
    pub(in crate::facts) at: usize,
    /// What is expanded there.
    pub(in crate::facts) what: Missing,
}

/// What a shell expansion yields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::facts) enum Missing {
    /// File names that match a pattern, or several words: the text keeps the wildcard.
    Pattern,
    /// The value of the variable of this name.
    Variable(String),
    /// Unknown.
    Anything,
}

impl Missing {
    /// The expansion that begins with `$` or a backtick.
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
    /// Records an expansion at the end of the text.
    pub(super) fn gap(&mut self, what: Missing) {
        self.kind = WordKind::Expanded;
        self.gaps.push(ExpansionSite {
            at: self.text.len(),
            what,
        });
    }
}
