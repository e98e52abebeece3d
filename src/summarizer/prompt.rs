//! The prompt for a model that writes a summary. The prompts of published systems are kept verbatim as files.
//!
//! Never contains text of a transcript: this is data, and is sent to a model separately.

use crate::policy::{Policy, Prompt};

/// The placeholder in a prompt for how long the summary should be.
const SIZE: &str = "{targetTokens}";

/// The text of a prompt's file.
fn file(prompt: Prompt) -> &'static str {
    match prompt {
        Prompt::Handover => include_str!("prompts/handover.md"),
        Prompt::Chronological => include_str!("prompts/chronological.md"),
        Prompt::EightSections => include_str!("prompts/eight-sections.md"),
        Prompt::Continuity => include_str!("prompts/continuity.md"),
        Prompt::Structured => include_str!("prompts/structured.md"),
        Prompt::Brief => include_str!("prompts/brief.md"),
    }
}

/// The policy's prompt for a summary of about `tokens` tokens, with what it must keep in particular; "" = nothing.
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
    use crate::policy::{preset, presets};

    fn of(preset_name: &str, instructions: &str) -> String {
        prompt(&preset(preset_name).unwrap(), 8_000, instructions)
    }

    #[test]
    fn the_published_prompts_are_verbatim() {
        let layered = "Summarize this conversation chronologically: goals, actions, decisions, current state...";
        assert_eq!(of("layered", ""), layered);
        let reset = "Summarize this conversation for continuity. Include: 1) What was accomplished, 2) Current state, \
                     3) Key decisions made. Be concise but preserve critical details.";
        assert_eq!(of("reset", " "), reset);
        let eight = of("offload-first", "");
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
    fn what_must_be_kept_comes_last() {
        let reset = of("reset", " the parser\n");
        let end = "details.\n\nKeep in particular: the parser";
        assert!(reset.ends_with(end), "{reset}");
    }

    #[test]
    fn no_prompt_has_a_placeholder_left() {
        for preset in presets().unwrap() {
            let prompt = prompt(&preset, 8_000, "");
            assert!(!prompt.contains(['{', '}']), "{}", preset.name);
        }
    }
}
