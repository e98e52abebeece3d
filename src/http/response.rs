//! Turns a server's response into a summary or into a kind of failure.
//!
//! PURE. The key is masked in everything a server returns before anything else is done with it. Anything but a summary is a
//! failure, whatever the status: an empty or refused answer, a tool call, an HTML page. A truncated answer is a summary that is
//! marked as such. The cost of an answer is read in any case.

use std::time::Duration;

use serde_json::Value;

use super::clean::cleaned;
use super::key::Key;
use super::provider::Provider;
use super::refused::{Rejection, refused};
use super::too_long::too_long;
use crate::artifacts::{EMPTY, Ending, Excess};
use crate::text::printable;

/// The maximum number of characters of a server's error message to show.
const SHOWN_CHARS: usize = 300;

/// A response as it came over the network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    /// The header `retry-after-ms`.
    pub(super) retry_after_ms: Option<String>,
    /// The header `retry-after`.
    pub(super) retry_after: Option<String>,
    /// The header `x-should-retry`.
    pub(super) should_retry: Option<String>,
    /// The header `date`.
    pub(super) date: Option<String>,
    /// Headers that tell how much of a rate limit remains and when it is reset: names in lower case, and values.
    pub(super) limits: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// A summary; empty only if it was cut off before its first word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) model: Option<String>,
    pub(super) ending: Ending,
}

/// The tokens that a server counted and charges for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) input: u64,
    pub(super) output: u64,
}

/// Why there is no summary. The text of a variant is the reason, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// The server is working, and asks for the request to be sent later.
    Busy {
        why: String,
        retry_after: Option<Duration>,
    },
    /// The same request may succeed later.
    Transient(String),
    /// The same request never will.
    Rejected(String),
    /// No request of this run will succeed: the key is not accepted, or the account has no credit.
    Fatal(String),
    /// The form of the request is rejected, and there may be another one.
    Refused { why: String, refused: Rejection },
    /// No request for this model will succeed: the server does not have it.
    NoModel(String),
    /// The prompt is longer than the model can read; by how much, if the server says so.
    PromptTooLong { why: String, excess: Option<Excess> },
    /// A limit of the run itself.
    RunLimit(String),
    /// The run sends no requests.
    Offline,
    /// The request will be answered later, together with others; says what it is waiting for.
    Waiting(String),
    /// The run was interrupted.
    Interrupted,
}

impl Failure {
    /// Whether the same request may succeed later.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Failure::Busy { .. } | Failure::Transient(_) => true,
            Failure::Rejected(_)
            | Failure::Fatal(_)
            | Failure::Refused { .. }
            | Failure::NoModel(_)
            | Failure::PromptTooLong { .. }
            | Failure::RunLimit(_)
            | Failure::Offline
            | Failure::Waiting(_)
            | Failure::Interrupted => false,
        }
    }
}

/// Reads a response and what it cost. Masks the `key`, which the response may repeat.
pub(super) fn read(
    provider: Provider,
    response: &Response,
    key: Option<&Key>,
) -> (Result<Answer, Failure>, Usage) {
    let body = parsed(response, key);
    let result = match response.status {
        200..=299 if !body.is_object() => Err(Failure::Transient(format!(
            "the answer is not JSON: {}",
            shown(&body)
        ))),
        // OpenRouter may start its response before it knows that there is no answer.
        200..=299 if is_error(&body) => Err(failure(response, &body)),
        200..=299 if is_error(&body["choices"][0]) => Err(failure(response, &body["choices"][0])),
        200..=299 => match provider {
            Provider::Anthropic => anthropic(&body),
            Provider::Openai => openai(&body),
        },
        300..=399 => Err(redirected(response.status)),
        _ => Err(failure(response, &body)),
    };
    let usage = match provider {
        Provider::Anthropic => usage(&body, &ANTHROPIC_INPUT, "output_tokens"),
        Provider::Openai => usage(&body, &["prompt_tokens"], "completion_tokens"),
    };
    (result, usage)
}

/// Reads a response that is not a summary: JSON, with the `key` masked.
pub(super) fn value(response: &Response, key: Option<&Key>) -> Result<Value, Failure> {
    let body = parsed(response, key);
    match response.status {
        200..=299 => Ok(body),
        300..=399 => Err(redirected(response.status)),
        _ => Err(failure(response, &body)),
    }
}

/// The body of a response, with the `key` masked; a string if it is not JSON.
fn parsed(response: &Response, key: Option<&Key>) -> Value {
    let text = || Value::from(String::from_utf8_lossy(&response.body));
    let mut body = serde_json::from_slice(&response.body).unwrap_or_else(|_| text());
    if let Some(key) = key {
        key.mask_all(&mut body);
    }
    // Google's OpenAI endpoint puts an error into a list.
    match body.get(0) {
        Some(Value::Object(_)) => body[0].take(),
        Some(_) | None => body,
    }
}

fn redirected(status: u16) -> Failure {
    Failure::Fatal(format!(
        "the server answered with a redirect (status {status}); redirects are not followed, so that the key goes to this server only"
    ))
}

/// Whether an answer, or one of its choices, is an error.
fn is_error(body: &Value) -> bool {
    match &body["error"] {
        Value::Object(error) => !error.is_empty(),
        Value::String(error) => !error.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
    }
}

/// Tokens read from the cache or written to it are input, too.
const ANTHROPIC_INPUT: [&str; 3] = [
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
];

fn usage(body: &Value, input: &[&str], output: &str) -> Usage {
    let counted = |name: &str| body["usage"][name].as_u64().unwrap_or(0);
    Usage {
        input: input.iter().map(|name| counted(name)).sum(),
        output: counted(output),
    }
}

fn anthropic(body: &Value) -> Result<Answer, Failure> {
    let Some(blocks) = body["content"].as_array() else {
        return Err(Failure::Transient("the answer has no content".to_owned()));
    };
    let ending = ending(body["stop_reason"].as_str())?;
    let mut text = String::new();
    for block in blocks {
        match block["type"].as_str() {
            Some("text") => text.push_str(block["text"].as_str().unwrap_or_default()),
            Some("thinking" | "redacted_thinking") => {}
            Some("tool_use") => return Err(tool_call()),
            Some(_) | None => {
                return Err(Failure::Rejected(MORE_THAN_TEXT.to_owned()));
            }
        }
    }
    answer(&text, body, ending)
}

fn openai(body: &Value) -> Result<Answer, Failure> {
    let choice = &body["choices"][0];
    let message = &choice["message"];
    if !message.is_object() {
        return Err(Failure::Transient("the answer has no message".to_owned()));
    }
    let ending = ending(choice["finish_reason"].as_str())?;
    let calls = message["tool_calls"].as_array();
    if calls.is_some_and(|calls| !calls.is_empty()) || message["function_call"].is_object() {
        return Err(tool_call());
    }
    if message["refusal"]
        .as_str()
        .is_some_and(|why| !why.is_empty())
    {
        return Err(refusal());
    }
    let text = match &message["content"] {
        Value::Array(parts) => parts
            .iter()
            .map(part)
            .collect::<Result<String, Failure>>()?,
        content => content.as_str().unwrap_or_default().to_owned(),
    };
    answer(&text, body, ending)
}

/// The text in a part of an answer's content, if that is a list (Mistral); a model's thoughts are not text.
fn part(part: &Value) -> Result<&str, Failure> {
    match part["type"].as_str() {
        Some("text" | "output_text") => Ok(part["text"].as_str().unwrap_or_default()),
        Some("thinking" | "reasoning" | "reference") => Ok(""),
        None if part.is_string() => Ok(part.as_str().unwrap_or_default()),
        Some(_) | None => Err(Failure::Rejected(MORE_THAN_TEXT.to_owned())),
    }
}

const MORE_THAN_TEXT: &str = "the answer contains more than text";

/// How an answer ended, if it is one. Gemini and Cohere write the reasons in capitals.
fn ending(reason: Option<&str>) -> Result<Ending, Failure> {
    let Some(reason) = reason else {
        return Ok(Ending::Whole);
    };
    let lower = reason.to_ascii_lowercase();
    match lower.as_str() {
        "end_turn" | "stop_sequence" | "stop" | "eos" | "eos_token" | "complete" | "" => {
            Ok(Ending::Whole)
        }
        "max_tokens" | "length" | "model_length" | "model_context_window_exceeded" => {
            Ok(Ending::CutOff)
        }
        "refusal" | "safety" | "recitation" | "blocklist" | "prohibited_content" | "spii"
        | "sensitive" => Err(refusal()),
        "tool_use" | "tool_calls" | "function_call" | "malformed_function_call" => Err(tool_call()),
        // A transient server failure: DeepSeek, OpenRouter and Mistral, vLLM, GLM.
        "insufficient_system_resource" | "error" | "abort" | "network_error" => Err(
            Failure::Transient(format!("the response was cut off: {lower}")),
        ),
        // Gemini's endpoint adds the kind.
        other if other.starts_with("content_filter") => Err(refusal()),
        _ => Err(Failure::Rejected(format!(
            "the answer ended for an unknown reason: {}",
            clipped(reason)
        ))),
    }
}

fn refusal() -> Failure {
    Failure::Rejected("the model refused".to_owned())
}

fn tool_call() -> Failure {
    Failure::Rejected("the model called a tool instead of answering".to_owned())
}

fn answer(text: &str, body: &Value, ending: Ending) -> Result<Answer, Failure> {
    let text = cleaned(text);
    if text.is_empty() && ending == Ending::Whole {
        return Err(Failure::Transient(EMPTY.to_owned()));
    }
    Ok(Answer {
        text,
        model: body["model"].as_str().map(clipped),
        ending,
    })
}

/// What an error means.
fn failure(response: &Response, body: &Value) -> Failure {
    let error = match &body["error"] {
        Value::Null => body,
        error => error,
    };
    let message = match error["message"].as_str().or(error.as_str()) {
        // OpenRouter says this when the server behind it has said more.
        Some("Provider returned error") => match &error["metadata"]["raw"] {
            Value::Null => Value::from("Provider returned error"),
            raw => raw.clone(),
        },
        Some(message) => Value::from(message),
        None => body.clone(),
    };
    let said = shown(&message);
    // The text that is shortened for people may end inside a number.
    let whole = match &message {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let name = |key: &str| error[key].as_str().unwrap_or_default();
    let names = [
        name("type"),
        name("code"),
        error["details"]["error_code"].as_str().unwrap_or_default(),
    ];
    let status = match (response.status, &error["code"]) {
        // An error inside an answer has its own code.
        (200..=299, code) => {
            let code = code.as_u64().or_else(|| code.as_str()?.parse().ok());
            let code = code.and_then(|code| u16::try_from(code).ok());
            code.filter(|code| (400..600).contains(code)).unwrap_or(502)
        }
        (status, _) => status,
    };
    let why = format!("status {status}: {said}");
    if names.iter().any(|name| is_out_of_credit(name)) || said.contains("credit balance is too low")
    {
        return Failure::Fatal(why);
    }
    if let Some(refused) = refused(status, (error, &names), &whole) {
        return Failure::Refused { why, refused };
    }
    // OpenRouter's moderation flagged this input; others may pass.
    let is_flagged = response.status != 403 || error["metadata"]["reasons"].is_array();
    if status == 403 && is_flagged {
        return Failure::Rejected(why);
    }
    if let Some(excess) = too_long(status, (error, &names), &whole) {
        return Failure::PromptTooLong { why, excess };
    }
    match (response.should_retry.as_deref(), status) {
        (Some("false"), 401 | 403) => Failure::Fatal(why),
        (Some("false"), _) => Failure::Rejected(why),
        (_, 429) => Failure::Busy {
            why,
            retry_after: response.wait(),
        },
        (Some("true"), _) | (_, 408 | 409 | 425 | 500..=599) => match response.wait() {
            Some(wait) => Failure::Busy {
                why,
                retry_after: Some(wait),
            },
            None => Failure::Transient(why),
        },
        (_, 413) => Failure::PromptTooLong { why, excess: None },
        // A key that is not accepted now will not be later.
        (_, 401..=403) => Failure::Fatal(why),
        (_, 404) if names.contains(&"model_not_found") || said.to_lowercase().contains("model") => {
            Failure::NoModel(why)
        }
        _ => Failure::Rejected(why),
    }
}

/// Whether an error code says that there is no credit left, which waiting will not change.
fn is_out_of_credit(name: &str) -> bool {
    matches!(
        name,
        "insufficient_quota"
            | "credit_balance_exhausted"
            | "billing_hard_limit_reached"
            | "billing_error"
            | "enforced_spend_limit_reached"
    ) || name.ends_with("_spend_limit_exceeded")
}

/// The beginning of a server's text, safe to print.
fn clipped(text: &str) -> String {
    let clipped: String = text.chars().take(SHOWN_CHARS).collect();
    printable(clipped.trim()).into_owned()
}

/// The beginning of a body of any kind.
fn shown(body: &Value) -> String {
    let text = match body {
        Value::String(text) => clipped(text),
        body => clipped(&body.to_string()),
    };
    match text.is_empty() {
        true => "(nothing)".to_owned(),
        false => text,
    }
}

#[cfg(test)]
#[path = "response/tests.rs"]
mod tests;
