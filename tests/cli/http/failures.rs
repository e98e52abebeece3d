//! What a run says and does where its model fails: counted, refused, left as it was, and done again.

use serde_json::{Value, json};

use super::server::{Act, Request, Server, summary};
use super::{flags, many, session};
use crate::cli::harness::Place;

const TEXT: &str = "The stations alder-0 to alder-11 were read.";

fn error(status: u16, kind: &str, message: &str) -> Act {
    let body = json!({"type": "error", "error": {"type": kind, "message": message}});
    Act::Answer(status, "", body.to_string())
}

fn is_of(request: &Request, numbers: &[u32]) -> bool {
    let is_one = |n: &u32| request.record().contains(&format!("Of number {n}."));
    numbers.iter().any(is_one)
}

/// Fails for some sessions.
fn partly(request: &Request) -> Act {
    match () {
        () if is_of(request, &[1, 4, 5]) => error(400, "invalid_request_error", "no"),
        () if is_of(request, &[7]) => summary(request, "I cannot help with that."),
        () => summary(request, TEXT),
    }
}

#[test]
fn the_end_of_a_run_says_how_many_conversations_have_no_summary_and_why() {
    let server = Server::start(|_, request| partly(request));
    let place = many(9);
    let ran = place
        .run(&format!("compact in --out-dir out {}", flags(&server)))
        .exits(3);
    let host = server.url().replace("http://", "");
    let _ = ran.says(&[&format!(
        "4 files: 4 of 9 conversations have no model's summary: {host}: status 400: no (3), the answer refuses to summarise (1) (in/1.jsonl"
    )]);
    let report = place.json("out/ctxpack.stats.json");
    let files = report["files"].as_array().unwrap();
    let summaries = files.iter().map(|f| &f["conversations"][0]["summary"]);
    let errors: Vec<&Value> = summaries.filter_map(|s| s.get("error")).collect();
    assert_eq!(errors.len(), 4);
    assert_eq!(errors[3], "the answer refuses to summarise");
}

#[test]
fn a_key_or_a_model_that_is_refused_ends_the_run_before_anything_is_written() {
    let credit = json!({"error": {"message": "no credit left", "code": "insufficient_quota"}});
    let credit = credit.to_string();
    for (status, body) in [
        (
            401,
            r#"{"error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
        ),
        (403, r#"{"error":{"message":"not allowed"}}"#),
        (
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: m"}}"#,
        ),
        (
            404,
            r#"{"error":{"message":"The model m does not exist","code":"model_not_found"}}"#,
        ),
        (429, &credit),
    ] {
        let sent = body.to_owned();
        let server = Server::start(move |_, _| Act::Answer(status, "", sent.clone()));
        let place = many(5);
        place.write("more/deep/9.jsonl", session("Of number 9."));
        let before = place.all_files();
        for line in [
            "compact in --out-dir out --model m",
            "compact more in --out-dir out --model m",
            "compact in more --model m --post-hook true",
            "compact in --model m",
            "compact in --in-place --model m",
            "compact in/0.jsonl --model m",
        ] {
            let sent = server.requests().len();
            let ran = place.run(&format!("{line} {}", flags(&server))).exits(2);
            let host = server.url().replace("http://", "");
            let said =
                format!("the server rejects all requests of this run: {host}: status {status}: ");
            let _ = ran.says(&[&said, "\nhint: check the key"]);
            assert_eq!(server.requests().len() - sent, 1, "{line}, {body}");
            let transcripts = |files: &std::collections::BTreeMap<String, _>| {
                let names = files.keys().filter(|name| !name.contains(".ctxpack"));
                names.cloned().collect::<Vec<_>>()
            };
            assert_eq!(
                transcripts(&place.all_files()),
                transcripts(&before),
                "{line}"
            );
        }
        assert_eq!(place.text("in/0.jsonl"), before_text(0));
    }
}

fn before_text(n: u32) -> String {
    session(&format!("Of number {n}."))
}

#[test]
fn a_model_that_one_transcript_names_and_the_server_lacks_fails_for_that_one() {
    let server = Server::start(|_, request| match is_of(request, &[2]) {
        true => error(404, "not_found_error", "model: claude-recorded"),
        false => summary(request, TEXT),
    });
    let place = many(4);
    place
        .run(&format!("compact in --out-dir out {}", flags(&server)))
        .exits(3)
        .says(&["in/2.jsonl: 1 of 4 conversations has no model's summary: "]);
}

#[test]
fn a_key_that_is_refused_after_answers_ends_the_requests_and_not_the_run() {
    let server = Server::start(|number, request| match number {
        0 | 1 => summary(request, TEXT),
        _ => error(401, "authentication_error", "expired"),
    });
    let place = many(6);
    let line = format!(
        "compact in --out-dir out --max-concurrency 1 {}",
        flags(&server)
    );
    place.run(&line).exits(3);
    assert_eq!(server.requests().len(), 3);
    let totals = place.json("out/ctxpack.stats.json")["totals"].clone();
    assert_eq!(
        (&totals["compacted"], &totals["degraded"]),
        (&json!(6), &json!(4))
    );
}

#[test]
fn a_file_whose_summary_fails_stays_as_it_was_where_the_policy_says_so() {
    let server = Server::start(|_, request| partly(request));
    for (line, is_in_place) in [
        ("compact in --out-dir out", false),
        ("compact in --in-place", true),
    ] {
        let place = many(6);
        let line = format!(
            "{line} --set summary.on_failure=fail --report r.json {}",
            flags(&server)
        );
        place.run(&line).exits(3).says(&[
            "in/1.jsonl: no summary could be written: ",
            "in/5.jsonl: no summary",
        ]);
        let totals = place.json("r.json")["totals"].clone();
        assert_eq!(
            (&totals["compacted"], &totals["failed"]),
            (&json!(3), &json!(3))
        );
        let failed = place.json("r.json")["files"][1].clone();
        assert_eq!(failed["error"]["kind"], "summary");
        // What was paid for nothing is told, and nothing that was planned.
        let conversation = &failed["conversations"][0];
        assert!(conversation["summary"]["spent"]["requests"].as_u64() >= Some(1));
        assert_eq!(conversation["tokens_after"], conversation["tokens_before"]);
        assert_eq!(
            (&failed["output"], &conversation["actions"]),
            (&json!(null), &json!([]))
        );
        for n in [1, 4, 5] {
            assert_eq!(place.text(&format!("in/{n}.jsonl")), before_text(n));
            assert!(!place.path(&format!("out/{n}.jsonl")).exists());
        }
        let written = if is_in_place {
            "in/0.jsonl"
        } else {
            "out/0.jsonl"
        };
        assert!(place.text(written).contains(TEXT));
    }
}

#[test]
fn a_line_whose_summary_fails_is_told_of_as_a_file_is() {
    let server = Server::start(|_, request| partly(request));
    let place = Place::new();
    let line = |n: u32| {
        let messages = before_text(n)
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>();
        let messages = messages.join(",");
        format!("{{\"id\":{n},\"messages\":[{messages}]}}\n")
    };
    let text: String = [0, 1, 2].map(line).concat();
    place.write("in.jsonl", &text);
    let flags = flags(&server);
    place
        .run(&format!(
            "compact in.jsonl --set summary.on_failure=fail --report r.json {flags}"
        ))
        .exits(3)
        .says(&["in.jsonl: no summary could be written: "]);
    let failed = place.json("r.json")["files"][0].clone();
    assert_eq!(failed["error"]["kind"], "summary");
    assert_eq!(failed["bytes_before"], text.len());
    let hash = format!("blake3:{}", blake3::hash(text.as_bytes()).to_hex());
    assert_eq!(failed["hash_before"], hash);
    // The one that failed, and the one before it: what these have cost is told, and nothing that was planned.
    let conversations = failed["conversations"].as_array().unwrap();
    assert_eq!(conversations.len(), 2);
    for conversation in conversations {
        assert_eq!(conversation["actions"], json!([]));
        assert_eq!(conversation["tokens_after"], conversation["tokens_before"]);
    }
    assert!(conversations[1]["summary"]["spent"]["requests"].as_u64() >= Some(1));
    assert!(!place.path("in.compact.jsonl").exists());
}

#[test]
fn what_failed_is_done_again_and_nothing_else() {
    for place_of in ["--out-dir out", "--in-place", ""] {
        let server = Server::start(|number, request| match number {
            ..9 => partly(request),
            _ => summary(request, TEXT),
        });
        let place = many(9);
        let line = format!(
            "compact in {place_of} --report r.json --overwrite {}",
            flags(&server)
        );
        place.run(&line).exits(3);
        assert_eq!(server.requests().len(), 9);
        let name = |n: u32| match place_of {
            "--out-dir out" => format!("out/{n}.jsonl"),
            "--in-place" => format!("in/{n}.jsonl"),
            _ => format!("in/{n}.compact.jsonl"),
        };
        assert!(!place.text(&name(1)).contains(TEXT), "{place_of}");
        // One that has grown since is another session.
        let grown = place.text(&name(4)) + "{\"role\":\"user\",\"content\":\"More.\"}\n";
        place.write(&name(4), &grown);
        let others: Vec<String> = [0, 2, 3, 4, 6, 8].map(|n| place.text(&name(n))).into();
        place.run(&format!("{line} --retry-degraded")).exits(0);
        assert_eq!(server.requests().len(), 12, "{place_of}");
        let report = place.json("r.json");
        assert_eq!(
            (&report["totals"]["files"], &report["totals"]["compacted"]),
            (&json!(3), &json!(3))
        );
        for n in [1, 5, 7] {
            assert!(place.text(&name(n)).contains(TEXT), "{place_of}, {n}");
            place.run(&format!("verify {}", name(n))).exits(0);
            place
                .run(&format!("undo {} -o back.jsonl --overwrite", name(n)))
                .exits(0);
            assert_eq!(place.text("back.jsonl"), before_text(n), "{place_of}, {n}");
        }
        let after: Vec<String> = [0, 2, 3, 4, 6, 8].map(|n| place.text(&name(n))).into();
        assert_eq!(after, others, "{place_of}");
        // There is nothing left to do.
        place.run(&format!("{line} --retry-degraded")).exits(0);
        assert_eq!(server.requests().len(), 12, "{place_of}");
    }
}

#[test]
fn what_fails_again_is_as_it_was() {
    let server = Server::start(|_, _| error(400, "invalid_request_error", "no"));
    let place = Place::with(&[("in.jsonl", session(""))]);
    let line = format!("compact in.jsonl --in-place {}", flags(&server));
    place.run(&line).exits(3);
    let first = place.text("in.jsonl");
    assert_ne!(first, session(""));
    for _ in 0..2 {
        place.run(&format!("{line} --retry-degraded")).exits(3);
        assert_eq!(place.text("in.jsonl"), first);
    }
    place.run("undo in.jsonl").exits(0);
    assert_eq!(place.text("in.jsonl"), session(""));
}

#[test]
fn a_preset_takes_what_comes_and_says_what_it_took() {
    let short =
        "Station alder-3 and station birch-7 were read; both answer, and nothing is left to do.";
    for (answer, why) in [
        (
            "I'm sorry, but I can't help with that request.",
            Some("the answer refuses to summarise"),
        ),
        ("Done.", Some("the answer is too short to be a summary")),
        (short, None),
    ] {
        for preset in ["layered", "offload-first", "reset", "boundary", "turns"] {
            let server = Server::of_summaries(answer);
            let place = Place::with(&[("in.jsonl", session(""))]);
            let line = format!(
                "compact in.jsonl --policy {preset} --model m {}",
                flags(&server)
            );
            let ran = place.run(&line).exits(0);
            let warnings = place.json("in.compact.stats.json")["files"][0]["warnings"].clone();
            let doubts = warnings.as_array().unwrap().iter();
            let doubts: Vec<_> = doubts.filter(|one| one["kind"] == "doubtful").collect();
            assert_eq!(
                doubts.len(),
                usize::from(why.is_some()),
                "{preset}: {warnings}"
            );
            if let Some(why) = why {
                let message = doubts[0]["message"].as_str().unwrap();
                assert!(message.contains(why), "{preset}: {message}");
                let _ = ran.says(&["warning: the model's answer may not be a summary", why]);
            }
        }
    }
}
