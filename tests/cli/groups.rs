//! Reports by project and week, what was not read on every form of report, and that none of it leaves its cell.

use super::harness::Place;

/// A session in that folder, with that time on its last message.
fn session(cwd: &str, time: &str) -> String {
    let line = |uuid: u32, parent: &str, kind: &str, time: &str| {
        let cwd = serde_json::to_string(cwd).unwrap();
        format!(
            r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"sessionId":"s","cwd":{cwd},"timestamp":"{time}","message":{{"role":"{kind}","content":"words of a message {uuid}"}}}}"#
        )
    };
    let first = line(1, "null", "user", "2020-01-01T00:00:00.000Z");
    let second = line(2, "\"1\"", "assistant", time);
    format!("{first}\n{second}\n{{\"type\":\"summary\",\"summary\":\"no time\"}}\n")
}

const HOSTILE: &str = "=HYPERLINK(\"x\")<script>alert(1)</script>|`@org";

/// Three sessions in two projects, one of them named to do harm; a plain list of messages; and what is not read.
fn some() -> Place {
    let place = Place::new();
    place.write(
        "in/a.jsonl",
        session("/home/u/app", "2026-11-25T10:00:00.000Z"),
    );
    place.write(
        "in/b.jsonl",
        session("/home/u/app", "2027-01-01T10:00:00.000Z"),
    );
    place.write("in/c.jsonl", session(HOSTILE, "2026-11-26T10:00:00.000Z"));
    place.write(
        "in/d.jsonl",
        "{\"role\":\"user\",\"content\":\"hi\"}\n{\"role\":\"assistant\",\"content\":\"ho\"}\n",
    );
    place.write("in/notes<b>.txt", "nothing");
    place
}

const FORMS: &str = "--report r.json --report r.csv --report r.md --report r.html";

#[test]
fn inputs_are_grouped_by_project_and_week() {
    for command in ["compact in -n", "stats in"] {
        let place = some();
        place.run(&format!("{command} {FORMS}")).exits(0);
        let report = place.json("r.json");
        let of = |at: usize, key: &str| report["files"][at][key].clone();
        assert_eq!(of(0, "project"), "/home/u/app");
        assert_eq!(of(0, "last_message"), "2026-11-25T10:00:00Z");
        assert_eq!(of(2, "project"), HOSTILE);
        assert!(of(3, "project").is_null() && of(3, "last_message").is_null());

        let markdown = place.text("r.md");
        let row = |name: &str, files: u64| {
            let start = format!("| <code>{name}</code> | {files} |");
            assert!(markdown.contains(&start), "{start}\n{markdown}");
        };
        row("/home/u/app", 2);
        row("(no project is known)", 1);
        row("2026-W48", 2);
        row("2026-W53", 1);
        row("claude-code", 3);
        assert!(!markdown.contains("<script>") && !markdown.contains(" @org"));

        let csv = place.text("r.csv");
        assert!(
            csv.lines()
                .next()
                .unwrap()
                .contains(",project,last_message,")
        );
        assert!(csv.contains("\"'=HYPERLINK(\"\"x\"\")<script>"), "{csv}");

        let page = place.text("r.html");
        for title in ["By format", "By project", "By week"] {
            assert!(page.contains(title), "{command}: {title}");
        }
        assert!(!page.contains("<script>alert"));
        assert!(
            page.contains("=HYPERLINK(&quot;x&quot;)&lt;script&gt;")
                || page.contains("&lt;script&gt;alert(1)")
        );
    }
}

#[test]
fn what_was_not_read_is_on_every_form_of_report() {
    for command in [
        "compact in -n",
        "stats in",
        "replay in",
        "eval in --no-baselines",
    ] {
        let place = some();
        place.run(&format!("{command} {FORMS}")).exits(0);
        let kinds = place.json("r.json")["not_read"].clone();
        assert_eq!(kinds[0]["kind"], "other_extension");
        let markdown = place.text("r.md");
        let line = "- 1 × <code>other extension, .txt</code>: <code>in/notes\\<b\\>.txt</code>\n";
        assert!(markdown.contains(line), "{command}: {markdown}");
        let page = place.text("r.html");
        assert!(page.contains("Not read"), "{command}");
        assert!(
            page.contains("other extension, .txt: in/notes&lt;b&gt;.txt"),
            "{command}"
        );
    }
}

#[test]
fn what_is_masked_in_outputs_is_masked_in_projects() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let place = Place::new();
    let folder = format!("/home/u/{token}");
    place.write("a.jsonl", session(&folder, "2026-11-25T10:00:00.000Z"));
    let run = |more: &str| {
        place
            .run(&format!("compact a.jsonl -n {more} --report r.json"))
            .exits(0);
        place.text("r.json")
    };
    assert!(run("").contains(&token));
    let masked = run("--redact outputs");
    assert!(
        !masked.contains(&token) && masked.contains("/home/u/[REDACTED:"),
        "{masked}"
    );
}
