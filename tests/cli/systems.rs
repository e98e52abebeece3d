//! The published systems as presets, as far as they need a disk: offloads that are restored, and archives that summaries name.

use serde_json::{Value, json};

use super::harness::Place;

/// What only the offloaded result says.
const SECRET: &str = "gauge heron-4711 reads low";

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

fn call(id: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "gauges"}}]})
}

fn result(id: &str, content: &str) -> Value {
    json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content}]})
}

/// A session whose first result is old and long.
fn session() -> String {
    let long = format!("{SECRET}\n{}", "all is well here\n".repeat(40));
    let mut values = vec![
        json!({"role": "user", "content": "Which gauges read low?"}),
        call("1"),
        result("1", &long),
    ];
    for n in 0..6 {
        values.push(json!({"role": "assistant", "content": format!("Gauge {n} is next.")}));
        values.push(json!({"role": "user", "content": format!("Go on with gauge {n}.")}));
    }
    values.push(json!({"role": "assistant", "content": "Done."}));
    lines(&values)
}

const OFFLOAD: &str =
    "compact in.jsonl --in-place --policy offload-first --set offload.tokens=1 --summarize never";
const SUMMARIZE: &str = "compact in.jsonl --in-place --policy offload-first --summarize always \
                         --instructions heron-4711 --report report.json";

/// That session after its first result has gone to the store, and the result's name there.
fn offloaded() -> (Place, String) {
    let place = Place::with(&[("in.jsonl", session())]);
    place.run(OFFLOAD).exits(0);
    let text = place.text("in.jsonl");
    let path = text.split("Tool result is at: ").nth(1).unwrap();
    let path = path.split('"').next().unwrap();
    let name = path.split("/.ctxpack/").nth(1).unwrap().to_owned();
    assert!(!text.contains(SECRET));
    assert!(place.text(&format!(".ctxpack/{name}")).starts_with(SECRET));
    (place, name)
}

fn conversation(place: &Place) -> Value {
    place.json("report.json")["files"][0]["conversations"][0].clone()
}

#[test]
fn what_was_offloaded_is_for_its_owner_only() {
    let (place, name) = offloaded();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let path = place.path(&format!(".ctxpack/{name}"));
        let mode = std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert!(name.starts_with("offloaded/"), "{name}");
}

#[test]
fn what_was_offloaded_is_summarised_then_cleaned_up_and_comes_back_with_undo() {
    let (place, name) = offloaded();
    let before = place.text("in.jsonl");
    place.run(SUMMARIZE).exits(0);
    assert!(place.text("in.jsonl").contains(SECRET));
    assert_eq!(conversation(&place)["deleted_files"], json!([name]));
    assert!(!place.path(&format!(".ctxpack/{name}")).exists());

    // It is in the archive now; a dry run looks there.
    let archived = |(name, bytes): &(&String, &Vec<u8>)| {
        let text = zstd::decode_all(bytes.as_slice());
        name.contains("archive/") && text.is_ok_and(|text| text.starts_with(SECRET.as_bytes()))
    };
    let all = place.all_files();
    let (archive, content) = all.iter().find(archived).unwrap();
    place.run("undo -n in.jsonl").exits(0);
    place.write(archive, "damaged");
    for command in ["undo -n in.jsonl", "undo in.jsonl"] {
        place.run(command).exits(2).says(&["archive/"]);
    }
    place.write(archive, content);

    place.run("undo in.jsonl").exits(0);
    assert_eq!(place.text("in.jsonl"), before);
    assert!(place.text(&format!(".ctxpack/{name}")).starts_with(SECRET));
    place.run("undo in.jsonl").exits(0);
    assert_eq!(place.text("in.jsonl"), session());
}

#[test]
fn what_a_killed_run_did_not_come_to_clean_up_gc_deletes() {
    let (place, name) = offloaded();
    let (file, before) = (format!(".ctxpack/{name}"), place.text("in.jsonl"));
    let content = place.read(&file);
    place.run(SUMMARIZE).exits(0);
    // As if it had been killed before it deleted this.
    place.write(&file, &content);
    // An output that mentions it still needs it: as if it had been killed before its output had its name.
    let after = place.text("in.jsonl");
    place.write("in.jsonl", &before);
    place.run("gc --store .ctxpack").exits(0);
    assert!(place.path(&file).exists());
    place.write(
        "in.jsonl",
        after
            .replace("offloaded/", "elsewhere/")
            .replace(&name[10..42], ""),
    );
    let told = place.run("gc --store .ctxpack -v").exits(0).text();
    assert!(told.contains(&name), "{told}");
    assert!(!place.path(&file).exists());
    place.write("in.jsonl", after);
    place.run("undo in.jsonl").exits(0);
    assert_eq!(place.text("in.jsonl"), before);
    assert!(place.text(&file).starts_with(SECRET));
    place.run("undo in.jsonl").exits(0);
    assert_eq!(place.text("in.jsonl"), session());
}

#[test]
fn what_another_transcript_names_is_not_cleaned_up() {
    let (place, name) = offloaded();
    place.write("other.jsonl", session());
    place
        .run(&OFFLOAD.replace("in.jsonl", "other.jsonl"))
        .exits(0);
    place.run(SUMMARIZE).exits(0);
    assert_eq!(conversation(&place)["deleted_files"], json!([]));
    assert!(place.path(&format!(".ctxpack/{name}")).exists());
}

#[test]
fn what_cannot_be_cleaned_up_is_a_warning_and_the_result_stands() {
    let (place, name) = offloaded();
    // Another run uses the store.
    let lock = std::fs::File::open(place.path(".ctxpack/lock")).unwrap();
    lock.lock_shared().unwrap();
    place.run(SUMMARIZE).exits(0);
    assert!(place.text("in.jsonl").contains("[Compressed History]"));
    assert!(place.path(&format!(".ctxpack/{name}")).exists());
    let warnings = place.json("report.json")["files"][0]["warnings"].clone();
    let kinds: Vec<&Value> = warnings
        .as_array()
        .unwrap()
        .iter()
        .map(|w| &w["kind"])
        .collect();
    assert_eq!(kinds, ["not_cleaned_up"], "{warnings}");
}

#[test]
fn an_input_that_stays_keeps_what_it_names() {
    let (place, name) = offloaded();
    place
        .run(&SUMMARIZE.replace("--in-place", "-o out.jsonl"))
        .exits(0);
    assert!(place.text("out.jsonl").contains(SECRET));
    assert_eq!(conversation(&place)["deleted_files"], json!([]));
    assert!(place.path(&format!(".ctxpack/{name}")).exists());
}

#[test]
fn a_dry_run_says_what_would_be_cleaned_up_and_deletes_nothing() {
    let (place, name) = offloaded();
    let before = place.all_files();
    place.run(&format!("{SUMMARIZE} --dry-run")).exits(0);
    assert_eq!(conversation(&place)["deleted_files"], json!([name]));
    let mut after = place.all_files();
    after.remove("report.json");
    assert_eq!(after, before);
}

#[test]
fn what_cannot_be_read_is_unavailable_and_the_rest_is_summarised() {
    let (place, name) = offloaded();
    std::fs::remove_file(place.path(&format!(".ctxpack/{name}"))).unwrap();
    let summarize = SUMMARIZE.replace("heron-4711", "unavailable");
    place.run(&summarize).exits(0);
    let text = place.text("in.jsonl");
    assert!(text.contains("[Compressed History]") && !text.contains(SECRET));
    assert!(
        text.contains("[Content unavailable: /") && text.contains(&format!("/{name}]")),
        "{text}"
    );
    assert_eq!(conversation(&place)["summary"]["success"], true);
}

#[test]
fn a_name_that_ctxpack_never_gives_is_not_looked_up() {
    let place = Place::with(&[("secret.txt", "do not read me")]);
    for name in [
        "../secret.txt",
        "offloaded/../../secret.txt",
        "/etc/hostname",
    ] {
        let text = session().replace("Go on with gauge 0.", "Go on.");
        let hostile = result("1", &format!("Tool result is at: {name}"));
        let mut values: Vec<String> = text.lines().map(str::to_owned).collect();
        values[2] = hostile.to_string();
        place.write("in.jsonl", values.join("\n") + "\n");
        place
            .run(&SUMMARIZE.replace("--in-place", "-o out.jsonl --overwrite"))
            .exits(0);
        let text = place.text("out.jsonl");
        assert!(
            !text.contains("do not read me") && !text.contains("unavailable"),
            "{text}"
        );
    }
}

#[test]
fn a_summary_names_the_archive_of_what_it_replaces() {
    let place = Place::with(&[("in.jsonl", session())]);
    place
        .run("compact in.jsonl --policy reset --summarize always")
        .exits(0);
    let text = place.text("in.compact.jsonl");
    let name = text
        .split("Transcript: ")
        .nth(1)
        .unwrap()
        .split(']')
        .next()
        .unwrap();
    assert_eq!(place.text(name), session());
    assert_eq!(text.lines().count(), 2);
    let ack = "Understood. I have the context from the summary. Continuing.";
    assert!(text.lines().nth(1).unwrap().contains(ack));
    // The name is that of the bytes, so that a stream's copy is the same.
    let piped = place.pipe(
        "compact - --policy reset --summarize always --store kept --no-report",
        session(),
    );
    let piped = piped.exits(0);
    let name_there = name.replace(".ctxpack/", "kept/");
    assert_eq!(piped.text(), text.replace(name, &name_there));
    assert_eq!(place.text(&name_there), session());
}

#[test]
fn each_conversation_of_a_file_has_an_archive_of_its_own() {
    let messages: Vec<Value> = (0..6)
        .map(|n| json!({"role": if n % 2 == 0 { "user" } else { "assistant" }, "content": format!("gauge {n} {}", "is well ".repeat(60))}))
        .collect();
    let line = |n: u32| json!({"id": n, "messages": messages}).to_string() + "\n";
    let place = Place::with(&[("in.jsonl", line(1) + &line(2))]);
    place
        .run("compact in.jsonl --policy reset --summarize always")
        .exits(0);
    let text = place.text("in.compact.jsonl");
    let mut names = text
        .split("Transcript: ")
        .skip(1)
        .map(|rest| rest.split(']').next().unwrap());
    let names = [(); 2].map(|()| names.next().unwrap());
    assert_eq!(names.map(|name| place.text(name)), [line(1), line(2)]);
}

#[test]
fn a_stream_without_a_store_has_no_archive_to_name() {
    let place = Place::new();
    let ran = place.pipe("compact - --policy reset", session());
    assert_ne!(ran.code, Some(0));
    assert!(ran.err.contains("--store"), "{}", ran.err);
}

/// The value of a key that `config show` prints, with these names in the environment, and what is said beside it.
fn shown(preset: &str, env: &[(&str, &str)], key: &str) -> (String, String) {
    let place = Place::new();
    let ran = place
        .run_with(env, &format!("config show --policy {preset}"))
        .exits(0);
    let text = String::from_utf8(ran.out.clone()).unwrap();
    let line = text
        .lines()
        .find(|line| line.split_whitespace().next() == Some(key));
    let line = line.unwrap_or_default().to_owned();
    (line, ran.err)
}

#[test]
fn names_in_the_environment_mean_what_they_mean_to_their_system() {
    for (preset, name, value, key, holds) in [
        (
            "offload-first",
            "SYNAPSE_COMPACT_PRESERVE_COUNT",
            "7",
            "summary.keep_messages",
            " 7 ",
        ),
        (
            "offload-first",
            "SYNAPSE_OFFLOAD_THRESHOLD",
            "90000",
            "offload.tokens",
            " 90000 ",
        ),
        (
            "offload-first",
            "SYNAPSE_OFFLOAD_THRESHOLD",
            "90000",
            "trigger.tokens",
            " 90000 ",
        ),
        (
            "offload-first",
            "SYNAPSE_OFFLOAD_SCAN_RATIO",
            "0.7",
            "offload.share",
            " 0.7 ",
        ),
        (
            "offload-first",
            "SYNAPSE_OFFLOAD_MIN_CHARS",
            "9",
            "offload.min_chars",
            " 9 ",
        ),
        (
            "boundary",
            "CLAUDE_CODE_AUTO_COMPACT_WINDOW",
            "100000",
            "window.context",
            " 100000 ",
        ),
        (
            "turns",
            "COMPACT_TARGET",
            "32000",
            "summary.too_large_tokens",
            " 32000 ",
        ),
        (
            "turns",
            "COMPACT_TARGET",
            "0.4",
            "summary.too_large_share",
            " 0.4 ",
        ),
        (
            "turns",
            "MAX_COMPACTION_ATTEMPTS",
            "0",
            "summary.when",
            "never",
        ),
    ] {
        let (line, err) = shown(preset, &[(name, value)], key);
        let line = format!("{line} ");
        assert!(
            line.contains(holds) && line.contains(name),
            "{name}: {line}"
        );
        assert_eq!(err, "", "{name}");
    }
    for (preset, name, value, key, holds) in [
        (
            "offload-first",
            "SYNAPSE_COMPACT_PRESERVE_COUNT",
            "0",
            "summary.keep_messages",
            " 5 ",
        ),
        (
            "offload-first",
            "SYNAPSE_COMPACT_TARGET_TOKENS",
            "0",
            "summary.tokens",
            " 8000 ",
        ),
        (
            "offload-first",
            "SYNAPSE_COMPACT_RETRY_COUNT",
            "abc",
            "summary.tries",
            " 3 ",
        ),
        (
            "offload-first",
            "SYNAPSE_OFFLOAD_SCAN_RATIO",
            "1.5",
            "offload.share",
            " 0.5 ",
        ),
        (
            "boundary",
            "CLAUDE_CODE_AUTO_COMPACT_WINDOW",
            "400000",
            "window.context",
            " 200000 ",
        ),
        (
            "boundary",
            "CLAUDE_CODE_AUTO_COMPACT_WINDOW",
            "abc",
            "window.context",
            " 200000 ",
        ),
        (
            "boundary",
            "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE",
            "150",
            "trigger.cap_share",
            " 0",
        ),
    ] {
        let (line, err) = shown(preset, &[(name, value)], key);
        let line = format!("{line} ");
        assert!(
            line.contains(holds) && !line.contains(name),
            "{name}: {line}"
        );
        let said = format!("warning: {name} in the environment is ignored: ");
        assert!(err.starts_with(&said), "{name}: {err}");
    }
}

#[test]
fn what_only_replay_reads_is_said_where_it_is_set_for_compact() {
    let place = Place::with(&[("in.jsonl", session())]);
    let env = [("SYNAPSE_COMPACT_TRIGGER_THRESHOLD", "9000")];
    let why = "warning: trigger.offload_freed_below (from env SYNAPSE_COMPACT_TRIGGER_THRESHOLD) has no effect here: \
               only `ctxpack replay` reads it\n";
    let ran = place
        .run_with(&env, "compact in.jsonl --policy offload-first")
        .exits(0);
    assert!(ran.err.starts_with(why), "{}", ran.err);
    let ran = place
        .run_with(&env, "replay in.jsonl --policy offload-first")
        .exits(0);
    assert!(!ran.err.contains("has no effect"), "{}", ran.err);
}

/// A session whose first request has this many characters on one line, and nine turns after it.
fn one_long_line(characters: usize) -> (String, String) {
    let words = format!("Mend the gauge {}", "x".repeat(characters));
    let mut values = vec![
        json!({"role": "user", "content": words}),
        json!({"role": "assistant", "content": "It is mended."}),
    ];
    for n in 0..9 {
        values
            .push(json!({"role": "user", "content": format!("Request {n}. {}", "y".repeat(300))}));
        values.push(json!({"role": "assistant", "content": format!("Done. {}", "z".repeat(300))}));
    }
    (lines(&values), words)
}

#[test]
fn no_preset_writes_an_empty_summary_nor_loses_the_users_words() {
    for preset in [
        "auto",
        "layered",
        "offload-first",
        "reset",
        "boundary",
        "turns",
    ] {
        for characters in [3_000, 30_000] {
            let (text, words) = one_long_line(characters);
            let place = Place::with(&[("in.jsonl", text)]);
            let more = "--summarize always --set summary.keep_turns=0 --set summary.keep_tokens=0";
            place
                .run(&format!("compact in.jsonl --policy {preset} {more}"))
                .exits(0);
            let after = place.text("in.compact.jsonl");
            let file = place.json("in.compact.stats.json")["files"][0].clone();
            assert_eq!(file["status"], "compacted", "{preset}");
            assert_eq!(
                file["conversations"][0]["summary"]["success"], true,
                "{preset}"
            );
            assert!(after.contains("Request 8. yyy"), "{preset}: {after}");
            // Of the first words at least the beginning is there, or that they are not is said.
            let warnings = file["warnings"].as_array().unwrap();
            let mut lost = warnings.iter().filter(|w| w["kind"] == "user_words");
            let is_said = lost.any(|w| w["line"] == 1);
            assert!(is_said || after.contains(&words), "{preset}: {file}");
            assert!(preset != "auto" || after.contains(&words[..40]), "{after}");
        }
    }
}

#[test]
fn a_summary_that_would_say_nothing_is_not_written_and_that_is_said() {
    let thinking = json!({"type": "thinking", "thinking": "hm ".repeat(900), "signature": "s"});
    let mut values = vec![json!({"role": "assistant", "content": [thinking]})];
    for n in 0..5 {
        let role = if n % 2 == 0 { "user" } else { "assistant" };
        values.push(json!({"role": role, "content": format!("gauge {n}")}));
    }
    for preset in ["layered", "offload-first"] {
        let place = Place::with(&[("in.jsonl", lines(&values))]);
        place
            .run(&format!(
                "compact in.jsonl --policy {preset} --summarize always"
            ))
            .exits(0)
            .says(&["in.jsonl:1: warning: a summary was due but would have been empty: the messages stay"]);
        assert_eq!(place.text("in.compact.jsonl"), lines(&values), "{preset}");
        let file = place.json("in.compact.stats.json")["files"][0].clone();
        assert_eq!(file["warnings"][0]["kind"], "empty_summary", "{preset}");
        assert_eq!(
            file["conversations"][0]["summary"]["success"], false,
            "{preset}"
        );
    }
}

#[test]
fn who_has_switched_summaries_off_is_the_reason() {
    let place = Place::with(&[("in.jsonl", session())]);
    let reason = |env: &[(&str, &str)], more: &str| {
        let line = format!(
            "compact in.jsonl --overwrite --policy boundary --set window.context=29001 {more}"
        );
        place.run_with(env, &line).exits(0);
        let file = place.json("in.compact.stats.json")["files"][0].clone();
        file["conversations"][0]["reason"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let off = |by: &str| format!("not summarised: summaries are off (by {by})");
    let disabled = [("DISABLE_COMPACT", "1")];
    assert_eq!(
        reason(&disabled, "--summarize always"),
        off("env DISABLE_COMPACT")
    );
    let automatic = [("DISABLE_AUTO_COMPACT", "1")];
    assert_eq!(reason(&automatic, ""), off("env DISABLE_AUTO_COMPACT"));
    assert!(!reason(&automatic, "--summarize always").contains("off"));
    assert_eq!(reason(&[], "--summarize never"), off("flag"));
    // Where nothing would be summarised anyway, that is not the reason; where summaries are on, the trigger is.
    let far = "--set window.context=200000";
    assert_eq!(reason(&disabled, far), "nothing to gain");
    assert_eq!(reason(&[], far), "below its trigger of 171 000");
}

#[test]
fn a_flag_that_a_variable_makes_useless_is_refused_by_the_variables_name() {
    let place = Place::with(&[("in.jsonl", session())]);
    let disabled = [("DISABLE_COMPACT", "1")];
    let line = "compact in.jsonl --policy boundary --summarize always --instructions all";
    place
        .run_with(&disabled, line)
        .exits(2)
        .says(&["DISABLE_COMPACT in the environment switches them off: unset it"]);
}

#[test]
fn a_result_is_that_of_the_call_before_it_where_an_id_is_used_twice() {
    let call = |tool: &str| json!({"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": tool, "input": {"q": "x"}}]});
    let long = "all is well here\n".repeat(400);
    let mut values = vec![json!({"role": "user", "content": "Look."})];
    for tool in ["Bash", "Lookup"] {
        values.extend([call(tool), result("1", &long)]);
    }
    values.push(json!({"role": "assistant", "content": "Done."}));
    let place = Place::with(&[("in.jsonl", lines(&values))]);
    let flags =
        "--set layers=clear --set clear.keep=0 --set clear.min_tokens=9 --set clear.tools=[]";
    place.run(&format!("compact in.jsonl {flags}")).exits(0);
    let text = place.text("in.compact.jsonl");
    let places = ["Output of Bash", "Output of Lookup"].map(|said| text.find(said));
    assert!(places[0].is_some() && places[0] < places[1], "{text}");
    let tools = place.run("stats in.jsonl --json").exits(0).text();
    let tools: Value = serde_json::from_str(&tools).unwrap();
    let tools = tools["totals"]["tools"].as_array().unwrap();
    let results = tools.iter().map(|tool| (&tool["name"], &tool["results"]));
    let each = [("Bash", 1), ("Lookup", 1)].map(|(name, results)| (json!(name), json!(results)));
    assert!(results.eq(each.iter().map(|(name, results)| (name, results))));
}

#[test]
fn what_was_done_is_shown_without_being_asked_for() {
    let (place, _) = offloaded();
    let ran = place.run(SUMMARIZE).exits(0);
    // The figures before and after stand above it.
    let _ = ran.says(&["in.jsonl  compacted", " → ", "messages summarised −"]);
}
