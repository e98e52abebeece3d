//! Summaries that were written beforehand: the answers of a summariser, failures included, one a line.
//!
//! `{"text": "…"}` is an answer, `{"error": "…"}` a failure. Every transcript is answered from the first line on, so that
//! what comes of it does not depend on those done before. No file is read here: the text is handed in.

use std::time::Duration;

use serde::Deserialize;

use super::{Refused, Reply};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::Spent;
use crate::policy::Summary;
use crate::summarizer::retry::{Clock, Tried, tries};

/// The answers, in their order.
#[derive(Debug, Clone, Default)]
pub struct Replies(Vec<std::result::Result<String, String>>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    text: Option<String>,
    error: Option<String>,
}

impl Replies {
    /// Reads the answers.
    ///
    /// # Errors
    /// [`ErrorKind::Config`], with the line: one that is neither an answer nor a failure.
    pub fn parse(text: &str) -> Result<Self> {
        let mut replies = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            let wrong = |what: String| {
                Error::new(ErrorKind::Config, what)
                    .on_line(number)
                    .hint(r#"a line is {"text": "…"} or {"error": "…"}"#)
            };
            let line: Line = serde_json::from_str(line)
                .map_err(|e| wrong(format!("no scripted answer: {e}")))?;
            replies.push(match (line.text, line.error) {
                (Some(text), None) => Ok(text),
                (None, Some(error)) => Err(error),
                _ => return Err(wrong("an answer and a failure, or neither".to_owned())),
            });
        }
        Ok(Replies(replies))
    }

    /// Asks as often as the policy says, from the answer `next` on, which moves on.
    pub fn ask(&self, next: &mut usize, policy: &Summary) -> Reply {
        let Tried { answer, attempts } = tries(policy, &mut Unhurried, |_| {
            let reply = self.0.get(*next)?;
            *next += 1;
            Some(reply.clone())
        });
        Reply {
            text: answer.map_err(Refused::Failed),
            attempts,
            model: None,
            spent: Spent::default(),
            unread: 0,
        }
    }
}

/// What was written beforehand is there at once.
struct Unhurried;

impl Clock for Unhurried {
    fn wait(&mut self, _: Duration) {}

    fn chance(&mut self) -> f64 {
        0.0
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
        let failed = |why: &str| Err(Refused::Failed(why.to_owned()));
        assert_eq!(first.text, failed("the answer is empty"));
        assert_eq!(first.attempts, 2);
        let second = replies.ask(&mut next, &policy);
        assert_eq!(second.text, Ok("so".to_owned()));
        assert_eq!(second.attempts, 1);
        assert_eq!(
            replies.ask(&mut next, &policy).text,
            failed("no answer is left")
        );
    }

    #[test]
    fn what_is_no_answer_is_named_with_its_line() {
        for wrong in [
            "{}",
            "{\"text\":\"a\",\"error\":\"b\"}",
            "{\"txt\":\"a\"}",
            "so",
        ] {
            let error = Replies::parse(&format!("{{\"text\":\"a\"}}\n{wrong}\n")).unwrap_err();
            assert_eq!(error.line, Some(2), "{wrong}");
        }
    }
}
