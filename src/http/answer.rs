//! What a server has said: a summary, or what kind of failure.
//!
//! PURE. An answer that is not a whole summary is a failure, whatever its status: empty, cut off, refused, a call of a
//! tool, a page for people.

use std::time::Duration;

use jiff::fmt::rfc2822::DateTimeParser;
use serde_json::Value;

use super::endpoint::Provider;
use crate::text::printable;

/// So much of what a server says about a failure is shown.
const SHOWN: usize = 300;

/// An answer as it came over the network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Arrived {
    pub(super) status: u16,
    /// `retry-after-ms`
    pub(super) retry_after_ms: Option<String>,
    /// `retry-after`
    pub(super) retry_after: Option<String>,
    /// `x-should-retry`
    pub(super) should_retry: Option<String>,
    /// `date`
    pub(super) date: Option<String>,
    pub(super) body: Vec<u8>,
}

/// A summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) model: Option<String>,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
}

/// Why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// The server is there, and wants to be asked later.
    Busy {
        why: String,
        after: Option<Duration>,
    },
    /// It may work at the next try.
    Passing(String),
    /// This request will never be answered.
    Refused(String),
    /// No request of this run will be.
    Lost(String),
    /// More than the model can read, by so many tokens where the server says so.
    TooLong { why: String, gap: Option<Gap> },
    /// A limit of the run's own.
    Limit(String),
    /// No request is to be sent.
    Pending,
    /// The run was stopped.
    Stopped,
}

/// What a server says of a prompt that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gap {
    /// Tokens of the prompt.
    pub(super) prompt: u64,
    /// Tokens that there is room for.
    pub(super) most: u64,
}

/// Reads an answer.
pub(super) fn read(provider: Provider, arrived: &Arrived) -> Result<Answer, Failure> {
    match arrived.status {
        200..=299 => {
            let Ok(body) = serde_json::from_slice::<Value>(&arrived.body) else {
                return Err(Failure::Passing(format!(
                    "the answer is not JSON: {}",
                    shown(&arrived.body)
                )));
            };
            match provider {
                Provider::Anthropic => anthropic(&body),
                Provider::Openai => openai(&body),
            }
        }
        300..=399 => Err(Failure::Lost(format!(
            "the server sends requests elsewhere (status {}), and a key goes only where it was meant to go",
            arrived.status
        ))),
        _ => Err(failure(arrived)),
    }
}

fn anthropic(body: &Value) -> Result<Answer, Failure> {
    let Some(blocks) = body["content"].as_array() else {
        return Err(Failure::Passing("the answer has no content".to_owned()));
    };
    whole(body["stop_reason"].as_str())?;
    let mut text = String::new();
    for block in blocks {
        match block["type"].as_str() {
            Some("text") => text.push_str(block["text"].as_str().unwrap_or_default()),
            Some("thinking" | "redacted_thinking") => {}
            Some("tool_use") => return Err(called()),
            Some(_) | None => {
                return Err(Failure::Refused(
                    "the answer holds more than text".to_owned(),
                ));
            }
        }
    }
    answer(&text, body, "input_tokens", "output_tokens").map(|answer| {
        // What came from a cache or went into one was read as well.
        let usage = &body["usage"];
        let more = ["cache_creation_input_tokens", "cache_read_input_tokens"];
        let more = more.iter().filter_map(|name| usage[*name].as_u64());
        Answer {
            input_tokens: answer.input_tokens + more.sum::<u64>(),
            ..answer
        }
    })
}

fn openai(body: &Value) -> Result<Answer, Failure> {
    let choice = &body["choices"][0];
    let message = &choice["message"];
    if !message.is_object() {
        return Err(Failure::Passing("the answer has no message".to_owned()));
    }
    whole(choice["finish_reason"].as_str())?;
    let calls = message["tool_calls"].as_array();
    if calls.is_some_and(|calls| !calls.is_empty()) || message["function_call"].is_object() {
        return Err(called());
    }
    if message["refusal"]
        .as_str()
        .is_some_and(|why| !why.is_empty())
    {
        return Err(Failure::Refused("the model refused".to_owned()));
    }
    let text = message["content"].as_str().unwrap_or_default();
    answer(text, body, "prompt_tokens", "completion_tokens")
}

/// Whether the model said all that it wanted to say.
fn whole(reason: Option<&str>) -> Result<(), Failure> {
    match reason {
        None | Some("end_turn" | "stop_sequence" | "stop" | "eos") => Ok(()),
        Some("max_tokens" | "length" | "model_context_window_exceeded") => Err(Failure::Refused(
            "the answer was cut off at its largest size".to_owned(),
        )),
        Some("refusal" | "content_filter") => Err(Failure::Refused("the model refused".to_owned())),
        Some("tool_use" | "tool_calls" | "function_call") => Err(called()),
        Some(other) => Err(Failure::Refused(format!(
            "the answer ended for a reason that is not known: {}",
            clipped(other)
        ))),
    }
}

fn called() -> Failure {
    Failure::Refused("the model called a tool instead of answering".to_owned())
}

fn answer(text: &str, body: &Value, input: &str, output: &str) -> Result<Answer, Failure> {
    // Some servers leave the reasoning of their models in the text.
    let text = match text.trim_start().strip_prefix("<think>") {
        Some(thinks) => thinks.split_once("</think>").map_or("", |(_, said)| said),
        None => text,
    };
    if text.trim().is_empty() {
        return Err(Failure::Passing("the answer is empty".to_owned()));
    }
    Ok(Answer {
        text: text.trim().to_owned(),
        model: body["model"].as_str().map(clipped),
        input_tokens: body["usage"][input].as_u64().unwrap_or(0),
        output_tokens: body["usage"][output].as_u64().unwrap_or(0),
    })
}

/// What a status that is no success means.
fn failure(arrived: &Arrived) -> Failure {
    let body = serde_json::from_slice::<Value>(&arrived.body).unwrap_or_default();
    let error = match &body["error"] {
        Value::Null => &body,
        error => error,
    };
    let said = match error["message"].as_str().or(error.as_str()) {
        Some(message) => clipped(message),
        None => shown(&arrived.body),
    };
    let name = |key: &str| error[key].as_str().unwrap_or_default();
    let names = [
        name("type"),
        name("code"),
        error["details"]["error_code"].as_str().unwrap_or_default(),
    ];
    let status = arrived.status;
    let why = format!("status {status}: {said}");
    if names.iter().any(|name| is_spent(name)) || said.contains("credit balance is too low") {
        return Failure::Lost(why);
    }
    if let (400 | 413 | 422 | 500, Some(gap)) = (status, too_long(error, &names, &said)) {
        return Failure::TooLong { why, gap };
    }
    match (arrived.should_retry.as_deref(), status) {
        (Some("false"), 401 | 403) => Failure::Lost(why),
        (Some("false"), _) => Failure::Refused(why),
        (_, 429) => Failure::Busy {
            why,
            after: arrived.after(),
        },
        (Some("true"), _) | (_, 408 | 409 | 425 | 500..=599) => match arrived.after() {
            Some(after) => Failure::Busy {
                why,
                after: Some(after),
            },
            None => Failure::Passing(why),
        },
        (_, 413) => Failure::TooLong { why, gap: None },
        // A key that is not accepted now will not be later.
        (_, 401..=403) => Failure::Lost(why),
        _ => Failure::Refused(why),
    }
}

/// Names for money that is gone; waiting brings none.
fn is_spent(name: &str) -> bool {
    matches!(
        name,
        "insufficient_quota"
            | "credit_balance_exhausted"
            | "billing_hard_limit_reached"
            | "billing_error"
            | "enforced_spend_limit_reached"
    ) || name.ends_with("_spend_limit_exceeded")
}

/// Whether the server says that the prompt is too long; by how much, where it says so, too.
fn too_long(error: &Value, names: &[&str], said: &str) -> Option<Option<Gap>> {
    let gap = |prompt: Option<u64>, most: Option<u64>| {
        let (prompt, most) = (prompt?, most?);
        (prompt > most).then_some(Gap { prompt, most })
    };
    let lower = said.to_lowercase();
    if names.contains(&"exceed_context_size_error") {
        let counted = |key: &str| error[key].as_u64();
        return Some(gap(counted("n_prompt_tokens"), counted("n_ctx")));
    }
    if let Some((_, behind)) = lower.split_once("prompt is too long") {
        let mut numbers = numbers(behind);
        return Some(gap(numbers.next(), numbers.next()));
    }
    if names.contains(&"context_length_exceeded") || lower.contains("maximum context length") {
        let mut numbers = numbers(&lower);
        let most = numbers.next();
        return Some(gap(numbers.next(), most));
    }
    let says = [
        "context length",
        "context window",
        "context size",
        "too many tokens",
        "input is too long",
    ];
    says.iter()
        .any(|words| lower.contains(words))
        .then_some(None)
}

/// The whole numbers in a text, without marks between their digits.
fn numbers(text: &str) -> impl Iterator<Item = u64> {
    text.split(|c: char| !c.is_ascii_digit() && c != ',')
        .filter_map(|word| word.replace(',', "").parse().ok())
}

impl Arrived {
    /// How long the server wants to be left alone.
    fn after(&self) -> Option<Duration> {
        let number = |text: &Option<String>| {
            let number: f64 = text.as_deref()?.trim().parse().ok()?;
            (number.is_finite() && number >= 0.0).then_some(number)
        };
        if let Some(millis) = number(&self.retry_after_ms) {
            return Duration::try_from_secs_f64(millis / 1_000.0).ok();
        }
        if let Some(seconds) = number(&self.retry_after) {
            return Duration::try_from_secs_f64(seconds).ok();
        }
        // A date, which the server's own clock is for.
        let time = |text: &Option<String>| {
            let text = text.as_deref()?.trim();
            DateTimeParser::new().parse_timestamp(text).ok()
        };
        let seconds = time(&self.retry_after)?.as_second() - time(&self.date)?.as_second();
        u64::try_from(seconds).ok().map(Duration::from_secs)
    }
}

/// The beginning of what a server says, fit for people.
fn clipped(text: &str) -> String {
    let clipped: String = text.chars().take(SHOWN).collect();
    printable(clipped.trim()).into_owned()
}

fn shown(body: &[u8]) -> String {
    let start = &body[..body.len().min(SHOWN * 4)];
    match clipped(&String::from_utf8_lossy(start)) {
        text if text.is_empty() => "(nothing)".to_owned(),
        text => text,
    }
}

#[cfg(test)]
#[path = "answer/tests.rs"]
mod tests;
