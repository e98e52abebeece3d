//! Rejects answers that are not summaries (refusals, echoes), in any language.
//!
//! PURE. Recognises refusals and echoes by their form; a merely bad summary passes.

use super::{Given, checked_names};

/// The minimum number of letters and digits in a summary.
const FEWEST: usize = 12;
/// For a long record, the summary needs one letter per this many bytes, up to [`MOST_ASKED`] letters.
const BYTES_A_LETTER: usize = 2_000;
/// The maximum number of letters that a summary is required to have.
const MOST_ASKED: usize = 400;
/// A refusal is shorter than this, in characters.
const LONGEST_REFUSAL: usize = 600;
/// A shorter line, in characters, does not reveal its origin.
const SHORT_LINE: usize = 20;

/// Why an answer is not a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSummary {
    /// Nothing, or nearly nothing.
    TooShort,
    /// The model says that it will not, or cannot.
    Refusal,
    /// It repeats the instructions or the record itself.
    Echo,
    /// It names nothing that the record names.
    Unrelated,
}

impl NoSummary {
    /// For people, after "the answer".
    pub fn why(self) -> &'static str {
        match self {
            NoSummary::TooShort => "is too short to be a summary",
            NoSummary::Refusal => "refuses to summarise",
            NoSummary::Echo => "repeats what was sent instead of summarising it",
            NoSummary::Unrelated => "names nothing that the conversation names",
        }
    }
}

/// Fails for an answer that is not a summary of what was `given`, as requested by `prompt`.
///
/// # Errors
/// What it is instead.
pub fn floor(text: &str, prompt: &str, given: &Given) -> Result<(), NoSummary> {
    let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
    let least = (given.len() / BYTES_A_LETTER).clamp(FEWEST, MOST_ASKED);
    if is_refusal(text) {
        return Err(NoSummary::Refusal);
    }
    if letters < least {
        return Err(NoSummary::TooShort);
    }
    if is_echo(text, prompt) {
        return Err(NoSummary::Echo);
    }
    let is_related = checked_names(text).iter().any(|name| given.has(name));
    if !is_related && given.needs_name() {
        return Err(NoSummary::Unrelated);
    }
    Ok(())
}

/// How refusals begin.
const REFUSALS: [&str; 22] = [
    "i'm sorry",
    "i’m sorry",
    "i am sorry",
    "sorry,",
    "i can't",
    "i can’t",
    "i cannot",
    "i'm not able",
    "i’m not able",
    "i'm unable",
    "i’m unable",
    "i am unable",
    "i won't",
    "i apologize",
    "as an ai",
    "抱歉",
    "很抱歉",
    "对不起",
    "我无法",
    "我不能",
    "申し訳",
    "lo siento",
];

fn is_refusal(text: &str) -> bool {
    let start: String = text.trim_start().chars().take(40).collect();
    let start = start.to_lowercase();
    let is_short = text.chars().nth(LONGEST_REFUSAL).is_none();
    is_short && REFUSALS.iter().any(|refusal| start.starts_with(refusal))
}

/// Whether most lines of a text are from the prompt, or it has the labels of the record.
fn is_echo(text: &str, prompt: &str) -> bool {
    let long = |line: &&str| line.chars().nth(SHORT_LINE).is_some();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(long).collect();
    let of_prompt = lines.iter().filter(|line| prompt.contains(**line)).count();
    let labels = ["[user]", "[assistant]", "[call ", "[result "];
    let is_label = |line: &&str| {
        // `[L12 user]`: if lines can be cited, labels contain their line number.
        let cited = line.strip_prefix("[L");
        let after = cited.map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        let plain = after.and_then(|rest| rest.strip_prefix(' '));
        labels.iter().any(|label| {
            line.starts_with(label) || plain.is_some_and(|rest| rest.starts_with(&label[1..]))
        })
    };
    of_prompt * 2 > lines.len() || text.lines().filter(is_label).count() >= 3
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: &str = "Summarise the session below for the agent that continues it.\nName the files that were changed.\nQuote the user.";

    fn judged(text: &str) -> Result<(), NoSummary> {
        let record = (0..30).map(|n| format!("edited src/file_{n}.rs for task_{n}"));
        floor(text, PROMPT, &Given::new(record))
    }

    #[test]
    fn what_is_no_summary_is_known() {
        for (text, expected) in [
            ("Ok.", NoSummary::TooShort),
            ("", NoSummary::TooShort),
            ("\u{200b}\u{200b}\u{feff}", NoSummary::TooShort),
            ("I'm sorry, but I can't help with that.", NoSummary::Refusal),
            (
                "我无法完成这个请求，因为它违反了我的使用政策。",
                NoSummary::Refusal,
            ),
            (PROMPT, NoSummary::Echo),
            (
                "[user]\nfix src/file_1.rs\n\n[assistant]\nyes, I look at it\n\n[call Bash]\n{\"command\": \"ls -la src\"}",
                NoSummary::Echo,
            ),
            (
                "[L1 user]\nfix src/file_1.rs\n\n[L2 assistant]\nyes, I look at it\n\n[L2 call Bash]\n{\"command\": \"ls -la src\"}",
                NoSummary::Echo,
            ),
            (
                "The user asked for a poem about the sea, and it was written in four verses.",
                NoSummary::Unrelated,
            ),
        ] {
            assert_eq!(judged(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn a_summary_in_any_language_passes() {
        for text in [
            "The user wants task_3 done; src/file_3.rs was edited and its tests pass now.",
            "用户要求完成 task_3；已编辑 src/file_3.rs，测试现已全部通过，下一步是提交更改并检查结果是否正确，然后继续处理其余的任务。",
            "Sorry state of src/file_1.rs: it was edited for task_1 and the tests still fail there.",
        ] {
            assert_eq!(judged(text), Ok(()), "{text}");
        }
        // The summary of one part of a record may lack names.
        let part = Given::of_part((0..30).map(|n| format!("edited src/file_{n}.rs")));
        let text = "The user had many files edited, one after the other, and thanked for it.";
        assert_eq!(floor(text, PROMPT, &part), Ok(()));
        assert_eq!(judged(text), Err(NoSummary::Unrelated));
        // A record without names needs none.
        let given = Given::new(["hello, how are you?", "fine"]);
        let text = "Both said hello and asked how the other was; nothing else happened so far.";
        assert_eq!(floor(text, PROMPT, &given), Ok(()));
    }
}
