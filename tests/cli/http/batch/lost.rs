//! A run that ends between sending a batch and writing down its name: the next one finds the batch, and pays nothing again.

use serde_json::json;

use super::provider::{Fate, Provider, record};
use super::{PROVIDERS, many, outputs, records, step, text};

#[test]
fn a_connection_that_breaks_after_the_server_has_the_batch() {
    for name in PROVIDERS {
        let provider = Provider::start(name, text);
        provider.book.lock().unwrap().breaks = 1;
        let place = many(3);
        let ran = step(&place, &provider, "submit").exits(3);
        let _ = ran.says(&[
            "it is unknown whether the server accepted the batch",
            "it looks for the batch first",
        ]);
        assert_eq!(records(&place)[0].1["state"], "begun");
        let ran = step(&place, &provider, "submit").exits(3);
        let _ = ran.says(&["3 of 3 conversations wait for a batch that may have been sent"]);
        provider.has_been_paid(3, 1);
        let ran = step(&place, &provider, "collect").exits(0);
        let _ = ran.says(&["batch batch_1 was sent by a run that ended before it could record it"]);
        provider.has_been_paid(3, 1);
        assert_eq!(outputs(&place), 3);
        assert!(records(&place).is_empty());
    }
}

#[cfg(unix)]
#[test]
fn a_run_that_is_killed_while_it_waits_for_the_answer() {
    use crate::cli::http::server::{Act, Server};
    use std::time::Duration;

    for name in PROVIDERS {
        // The batch is there, and the answer comes too late.
        let slow =
            Server::start(
                move |_, request| match request.head.starts_with("post /v1/files") {
                    true => Act::Answer(200, "", json!({"id": "file-1"}).to_string()),
                    false => Act::Later(Duration::from_secs(60), Box::new(Act::Drop)),
                },
            );
        let place = many(2);
        let killed = Provider {
            server: slow,
            book: std::sync::Arc::default(),
            name,
        };
        let line = format!(
            "compact in --out-dir out --store s --batch submit {}",
            killed.flags()
        );
        let mut run = place.command(&line).spawn().unwrap();
        let last = match name {
            "anthropic" => 1,
            _ => 2,
        };
        while killed.server.requests().len() < last {
            std::thread::sleep(Duration::from_millis(10));
        }
        run.kill().unwrap();
        run.wait().unwrap();
        let [(_, record)] = records(&place).try_into().unwrap();
        assert_eq!(record["state"], "begun");
        assert_eq!(record["requests"].as_array().unwrap().len(), 2);
        // Nothing of the upload is left.
        assert!(
            !place.names().iter().any(|name| name.ends_with(".tmp")) || cfg!(target_os = "linux")
        );
    }
}

#[test]
fn a_batch_that_never_arrived_is_sent_again() {
    for name in PROVIDERS {
        let provider = Provider::start(name, text);
        let place = many(2);
        step(&place, &provider, "submit").exits(3);
        let [(record_name, mut record)] = records(&place).try_into().unwrap();
        // As if the run had been killed a minute ago, before the server had it.
        record["state"] = json!("begun");
        record["begun"] = json!(record["begun"].as_i64().unwrap() - 60_000);
        place.write(&record_name, record.to_string());
        provider.book.lock().unwrap().batches.clear();
        let ran = step(&place, &provider, "collect").exits(3);
        let _ = ran.says(&[
            "a batch that may have been sent is not on the server",
            "2 of 2 conversations wait for the request has not been sent yet",
        ]);
        step(&place, &provider, "wait").exits(0);
        provider.has_been_paid(2, 1);
    }
}

#[test]
fn a_batch_of_somebody_else_is_not_taken_for_ours_once_its_results_are_there() {
    let provider = Provider::start("anthropic", text);
    let (place, other) = (many(2), many(3));
    other.write("in/2.jsonl", "");
    for n in 0..2 {
        other.write(
            &format!("in/{n}.jsonl"),
            super::super::session(&format!("Elsewhere, {n}.")),
        );
    }
    step(&place, &provider, "submit").exits(3);
    step(&other, &provider, "submit").exits(3);
    let [(name, mut record)] = records(&place).try_into().unwrap();
    // The other one is nearer to the time that was written down.
    record["state"] = json!("begun");
    place.write(&name, record.to_string());
    {
        let mut book = provider.book.lock().unwrap();
        book.batches.swap(0, 1);
    }
    let mut codes = Vec::new();
    for _ in 0..3 {
        let ran = step(&place, &provider, "collect");
        codes.push(ran.code);
        if ran.code == Some(0) {
            break;
        }
    }
    assert_eq!(codes.last(), Some(&Some(0)), "{codes:?}");
    assert_eq!(provider.paid().len(), 4);
    assert_eq!(outputs(&place), 2);
}

#[test]
fn many_batches_of_others_are_looked_through_for_ours() {
    for name in PROVIDERS {
        let provider = Provider::start(name, |item| match record(item).contains("Of number 0.") {
            true => Fate::Text(super::TEXT.to_owned()),
            false => Fate::Missing,
        });
        let place = many(1);
        step(&place, &provider, "submit").exits(3);
        let [(record_name, mut record)] = records(&place).try_into().unwrap();
        let other = many(2);
        for n in 0..5 {
            let line = format!(
                "compact in --out-dir o{n} --store s{n} --batch submit --instructions {n} {}",
                provider.flags()
            );
            other.run(&line).exits(3);
        }
        record["state"] = json!("begun");
        place.write(&record_name, record.to_string());
        let _ = step(&place, &provider, "collect")
            .exits(0)
            .says(&["batch batch_1 was sent by"]);
    }
}
