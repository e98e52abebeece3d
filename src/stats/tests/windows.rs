//! Turns, thresholds and estimates of live windows.

use super::*;
use crate::policy::preset;

fn only(file: FileStats) -> ConversationStats {
    let [conversation] = <[_; 1]>::try_from(file.conversations).unwrap();
    conversation
}

fn turn([turn, line, messages, tokens, context]: [u64; 5], recorded: Option<u64>) -> Turn {
    Turn {
        turn,
        line,
        messages,
        tokens,
        context,
        recorded,
    }
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn answer(text: &str, recorded: Option<u64>) -> Value {
    match recorded {
        Some(tokens) => {
            json!({"role": "assistant", "content": text, "usage": {"prompt_tokens": tokens}})
        }
        None => json!({"role": "assistant", "content": text}),
    }
}

/// A system prompt, a summary by this program, two turns with a call, and one without an answer.
fn turns_of_openai() -> Vec<Value> {
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let mut calling = answer("1", Some(100));
    calling["tool_calls"] = json!([call]);
    vec![
        json!({"role": "system", "content": "be good"}),
        user("[Earlier conversation, summarised by ctxpack]\nAll is well."),
        user("12345"),
        calling,
        json!({"role": "tool", "tool_call_id": "c", "content": "1234567"}),
        answer("12", Some(120)),
        user("<system-reminder>x</system-reminder>"),
        user("123"),
        answer("1234", Some(150)),
        answer("1", None),
        user("12"),
    ]
}

#[test]
fn a_turn_lasts_from_one_typed_message_to_the_next() {
    let stats = only(counted(Format::OpenAi, &turns_of_openai(), 0));
    // The prompt, and the summary: 45 characters, a line end, 12 more.
    let before = 7 + 58;
    // 5; 1 and f{}; 7; 2; a reminder of 36, which nobody typed.
    let first = 5 + 4 + 7 + 2 + 36;
    assert_eq!(
        stats.timeline,
        [
            turn([0, 1, 2, before, before], None),
            turn([1, 3, 5, first, before + first], None),
            turn([2, 8, 3, 8, before + first + 8], None),
            turn([3, 11, 1, 2, before + first + 10], None),
        ]
    );
    assert_eq!((stats.turns, stats.tokens), (3, before + first + 10));
}

#[test]
fn without_a_typed_message_all_is_before_the_first_turn() {
    let stats = only(counted(Format::Anthropic, &[answer("12", None)], 0));
    assert_eq!(stats.timeline, [turn([0, 1, 1, 2, 2], None)]);
    assert_eq!(stats.turns, 0);
    // And where the first message is typed, nothing is.
    let stats = only(counted(Format::Anthropic, &[user("12")], 0));
    assert_eq!(stats.timeline, [turn([1, 1, 1, 2, 2], None)]);
}

#[test]
fn each_conversation_has_its_own_turns() {
    let line = |id: &str, parent: Option<&str>, side: bool, text: &str| {
        json!({"uuid": id, "parentUuid": parent, "sessionId": "s", "isSidechain": side, "type": "user",
            "message": {"role": "user", "content": text}})
    };
    let lines = [
        line("a", None, false, "1"),
        line("b", None, true, "12"),
        line("c", Some("a"), false, "123"),
        line("d", Some("b"), true, "1234"),
    ];
    let file = counted(Format::ClaudeCode, &lines, 0);
    let timelines: Vec<&[Turn]> = file.conversations.iter().map(|c| &c.timeline[..]).collect();
    assert_eq!(
        timelines,
        [
            [turn([1, 1, 1, 1, 1], None), turn([2, 3, 1, 3, 4], None)],
            [turn([1, 2, 1, 2, 2], None), turn([2, 4, 1, 4, 6], None)],
        ]
    );
}

#[test]
fn a_conversation_per_line_is_on_its_line_with_all_turns() {
    let text = json!({"messages": [user("1"), answer("1", None), user("2")]}).to_string();
    let policy = policy("");
    let transcript = Format::OpenAi.read(text.as_bytes(), 1, &mut Warnings::default());
    let mut file = FileStats::default();
    let counting = Counter::new(&policy, 0, Exact::No).unwrap();
    counting.add(&mut file, Format::OpenAi, &transcript, Some(7));
    assert_eq!(
        only(file).timeline,
        [turn([1, 7, 2, 2, 2], None), turn([2, 7, 1, 1, 3], None)]
    );
}

#[test]
fn what_was_recorded_in_the_window_before_says_nothing_of_this_one() {
    let line = |id: &str, parent: Option<&str>, rest: Value| {
        let mut line = json!({"uuid": id, "parentUuid": parent, "sessionId": "s"});
        let map = line.as_object_mut().unwrap();
        map.extend(rest.as_object().unwrap().clone());
        line
    };
    let said = |tokens: u64| {
        json!({"type": "assistant", "message": {"id": tokens.to_string(), "role": "assistant",
            "content": [{"type": "text", "text": "123"}], "usage": {"input_tokens": tokens}}})
    };
    let typed = || json!({"type": "user", "message": {"role": "user", "content": "12"}});
    let mut summary = typed();
    summary["isCompactSummary"] = json!(true);
    let boundary = json!({"type": "system", "subtype": "compact_boundary",
        "compactMetadata": {"preservedMessages": {"anchorUuid": "s", "uuids": ["k"]}}});
    let lines = [
        line("k", Some("gone"), said(9000)),
        line("b", None, boundary),
        line("s", Some("b"), summary),
        line("u", Some("s"), typed()),
        line("a", Some("u"), said(70)),
    ];
    assert_eq!(
        only(counted(Format::ClaudeCode, &lines, 0)).timeline,
        [
            turn([0, 3, 2, 5, 5], None),
            turn([1, 4, 2, 5, 10], Some(70))
        ]
    );
    // What this program has kept stands after its summary, too: no line tells it from later answers.
    let ours = "[Earlier conversation, summarised by ctxpack]\n1";
    let mut lines = lines;
    lines[2]["message"]["content"] = json!(ours);
    let recorded = |file: FileStats| -> Vec<Option<u64>> {
        let timeline = only(file).timeline;
        timeline.iter().map(|turn| turn.recorded).collect()
    };
    let all = recorded(counted(Format::ClaudeCode, &lines, 0));
    assert_eq!(all, [None, None]);
    // Nor does anything tell whether an answer has seen a result before it was cleared.
    let mut lines = turns_of_openai();
    lines.remove(1);
    let all = |lines: &[Value]| recorded(counted(Format::OpenAi, lines, 0));
    assert_eq!(all(&lines), [None, Some(120), Some(150), None]);
    lines[3]["content"] = json!("[Output of f cleared - run it again if needed]");
    assert_eq!(all(&lines), [None; 4]);
}

fn standing(policy: &Policy) -> Standing {
    only(counted_by(
        policy,
        Exact::No,
        Format::OpenAi,
        &turns_of_openai(),
        0,
    ))
    .standing
}

#[test]
fn a_threshold_says_since_when_it_is_passed() {
    // Windows of 65, 119, 127 and 129; one result of 7.
    let limits = "[trigger]\ntokens = 127\n[target]\ntokens = 65\n[demote]\nmin_tokens = 6\n[clear]\nmin_tokens = 7";
    let over = policy(limits);
    let expected = Standing {
        trigger: Some(Window {
            limit: 127,
            since: Some(3),
        }),
        target: Some(Window {
            limit: 65,
            since: Some(1),
        }),
        offload: None,
        demote: Some(ResultsOver {
            limit: 6,
            results: 1,
            since: Some(1),
        }),
        clear: Some(ResultsOver {
            limit: 7,
            results: 0,
            since: None,
        }),
    };
    assert_eq!(standing(&over), expected);
    let at_least = policy(&limits.replace("= 127", "= 127\ncompare = \">=\""));
    let since = |policy: &Policy| standing(policy).trigger.unwrap().since;
    assert_eq!(since(&at_least), Some(2));
    assert_eq!(since(&policy("[trigger]\ntokens = 129")), None);
    // Half of 129, rounded down.
    let half = policy("[target]\npercent = 50.0");
    let limit = standing(&half).target.unwrap().limit;
    assert_eq!(limit, 64);
}

#[test]
fn layers_that_are_off_have_no_thresholds() {
    let none = preset("none").unwrap();
    let thresholds = json_of(&Thresholds::of(&none));
    let set: Vec<&String> = thresholds
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, _)| key)
        .collect();
    assert_eq!(set, ["compare"]);
    assert_eq!(standing(&none), Standing::default());
    assert_eq!(
        json_of(&Thresholds::of(&preset("layered").unwrap())),
        // 200 000 less 16 384 for the answer and 13 000 for what is not in the file.
        json!({"trigger": 170_616, "compare": ">", "min_savings": 20_000, "target": null,
            "target_percent": null, "offload": null, "demote": 40_000, "clear": 1000,
            "clear_chars": null, "clear_keep": 3})
    );
}

#[test]
fn estimates_stand_side_by_side_and_exact_ones_only_where_they_were_asked_for() {
    // Sixteen characters; digits are encoded in groups of three, so 6 tokens are exact.
    let lines = [user("1234567812345678")];
    let estimates = |toml: &str, exact: Exact| {
        let policy = policy::parse("test", toml).unwrap();
        let file = counted_by(&policy, exact, Format::OpenAi, &lines, 0);
        assert_eq!(file.counts.estimates, file.conversations[0].estimates);
        let Estimates {
            chars,
            classes,
            o200k_base,
            cl100k_base,
        } = file.counts.estimates;
        let tokens = file.counts.live.tokens;
        assert!(classes.is_some());
        (tokens, chars, [o200k_base, cl100k_base])
    };
    assert_eq!(estimates(TOKENS, Exact::No), (16, Some(4), [None, None]));
    assert_eq!(
        estimates(TOKENS, Exact::Yes),
        (16, Some(4), [Some(6), Some(6)])
    );
    let own = "[tokens]\nmethod = \"bpe\"\nencoding = \"cl100k_base\"";
    assert_eq!(estimates(own, Exact::No), (6, Some(4), [None, Some(6)]));
}

#[test]
fn each_shipped_policy_counts_in_its_own_way() {
    let count = |policy: &str, estimator: &'static str, tokens, threshold, over| PresetCount {
        policy: policy.to_owned(),
        estimator: estimator.into(),
        tokens: Some(tokens),
        threshold,
        compare: crate::policy::Compare::Over,
        over: Some(over),
    };
    let file = |length: usize| counted(Format::OpenAi, &[user(&"1".repeat(length))], 0);
    let known = |counts: Counts| {
        let mut presets = counts.presets.0;
        presets.retain(|preset| ["auto", "layered", "none"].contains(&preset.policy.as_str()));
        (presets, counts.estimates.classes.unwrap())
    };
    let counts = |length: usize| known(file(length).counts);
    let expected = |classes: u64, chars: u64, auto: u64, layered: u64| {
        vec![
            count("auto", "classes", classes, Some(20_000), auto),
            count("layered", "chars", chars, Some(170_616), layered),
            count("none", "classes", classes, None, 0),
        ]
    };
    let (presets, classes) = counts(40);
    assert_eq!(presets, expected(classes, 10, 0, 0));
    // 170 616 tokens of four characters are not over it, one more is.
    let (presets, classes) = counts(4 * 170_616);
    assert_eq!(presets, expected(classes, 170_616, 1, 0));
    let (presets, classes) = counts(4 * 170_617);
    assert_eq!(presets, expected(classes, 170_617, 1, 1));

    let files = [file(40), file(4 * 170_617)];
    let records = files.each_ref().map(|found| Examined {
        found: found.clone(),
        ..Examined::new(Path::new("a"), "anthropic", 0)
    });
    let totals = Totals::of(&records, 0).counts;
    assert_eq!(totals.estimates.chars, Some(170_627));
    let (presets, classes) = known(totals);
    assert_eq!(presets, expected(classes, 170_627, 1, 1));
}
