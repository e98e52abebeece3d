//! What a model is told to write: the published systems' own words, kept as files.
//!
//! Never holds words of a transcript: these are data, and go to a model apart from what it is told.

use crate::policy::{Policy, Prompt};

/// Where a prompt says how long the summary shall be.
const SIZE: &str = "{targetTokens}";

/// The text of a prompt, as its file has it.
fn file(prompt: Prompt) -> &'static str {
    match prompt {
        Prompt::Auto => include_str!("prompts/auto.md"),
        Prompt::Layered => include_str!("prompts/layered.md"),
        Prompt::OffloadFirst => include_str!("prompts/offload-first.md"),
        Prompt::Reset => include_str!("prompts/reset.md"),
        Prompt::Boundary => include_str!("prompts/boundary.md"),
        Prompt::Turns => include_str!("prompts/turns.md"),
    }
}

/// What the policy tells a model that shall write a summary of about `tokens` tokens, with what it must keep in
/// particular; "" = nothing.
pub fn prompt(policy: &Policy, tokens: u64, instructions: &str) -> String {
    let mut text = file(policy.summary.prompt)
        .trim_end()
        .replace(SIZE, &tokens.to_string());
    if !instructions.trim().is_empty() {
        text.push_str("\n\nKeep in particular: ");
        text.push_str(instructions.trim());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::preset;

    fn told(name: &str, instructions: &str) -> String {
        prompt(&preset(name).unwrap(), 8_000, instructions)
    }

    #[test]
    fn the_published_words_stand_as_they_are() {
        let layered = "Summarize this conversation chronologically: goals, actions, decisions, current state...";
        assert_eq!(told("layered", ""), layered);
        let reset = "Summarize this conversation for continuity. Include: 1) What was accomplished, 2) Current state, \
                     3) Key decisions made. Be concise but preserve critical details.";
        assert_eq!(told("reset", " "), reset);
        let eight = told("offload-first", "");
        let sections = eight.lines().filter(|line| line.starts_with("## "));
        assert_eq!(
            sections.collect::<Vec<_>>(),
            [
                "## Technical Context",
                "## Project Overview",
                "## Code Changes",
                "## Debugging & Issues",
                "## Current Status",
                "## Pending Tasks",
                "## User Preferences",
                "## Key Decisions",
            ]
        );
        let (first, last) = (
            "Please provide a comprehensive summary of our conversation structured as follows:\n",
            "Focus on information essential for continuing effectively. Target length: approximately 8000 tokens.",
        );
        assert!(eight.starts_with(first) && eight.ends_with(last), "{eight}");
    }

    #[test]
    fn what_must_be_kept_stands_at_the_end() {
        let told = told("reset", " the parser\n");
        assert!(
            told.ends_with("details.\n\nKeep in particular: the parser"),
            "{told}"
        );
    }

    #[test]
    fn no_prompt_has_a_place_left_to_fill_in() {
        for name in [
            "auto",
            "layered",
            "offload-first",
            "reset",
            "boundary",
            "turns",
        ] {
            assert!(!told(name, "").contains(['{', '}']), "{name}");
        }
    }
}
