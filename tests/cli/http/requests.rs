//! What a model is asked and given: whose prompt, in which message, which messages, which model.

use serde_json::{Value, json};

use super::server::Server;
use super::{flags, session};
use crate::cli::harness::Place;

/// The request that a run with these arguments sends.
fn asked(place: &Place, more: &[&str]) -> (Value, String) {
    let server = Server::of_summaries("All of them were read.");
    let url = server.url();
    let args = [
        "compact",
        "in.jsonl",
        "--overwrite",
        "--summarize",
        "always",
    ];
    let server_args = ["--summarizer", "anthropic", "--base-url", &url];
    place
        .run_args(&[&args[..], &server_args, more].concat())
        .exits(0);
    let [request] = server.requests().try_into().unwrap();
    let content = request.content().to_owned();
    (request.body, content)
}

fn place() -> Place {
    Place::with(&[("in.jsonl", session(""))])
}

#[test]
fn the_prompt_is_the_systems_where_the_document_says_so() {
    let (body, content) = asked(&place(), &["--policy", "offload-first", "--model", "m"]);
    let system = body["system"].as_str().unwrap();
    let prompt = "Please provide a comprehensive summary of our conversation structured as follows:\n\n## Technical";
    assert!(system.starts_with(prompt), "{system}");
    assert!(system.contains(" tokens.\n\nThe text between <transcript-"));
    assert!(content.starts_with("<transcript-"), "{content}");
}

#[test]
fn the_last_turn_is_given_where_the_document_gives_the_whole_history() {
    let last = "[assistant]\nAll are named.";
    for (preset, is_given) in [("boundary", true), ("layered", false), ("reset", true)] {
        let (_, content) = asked(&place(), &["--policy", preset, "--model", "m"]);
        let given = content.contains(last) || content.contains(r#""All are named.""#);
        assert_eq!(given, is_given, "{preset}");
    }
}

#[test]
fn what_asks_for_a_summary_of_what_is_above_stands_below_it() {
    for preset in ["boundary", "boundary-production"] {
        let (_, content) = asked(&place(), &["--policy", preset]);
        let (conversation, prompt) = (content.find("<transcript-"), content.find("请为以上对话"));
        assert!(
            conversation.unwrap() < prompt.unwrap(),
            "{preset}: {content}"
        );
    }
}

#[test]
fn a_system_asks_for_the_size_that_its_document_names_however_short_the_history_is() {
    for (preset, max_tokens) in [
        ("offload-first", 9_600),
        ("reset", 2_000),
        ("boundary", 8_192),
    ] {
        let (body, _) = asked(&place(), &["--policy", preset, "--model", "m"]);
        assert_eq!(body["max_tokens"], max_tokens, "{preset}");
        if preset == "offload-first" {
            let system = body["system"].as_str().unwrap();
            assert!(system.contains("approximately 8000 tokens"), "{system}");
        }
    }
}

#[test]
fn the_model_that_a_system_asks_is_the_presets() {
    let (body, _) = asked(&place(), &["--policy", "boundary"]);
    assert_eq!(body["model"], "claude-sonnet-4-20250514");
    let (body, _) = asked(&place(), &["--policy", "boundary", "--model", "mine"]);
    assert_eq!(body["model"], "mine");
}

#[test]
fn a_model_that_nobody_names_is_an_error_before_the_first_input_of_a_folder() {
    let server = Server::of_summaries("All of them were read.");
    let nameless = session("").replace("model", "m");
    let place = Place::with(&[
        ("in/a.jsonl", nameless.clone()),
        ("in/b.jsonl", nameless.clone()),
        ("in/c.jsonl", session("")),
        ("more/d.jsonl", nameless),
    ]);
    let message = "neither the policy nor the transcript names a model to ask for a summary\n";
    for (line, first) in [
        ("compact in --exclude c.jsonl", "in/a.jsonl"),
        ("compact more", "more/d.jsonl"),
        (
            "compact more in --out-dir out --exclude c.jsonl",
            "in/a.jsonl",
        ),
        ("compact in --exclude c.jsonl --pre-hook true", "in/a.jsonl"),
    ] {
        let ran = place.run(&format!("{line} {}", flags(&server))).exits(2);
        let said = format!("{first}: {message}hint: name one: --model NAME\n");
        assert_eq!(ran.err, said, "{line}");
    }
    assert_eq!((server.requests().len(), place.names().len()), (0, 4));
    // One that does may come later.
    place
        .run(&format!("compact in {}", flags(&server)))
        .exits(3);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_model_that_nobody_names_is_an_error_before_the_first_input() {
    let server = Server::of_summaries("All of them were read.");
    let nameless = session("").replace("model", "m");
    let place = Place::with(&[("a.jsonl", &nameless), ("b.jsonl", &nameless)]);
    for preset in ["auto", "layered", "offload-first", "reset", "turns"] {
        let line = format!(
            "compact a.jsonl b.jsonl --policy {preset} {}",
            flags(&server)
        );
        for line in [line.clone(), format!("{line} --dry-run")] {
            let ran = place.run(&line).exits(2);
            assert_eq!(
                ran.err,
                "a.jsonl: neither the policy nor the transcript names a model to ask for a summary\n\
                 hint: name one: --model NAME\n"
            );
        }
    }
    assert_eq!((server.requests().len(), place.names().len()), (0, 2));
    // One that does may be the next.
    place.write("b.jsonl", session(""));
    let line = format!("compact a.jsonl b.jsonl {}", flags(&server));
    place
        .run(&line)
        .exits(3)
        .says(&["a.jsonl: 1 of 2 conversations has no model's summary: "]);
    assert_eq!(server.requests().len(), 1);
    let variable = [("MODEL_ID", "named-there")];
    let line = format!(
        "compact a.jsonl --overwrite --policy reset {}",
        flags(&server)
    );
    place.run_with(&variable, &line).exits(0);
    assert_eq!(server.requests()[1].body["model"], "named-there");
}

#[test]
fn a_prompt_of_ones_own_stands_below_the_policy_file() {
    let place = place();
    let policy =
        "extends = \"auto\"\n[summary]\nprompt = \"file:prompts/mine.md\"\nmodel = \"m\"\n";
    place.write("conf/own.toml", policy);
    place.write(
        "conf/prompts/mine.md",
        "By file, in {targetTokens} tokens; keep: {instructions}.\nAs {\"file\": \"what\"}.\n",
    );
    let args = ["--policy", "conf/own.toml", "--instructions", "birch-3"];
    let (_, content) = asked(
        &place,
        &[&args[..], &["--set", "summary.tokens=200"]].concat(),
    );
    let prompt = "By file, in 100 tokens; keep: birch-3.\nAs {\"file\": \"what\"}.";
    assert!(content.ends_with(prompt), "{content}");
    // Its words are part of the policy's hash.
    let hash = |place: &Place| {
        place
            .run("compact in.jsonl --overwrite --policy conf/own.toml")
            .exits(0);
        place.json("in.compact.stats.json")["policy"]["hash"].clone()
    };
    let before = hash(&place);
    place.write("conf/prompts/mine.md", "Otherwise.");
    assert_ne!(hash(&place), before);
    // A flag's path is as the user writes it.
    let (_, content) = asked(
        &place,
        &[
            "--model",
            "m",
            "--set",
            "summary.prompt=file:conf/prompts/mine.md",
        ],
    );
    assert!(content.ends_with(">\n\nOtherwise."), "{content}");
    let (_, content) = asked(
        &place,
        &["--model", "m", "--set", "summary.prompt=text:In short."],
    );
    assert!(content.ends_with(">\n\nIn short."), "{content}");
}

#[test]
fn a_prompt_that_is_elsewhere_or_wrong_is_refused() {
    let place = place();
    place.write("secret.md", "Elsewhere.");
    place.write("conf/empty.md", " \n");
    place.write("conf/wrong.md", "Within {tokens} tokens.");
    #[cfg(unix)]
    std::os::unix::fs::symlink(place.path("secret.md"), place.path("conf/link.md")).unwrap();
    let outside = "summary.prompt names a file that is not below the policy file's folder: ";
    for (name, what) in [
        ("../secret.md", outside),
        ("/etc/hostname", outside),
        #[cfg(unix)]
        ("link.md", outside),
        ("none.md", "none.md"),
        ("empty.md", "conf/own.toml:2: the prompt is empty"),
        (
            "wrong.md",
            "conf/own.toml:2: the prompt contains {tokens}, which is not a placeholder",
        ),
    ] {
        place.write(
            "conf/own.toml",
            format!("[summary]\nprompt = \"file:{name}\"\n"),
        );
        let ran = place
            .run("compact in.jsonl --policy conf/own.toml")
            .exits(2);
        let _ = ran.says(&[what]);
    }
    // A file that nobody named chooses no prompt.
    place.write("ctxpack.toml", "[summary]\nprompt = \"file:secret.md\"\n");
    place
        .run("compact in.jsonl")
        .exits(2)
        .says(&["ctxpack.toml:2: summary.prompt would choose what a provider is told"]);
}

#[test]
#[cfg(unix)]
fn what_a_pre_hook_prints_joins_the_instructions() {
    let place = place();
    let hook = [
        "--pre-hook",
        "cat > event; echo; echo 'Keep station birch-5.'",
    ];
    let more = ["--model", "m", "--instructions", "birch-3"];
    let (_, content) = asked(&place, &[&hook[..], &more].concat());
    let asks = "\n\nKeep in particular: birch-3\nKeep station birch-5.";
    assert!(content.ends_with(asks), "{content}");
    assert_eq!(
        place.json("event"),
        json!({"event": "pre-compact", "trigger": "manual", "input": "in.jsonl", "output": "in.compact.jsonl",
               "policy": "auto"})
    );
}
