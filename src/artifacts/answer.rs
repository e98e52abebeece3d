//! What becomes of a model's answer: it is accepted, accepted without some sentences, requested once more, or rejected.
//!
//! Looks only at the answer and at what its writer was given. If the policy sets no limit on invented names (the published systems
//! accept any answer), the names are counted and the answer is left as it is.

use super::chunked::ReadCoverage;
use super::{ModelError, ModelReply};
use crate::policy::Summary;
use crate::summarizer::gate::{Checked, CitedLines, Given, check, floor};
use crate::text::printable;

/// How many invented names an error shows.
const SHOWN: usize = 3;
/// How many of them a model is told when it is asked once more.
const TOLD: usize = 20;
/// An answer with more than this share of names from elsewhere, and more than [`SHOWN`] of them, is not about this conversation.
const FOREIGN: f64 = 0.2;

/// The answer to a request for a summary.
#[derive(Debug)]
pub struct Answer {
    /// The reply.
    pub reply: ModelReply,
    /// The number of names in its text that are invented.
    pub invented: u64,
    /// The number of sentences that were left out because they hold such names.
    pub dropped: u64,
    /// What its writer has read, if a server was asked.
    pub reading: Option<ReadCoverage>,
    /// The number of lines cited correctly, if citations are checked.
    pub citations: u64,
    /// The number of line citations that were removed.
    pub citations_removed: u64,
    /// Why an answer that was accepted as it is may not be a summary of this conversation.
    pub doubt: Option<String>,
}

impl Answer {
    /// An answer without checked citations.
    fn new(reply: ModelReply, invented: u64, dropped: u64) -> Self {
        Answer {
            reply,
            invented,
            dropped,
            citations: 0,
            citations_removed: 0,
            doubt: None,
            reading: None,
        }
    }

    /// The same answer, with the objection that it would have met if the policy judged answers.
    pub(super) fn doubted(mut self, policy: &Summary, prompt: &str, given: &Given) -> Self {
        if policy.max_invented < 0
            && let Ok(text) = &self.reply.text
        {
            self.doubt = unusable(&check(text, given), prompt, given);
        }
        self
    }

    /// The same answer without incorrect citations.
    pub(super) fn cited(mut self, lines: &CitedLines) -> Self {
        if let Ok(text) = &mut self.reply.text {
            let cited = lines.check(text);
            *text = cited.text;
            self.citations = cited.kept;
            self.citations_removed = cited.removed;
        }
        self
    }
}

/// Judges an answer to `prompt`; `again` asks once more, with these words added to the prompt.
pub(super) fn judged(
    policy: &Summary,
    prompt: &str,
    given: &Given,
    mut reply: ModelReply,
    again: impl FnOnce(&str) -> ModelReply,
) -> Answer {
    let Ok(text) = &reply.text else {
        return Answer::new(reply, 0, 0);
    };
    let mut checked = check(text, given);
    let Ok(most) = u64::try_from(policy.max_invented) else {
        let invented = checked.invented.len() as u64;
        return Answer::new(reply, invented, 0);
    };
    if checked.invented.len() as u64 > most && checked.share() > policy.max_invented_share {
        let second = again(&reproach(&checked));
        reply.attempts += second.attempts;
        reply.spent += second.spent;
        reply.left_out.extend(second.left_out.iter().cloned());
        match second.text {
            // Whether the second answer is better is not known yet.
            Err(error) if error.is_to_come() => {
                reply.text = Err(error);
                return Answer::new(reply, 0, 0);
            }
            Err(_) => {}
            Ok(text) => {
                let better = check(&text, given);
                if better.share() < checked.share() {
                    checked = better;
                    reply.text = Ok(text);
                    reply.ending = second.ending;
                    reply.model = second.model;
                }
            }
        }
    }
    if let Some(why) = unusable(&checked, prompt, given) {
        let why = printable(&why).into_owned();
        reply.text = Err(ModelError::Failed(why));
    } else if checked.dropped > 0 {
        reply.text = Ok(checked.text);
    }
    let dropped = match reply.text {
        Ok(_) => checked.dropped,
        Err(_) => 0,
    };
    Answer::new(reply, 0, dropped)
}

/// Why what is left of an answer is no summary of this conversation.
fn unusable(checked: &Checked, prompt: &str, given: &Given) -> Option<String> {
    if checked.share() > FOREIGN && checked.invented.len() > SHOWN {
        let shown = checked.invented[..SHOWN].join(", ");
        return Some(format!(
            "the answer contains names that are not in the transcript: {shown}"
        ));
    }
    let no_summary = floor(&checked.text, prompt, given).err()?;
    Some(format!("the answer {}", no_summary.why()))
}

/// What a model is told about its first answer.
fn reproach(checked: &Checked) -> String {
    let names = checked.invented.iter().take(TOLD);
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    format!(
        "\n\nYour previous answer used names that do not occur in the record: {}. Rewrite the summary and use only names from the record.",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifacts::Ending;
    use crate::outcome::Spent;
    use crate::policy::preset;

    fn reply(text: &str) -> ModelReply {
        ModelReply {
            text: Ok(text.to_owned()),
            attempts: 1,
            model: None,
            spent: Spent::default(),
            unread: 0,
            ending: Ending::Whole,
            left_out: Default::default(),
            counted: 0,
        }
    }

    /// The outcome of a first answer, and of a second one if it is requested.
    fn of(preset_name: &str, first: &str, second: Option<&str>) -> (Result<String, String>, u64) {
        let given =
            Given::new(["Fixed parse_line in src/parse.rs; next is src/lex.rs, then run --tests."]);
        let policy = preset(preset_name).unwrap().summary;
        let mut asked = 0;
        let answer = judged(&policy, "Summarise.", &given, reply(first), |words| {
            assert!(words.contains("`src/gone.rs`"), "{words}");
            asked += 1;
            reply(second.expect("only one answer was to be asked for"))
        });
        let text = answer.reply.text.map_err(|error| match error {
            ModelError::Failed(why) => why,
            ModelError::Refused(why) | ModelError::TooLong { why, .. } => why,
            ModelError::Waiting(what) => what,
            ModelError::Pending => "pending".to_owned(),
        });
        assert_eq!(answer.reply.attempts, 1 + asked);
        (text, answer.dropped)
    }

    #[test]
    fn a_true_answer_is_taken_as_it_is() {
        let text = "The user had parse_line in src/parse.rs fixed.\n\nNext is src/lex.rs.  ";
        assert_eq!(of("auto", text, None), (Ok(text.to_owned()), 0));
    }

    #[test]
    fn one_that_invents_is_asked_for_once_more_and_then_loses_its_sentences() {
        let first = "The user had parse_line in src/parse.rs fixed. Then src/gone.rs was removed.";
        let better = "The user had parse_line in src/parse.rs fixed; src/lex.rs is next.";
        assert_eq!(of("auto", first, Some(better)), (Ok(better.to_owned()), 0));
        let kept = "The user had parse_line in src/parse.rs fixed.".to_owned();
        assert_eq!(of("auto", first, Some(first)), (Ok(kept.clone()), 1));
        assert_eq!(of("auto", first, Some("See src/gone.rs.")), (Ok(kept), 1));
    }

    #[test]
    fn what_is_about_something_else_is_no_summary() {
        let other = "The user had src/gone.rs, src/a.rs, src/b.rs and src/c.rs removed from the whole project.";
        let (text, _) = of("auto", other, Some(other));
        assert_eq!(
            text,
            Err(
                "the answer contains names that are not in the transcript: src/gone.rs, src/a.rs, src/b.rs"
                    .to_owned()
            )
        );
        let (text, _) = of("auto", "Ok.", None);
        assert_eq!(
            text,
            Err("the answer is too short to be a summary".to_owned())
        );
    }

    #[test]
    fn a_second_answer_that_is_to_come_is_waited_for() {
        let given = Given::new(["Fixed parse_line in src/parse.rs."]);
        let policy = preset("auto").unwrap().summary;
        let first =
            reply("The user had parse_line in src/parse.rs fixed. Then src/gone.rs was removed.");
        let waits = ModelError::Waiting("batch b".to_owned());
        let answer = judged(&policy, "Summarise.", &given, first, |_| ModelReply {
            text: Err(waits.clone()),
            ..reply("")
        });
        assert_eq!((answer.reply.text, answer.dropped), (Err(waits), 0));
    }

    #[test]
    fn the_published_systems_take_what_comes() {
        for name in ["layered", "reset", "boundary", "turns", "offload-first"] {
            assert_eq!(
                of(name, "Ok. See src/gone.rs.", None).0,
                Ok("Ok. See src/gone.rs.".to_owned())
            );
        }
    }
}
