//! Recognises a server's message that a prompt is too long, in each server's wording, and by how much.
//!
//! PURE. The phrases are those that servers send, according to their documentation, their source or users' reports; they are
//! compared case-insensitively. Numbers are used only if their meaning is known.

use serde_json::Value;

use crate::artifacts::Excess;

/// The meaning of the numbers after a phrase.
#[derive(Debug, Clone, Copy)]
enum Figures {
    /// The prompt's tokens and their maximum: the larger number is the prompt's.
    Two,
    /// The prompt's tokens, the answer's, and the maximum for both.
    SumThenMost,
    /// The maximum for both, then the prompt's tokens and the answer's.
    MostThenSum,
    /// No usable numbers.
    None,
}

/// Phrases that say so, in lower case; the first one found in a message decides.
const PHRASES: [(&str, Figures); 26] = [
    // Anthropic, Fireworks
    ("prompt is too long", Figures::Two),
    // Anthropic, if the room for the answer does not fit: `exceed context limit: 190000 + 20000 > 200000`
    ("exceed context limit", Figures::SumThenMost),
    // Gemini
    ("input token count", Figures::Two),
    // xAI
    ("maximum prompt length", Figures::Two),
    // Moonshot
    ("exceeded model token limit", Figures::Two),
    // Copilot
    ("prompt token count", Figures::Two),
    // Qwen: `should be [1, 129024]`
    ("range of input length should be", Figures::None),
    // GLM
    ("prompt exceeds max length", Figures::None),
    ("prompt 超长", Figures::None),
    // Text Generation Inference, and Together: `tokens + max_new_tokens must be <= 4096. Given: 4000 … and 200 …`
    (
        "`inputs` tokens + `max_new_tokens` must be",
        Figures::MostThenSum,
    ),
    ("`inputs` must have less than", Figures::Two),
    // OpenAI and Groq, if a request exceeds the limit per minute: `Limit 30000, Requested 45000`
    ("request too large", Figures::None),
    // OpenAI, vLLM, OpenRouter, DeepSeek, Mistral
    ("maximum context length", Figures::Two),
    // MiniMax, Bedrock, LM Studio, Ollama, Cohere, and others
    ("context window exceeds limit", Figures::None),
    ("input is too long", Figures::None),
    ("input too long", Figures::None),
    ("prompt too long", Figures::None),
    ("too many tokens", Figures::None),
    ("too many input tokens", Figures::None),
    ("exceeds the context", Figures::None),
    ("exceed the context", Figures::None),
    ("context length", Figures::None),
    ("context window", Figures::None),
    ("context size", Figures::None),
    ("maximum input length", Figures::None),
    ("reduce the length of the messages", Figures::None),
];

/// Error names that say so.
const NAMES: [&str; 5] = [
    "context_length_exceeded",
    "exceed_context_size_error",
    "model_max_prompt_tokens_exceeded",
    "string_above_max_length",
    // GLM
    "1261",
];

/// A prompt is never this many times as long as its limit.
const MOST_TIMES: u64 = 100;

/// Numbers that may be years, which a sentence may mention beside others.
const YEARS: std::ops::RangeInclusive<u64> = 2_020..=2_039;

/// `Some` if an error says that the prompt is too long, with the excess if it states one. `said` is its complete message.
pub(super) fn too_long(
    status: u16,
    (error, names): (&Value, &[&str]),
    said: &str,
) -> Option<Option<Excess>> {
    let lower = said.to_lowercase();
    match status {
        400 | 413 | 422 | 500 => {}
        // A request that exceeds the limit per minute will never fit.
        429 if lower.contains("request too large") => {}
        _ => return None,
    }
    let counted = |key: &str| error[key].as_u64();
    if let (Some(prompt), Some(limit)) = (counted("n_prompt_tokens"), counted("n_ctx")) {
        return Some(excess(prompt, limit));
    }
    let found = PHRASES.iter().find(|(phrase, _)| lower.contains(phrase));
    if let Some((phrase, figures)) = found {
        let at = lower.find(phrase).unwrap_or_default();
        let mut found: Vec<u64> = figures_of(&lower[at..]).collect();
        // Some servers state a number before the phrase.
        if found.len() < 2 {
            let is_large = |n: &u64| *n > 999 && !YEARS.contains(n);
            found = figures_of(&lower).filter(is_large).collect();
        }
        if let Figures::Two = figures {
            // Much smaller numbers count something else.
            let most = found.iter().copied().max().unwrap_or_default();
            found.retain(|n| most / MOST_TIMES < *n);
        }
        return Some(match (figures, &found[..]) {
            (Figures::Two, [a, b, ..]) => excess(*a.max(b), *a.min(b)),
            (Figures::SumThenMost, [prompt, answer, most, ..])
            | (Figures::MostThenSum, [most, prompt, answer, ..]) => {
                excess(prompt.saturating_add(*answer), *most)
            }
            (Figures::None, _)
            | (Figures::Two | Figures::SumThenMost | Figures::MostThenSum, _) => None,
        });
    }
    names
        .iter()
        .any(|name| NAMES.contains(name))
        .then_some(None)
}

fn excess(prompt: u64, limit: u64) -> Option<Excess> {
    let is_sound = prompt > limit && limit > 0 && prompt / limit < MOST_TIMES;
    is_sound.then_some(Excess { prompt, limit })
}

/// The integers in a text that are not part of a name or a date.
fn figures_of(text: &str) -> impl Iterator<Item = u64> {
    let is_of_a_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | '.');
    let is_apart = move |part: &&str| {
        let start = part.as_ptr() as usize - text.as_ptr() as usize;
        let end = start + part.len();
        // A full stop or a colon is part of a name or a date if a letter or digit follows immediately.
        let mut behind = text[end..].chars();
        let is_behind = match behind.next() {
            Some('.' | ':') => behind.next().is_some_and(char::is_alphanumeric),
            Some('-') => !text[end..].starts_with("-token"),
            next => next.is_some_and(is_of_a_name),
        };
        !text[..start].ends_with(is_of_a_name) && !is_behind
    };
    text.split(|c: char| !c.is_ascii_digit() && c != ',')
        .map(|part| part.trim_matches(','))
        .filter(|part| !part.is_empty())
        .filter(is_apart)
        .filter_map(|part| part.replace(',', "").parse().ok())
}

/// The integers in a text; commas between digits are ignored.
pub(super) fn numbers(text: &str) -> impl Iterator<Item = u64> {
    text.split(|c: char| !c.is_ascii_digit() && c != ',')
        .filter_map(|word| word.trim_matches(',').replace(',', "").parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, body: &str) -> Option<Option<(u64, u64)>> {
        let body: Value = serde_json::from_str(body).unwrap();
        let error = &body["error"];
        let error = if error.is_null() { &body } else { error };
        let said = error["message"]
            .as_str()
            .or(error.as_str())
            .unwrap_or_default();
        let code = error["code"].as_str().unwrap_or_default();
        let found = too_long(status, (error, &[code]), said)?;
        Some(found.map(|found| (found.prompt, found.limit)))
    }

    #[test]
    fn every_servers_words_are_known_and_its_figures_read() {
        for (status, message, figures) in [
            (
                400,
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again",
                Some((210_000, 200_000)),
            ),
            (
                400,
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                Some((1_200_000, 1_048_576)),
            ),
            (
                400,
                "prompt is too long: exceeds the 200000-token limit: got 210000",
                Some((210_000, 200_000)),
            ),
            (
                400,
                "prompt is too long: limit:200000, prompt:210000",
                Some((210_000, 200_000)),
            ),
            (
                400,
                "This model's maximum prompt length is 131072 but the request contains 150000 tokens.",
                Some((150_000, 131_072)),
            ),
            (
                400,
                "Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)",
                Some((9_000, 8_192)),
            ),
            (
                400,
                "prompt token count of 140000 exceeds the limit of 128000",
                Some((140_000, 128_000)),
            ),
            (
                400,
                "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
                None,
            ),
            (400, "Prompt exceeds max length", None),
            (
                422,
                "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 200 `max_new_tokens`",
                Some((4_200, 4_096)),
            ),
            (
                422,
                "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000",
                Some((5_000, 4_095)),
            ),
            (
                429,
                "Request too large for gpt-4o in organization org-7x on tokens per min (TPM): Limit 30000, Requested 45000.",
                None,
            ),
            (
                400,
                "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
                Some((40_000, 32_768)),
            ),
            (
                400,
                "This endpoint's maximum context length is 163840 tokens. However, you requested about 200000 tokens (190000 of text input, 10000 in the output).",
                Some((200_000, 163_840)),
            ),
            (
                400,
                "This model's maximum context length is 128000 tokens (gpt-4o-2024-08-06)",
                None,
            ),
            (
                400,
                "This model's maximum context length is 128000 tokens (gpt-4o-2024-08-06, 4 images). You sent 130000.",
                Some((130_000, 128_000)),
            ),
            (
                400,
                "claude-3-5-sonnet-20241022 (of 2024): the maximum context length is 200000 tokens",
                None,
            ),
            (400, "context window exceeds limit (2013)", None),
            (
                400,
                "Please reduce the length of the messages or completion.",
                None,
            ),
        ] {
            let body = serde_json::json!({"error": {"message": message}}).to_string();
            assert_eq!(of(status, &body), Some(figures), "{message}");
        }
        let code = r#"{"error": {"message": "no", "code": "model_max_prompt_tokens_exceeded"}}"#;
        assert_eq!(of(400, code), Some(None));
    }

    #[test]
    fn other_errors_are_not_about_length() {
        for (status, message) in [
            (
                400,
                "max_tokens: 64000 > 32000, which is the maximum allowed",
            ),
            (
                429,
                "Rate limit reached for gpt-4o: Limit 30000, Used 29000, Requested 2000.",
            ),
            (401, "prompt is too long"),
            (400, "the model does not exist"),
        ] {
            let body = serde_json::json!({"error": {"message": message}}).to_string();
            assert_eq!(of(status, &body), None, "{message}");
        }
    }
}
