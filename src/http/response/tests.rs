//! Responses of real servers, verbatim.

use super::*;

fn response(status: u16, body: &str) -> Response {
    Response {
        status,
        body: body.as_bytes().to_owned(),
        ..Response::default()
    }
}

fn anthropic(status: u16, body: &str) -> Result<Answer, Failure> {
    read(Provider::Anthropic, &response(status, body), None).0
}

fn openai(status: u16, body: &str) -> Result<Answer, Failure> {
    read(Provider::Openai, &response(status, body), None).0
}

/// What an answer with this body cost.
fn cost(provider: Provider, body: &str) -> (u64, u64) {
    let Usage { input, output } = read(provider, &response(200, body), None).1;
    (input, output)
}

fn why(result: Result<Answer, Failure>) -> String {
    match result.unwrap_err() {
        Failure::Busy { why, .. } => format!("busy: {why}"),
        Failure::Transient(why) => format!("transient: {why}"),
        Failure::Rejected(why) => format!("rejected: {why}"),
        Failure::Fatal(why) => format!("fatal: {why}"),
        Failure::PromptTooLong { why, excess } => format!("too long, {excess:?}: {why}"),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_summary_is_read_with_its_usage() {
    let body = r#"{"type":"message","model":"m","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":" a"},{"type":"text","text":"b\n"}],
            "stop_reason":"end_turn","usage":{"input_tokens":5,"cache_read_input_tokens":7,"output_tokens":3}}"#;
    let expected = Answer {
        text: "ab".to_owned(),
        model: Some("m".to_owned()),
        ending: Ending::Whole,
    };
    assert_eq!(anthropic(200, body), Ok(expected));
    assert_eq!(cost(Provider::Anthropic, body), (12, 3));
    let body = r#"{"choices":[{"message":{"role":"assistant","content":"<think>no</think>\nyes","tool_calls":[]},"finish_reason":"stop"}],
            "usage":{"prompt_tokens":5,"completion_tokens":3}}"#;
    let expected = Answer {
        text: "yes".to_owned(),
        model: None,
        ending: Ending::Whole,
    };
    assert_eq!(openai(200, body), Ok(expected));
    assert_eq!(cost(Provider::Openai, body), (5, 3));
}

#[test]
fn an_answer_that_was_cut_off_says_so_and_may_be_empty() {
    let cut = |text: &str| Answer {
        text: text.to_owned(),
        model: None,
        ending: Ending::CutOff,
    };
    for reason in ["max_tokens", "model_context_window_exceeded"] {
        let body = |content| format!(r#"{{"content":[{content}],"stop_reason":"{reason}"}}"#);
        let text = r#"{"type":"text","text":"half a"}"#;
        assert_eq!(anthropic(200, &body(text)), Ok(cut("half a")));
        assert_eq!(anthropic(200, &body("")), Ok(cut("")));
    }
    let body = r#"{"choices":[{"message":{"content":"half a"},"finish_reason":"length"}]}"#;
    assert_eq!(openai(200, body), Ok(cut("half a")));
}

#[test]
fn what_is_no_summary_has_its_cost_all_the_same() {
    let usage = r#""usage":{"input_tokens":5,"output_tokens":3}"#;
    for (content, reason) in [
        ("", "end_turn"),
        (r#"{"type":"text","text":"a"}"#, "refusal"),
        (r#"{"type":"tool_use"}"#, "tool_use"),
    ] {
        let body = format!(r#"{{"content":[{content}],"stop_reason":"{reason}",{usage}}}"#);
        assert!(anthropic(200, &body).is_err());
        assert_eq!(cost(Provider::Anthropic, &body), (5, 3), "{reason}");
    }
}

#[test]
fn a_success_without_a_summary_is_a_failure() {
    let of = |content: &str, reason: &str| {
        why(anthropic(
            200,
            &format!(r#"{{"content":[{content}],"stop_reason":"{reason}"}}"#),
        ))
    };
    let text = r#"{"type":"text","text":"a"}"#;
    assert_eq!(of("", "end_turn"), "transient: the answer is empty");
    assert_eq!(
        of(r#"{"type":"text","text":" \n"}"#, "end_turn"),
        "transient: the answer is empty"
    );
    assert_eq!(of(text, "refusal"), "rejected: the model refused");
    assert_eq!(
        of(text, "tool_use"),
        "rejected: the model called a tool instead of answering"
    );
    assert_eq!(
        of(
            r#"{"type":"tool_use","id":"1","name":"x","input":{}}"#,
            "end_turn"
        ),
        "rejected: the model called a tool instead of answering"
    );
    assert_eq!(
        of(text, "pause"),
        "rejected: the answer ended for an unknown reason: pause"
    );
    let page = "<html><body>Sign in \u{1b}[2J</body></html>";
    assert_eq!(
        why(anthropic(200, page)),
        "transient: the answer is not JSON: <html><body>Sign in \\u{1b}[2J</body></html>"
    );
    assert_eq!(
        why(anthropic(200, r#"{"content":[{"type":"te"#)),
        "transient: the answer is not JSON: {\"content\":[{\"type\":\"te"
    );
    assert_eq!(
        why(anthropic(200, "")),
        "transient: the answer is not JSON: (nothing)"
    );
    assert_eq!(
        why(anthropic(200, "{}")),
        "transient: the answer has no content"
    );
}

#[test]
fn a_chat_completion_without_a_summary_is_a_failure() {
    let of = |message: &str, reason: &str| {
        why(openai(
            200,
            &format!(r#"{{"choices":[{{"message":{message},"finish_reason":"{reason}"}}]}}"#),
        ))
    };
    assert_eq!(
        of(r#"{"content":null}"#, "stop"),
        "transient: the answer is empty"
    );
    assert_eq!(
        of(r#"{"content":"a"}"#, "content_filter"),
        "rejected: the model refused"
    );
    assert_eq!(
        of(r#"{"content":"a","refusal":"no"}"#, "stop"),
        "rejected: the model refused"
    );
    assert_eq!(
        of(r#"{"content":"a","tool_calls":[{"id":"1"}]}"#, "stop"),
        "rejected: the model called a tool instead of answering"
    );
    assert_eq!(
        of(r#"{"content":"<think>for ever"}"#, "stop"),
        "transient: the answer is empty"
    );
    assert_eq!(
        why(openai(200, r#"{"choices":[]}"#)),
        "transient: the answer has no message"
    );
}

#[test]
fn a_prompt_that_is_too_long_is_recognised_in_every_servers_words() {
    for (status, body, excess) in [
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            Some((210_000, 200_000)),
        ),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9,000 tokens.","code":"context_length_exceeded"}}"#,
            Some((9_000, 8_192)),
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":2048}}"#,
            Some((5_000, 2_048)),
        ),
        (
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            None,
        ),
        (413, "<html>413</html>", None),
        (
            400,
            r#"{"error":{"message":"Your input exceeds the context window of this model."}}"#,
            None,
        ),
    ] {
        let Err(Failure::PromptTooLong { excess: found, .. }) = openai(status, body) else {
            panic!("{body}: {:?}", openai(status, body));
        };
        assert_eq!(
            found.map(|found| (found.prompt, found.limit)),
            excess,
            "{body}"
        );
    }
}

#[test]
fn missing_credit_and_a_refused_key_are_fatal() {
    for (status, body) in [
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
        ),
        (
            429,
            r#"{"error":{"message":"limit","code":"project_spend_limit_exceeded"}}"#,
        ),
        (
            429,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"limit","details":{"error_code":"enforced_spend_limit_reached"}}}"#,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API"}}"#,
        ),
        (401, r#"{"error":{"message":"Incorrect API key provided"}}"#),
        (403, ""),
        (302, ""),
        (308, "moved"),
    ] {
        let result = openai(status, body);
        assert!(
            matches!(result, Err(Failure::Fatal(_))),
            "{status} {body}: {result:?}"
        );
    }
}

#[test]
fn statuses_are_transient_or_not() {
    let kind = |status: u16, should_retry: Option<&str>| {
        let response = Response {
            should_retry: should_retry.map(str::to_owned),
            ..response(status, "x")
        };
        why(read(Provider::Anthropic, &response, None)
            .0
            .map(|_| unreachable!()))
    };
    for status in [408, 409, 500, 502, 503, 504, 529] {
        assert_eq!(kind(status, None), format!("transient: status {status}: x"));
    }
    // A gateway gives the same answer for a server that is down; a server that states a wait is up.
    assert_eq!(kind(429, None), "busy: status 429: x");
    let waits = Response {
        retry_after: Some("2".to_owned()),
        ..response(503, "x")
    };
    let (waits, _) = read(Provider::Anthropic, &waits, None);
    assert!(matches!(
        waits,
        Err(Failure::Busy {
            retry_after: Some(_),
            ..
        })
    ));
    for status in [400, 404, 405, 422] {
        assert_eq!(kind(status, None), format!("rejected: status {status}: x"));
    }
    assert_eq!(kind(500, Some("false")), "rejected: status 500: x");
    assert_eq!(kind(400, Some("true")), "transient: status 400: x");
}

#[test]
fn retry_after_is_read_in_every_form() {
    let after = |ms: Option<&str>, seconds: Option<&str>| {
        let own = |text: Option<&str>| text.map(str::to_owned);
        let response = Response {
            retry_after_ms: own(ms),
            retry_after: own(seconds),
            date: Some("Sun, 06 Nov 1994 08:49:37 GMT".to_owned()),
            ..response(429, "")
        };
        response.wait().map(|wait| wait.as_millis())
    };
    assert_eq!(after(Some("1500"), Some("9")), Some(1_500));
    assert_eq!(after(None, Some("2")), Some(2_000));
    assert_eq!(after(None, Some("0.5")), Some(500));
    assert_eq!(
        after(None, Some("Sun, 06 Nov 1994 08:50:07 GMT")),
        Some(30_000)
    );
    assert_eq!(after(None, Some("Sun, 06 Nov 1994 08:49:07 GMT")), None);
    for odd in ["-1", "NaN", "1e300", "soon"] {
        assert_eq!(after(None, Some(odd)), None, "{odd}");
    }
}

#[test]
fn a_list_as_content_is_read_without_what_the_model_thought() {
    let of = |content: &str| {
        openai(
            200,
            &format!(
                r#"{{"choices":[{{"message":{{"content":{content}}},"finish_reason":"stop"}}]}}"#
            ),
        )
    };
    let list = r#"[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"a"},"b"]"#;
    assert_eq!(of(list).unwrap().text, "ab");
    assert_eq!(why(of("[]")), "transient: the answer is empty");
    assert_eq!(
        why(of(r#"[{"type":"image_url"}]"#)),
        "rejected: the answer contains more than text"
    );
}

#[test]
fn an_error_inside_of_an_answer_is_one_with_its_own_code() {
    let of = |body: &str| why(openai(200, body));
    for (body, expected) in [
        (
            r#"{"error":{"code":502,"message":"down"}}"#,
            "transient: status 502: down",
        ),
        (
            r#"{"error":{"code":"429","message":"slow"},"choices":[]}"#,
            "busy: status 429: slow",
        ),
        (
            r#"{"error":{"code":402,"message":"no credit"}}"#,
            "fatal: status 402: no credit",
        ),
        (
            r#"{"error":{"code":403,"message":"flagged"}}"#,
            "rejected: status 403: flagged",
        ),
        (
            r#"{"error":{"code":400,"message":"prompt is too long: 9 tokens > 5 maximum"}}"#,
            "too long, Some(Excess { prompt: 9, limit: 5 }): status 400: prompt is too long: 9 tokens > 5 maximum",
        ),
        (
            r#"{"error":"model not loaded"}"#,
            "transient: status 502: model not loaded",
        ),
        (
            r#"{"error":{"code":"x","message":"Provider returned error","metadata":{"raw":{"a":1}}}}"#,
            "transient: status 502: {\"a\":1}",
        ),
        (
            r#"{"choices":[{"error":{"code":503,"message":"none"},"message":{"content":"a"}}]}"#,
            "transient: status 503: none",
        ),
        (
            r#"{"choices":[{"message":{"content":"half"},"finish_reason":"error"}]}"#,
            "transient: the response was cut off: error",
        ),
    ] {
        assert_eq!(of(body), expected, "{body}");
    }
    // An answer whose error is `null` is an answer.
    let none = r#"{"error":null,"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}"#;
    assert_eq!(openai(200, none).unwrap().text, "a");
    // Google's list, and what Anthropic's form of it is.
    let list = r#"[{"error":{"code":400,"message":"no such form"}}]"#;
    assert_eq!(why(openai(400, list)), "rejected: status 400: no such form");
    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    assert_eq!(
        why(anthropic(200, body)),
        "transient: status 502: Overloaded"
    );
}

#[test]
fn every_servers_reasons_for_an_end_are_known() {
    let of = |reason: &str| {
        openai(
            200,
            &format!(
                r#"{{"choices":[{{"message":{{"content":"a"}},"finish_reason":"{reason}"}}]}}"#
            ),
        )
    };
    for reason in ["stop", "STOP", "eos", "COMPLETE", ""] {
        assert_eq!(of(reason).unwrap().ending, Ending::Whole, "{reason}");
    }
    for reason in ["length", "MAX_TOKENS", "model_length"] {
        assert_eq!(of(reason).unwrap().ending, Ending::CutOff, "{reason}");
    }
    for reason in [
        "content_filter",
        "content_filter: PROHIBITED_CONTENT",
        "SAFETY",
        "sensitive",
    ] {
        assert_eq!(why(of(reason)), "rejected: the model refused", "{reason}");
    }
}

#[test]
fn the_key_is_cut_out_before_a_text_is_clipped() {
    let key = Key::new("sk-0123456789", "K").unwrap();
    let long = format!("{}sk-0123456789 and more", "x".repeat(295));
    for body in [
        long.clone(),
        serde_json::json!({"error": {"message": long}}).to_string(),
    ] {
        let (result, _) = read(Provider::Openai, &response(400, &body), Some(&key));
        let why = why(result);
        assert!(why.ends_with("x[key]"), "{why}");
    }
    let body = r#"{"model":"sk-0123456789","choices":[{"message":{"content":"with sk-01234\u00356789."}}]}"#;
    let (answer, _) = read(Provider::Openai, &response(200, body), Some(&key));
    let answer = answer.unwrap();
    assert_eq!(
        (answer.text.as_str(), answer.model.as_deref()),
        ("with [key].", Some("[key]"))
    );
}

#[test]
fn an_error_in_a_list_is_read_wherever_it_comes() {
    let response = Response {
        status: 404,
        body: br#"[{"error":{"code":404,"message":"no such job","status":"NOT_FOUND"}}]"#.to_vec(),
        ..Response::default()
    };
    let failure = value(&response, None).unwrap_err();
    assert!(
        matches!(&failure, Failure::Rejected(why) if why == "status 404: no such job"),
        "{failure:?}"
    );
}

#[test]
fn a_figure_that_the_shown_text_cuts_is_read_whole() {
    let filler = "x".repeat(281);
    let message = format!("{filler} prompt is too long: 210000 tokens > 200000 maximum");
    let body = serde_json::json!({"error": {"message": message}}).to_string();
    let response = Response {
        status: 400,
        body: body.into_bytes(),
        ..Response::default()
    };
    let excess = Some(Excess {
        prompt: 210_000,
        limit: 200_000,
    });
    let (result, _) = read(Provider::Anthropic, &response, None);
    assert!(
        matches!(&result, Err(Failure::PromptTooLong { excess: found, .. }) if *found == excess),
        "{result:?}"
    );
}
