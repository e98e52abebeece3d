//! Results that are none, batches that fail, and servers that refuse them.

use serde_json::json;

use super::provider::{Fate, Provider, record};
use super::{PROVIDERS, TEXT, many, outputs, records, report, step, text};
use crate::cli::http::server::{Act, Server};

#[test]
fn each_result_that_is_none_is_said_and_asked_for_again() {
    for name in PROVIDERS {
        let again = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let is_again = again.clone();
        let provider = Provider::start(name, move |item| {
            let record = record(item);
            let is_of = |n: u32| record.contains(&format!("Of number {n}."));
            match is_again.load(std::sync::atomic::Ordering::SeqCst) {
                true => text(item),
                false if is_of(0) => Fate::Errored("invalid_request_error", "no such thing"),
                false if is_of(1) => Fate::Expired,
                false if is_of(2) => Fate::Canceled,
                false if is_of(3) => Fate::Missing,
                false if is_of(4) => Fate::Text("Ok.".to_owned()),
                false => text(item),
            }
        });
        let place = many(6);
        step(&place, &provider, "submit").exits(3);
        let ran = step(&place, &provider, "collect").exits(3);
        let _ = ran.says(&[
            "batch batch_1: 2 answers",
            "4 without one",
            "5 of 6 conversations have no model's summary",
        ]);
        let all = report(&place);
        let reasons: Vec<&str> = (0..5)
            .map(|n| {
                all["files"][n]["conversations"][0]["summary"]["error"]
                    .as_str()
                    .unwrap()
            })
            .collect();
        assert!(
            reasons[0].ends_with("status 400: no such thing"),
            "{reasons:?}"
        );
        assert!(reasons[1].contains("expired"), "{reasons:?}");
        assert!(reasons[2].contains("cancelled"), "{reasons:?}");
        assert!(reasons[3].contains("the batch"), "{reasons:?}");
        assert!(reasons[4].contains("too short"), "{reasons:?}");
        assert_eq!(all["files"][5]["degraded"], json!([]));
        // The same is said as long as nobody asks again.
        let _ = step(&place, &provider, "collect")
            .exits(3)
            .says(&["5 of 6 conversations have no"]);
        assert_eq!(provider.paid().len(), 6);
        again.store(true, std::sync::atomic::Ordering::SeqCst);
        let ran = step(&place, &provider, "submit").exits(3);
        let _ = ran.says(&[
            "batch batch_2: 5 requests sent",
            "5 of 6 conversations wait for batch batch_2",
        ]);
        step(&place, &provider, "collect").exits(0);
        assert_eq!(provider.paid().len(), 11);
        assert!(records(&place).is_empty());
    }
}

#[test]
fn batches_of_openai_that_end_badly() {
    for (status, why) in [
        ("failed", "the batch failed: invalid_file: no (line 1)"),
        ("expired", "the batch expired before it"),
        ("cancelled", "the batch was cancelled"),
    ] {
        let provider = Provider::start("openai", |_| Fate::Missing);
        provider.book.lock().unwrap().status = Some(status);
        let place = many(2);
        step(&place, &provider, "submit").exits(3);
        let _ = step(&place, &provider, "collect")
            .exits(3)
            .says(&[why, "2 of 2 conversations have no model's summary"]);
        provider.has_been_paid(2, 1);
    }
}

#[test]
fn a_conversation_that_is_too_long_is_sent_in_parts_next() {
    let provider = Provider::start("anthropic", |item| {
        match record(item).contains("Station alder-11") && record(item).contains("Station alder-0 ")
        {
            true => Fate::Errored(
                "invalid_request_error",
                "prompt is too long: 3000 tokens > 1900 maximum",
            ),
            false => text(item),
        }
    });
    let place = many(1);
    step(&place, &provider, "wait").exits(0);
    assert_eq!(outputs(&place), 1);
    let rounds = report(&place)["files"][0]["conversations"][0]["summary"]["rounds"].clone();
    assert!(rounds["parts"].as_u64().unwrap() > 1, "{rounds}");
    let book = provider.book.lock().unwrap();
    assert!(book.batches.len() >= 3 && book.single == 0);
}

#[test]
fn a_parameter_that_is_refused_is_left_out_next_time() {
    let provider = Provider::start("openai", |item| match item["body"].get("temperature") {
        Some(_) => Fate::Errored(
            "invalid_request_error",
            "Unsupported parameter: 'temperature' is not supported with this model.",
        ),
        None => Fate::Text(TEXT.to_owned()),
    });
    let place = many(2);
    place.write(
        "p.toml",
        "base = \"auto\"\n[summary.extra]\ntemperature = 0.5\n",
    );
    let line = |step: &str| {
        format!(
            r#"compact in --out-dir out --store s --set summary.extra={{"temperature":0.5}} --batch {step} {}"#,
            provider.flags()
        )
    };
    place.run(&line("submit")).exits(3);
    let more = "2 of 2 conversations wait for the request has not been sent yet";
    let _ = place.run(&line("collect")).exits(3).says(&[more]);
    place.run(&line("submit")).exits(3);
    let _ = place
        .run(&line("collect"))
        .exits(0)
        .says(&["refuses these parameters of summary.extra: temperature"]);
    assert_eq!(provider.paid().len(), 4);
    assert!(records(&place).is_empty());
}

#[test]
fn a_server_that_takes_no_batch_is_paid_nothing_and_nothing_is_remembered() {
    for (status, headers, body) in [
        (
            401,
            "",
            r#"{"error":{"type":"authentication_error","message":"invalid sk-canary-7f"}}"#,
        ),
        (400, "", r#"{"error":{"message":"batches are off"}}"#),
        (302, "location: http://127.0.0.1:9/\r\n", ""),
    ] {
        for name in PROVIDERS {
            let server = Server::start(move |_, _| Act::Answer(status, headers, body.to_owned()));
            let provider = Provider {
                server,
                book: std::sync::Arc::default(),
                name,
            };
            let place = many(2);
            let ran = step(&place, &provider, "submit").exits(3);
            let waits = "2 of 2 conversations wait for a batch that was not sent: run the same command again";
            let ran = ran.says(&[&format!("status {status}"), waits]);
            assert!(!ran.err.contains("sk-canary"), "{}", ran.err);
            assert!(records(&place).is_empty());
            assert_eq!(provider.server.requests().len(), 1);
        }
    }
}

#[test]
fn a_server_that_is_too_busy_to_take_a_batch_is_asked_again() {
    let server = Server::start(|n, _| match n {
        0 => Act::Answer(429, "retry-after-ms: 10\r\n", "{}".to_owned()),
        _ => Act::Answer(200, "", json!({"id": "msgbatch_1"}).to_string()),
    });
    let provider = Provider {
        server,
        book: std::sync::Arc::default(),
        name: "anthropic",
    };
    let place = many(1);
    let _ = step(&place, &provider, "submit")
        .exits(3)
        .says(&["it waits for batch msgbatch_1: run"]);
    assert_eq!(provider.server.requests().len(), 2);
}

#[test]
fn a_record_that_is_damaged_stops_what_could_be_paid_twice() {
    let provider = Provider::start("anthropic", text);
    let place = many(2);
    step(&place, &provider, "submit").exits(3);
    let [(name, record)] = records(&place).try_into().unwrap();
    for damaged in [
        "{".to_owned(),
        record.to_string().replace("batch_1", "../../v1/files"),
        record.to_string().replace("\"version\":1", "\"version\":2"),
    ] {
        place.write(&name, &damaged);
        for which in ["submit", "collect"] {
            let ran = step(&place, &provider, which).exits(3);
            let _ = ran.says(&["this record of a batch is damaged"]);
        }
    }
    provider.has_been_paid(2, 1);
    place.write(&name, record.to_string());
    step(&place, &provider, "collect").exits(0);
    provider.has_been_paid(2, 1);
}
