//! The calls in a cell of code mode, for the judge.
//!
//! Read independently of `facts`: literals are rewritten as JSON where they stand, and what is then no JSON is passed over. A call
//! in a condition or a loop counts like any other, since a judge may know more than a summary says.

use serde_json::Value;

/// The tools and inputs of the calls in `code`; an input that is no literal is `null`.
pub(super) fn calls(code: &str) -> Vec<(String, Value)> {
    let starts = code
        .match_indices("tools.")
        .map(|(at, found)| at + found.len());
    let call = |start: usize| {
        let called = &code[start..];
        let name_end = called.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        let (tool, argument) = called.split_at(name_end);
        let argument = argument.strip_prefix('(')?;
        Some((tool.to_owned(), input(code, argument.trim_start())))
    };
    starts.filter_map(call).collect()
}

fn input(code: &str, argument: &str) -> Value {
    let name_end = argument.find(|c: char| !c.is_alphanumeric() && c != '_');
    let name = &argument[..name_end.unwrap_or(argument.len())];
    let literal = match name {
        "" => Some(argument),
        name => ["const", "let", "var"].into_iter().find_map(|keyword| {
            let (_, value) = code.split_once(&format!("{keyword} {name}"))?;
            value.trim_start().strip_prefix('=')
        }),
    };
    literal.and_then(first_value).unwrap_or(Value::Null)
}

/// The literal at the start of `text`.
pub(super) fn first_value(text: &str) -> Option<Value> {
    let json = as_json(text);
    let mut values = serde_json::Deserializer::from_slice(json.as_bytes()).into_iter::<Value>();
    values.next()?.ok()
}

/// The value at the start of `text`, with strings in double quotes, names of keys as strings, and no comma before a bracket that
/// closes. What comes after the value is not read.
fn as_json(text: &str) -> String {
    /// Readers of JSON go no deeper.
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
                        // A value in a template: no literal.
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
            ';' if open == 0 => break,
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
        // Each input is read to its end, not to that of the cell.
        let many = "tools.exec_command({cmd: 'a'});\n".repeat(30_000);
        assert_eq!(calls(&many).len(), 30_000);
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
