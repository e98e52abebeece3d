//! The skills that were loaded: instructions that an agent adds to the conversation on request.
//!
//! Only the form that the agent uses counts: a user's text about a skill, or a list of available skills, is not a loaded one.

use std::collections::BTreeSet;

use super::{FactLocation, block_text};
use crate::transcript::{BlockKind, Conversation, Role, Transcript};

/// A skill that was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Where it is.
    pub place: FactLocation,
    /// Its name.
    pub name: String,
    /// Its instructions, verbatim.
    pub text: String,
}

/// The skills that were loaded in a conversation, the last one first, each once.
pub fn skills(transcript: &Transcript<'_>, conversation: &Conversation) -> Vec<Skill> {
    let mut names = BTreeSet::new();
    let mut found: Vec<Skill> = loaded(transcript, conversation).collect();
    found.reverse();
    found.retain(|skill| names.insert(skill.name.clone()));
    found
}

fn loaded<'c>(
    transcript: &'c Transcript<'_>,
    conversation: &'c Conversation,
) -> impl Iterator<Item = Skill> + 'c {
    conversation
        .all_blocks()
        .filter_map(move |(message, number)| {
            let block = transcript.block(number);
            let is_users = conversation.messages[message].role == Role::User;
            if !is_users || block.kind != BlockKind::Text {
                return None;
            }
            let said = block_text(transcript, block);
            let link = transcript.links().get(block.line as usize);
            let is_injected = link.is_some_and(|link| link.is_injected);
            let (name, text) = in_a_block(&said).or_else(|| {
                // If the user types such a line, no skill is loaded.
                is_injected.then(|| below_its_folder(&said))?
            })?;
            Some(Skill {
                place: FactLocation {
                    message: message as u32,
                    line: block.line,
                    block: number,
                },
                name: name.to_owned(),
                text: text.to_owned(),
            })
        })
}

/// Claude Code: instructions below a line that names their folder.
fn below_its_folder(said: &str) -> Option<(&str, &str)> {
    let (folder, _) = said
        .strip_prefix("Base directory for this skill: ")?
        .split_once('\n')?;
    let name = folder.trim_end_matches(['/', '\\']).rsplit(['/', '\\']);
    let name = name.into_iter().next().filter(|name| !name.is_empty())?;
    Some((name, said))
}

/// Codex and pi: a block, with the name in a line of its own or in its head; the user's text after it does not belong to it.
fn in_a_block(said: &str) -> Option<(&str, &str)> {
    const END: &str = "\n</skill>";
    let (name, inside) = match said.strip_prefix("<skill>\n<name>") {
        Some(rest) => {
            let (name, rest) = rest.split_once("</name>\n")?;
            (name, rest)
        }
        None => {
            let (name, rest) = said.strip_prefix("<skill name=\"")?.split_once('"')?;
            let (_, rest) = rest.split_once(">\n")?;
            (name, rest)
        }
    };
    // Instructions may contain such a block.
    let (text, after) = inside.rsplit_once(END)?;
    let ends_there = after.is_empty() || after.starts_with('\n');
    (ends_there && !name.is_empty()).then_some((name, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::read_as;
    use crate::format::Format;

    fn found(format: Format, lines: &str) -> Vec<(String, String)> {
        let transcript = read_as(format, lines);
        let skills = skills(&transcript, &transcript.conversations[0]);
        let both = |skill: Skill| (skill.name, skill.text);
        skills.into_iter().map(both).collect()
    }

    #[test]
    fn claude_code_loads_them_as_lines_of_its_own() {
        let line = |id: &str, parent: &str, rest: &str, text: &str| {
            let text = serde_json::to_string(text).unwrap();
            format!(
                r#"{{"type":"user","uuid":"{id}","parentUuid":{parent},{rest}"message":{{"role":"user","content":[{{"type":"text","text":{text}}}]}}}}"#
            ) + "\n"
        };
        let text =
            |n: u8| format!("Base directory for this skill: /h/skills/commit\n\n# Commit {n}");
        let meta = r#""isMeta":true,"#;
        let lines = [
            line("a", "null", meta, &text(1)),
            line(
                "b",
                "\"a\"",
                meta,
                "Base directory for this skill: /h/review/\nlook",
            ),
            line("c", "\"b\"", meta, &text(2)),
            // Typed, or only a mention of it.
            line(
                "d",
                "\"c\"",
                "",
                "Base directory for this skill: /h/no\n\nx",
            ),
            line("e", "\"d\"", meta, "Unknown skill: no"),
        ];
        assert_eq!(
            found(Format::ClaudeCode, &lines.concat()),
            [
                ("commit".to_owned(), text(2)),
                (
                    "review".to_owned(),
                    "Base directory for this skill: /h/review/\nlook".to_owned()
                ),
            ]
        );
    }

    #[test]
    fn codex_and_pi_load_them_as_blocks() {
        let one = |text: &str| {
            let text = serde_json::to_string(text).unwrap();
            let line = format!("{{\"role\":\"user\",\"content\":{text}}}\n");
            found(Format::Anthropic, &line)
        };
        let skill = |name: &str, text: &str| [(name.to_owned(), text.to_owned())];
        assert_eq!(
            one("<skill>\n<name>tidy</name>\n<path>/s/SKILL.md</path>\n# Tidy\n</skill>"),
            skill("tidy", "<path>/s/SKILL.md</path>\n# Tidy")
        );
        assert_eq!(
            one(
                "<skill name=\"tidy\" location=\"/s\">\nReferences\n\n# T\n</skill>\n\nthe sources"
            ),
            skill("tidy", "References\n\n# T")
        );
        for no in [
            "<skill name=\"tidy\" location=\"/s\">\nno end",
            "<skill>\nno name\n</skill>",
            "use <skill name=\"a\" location=\"b\">\nc\n</skill>",
            "<skill name=\"a\" location=\"b\">\nc\n</skill> and more",
        ] {
            assert_eq!(one(no), [], "{no}");
        }
    }
}
