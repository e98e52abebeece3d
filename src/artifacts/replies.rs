//! Summaries that were written beforehand: the answers of a summariser, failures included, one a line.
//!
//! `{"text": "…"}` is an answer, `{"error": "…"}` a failure. Every transcript is answered from the first line on, so that
//! what comes of it does not depend on those done before. No file is read here: the text is handed in.

use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};

/// The answers, in their order.
#[derive(Debug, Clone, Default)]
pub struct Replies(Vec<std::result::Result<String, String>>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    text: Option<String>,
    error: Option<String>,
}

/// What came of asking for one summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The summary, or why there is none.
    pub text: std::result::Result<String, String>,
    /// How often it was asked for.
    pub attempts: u64,
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

    /// Asks up to `tries` times from the answer `next` on, which moves on; an empty answer is a failure.
    pub fn ask(&self, next: &mut usize, tries: u64) -> Reply {
        let mut why = "no scripted answer is left".to_owned();
        for attempts in 1..=tries.max(1) {
            let Some(reply) = self.0.get(*next) else {
                return Reply {
                    text: Err(why),
                    attempts,
                };
            };
            *next += 1;
            match reply {
                Ok(text) if !text.trim().is_empty() => {
                    return Reply {
                        text: Ok(text.clone()),
                        attempts,
                    };
                }
                Ok(_) => "the answer is empty".clone_into(&mut why),
                Err(error) => why.clone_from(error),
            }
        }
        Reply {
            text: Err(why),
            attempts: tries.max(1),
        }
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
        let first = replies.ask(&mut next, 2);
        assert_eq!(first.text, Err("the answer is empty".to_owned()));
        assert_eq!(first.attempts, 2);
        let second = replies.ask(&mut next, 2);
        assert_eq!(second.text, Ok("so".to_owned()));
        assert_eq!(second.attempts, 1);
        assert_eq!(
            replies.ask(&mut next, 2).text,
            Err("no scripted answer is left".to_owned())
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
