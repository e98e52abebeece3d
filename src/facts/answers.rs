//! User input delivered through tools: answers to questions, and comments on a refusal.
//!
//! PURE. Strips the agents' fixed wording around such input and keeps the user's text. Never reads the result of any other tool as
//! an answer, whatever its text.

use std::collections::hash_map::Entry;

use super::exchanges::{Exchange, text_of};
use super::input::Input;
use super::plan_answer::{feedback, shows_plan};
use super::refused::{is_hint, says_it_was_refused};
use super::result_author::{ResultAuthor, whose};
use super::{beginning, block_text};
use crate::ids::IdMap;
use crate::transcript::{Outcome, Transcript};
use questions::Questions;

mod questions;

/// The tools with which agents ask the user something.
const ASKING: [&str; 15] = [
    "AskUser",
    "AskUserQuestion",
    "ask_followup_question",
    "ask_question",
    "ask_questions",
    "ask_user",
    "ask_user_question",
    "ask_user_questions",
    "clarify",
    "plan_mode_respond",
    "question",
    "questionnaire",
    "request_user_input",
    "userInput",
    "vscode_askQuestions",
];

/// The user's words in the results of calls, keyed by the result's block.
pub(super) fn answers(transcript: &Transcript<'_>, calls: &[Exchange]) -> IdMap<u32, String> {
    let mut all: IdMap<u32, String> = IdMap::default();
    for call in calls {
        let Some(result) = call.result else {
            continue;
        };
        let words = match is_asking(transcript, call) {
            true => answer(
                &text_of(transcript, result, call.inner.as_deref()),
                transcript.block(result.block).outcome,
                bare(transcript, &call.tool(transcript)),
                &Questions::of(&call.input(transcript)),
            ),
            false if shows_plan(&call.tool(transcript)) => {
                feedback(transcript, call).or_else(|| refusal(transcript, call))
            }
            false => refusal(transcript, call),
        };
        if let Some(words) = words {
            match all.entry(result.block) {
                Entry::Occupied(mut before) => {
                    before.get_mut().push('\n');
                    before.get_mut().push_str(&words);
                }
                Entry::Vacant(none) => {
                    none.insert(words);
                }
            }
        }
    }
    all
}

/// Whether a call asks the user something.
pub(super) fn is_asking(transcript: &Transcript<'_>, call: &Exchange) -> bool {
    ASKING.contains(&&*call.tool(transcript))
}

/// How to read a result without any of the fixed wording in which agents pass an answer on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bare {
    /// The answer itself.
    Answer,
    /// An answer only where it is marked as the user's.
    Unknown,
}

fn bare(transcript: &Transcript<'_>, tool: &str) -> Bare {
    /// Names also used by tools that query an index or a model, not the user. In the log of an agent, they are the agent's own
    /// tools.
    const OF_OTHERS: [&str; 5] = [
        "ask_question",
        "ask_questions",
        "clarify",
        "question",
        "questionnaire",
    ];
    match tool {
        // Without such a mark, the result is a note to the model.
        "plan_mode_respond" => Bare::Unknown,
        _ if OF_OTHERS.contains(&tool) && transcript.links().is_empty() => Bare::Unknown,
        _ => Bare::Answer,
    }
}

/// The answers in the result text of a tool that asked these questions.
fn answer(said: &str, outcome: Outcome, bare: Bare, questions: &Questions) -> Option<String> {
    /// Claude Code in several versions, OpenCode: each question with its answer.
    const PAIRS: [&str; 3] = [
        "User has answered your questions: ",
        "Your questions have been answered: ",
        "The user answered: ",
    ];
    /// Copilot CLI, extensions of pi: the answer to one question.
    const ONE: [&str; 8] = [
        "User selected: ",
        "User responded: ",
        "User answered: ",
        "User wrote: ",
        "The user selected: ",
        "The user responded: ",
        "The user replied: ",
        "The user wrote: ",
    ];
    /// Qwen Code.
    const LIST: &str = "User has provided the following answers:";
    /// Claude Code, when the user wants to discuss the questions first, whether or not some are already answered.
    const CLARIFIES: &str = "The user wants to clarify these questions.";
    let said = said.trim();
    let after = |begins: &[&str]| begins.iter().find_map(|begin| said.strip_prefix(begin));
    if let Some(pairs) = after(&PAIRS) {
        return Some(questions.shortened_in(without_advice(pairs)));
    }
    if let Some(one) = after(&ONE) {
        return (!is_nobody(one)).then(|| pair(questions.first(), one));
    }
    if let Some(list) = said.strip_prefix(LIST) {
        return Some(list.trim().to_owned()).filter(|list| !list.is_empty());
    }
    if said.starts_with(CLARIFIES) {
        return before_clarifying(said, questions);
    }
    if let Some(answers) = in_json(said, questions) {
        return answers;
    }
    if let Some(marked) = marked(said) {
        return (!marked.is_empty()).then(|| pair(questions.first(), marked));
    }
    if outcome == Outcome::Failed || bare == Bare::Unknown || says_none(said) {
        return None;
    }
    (!said.is_empty() && !is_nobody(said)).then(|| pair(questions.first(), said))
}

/// The part that a text marks as the user's words, as Cline does: on its own, or after its note that the user switched to act mode.
/// File contents may follow.
fn marked(said: &str) -> Option<&str> {
    const NOTE: &str = "[The user has switched to ACT MODE";
    const MARKS: [(&str, &str); 2] = [
        ("<answer>", "</answer>"),
        ("<user_message>", "</user_message>"),
    ];
    const FILES: [&str; 2] = ["Files attached by the user:", "<file_content"];
    let is_noted = said.starts_with(NOTE);
    MARKS.iter().find_map(|(begin, end)| {
        let words = match is_noted {
            true => said.split_once(begin)?.1,
            false => said.strip_prefix(begin)?,
        };
        // The user's words or a file may contain the mark, too.
        let is_last = |at: &usize| {
            let after = words[at + end.len()..].trim_start();
            after.is_empty() || FILES.iter().any(|files| after.starts_with(files))
        };
        let mut ends = words.match_indices(end).map(|(at, _)| at);
        let at = ends.find(is_last).or_else(|| words.rfind(end))?;
        Some(words[..at].trim())
    })
}

/// Whether the answer comes from an unattended agent itself.
fn is_nobody(answer: &str) -> bool {
    answer.starts_with("The user is not available to respond")
}

/// Whether a text in none of the known answer forms says that there is no answer. The user's own answer may begin with the same
/// words.
fn says_none(said: &str) -> bool {
    const BEGINNINGS: [&str; 18] = [
        "User dismissed",
        "User declined",
        "User cancelled",
        "User canceled",
        "User skipped",
        "User has declined",
        "The user dismissed",
        "The user declined",
        "The user cancelled",
        "The user skipped",
        "The user doesn't want to",
        "The user did not",
        "The tool execution failed",
        "request_user_input ",
        "aborted by user",
        "Error executing ",
        "Error calling ",
        "[The user has switched to ACT MODE",
    ];
    let is_error = |begin: &str| begin.eq_ignore_ascii_case("error:");
    let begins = |begin: &&str| said.starts_with(*begin);
    said == "aborted"
        || BEGINNINGS.iter().any(begins)
        || said.get(.."error:".len()).is_some_and(is_error)
        || is_hint(said)
        || said.starts_with("<error")
        || is_agents_note(said)
        || reports(said)
}

/// Whether a text is a note of the agent in brackets, not a list of choices.
fn is_agents_note(said: &str) -> bool {
    let inside = said
        .strip_prefix('[')
        .and_then(|said| said.strip_suffix(']'));
    inside.is_some_and(|inside| {
        let inside = inside.trim();
        inside.is_empty() || !inside.starts_with(['"', '{']) && !inside.contains(']')
    })
}

/// Whether a text is a JSON object in which a tool reports what became of its call.
fn reports(said: &str) -> bool {
    const KEYS: [&str; 12] = [
        "action",
        "canceled",
        "cancelled",
        "declined",
        "dismissed",
        "error",
        "errors",
        "message",
        "outcome",
        "skipped",
        "status",
        "success",
    ];
    if !said.starts_with('{') {
        return false;
    }
    let said = Input::in_value(said.as_bytes());
    said.is_object() && (said.has(&KEYS) || said.names().next().is_none())
}

/// The text before the agent's closing advice to its model.
fn without_advice(pairs: &str) -> &str {
    const ADVICE: [&str; 2] = [". You can now continue with ", ". Read the answers "];
    let end = ADVICE.iter().filter_map(|advice| pairs.rfind(advice)).min();
    match end {
        // Within an answer, it is the user's.
        Some(end) if !pairs[end..].contains('"') => &pairs[..end],
        Some(_) | None => pairs,
    }
}

/// An answer with its question.
fn pair(question: Option<&str>, answer: &str) -> String {
    match question {
        Some(question) => format!("\"{question}\"=\"{}\"", answer.trim()),
        None => answer.trim().to_owned(),
    }
}

/// The answers that were given before a user wanted to talk about the questions.
fn before_clarifying(said: &str, questions: &Questions) -> Option<String> {
    let mut asked = None;
    let mut all = Vec::new();
    for line in said.lines().map(str::trim) {
        if let Some(question) = line.strip_prefix("- \"") {
            asked = question.strip_suffix('"');
        } else if let Some(answer) = line.strip_prefix("Answer: ") {
            let question = asked.and_then(|asked| questions.with_text(asked));
            all.push(pair(question, answer));
        }
    }
    (!all.is_empty()).then(|| all.join(", "))
}

/// The answers in a JSON object: `{"answers": {…}}`, each a text, a list of texts, or an object with some of either. `None` if it is
/// not such an object; `None` inside if it has no answer.
fn in_json(said: &str, questions: &Questions) -> Option<Option<String>> {
    /// The keys under which an object holds answers of the user.
    const PARTS: [&str; 8] = [
        "answers", "selected", "answer", "value", "freeText", "notes", "other", "text",
    ];
    if !said.starts_with('{') {
        return None;
    }
    let said = Input::in_value(said.as_bytes());
    if let Some(several) = said.objects("answers") {
        let of = |one: &Input<'_>| {
            let answer = one.text(&["answer", "value", "selected"])?;
            let question = one.text(&["question", "id", "header"]);
            let known = question.and_then(|question| questions.named(&question));
            Some(pair(known, &answer))
        };
        let all: Vec<String> = several.iter().filter_map(of).collect();
        return Some((!all.is_empty()).then(|| all.join(", ")));
    }
    let answers = said.object("answers")?;
    let texts_of = |of: &Input<'_>, key: &str| -> Vec<String> {
        let one = of.text(&[key]).map(|text| vec![text.into_owned()]);
        let mut texts = one.or_else(|| of.texts(&[key])).unwrap_or_default();
        texts.retain(|text| !text.trim().is_empty());
        texts
    };
    let mut all = Vec::new();
    for (key, answer) in answers.each() {
        let key = &*key;
        let texts = match answer.object(key).filter(Input::is_object) {
            Some(parts) => PARTS
                .iter()
                .flat_map(|part| texts_of(&parts, part))
                .collect(),
            None => texts_of(&answer, key),
        };
        if texts.is_empty() {
            continue;
        }
        all.push(pair(questions.named(key), &texts.join(", ")));
    }
    Some((!all.is_empty()).then(|| all.join(", ")))
}

/// The comment that the user added when refusing a call.
fn refusal(transcript: &Transcript<'_>, call: &Exchange) -> Option<String> {
    /// How such a result begins, and what is before the user's words: Claude Code in several versions, Copilot CLI, OpenCode, Gemini
    /// CLI, Cline.
    const BEGINNINGS: [(&str, &[&str]); 6] = [
        (
            "The user doesn't want to ",
            &[
                "the user said:\n",
                "the following reason for the rejection:",
            ],
        ),
        ("The user rejected ", &["eedback: "]),
        ("User rejected ", &["eedback: "]),
        ("Plan rejected. User feedback: ", &["eedback: "]),
        ("The tool call is rejected by the user", &["eedback: "]),
        ("The user denied this operation", &["<feedback>"]),
    ];
    /// What follows them.
    const ENDS: [&str; 3] = [
        "\n\nThe plan is stored at: ",
        "\n\nNote: The user's next message may contain a correction or preference.",
        "</feedback>",
    ];
    /// At least as long as the longest beginning, and as the longest sentence, in characters.
    const LONGEST: usize = 40;
    const SENTENCE: usize = 160;
    let result = call.result.filter(|_| call.inner.is_none())?;
    let block = transcript.block(result.block);
    if block.outcome == Outcome::Failed
        && let Some(reason) = reason(&block_text(transcript, block), &call.tool(transcript))
    {
        return Some(reason.to_owned());
    }
    let begins = beginning(transcript, block, LONGEST);
    let (_, before) = BEGINNINGS
        .iter()
        .find(|(begin, _)| begins.starts_with(begin))?;
    let is_agents = match whose(transcript, call, result) {
        ResultAuthor::Agents => true,
        // Without a flag for refusals, only a complete sentence of the agent distinguishes one from text that a tool shows.
        ResultAuthor::Either => {
            transcript.links().is_empty()
                && says_it_was_refused(&beginning(transcript, block, SENTENCE))
        }
        ResultAuthor::Shown => false,
    };
    if !is_agents {
        return None;
    }
    let said = block_text(transcript, block);
    // The user may have written one of them, too.
    let after = |words: &&str| Some(said.find(words)? + words.len());
    let words = &said[before.iter().filter_map(after).min()?..];
    let end = ENDS.iter().filter_map(|end| words.find(end)).min();
    let words = words[..end.unwrap_or(words.len())].trim();
    (!words.is_empty()).then(|| words.to_owned())
}

/// The reason in Kimi's sentence for a call that the user rejected, which names the tool. What follows it in a subagent is the
/// agent's advice.
fn reason<'s>(said: &'s str, tool: &str) -> Option<&'s str> {
    const SENTENCE: &str =
        "\" was not run because the user rejected the approval request. Reason: ";
    const ADVICE: &str = " Try a different approach — don't retry the same call, don't attempt to bypass the restriction.";
    let named = said.trim().strip_prefix("Tool \"")?.strip_prefix(tool)?;
    let reason = named.strip_prefix(SENTENCE)?;
    let reason = reason.strip_suffix(ADVICE).unwrap_or(reason).trim();
    (!reason.is_empty()).then_some(reason)
}

#[cfg(test)]
mod tests;
