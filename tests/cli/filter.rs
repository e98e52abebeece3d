//! `ctxpack filter`: one line in, one line out, whatever the line is.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::harness::{KEPT, Place, anthropic, claude_code, conversations, sample, samples};

/// Records of all kinds, and what comes of each: the same, or the kind of its error.
fn odd_records() -> Vec<(&'static str, Option<&'static str>)> {
    vec![
        (r#"{}"#, Some("unsupported")),
        (r#" { } "#, Some("unsupported")),
        (r#"{"a":1,"error":null}"#, Some("unsupported")),
        (
            r#"{"a":1,"error":{"kind":"bad_line","message":"gone"},"b":2}"#,
            Some("unsupported"),
        ),
        (r#"{"messages":[]}"#, Some("unsupported")),
        (r#"{"messages":[1,2]}"#, Some("unsupported")),
        (r#"{"messages":"x"}"#, Some("unsupported")),
        (r#"{"path":"x","text":5}"#, Some("unsupported")),
        (
            r#"{"path":"x","text":"a","base64":"YQ=="}"#,
            Some("unsupported"),
        ),
        (r#"{"path":"../x","text":"a"}"#, Some("bad_line")),
        (r#"{"path":"x","text":"\ud800"}"#, Some("bad_line")),
        (r#"{"path":"x","base64":"!"}"#, Some("bad_line")),
        (r#"{"path":"x.gz","base64":"H4sIAAAA"}"#, Some("decode")),
        (r#"{"path":"x","text":""}"#, Some("unsupported")),
        // No JSON object, so there is no room for an error; or a member of that name which is not ours.
        ("no json", None),
        ("", None),
        ("[1]", None),
        (r#"{"a":1} {"b":2}"#, None),
        (r#"{"a":1,"error":"mine"}"#, None),
        (r#"{"messages":[{"role":"user","content":"Hello."}]}"#, None),
    ]
}

#[test]
fn a_record_that_cannot_be_compacted_comes_back_with_its_error() {
    let place = Place::new();
    let (odd, expected): (Vec<_>, Vec<_>) = odd_records().into_iter().unzip();
    let ran = place
        .pipe("filter --report r.json", odd.join("\r\n"))
        .exits(0);
    let lines: Vec<String> = ran.text().split("\r\n").map(str::to_owned).collect();
    assert_eq!(lines.len(), odd.len());
    for ((line, record), kind) in lines.iter().zip(&odd).zip(&expected) {
        let Some(kind) = kind else {
            assert_eq!(line, record);
            continue;
        };
        if line.contains("\\ud800") {
            // Half a surrogate pair, for which other readers have no text.
            assert!(line.starts_with(record.trim_end_matches('}')), "{line}");
            assert!(line.contains("\"error\":{\"kind\":\"bad_line\""), "{line}");
            continue;
        }
        let mut value: Value = serde_json::from_str(line).unwrap();
        let error = value.as_object_mut().unwrap().remove("error").unwrap();
        assert_eq!(error["kind"], *kind, "{line}");
        assert_ne!(error["message"], "", "{line}");
        let mut before: Value = serde_json::from_str(record).unwrap();
        before.as_object_mut().unwrap().remove("error");
        assert_eq!(value, before, "{line}");
    }
    let report = place.json("r.json");
    assert_eq!(report["totals"]["files"], odd.len());
    assert_eq!(report["totals"]["unchanged"], 1);
    // What was no error of the machine's is none of the program's.
    ran.says(&[
        "20 records: 0 compacted, 1 unchanged, 19 with an error",
        "line:15",
    ]);
}

/// An `error` of the user's own is data of the record.
#[test]
fn a_record_with_an_error_of_its_own_is_compacted_and_keeps_it() {
    let place = Place::new();
    let (before, after) = sample();
    let record = |text: &str| json!({"error": "boom", "path": "a.jsonl", "text": text}).to_string();
    let out = place.pipe("filter", record(&before)).exits(0).text();
    assert_eq!(out, record(&after));
}

#[test]
fn bytes_that_are_no_text_come_back_as_they_are() {
    let place = Place::new();
    let input = b"{\"messages\":\"\xff\"}\n\xff\xfe\n\xef\xbb\xbf{}\n\0\n".as_slice();
    assert_eq!(place.pipe("filter", input).exits(0).out, input);
    assert_eq!(place.pipe("filter", "").exits(0).out, b"");
}

#[test]
fn a_file_of_conversations_becomes_what_compact_makes_of_it() {
    let place = Place::new();
    let input = conversations(KEPT + 3, 0).repeat(20) + &conversations(KEPT, 0);
    let whole = place.pipe("compact - -o -", &input).exits(0).out;
    assert_ne!(whole, input.as_bytes());
    for jobs in [1, 2, 7] {
        let filtered = place.pipe(&format!("filter -j {jobs}"), &input).exits(0);
        assert_eq!(filtered.out, whole, "-j {jobs}");
    }
    // Without the last line end, it has none; nothing else was written.
    let filtered = place.pipe("filter", input.trim_end()).exits(0).out;
    assert_eq!(filtered, whole[..whole.len() - 1]);
    assert_eq!(place.names(), Vec::<String>::new());
}

#[test]
fn a_key_that_is_spelled_with_escapes_is_the_same_key() {
    let place = Place::new();
    let plain = conversations(KEPT + 3, 0);
    let spelled = plain.replacen("\"messages\"", "\"mess\\u0061ges\"", 1);
    assert_ne!(plain, spelled);
    let said = |input: &str| place.pipe("filter", input).exits(0).text();
    let expected = said(&plain).replacen("\"messages\"", "\"mess\\u0061ges\"", 1);
    assert_eq!(said(&spelled), expected);
}

/// What no JSON writer would write, beside a conversation.
fn record_with(member: &str) -> String {
    format!(
        r#"{{ "id" : 1.50,"big":1e400, "dup":1,"dup":2, "esc":"\u00e9\/\ud83d", {member} ,"messages ":[],"tail":[ ] }} "#
    )
}

#[test]
fn a_field_holds_messages_or_a_text_and_the_others_stay_byte_for_byte() {
    let place = Place::new();
    let list = |text: &str| {
        let lines: Vec<&str> = text.lines().collect();
        format!("[{}]", lines.join(","))
    };
    let (before, after) = (anthropic(KEPT + 3, 0), anthropic(KEPT + 3, 3));
    let cases = [
        (list(&before), list(&after)),
        (json!(before).to_string(), json!(after).to_string()),
    ];
    for (before, after) in cases {
        let record = |value: &str| record_with(&format!("\"the talk\":{value}"));
        let args = ["filter", "--field", "the talk"];
        let mut command = place.command_of(env!("CARGO_BIN_EXE_ctxpack"), &args);
        let input = record(&before) + "\n";
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let output = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output, record(&after) + "\n");
    }
    // A format that has no conversations of one line: its messages beside others of the record.
    let record = |text: &str| {
        format!(
            "{{\"system\":\"Be brief.\",\"messages\": {} }}\n",
            list(text)
        )
    };
    let (before, after) = (anthropic(KEPT + 3, 0), anthropic(KEPT + 3, 3));
    for args in [
        "filter",
        "filter --input-format anthropic",
        "filter --field messages",
    ] {
        let out = place.pipe(args, record(&before)).exits(0).text();
        assert_eq!(out, record(&after), "{args}");
    }
    for (record, kind) in [
        (r#"{"a":1}"#, "bad_line"),
        (r#"{"talk":5}"#, "bad_line"),
        (r#"{"talk":null}"#, "bad_line"),
        (r#"{"talk":"nothing"}"#, "unsupported"),
        (r#"{"talk":[]}"#, "unsupported"),
    ] {
        let line = place.pipe("filter --field talk", record).exits(0).text();
        let value: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["error"]["kind"], kind, "{record}");
    }
}

#[test]
fn an_error_of_an_earlier_run_is_gone_when_a_record_can_be_compacted() {
    let place = Place::new();
    let (before, after) = sample();
    let record = |text: &str, error: &str| {
        format!("{}\n", json!({"error": 0, "path": "a", "text": text})).replace("0", error)
    };
    let old = r#"{"kind":"io","message":"no room"}"#;
    let input = record("#", old).replace('#', json!(before).to_string().trim_matches('"'));
    let expected = record("#", "null").replace('#', json!(after).to_string().trim_matches('"'));
    assert_eq!(place.pipe("filter", input).exits(0).text(), expected);
}

/// A child that is asked line by line.
struct Asked {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Asked {
    fn new(place: &Place, args: &str) -> Self {
        let mut child = place
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Asked {
            to: child.stdin.take().unwrap(),
            from: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    fn answer(&mut self, line: &str) -> String {
        self.to.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        self.from.read_line(&mut answer).unwrap();
        answer
    }

    fn end(self) -> Option<i32> {
        drop(self.to);
        let mut child = self.child;
        child.wait().unwrap().code()
    }
}

#[test]
fn whoever_waits_for_an_answer_gets_it_before_the_next_line() {
    let place = Place::new();
    let line = |cleared| {
        conversations(KEPT + 3, cleared)
            .lines()
            .next()
            .unwrap()
            .to_owned()
            + "\n"
    };
    let mut asked = Asked::new(&place, "filter -j 3");
    for _ in 0..3 {
        assert_eq!(asked.answer(&line(0)), line(3));
        assert_eq!(asked.answer("nothing\n"), "nothing\n");
        assert_eq!(asked.answer("\n"), "\n");
    }
    assert_eq!(asked.end(), Some(0));
}

#[test]
fn a_reader_that_goes_ends_the_stream_without_a_fault() {
    let place = Place::new();
    let mut asked = Asked::new(&place, "filter");
    assert_eq!(asked.answer("one\n"), "one\n");
    let Asked {
        mut child,
        mut to,
        from,
    } = asked;
    drop(from);
    // It ends although its input is open: nobody would read an answer.
    while to.write_all(b"more\n").is_ok() {
        if child.try_wait().unwrap().is_some() {
            break;
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_record_too_long_to_be_held_passes_through_in_its_place() {
    let place = Place::new();
    let long = format!("{{\"messages\":[],\"x\":\"{}\"}}\n", "y".repeat(300_000));
    let short = "{\"messages\":[{\"role\":\"user\",\"content\":\"Hello.\"}]}\n";
    let input = [short, &long, short, &long, long.trim_end()].concat();
    let ran = place.pipe("filter --max-file-bytes 100K --report r.json", &input);
    let ran = ran.exits(0);
    assert_eq!(ran.text(), input);
    let files = place.json("r.json")["files"].clone();
    let errors = files.as_array().unwrap().iter();
    let errors: Vec<Value> = errors.map(|file| file["error"]["kind"].clone()).collect();
    assert_eq!(
        errors,
        [
            json!(null),
            json!("too_large"),
            json!(null),
            json!("too_large"),
            json!("too_large")
        ]
    );
}

#[test]
fn every_format_is_compacted_as_a_file_of_it_is() {
    let place = Place::new();
    for (name, before, after) in samples() {
        let record = |text: &str| format!("{}\n", json!({"path": "a", "text": text, "n": 1}));
        let out = place.pipe("filter", record(&before)).exits(0).text();
        assert_eq!(out, record(&after), "{name}");
    }
    // A transcript that is summarised names nothing that is not there.
    let long = claude_code(60, 0);
    let record = format!("{}\n", json!({"path": "a", "text": long}));
    let out = place.pipe("filter --target 2k", record).exits(0).out;
    let value: Value = serde_json::from_slice(&out).unwrap();
    let file = place
        .pipe("compact - -o - --target 2k", &long)
        .exits(0)
        .text();
    assert_eq!(value["text"], file);
}

#[test]
fn a_record_can_bring_its_entry_of_the_report() {
    let place = Place::new();
    let (before, after) = sample();
    let record = |text: &str| json!({"path": "d/a.jsonl", "text": text}).to_string();
    let input = [&record(&before), "{}", "no json", ""].join("\n");
    let args = "filter --stats-field the_stats --report r.json";
    let out = place.pipe(args, input).exits(0).text();
    let lines: Vec<&str> = out.lines().collect();
    let files = place.json("r.json")["files"].clone();
    let entry = |path: &str| {
        let mut all = files.as_array().unwrap().iter();
        all.find(|file| file["input"] == path).unwrap().clone()
    };
    let with_stats = |line: &str, stats: &Value| {
        let last = format!(",\"the_stats\":{}}}", serde_json::to_string(stats).unwrap());
        line.strip_suffix('}').unwrap().to_owned() + &last
    };
    assert_eq!(lines[0], with_stats(&record(&after), &entry("d/a.jsonl")));
    let second: Value = serde_json::from_str(lines[1]).unwrap();
    assert_eq!(second["the_stats"], entry("line:2"));
    assert_eq!(second["error"]["kind"], "unsupported");
    assert_eq!(lines[2], "no json");
    for name in ["error", "text", "talk"] {
        let args = format!("filter --field talk --stats-field {name}");
        place.pipe(&args, "").exits(2).says(&["--stats-field"]);
    }
}

#[test]
fn a_member_that_is_no_entry_of_a_report_is_never_replaced_by_one() {
    let place = Place::new();
    let (before, _) = sample();
    let record = json!({"id": 7, "user": "bob", "path": "d/a.jsonl", "text": before}).to_string();
    for name in ["user", "id"] {
        let args = format!("filter --stats-field {name}");
        let ran = place.pipe(&args, &record).exits(0);
        let line: Value = serde_json::from_str(&ran.text()).unwrap();
        assert_eq!(line["error"]["kind"], "exists");
        let there = serde_json::from_str::<Value>(&record).unwrap();
        let is_there = |(key, value): (&String, &Value)| line[key] == *value;
        assert!(there.as_object().unwrap().iter().all(is_there), "{line}");
        ran.says(&["1 with an error", name]);
    }
    // The entry of an earlier run is.
    let once = place.pipe("filter --stats-field entry", &record).exits(0);
    let twice = place.pipe("filter --stats-field entry", &once.out).exits(0);
    let twice: Value = serde_json::from_str(&twice.text()).unwrap();
    assert_eq!(twice["entry"]["status"], "unchanged");
    assert_eq!(twice["error"], Value::Null);
    // And so is what a table writes for an empty column.
    let empty = json!({"path": "d/a.jsonl", "text": before, "entry": null}).to_string();
    let filled = place.pipe("filter --stats-field entry", &empty).exits(0);
    let filled: Value = serde_json::from_str(&filled.text()).unwrap();
    assert_eq!(filled["entry"]["status"], "compacted");
    assert_eq!(filled.get("error"), None);
}
