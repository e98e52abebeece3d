//! For each agent: where sessions are, how they are named, and how they are continued.

use super::*;

const ID: &str = "5c030e11-0000-4000-8000-000000000001";
const OTHER: &str = "5c030e11-0000-4000-8000-00000000ffff";

type Variables<'v> = &'v [(&'v str, &'v str)];

fn around(variables: Variables<'_>) -> Surroundings {
    Surroundings::of(|name| {
        let value = variables.iter().find(|(known, _)| *known == name);
        value.map(|(_, value)| OsString::from(value))
    })
}

fn agent(name: &str) -> &'static dyn Agent {
    Format::named(name).and_then(Format::agent).unwrap()
}

fn folders(name: &str, variables: Variables<'_>) -> Vec<PathBuf> {
    agent(name).folders(&around(variables))
}

#[test]
fn folders_are_the_documented_ones() {
    let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    let cases: [(&str, Variables<'_>, &str); 21] = [
        ("claude-code", &[(home, "/h")], "/h/.claude/projects"),
        (
            "claude-code",
            &[(home, "/h"), ("CLAUDE_CONFIG_DIR", "/c")],
            "/c/projects",
        ),
        (
            "claude-code",
            &[(home, "/h"), ("CLAUDE_CONFIG_DIR", "")],
            "/h/.claude/projects",
        ),
        ("codex", &[(home, "/h")], "/h/.codex/sessions"),
        ("codex", &[("CODEX_HOME", "/x")], "/x/sessions"),
        ("copilot", &[(home, "/h")], "/h/.copilot/session-state"),
        ("copilot", &[("COPILOT_HOME", "/c")], "/c/session-state"),
        ("pi", &[(home, "/h")], "/h/.pi/agent/sessions"),
        (
            "pi",
            &[(home, "/h"), ("PI_CODING_AGENT_DIR", "~/p")],
            "/h/p/sessions",
        ),
        (
            "pi",
            &[(home, "/h"), ("PI_CODING_AGENT_SESSION_DIR", "/s")],
            "/s",
        ),
        ("droid", &[(home, "/h")], "/h/.factory/sessions"),
        ("cline", &[(home, "/h")], "/h/.cline/data/sessions"),
        ("cline", &[("CLINE_DIR", "/c")], "/c/data/sessions"),
        (
            "cline",
            &[("CLINE_DIR", "/c"), ("CLINE_DATA_DIR", "/d")],
            "/d/sessions",
        ),
        (
            "cline",
            &[("CLINE_DATA_DIR", "/d"), ("CLINE_SESSION_DATA_DIR", "/s")],
            "/s",
        ),
        ("kimi", &[(home, "/h")], "/h/.kimi-code/sessions"),
        ("kimi", &[("KIMI_CODE_HOME", "/k")], "/k/sessions"),
        ("qwen", &[(home, "/h")], "/h/.qwen/projects"),
        (
            "qwen",
            &[
                ("QWEN_HOME", "/q"),
                ("QWEN_RUNTIME_DIR", "~/r"),
                (home, "/h"),
            ],
            "/h/r/projects",
        ),
        ("gemini", &[(home, "/h")], "/h/.gemini/tmp"),
        (
            "gemini",
            &[(home, "/h"), ("GEMINI_CLI_HOME", "/g")],
            "/g/.gemini/tmp",
        ),
    ];
    for (name, variables, expected) in cases {
        assert_eq!(
            folders(name, variables),
            [PathBuf::from(expected)],
            "{name} {variables:?}"
        );
    }
    assert_eq!(folders("pi", &[]), Vec::<PathBuf>::new());
}

#[test]
fn a_session_is_known_by_its_name() {
    let cases = [
        ("claude-code", format!("-srv-tide/{ID}.jsonl"), true),
        ("claude-code", format!("{ID}.jsonl"), false),
        (
            "claude-code",
            format!("-srv-tide/{OTHER}/{ID}.jsonl"),
            false,
        ),
        (
            "claude-code",
            format!("-srv-tide/{ID}.compact.jsonl"),
            false,
        ),
        ("claude-code", "-srv-tide/agent-7.jsonl".to_owned(), false),
        (
            "codex",
            format!("2026/11/20/rollout-2026-11-20T10-00-00-{ID}.jsonl"),
            true,
        ),
        (
            "codex",
            format!("rollout-2026-11-20T10-00-00-{ID}.jsonl.zst"),
            true,
        ),
        ("codex", format!("2026/11/20/{ID}.jsonl"), false),
        (
            "pi",
            format!("--srv-tide--/2026-11-20T10-00-00-000Z_{ID}.jsonl"),
            true,
        ),
        ("pi", format!("2026-11-20T10-00-00-000Z_{ID}.jsonl"), true),
        ("pi", format!("--srv-tide--/{ID}.jsonl"), false),
        ("copilot", format!("{ID}/events.jsonl"), true),
        ("copilot", format!("{ID}/files/events.jsonl"), false),
        ("copilot", format!("{ID}/other.jsonl"), false),
        ("copilot", "notes/events.jsonl".to_owned(), false),
        ("cline", format!("{ID}/{ID}.messages.json"), true),
        ("cline", format!("{OTHER}/{ID}.messages.json"), false),
        ("cline", format!("{ID}/{ID}.json"), false),
        ("cline", format!("{ID}/{ID}.compaction.json"), false),
        ("cline", format!("{ID}.messages.json"), false),
        ("droid", format!("-srv-tide/{ID}.jsonl"), true),
        ("droid", format!("-srv-tide/{ID}.settings.json"), false),
        ("qwen", format!("-srv-tide/chats/{ID}.jsonl"), true),
        (
            "qwen",
            format!("-srv-tide/subagents/{OTHER}/{ID}.jsonl"),
            false,
        ),
        ("qwen", format!("-srv-tide/{ID}.jsonl"), false),
        // The name of a fork.
        (
            "gemini",
            format!("tide/chats/session-2026-11-20T10-00-{ID}.jsonl"),
            true,
        ),
        ("gemini", format!("tide/chats/{OTHER}/{ID}.jsonl"), false),
        (
            "gemini",
            format!("tide/logs/session-2026-11-20T10-00-{ID}.jsonl"),
            false,
        ),
    ];
    for (name, below, is_session) in cases {
        let id = agent(name).id(Path::new(&below));
        assert_eq!(id, is_session.then_some(ID), "{name} {below}");
    }
}

#[test]
fn a_name_may_hold_only_the_beginning_of_an_id() {
    let below = format!("tide/chats/session-2026-11-20T10-00-{}.jsonl", &ID[..8]);
    let id = agent("gemini").id(Path::new(&below));
    assert_eq!(id, Some(&ID[..8]));
    assert_eq!(agent("gemini").names(), Names::Beginning);
    let text = format!(
        "{{\"id\":\"m\",\"sessionId\":\"x\"}}\n{{\"sessionId\":\"{ID}\",\"projectHash\":\"p\"}}\n"
    );
    let whole = id_on_lines(agent("gemini"), text.as_bytes());
    assert_eq!(whole.as_deref(), Some(ID));
}

#[test]
fn the_directory_is_the_one_that_the_folder_is_named_after() {
    let text = b"{\"type\":\"mode\"}\n{\"cwd\":\"/srv/tide/sub\"}\n{\"cwd\":\"/srv/ti\\u0064e\"}\n";
    let of = |folder| directory_of(agent("claude-code"), text, folder);
    assert_eq!(of(Some("-srv-tide")).as_deref(), Some("/srv/tide"));
    assert_eq!(of(Some("elsewhere")).as_deref(), Some("/srv/tide/sub"));
    let text = br#"{"type":"session_meta","payload":{"id":"x","cwd":"/srv/tide"}}"#;
    assert_eq!(
        directory_of(agent("codex"), text, Some("20")).as_deref(),
        Some("/srv/tide")
    );
    let text =
        br#"{"type":"session.start","data":{"sessionId":"x","context":{"cwd":"/srv/tide"}}}"#;
    assert_eq!(
        directory_of(agent("copilot"), text, Some(ID)).as_deref(),
        Some("/srv/tide")
    );
    let text = br#"{"type":"session","version":3,"id":"x","cwd":"/srv/tide"}"#;
    assert_eq!(
        directory_of(agent("pi"), text, None).as_deref(),
        Some("/srv/tide")
    );
}

#[test]
fn the_directory_may_be_in_a_context() {
    let context = r#"<session_context>\n- **Workspace Directories:**\n  - /srv/t\u0069de\n</session_context>"#;
    let line = |begin: &str| format!("{begin}\"messages\":[{{\"content\":\"{context}\"}}]}}}}\n");
    let of = |text: String| directory_of(agent("gemini"), text.as_bytes(), Some("chats"));
    assert_eq!(of(line("{\"$set\":{")).as_deref(), Some("/srv/tide"));
    // Anybody may say the same in a message.
    assert_eq!(of(line("{\"x\":{")), None);
}

#[test]
fn the_directory_may_be_in_the_instructions_at_the_end() {
    let document = r#"{
  "messages": [
    { "input": { "system_prompt": "Working Directory: /etc\n" }, "text": "\"system_prompt\": \"Working Directory: /var\n" } ],
  "system_prompt": "You are Cline.\n4. Working Directory: /srv/t\u0069de\n</env>"
}"#;
    let of = |text: &str| directory_of(agent("cline"), text.as_bytes(), Some(ID));
    let one_line = document.replace('\n', "");
    assert_eq!(of(&one_line).as_deref(), Some("/srv/tide"));
    let pretty = document.replace(r#""system_prompt": "Working Directory: /etc\n""#, "");
    assert_eq!(of(&pretty).as_deref(), Some("/srv/tide"));
    assert_eq!(of(r#"{"system_prompt": "Be brief."}"#), None);
}

#[test]
fn what_the_agent_writes_at_each_start_is_no_session() {
    let is_unused = agent("gemini").tells_unused().unwrap();
    let header = format!("{{\"sessionId\":\"{ID}\",\"projectHash\":\"p\",\"kind\":\"main\"}}\n");
    let set = |texts: &[&str]| {
        let messages = texts.iter().map(|text| {
            format!("{{\"id\":\"m\",\"type\":\"user\",\"content\":[{{\"text\":\"{text}\"}}]}}")
        });
        let messages: Vec<String> = messages.collect();
        format!("{{\"$set\":{{\"messages\":[{}]}}}}\n", messages.join(","))
    };
    let context = "<session_context>\\nlinux";
    for (text, expected) in [
        (header.clone(), true),
        (format!("{header}{}", set(&[context])), true),
        (
            format!("{header}{{\"$set\":{{\"lastUpdated\":\"t\"}}}}\n"),
            true,
        ),
        (format!("{header}{}", set(&[context, "Hello"])), false),
        (
            format!("{header}{}", set(&["See <session_context>"])),
            false,
        ),
        (
            format!("{header}{{\"id\":\"m\",\"type\":\"user\",\"content\":\"Hello\"}}\n"),
            false,
        ),
    ] {
        assert_eq!(is_unused(text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn a_document_that_is_imported_takes_the_place_of_its_session() {
    let import = Format::OpenCode.importer().unwrap();
    let file = Path::new("/tmp/a.json");
    let document = r#"{"messages": [], "info": {"id": "ses_1", "directory": "/srv/tide"}}"#;
    let taken = import.import(document.as_bytes(), file).unwrap();
    assert_eq!(taken.directory.as_deref(), Some("/srv/tide"));
    let commands = [taken.delete, taken.take, taken.resume];
    assert_eq!(
        commands.map(|words| words.join(" ".as_ref())),
        [
            "opencode session delete ses_1",
            "opencode import /tmp/a.json",
            "opencode --session ses_1"
        ]
    );
    // No id may look like a flag.
    for id in ["--all", "1", ""] {
        let other = document.replace("ses_1", id);
        assert_eq!(import.import(other.as_bytes(), file), None, "{id}");
        assert_eq!(import.id_of_copy(other.as_bytes(), "h"), None, "{id}");
    }
    assert_eq!(import.import(b"[]", file), None);
}

#[test]
fn a_document_under_another_id_shares_no_id_with_the_original() {
    let opencode = Format::OpenCode.importer().unwrap();
    let document = r#"{
  "info": { "id": "ses_5f00aa11bb22AAAA", "revert": {"messageID": "msg_a0ff55ee44ddBBBB", "partID": "prt_a0ff55ee44deCCCC", "snapshot": "msg_a0"}, "share": {"url": "https://opncd.ai/s/A"}, "parentID": "ses_other", "title": "share" },
  "messages": [
    {"info": {"id": "msg_a0ff55ee44ddBBBB", "role": "user", "sessionID": "ses_5f00aa11bb22AAAA"},
     "parts": [{"id": "prt_a0ff55ee44deCCCC", "messageID":"msg_a0ff55ee44ddBBBB", "sessionID":"ses_5f00aa11bb22AAAA", "type": "text", "text": "ses_5f00aa11bb22AAAA msg_a0ff55ee44ddBBBB"},
               {"id": "prt_a0ff55ee44deCCCC1", "type": "compaction", "tail_start_id": "msg_a0ff55ee44df0000"}]},
    {"info": {"parentID": "msg_a0ff55ee44ddBBBB", "id": "msg_a0ff55ee44ddBBBB0"}, "parts": [{"id":"prt_\u0062","state":{"input":{"id":"msg_a0ff55ee44ddBBBB"},"attachments":[{"id":"prt_a0ff55ee44e0DDDD","messageID":"msg_a0ff55ee44ddBBBB0","sessionID":"ses_5f00aa11bb22AAAA"}]}}]},
    {"info": {"parentID": "", "id": "msg_c"}, "parts": []}
  ]
}"#;
    let id = opencode.id_of_copy(document.as_bytes(), "hash").unwrap();
    assert_eq!(id.len(), "ses_5f00aa11bb22AAAA".len() + 8);
    assert!(id.starts_with("ses_5f00aa11bb22"), "{id}");
    assert!(id.ends_with("AAAA"), "{id}");
    assert_ne!(
        opencode.id_of_copy(document.as_bytes(), "other"),
        Some(id.clone())
    );
    let copy = opencode.under_id(document.as_bytes(), &id);
    let copy = String::from_utf8(copy).unwrap();
    let ids = |text: &str| {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        let messages = value["messages"].as_array().unwrap().clone();
        let parts = messages.iter().flat_map(|m| m["parts"].as_array().unwrap());
        let of = |value: &serde_json::Value| value["id"].as_str().unwrap().to_owned();
        let parts: Vec<String> = parts.map(of).collect();
        let messages = messages.iter().map(|m| of(&m["info"])).collect::<Vec<_>>();
        (value, messages, parts)
    };
    let ((old, old_messages, old_parts), (new, new_messages, new_parts)) =
        (ids(document), ids(&copy));
    assert_eq!(new["info"]["id"], id);
    // What is shared is the original.
    assert_eq!(new["info"].get("share"), None);
    assert_eq!(new["info"]["title"], "share");
    assert_eq!(new["info"]["revert"]["messageID"], new_messages[0]);
    assert_eq!(new["info"]["revert"]["partID"], new_parts[0]);
    assert_eq!(new["messages"][0]["parts"][0]["sessionID"], id);
    assert_eq!(new["messages"][0]["parts"][0]["messageID"], new_messages[0]);
    assert_eq!(new["messages"][1]["info"]["parentID"], new_messages[0]);
    let tail = new["messages"][0]["parts"][1]["tail_start_id"]
        .as_str()
        .unwrap();
    assert!(
        tail.starts_with("msg_a0ff55ee44df") && tail.ends_with("0000"),
        "{tail}"
    );
    for (old, new) in [(&old_messages, &new_messages), (&old_parts, &new_parts)] {
        assert!(new.iter().all(|id| !old.contains(id)), "{new:?}");
        let order = |ids: &[String]| {
            let mut order: Vec<usize> = (0..ids.len()).collect();
            order.sort_by_key(|at| ids[*at].clone());
            order
        };
        assert_eq!(order(old), order(new));
    }
    let attached = &new["messages"][1]["parts"][0]["state"]["attachments"][0];
    assert_eq!(attached["sessionID"], id);
    assert_eq!(attached["messageID"], new_messages[1]);
    assert_ne!(attached["id"], "prt_a0ff55ee44e0DDDD");
    // One that is short does not move the mark in the others, and none at all is none.
    assert!(
        new_messages[0].starts_with("msg_a0ff55ee44dd"),
        "{}",
        new_messages[0]
    );
    assert!(new_messages[2].starts_with("msg_c"), "{}", new_messages[2]);
    assert_eq!(new["messages"][2]["info"]["parentID"], "");
    // What is said stays, and so does all else.
    for path in [
        "/info/parentID",
        "/info/revert/snapshot",
        "/messages/0/parts/0/text",
        "/messages/1/parts/0/state/input",
    ] {
        assert_eq!(old.pointer(path), new.pointer(path), "{path}");
    }
    let mark = &new_messages[0]["msg_a0ff55ee44dd".len()..][..8];
    let back = copy.replace(&id, "ses_5f00aa11bb22AAAA").replace(mark, "");
    let shared = r#""share": {"url": "https://opncd.ai/s/A"}, "#;
    assert_eq!(back, document.replace(shared, ""));
}

#[test]
fn another_id_changes_no_other_byte() {
    let with = |id: &str| {
        format!(
            "not json\n{{ \"sessionId\" : \"{id}\",\"message\":{{\"content\":\"\\\"sessionId\\\"\"}}}}\r\n{{\"sessionId\":\"{id}\",\"n\":1e3}}"
        )
    };
    let changed = under_id(agent("claude-code"), with(ID).as_bytes(), OTHER);
    assert_eq!(String::from_utf8(changed).unwrap(), with(OTHER));

    let with = |id: &str| {
        format!(
            "{{\"type\":\"session_meta\",\"payload\":{{\"session_id\":\"{id}\",\"id\":\"{id}\"}}}}\n{{\"type\":\"session_meta\",\"payload\":{{\"id\":\"{ID}\"}}}}\n"
        )
    };
    let changed = under_id(agent("codex"), with(ID).as_bytes(), OTHER);
    assert_eq!(String::from_utf8(changed).unwrap(), with(OTHER));

    let with = |id: &str| {
        format!(
            "{{\"type\":\"session\",\"id\":\"{id}\",\"cwd\":\"/\"}}\n{{\"type\":\"message\",\"id\":\"{ID}\"}}\n"
        )
    };
    let named = format!("{{\"type\":\"session.start\",\"data\":{{\"sessionId\":\"{ID}\"}}}}\n");
    let changed = under_id(agent("copilot"), named.as_bytes(), OTHER);
    assert_eq!(changed, named.replace(ID, OTHER).as_bytes());
    let changed = under_id(agent("pi"), with(ID).as_bytes(), OTHER);
    assert_eq!(String::from_utf8(changed).unwrap(), with(OTHER));

    let with = |id: &str| {
        format!(
            "{{\"sessionId\":\"{id}\",\"projectHash\":\"p\"}}\n{{\"$set\":{{\"sessionId\":\"{id}\"}}}}\n{{\"id\":\"m\",\"sessionId\":\"{ID}\"}}\n"
        )
    };
    let changed = under_id(agent("gemini"), with(ID).as_bytes(), OTHER);
    assert_eq!(String::from_utf8(changed).unwrap(), with(OTHER));
}

#[test]
fn a_copy_has_an_id_of_its_own() {
    let copy = id_of_copy(ID, "blake3:1");
    assert!(is_uuid(&copy), "{copy}");
    assert_eq!(copy, id_of_copy(ID, "blake3:1"));
    assert_ne!(copy, id_of_copy(ID, "blake3:2"));
    assert_ne!(copy, id_of_copy(OTHER, "blake3:1"));
}

#[test]
fn only_pi_continues_any_file() {
    let file = Named::File(Path::new("/tmp/a.jsonl"));
    let command = |name: &str, named| {
        agent(name)
            .command(named)
            .map(|words| words.join(" ".as_ref()))
    };
    assert_eq!(
        command("claude-code", Named::Id("i")),
        Some("claude --resume i".into())
    );
    assert_eq!(
        command("codex", Named::Id("i")),
        Some("codex resume i".into())
    );
    assert_eq!(
        command("droid", Named::Id("i")),
        Some("droid --resume i".into())
    );
    assert_eq!(
        command("qwen", Named::Id("i")),
        Some("qwen --resume i".into())
    );
    assert_eq!(command("qwen", file), None);
    assert_eq!(
        command("gemini", Named::Id("i")),
        Some("gemini --resume i".into())
    );
    assert_eq!(command("gemini", file), None);
    assert_eq!(
        command("pi", file),
        Some("pi --session /tmp/a.jsonl".into())
    );
    assert_eq!(
        command("copilot", Named::Id("i")),
        Some("copilot --resume=i".into())
    );
    assert_eq!(
        command("cline", Named::Id("i")),
        Some("cline --id i".into())
    );
    let others = ["codex", "claude-code", "copilot", "cline"];
    assert_eq!(
        others.into_iter().find_map(|name| command(name, file)),
        None
    );
}
