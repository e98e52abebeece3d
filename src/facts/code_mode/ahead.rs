//! Lookahead in a cell, without consuming tokens.
//!
//! PURE.

use super::token::{Token, Tokens};

/// Whether `] = await Promise.all([` comes next, and then `count` calls and nothing else.
pub(super) fn is_all_of_calls(mut tokens: Tokens<'_>, count: usize) -> bool {
    let start = [
        Token::Punct(b']'),
        Token::Punct(b'='),
        Token::Name("await"),
        Token::Name("Promise"),
        Token::Punct(b'.'),
        Token::Name("all"),
        Token::Punct(b'('),
        Token::Punct(b'['),
    ];
    if !start.into_iter().all(|token| tokens.next() == Some(token)) {
        return false;
    }
    let mut calls = 0;
    while tokens.peek() != Some(Token::Punct(b']')) {
        let call = [Token::Name("tools"), Token::Punct(b'.')];
        if !call.into_iter().all(|token| tokens.next() == Some(token)) {
            return false;
        }
        tokens.next();
        tokens.skip_one();
        calls += 1;
        match tokens.peek() {
            Some(Token::Punct(b',')) => {
                tokens.next();
            }
            Some(Token::Punct(b']')) => {}
            _ => return false,
        }
    }
    calls == count
}

/// Whether a call comes next, and then `end` or the end of the statement.
pub(super) fn is_awaited_call(mut tokens: Tokens<'_>, end: Token<'_>) -> bool {
    let start = [
        Token::Name("await"),
        Token::Name("tools"),
        Token::Punct(b'.'),
    ];
    if !start.into_iter().all(|token| tokens.next() == Some(token)) {
        return false;
    }
    tokens.next();
    tokens.skip_one();
    match tokens.peek() {
        None => true,
        Some(token) if token == end => true,
        Some(token) => tokens.is_on_new_line() && token.begins_a_statement(),
    }
}

/// Whether the value of the name that comes next is changed: by a method, or by setting an item or a key.
pub(super) fn changes(mut tokens: Tokens<'_>) -> bool {
    const METHODS: [&str; 9] = [
        "push",
        "pop",
        "shift",
        "unshift",
        "splice",
        "sort",
        "reverse",
        "fill",
        "copyWithin",
    ];
    tokens.next();
    loop {
        match tokens.peek() {
            Some(Token::Punct(b'.')) => {
                tokens.next();
                if let Some(Token::Name(name)) = tokens.next()
                    && METHODS.contains(&name)
                {
                    return true;
                }
            }
            Some(Token::Punct(b'[')) => tokens.skip_one(),
            Some(Token::Punct(b'=')) => {
                tokens.next();
                return !matches!(tokens.peek(), Some(Token::Punct(b'=' | b'>')));
            }
            _ => return false,
        }
    }
}

/// The next expression, if it is only a name.
pub(super) fn alone(mut tokens: Tokens<'_>) -> Option<&str> {
    let Some(Token::Name(name)) = tokens.next() else {
        return None;
    };
    let ends = match tokens.peek() {
        None | Some(Token::Punct(b';' | b'}')) => true,
        Some(token) => tokens.is_on_new_line() && token.begins_a_statement(),
    };
    ends.then_some(name)
}
