//! The tokens of JavaScript, as far as calls with literal arguments need them.
//!
//! PURE. Tolerant: code that is not JavaScript, or is cut off, gives some tokens and then none. Comments are skipped.

use std::rc::Rc;

use memchr::memchr3;

/// The maximum depth of templates nested in the values of templates.
const DEEPEST: u32 = 8;

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'c> {
    /// A name or a keyword.
    Name(&'c str),
    /// A number as written.
    Number(&'c str),
    /// The value of a quoted string.
    Text(Rc<str>),
    /// A template.
    Template(Rc<Template<'c>>),
    /// A regular expression.
    Pattern,
    /// One character of an operator or a bracket.
    Punct(u8),
}

/// A template, in parts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Template<'c> {
    /// Each `${…}`, as written without blanks around it, with the text before it.
    pub(super) values: Vec<(String, String)>,
    /// The text after the last of them.
    pub(super) end: String,
    /// The whole template as written.
    pub(super) raw: &'c str,
}

impl Token<'_> {
    /// Whether a statement can begin with the token and an expression cannot continue with it.
    pub(super) fn begins_a_statement(&self) -> bool {
        match self {
            Token::Name(name) => !matches!(*name, "in" | "instanceof" | "as"),
            Token::Number(_) | Token::Text(_) | Token::Pattern => true,
            Token::Template(_) | Token::Punct(_) => false,
        }
    }
}

/// The tokens that come next. Copies share the list, so that looking ahead costs nothing.
#[derive(Debug, Clone)]
pub(super) struct Tokens<'c> {
    /// All tokens, and what comes after the last of them.
    all: Rc<Vec<Placed<'c>>>,
    /// The index of the next one.
    next: usize,
    /// The rest of the code that could not be split into tokens.
    unread: &'c str,
}

/// A token and its place; no token at the end of the code.
#[derive(Debug, Clone)]
struct Placed<'c> {
    token: Option<Token<'c>>,
    /// Where it begins.
    at: usize,
    line: Line,
}

/// Whether a token is on the same line as the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Same,
    New,
}

impl<'c> Tokens<'c> {
    pub(super) fn of(code: &'c str) -> Self {
        let mut splitter = Splitter::new(code, DEEPEST);
        let mut all = Vec::new();
        loop {
            let placed = splitter.next();
            let is_last = placed.token.is_none();
            all.push(placed);
            if is_last {
                break;
            }
        }
        Tokens {
            all: all.into(),
            next: 0,
            unread: splitter.unread,
        }
    }

    /// The next token.
    pub(super) fn peek(&self) -> Option<Token<'c>> {
        self.all[self.next].token.clone()
    }

    /// Where the next token begins.
    pub(super) fn position(&self) -> usize {
        self.all[self.next].at
    }

    /// The code that could not be read as tokens.
    pub(super) fn unread(&self) -> &'c str {
        self.unread
    }

    /// Whether a line ends before the next token.
    pub(super) fn is_on_new_line(&self) -> bool {
        self.all[self.next].line == Line::New
    }

    /// Takes the next token.
    pub(super) fn next(&mut self) -> Option<Token<'c>> {
        let token = self.peek()?;
        self.next += 1;
        Some(token)
    }

    /// Takes the next token and, if it opens a bracket, everything up to the closing one.
    pub(super) fn skip_one(&mut self) {
        let mut open = 0u32;
        while let Some(token) = self.next() {
            match token {
                Token::Punct(b'(' | b'[' | b'{') => open += 1,
                Token::Punct(b')' | b']' | b'}') => open = open.saturating_sub(1),
                _ => {}
            }
            if open == 0 {
                return;
            }
        }
    }
}

/// Splits code into tokens, one after the other.
struct Splitter<'c> {
    code: &'c str,
    /// Where the search for the next token begins.
    at: usize,
    before: Before,
    /// How many more levels of templates may be nested.
    nesting: u32,
    /// The rest of the code that could not be split.
    unread: &'c str,
}

impl<'c> Splitter<'c> {
    /// For code in which templates may be nested this deep.
    fn new(code: &'c str, nesting: u32) -> Self {
        Splitter {
            code,
            at: 0,
            before: Before::Operator,
            nesting,
            unread: "",
        }
    }

    fn next(&mut self) -> Placed<'c> {
        let (rest, line) = self.blanks();
        let at = self.code.len() - rest.len();
        let (token, length) = match self.token(rest) {
            Some((token, length)) => (Some(token), length),
            None => (None, rest.len()),
        };
        if token.is_none() {
            // Cut off within a string, or unreadable.
            self.unread = rest;
        }
        self.before = Before::following(token.as_ref());
        self.at = at + length;
        Placed { token, at, line }
    }

    /// The token at the start of `rest`, with its length.
    fn token(&self, rest: &'c str) -> Option<(Token<'c>, usize)> {
        match rest.chars().next()? {
            '"' | '\'' => quoted(rest),
            '`' => template(rest, self.nesting),
            '/' if self.before == Before::Operator => pattern(rest),
            c if is_of_name(c) => {
                let end = end_of_name(rest);
                match c.is_ascii_digit() {
                    true => {
                        let is_of_number = |c: char| is_of_name(c) || c == '.';
                        let end = rest.find(|c| !is_of_number(c)).unwrap_or(rest.len());
                        Some((Token::Number(&rest[..end]), end))
                    }
                    false => Some((Token::Name(&rest[..end]), end)),
                }
            }
            c => Some((Token::Punct(u8::try_from(c).unwrap_or(b'?')), c.len_utf8())),
        }
    }

    /// The code after blanks and comments, and whether it is on a new line.
    fn blanks(&self) -> (&'c str, Line) {
        let mut is_on_new_line = Line::Same;
        let mut rest = &self.code[self.at..];
        loop {
            let blank = rest.len() - rest.trim_start().len();
            let comment = match &rest[blank..] {
                line if line.starts_with("//") => line.find('\n').unwrap_or(line.len()),
                block if block.starts_with("/*") => {
                    block.find("*/").map_or(block.len(), |end| end + 2)
                }
                _ => 0,
            };
            if rest[..blank + comment].contains('\n') {
                is_on_new_line = Line::New;
            }
            rest = &rest[blank + comment..];
            if comment == 0 {
                return (rest, is_on_new_line);
            }
        }
    }
}

/// What comes before a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Value,
    Operator,
}

impl Before {
    /// What a token is for the one after it: after a value, `/` divides; elsewhere it begins a regular expression.
    fn following(token: Option<&Token<'_>>) -> Self {
        match token {
            Some(Token::Name("return" | "typeof" | "case" | "in" | "of" | "await")) => {
                Before::Operator
            }
            Some(Token::Punct(b')' | b']' | b'}')) => Before::Value,
            Some(Token::Punct(_)) | None => Before::Operator,
            Some(
                Token::Name(_)
                | Token::Number(_)
                | Token::Text(_)
                | Token::Template(_)
                | Token::Pattern,
            ) => Before::Value,
        }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// The length of the name at the start of some code.
fn end_of_name(code: &str) -> usize {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    let plain = code.bytes().take_while(is_plain).count();
    match code.as_bytes().get(plain) {
        Some(128..) => code.find(|c| !is_of_name(c)).unwrap_or(code.len()),
        Some(_) | None => plain,
    }
}

/// A quoted string, with its length; `None` if it does not end on its line.
fn quoted(code: &str) -> Option<(Token<'_>, usize)> {
    let quote = *code.as_bytes().first()?;
    let mut text = String::new();
    let mut at = 1;
    loop {
        let plain = memchr3(quote, b'\\', b'\n', &code.as_bytes()[at..])?;
        text.push_str(&code[at..at + plain]);
        at += plain;
        match code.as_bytes()[at] {
            b'\n' => return None,
            b'\\' => at += escape(&code[at..], &mut text)?,
            _ => return Some((Token::Text(text.into()), at + 1)),
        }
    }
}

/// A template, with its length; `None` if it does not end.
fn template(code: &str, nesting: u32) -> Option<(Token<'_>, usize)> {
    let mut values = Vec::new();
    let mut text = String::new();
    let mut at = 1;
    loop {
        let plain = memchr3(b'`', b'\\', b'$', &code.as_bytes()[at..])?;
        text.push_str(&code[at..at + plain]);
        at += plain;
        match code.as_bytes()[at] {
            b'\\' => at += escape(&code[at..], &mut text)?,
            b'$' if code[at + 1..].starts_with('{') => {
                let value = inside_braces(&code[at + 2..], nesting.checked_sub(1)?)?;
                values.push((std::mem::take(&mut text), value.trim().to_owned()));
                at += 2 + value.len() + 1;
            }
            b'$' => {
                text.push('$');
                at += 1;
            }
            _ => {
                let template = Template {
                    values,
                    end: text,
                    raw: &code[1..at],
                };
                return Some((Token::Template(template.into()), at + 1));
            }
        }
    }
}

/// The text before the `}` that closes a template value.
fn inside_braces(code: &str, nesting: u32) -> Option<&str> {
    let mut splitter = Splitter::new(code, nesting);
    let mut open = 0u32;
    loop {
        let placed = splitter.next();
        match placed.token? {
            Token::Punct(b'{') => open += 1,
            Token::Punct(b'}') if open == 0 => return Some(&code[..placed.at]),
            Token::Punct(b'}') => open -= 1,
            Token::Punct(_)
            | Token::Name(_)
            | Token::Number(_)
            | Token::Text(_)
            | Token::Template(_)
            | Token::Pattern => {}
        }
    }
}

/// Appends the character that the escape at the start of `code` stands for to `text`; returns the length of the escape in bytes.
/// `None` if it is cut off or names no character.
fn escape(code: &str, text: &mut String) -> Option<usize> {
    let escaped = code[1..].chars().next()?;
    let hex = |from: usize, to: usize| u32::from_str_radix(code.get(from..to)?, 16).ok();
    let (value, length) = match escaped {
        'n' => ('\n', 2),
        't' => ('\t', 2),
        'r' => ('\r', 2),
        'b' => ('\u{8}', 2),
        'f' => ('\u{c}', 2),
        'v' => ('\u{b}', 2),
        '0' => ('\0', 2),
        'x' => (char::from_u32(hex(2, 4)?)?, 4),
        'u' if code[2..].starts_with('{') => {
            let end = code.find('}')?;
            (char::from_u32(hex(3, end)?)?, end + 1)
        }
        'u' => match hex(2, 6)? {
            // A high surrogate: the low one is a second escape.
            high @ 0xD800..=0xDBFF if code.get(6..8) == Some("\\u") => {
                let low = hex(8, 12)?.checked_sub(0xDC00)?;
                let pair = 0x10000 + ((high - 0xD800) << 10) + low;
                (char::from_u32(pair)?, 12)
            }
            unit => (char::from_u32(unit)?, 6),
        },
        // A line continuation.
        '\n' => return Some(2),
        other => (other, 1 + other.len_utf8()),
    };
    text.push(value);
    Some(length)
}

/// A regular expression, with its length; `None` if it does not end on its line.
fn pattern(code: &str) -> Option<(Token<'_>, usize)> {
    let mut is_in_class = false;
    let mut chars = code.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\n' => return None,
            '\\' => {
                chars.next();
            }
            '[' => is_in_class = true,
            ']' => is_in_class = false,
            '/' if !is_in_class => {
                let flags = code[at + 1..].find(|c| !is_of_name(c));
                let end = flags.map_or(code.len(), |flags| at + 1 + flags);
                return Some((Token::Pattern, end));
            }
            _ => {}
        }
    }
    None
}
