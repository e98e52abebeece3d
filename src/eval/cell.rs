//! The calls in a cell of code mode, for the judge.
//!
//! Reads them independently of `facts`: rewrites literals as JSON, and skips whatever is then not JSON. A call in a condition or a
//! loop counts like any other, since the judge may know more than a summary says.

use std::collections::HashMap;

use serde_json::Value;

/// The tools and inputs of the calls in `code`; an input that is not a literal is `null`.
pub(super) fn calls(code: &str) -> Vec<(String, Value)> {
    let starts = code
        .match_indices("tools.")
        .map(|(at, found)| at + found.len());
    let mut names = Names::of(code);
    let call = |start: usize| {
        let called = &code[start..];
        let name_end = called.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        let (tool, argument) = called.split_at(name_end);
        let argument = argument.strip_prefix('(')?;
        Some((tool.to_owned(), names.input(argument.trim_start())))
    };
    starts.filter_map(call).collect()
}

/// What names in a cell stand for: each is read once, however often it is used.
struct Names<'c> {
    /// What follows the `=` behind the first declaration of a name.
    declared: HashMap<&'c str, &'c str>,
    /// Their values, with the size of each.
    values: HashMap<&'c str, (Value, usize)>,
    /// How many more bytes of JSON are given to calls by name: a long value that many calls are given would be copied for each.
    left: usize,
}

impl<'c> Names<'c> {
    fn of(code: &'c str) -> Self {
        /// So many copies of a cell at most.
        const COPIES: usize = 64;
        let mut declared = HashMap::new();
        for keyword in ["const ", "let ", "var "] {
            for (at, _) in code.match_indices(keyword) {
                let rest = &code[at + keyword.len()..];
                let name = word(rest);
                let value = rest[name.len()..].trim_start().strip_prefix('=');
                if let Some(value) = value.filter(|_| !name.is_empty()) {
                    declared.entry(name).or_insert(value);
                }
            }
        }
        Names {
            declared,
            values: HashMap::new(),
            left: code.len().saturating_mul(COPIES),
        }
    }

    /// The input that an argument, with all behind it, is or names.
    fn input(&mut self, argument: &'c str) -> Value {
        let name = word(argument);
        if name.is_empty() {
            return first_value(argument).unwrap_or(Value::Null);
        }
        let Some(text) = self.declared.get(name) else {
            return Value::Null;
        };
        let value = self.values.entry(name);
        let (value, bytes) = value.or_insert_with(|| {
            let value = first_value(text).unwrap_or(Value::Null);
            let bytes = value.to_string().len();
            (value, bytes)
        });
        let Some(left) = self.left.checked_sub(*bytes) else {
            return Value::Null;
        };
        self.left = left;
        value.clone()
    }
}

/// The letters, digits and `_` that a text begins with.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// The literal at the start of `text`.
pub(super) fn first_value(text: &str) -> Option<Value> {
    let json = as_json(text);
    let mut values = serde_json::Deserializer::from_slice(json.as_bytes()).into_iter::<Value>();
    values.next()?.ok()
}

/// The value at the start of `text`, with strings in double quotes, quoted keys, and no trailing commas. Ignores what follows the
/// value.
fn as_json(text: &str) -> String {
    /// The depth limit of JSON parsers.
    const DEEPEST: usize = 128;
    let mut json = String::new();
    let mut open = 0_usize;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '{' | '[' => {
                open += 1;
                json.push(c);
                if open > DEEPEST {
                    break;
                }
            }
            '"' | '\'' | '`' => {
                json.push('"');
                while let Some(inside) = chars.next() {
                    match inside {
                        end if end == c => break,
                        '\\' => match chars.next() {
                            Some(quote @ ('\'' | '`' | '$')) => json.push(quote),
                            Some(other) => json.extend(['\\', other]),
                            None => {}
                        },
                        '"' => json.push_str("\\\""),
                        '\n' => json.push_str("\\n"),
                        '\t' => json.push_str("\\t"),
                        // A template with a value is not a literal.
                        '$' if c == '`' && chars.peek() == Some(&'{') => return json,
                        inside => json.push(inside),
                    }
                }
                json.push('"');
                if open == 0 {
                    break;
                }
            }
            '}' | ']' => {
                let whole = json.trim_end().trim_end_matches(',').len();
                json.truncate(whole);
                json.push(c);
                open = open.saturating_sub(1);
                if open == 0 {
                    break;
                }
            }
            // Behind a value: the end of what it is given to, or another one.
            ';' | ')' | '(' | ',' if open == 0 => break,
            c if c.is_alphabetic() || c == '_' => {
                let mut name = String::from(c);
                while let Some(next) = chars.next_if(|c| c.is_alphanumeric() || *c == '_') {
                    name.push(next);
                }
                while chars.next_if(|c| c.is_whitespace()).is_some() {}
                match chars.peek() {
                    Some(':') => json.push_str(&format!("\"{name}\"")),
                    _ => json.push_str(&name),
                }
            }
            c => json.push(c),
        }
    }
    json
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_are_read_as_agents_write_them() {
        let exec = |input| ("exec_command".to_owned(), input);
        assert_eq!(
            calls("const r = await tools.exec_command({cmd: 'a \"b\"', n: 1,});\ntext(r.output)"),
            [exec(json!({"cmd": "a \"b\"", "n": 1}))]
        );
        assert_eq!(
            calls(
                "text(await tools.exec_command({\"cmd\":\"x\\ny\"})); tools.exec_command({cmd: `${z}`})"
            ),
            [exec(json!({"cmd": "x\ny"})), exec(Value::Null)]
        );
        // Each input is read to its own end, not to the end of the cell.
        let many = "tools.exec_command({cmd: 'a'});\n".repeat(30_000);
        assert_eq!(calls(&many).len(), 30_000);
        // Nor is what is given by name, or no literal, looked for in all of the cell, each time.
        for call in [
            "tools.a(-1)\n",
            "tools.a(x)\n",
            "tools.a(7\n",
            "tools.a(- tools.a\n",
        ] {
            let many = format!(
                "const x = ['{}']\n{}",
                "y".repeat(100_000),
                call.repeat(100_000)
            );
            assert_eq!(calls(&many).len(), 100_000, "{call}");
        }
        let patch = "const patch = \"*** Begin Patch\\n*** End Patch\";\ntext(await tools.apply_patch(patch));";
        assert_eq!(
            calls(patch),
            [(
                "apply_patch".to_owned(),
                json!("*** Begin Patch\n*** End Patch")
            )]
        );
    }
}
