//! The published examples of both batch APIs, and counterexamples.

use super::*;
use crate::http::endpoint::PlainHttp;

fn addresses(provider: Provider, base: &str) -> Result<Addresses> {
    Addresses::of(&Endpoint::new(provider, base, None, PlainHttp::LoopbackOnly).unwrap())
}

#[test]
fn addresses_stand_beside_the_endpoint() {
    let of = |provider| addresses(provider, "http://localhost/v1").unwrap();
    let anthropic = of(Provider::Anthropic);
    assert_eq!(anthropic.batches(), "http://localhost/v1/messages/batches");
    assert_eq!(
        anthropic.page(Some("b")),
        "http://localhost/v1/messages/batches?limit=100&after_id=b"
    );
    let openai = of(Provider::Openai);
    assert_eq!(openai.batches(), "http://localhost/v1/batches");
    assert_eq!(openai.files(), "http://localhost/v1/files");
    assert_eq!(
        openai.page(Some("b")),
        "http://localhost/v1/batches?limit=100&after=b"
    );
    let azure = "https://a.openai.azure.com/openai/deployments/d?api-version=2024-10-21";
    let error = addresses(Provider::Openai, azure).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config);
    for (id, is) in [
        ("msgbatch_01H-x", true),
        ("", false),
        ("a/b", false),
        ("a?b", false),
        ("..", false),
    ] {
        assert_eq!(is_id(id), is, "{id}");
    }
    assert!(!is_id(&"a".repeat(129)));
}

#[test]
fn a_request_is_one_line_of_json() {
    let body = br#"{"model":"m"}"#;
    let item_of = |provider| -> Value {
        serde_json::from_slice(&request_line(provider, "0a", body)).unwrap()
    };
    assert_eq!(
        item_of(Provider::Anthropic),
        json!({"custom_id": "0a", "params": {"model": "m"}})
    );
    assert_eq!(
        item_of(Provider::Openai),
        json!({"custom_id": "0a", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m"}})
    );
}

#[test]
fn a_batch_is_read_as_its_server_tells_of_it() {
    let anthropic = addresses(Provider::Anthropic, "http://localhost").unwrap();
    let mut batch = json!({"id": "msgbatch_1", "type": "message_batch", "processing_status": "in_progress",
        "request_counts": {"processing": 3, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0},
        "ended_at": null, "created_at": "2024-08-20T18:37:24.100435Z", "expires_at": "2024-08-21T18:37:24.100435Z",
        "archived_at": null, "cancel_initiated_at": null, "results_url": null});
    let one = seen(&anthropic, &batch).unwrap();
    assert_eq!((one.created, one.requests), (Some(1_724_179_044), Some(3)));
    assert_eq!(one.standing, BatchStatus::Working);
    batch["processing_status"] = "ended".into();
    // Never the URL that the server names.
    batch["results_url"] = "https://evil.example/r".into();
    let BatchStatus::Ended(addresses_of, _) = seen(&anthropic, &batch).unwrap().standing else {
        panic!("it has ended")
    };
    assert_eq!(
        addresses_of,
        ["http://localhost/v1/messages/batches/msgbatch_1/results"]
    );
    batch["id"] = "../../files".into();
    assert_eq!(seen(&anthropic, &batch), None);

    let openai = addresses(Provider::Openai, "http://localhost").unwrap();
    let mut batch = json!({"id": "batch_1", "object": "batch", "endpoint": "/v1/chat/completions", "errors": null,
        "input_file_id": "file-1", "completion_window": "24h", "status": "validating", "output_file_id": null,
        "error_file_id": null, "created_at": 1714508499, "request_counts": {"total": 0, "completed": 0, "failed": 0},
        "metadata": {"ctxpack": "0a"}});
    let one = seen(&openai, &batch).unwrap();
    assert_eq!(
        (one.created, one.tag.as_deref()),
        (Some(1_714_508_499), Some("0a"))
    );
    for status in ["in_progress", "finalizing", "cancelling", "something_new"] {
        batch["status"] = status.into();
        assert_eq!(
            seen(&openai, &batch).unwrap().standing,
            BatchStatus::Working
        );
    }
    batch["error_file_id"] = "file-2".into();
    for status in ["completed", "expired", "cancelled"] {
        batch["status"] = status.into();
        let BatchStatus::Ended(files, _) = seen(&openai, &batch).unwrap().standing else {
            panic!("{status}")
        };
        assert_eq!(files, ["http://localhost/v1/files/file-2/content"]);
    }
    batch["status"] = "failed".into();
    batch["errors"] = json!({"object": "list", "data": [{"code": "invalid_json", "message": "bad", "line": 2, "param": null}]});
    let failed = BatchStatus::Failed("invalid_json: bad (line 2)".to_owned());
    assert_eq!(seen(&openai, &batch).unwrap().standing, failed);
}

#[test]
fn each_kind_of_result_is_read() {
    let of = |line: Value| result(line.to_string().as_bytes());
    let status = |line: Value| match of(line) {
        Some((_, Outcome::Response(response))) => response.status,
        other => panic!("{other:?}"),
    };
    let errored = |kind: &str| {
        json!({"custom_id": "a", "result": {"type": "errored",
        "error": {"type": "error", "error": {"type": kind, "message": "no"}}}})
    };
    assert_eq!(
        status(
            json!({"custom_id": "a", "result": {"type": "succeeded", "message": {"content": []}}})
        ),
        200
    );
    assert_eq!(status(errored("invalid_request_error")), 400);
    assert_eq!(status(errored("overloaded_error")), 529);
    assert_eq!(
        status(json!({"id": "r", "custom_id": "a", "error": null,
            "response": {"status_code": 400, "request_id": "q", "body": {"error": {"message": "no"}}}})),
        400
    );
    let expired = json!({"id": "batch_req_1", "custom_id": "a", "response": null,
        "error": {"code": "batch_expired", "message": "This request could not be executed."}});
    let without = |why: &str| Some(("a".to_owned(), Outcome::Without(why.to_owned())));
    assert_eq!(of(expired), without("This request could not be executed."));
    assert_eq!(
        of(json!({"custom_id": "a", "result": {"type": "canceled"}})),
        without("the batch was cancelled")
    );
    for strange in [
        json!({}),
        json!([]),
        json!({"custom_id": 1}),
        json!({"custom_id": "a"}),
        json!({"custom_id": "a", "result": {"type": "new"}}),
    ] {
        assert_eq!(of(strange), None);
    }
    assert_eq!(result(b"<html>"), None);
}
