//! Code that runs once for each value of a known list: `for (const x of list) …` and `Promise.all(list.map(x => …))`.
//!
//! PURE. Finds the loop body and the bindings of each iteration; the reader then reads the body once per iteration. Never guesses:
//! if anything in the body may end a round or the cell, the rounds are unknown.

use serde_json::Value;

use super::literal::{Constants, operand, size, value};
use super::token::{Token, Tokens};

/// The maximum length of a list whose rounds are read.
const LONGEST: usize = 64;

/// Code that runs once for each value of a list.
pub(super) struct Each<'c> {
    /// The kind of code.
    pub(super) code: Code,
    /// Where it begins.
    pub(super) begin: Tokens<'c>,
    /// Where it ends.
    pub(super) end: usize,
    /// The tokens after it and after the calls that have it as an argument.
    pub(super) after: Tokens<'c>,
    /// The values of its names, in each round.
    pub(super) rounds: Vec<Vec<(String, Option<Value>)>>,
}

/// What runs in each round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    /// A loop's statement.
    Statement,
    /// A function's expression.
    Expression,
    /// A function's block.
    Block,
}

/// What a name means in a round.
enum Part {
    /// The value.
    Whole,
    /// An item of the value, which is a list.
    Item(usize),
    /// The value under a key of the value, which is an object.
    Key(String),
    /// The number of the round.
    Number,
}

impl<'c> Each<'c> {
    /// A loop, if `(const x of list)` comes next.
    pub(super) fn of_loop(tokens: &Tokens<'c>, known: &mut Constants) -> Option<Self> {
        let mut tokens = tokens.clone();
        take(&mut tokens, &Token::Punct(b'('))?;
        let (Token::Name("const") | Token::Name("let")) = tokens.next()? else {
            return None;
        };
        let names = pattern(&mut tokens)?;
        take(&mut tokens, &Token::Name("of"))?;
        let list = value(&mut tokens, known)?;
        take(&mut tokens, &Token::Punct(b')'))?;
        Each::new(Code::Statement, tokens, list, &names, known)
    }

    /// A function called for each value, if `Promise.all(list.map(x => …))` comes next and its result is not processed further.
    pub(super) fn of_map(tokens: &Tokens<'c>, known: &mut Constants) -> Option<Self> {
        let mut tokens = tokens.clone();
        let start = [
            Token::Name("Promise"),
            Token::Punct(b'.'),
            Token::Name("all"),
            Token::Punct(b'('),
        ];
        for expected in start {
            take(&mut tokens, &expected)?;
        }
        if let Token::Name(name) = tokens.peek()?
            && !known.is_list(name)
        {
            return None;
        }
        let list = operand(&mut tokens, known)?;
        for expected in [Token::Punct(b'.'), Token::Name("map"), Token::Punct(b'(')] {
            take(&mut tokens, &expected)?;
        }
        if tokens.peek()? == Token::Name("async") {
            tokens.next();
        }
        let names = parameters(&mut tokens)?;
        take(&mut tokens, &Token::Punct(b'='))?;
        take(&mut tokens, &Token::Punct(b'>'))?;
        let code = match tokens.peek()? {
            Token::Punct(b'{') => Code::Block,
            _ => Code::Expression,
        };
        let mut each = Each::new(code, tokens, list, &names, known)?;
        take(&mut each.after, &Token::Punct(b')'))?;
        take(&mut each.after, &Token::Punct(b')'))?;
        (each.after.peek() != Some(Token::Punct(b'.'))).then_some(each)
    }

    fn new(
        code: Code,
        begin: Tokens<'c>,
        list: Value,
        names: &[(String, Part)],
        known: &mut Constants,
    ) -> Option<Self> {
        let Value::Array(values) = list else {
            return None;
        };
        // If `tools` or `text` is redefined, the code cannot be trusted.
        if names
            .iter()
            .any(|(name, _)| name == "tools" || name == "text")
        {
            return None;
        }
        let after = end_of(code, begin.clone())?;
        let end = after.position();
        let code_bytes = (end - begin.position()).saturating_mul(values.len());
        // Many names may each copy the same part of a value.
        let named = names.len().saturating_mul(values.iter().map(size).sum());
        if values.len() > LONGEST || !known.take_room(code_bytes.saturating_add(named)) {
            return None;
        }
        let rounds = values.iter().enumerate().map(|(number, value)| {
            let names = names.iter();
            names
                .map(|(name, part)| (name.clone(), part.of(number, value)))
                .collect()
        });
        Some(Each {
            code,
            begin,
            end,
            after,
            rounds: rounds.collect(),
        })
    }
}

impl Part {
    fn of(&self, number: usize, value: &Value) -> Option<Value> {
        match self {
            Part::Whole => Some(value.clone()),
            Part::Item(at) => value.as_array()?.get(*at).cloned(),
            Part::Key(key) => value.as_object()?.get(key).cloned(),
            Part::Number => Some(Value::from(number)),
        }
    }
}

/// The end of the code, if nothing in it ends a round before that.
fn end_of(code: Code, mut tokens: Tokens<'_>) -> Option<Tokens<'_>> {
    let mut open = 0usize;
    let mut is_first = true;
    while let Some(token) = tokens.peek() {
        let closes = matches!(token, Token::Punct(b')' | b']' | b'}'));
        let ends = match code {
            Code::Block => !is_first,
            Code::Expression => closes || token == Token::Punct(b','),
            Code::Statement => {
                closes || !is_first && tokens.is_on_new_line() && token.begins_a_statement()
            }
        };
        if open == 0 && ends {
            break;
        }
        match token {
            Token::Punct(b'(' | b'[' | b'{') => open += 1,
            Token::Punct(b')' | b']' | b'}') => open -= 1,
            Token::Name("break" | "continue" | "throw" | "exit" | "yield") => return None,
            Token::Name("return") if code != Code::Block => return None,
            // Only a `return` at the top level of the block is allowed: it is then the last thing that runs.
            Token::Name("return" | "if" | "for" | "while" | "do" | "switch" | "try")
                if code == Code::Block && (open > 1 || token != Token::Name("return")) =>
            {
                return None;
            }
            _ => {}
        }
        tokens.next();
        is_first = false;
        let is_whole = match code {
            Code::Block => open == 0,
            Code::Expression => false,
            Code::Statement => open == 0 && matches!(token, Token::Punct(b'}' | b';')),
        };
        if is_whole {
            break;
        }
    }
    (open == 0).then_some(tokens)
}

fn take(tokens: &mut Tokens<'_>, expected: &Token<'_>) -> Option<()> {
    (tokens.next()? == *expected).then_some(())
}

/// The parameters of a function: a pattern, with or without brackets, and perhaps a name for the number of the round.
fn parameters(tokens: &mut Tokens<'_>) -> Option<Vec<(String, Part)>> {
    if tokens.peek()? != Token::Punct(b'(') {
        let Token::Name(name) = tokens.next()? else {
            return None;
        };
        return Some(vec![(name.to_owned(), Part::Whole)]);
    }
    tokens.next();
    let mut names = pattern(tokens)?;
    if tokens.peek()? == Token::Punct(b',') {
        tokens.next();
        let Token::Name(name) = tokens.next()? else {
            return None;
        };
        names.push((name.to_owned(), Part::Number));
    }
    take(tokens, &Token::Punct(b')'))?;
    Some(names)
}

/// `x`, `[a, b]` or `{a, b: c}`.
fn pattern(tokens: &mut Tokens<'_>) -> Option<Vec<(String, Part)>> {
    let mut names = Vec::new();
    match tokens.next()? {
        Token::Name(name) => names.push((name.to_owned(), Part::Whole)),
        Token::Punct(b'[') => {
            let mut at = 0;
            loop {
                match tokens.next()? {
                    Token::Punct(b']') => break,
                    Token::Punct(b',') => at += 1,
                    Token::Name(name) => names.push((name.to_owned(), Part::Item(at))),
                    _ => return None,
                }
            }
        }
        Token::Punct(b'{') => loop {
            match tokens.next()? {
                Token::Punct(b'}') => break,
                Token::Punct(b',') => {}
                Token::Name(key) => {
                    let mut name = key;
                    if tokens.peek()? == Token::Punct(b':') {
                        tokens.next();
                        let Token::Name(other) = tokens.next()? else {
                            return None;
                        };
                        name = other;
                    }
                    names.push((name.to_owned(), Part::Key(key.to_owned())));
                }
                _ => return None,
            }
        },
        _ => return None,
    }
    Some(names)
}
