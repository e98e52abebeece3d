//! Literals of JavaScript, read into JSON.
//!
//! PURE. Reads strings, templates, numbers, lists and objects whose values are literals, names of known constants or sums of
//! strings. Never executes anything, and guesses nothing: a value that depends on anything else is unknown.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::token::{Token, Tokens};

/// How deep literals may be nested; what is nested deeper is unknown.
const DEEPEST: u32 = 64;

/// The values of constants by their names; `None` if a constant's value is unknown.
pub(super) type Constants = BTreeMap<String, Option<Value>>;

/// Reads the expression that comes next, up to the `,`, `)`, `]`, `}` or `;` that ends it, which stays. `None` if its value is
/// unknown: then the expression has been skipped.
pub(super) fn value(tokens: &mut Tokens<'_>, known: &Constants) -> Option<Value> {
    expression(tokens, known, DEEPEST)
}

fn expression(tokens: &mut Tokens<'_>, known: &Constants, depth: u32) -> Option<Value> {
    let mut sum = operand(tokens, known, depth);
    loop {
        match tokens.peek() {
            Some(Token::Mark(b',' | b')' | b']' | b'}' | b';')) | None => return sum,
            Some(Token::Mark(b'+')) => {
                tokens.next();
                sum = match (sum, operand(tokens, known, depth)) {
                    (Some(Value::String(left)), Some(Value::String(right))) => {
                        Some(Value::String(left + &right))
                    }
                    _ => None,
                };
            }
            // On the next line: the expression has ended without a semicolon.
            Some(token) if tokens.is_on_new_line() && token.begins_a_statement() => return sum,
            Some(_) => {
                sum = None;
                tokens.skip_one();
            }
        }
    }
}

fn operand(tokens: &mut Tokens<'_>, known: &Constants, depth: u32) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    match tokens.peek()? {
        Token::Mark(b'{') => object(tokens, known, depth),
        Token::Mark(b'[') => list(tokens, known, depth),
        Token::Mark(b'(') => {
            tokens.next();
            let inside = expression(tokens, known, depth);
            match tokens.peek() {
                Some(Token::Mark(b')')) => tokens.next(),
                _ => return None,
            };
            inside
        }
        Token::Mark(b'-') => {
            tokens.next();
            match tokens.peek() {
                Some(Token::Number(digits)) => {
                    tokens.next();
                    number(&format!("-{digits}"))
                }
                _ => None,
            }
        }
        Token::Mark(_) => None,
        Token::Text(text) => {
            tokens.next();
            Some(Value::String(text))
        }
        Token::Template(parts) => {
            tokens.next();
            let mut text = String::new();
            for (before, name) in parts.values {
                text.push_str(&before);
                match known.get(&name) {
                    Some(Some(Value::String(value))) => text.push_str(value),
                    Some(Some(Value::Number(value))) => text.push_str(&value.to_string()),
                    _ => return None,
                }
            }
            text.push_str(&parts.end);
            Some(Value::String(text))
        }
        Token::Number(digits) => {
            tokens.next();
            number(digits)
        }
        Token::Name(name) => {
            tokens.next();
            match name {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                "null" | "undefined" => Some(Value::Null),
                "String" => raw_template(tokens),
                name => known.get(name).cloned().flatten(),
            }
        }
        Token::Pattern => {
            tokens.next();
            None
        }
    }
}

/// What follows `String`: only `.raw` and a template is a literal.
fn raw_template(tokens: &mut Tokens<'_>) -> Option<Value> {
    for expected in [Token::Mark(b'.'), Token::Name("raw")] {
        if tokens.peek()? != expected {
            return None;
        }
        tokens.next();
    }
    match tokens.peek()? {
        Token::Template(parts) if parts.values.is_empty() => {
            tokens.next();
            Some(Value::String(parts.raw.to_owned()))
        }
        _ => None,
    }
}

fn number(digits: &str) -> Option<Value> {
    let digits = digits.replace('_', "");
    serde_json::from_str::<Number>(&digits)
        .ok()
        .map(Value::Number)
}

/// An object. A value that is unknown leaves its key out; if a key itself is unknown, so is the object.
fn object(tokens: &mut Tokens<'_>, known: &Constants, depth: u32) -> Option<Value> {
    tokens.next();
    let mut map = Map::new();
    let mut is_sure = true;
    loop {
        let key = match tokens.peek()? {
            Token::Mark(b'}') => {
                tokens.next();
                return is_sure.then_some(Value::Object(map));
            }
            Token::Mark(b',') => {
                tokens.next();
                continue;
            }
            Token::Name(name) => Some(name.to_owned()),
            Token::Text(text) => Some(text),
            Token::Mark(_) | Token::Number(_) | Token::Template(_) | Token::Pattern => None,
        };
        tokens.next();
        match (key, tokens.peek()?) {
            (Some(key), Token::Mark(b':')) => {
                tokens.next();
                match expression(tokens, known, depth) {
                    Some(value) => map.insert(key, value),
                    None => map.remove(&key),
                };
            }
            // `{cmd}` is `{cmd: cmd}`.
            (Some(key), Token::Mark(b',' | b'}')) => {
                match known.get(&key).cloned().flatten() {
                    Some(value) => map.insert(key, value),
                    None => map.remove(&key),
                };
            }
            // A computed key, `...rest`, a method: any key may be in it.
            _ => {
                is_sure = false;
                expression(tokens, known, depth);
            }
        }
    }
}

fn list(tokens: &mut Tokens<'_>, known: &Constants, depth: u32) -> Option<Value> {
    tokens.next();
    let mut values = Some(Vec::new());
    loop {
        match tokens.peek()? {
            Token::Mark(b']') => {
                tokens.next();
                return values.map(Value::Array);
            }
            Token::Mark(b',') => {
                tokens.next();
            }
            Token::Mark(b')' | b'}' | b';') => return None,
            _ => match (expression(tokens, known, depth), &mut values) {
                (Some(value), Some(values)) => values.push(value),
                _ => values = None,
            },
        }
    }
}
