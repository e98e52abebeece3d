//! Unrolls loops in code-mode cells, for evaluation: `for (const x of list) …` and `list.map(x => …)` once for each value, with the
//! value in place of the name.
//!
//! Works independently of `facts`, by words and brackets alone. Leaves unchanged what it does not understand.

use serde_json::Value;

use super::cell::first_value;

/// The maximum number of loops, and of rounds and names per loop; others stay unchanged.
const MOST: usize = 64;

/// Loops that would make the cell longer than this stay unchanged: a short body can repeat a long value many times.
const LONGEST: usize = 1 << 20;

/// A loop in code.
struct Loop<'c> {
    /// Where it begins.
    at: usize,
    names: &'c str,
    values: Vec<Value>,
    body: &'c str,
    after: &'c str,
}

pub(super) fn written_out(code: &str) -> String {
    let (mut out, mut rest, mut left) = (String::new(), code, MOST);
    let starts = ["for (const ", "for(const ", ".map("];
    while let Some((at, start)) = starts
        .iter()
        .filter_map(|start| Some((rest.find(start)?, *start)))
        .min()
        .filter(|_| left > 0)
    {
        left -= 1;
        let inside = &rest[at + start.len()..];
        let found = match start {
            ".map(" => of_map(code, rest, at, inside),
            _ => of_loop(code, at, inside),
        };
        let room = LONGEST.saturating_sub(out.len());
        let rounds = found.and_then(|found| Some((found.rounds(room)?, found)));
        let Some((rounds, found)) = rounds else {
            out.push_str(&rest[..at + start.len()]);
            rest = inside;
            continue;
        };
        out.push_str(&rest[..found.at]);
        out.push_str(&rounds);
        rest = found.after;
    }
    out + rest
}

impl Loop<'_> {
    /// Its unrolled rounds; `None` if they are too many or longer than `room`.
    fn rounds(&self, room: usize) -> Option<String> {
        if self.values.len() > MOST || self.names.split(',').count() > MOST {
            return None;
        }
        let mut out = String::new();
        for (number, value) in self.values.iter().enumerate() {
            let named = named(self.names, number, value);
            out.push_str(&with_values(
                self.body,
                &named,
                room.checked_sub(out.len())?,
            )?);
            out.push_str(";\n");
        }
        Some(out)
    }
}

fn of_loop<'c>(code: &str, at: usize, inside: &'c str) -> Option<Loop<'c>> {
    let (names, list) = inside.split_once(" of ")?;
    let end = end_of(list)?;
    let body = list[end + 1..].trim_start();
    let length = match body.starts_with('{') {
        true => end_of(&body[1..])? + 2,
        false => body.find([';', '\n']).unwrap_or(body.len()),
    };
    let (body, after) = body.split_at(length);
    let values = list_of(code, &list[..end])?;
    Some(Loop {
        at,
        names,
        values,
        body,
        after,
    })
}

fn of_map<'c>(code: &str, rest: &str, at: usize, inside: &'c str) -> Option<Loop<'c>> {
    let name = rest[..at]
        .rsplit(|c: char| !c.is_alphanumeric() && c != '_')
        .next()?;
    let (body, after) = inside.split_at(end_of(inside)?);
    let (names, body) = body.split_once("=>")?;
    let values = list_of(code, name)?;
    let at = at - name.len();
    Some(Loop {
        at,
        names,
        values,
        body,
        after,
    })
}

/// The values of a literal list, or of the constant with this name.
fn list_of(code: &str, list: &str) -> Option<Vec<Value>> {
    let literal = match list.trim().starts_with('[') {
        true => list,
        false => code
            .split_once(&format!("const {}", list.trim()))?
            .1
            .trim_start()
            .strip_prefix('=')?,
    };
    match first_value(literal)? {
        Value::Array(values) => Some(values),
        _ => None,
    }
}

/// The position of the bracket that closes the one around the start of `text`.
fn end_of(text: &str) -> Option<usize> {
    let (mut open, mut quote, mut is_escaped) = (0, None, false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(q), c) if q == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '(' | '[' | '{') => open += 1,
            (None, ')' | ']' | '}') if open == 0 => return Some(at),
            (None, ')' | ']' | '}') => open -= 1,
            (None, _) => {}
        }
    }
    None
}

/// The values of the names in one round.
fn named<'n>(names: &'n str, number: usize, value: &Value) -> Vec<(&'n str, Value)> {
    let names = names.trim();
    let names = names.strip_prefix("async").unwrap_or(names).trim();
    let names = names.strip_prefix('(').unwrap_or(names);
    let names = names.strip_suffix(')').unwrap_or(names);
    let words = |text: &'n str| text.split(',').map(str::trim);
    if let Some((items, _)) = names
        .strip_prefix('[')
        .and_then(|names| names.split_once(']'))
    {
        let item = |(at, name): (usize, &'n str)| Some((name, value.get(at)?.clone()));
        return words(items).enumerate().filter_map(item).collect();
    }
    if let Some((keys, _)) = names
        .strip_prefix('{')
        .and_then(|names| names.split_once('}'))
    {
        let of = |name: &'n str| {
            let (key, name) = name.split_once(':').unwrap_or((name, name));
            Some((name.trim(), value.get(key.trim())?.clone()))
        };
        return words(keys).filter_map(of).collect();
    }
    words(names)
        .zip([value.clone(), Value::from(number)])
        .collect()
}

/// `body` with the names replaced by their values; `None` if that is longer than `room`.
fn with_values(body: &str, named: &[(&str, Value)], room: usize) -> Option<String> {
    let (mut out, mut rest, mut quote) = (String::new(), body, None);
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    while let Some(c) = rest.chars().next() {
        if out.len() > room {
            return None;
        }
        if quote.is_none() && is_word(c) {
            let word_end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let value = named.iter().find(|(name, _)| *name == &rest[..word_end]);
            let next = rest[word_end..].trim_start().chars().next();
            match value {
                // A key, or a property.
                Some(_) if next == Some(':') || out.ends_with('.') => {
                    out.push_str(&rest[..word_end])
                }
                // `{cmd}` is `{cmd: cmd}`.
                Some((name, value))
                    if matches!(next, Some(',' | '}'))
                        && out.trim_end().ends_with(['{', ','])
                        && in_object(&out) =>
                {
                    out.push_str(&format!("{name}: {value}"));
                }
                Some((_, value)) => out.push_str(&value.to_string()),
                None => out.push_str(&rest[..word_end]),
            }
            rest = &rest[word_end..];
            continue;
        }
        if quote == Some('`')
            && let Some((name, after)) = rest
                .strip_prefix("${")
                .and_then(|inside| inside.split_once('}'))
            && let Some((_, value)) = named.iter().find(|(known, _)| *known == name.trim())
        {
            out.push_str(&value.as_str().map_or(value.to_string(), str::to_owned));
            rest = after;
            continue;
        }
        match (quote, c) {
            (Some(_), '\\') => {
                out.push(c);
                rest = &rest[1..];
                let Some(escaped) = rest.chars().next() else {
                    break;
                };
                out.push(escaped);
                rest = &rest[escaped.len_utf8()..];
                continue;
            }
            (Some(q), c) if q == c => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(c),
            _ => {}
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    (out.len() <= room).then_some(out)
}

/// Whether the text that follows is inside an object: the innermost open bracket is a `{`.
fn in_object(before: &str) -> bool {
    let mut closed = 0;
    for c in before.chars().rev() {
        match c {
            ')' | ']' | '}' => closed += 1,
            '(' | '[' | '{' if closed > 0 => closed -= 1,
            '(' | '[' => return false,
            '{' => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::cell;
    use super::*;

    #[test]
    fn each_round_has_its_calls() {
        let commands = |code: &str| {
            let calls = cell::calls(&written_out(code)).into_iter();
            calls
                .map(|(_, input)| input["cmd"].clone())
                .collect::<Vec<_>>()
        };
        for code in [
            "const cs = ['a', 'b']; await Promise.all(cs.map(cmd => tools.x({cmd, n: 1})))",
            "const cs = [['n', 'a'], ['m', 'b']]; const r = await Promise.all(cs.map(async ([name, cmd]) => [name, await tools.x({cmd})]));",
            "for (const c of ['a', 'b']) { const r = await tools.x({cmd: c}); text(r.output) }",
            "const cs = ['a', 'b'];\nfor (const [cmd] of [['a'], ['b']]) await tools.x({cmd: `${cmd}`})\ntext(cs)",
        ] {
            assert_eq!(commands(code), [json!("a"), json!("b")], "{code}");
        }
        assert_eq!(
            commands("for (const c of cs) tools.x({cmd: 'a'})"),
            [json!("a")]
        );
        // A picture in a body is scanned only once.
        let picture = "A".repeat(300_000);
        let loaded =
            format!("for (const c of ['a', 'b']) tools.x({{cmd: c, picture: '{picture}'}})");
        assert_eq!(commands(&loaded), [json!("a"), json!("b")]);
        let keys = "const l = [{a: 'x'}]; l.map(({a}) => tools.x({cmd: a, a: 'a'}))";
        assert_eq!(commands(keys), [json!("x")]);
    }

    #[test]
    fn a_loop_that_would_grow_too_much_stays_as_it_is() {
        let value = "x".repeat(LONGEST / 8);
        for (body, is_written_out) in [("f(a);".repeat(4), true), ("f(a);".repeat(8), false)] {
            let code = format!("for (const a of ['{value}']) {{ {body} }}");
            let written = written_out(&code);
            assert_eq!(written != code, is_written_out, "{}", written.len());
            assert!(written.len() <= LONGEST + code.len());
        }
        let names = "a, ".repeat(MOST + 1);
        let code = format!("for (const {{{names}}} of [{{a: '{value}'}}]) f(1)");
        assert_eq!(written_out(&code), code);
    }
}
