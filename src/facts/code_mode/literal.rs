//! JavaScript literals, read into JSON.
//!
//! PURE. Reads strings, templates, numbers, lists and objects whose values are literals, names of known constants or sums of
//! strings. Never executes anything, and guesses nothing: a value that depends on anything else is unknown.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::token::{Token, Tokens};

/// The maximum nesting depth of literals; deeper values are unknown.
const DEEPEST: u32 = 64;

/// The values of constants by their names; `None` if a constant's value is unknown.
#[derive(Debug)]
pub(super) struct Constants {
    values: BTreeMap<String, Option<Value>>,
    /// Remaining bytes of values that may be copied, so that a short cell cannot grow without bound, as `b = a + a; c = b + b`
    /// would.
    room: usize,
}

impl Constants {
    /// No constants yet, for code of this many bytes.
    pub(super) fn of_code(bytes: usize) -> Self {
        Constants {
            values: BTreeMap::new(),
            room: bytes.saturating_mul(COPIES).saturating_add(LEAST_ROOM),
        }
    }

    /// Sets the value of a constant; returns the previous entry of that name, if any.
    pub(super) fn insert(&mut self, name: &str, value: Option<Value>) -> Option<Option<Value>> {
        self.values.insert(name.to_owned(), value)
    }

    /// Undoes a [`Constants::insert`] that returned `before`.
    pub(super) fn restore(&mut self, name: &str, before: Option<Option<Value>>) {
        match before {
            Some(value) => self.values.insert(name.to_owned(), value),
            None => self.values.remove(name),
        };
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    pub(super) fn is_list(&self, name: &str) -> bool {
        matches!(self.values.get(name), Some(Some(Value::Array(_))))
    }

    /// Whether a constant is a list or an object, which can be changed.
    pub(super) fn is_made_of_others(&self, name: &str) -> bool {
        let value = self.values.get(name).and_then(Option::as_ref);
        matches!(value, Some(Value::Array(_) | Value::Object(_)))
    }

    /// Reserves room for copying `bytes`; returns whether there was enough.
    pub(super) fn take_room(&mut self, bytes: usize) -> bool {
        let left = self.room.checked_sub(bytes);
        self.room = left.unwrap_or(self.room);
        left.is_some()
    }

    /// Copies a constant's value, if it is known and there is room.
    fn copy(&mut self, name: &str) -> Option<Value> {
        let value = self.values.get(name)?.as_ref()?;
        let left = self.room.checked_sub(size(value))?;
        self.room = left;
        Some(value.clone())
    }
}

/// How often the bytes of a cell may be copied.
const COPIES: usize = 16;
/// The room that even a short cell has.
const LEAST_ROOM: usize = 1 << 16;

/// The approximate size of a value in bytes.
pub(super) fn size(value: &Value) -> usize {
    let inside = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(size).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + size(value)).sum(),
    };
    size_of::<Value>() + inside
}

/// Reads the next expression, up to but not including the `,`, `)`, `]`, `}` or `;` that ends it. `None` if its value is unknown;
/// the expression is still consumed.
pub(super) fn value(tokens: &mut Tokens<'_>, known: &mut Constants) -> Option<Value> {
    expression(tokens, known, DEEPEST)
}

fn expression(tokens: &mut Tokens<'_>, known: &mut Constants, depth: u32) -> Option<Value> {
    let mut sum = nested_operand(tokens, known, depth);
    loop {
        match tokens.peek() {
            Some(Token::Punct(b',' | b')' | b']' | b'}' | b';')) | None => return sum,
            Some(Token::Punct(b'+')) => {
                tokens.next();
                sum = match (sum, nested_operand(tokens, known, depth)) {
                    (Some(Value::String(left)), Some(Value::String(right))) => {
                        Some(Value::String(left + &right))
                    }
                    _ => None,
                };
            }
            // The expression ended at the line break, without a semicolon.
            Some(token) if tokens.is_on_new_line() && token.begins_a_statement() => return sum,
            Some(_) => {
                sum = None;
                tokens.skip_one();
            }
        }
    }
}

/// Reads one value, without following operators or property accesses. `None` if it is unknown.
pub(super) fn operand(tokens: &mut Tokens<'_>, known: &mut Constants) -> Option<Value> {
    nested_operand(tokens, known, DEEPEST)
}

fn nested_operand(tokens: &mut Tokens<'_>, known: &mut Constants, depth: u32) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    match tokens.peek()? {
        Token::Punct(b'{') => object(tokens, known, depth),
        Token::Punct(b'[') => list(tokens, known, depth),
        Token::Punct(b'(') => {
            tokens.next();
            let inside = expression(tokens, known, depth);
            match tokens.peek() {
                Some(Token::Punct(b')')) => tokens.next(),
                _ => return None,
            };
            inside
        }
        Token::Punct(b'-') => {
            tokens.next();
            match tokens.peek() {
                Some(Token::Number(digits)) => {
                    tokens.next();
                    number(&format!("-{digits}"))
                }
                _ => None,
            }
        }
        Token::Punct(_) => None,
        Token::Text(text) => {
            tokens.next();
            Some(Value::String(text.to_string()))
        }
        Token::Template(parts) => {
            tokens.next();
            let mut text = String::new();
            for (before, name) in &parts.values {
                text.push_str(before);
                match known.copy(name) {
                    Some(Value::String(value)) => text.push_str(&value),
                    Some(Value::Number(value)) => text.push_str(&value.to_string()),
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
                name => known.copy(name),
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
    for expected in [Token::Punct(b'.'), Token::Name("raw")] {
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
    serde_json::from_slice::<Number>(digits.as_bytes())
        .ok()
        .map(Value::Number)
}

/// An object. A value that is unknown leaves its key out; if a key itself is unknown, so is the object.
fn object(tokens: &mut Tokens<'_>, known: &mut Constants, depth: u32) -> Option<Value> {
    tokens.next();
    let mut map = Map::new();
    let mut is_sure = true;
    loop {
        let key = match tokens.peek()? {
            Token::Punct(b'}') => {
                tokens.next();
                return is_sure.then_some(Value::Object(map));
            }
            Token::Punct(b',') => {
                tokens.next();
                continue;
            }
            Token::Name(name) => Some(name.to_owned()),
            Token::Text(text) => Some(text.to_string()),
            Token::Punct(_) | Token::Number(_) | Token::Template(_) | Token::Pattern => None,
        };
        tokens.next();
        match (key, tokens.peek()?) {
            (Some(key), Token::Punct(b':')) => {
                tokens.next();
                match expression(tokens, known, depth) {
                    Some(value) => map.insert(key, value),
                    None => map.remove(&key),
                };
            }
            // `{cmd}` is `{cmd: cmd}`.
            (Some(key), Token::Punct(b',' | b'}')) => {
                match known.copy(&key) {
                    Some(value) => map.insert(key, value),
                    None => map.remove(&key),
                };
            }
            // A computed key, `...rest` or a method: it may define any key.
            _ => {
                is_sure = false;
                expression(tokens, known, depth);
            }
        }
    }
}

fn list(tokens: &mut Tokens<'_>, known: &mut Constants, depth: u32) -> Option<Value> {
    tokens.next();
    let mut values = Some(Vec::new());
    loop {
        match tokens.peek()? {
            Token::Punct(b']') => {
                tokens.next();
                return values.map(Value::Array);
            }
            Token::Punct(b',') => {
                tokens.next();
            }
            Token::Punct(b')' | b'}' | b';') => return None,
            _ => match (expression(tokens, known, depth), &mut values) {
                (Some(value), Some(values)) => values.push(value),
                _ => values = None,
            },
        }
    }
}
