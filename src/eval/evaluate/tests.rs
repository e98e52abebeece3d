//! A session of nine messages, with every figure computed by hand.

use super::scoring::unmarked;
use super::*;
use crate::artifacts::Replies;
use crate::eval::Metric;
use crate::policy::{Setting, resolve};

/// The part before the last two messages is measured.
const SESSION: &str = r#"{"role":"user","content":"Please fix get_total in src/cart.rs now. Keep the tests green."}
{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"Read","input":{"file_path":"src/cart.rs"}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"    1→fn get_total() {\n    2→  now call sum_prices here"}]}
{"role":"assistant","content":[{"type":"tool_use","id":"2","name":"Bash","input":{"command":"cargo test --quiet"}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"2","content":"Exit code 101\nerror: assertion 7 failed in test_cart","is_error":true}]}
{"role":"assistant","content":[{"type":"tool_use","id":"3","name":"Edit","input":{"file_path":"src/cart.rs","old_string":"a","new_string":"b"}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"3","content":"done"}]}
{"role":"user","content":"Now also apply_discount there, like get_total."}
{"role":"assistant","content":"I use sum_prices and get_total in src/cart.rs."}
"#;

fn measured(evaluator: &Evaluator<'_>, text: &str) -> SessionEval {
    let transcript = Format::Anthropic.read(text.as_bytes(), 1, &mut Warnings::default());
    let mut sessions = evaluator.evaluate(Format::Anthropic, &transcript, 1, None, &WEIGHTS);
    assert_eq!(sessions.len(), 1);
    sessions.remove(0)
}

fn baselines(budget: f64, cut: f64) -> Evaluator<'static> {
    let baselines = Baseline::ALL.to_vec();
    let budgets = vec![Budget::Percent(budget)];
    Evaluator::new(Vec::new(), baselines, budgets, Cutting::at(&[cut])).unwrap()
}

#[test]
fn a_cut_says_what_is_looked_for() {
    let session = measured(&baselines(10.0, 100.0), SESSION);
    let expected = Cut {
        message: 8,
        line: 8,
        tokens: session.cuts[0].tokens,
        // get_total, sum_prices, src/cart.rs; not apply_discount, which did not occur before.
        need: 3,
        user: 2,
        modified: 1,
        commands: 1,
        errors: 1,
    };
    assert_eq!(session.cuts, [expected]);
    assert_eq!((session.messages, session.skipped), (9, None));
}

#[test]
fn a_window_holds_nothing_that_is_far() {
    // No word fits into so few tokens.
    let session = measured(&baselines(0.5, 100.0), SESSION);
    let of = |method: usize, metric| session.scores[method].scores.share(metric);
    assert_eq!(session.scores[0].method, "sliding window");
    assert_eq!(of(0, Metric::Far), Some(0.0));
    assert_eq!(of(0, Metric::Need), Some(0.0));
    assert_eq!(of(0, Metric::Used), Some(0.0));
    // If everything is in the window, nothing is far.
    let session = measured(&baselines(100.0, 100.0), SESSION);
    let of = |method: usize, metric| session.scores[method].scores.share(metric);
    assert_eq!(of(0, Metric::Far), None);
    assert_eq!(of(0, Metric::Need), Some(100.0));
    assert_eq!(of(0, Metric::Grounded), Some(100.0));
    assert_eq!(of(0, Metric::Used), Some(100.0));
    // A share of two sentences is not meaningful.
    assert_eq!(of(0, Metric::User), None);
    // Masked: sum_prices occurred only in a result.
    assert_eq!(session.scores[3].method, "mask keep 0");
    // To a hundredth, as in reports.
    assert_eq!(of(3, Metric::Need), Some(66.67));
    assert!(session.scores.iter().all(|of| of.scores.invented == 0));
}

#[test]
fn a_policy_without_layers_keeps_everything_and_is_over_the_budget() {
    let settings = Candidate::FOR_BUDGETS.into_iter();
    let settings = settings.chain([(Candidate::BUDGET, "10")]);
    let settings: Vec<Setting> = settings
        .map(|(key, value)| Setting {
            key: key.to_owned(),
            value: value.to_owned(),
            origin: "test".to_owned(),
        })
        .collect();
    let none = resolve(preset("none").unwrap(), &settings).unwrap();
    let budgets = vec![Budget::Percent(10.0)];
    let one = [(&none.policy, budgets[0])].into_iter();
    let candidate = Candidate::new("none".to_owned(), one, &Replies::default()).unwrap();
    let evaluator = Evaluator::new(
        vec![candidate],
        Vec::new(),
        budgets,
        Cutting::at(&[50.0, 100.0]),
    )
    .unwrap();
    let session = measured(&evaluator, SESSION);
    let scores = &session.scores[0].scores;
    assert_eq!(scores.share(Metric::Need), Some(100.0));
    assert_eq!(scores.share(Metric::Used), Some(100.0));
    assert_eq!((scores.cuts, scores.over, scores.invented), (2, 2, 0));
}

#[test]
fn of_a_message_that_a_policy_shortens_its_start_and_end_are_sought() {
    let long: Vec<String> = (0..400)
        .map(|n| format!("This is line {n:03} of it."))
        .collect();
    let text = SESSION.replace("Keep the tests green.", &long.join(" "));
    let sought = |most: &str| {
        let settings = [("summary.user_message_max", most)].map(|(key, value)| Setting {
            key: key.to_owned(),
            value: value.to_owned(),
            origin: "test".to_owned(),
        });
        let policy = resolve(preset("auto").unwrap(), &settings).unwrap().policy;
        let budgets = vec![Budget::Percent(10.0)];
        let candidate = Candidate::new(
            "auto".to_owned(),
            [(&policy, budgets[0])].into_iter(),
            &Replies::default(),
        );
        let cutting = Cutting::at(&[100.0]);
        let evaluator = Evaluator::new(vec![candidate.unwrap()], Vec::new(), budgets, cutting);
        measured(&evaluator.unwrap(), &text).cuts[0].user
    };
    assert_eq!(sought("100000"), 401);
    // Less than a third of it may be quoted.
    let few = sought("1000");
    assert!((60..120).contains(&few), "{few}");
}

#[test]
fn without_a_budget_only_what_leaves_something_out_is_measured() {
    let all = Baseline::ALL.to_vec();
    let budgets = vec![Budget::Own, Budget::Percent(100.0)];
    let evaluator = Evaluator::new(Vec::new(), all, budgets, Cutting::at(&[100.0])).unwrap();
    let session = measured(&evaluator, SESSION);
    let methods: Vec<(&str, Budget)> = session
        .scores
        .iter()
        .map(|of| (&of.method[..], of.budget))
        .collect();
    let full = Budget::Percent(100.0);
    assert_eq!(
        methods,
        [
            ("mask keep 5", Budget::Own),
            ("mask keep 0", Budget::Own),
            ("sliding window", full),
            ("head+tail", full),
            ("mask keep 5", full),
            ("mask keep 0", full),
        ]
    );
    // Nothing is masked, and nothing is cut.
    let scores = &session.scores[0].scores;
    assert_eq!(scores.share(Metric::Used), Some(100.0));
    assert_eq!((scores.share(Metric::Far), scores.over), (None, 0));
}

#[test]
fn what_cannot_be_cut_is_named() {
    let session = measured(
        &baselines(10.0, 50.0),
        "{\"role\":\"user\",\"content\":\"hi\"}\n",
    );
    assert_eq!(session.skipped, Some(Skipped::NoCut));
    let line = |rest: &str| format!("{{\"sessionId\":\"s\",\"type\":\"user\",{rest}}}\n");
    let text = line(
        r#""uuid":"a","parentUuid":null,"isCompactSummary":true,"message":{"role":"user","content":"so far"}"#,
    ) + &line(
        r#""uuid":"b","parentUuid":"a","message":{"role":"user","content":"go on"}"#,
    );
    let transcript = Format::ClaudeCode.read(text.as_bytes(), 1, &mut Warnings::default());
    let sessions =
        baselines(10.0, 50.0).evaluate(Format::ClaudeCode, &transcript, 1, None, &WEIGHTS);
    assert_eq!(sessions[0].skipped, Some(Skipped::CompactedFromTheStart));
}

#[test]
fn marks_of_rows_are_no_names() {
    assert_eq!(
        unmarked("L123,L456 a\nL7\nLx c\nL1,2 d"),
        "a\n\nLx c\nL1,2 d"
    );
}

#[test]
fn what_is_before_a_cut_reads_as_so_many_messages() {
    let mut folders = vec![std::path::PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures"
    ))];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("input.jsonl") {
                seen += reads_as_so_many(&path);
            }
        }
    }
    assert!(seen > 100, "{seen}");
}

/// Cuts a fixture at every possible place; returns the number of places.
fn reads_as_so_many(path: &std::path::Path) -> usize {
    use crate::format::{Detected, Detector, Layout};

    let bytes = std::fs::read(path).unwrap();
    let mut detector = Detector::default();
    detector.look(&bytes);
    let Detected::Known(format, Layout::File) = detector.decide() else {
        return 0;
    };
    let transcript = format.read(&bytes, 1, &mut Warnings::default());
    let mut seen = 0;
    for segment in segments(format, &transcript, 1, None) {
        let whole = format.read(&segment.bytes, 1, &mut Warnings::default());
        let conversation = &whole.conversations[0];
        let growth: Vec<u64> = (1..=conversation.messages.len() as u64).collect();
        for place in places(&whole, conversation, &growth) {
            let bytes = bytes_of(&whole, &lines_before(&whole, conversation, place));
            let part = format.read(&bytes, 1, &mut Warnings::default());
            let messages = part.conversations[0].messages.len();
            assert_eq!(messages, place.message, "{} {place:?}", path.display());
            seen += 1;
        }
    }
    seen
}
