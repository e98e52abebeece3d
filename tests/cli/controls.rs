//! No text of a transcript, a path, a policy or a server can control the terminal, page or spreadsheet that shows it: everything
//! that is printed or reported is free of control characters, DEL and bidirectional marks. Transcripts keep them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::harness::{Place, Ran};
use super::http::server::{Act, Server};

/// Every character that may not get through, and what escape sequences begin with.
fn hostile() -> String {
    let controls = (1..=0x1f).chain(0x7f..=0x9f);
    let bidi = [0x61c, 0x200e, 0x200f, 0x2028, 0x2029]
        .into_iter()
        .chain(0x202a..=0x202e)
        .chain(0x2066..=0x2069);
    let all: String = controls.chain(bidi).filter_map(char::from_u32).collect();
    format!("<h\u{1b}[31m\u{1b}]52;c;x\u{7}{all}>")
}

fn is_raw(c: char) -> bool {
    c != '\n' && hostile().contains(c) && (c.is_control() || !c.is_ascii())
}

/// A session in which every name and text is hostile. Valid but for the tools' names.
fn session(tail: &[Value]) -> String {
    let h = hostile();
    let mut lines = vec![json!({"role": "user", "content": format!("Please look at {h}.")})];
    for i in 0..8 {
        let id = format!("t{i}");
        let (tool, input) = match i % 3 {
            0 => (format!("Tool {h}"), json!({"what": h})),
            1 => (
                "Read".to_owned(),
                json!({"file_path": format!("/src/{h}/{i}.rs")}),
            ),
            _ => (
                "Bash".to_owned(),
                json!({"command": format!("cat src/{h}/{i}.rs")}),
            ),
        };
        let text = format!("{h} line {i} of Station_{i}_{h} error: {h}\n").repeat(3);
        lines.push(
            json!({"role": "assistant", "model": format!("model {h}"), "content": [
            {"type": "text", "text": format!("Station_{i} {h} is at /src/{h}/{i}.rs.")},
            {"type": "tool_use", "id": id, "name": tool, "input": input}]}),
        );
        lines.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "is_error": i % 4 == 0, "content": text}]}));
        lines.push(json!({"role": "assistant", "content": format!("Station_{i} in /src/{h}/{i}.rs is done {h}.")}));
        lines.push(json!({"role": "user", "content": format!("Go on with Station_{} {h}", i + 1)}));
    }
    lines.extend_from_slice(tail);
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A session of Claude Code with a hostile sidechain, parents and ids.
fn claude_code() -> String {
    let h = hostile();
    let mut lines = Vec::new();
    let mut parents: [Option<String>; 2] = [None, None];
    for i in 0..12 {
        for (side, parent) in parents.iter_mut().enumerate() {
            let role = ["user", "assistant"][i % 2];
            let uuid = format!("{side}-{i}-{h}");
            let content = match role {
                "user" => json!(format!("Look at {i} {h}")),
                _ => json!([{"type": "text", "text": format!("Seen {i} {h}")}]),
            };
            lines.push(json!({
                "parentUuid": parent, "isSidechain": side == 1, "agentId": (side == 1).then_some(&h), "sessionId": h,
                "type": role, "uuid": uuid, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": h, "gitBranch": h,
                "message": {"id": format!("m{side}{i}{h}"), "role": role, "content": content},
            }));
            *parent = Some(uuid);
        }
    }
    lines.push(json!({"type": h, "note": h}));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A result without its call, under a hostile id.
fn orphan() -> Value {
    json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": hostile(), "content": "x"}]})
}

/// What every command said: the runs that showed a hostile text, escaped.
#[derive(Default)]
struct Said {
    escaped: BTreeMap<String, bool>,
}

impl Said {
    #[track_caller]
    fn text(&mut self, what: &str, text: &str) {
        if let Some(at) = text.find(is_raw) {
            let around: String = text[at..].chars().take(30).collect();
            let line = text[..at].lines().last().unwrap_or_default();
            panic!("{what}: raw {around:?} after {line:?}");
        }
        // Long names are cut in tables: what is left of them begins with an escape sequence.
        let escaped = text.contains("\\u{") || text.contains("\\u00");
        *self.escaped.entry(what.to_owned()).or_default() |= escaped;
    }

    #[track_caller]
    fn run(&mut self, what: &str, ran: &Ran) {
        self.text(what, &ran.err);
        self.text(what, &ran.text());
    }

    #[track_caller]
    fn all_escaped_but(&self, quiet: &[&str]) {
        let silent = self.escaped.iter().filter(|(_, escaped)| !**escaped);
        let silent: Vec<&str> = silent.map(|(what, _)| what.as_str()).collect();
        assert_eq!(silent, quiet, "these showed nothing hostile");
    }
}

/// Every hostile file: sessions of both formats, broken ones, lines that are none.
fn place() -> (Place, String) {
    let place = Place::new();
    // A path cannot hold a slash or a NUL; all else it can.
    let folder = format!("in/{}", hostile());
    place.write(&format!("{folder}/{}.jsonl", hostile()), session(&[]));
    place.write(&format!("{folder}/claude.jsonl"), claude_code());
    place.write(&format!("{folder}/orphan.jsonl"), session(&[orphan()]));
    place.write(
        &format!("{folder}/bad.jsonl"),
        session(&[]) + &format!("{{\"{}\n", hostile()),
    );
    place.write(
        &format!("{folder}/role.jsonl"),
        json!({"role": hostile(), "content": hostile()}).to_string() + "\n",
    );
    place.write(&format!("{folder}/packed.jsonl.gz"), hostile());
    (place, folder)
}

const REPORTS: [&str; 5] = ["json", "jsonl", "csv", "md", "html"];

#[test]
fn compact_undo_and_gc_say_nothing_raw() {
    let (place, folder) = place();
    let mut said = Said::default();
    for policy in [
        "auto",
        "layered",
        "offload-first",
        "reset",
        "boundary",
        "turns",
    ] {
        let mut args: Vec<String> = [
            "compact",
            "in",
            "--out-dir",
            policy,
            "--summarize",
            "always",
            "--policy",
            policy,
            "-v",
        ]
        .map(str::to_owned)
        .into();
        args.extend(REPORTS.map(|form| format!("--report={policy}.{form}")));
        args.push(format!(
            "--set=summary.instructions={}",
            hostile().replace('\0', "")
        ));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = place.run_args(&args);
        assert_ne!(ran.code, Some(2), "{}", ran.err);
        said.run(&format!("compact {policy}"), &ran);
        for form in REPORTS {
            said.text(
                &format!("report.{form}"),
                &place.text(&format!("{policy}.{form}")),
            );
        }
    }
    // In the transcripts, they stay.
    let output = format!("{}.jsonl", hostile());
    let output = place.text(&format!("auto/{}/{output}", &folder[3..]));
    let raw = |c: &char| is_raw(*c) && !c.is_ascii_control();
    for c in hostile().chars().filter(raw) {
        assert!(output.contains(c), "{c:?} is not in the output");
    }
    let json: Value = place.json("auto.json");
    let named = |file: &Value| file["input"].as_str().unwrap().contains(&hostile());
    assert!(json["files"].as_array().unwrap().iter().all(named));

    said.run(
        "compact in place",
        &place.run("compact in --in-place -v --set summary.when=always"),
    );
    let files = place
        .files()
        .into_iter()
        .filter(|name| name.starts_with("in/"));
    let mut undo = vec!["undo".to_owned()];
    undo.extend(files.clone());
    let undo: Vec<&str> = undo.iter().map(String::as_str).collect();
    said.run("undo", &place.run_args(&undo));
    for (name, _) in place
        .all_files()
        .iter()
        .filter(|(name, _)| name.ends_with(".stats.json"))
    {
        said.text("stats beside", &place.text(name));
    }
    let store = "in/.ctxpack";
    let stray = format!("{store}/offloaded/{}.txt", "0".repeat(32));
    place.write(&stray, "stray");
    for flags in ["-n -v", "-v"] {
        let mut args = vec!["gc", "--store", store];
        args.extend(flags.split(' '));
        said.run("gc", &place.run_args(&args));
    }
    let missing = place.path(&hostile());
    said.run(
        "gc of nothing",
        &place.run_args(&["gc", "--store", &missing.to_string_lossy()]),
    );
    said.all_escaped_but(&["gc"]);
}

#[test]
fn commands_that_read_say_nothing_raw() {
    let (place, _) = place();
    let mut said = Said::default();
    for command in [
        "stats in",
        "stats in -v --top 50",
        "stats in --format json",
        "verify in",
        "verify in --format json",
        "replay in --policy auto",
        "replay in --timeline",
        "replay in --json",
        "eval in --policy auto --per-file",
        "eval in --policy auto --json",
        "eval in --policy reset --csv --per-file --max-invented 0",
        "compact in --dry-run --error-format json",
    ] {
        said.run(command, &place.run(command));
    }
    said.all_escaped_but(&[]);
}

#[test]
fn check_says_nothing_raw() {
    let place = Place::new();
    let mut said = Said::default();
    let case = format!("fixtures/{}", hostile());
    place.write(&format!("{case}/input.jsonl"), session(&[]));
    place.write(
        &format!("{case}/expected.jsonl"),
        session(&[orphan()]) + &hostile(),
    );
    let expected = json!({"files": [{"status": hostile(), hostile(): 1}]}).to_string();
    place.write(&format!("{case}/expected.stats.json"), &expected);
    said.run("check", &place.run("check -v").exits(1));
    place.write(
        &format!("{case}/policy.toml"),
        format!("[clear]\n{:?} = 1", "x"),
    );
    said.run("check of a bad policy", &place.run("check -v"));
    said.all_escaped_but(&[]);
}

#[test]
fn policies_and_what_is_wrong_with_them_are_shown_without_raw_characters() {
    let place = Place::new();
    let mut said = Said::default();
    let text = hostile();
    let toml = |text: &str| Value::from(text).to_string().replace('\u{7f}', "\\u007f");
    let policy = format!(
        "name = {}\n[summary]\ninstructions = {}\n[tools]\nread = [{}]\n[env]\n{} = \"clear.keep=3\"\n",
        toml(&text),
        toml(&text),
        toml(&text),
        toml("WÖRD")
    );
    let file = format!("{text}.toml");
    place.write(&file, &policy);
    for command in [
        "policy show",
        "config show --policy",
        "config show --format json --policy",
    ] {
        let mut args: Vec<&str> = command.split(' ').collect();
        args.push(&file);
        said.run(command, &place.run_args(&args).exits(0));
    }
    // What is shown is the policy.
    let shown = place.run_args(&["policy", "show", &file]).text();
    place.write("again.toml", &shown);
    let again = place.run("policy show again.toml").text();
    let keys = |shown: &str| shown[shown.find("schema = 1").unwrap()..].to_owned();
    assert_eq!(keys(&again), keys(&shown));
    let set = |key: &str| format!("--set={key}={text}");
    for args in [
        vec!["config", "show", &set("summary.ack")],
        vec!["config", "show", &set("clear.keep")],
        vec!["config", "show", &set(&text)],
        vec!["config", "show", "--policy", &text],
        vec!["policy", "init", &format!("no/{text}/x.toml")],
        vec!["policy", "init", &format!("{text}-new.toml")],
        vec!["compact", "in.jsonl", "--input-format", &text],
        vec!["compact", "in.jsonl", "--report", &text],
        vec![
            "compact",
            "in.jsonl",
            "--base-url",
            &text,
            "--summarizer",
            "openai",
        ],
        vec!["undo", &text],
        vec!["gc", "--store", &text],
    ] {
        said.run(&args.join(" "), &place.run_args(&args));
    }
    // What reads flags takes escape sequences out.
    for text in [&text, "<\u{9b}31m\u{202e}>"] {
        for args in [
            vec!["config", "show", &format!("--{text}")],
            vec!["config", "show", "--format", text],
            vec!["--error-format", "json", "config", text],
            vec![text],
        ] {
            said.run("flags", &place.run_args(&args));
        }
    }
    for bad in [
        format!("{} = 1", toml(&text)),
        format!("[clear]\nkeep = {}", toml(&text)),
        format!("[env]\nX = {}", toml(&text)),
    ] {
        place.write("bad.toml", &bad);
        said.run(&bad, &place.run("config show --policy bad.toml").exits(2));
    }
    said.run(
        "environment",
        &place.run_with(&[("CTXPACK_SUMMARY__ACK", &text)], "config show"),
    );
    said.run(
        "bad environment",
        &place.run_with(&[("CTXPACK_CLEAR__KEEP", &text)], "config show"),
    );
    said.all_escaped_but(&[]);
}

#[test]
fn what_a_server_says_is_shown_without_raw_characters() {
    let error =
        json!({"type": "error", "error": {"type": hostile(), "message": hostile()}}).to_string();
    let server = Server::start(move |n, _| match n % 3 {
        0 => Act::Answer(400, "", error.clone()),
        1 => Act::Answer(400, "", hostile()),
        _ => Act::Raw(hostile().into_bytes()),
    });
    let (place, _) = place();
    let mut said = Said::default();
    for n in 0..3 {
        let mut command = format!(
            "compact in --out-dir out{n} --summarize always --summarizer anthropic --base-url {} --set summary.wait_ms=1 \
             --set summary.tries=1 --set summary.breaker=0 --set summary.keep_messages=2 --max-concurrency 1 -j 1 -v",
            server.url()
        );
        for form in REPORTS {
            command += &format!(" --report server{n}.{form}");
        }
        said.run(
            "compact",
            &place.run_with(&[("ANTHROPIC_API_KEY", "sk-canary")], &command),
        );
        for form in REPORTS {
            said.text(
                &format!("report.{form}"),
                &place.text(&format!("server{n}.{form}")),
            );
        }
    }
    assert!(server.requests().len() >= 3);
    said.all_escaped_but(&[]);
}
