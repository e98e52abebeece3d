//! The reference of policy keys as Markdown, generated from their declarations: meaning, accepted values, unit, and the value in
//! `auto`.
//!
//! Cannot disagree with the program, since nothing is written here by hand. Never writes a file.

use serde_json::Value;

use super::domain::{Domain, MAX};
use super::key::{Key, Purpose, Table};
use super::write::literal;
use super::{Policy, preset};
use crate::error::Result;
use crate::text::thousands;

/// The maximum line length, in characters.
const WIDTH: usize = 100;

/// Every key that a policy file can set, table by table.
///
/// # Errors
/// None for a program that passes its tests.
pub fn reference() -> Result<String> {
    let auto = preset("auto")?.to_json()?;
    let mut text = String::new();
    for table in Policy::TABLES {
        if table.keys.is_empty() {
            continue;
        }
        text.push_str(&header(table));
        for key in table.keys {
            text.push_str(&entry(key, &auto)?);
        }
    }
    Ok(text)
}

fn header(table: &Table) -> String {
    let doc = table.doc().collect::<Vec<_>>().join(" ");
    match table.name {
        "" => "\n## Top level\n\n".to_owned(),
        name => format!("\n## [{name}]\n\n{}\n", wrapped("", &doc)),
    }
}

fn entry(key: &Key, auto: &Value) -> Result<String> {
    let mut facts = vec![accepted(key.domain)];
    if !key.unit.is_empty() {
        facts.push(key.unit.to_owned());
    }
    if key.purpose == Purpose::Setting {
        facts.push(format!("auto: `{}`", literal(key.get(auto))?));
    }
    let doc = key.doc().collect::<Vec<_>>().join(" ");
    let entry = format!("`{}` ({}). {doc}", key.name, facts.join("; "));
    let mut text = wrapped("- ", &entry);
    for word in key.domain.choices() {
        let meaning = format!("`\"{}\"`: {}", word.name, word.doc().trim());
        text.push_str(&wrapped("  - ", &meaning));
    }
    Ok(text)
}

/// What a key accepts, in few words; omits bounds that no transcript reaches.
fn accepted(domain: Domain) -> String {
    match domain {
        Domain::Integer { min, max } if max == MAX => format!("whole number, at least {min}"),
        Domain::Integer { min, max } if min == max => min.to_string(),
        Domain::Integer { min, max } => {
            format!("whole number, {min} to {}", thousands(max.unsigned_abs()))
        }
        Domain::UpTo { max } => format!("number, 0 to {max}"),
        Domain::Positive => "number above 0".to_owned(),
        Domain::Boolean => "true or false".to_owned(),
        Domain::Text | Domain::Template { .. } => "text".to_owned(),
        Domain::OneOf(_) => "one of the words below".to_owned(),
        Domain::Prompt(_) => "one of the words below, a file or a text".to_owned(),
        Domain::AnyOf(_) => "list of the words below".to_owned(),
        Domain::TextList => "list of texts".to_owned(),
        Domain::TextTable => "table of texts".to_owned(),
        Domain::Parameters => "table of any values".to_owned(),
    }
}

/// Wraps `text` to lines of [`WIDTH`]; the first begins with `lead`, the others are indented equally.
fn wrapped(lead: &str, text: &str) -> String {
    let indent = " ".repeat(lead.len());
    let mut lines = vec![lead.to_owned()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        let is_first = line.len() == lead.len();
        if !is_first && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(format!("{indent}{word}"));
        } else {
            if !is_first {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::keys;

    #[test]
    fn it_has_every_key_with_its_meaning() {
        let text = reference().unwrap();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for key in keys::all() {
            let doc = key.doc().collect::<Vec<_>>().join(" ");
            let doc = doc.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                text.contains(&format!("- `{}` (", key.name)),
                "{}",
                key.name
            );
            assert!(words.contains(&doc), "{}: {doc}", key.name);
        }
        let entries = text.lines().filter(|line| line.starts_with("- `"));
        assert_eq!(entries.count(), keys::all().count());
    }

    #[test]
    fn lines_are_short_enough_for_a_terminal() {
        let text = wrapped("- ", &"word ".repeat(50));
        assert!(text.lines().count() > 2);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(text.lines().skip(1).all(|line| line.starts_with("  word")));
    }
}
