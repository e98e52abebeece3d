//! A batch waits for its server: no conversation is finished without its summary because the server had a bad moment.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::server::{Act, Request, Server, summary};
use super::{flags, many};

const TEXT: &str = "The stations alder-0 to alder-11 were read.";
const FILES: usize = 40;

fn overloaded() -> Act {
    Act::Answer(529, "", r#"{"error":{"message":"Overloaded"}}"#.to_owned())
}

/// Runs a batch that waits as long as it does by default; the number of requests.
fn all_are_summarised(act: impl Fn(usize, &Request) -> Act + Send + Sync + 'static) -> usize {
    let server = Server::start(act);
    let place = many(FILES);
    let flags = flags(&server).replace("--max-wait 0", "");
    place
        .run(&format!("compact in --out-dir out {flags} --report r.json"))
        .exits(0);
    let report = place.json("r.json");
    assert_eq!(report["totals"]["degraded"], 0);
    for file in report["files"].as_array().unwrap() {
        let summary = &file["conversations"][0]["summary"];
        assert_eq!(summary["source"], "anthropic", "{file:#}");
        assert_eq!(summary["success"], true, "{file:#}");
    }
    server.requests().len()
}

#[test]
fn a_server_that_is_overloaded_for_a_moment_costs_few_requests_and_no_summary() {
    let requests = all_are_summarised(|number, request| match number {
        0..5 => overloaded(),
        _ => summary(request, TEXT),
    });
    assert!(requests <= FILES * 13 / 10, "{requests}");
}

#[test]
fn failures_by_chance_are_tried_again_until_they_succeed() {
    let requests = all_are_summarised(|number, request| match number * 7 % 10 {
        0..3 => Act::Answer(500, "", "{}".to_owned()),
        _ => summary(request, TEXT),
    });
    assert!(requests <= FILES * 18 / 10, "{requests}");
}

#[test]
fn what_a_server_says_about_its_limit_is_done() {
    // Ten requests at once, then one in a tenth of a second.
    let bucket = Mutex::new((10.0, Instant::now()));
    let requests = all_are_summarised(move |_, request| {
        let mut bucket = bucket.lock().unwrap();
        let (left, last) = *bucket;
        let left: f64 = (left + last.elapsed().as_secs_f64() * 10.0).min(10.0);
        if left < 1.0 {
            *bucket = (left, Instant::now());
            let body = r#"{"error":{"message":"Rate limit reached. Please try again in 100ms."}}"#;
            return Act::Answer(429, "", body.to_owned());
        }
        *bucket = (left - 1.0, Instant::now());
        summary(request, TEXT)
    });
    assert!(requests <= FILES * 13 / 10, "{requests}");
}

#[test]
fn a_server_that_is_not_there_is_waited_for_as_long_as_was_said() {
    for (wait, least) in [("0", 0), ("2s", 2)] {
        let server = Server::start(|_, _| Act::Drop);
        let place = many(FILES);
        let flags = flags(&server).replace("--max-wait 0", &format!("--max-wait {wait}"));
        let start = Instant::now();
        let run = place
            .run(&format!("compact in --out-dir out {flags}"))
            .exits(3);
        let took = start.elapsed();
        assert!(
            (Duration::from_secs(least)..Duration::from_secs(60)).contains(&took),
            "{wait}: {took:?}"
        );
        assert!(server.requests().len() <= 20, "{}", server.requests().len());
        let _ = run.says(&["40 of 40 conversations have no model's summary: "]);
        let report = place.json("out/ctxpack.stats.json");
        assert_eq!(report["totals"]["degraded"], FILES);
    }
}

#[test]
fn one_conversation_that_never_succeeds_holds_up_no_other() {
    let server = Server::start(
        |_, request| match request.record().contains("Of number 3.") {
            true => Act::Answer(500, "", "{}".to_owned()),
            false => summary(request, TEXT),
        },
    );
    let place = many(FILES);
    let flags = flags(&server).replace("--max-wait 0", "");
    place
        .run(&format!("compact in --out-dir out {flags}"))
        .exits(3)
        .says(&["in/3.jsonl"]);
    assert_eq!(
        place.json("out/ctxpack.stats.json")["totals"]["degraded"],
        1
    );
}
