//! Sessions of installed agents: listed, named by id, forked, continued; in a home folder that is made up.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::harness::{KEPT, Place, Ran, claude_code};

const CLAUDE: &str = "5c030e11-0000-4000-8000-000000000001";
const CODEX: &str = "019a0000-7a1d-7e0c-8b5f-c0a570000001";
const PI: &str = "019b0000-7a1d-7e0c-8b5f-c0a570000002";

fn claude_file(id: &str) -> String {
    format!("home/.claude/projects/-srv-tide/{id}.jsonl")
}

/// How Claude Code names the folder of a project.
fn slug(cwd: &str) -> String {
    cwd.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

fn codex_file() -> String {
    format!("home/.codex/sessions/2026/11/20/rollout-2026-11-20T10-00-00-{CODEX}.jsonl")
}

fn pi_file() -> String {
    format!("home/.pi/agent/sessions/--srv-tide--/2026-11-20T10-00-00-000Z_{PI}.jsonl")
}

fn jsonl(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn claude(id: &str, cwd: &str) -> String {
    let named = json!({"cwd": cwd, "sessionId": id}).to_string();
    let named = named.trim_matches(['{', '}']);
    claude_code(KEPT + 3, 0).replace(r#""sessionId":"session""#, named)
}

fn codex() -> String {
    let message = |role: &str, kind: &str, text: &str| {
        let content = json!([{"type": kind, "text": text}]);
        let payload = json!({"type": "message", "role": role, "content": content});
        json!({"timestamp": "2026-11-20T10:00:01.000Z", "type": "response_item", "payload": payload})
    };
    let header = json!({"id": CODEX, "timestamp": "2026-11-20T10:00:00.000Z", "cwd": "/srv/tide", "originator": "codex_cli_rs", "cli_version": "0.169.0"});
    jsonl(&[
        json!({"timestamp": "2026-11-20T10:00:00.000Z", "type": "session_meta", "payload": header}),
        message("user", "input_text", "Please look around."),
        message("assistant", "output_text", "All is well."),
    ])
}

fn pi() -> String {
    let time = "2026-11-20T10:00:00.000Z";
    let entry = |id: &str, parent: Value, message: Value| json!({"type": "message", "id": id, "parentId": parent, "timestamp": time, "message": message});
    let usage =
        json!({"input": 900, "output": 1, "cacheRead": 100, "cacheWrite": 0, "totalTokens": 1001});
    jsonl(&[
        json!({"type": "session", "version": 3, "id": PI, "timestamp": time, "cwd": "/srv/tide"}),
        entry(
            "a1",
            Value::Null,
            json!({"role": "user", "content": "Please look around.", "timestamp": 1}),
        ),
        entry(
            "a2",
            json!("a1"),
            json!({"role": "assistant", "content": [{"type": "text", "text": "All is well."}], "usage": usage, "stopReason": "stop", "timestamp": 2}),
        ),
    ])
}

/// A home folder with a session of each agent: the one of Claude Code is the newest, that of pi the oldest.
fn home() -> Place {
    let place = Place::with(&[
        (claude_file(CLAUDE).as_str(), claude(CLAUDE, "/srv/tide")),
        (codex_file().as_str(), codex()),
        (pi_file().as_str(), pi()),
    ]);
    for (name, hours) in [
        (claude_file(CLAUDE), 1),
        (codex_file(), 30),
        (pi_file(), 24 * 30),
    ] {
        aged(&place, &name, hours);
    }
    place
}

fn aged(place: &Place, name: &str, hours: u64) {
    let file = File::options().write(true).open(place.path(name)).unwrap();
    let time = SystemTime::now() - Duration::from_secs(hours * 3_600);
    file.set_modified(time).unwrap();
}

fn run(place: &Place, args: &str) -> Ran {
    let home = place.path("home");
    let variable = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    place.run_with(&[(variable, home.to_str().unwrap())], args)
}

fn listed(place: &Place, args: &str) -> Vec<(String, String)> {
    let list: Value = serde_json::from_slice(&run(place, args).exits(0).out).unwrap();
    let sessions = list["sessions"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    sessions
        .map(|s| (text(&s["agent"]), text(&s["id"])))
        .collect()
}

#[test]
fn sessions_are_listed_the_newest_first() {
    let place = home();
    let all = [("claude-code", CLAUDE), ("codex", CODEX), ("pi", PI)]
        .map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(listed(&place, "sessions --json"), all);
    let table = run(&place, "sessions").exits(0).text();
    assert_eq!(run(&place, "sessions --format text").exits(0).text(), table);
    assert_eq!(
        listed(&place, "sessions --format json --since 2d"),
        all[..2]
    );
    assert_eq!(listed(&place, "sessions --json --agent codex"), all[1..2]);
    assert_eq!(listed(&place, "sessions --json --until 2d"), all[2..]);
    assert_eq!(listed(&place, "sessions --json --project nowhere"), []);
    assert!(!listed(&place, "sessions --json --project *").is_empty());
    assert_eq!(
        listed(&place, "sessions --json --since 2020-01-01 --agent pi"),
        all[2..]
    );

    let list: Value =
        serde_json::from_slice(&run(&place, "sessions --json --agent pi").out).unwrap();
    let pi = &list["sessions"][0];
    assert_eq!(
        (&pi["project"], &pi["turns"], &pi["recorded"]),
        (&json!("/srv/tide"), &json!(1), &json!(1000))
    );

    let table = run(&place, "sessions").exits(0).text();
    let first = table.lines().nth(1).unwrap();
    assert!(
        first.starts_with("claude-code  20") && first.ends_with("/srv/tide"),
        "{table}"
    );
    assert!(first.contains("  5c030e11  "), "{table}");
}

#[test]
fn where_there_are_none_the_folders_are_named() {
    let place = Place::new();
    let said = run(&place, "sessions").exits(0).text();
    for folder in [".claude", ".codex", ".pi"] {
        assert!(said.contains(folder), "{said}");
    }
    run(&place, "sessions --agent cluade")
        .exits(2)
        .says(&["invalid value 'cluade'", "claude-code"]);
    run(&place, "sessions --since yesterday")
        .exits(2)
        .says(&["7d"]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_looked_at_is_not_taken_for_none() {
    let place = home();
    std::fs::remove_dir_all(place.path("home/.claude")).unwrap();
    // Refused to every user: the system finds no end of it.
    std::os::unix::fs::symlink(".claude", place.path("home/.claude")).unwrap();
    let said = ".claude/projects: cannot look at it: ";
    let ran = run(&place, "sessions").exits(3).says(&[said]);
    let _ = ran.shows(&["codex", "pi"]);
    run(&place, "stats latest").says(&[said, "codex session"]);
    run(&place, "stats 5c03").exits(2).says(&[said]);
    let ran = run(&place, &format!("stats {PI}")).exits(0);
    assert!(!ran.err.contains(said), "{}", ran.err);
    // Where a file is, there is no folder.
    std::fs::remove_file(place.path("home/.claude")).unwrap();
    place.write("home/.claude", "");
    run(&place, "sessions").exits(0);
}

#[test]
fn what_is_more_than_the_newest_is_counted() {
    let place = home();
    for n in 0..25 {
        let id = format!("aaaa{n:04}-0000-4000-8000-000000000001");
        place.write(&claude_file(&id), claude(&id, "/srv/tide"));
    }
    let table = run(&place, "sessions").exits(0).text();
    assert_eq!(table.lines().count(), 1 + 20 + 1, "{table}");
    assert!(
        table.contains("8 sessions more; --all shows them"),
        "{table}"
    );
    assert_eq!(listed(&place, "sessions --all --json").len(), 28);
}

#[cfg(unix)]
#[test]
fn no_link_leads_out_of_an_agents_folder() {
    let place = home();
    let outside = "0bad0bad-0000-4000-8000-000000000001";
    place.write(
        &format!("elsewhere/{outside}.jsonl"),
        claude(outside, "/srv/tide"),
    );
    std::os::unix::fs::symlink(
        place.path("elsewhere"),
        place.path("home/.claude/projects/linked"),
    )
    .unwrap();
    std::os::unix::fs::symlink(
        place.path(&format!("elsewhere/{outside}.jsonl")),
        place.path(&claude_file(outside)),
    )
    .unwrap();
    let ran = run(&place, "sessions --json")
        .exits(3)
        .says(&["leads out of the folder", "not followed"]);
    assert!(!ran.text().contains(outside));
}

#[test]
fn an_id_names_a_session_and_the_way_on_is_said() {
    let place = home();
    let original = place.read(&claude_file(CLAUDE));
    let continued =
        format!("its folder /srv/tide is not here; continue: claude --resume {CLAUDE}\n");
    let ran = run(&place, "compact --in-place 5c03")
        .exits(0)
        .says(&["claude-code session", &continued]);
    assert!(ran.err.ends_with(&continued), "{}", ran.err);
    assert!(place.read(&claude_file(CLAUDE)).len() < original.len());
    run(&place, "compact --in-place 5c03")
        .exits(0)
        .says(&[&continued]);
    run(&place, "stats 5c03").exits(0);
    run(&place, "undo 5c03").exits(0);
    assert_eq!(place.read(&claude_file(CLAUDE)), original);

    let quiet = run(&place, "compact -q --in-place 5c03").exits(0);
    assert_eq!(quiet.err, "");
    for (id, command) in [(CODEX, "codex resume"), (PI, "pi --session")] {
        let continued = format!("; continue: {command} {id}\n");
        run(&place, &format!("compact --in-place {id}"))
            .exits(0)
            .says(&[&continued]);
    }
}

#[test]
fn what_is_no_id_of_one_session_is_said() {
    let place = home();
    run(&place, "compact --in-place 019").exits(2);
    run(&place, "compact --in-place 0190")
        .exits(2)
        .says(&["no session has an id that begins with 0190", ".claude"]);
    let other = "5c030e11-0000-4000-8000-00000000ffff";
    place.write(&claude_file(other), claude(other, "/srv/tide"));
    run(&place, "compact --in-place 5c030e11").exits(2).says(&[
        "2 sessions",
        CLAUDE,
        other,
        "more of the id",
    ]);
    run(&place, "stats --agent codex 5c030e11")
        .exits(2)
        .says(&["no session"]);
    run(&place, "stats --agent codex home")
        .exits(2)
        .says(&["--agent needs a session id"]);
    place.write("5c030e11", claude(CLAUDE, "/srv/tide"));
    let ran = run(&place, "stats 5c030e11").exits(0);
    assert!(!ran.err.contains("session"), "a path wins: {}", ran.err);
}

#[test]
fn the_latest_is_that_of_this_folder() {
    let place = home();
    let latest = format!("claude-code session {CLAUDE}");
    run(&place, "stats latest").exits(0).says(&[&latest]);
    run(&place, "stats latest --agent pi")
        .exits(0)
        .says(&[&format!("pi session {PI}")]);
    let here = fs::canonicalize(place.path("")).unwrap();
    let id = "77777777-0000-4000-8000-000000000001";
    let here = here.to_str().unwrap();
    let file = format!("home/.claude/projects/{}/{id}.jsonl", slug(here));
    place.write(&file, claude(id, here));
    aged(&place, &file, 24 * 90);
    run(&place, "stats latest")
        .exits(0)
        .says(&[&format!("claude-code session {id}")]);
}

#[test]
fn a_session_of_another_folder_is_not_changed_as_the_latest() {
    let place = home();
    let before = place.all_files();
    for command in ["compact --in-place latest", "undo latest"] {
        run(&place, command).exits(2).says(&[
            "no session belongs to this folder",
            &format!("the latest of all is {CLAUDE}"),
        ]);
    }
    assert_eq!(place.all_files(), before);
}

#[test]
fn a_fork_that_was_continued_is_not_replaced() {
    let place = home();
    let ran = run(&place, "compact --fork 5c03").exits(0);
    let id = ran.err.trim_end().rsplit(' ').next().unwrap().to_owned();
    let file = claude_file(&id);
    let more = place.text(&file) + "{\"type\":\"more\"}\n";
    place.write(&file, &more);
    run(&place, "compact --fork 5c03").exits(3).says(&[
        "this fork has changed since ctxpack wrote it",
        "compact or fork that session",
    ]);
    assert_eq!(place.text(&file), more);
    run(&place, "compact --fork nosuch")
        .exits(2)
        .says(&["no such file or folder", "`ctxpack sessions` lists the ids"]);
}

#[test]
fn a_fork_is_a_session_of_its_own() {
    let place = home();
    let before = place.all_files();
    let ran = run(&place, "compact --fork 5c03")
        .exits(0)
        .says(&["forked to", "; continue: claude --resume "]);
    let id = ran.err.trim_end().rsplit(' ').next().unwrap().to_owned();
    assert_ne!(id, CLAUDE);
    for (name, bytes) in &before {
        assert_eq!(&place.read(name), bytes, "{name}");
    }
    let fork = place.text(&claude_file(&id));
    assert!(fork.len() < place.read(&claude_file(CLAUDE)).len());
    assert!(!fork.contains(CLAUDE));
    let lines = fork
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.for_each(|line| assert_eq!(line["sessionId"], json!(id)));
    assert_eq!(listed(&place, "sessions --json").len(), 4);

    run(&place, "compact --fork 5c03").exits(0).says(&[&id]);
    assert_eq!(
        place.text(&claude_file(&id)),
        fork,
        "the same session gives the same fork"
    );
    run(&place, &format!("undo {id}"))
        .exits(2)
        .says(&["nothing to undo", "remove the fork"]);
    let shown = run(&place, &format!("diff {id}")).exits(0).text();
    assert!(
        shown.contains("\n~ cleared ") || shown.contains("\n- summarised "),
        "{shown}"
    );
    place.append(&claude_file(&id), "{}\n");
    run(&place, "compact --fork 5c03")
        .exits(3)
        .says(&["this fork has changed since ctxpack wrote it"]);

    // Of these there is nothing to remove, so that a fork would be the same session again.
    let before = place.all_files();
    for old in [CODEX, PI] {
        run(&place, &format!("compact --fork {old}"))
            .exits(0)
            .says(&["not forked, because nothing was changed; ", old]);
    }
    assert_eq!(place.all_files(), before);
    run(&place, "compact --in-place 5c03").exits(0);
    let is_report = |name: &String| name.ends_with(".stats.json");
    assert!(
        !place.files().iter().any(is_report),
        "agents list what is in their folders"
    );
}

#[test]
fn only_a_session_is_forked() {
    let place = home();
    place.write("in.jsonl", claude(CLAUDE, "/srv/tide"));
    run(&place, "compact --fork in.jsonl")
        .exits(2)
        .says(&["this file name contains none", "-o FILE"]);
    run(&place, "compact --fork 5c03 0199").exits(2);
    run(&place, "compact --fork home in.jsonl")
        .exits(2)
        .says(&["--fork takes one session"]);
    place.write(&format!("{CLAUDE}.jsonl"), codex());
    run(&place, &format!("compact --fork {CLAUDE}.jsonl"))
        .exits(3)
        .says(&["this is not a session of claude-code"]);
}

#[test]
fn a_copy_is_said_to_be_one() {
    let place = home();
    let file = claude_file(CLAUDE);
    let hint = "a copy that claude-code does not recognise as a session because of its ";
    run(&place, &format!("compact {file}")).exits(0).says(&[
        &format!("{hint}name; --in-place compacts the session itself"),
        "; --fork writes a new session",
    ]);
    run(&place, &format!("compact {file} -o out.jsonl"))
        .exits(0)
        .says(&[&format!("written to out.jsonl, {hint}folder; ")]);
    // pi takes any file.
    let out = fs::canonicalize(place.path("")).unwrap().join("pi.jsonl");
    let continued = format!(
        "written to pi.jsonl; its folder /srv/tide is not here; continue: pi --session {}",
        out.display()
    );
    run(&place, &format!("compact {} -o pi.jsonl", pi_file()))
        .exits(0)
        .says(&[&continued]);
    let many = run(&place, "compact --in-place home").exits(0);
    // The one that was compacted.
    many.says(&[
        &format!("continue: claude --resume {CLAUDE}\n"),
        "ctxpack undo with the same paths restores the originals",
    ]);
}

#[test]
fn what_a_transcript_says_of_its_folder_runs_nothing() {
    let place = home();
    let here = fs::canonicalize(place.path("")).unwrap();
    let here = here.to_str().unwrap();
    let hostile = &format!("{here}/$(touch x);it's\u{1b}[2J");
    let id = "66666666-0000-4000-8000-000000000001";
    let file = format!("home/.claude/projects/{}/{id}.jsonl", slug(hostile));
    place.write(&file, claude(id, hostile));
    // Nothing runs that only fails.
    run(&place, "compact --in-place 6666")
        .exits(0)
        .says(&[r"$(touch x);it's\u{1b}[2J is not here; continue: claude --resume "]);
    fs::create_dir(hostile).unwrap();
    let ran = run(&place, "compact --in-place 6666").exits(0);
    let line =
        format!(r"continue: cd '{here}/$(touch x);it'\''s\u{{1b}}[2J' && claude --resume {id}");
    assert!(ran.err.contains(&line), "{}", ran.err);
    assert!(!run(&place, "sessions").exits(0).text().contains('\u{1b}'));
}

#[test]
fn what_an_agent_has_begun_for_itself_is_no_session_to_continue() {
    const SPAWNED: &str = "019a0000-7a1d-7e0c-8b5f-c0a570000009";
    let place = home();
    let spawned = codex().replace(CODEX, SPAWNED).replacen(
        r#""cwd":"#,
        r#""source":{"subagent":{"thread_spawn":{}}},"thread_source":"subagent","cwd":"#,
        1,
    );
    place.write(&codex_file().replace(CODEX, SPAWNED), spawned);
    assert_eq!(
        listed(&place, "sessions --json --agent codex"),
        [("codex".to_owned(), CODEX.to_owned())]
    );
    run(&place, "stats latest --agent codex")
        .exits(0)
        .says(&[&format!("codex session {CODEX}")]);
    run(&place, &format!("stats {SPAWNED}"))
        .exits(0)
        .says(&[&format!("codex session {SPAWNED}")]);
}

#[test]
fn a_filter_that_nothing_matches_is_named_and_an_empty_file_is_no_session() {
    let place = home();
    for filter in ["--project nosuch", "--since 2999-01-01"] {
        let flag = filter.split(' ').next().unwrap();
        let ran = run(&place, &format!("sessions {filter}")).exits(0);
        ran.shows(&["no sessions in ", &format!(" match {flag}\n")]);
    }
    let before = listed(&place, "sessions --json");
    place.write(&claude_file("5c030e11-0000-4000-8000-00000000ffff"), "");
    assert_eq!(listed(&place, "sessions --json"), before);
}
