//! What a cell prints: each `text(…)` is a block of its result.
//!
//! PURE.

use super::token::{Template, Token, Tokens};

/// One `text(…)`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Print {
    /// The result of a call, or one of its keys.
    Of {
        /// Which.
        what: Source,
        /// How it is printed.
        how: How,
    },
    /// Anything else.
    Other,
}

/// Which result is printed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// The result assigned to this constant.
    Constant(String),
    /// The result of the call with this index in the cell.
    Call(usize),
}

/// How a result is printed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum How {
    /// As it is: a text, or an object as JSON.
    Whole,
    /// As JSON.
    Json,
    /// One key of it, between two texts.
    Key {
        before: String,
        key: String,
        after: String,
    },
}

impl Print {
    fn of(variable: &str, how: How) -> Self {
        Print::Of {
            what: Source::Constant(variable.to_owned()),
            how,
        }
    }

    /// Reads the argument of `text(`, which comes next, without taking it.
    pub(super) fn read(tokens: &Tokens<'_>) -> Print {
        let mut tokens = tokens.clone();
        argument(&mut tokens)
            .filter(|_| tokens.peek() == Some(Token::Punct(b')')))
            .unwrap_or(Print::Other)
    }
}

fn argument(tokens: &mut Tokens<'_>) -> Option<Print> {
    match tokens.next()? {
        Token::Name("JSON") => {
            for expected in [
                Token::Punct(b'.'),
                Token::Name("stringify"),
                Token::Punct(b'('),
            ] {
                if tokens.next()? != expected {
                    return None;
                }
            }
            let variable = match tokens.next()? {
                Token::Name(variable) => variable,
                Token::Punct(b'{') => keys_of(tokens)?,
                Token::Number(_)
                | Token::Text(_)
                | Token::Template(_)
                | Token::Pattern
                | Token::Punct(_) => return None,
            };
            let print = Print::of(variable, How::Json);
            // Formatting arguments.
            while tokens.peek()? != Token::Punct(b')') {
                match tokens.next()? {
                    Token::Punct(b',') | Token::Name("null") | Token::Number(_) => {}
                    Token::Punct(_)
                    | Token::Name(_)
                    | Token::Text(_)
                    | Token::Template(_)
                    | Token::Pattern => return None,
                }
            }
            tokens.next();
            Some(print)
        }
        Token::Name(variable) => match tokens.peek()? {
            Token::Punct(b'.') => key_of(variable, String::new(), tokens),
            _ => Some(Print::of(variable, How::Whole)),
        },
        // A label before it: `"STATUS\n" + r.output`.
        Token::Text(before) => match (tokens.next()?, tokens.next()?) {
            (Token::Punct(b'+'), Token::Name(variable)) => {
                key_of(variable, before.to_string(), tokens)
            }
            _ => None,
        },
        Token::Template(template) => in_template(&template),
        Token::Number(_) | Token::Pattern | Token::Punct(_) => None,
    }
}

/// The constant whose keys an object repeats under the same names: `{output: r.output, exit_code: r.exit_code}`, after the opening
/// bracket.
fn keys_of<'c>(tokens: &mut Tokens<'c>) -> Option<&'c str> {
    let mut of = None;
    loop {
        let key = match tokens.next()? {
            Token::Name(key) => key.to_owned(),
            Token::Text(key) => key.to_string(),
            Token::Punct(b'}') => return of,
            Token::Number(_) | Token::Template(_) | Token::Pattern | Token::Punct(_) => {
                return None;
            }
        };
        let (Token::Punct(b':'), Token::Name(variable)) = (tokens.next()?, tokens.next()?) else {
            return None;
        };
        let (Token::Punct(b'.'), Token::Name(repeated)) = (tokens.next()?, tokens.next()?) else {
            return None;
        };
        if repeated != key || of.is_some_and(|of| of != variable) {
            return None;
        }
        of = Some(variable);
        if tokens.peek()? == Token::Punct(b',') {
            tokens.next();
        }
    }
}

/// `.output` of a result, with a text before it and perhaps one after it.
fn key_of(variable: &str, before: String, tokens: &mut Tokens<'_>) -> Option<Print> {
    if tokens.next()? != Token::Punct(b'.') {
        return None;
    }
    let Token::Name(key) = tokens.next()? else {
        return None;
    };
    let after = match tokens.peek()? {
        Token::Punct(b'+') => {
            tokens.next();
            match tokens.next()? {
                Token::Text(after) => after.to_string(),
                Token::Name(_)
                | Token::Number(_)
                | Token::Template(_)
                | Token::Pattern
                | Token::Punct(_) => return None,
            }
        }
        Token::Name(_)
        | Token::Text(_)
        | Token::Number(_)
        | Token::Template(_)
        | Token::Pattern
        | Token::Punct(_) => String::new(),
    };
    let how = How::Key {
        before,
        key: key.to_owned(),
        after,
    };
    Some(Print::of(variable, how))
}

/// A template with one value that is a key of a result: `exit=${r.exit_code}`.
fn in_template(template: &Template<'_>) -> Option<Print> {
    let [(before, value)] = &template.values[..] else {
        return None;
    };
    let (variable, key) = value.split_once('.')?;
    let is_name = |text: &str| text.chars().all(|c| c.is_alphanumeric() || c == '_');
    (is_name(variable) && is_name(key)).then(|| {
        let how = How::Key {
            before: before.clone(),
            key: key.to_owned(),
            after: template.end.clone(),
        };
        Print::of(variable, how)
    })
}
