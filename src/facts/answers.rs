//! What the user said through tools: answers to questions that an agent asks by a call, and words beside a refusal.
//!
//! PURE. Knows the words in which agents hand these on, and takes them away; the user's own stay as they are. A result of any other
//! tool is never read as an answer, whatever it says.

use std::borrow::Cow;

use super::decisions::sentences;
use super::exchanges::{Exchange, text_of};
use super::input::Input;
use super::whose::{Whose, whose};
use super::{beginning, block_text};
use crate::ids::IdMap;
use crate::transcript::{Outcome, Transcript};

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

/// How much of a question is told with its answer, in bytes.
const LONGEST_QUESTION: usize = 160;

/// Stands where a question was cut.
const CUT: &str = "…";

/// The user's words in the results of calls, by the blocks of these.
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
                &questions(&call.input(transcript)),
            ),
            false => refusal(transcript, call),
        };
        if let Some(words) = words {
            all.entry(result.block)
                .and_modify(|before| *before = format!("{before}\n{words}"))
                .or_insert(words);
        }
    }
    all
}

/// Whether a call asks the user something.
pub(super) fn is_asking(transcript: &Transcript<'_>, call: &Exchange) -> bool {
    ASKING.contains(&&*call.tool(transcript))
}

/// A question of a call, and the names under which an answer may refer to it.
struct Question {
    text: String,
    names: Vec<String>,
}

fn questions(input: &Input<'_>) -> Vec<Question> {
    const TEXTS: [&str; 5] = ["question", "prompt", "text", "message", "response"];
    let read = |(number, of): (usize, &Input<'_>)| {
        let text = of.text(&TEXTS)?.trim().to_owned();
        let keys = ["id", "header", "title"];
        let mut names: Vec<String> = keys
            .iter()
            .filter_map(|key| of.text(&[key]))
            .map(Cow::into_owned)
            .collect();
        names.push(number.to_string());
        names.push(text.clone());
        Some(Question { text, names })
    };
    match input.objects("questions") {
        Some(several) => several.iter().enumerate().filter_map(read).collect(),
        None => read((0, input)).into_iter().collect(),
    }
}

/// The answers in what a tool says that asked these questions.
fn answer(said: &str, outcome: Outcome, questions: &[Question]) -> Option<String> {
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
    /// Claude Code, of a user who wants to talk about the questions first, whatever has been answered till then.
    const CLARIFIES: &str = "The user wants to clarify these questions.";
    let said = said.trim();
    let after = |begins: &[&str]| begins.iter().find_map(|begin| said.strip_prefix(begin));
    if let Some(pairs) = after(&PAIRS) {
        return Some(with_short_questions(without_advice(pairs), questions));
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
    if outcome == Outcome::Failed || says_none(said) {
        return None;
    }
    let bare = said
        .strip_prefix("<answer>")
        .and_then(|rest| rest.strip_suffix("</answer>"))
        .map_or(said, str::trim);
    (!bare.is_empty() && !is_nobody(bare)).then(|| pair(questions.first(), bare))
}

/// Whether an agent that nobody watches has answered itself.
fn is_nobody(answer: &str) -> bool {
    answer.starts_with("The user is not available to respond")
}

/// Whether a text that is none of the known answers says that there is none.
fn says_none(said: &str) -> bool {
    const BEGINNINGS: [&str; 14] = [
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
        "request_user_input ",
        "aborted",
    ];
    let lower = said.get(..5).map(str::to_ascii_lowercase);
    BEGINNINGS.iter().any(|begin| said.starts_with(begin))
        || lower.as_deref() == Some("error")
        || said.starts_with(['<', '{', '[']) && !said.starts_with("<answer>")
}

/// What comes before the agent's advice to its model in the end.
fn without_advice(pairs: &str) -> &str {
    const ADVICE: [&str; 2] = [". You can now continue with ", ". Read the answers "];
    let end = ADVICE.iter().filter_map(|advice| pairs.rfind(advice)).min();
    match end {
        // Within an answer, it is the user's.
        Some(end) if !pairs[end..].contains('"') => &pairs[..end],
        Some(_) | None => pairs,
    }
}

/// Pairs of questions and answers as an agent writes them, with only so much of each question as tells which it is.
fn with_short_questions(pairs: &str, questions: &[Question]) -> String {
    let mut out = pairs.to_owned();
    for question in questions {
        let short = short(&question.text);
        if short.len() < question.text.len() {
            out = out.replacen(
                &format!("\"{}\"=", question.text),
                &format!("\"{short}\"="),
                1,
            );
        }
    }
    out
}

/// An answer with its question.
fn pair(question: Option<&Question>, answer: &str) -> String {
    match question {
        Some(question) => format!("\"{}\"=\"{}\"", short(&question.text), answer.trim()),
        None => answer.trim().to_owned(),
    }
}

/// The end of a question, which asks; of a long sentence, its beginning.
fn short(question: &str) -> Cow<'_, str> {
    if question.len() <= LONGEST_QUESTION && !question.contains('\n') {
        return Cow::Borrowed(question);
    }
    let asks = sentences(question).last().unwrap_or(question);
    if asks.len() <= LONGEST_QUESTION {
        return Cow::Owned(format!("{CUT} {asks}"));
    }
    let boundaries = asks.char_indices().map(|(at, _)| at);
    let end = boundaries.take_while(|at| *at <= LONGEST_QUESTION).last();
    let end = end.unwrap_or_default();
    let end = asks[..end].rfind(' ').unwrap_or(end);
    Cow::Owned(format!("{} {CUT}", &asks[..end]))
}

/// The answers that were given before a user wanted to talk about the questions.
fn before_clarifying(said: &str, questions: &[Question]) -> Option<String> {
    let mut asked = None;
    let mut all = Vec::new();
    for line in said.lines().map(str::trim) {
        if let Some(question) = line.strip_prefix("- \"") {
            asked = question.strip_suffix('"');
        } else if let Some(answer) = line.strip_prefix("Answer: ") {
            let its = |question: &&Question| Some(&question.text[..]) == asked;
            all.push(pair(questions.iter().find(its), answer));
        }
    }
    (!all.is_empty()).then(|| all.join(", "))
}

/// The answers in a JSON object: `{"answers": {…}}`, each a text, a list of texts, or an object with some of either. `None` if it is
/// not such an object; `None` inside if it has no answer.
fn in_json(said: &str, questions: &[Question]) -> Option<Option<String>> {
    /// Where answers stand in an object, as far as they are the user's.
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
            let its = |known: &&Question| {
                let names = known.names.iter();
                names
                    .map(String::as_str)
                    .any(|name| Some(name) == question.as_deref())
            };
            Some(pair(questions.iter().find(its), &answer))
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
    for key in answers.names() {
        let texts = match answers.object(key).filter(Input::is_object) {
            Some(parts) => PARTS
                .iter()
                .flat_map(|part| texts_of(&parts, part))
                .collect(),
            None => texts_of(&answers, key),
        };
        if texts.is_empty() {
            continue;
        }
        let its = |question: &&Question| question.names.iter().any(|name| name == key);
        all.push(pair(questions.iter().find(its), &texts.join(", ")));
    }
    Some((!all.is_empty()).then(|| all.join(", ")))
}

/// What the user said beside a refusal of a call.
fn refusal(transcript: &Transcript<'_>, call: &Exchange) -> Option<String> {
    /// How such a result begins, and what is before the user's words: Claude Code in several versions, Copilot CLI, OpenCode, Cline.
    const BEGINNINGS: [(&str, &[&str]); 5] = [
        (
            "The user doesn't want to ",
            &[
                "the user said:\n",
                "the following reason for the rejection:",
            ],
        ),
        ("The user rejected ", &["eedback: "]),
        ("User rejected ", &["eedback: "]),
        ("The tool call is rejected by the user", &["eedback: "]),
        ("The user denied this operation", &["<feedback>"]),
    ];
    /// What is behind them.
    const ENDS: [&str; 2] = [
        "\n\nNote: The user's next message may contain a correction or preference.",
        "</feedback>",
    ];
    /// At least as long as the longest beginning, in characters.
    const LONGEST: usize = 40;
    let result = call.result.filter(|_| call.inner.is_none())?;
    let block = transcript.block(result.block);
    let begins = beginning(transcript, block, LONGEST);
    let (_, before) = BEGINNINGS
        .iter()
        .find(|(begin, _)| begins.starts_with(begin))?;
    if whose(transcript, call, result) != Whose::Agents {
        return None;
    }
    let said = block_text(transcript, block);
    let after = |words: &&str| Some(said.split_once(words)?.1);
    let words = before.iter().find_map(after)?;
    let end = ENDS.iter().filter_map(|end| words.find(end)).min();
    let words = words[..end.unwrap_or(words.len())].trim();
    (!words.is_empty()).then(|| words.to_owned())
}

#[cfg(test)]
mod tests;
