//! The prompt for a provider: a shipped one, or the user's own words, which may be in a file.
//!
//! Data only: no file is read here. The words are part of the policy, so that its hash covers them.

use serde::{Deserialize, Serialize};

use super::choice::choice;

/// `summary.prompt`: the prompt for a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Prompt {
    /// A shipped one.
    Shipped(ShippedPrompt),
    /// The words of a prompt of the user's own.
    Own(String),
}

/// The prefix for the words of a prompt.
pub(super) const WORDS_FOLLOW: &str = "text:";
/// The prefix for the path of a file with the words.
pub(super) const PATH_FOLLOWS: &str = "file:";
/// The placeholder in a prompt for the requested size of the summary.
pub const SIZE_PLACEHOLDER: &str = "{targetTokens}";
/// The placeholder in a prompt for what the summary must keep.
pub const INSTRUCTIONS_PLACEHOLDER: &str = "{instructions}";

impl Prompt {
    /// The form in which a policy writes the words of a prompt.
    ///
    /// # Errors
    /// What is wrong with the words: they are empty, or contain an unknown placeholder.
    pub fn written(words: &str) -> Result<String, String> {
        if words.trim().is_empty() {
            return Err("the prompt is empty".to_owned());
        }
        match unknown_placeholder(words) {
            None => Ok(format!("{WORDS_FOLLOW}{words}")),
            Some(name) => Err(format!(
                "the prompt contains {name}, which is not a placeholder; placeholders are {SIZE_PLACEHOLDER} and {INSTRUCTIONS_PLACEHOLDER}"
            )),
        }
    }

    /// The path in a value that names a file.
    pub fn path_in(value: &str) -> Option<&str> {
        value.strip_prefix(PATH_FOLLOWS)
    }
}

/// The first `{word}` in a prompt that is not a known placeholder. Other braces, as in JSON, are text.
fn unknown_placeholder(words: &str) -> Option<&str> {
    let starts = words.match_indices('{').map(|(at, _)| &words[at..]);
    starts
        .filter_map(|rest| {
            let written = &rest[..rest.find('}')? + 1];
            let name = &written[1..written.len() - 1];
            let is_word = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
            is_word.then_some(written)
        })
        .find(|name| ![SIZE_PLACEHOLDER, INSTRUCTIONS_PLACEHOLDER].contains(name))
}

impl TryFrom<String> for Prompt {
    type Error = String;

    fn try_from(written: String) -> Result<Self, String> {
        if let Some(words) = written.strip_prefix(WORDS_FOLLOW) {
            return Ok(Prompt::Own(words.to_owned()));
        }
        let shipped = ShippedPrompt::ALL.iter().find(|p| p.name() == written);
        let shipped = shipped.copied().map(Prompt::Shipped);
        shipped.ok_or_else(|| format!("{written:?} is not a prompt"))
    }
}

impl From<Prompt> for String {
    fn from(prompt: Prompt) -> Self {
        match prompt {
            Prompt::Shipped(shipped) => shipped.name().to_owned(),
            Prompt::Own(words) => format!("{WORDS_FOLLOW}{words}"),
        }
    }
}

choice! {
    /// `summary.prompt`: which of the shipped prompts a provider is given.
    ///
    /// A variant is named after what its prompt asks for. The words are those of the systems from which the prompts come, and part
    /// of every policy's hash.
    ShippedPrompt {
        /// Our own: the narrative of a session for whoever continues the work, by section, with citations.
        Handover = "auto",
        /// Chronological: goals, actions, decisions, current state.
        Chronological = "layered",
        /// Eight sections, from technical context to key decisions.
        EightSections = "offload-first",
        /// What was accomplished, the current state, key decisions.
        Continuity = "reset",
        /// In Chinese: needs, decisions, file changes, to-dos.
        Structured = "boundary",
        /// Requests, decisions, changes and open work, in prose.
        Brief = "turns",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_a_word_or_words_of_ones_own() {
        let read = |written: &str| Prompt::try_from(written.to_owned());
        assert_eq!(
            read("layered"),
            Ok(Prompt::Shipped(ShippedPrompt::Chronological))
        );
        assert_eq!(
            read("text:Be short."),
            Ok(Prompt::Own("Be short.".to_owned()))
        );
        assert!(read("file:a.md").is_err() && read("layerd").is_err());
        for written in ["layered", "text: a\nb "] {
            assert_eq!(String::from(read(written).unwrap()), written);
        }
    }

    #[test]
    fn placeholders_are_known_and_other_braces_are_text() {
        for fine in [
            "In {targetTokens} tokens. {instructions}",
            r#"As {"files": [{"path": "a"}]}, {} and {a b}, {open"#,
        ] {
            assert_eq!(Prompt::written(fine), Ok(format!("text:{fine}")));
        }
        let wrong = Prompt::written("Within {target_tokens}: {\"a\": 1}").unwrap_err();
        assert!(
            wrong.starts_with("the prompt contains {target_tokens}, which"),
            "{wrong}"
        );
        assert_eq!(
            Prompt::written(" \n"),
            Err("the prompt is empty".to_owned())
        );
    }
}
