//! Scripted summaries: a summariser's prepared answers and failures, one per line.
//!
//! `{"text": "…"}` is an answer, `{"text": "…", "cut_off": true}` one that ended at its size limit, `{"error": "…"}` a failure.
//! Each transcript starts with the first line, so that its result does not depend on other transcripts. Reads no file: the text is
//! passed in.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Deserialize;

use super::{CUT_OFF, EMPTY, Ending, ModelError, ModelReply};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::Spent;
use crate::policy::{CutOff, Summary};
use crate::summarizer::retry::{Backoff, Failed, retry};

/// The answers in order.
#[derive(Debug, Clone, Default)]
pub struct Replies(Vec<std::result::Result<(String, Ending), String>>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    text: Option<String>,
    #[serde(default)]
    cut_off: bool,
    error: Option<String>,
}

impl Replies {
    /// Reads the answers.
    ///
    /// # Errors
    /// [`ErrorKind::Config`], with the line number, if a line is neither an answer nor a failure.
    pub fn parse(text: &str) -> Result<Self> {
        let mut replies = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            let wrong = |what: String| {
                Error::new(ErrorKind::Config, what).on_line(number).hint(
                    r#"a line is {"text": "…"}, {"text": "…", "cut_off": true} or {"error": "…"}"#,
                )
            };
            let line: Line = serde_json::from_slice(line.as_bytes())
                .map_err(|e| wrong(format!("invalid scripted answer: {e}")))?;
            let ending = match line.cut_off {
                true => Ending::CutOff,
                false => Ending::Whole,
            };
            replies.push(match (line.text, line.error) {
                (Some(text), None) => Ok((text, ending)),
                (None, Some(error)) if ending == Ending::Whole => Err(error),
                _ => {
                    return Err(wrong(
                        "exactly one of `text` and `error` is required".to_owned(),
                    ));
                }
            });
        }
        Ok(Replies(replies))
    }

    /// Takes answers from number `next` on until one is a summary or the policy allows no more, and advances `next`.
    pub fn ask(&self, next: &mut usize, policy: &Summary) -> ModelReply {
        let mut attempts = 0;
        let mut why = "no scripted answer is left".to_owned();
        let mut may_ask_for_more = policy.cut_off == CutOff::Retry;
        let mut ended = Ending::Whole;
        let mut attempt = || loop {
            attempts += 1;
            let Some(reply) = self.0.get(*next) else {
                return Err(Failed::Permanent(why.clone()));
            };
            *next += 1;
            match reply {
                Err(error) => why.clone_from(error),
                Ok((_, Ending::CutOff)) if may_ask_for_more => {
                    may_ask_for_more = false;
                    CUT_OFF.clone_into(&mut why);
                    continue;
                }
                Ok((_, Ending::CutOff)) if policy.cut_off != CutOff::Accept => {
                    return Err(Failed::Permanent(CUT_OFF.to_owned()));
                }
                Ok((text, ending)) if !text.trim().is_empty() => {
                    ended = *ending;
                    return Ok(text.clone());
                }
                Ok(_) => EMPTY.clone_into(&mut why),
            }
            return Err(Failed::Transient(why.clone()));
        };
        let text = retry(policy, &Immediate, &mut attempt);
        ModelReply {
            text: text.map_err(ModelError::Failed),
            attempts,
            model: None,
            spent: Spent::default(),
            unread: 0,
            ending: ended,
            left_out: BTreeSet::new(),
            counted: 0,
        }
    }
}

/// Scripted answers need no waiting.
struct Immediate;

impl Backoff<String> for Immediate {
    fn may_retry(&self) -> bool {
        true
    }

    fn random(&self) -> f64 {
        0.0
    }

    fn wait(&self, _: Duration) -> std::result::Result<(), String> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_their_order_and_failures_count_as_tries() {
        let replies =
            Replies::parse("{\"error\":\"busy\"}\n\n{\"text\":\" \"}\n{\"text\":\"so\"}\n")
                .unwrap();
        let mut next = 0;
        let mut policy = crate::policy::preset("").unwrap().summary;
        policy.tries = 2;
        let first = replies.ask(&mut next, &policy);
        let failed = |why: &str| Err(ModelError::Failed(why.to_owned()));
        assert_eq!(first.text, failed("the answer is empty"));
        assert_eq!(first.attempts, 2);
        let second = replies.ask(&mut next, &policy);
        assert_eq!(second.text, Ok("so".to_owned()));
        assert_eq!(second.attempts, 1);
        assert_eq!(
            replies.ask(&mut next, &policy).text,
            failed("no scripted answer is left")
        );
        // If the answers run out, the last failure is the reason, and the attempt counts.
        let (mut next, empty) = (0, Replies::parse("{\"text\":\" \"}").unwrap());
        policy.tries = 3;
        let reply = empty.ask(&mut next, &policy);
        assert_eq!(
            (reply.text, reply.attempts),
            (failed("the answer is empty"), 2)
        );
    }

    #[test]
    fn an_answer_that_was_cut_off_is_taken_asked_for_again_or_refused() {
        let cut = "{\"text\":\"so fa\",\"cut_off\":true}\n";
        let asked = |text: &str, cut_off: CutOff| {
            let mut policy = crate::policy::preset("").unwrap().summary;
            policy.cut_off = cut_off;
            let reply = Replies::parse(text).unwrap().ask(&mut 0, &policy);
            (reply.text, reply.ending, reply.attempts)
        };
        let refused = || Err(ModelError::Failed(CUT_OFF.to_owned()));
        let text = cut.to_owned() + "{\"text\":\"so far\"}";
        let taken = (Ok("so fa".to_owned()), Ending::CutOff, 1);
        assert_eq!(asked(&text, CutOff::Accept), taken);
        assert_eq!(asked(&text, CutOff::Reject), (refused(), Ending::Whole, 1));
        let whole = (Ok("so far".to_owned()), Ending::Whole, 2);
        assert_eq!(asked(&text, CutOff::Retry), whole);
        let twice = asked(&cut.repeat(3), CutOff::Retry);
        assert_eq!(twice, (refused(), Ending::Whole, 2));
        assert_eq!(asked(cut, CutOff::Retry).0, refused());
    }

    #[test]
    fn what_is_no_answer_is_named_with_its_line() {
        for wrong in [
            "{}",
            "{\"text\":\"a\",\"error\":\"b\"}",
            "{\"txt\":\"a\"}",
            "{\"error\":\"a\",\"cut_off\":true}",
            "so",
        ] {
            let error = Replies::parse(&format!("{{\"text\":\"a\"}}\n{wrong}\n")).unwrap_err();
            assert_eq!(error.line, Some(2), "{wrong}");
        }
    }
}
