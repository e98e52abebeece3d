//! Errors of real servers, verbatim, and what is sent after them.

use serde_json::json;

use super::*;
use crate::http::endpoint::PlainHttp;

/// What an error with this status and body rejects.
fn of(status: u16, error: &Value) -> Option<Rejection> {
    let said = error["message"]
        .as_str()
        .map_or_else(|| error.to_string(), str::to_owned);
    let names = ["type", "code"].map(|name| error[name].as_str().unwrap_or_default());
    refused(status, (error, &names), &said)
}

fn said(message: &str) -> Option<Rejection> {
    of(400, &json!({"message": message}))
}

#[test]
fn the_room_that_servers_leave_for_an_answer_is_read() {
    let vllm = "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 4096 tokens \
                and your request has 1000 input tokens (8192 > 4096 - 1000).";
    let room = Rejection::Room {
        prompt: 1_000,
        most: 4_096,
    };
    assert_eq!(said(vllm), Some(room));
    for (message, most) in [
        (
            "max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for claude-opus-4-20250514",
            32_000,
        ),
        (
            "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.",
            16_384,
        ),
        (
            "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the \
             `context_window` for this model",
            8_192,
        ),
        (
            "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is \
             lower than 4096",
            4_096,
        ),
        (
            "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
            8_192,
        ),
        (
            "<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 16384]",
            16_384,
        ),
        (
            "Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 \
             (inclusive) to 65537 (exclusive).",
            65_536,
        ),
    ] {
        assert_eq!(said(message), Some(Rejection::Answer(most)), "{message}");
    }
}

#[test]
fn what_a_server_refuses_by_name_is_left_out_or_stands_elsewhere() {
    let extra: Parameters = [
        ("temperature", json!(0)),
        ("thinking", json!({})),
        ("seed", json!(7)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into_iter()
    .collect();
    let endpoint = |provider| {
        Endpoint::new(provider, "http://localhost", None, PlainHttp::LoopbackOnly).unwrap()
    };
    let usual = RequestVariant::default();
    let without = |names: &[&str]| RequestVariant {
        left_out: names.iter().map(|name| (*name).to_owned()).collect(),
        ..usual.clone()
    };
    let second = RequestVariant {
        limit: Limit::Second,
        ..usual.clone()
    };
    let merged = RequestVariant {
        system: SystemWords::BeforeUser,
        ..usual.clone()
    };
    for (status, error, expected) in [
        // OpenAI
        (
            400,
            json!({"message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            "type": "invalid_request_error", "param": "max_tokens", "code": "unsupported_parameter"}),
            second.clone(),
        ),
        (
            400,
            json!({"message": "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
            "param": "temperature", "code": "unsupported_value"}),
            without(&["temperature"]),
        ),
        (
            400,
            json!({"message": "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            "param": "messages[0].role", "code": "unsupported_value"}),
            merged.clone(),
        ),
        (
            400,
            json!({"message": "Unrecognized request argument supplied: seed"}),
            without(&["seed"]),
        ),
        (
            400,
            json!({"message": "Unknown parameter: 'seed'.", "param": "seed", "code": "unknown_parameter"}),
            without(&["seed"]),
        ),
        // Anthropic
        (
            400,
            json!({"type": "invalid_request_error", "message": "seed: Extra inputs are not permitted"}),
            without(&["seed"]),
        ),
        (
            400,
            json!({"message": "`temperature` is deprecated for this model."}),
            without(&["temperature"]),
        ),
        (
            400,
            json!({"message": "adaptive thinking is not supported on this model"}),
            without(&["thinking"]),
        ),
        // Mistral
        (
            422,
            json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}),
            without(&["seed"]),
        ),
        // Groq
        (
            400,
            json!({"message": "property 'seed' is unsupported"}),
            without(&["seed"]),
        ),
        // Gemini
        (
            400,
            json!({"code": 400, "message": "Invalid JSON payload received. Unknown name \"seed\": Cannot find field."}),
            without(&["seed"]),
        ),
        (
            400,
            json!({"message": "Developer instruction is not enabled for models/gemma-3-27b-it"}),
            merged.clone(),
        ),
        // LiteLLM
        (
            400,
            json!({"message": "openai does not support parameters: ['temperature'], for model=o1."}),
            without(&["temperature"]),
        ),
        // Model templates behind vLLM and llama.cpp
        (
            400,
            json!({"message": "Conversation roles must alternate user/assistant/user/assistant/..."}),
            merged.clone(),
        ),
        (
            500,
            json!({"message": "System role not supported at row 1"}),
            merged,
        ),
    ] {
        let refused = of(status, &error).unwrap_or_else(|| panic!("{error}"));
        let form = usual.without(&refused, &endpoint(Provider::Openai), &extra);
        assert_eq!(form, Some(expected), "{error}");
    }
    // Anthropic's API has one name for the limit.
    let limit = said("max_tokens: Extra inputs are not permitted").unwrap();
    assert_eq!(
        usual.without(&limit, &endpoint(Provider::Anthropic), &extra),
        None
    );
    // A limit that is rejected under both names is not sent.
    let openai = endpoint(Provider::Openai);
    assert_eq!(second.limit(&openai), Some(NEW_LIMIT));
    let none = second.without(
        &Rejection::Names(vec![NEW_LIMIT.to_owned()]),
        &openai,
        &extra,
    );
    assert_eq!(none.unwrap().limit(&openai), None);
}

#[test]
fn other_errors_refuse_no_part_of_a_request() {
    for (status, message) in [
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (
            400,
            "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (7000 in the messages, 2000 in the completion).",
        ),
        (
            400,
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        ),
        (400, "the model does not exist"),
        (401, "Unsupported parameter: 'max_tokens'"),
        (404, "model not supported"),
        (500, "internal error: not supported"),
    ] {
        assert_eq!(of(status, &json!({"message": message})), None, "{message}");
    }
    // A rejection that names nothing that was sent asks for no other form.
    let refused = said("Image input is not supported by this model").unwrap();
    let endpoint = Endpoint::new(
        Provider::Openai,
        "http://localhost",
        None,
        PlainHttp::LoopbackOnly,
    );
    let form = RequestVariant::default().without(&refused, &endpoint.unwrap(), &Parameters::new());
    assert_eq!(form, None);
}

#[test]
fn what_one_request_has_learned_another_need_not() {
    let forms = VariantCache::default();
    let endpoint = Endpoint::new(
        Provider::Openai,
        "http://localhost",
        None,
        PlainHttp::LoopbackOnly,
    )
    .unwrap();
    let extra = Parameters::new();
    let refused = Rejection::Names(vec![OLD_LIMIT.to_owned()]);
    let learn = |sent: &RequestVariant| forms.learn("m", sent, &refused, &endpoint, &extra);
    let first = forms.of("m");
    assert_eq!(learn(&first), Learned::Something);
    let second = forms.of("m");
    // The rejected request still had the first form.
    assert_eq!(
        (learn(&first), forms.of("m")),
        (Learned::Something, second.clone())
    );
    assert_eq!(learn(&second), Learned::Nothing);
    assert_eq!(forms.of("another"), RequestVariant::default());
}
