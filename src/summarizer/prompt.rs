//! The prompt for a model that writes a summary. The prompts of published systems are kept verbatim as files.
//!
//! Never contains text of a transcript: that is data and is sent to the model separately.

use crate::policy::{INSTRUCTIONS_PLACEHOLDER, Policy, Prompt, SIZE_PLACEHOLDER, ShippedPrompt};

/// The text of a prompt's file. A changed prompt of our own gets a new number in its name. Answers to an older wording are not
/// reused, since the wording is part of a request's name in the store.
fn file(prompt: ShippedPrompt) -> &'static str {
    match prompt {
        ShippedPrompt::Handover => include_str!("prompts/handover-2.md"),
        ShippedPrompt::Chronological => include_str!("prompts/chronological.md"),
        ShippedPrompt::EightSections => include_str!("prompts/eight-sections.md"),
        ShippedPrompt::Continuity => include_str!("prompts/continuity.md"),
        ShippedPrompt::Structured => include_str!("prompts/structured.md"),
        ShippedPrompt::Brief => include_str!("prompts/brief.md"),
    }
}

/// The policy's prompt for a summary of about `tokens` tokens; `instructions` states what it must keep in particular; "" = nothing.
pub fn prompt(policy: &Policy, tokens: u64, instructions: &str) -> String {
    let words = match &policy.summary.prompt {
        Prompt::Shipped(shipped) => file(*shipped),
        Prompt::Own(words) => words,
    };
    let is_placed = words.contains(INSTRUCTIONS_PLACEHOLDER);
    // The size comes first: the user's instructions may themselves contain braces.
    let mut text = words
        .trim_end()
        .replace(SIZE_PLACEHOLDER, &tokens.to_string());
    if is_placed {
        text = text.replace(INSTRUCTIONS_PLACEHOLDER, instructions.trim());
    } else if !instructions.trim().is_empty() {
        text.push_str("\n\nKeep in particular: ");
        text.push_str(instructions.trim());
    }
    text
}

/// A prompt for one part of a longer conversation.
pub fn of_part(prompt: &str) -> String {
    format!("{prompt}\n\n{}", include_str!("prompts/part.md").trim_end())
}

/// A prompt for the summaries of all parts of a conversation but the last, followed by the last part itself.
pub fn of_last(prompt: &str) -> String {
    format!("{prompt}\n\n{}", include_str!("prompts/last.md").trim_end())
}

/// A prompt for merging the summaries of all parts of a conversation.
pub fn of_merge(prompt: &str) -> String {
    format!(
        "{prompt}\n\n{}",
        include_str!("prompts/merge.md").trim_end()
    )
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
    fn a_prompt_of_ones_own_has_its_placeholders_replaced() {
        let mut policy = preset("auto").unwrap();
        policy.summary.prompt = Prompt::Own("In {targetTokens}, {\"a\": 1}.\n".to_owned());
        let of = |policy: &Policy, keep: &str| prompt(policy, 900, keep);
        assert_eq!(of(&policy, ""), "In 900, {\"a\": 1}.");
        let appended = "In 900, {\"a\": 1}.\n\nKeep in particular: {targetTokens}";
        assert_eq!(of(&policy, "{targetTokens}"), appended);
        policy.summary.prompt = Prompt::Own("Keep {instructions}; {targetTokens}.".to_owned());
        assert_eq!(of(&policy, " a, b\n"), "Keep a, b; 900.");
        assert_eq!(of(&policy, ""), "Keep ; 900.");
    }

    #[test]
    fn no_prompt_has_a_placeholder_left() {
        for preset in presets().unwrap() {
            let prompt = prompt(&preset, 8_000, "");
            assert!(!prompt.contains(['{', '}']), "{}", preset.name);
        }
    }
}
