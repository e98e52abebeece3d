//! Sessions that are continued in another way than most: of agents that keep them in documents or in a database, or that leave other
//! files beside them.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::harness::{Place, Ran};

const CLINE: &str = "1762164000000_a1b2c";
const GEMINI: &str = "5c030e11-0000-4000-8000-000000000001";
const SUMMARISE: &str = "--policy layered --summarize always --set summary.keep_messages=3";

fn fixture(name: &str) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    fs::read_to_string(format!("{root}/fixtures/{name}/input.jsonl")).unwrap()
}

fn run(place: &Place, args: &str) -> Ran {
    let home = place.path("home");
    let variable = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    place.run_with(&[(variable, home.to_str().unwrap())], args)
}

fn listed(place: &Place) -> Vec<(String, String)> {
    let list: Value = serde_json::from_slice(&run(place, "sessions --json").exits(0).out).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let sessions = list["sessions"].as_array().unwrap().iter();
    sessions
        .map(|s| (text(&s["id"]), text(&s["project"])))
        .collect()
}

#[test]
fn a_session_of_cline_is_a_document_in_a_folder_of_its_own() {
    let file = format!("home/.cline/data/sessions/{CLINE}/{CLINE}.messages.json");
    let text = fixture("cline/layered-a-summary-is-one-of-the-agents-own").replace(
        "You are Cline, an AI coding agent.",
        r"You are Cline.\n4. Working Directory: /srv/tide\n",
    );
    let place = Place::with(&[(file.as_str(), text.clone())]);
    assert_eq!(listed(&place), [(CLINE.to_owned(), "/srv/tide".to_owned())]);
    run(&place, "sessions").exits(0).shows(&["  17621640  "]);
    let continued = format!("its folder /srv/tide is not here; continue: cline --id {CLINE}\n");
    for named in [CLINE, "17621640", "1762164000000_a"] {
        run(&place, &format!("compact --in-place {named} {SUMMARISE}"))
            .exits(0)
            .says(&[&format!("cline session {CLINE}"), &continued]);
        assert_ne!(place.text(&file), text);
        run(&place, &format!("undo {named}")).exits(0);
        assert_eq!(place.text(&file), text);
    }
    run(&place, "compact --fork 17621640").exits(2).says(&[
        "copilot, kimi and cline",
        "have folders of their own and cannot be forked",
    ]);
    assert_eq!(place.text(&file), text);
}

#[cfg(unix)]
#[test]
fn a_session_of_opencode_is_replaced_before_it_is_continued() {
    let place = Place::new();
    fs::create_dir_all(place.path("it's here")).unwrap();
    let project = fs::canonicalize(place.path("it's here")).unwrap();
    let text = fixture("opencode/layered-a-summary-is-a-compaction-of-the-agent")
        .replace("/home/dev/sluice", project.to_str().unwrap());
    place.write("session.json", text.clone());
    let cd = format!("cd '{}'", project.to_str().unwrap().replace('\'', r"'\''"));
    let said = |name: &str| {
        let file = fs::canonicalize(place.path("")).unwrap().join(name);
        format!(
            "replace the session in opencode by `{cd} && opencode session delete ses_2a && opencode import {}`, once; continue: {cd} && opencode --session ses_2a\n",
            file.display()
        )
    };
    run(
        &place,
        &format!("compact session.json -o out.json {SUMMARISE}"),
    )
    .exits(0)
    .says(&[&format!("written to out.json; {}", said("out.json"))]);
    let ran = run(
        &place,
        &format!("compact --in-place session.json {SUMMARISE}"),
    )
    .exits(0);
    assert!(ran.err.ends_with(&said("session.json")), "{}", ran.err);
    run(&place, "undo session.json").exits(0);
    assert_eq!(place.text("session.json"), text);
    // There is nothing to put in its place.
    let ran = run(&place, "compact --in-place session.json --policy none").exits(0);
    assert!(!ran.err.contains("replace"), "{}", ran.err);
    assert_eq!(listed(&place), []);
}

#[cfg(unix)]
#[test]
fn a_fork_of_an_exported_session_is_a_document_with_other_ids() {
    let place = Place::new();
    let text = fixture("opencode/layered-a-summary-is-a-compaction-of-the-agent");
    place.write("session.json", text.clone());
    let fork = format!("compact --fork session.json {SUMMARISE}");
    let ran = run(&place, &fork).exits(0);
    let id = ran.err.trim_end().rsplit(' ').next().unwrap().to_owned();
    let name = format!("{id}.json");
    let file = fs::canonicalize(place.path(&name)).unwrap();
    let said = format!(
        "forked to {name}; take the new session into opencode by `opencode import {}`, once; its folder /home/dev/sluice is not here; continue: opencode --session {id}\n",
        file.display()
    );
    assert!(ran.err.ends_with(&said), "{}", ran.err);
    assert_eq!(place.text("session.json"), text);
    let (old, new): (Value, Value) = (
        serde_json::from_str(&text).unwrap(),
        serde_json::from_str(&place.text(&name)).unwrap(),
    );
    assert_eq!(new["info"]["id"], id);
    let ids = |document: &Value| {
        let messages = document["messages"].as_array().unwrap().iter();
        let parts = |message: &Value| message["parts"].as_array().unwrap().clone();
        let each =
            messages.flat_map(|message| [vec![message["info"].clone()], parts(message)].concat());
        each.map(|one| one["id"].as_str().unwrap().to_owned())
            .collect::<BTreeSet<String>>()
    };
    assert!(!ids(&new).is_empty());
    assert!(ids(&new).is_disjoint(&ids(&old)));
    // It is the session that a compaction in place leaves, under other ids.
    run(&place, &format!("verify {name}")).exits(0);
    let before = place.text(&name);
    run(&place, &fork).exits(0).says(&[&id]);
    assert_eq!(place.text(&name), before);
    run(&place, &format!("undo {name}"))
        .exits(2)
        .says(&["remove the fork"]);
    // By another policy it is another session: the agent takes no second one of an id.
    let other = "compact --fork session.json --policy layered --summarize always --set summary.keep_messages=2";
    let ran = run(&place, other).exits(0);
    assert!(!ran.err.contains(&id), "{}", ran.err);
    // One with what no reader knows is said to be that.
    let strange = text.replacen("\"role\": \"user\"", "\"role\": \"stranger\"", 1);
    assert_ne!(strange, text);
    place.write("strange.json", strange);
    run(&place, "compact --fork strange.json")
        .exits(3)
        .says(&["this session of opencode is not read: ", "stranger"]);
    // Other documents are none of its sessions.
    place.write("other.json", "{\"info\":{\"id\":\"s\"},\n\"messages\":[]}");
    run(&place, "compact --fork other.json")
        .exits(2)
        .says(&["or one that opencode exported"]);
}

#[test]
fn what_gemini_cli_leaves_beside_a_session_is_none() {
    let chats = "home/.gemini/tmp/tide/chats";
    let (old, new) = ("session-2026-03-04T10-00", "session-2026-11-29T01-27");
    let name = |time: &str| format!("{chats}/{time}-{}.jsonl", &GEMINI[..8]);
    let text = fixture("gemini/auto-a-summary-is-a-list-before-kept-lines");
    let begun: Vec<&str> = text.lines().take(2).collect();
    let place = Place::with(&[
        (name(old).as_str(), text.clone()),
        (name(new).as_str(), begun.join("\n")),
    ]);
    assert_eq!(
        listed(&place),
        [(GEMINI.to_owned(), "/srv/tide".to_owned())]
    );
    run(&place, "stats 5c03")
        .exits(0)
        .says(&[&format!("gemini session {GEMINI}"), old]);
    // One in which something was said is a session.
    let begun: Vec<&str> = text.lines().take(3).collect();
    place.write(&name(new), begun.join("\n"));
    run(&place, "stats 5c03")
        .exits(2)
        .says(&["2 sessions have an id that begins with 5c03"]);
}
