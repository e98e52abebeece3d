//! Splits a shell script into the plain commands that it runs.
//!
//! PURE. Finds the words of each command, where its output goes, and its here-document. Expands nothing: a word that a shell would
//! expand is marked. If a text cannot be parsed, it reports that and does not guess.

mod args;
mod call;
mod effects;
mod inline;
mod parts;
mod programs;
mod rule;
mod services;
mod special;
mod streams;
mod tools;
mod words;
mod wrappers;

pub(super) use call::Effects;
pub(super) use effects::{effects, may_make};
pub(super) use parts::{ExpansionSite, Missing, Separator, SimpleCommand, Word, WordKind};
pub(super) use wrappers::{Unwrapped, assigned, strip};

/// The maximum nesting depth of commands.
const DEEPEST: usize = 8;

/// The commands of a script, including nested ones; `None` if it cannot be parsed.
pub(super) fn commands(text: &str) -> Option<Vec<SimpleCommand>> {
    let mut found = Vec::new();
    Reader::new(text, 0, Until::End).all(&mut found)?;
    Some(found)
}

/// A position in a text.
struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    until: Until,
    /// The number of open brackets, and of those opened since the last command.
    open: usize,
    opened: usize,
    command: SimpleCommand,
    word: Option<Word>,
    /// What the next word is.
    next: Next,
    /// The here-documents that begin on the next line.
    documents: Vec<Document>,
}

/// Where a list of commands ends.
#[derive(PartialEq, Eq)]
enum Until {
    End,
    /// At the bracket that closes it.
    Bracket,
}

enum Next {
    Word,
    Output,
    Input,
    Document { tabs: Tabs },
}

enum Tabs {
    Stay,
    Go,
}

/// A here-document whose body follows.
struct Document {
    end: String,
    tabs: Tabs,
    kind: WordKind,
    /// The index of its command, if the line has already ended that command.
    of: Option<usize>,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, depth: usize, until: Until) -> Self {
        Reader {
            text,
            at: 0,
            depth,
            until,
            open: 0,
            opened: 0,
            command: SimpleCommand::default(),
            word: None,
            next: Next::Word,
            documents: Vec::new(),
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Reads to the end; returns the end position.
    fn all(mut self, found: &mut Vec<SimpleCommand>) -> Option<usize> {
        if self.depth > DEEPEST {
            return None;
        }
        while let Some(c) = self.rest().chars().next() {
            let after = &self.rest()[c.len_utf8()..];
            match c {
                ' ' | '\t' | '\r' => self.end_word()?,
                '\\' => self.escaped(after),
                '\'' => {
                    let end = after.find('\'')?;
                    self.word().text.push_str(&after[..end]);
                    self.at += end + 1;
                }
                '"' => {
                    self.at += 1;
                    self.quoted(found)?;
                    continue;
                }
                '$' | '`' => {
                    self.expansion(found)?;
                    continue;
                }
                // The program `[`.
                '[' if self.word.as_ref().is_none_or(|word| word.text == "[")
                    && after.starts_with([' ', '[']) =>
                {
                    self.word().text.push(c);
                }
                '*' | '?' | '[' => {
                    let word = self.word();
                    word.gap(Missing::Pattern);
                    word.text.push(c);
                }
                '{' if self.word.is_some() || after.starts_with(|c: char| !c.is_whitespace()) => {
                    let word = self.word();
                    word.gap(Missing::Pattern);
                    word.text.push(c);
                }
                '#' if self.word.is_none() => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                    continue;
                }
                '<' => {
                    self.end_word()?;
                    self.input(found)?;
                    continue;
                }
                '>' => {
                    self.output(found)?;
                    continue;
                }
                '&' if after.starts_with('>') => {
                    self.end_word()?;
                    self.at += 1;
                    self.output(found)?;
                    continue;
                }
                '\n' => {
                    self.end_command(found, Separator::Sequence)?;
                    self.at += 1;
                    self.bodies(found)?;
                    continue;
                }
                ';' | '&' | '|' => self.separator(c, after, found)?,
                '(' => {
                    // A function or an array.
                    if self.word.is_some() {
                        return None;
                    }
                    self.end_command(found, Separator::Sequence)?;
                    if after.starts_with('(') {
                        return None;
                    }
                    self.open += 1;
                    self.opened += 1;
                }
                ')' => {
                    self.end_command(found, Separator::End)?;
                    match self.open.checked_sub(1) {
                        Some(left) => {
                            self.open = left;
                            self.closed(found);
                        }
                        None if self.until == Until::Bracket && self.documents.is_empty() => {
                            return Some(self.at);
                        }
                        None => return None,
                    }
                }
                c => self.word().text.push(c),
            }
            self.at += c.len_utf8();
        }
        self.end_command(found, Separator::End)?;
        let is_whole = self.documents.is_empty() && self.open == 0 && self.until == Until::End;
        is_whole.then_some(self.at)
    }

    /// Reads the character behind a backslash.
    fn escaped(&mut self, after: &str) {
        let escaped = after.chars().next();
        self.at += escaped.map_or(0, char::len_utf8);
        if let Some(escaped) = escaped.filter(|c| *c != '\n') {
            let word = self.word();
            // An escaped letter is part of a Windows path; without the backslash it would name a different file.
            if escaped.is_alphanumeric() {
                word.gap(Missing::Anything);
            }
            word.text.push(escaped);
        }
    }

    /// Ends a command at an operator that begins with `c`; a second character of it is read, too.
    fn separator(&mut self, c: char, after: &str, found: &mut Vec<SimpleCommand>) -> Option<()> {
        let joint = match (c, after.starts_with(c)) {
            (';', _) => Separator::Sequence,
            ('&', true) => Separator::And,
            ('&', false) => Separator::Background,
            (_, true) => Separator::Or,
            (_, false) => Separator::Pipe,
        };
        self.end_command(found, joint)?;
        if after.starts_with(c) || joint == Separator::Pipe && after.starts_with('&') {
            self.at += 1;
        }
        Some(())
    }

    /// Reads the bracketed commands that begin here and moves past them.
    fn nested(&mut self, opening: &str, found: &mut Vec<SimpleCommand>) -> Option<()> {
        let inside = self.rest().strip_prefix(opening)?;
        let first = found.len();
        let end = Reader::new(inside, self.depth + 1, Until::Bracket).all(found)?;
        apart(&mut found[first..]);
        self.at += opening.len() + end + 1;
        Some(())
    }

    /// Closes a bracket that was opened in this text.
    fn closed(&mut self, found: &mut [SimpleCommand]) {
        match (self.opened.checked_sub(1), found.last_mut()) {
            // With nothing inside.
            (Some(left), _) => self.opened = left,
            (None, Some(last)) => last.closes += 1,
            (None, None) => {}
        }
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn end_word(&mut self) -> Option<()> {
        let Some(word) = self.word.take() else {
            return Some(());
        };
        match std::mem::replace(&mut self.next, Next::Word) {
            Next::Word => self.command.words.push(word),
            Next::Output => self.command.outputs.push(word),
            Next::Input => {}
            Next::Document { tabs } => {
                let is_quoted = self.text[..self.at].ends_with(['\'', '"']);
                self.documents.push(Document {
                    end: word.text,
                    tabs,
                    kind: match is_quoted {
                        true => WordKind::Literal,
                        false => WordKind::Expanded,
                    },
                    of: None,
                });
            }
        }
        Some(())
    }

    fn end_command(&mut self, found: &mut Vec<SimpleCommand>, joint: Separator) -> Option<()> {
        self.end_word()?;
        if !matches!(self.next, Next::Word) {
            return None;
        }
        let mut command = std::mem::take(&mut self.command);
        let is_any = !command.words.is_empty() || !command.outputs.is_empty();
        // The last ones belong to this command; earlier ones to others.
        let documents = self.documents.iter_mut().rev();
        for document in documents.take_while(|document| document.of.is_none()) {
            document.of = Some(found.len());
        }
        let last = self.documents.last();
        if is_any || last.is_some_and(|last| last.of == Some(found.len())) {
            command.joint = joint;
            command.opens = std::mem::take(&mut self.opened);
            found.push(command);
        } else if let Some(before) = found
            .last_mut()
            .filter(|before| before.joint == Separator::End)
        {
            // After brackets.
            before.joint = joint;
        }
        Some(())
    }

    /// Reads text in double quotes, after the opening one.
    fn quoted(&mut self, found: &mut Vec<SimpleCommand>) -> Option<()> {
        self.word();
        loop {
            let c = self.rest().chars().next()?;
            match c {
                '"' => {
                    self.at += 1;
                    return Some(());
                }
                '$' | '`' => {
                    self.expansion(found)?;
                    continue;
                }
                '\\' => {
                    let escaped = self.rest()[1..].chars().next()?;
                    self.at += 1 + escaped.len_utf8();
                    match escaped {
                        '$' | '`' | '"' | '\\' => self.word().text.push(escaped),
                        '\n' => {}
                        // Before any other character, the backslash stays.
                        _ => self.word().text.extend(['\\', escaped]),
                    }
                    continue;
                }
                c => self.word().text.push(c),
            }
            self.at += c.len_utf8();
        }
    }

    /// Reads an expansion: a variable, or the output of commands, which are added to `found`.
    fn expansion(&mut self, found: &mut Vec<SimpleCommand>) -> Option<()> {
        let rest = self.rest();
        self.word().gap(Missing::of(rest));
        if let Some(inside) = rest.strip_prefix('`') {
            let end = inside.find('`')?;
            let first = found.len();
            Reader::new(&inside[..end], self.depth + 1, Until::End).all(found)?;
            apart(&mut found[first..]);
            self.at += end + 2;
            return Some(());
        }
        if let Some(sum) = rest.strip_prefix("$((") {
            let end = sum
                .find("))")
                .filter(|end| !sum[..*end].contains("$(") && !sum[..*end].contains('`'))?;
            self.at += end + 5;
            return Some(());
        }
        if rest.starts_with("$(") {
            return self.nested("$(", found);
        }
        if rest.starts_with("${") {
            let mut open = 0_usize;
            let end = rest.char_indices().find_map(|(at, c)| {
                match c {
                    '{' => open += 1,
                    '}' => open -= 1,
                    _ => {}
                }
                (at > 1 && open == 0).then_some(at)
            })?;
            // It may contain commands.
            if rest[2..end].contains("$(") || rest[2..end].contains(['`', '\'']) {
                return None;
            }
            self.at += end + 1;
            return Some(());
        }
        let name = rest[1..]
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len() - 1);
        // A special parameter, or a plain dollar sign.
        let name = name.max(usize::from(
            rest[1..].starts_with(['?', '!', '#', '@', '*', '$']),
        ));
        self.at += 1 + name;
        Some(())
    }

    /// Reads where the input of a command comes from.
    fn input(&mut self, found: &mut Vec<SimpleCommand>) -> Option<()> {
        let rest = self.rest();
        self.next = if rest.starts_with("<<<") {
            self.at += 3;
            Next::Input
        } else if rest.starts_with("<<-") {
            self.at += 3;
            Next::Document { tabs: Tabs::Go }
        } else if rest.starts_with("<<") {
            self.at += 2;
            Next::Document { tabs: Tabs::Stay }
        } else if rest.starts_with("<(") {
            return self.nested("<(", found);
        } else {
            self.at += 1;
            Next::Input
        };
        self.skip_blanks();
        Some(())
    }

    /// Reads where the output of a command goes.
    fn output(&mut self, found: &mut Vec<SimpleCommand>) -> Option<()> {
        // A number before it is the file descriptor.
        let _ = self
            .word
            .take_if(|word| word.text.bytes().all(|b| b.is_ascii_digit()));
        self.end_word()?;
        let rest = self.rest();
        if rest.starts_with(">(") {
            return self.nested(">(", found);
        }
        if let Some(other) = rest.strip_prefix(">&") {
            let number = other.find(|c: char| !c.is_ascii_digit() && c != '-');
            match number.unwrap_or(other.len()) {
                0 => self.at += 2,
                digits => {
                    self.at += 2 + digits;
                    return Some(());
                }
            }
        } else {
            self.at += 1 + usize::from(rest[1..].starts_with(['>', '|']));
        }
        self.next = Next::Output;
        self.skip_blanks();
        Some(())
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
    }

    /// Reads the here-documents that begin here.
    fn bodies(&mut self, found: &mut [SimpleCommand]) -> Option<()> {
        for document in std::mem::take(&mut self.documents) {
            let mut body = String::new();
            loop {
                let rest = self.rest();
                if rest.is_empty() {
                    return None;
                }
                let line = rest.split('\n').next().unwrap_or_default();
                self.at += line.len();
                self.at += usize::from(self.rest().starts_with('\n'));
                let line = match document.tabs {
                    Tabs::Go => line.trim_start_matches('\t'),
                    Tabs::Stay => line,
                };
                if line == document.end {
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            // Commands in it are run as well.
            if document.kind == WordKind::Expanded && (body.contains("$(") || body.contains('`')) {
                return None;
            }
            if let Some(command) = document.of.and_then(|of| found.get_mut(of)) {
                command.document = Some(body);
            }
        }
        Some(())
    }
}

/// Marks commands whose status is not that of the enclosing command and which run in a folder of their own.
fn apart(commands: &mut [SimpleCommand]) {
    if let Some(last) = commands.last_mut() {
        last.closes += 1;
        last.joint = Separator::Sequence;
    }
    if let Some(first) = commands.first_mut() {
        first.opens += 1;
    }
}

#[cfg(test)]
mod tests;
