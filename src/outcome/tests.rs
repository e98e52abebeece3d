//! Outcomes add up, keep their before and after consistent, and lead to the right exit code.

use std::io;

use proptest::prelude::*;

use super::*;

fn conversation(tokens_before: u64, tokens_after: u64, messages: u64) -> ConversationOutcome {
    ConversationOutcome {
        tokens_after,
        ..ConversationOutcome::unchanged("main", "classes", tokens_before, messages)
    }
}

fn compacted(conversations: Vec<ConversationOutcome>) -> Outcome {
    Outcome {
        status: Status::Compacted,
        hash_after: Some("blake3:02".into()),
        bytes_after: 40,
        conversations,
        ..Outcome::unchanged(Path::new("a.jsonl"), 100, "blake3:01")
    }
}

#[test]
fn a_file_is_the_sum_of_its_conversations() {
    let outcome = compacted(vec![conversation(50, 20, 4), conversation(7, 7, 2)]);
    assert_eq!(
        (
            outcome.tokens_before(),
            outcome.tokens_after(),
            outcome.messages_before(),
            outcome.messages_after()
        ),
        (57, 27, 6, 6)
    );
}

fn degraded() -> Degraded {
    Degraded {
        kind: DegradedKind::SummaryFailed,
        message: "no summary could be written: timed out".into(),
    }
}

#[test]
fn totals_count_each_status_and_add_what_was_read() {
    let failed = Outcome::failed(
        Path::new("b.jsonl"),
        &Error::new(ErrorKind::Decode, "gzip data ends too early"),
    );
    let outcomes = [
        compacted(vec![conversation(50, 20, 4), conversation(7, 7, 2)]),
        failed,
        Outcome::skipped(Path::new("c.jsonl")),
        Outcome::unsupported(Path::new("d.jsonl"), 9, "blake3:03"),
        Outcome {
            degraded: vec![degraded(), degraded()],
            ..Outcome::unchanged(Path::new("e.jsonl"), 11, "blake3:04")
        },
        compacted(vec![conversation(10, 12, 1)]).rejected(Rejection::MoreTokens, "grew", None),
    ];
    let expected = Totals {
        files: 6,
        compacted: 1,
        unchanged: 1,
        failed: 1,
        unsupported: 1,
        skipped: 1,
        rejected: 1,
        degraded: 1,
        bytes_before: 220,
        bytes_after: 160,
        compressed: 0,
        stored_before: 220,
        stored_after: 160,
        messages_before: 7,
        messages_after: 7,
        tokens_before: 67,
        tokens_after: 37,
        spent: None,
        interrupted: None,
    };
    assert_eq!(Totals::of(&outcomes), expected);
    assert_eq!((expected.tokens_saved(), expected.ratio()), (30, 0.5522));
}

#[test]
fn a_rejected_result_leaves_what_was_true_of_the_input() {
    let mut attempt = Outcome {
        findings_before: 1,
        findings_after: 3,
        ..compacted(vec![ConversationOutcome {
            usage: Some(Usage {
                recorded: 9000,
                overhead: 8000,
                factor: 1.5,
            }),
            tokens_after: 20,
            messages_after: 3,
            threshold: Some(40),
            target: Some(TargetOutcome::new(30, 20)),
            reason: "over the threshold".into(),
            actions: vec![Action {
                kind: ActionKind::Clear,
                line: 2,
                message: 2,
                tool: Some("shell".into()),
                reason: "old".into(),
                tokens_before: 40,
                tokens_after: 10,
            }],
            restored: vec![Restored {
                path: "src/main.rs".into(),
                tokens: 5,
                source: RestoredFrom::Transcript,
            }],
            deleted_files: vec!["offloaded/00.txt".into()],
            ..ConversationOutcome::unchanged("main", "chars", 50, 8)
        }])
    };
    attempt.file.format = Some("openai".into());
    let mut expected = Outcome {
        status: Status::Rejected,
        findings_before: 1,
        findings_after: 1,
        conversations: vec![ConversationOutcome {
            usage: Some(Usage {
                recorded: 9000,
                overhead: 8000,
                factor: 1.5,
            }),
            threshold: Some(40),
            target: Some(TargetOutcome::new(30, 31)),
            reason: "over the threshold".into(),
            ..ConversationOutcome::unchanged("main", "chars", 50, 8)
        }],
        ..Outcome::unchanged(Path::new("a.jsonl"), 100, "blake3:01")
    };
    expected.file.format = Some("openai".into());
    expected.file.error = Some(OutcomeError {
        kind: FaultKind::Rejected(Rejection::NewFinding),
        message: "a call lost its result".into(),
        line: Some(5),
        hint: None,
    });
    assert_eq!(
        attempt.rejected(Rejection::NewFinding, "a call lost its result", Some(5)),
        expected
    );
}

#[test]
fn a_failure_names_a_file_only_when_it_is_not_the_input() {
    let input = Path::new("in.jsonl");
    let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
    let error = |outcome: Outcome| outcome.file.error.expect("a failed outcome has its error");
    assert_eq!(
        error(Outcome::failed(
            input,
            &Error::io(input, "read", denied()).on_line(3)
        )),
        OutcomeError {
            kind: FaultKind::Error(ErrorKind::Io),
            message: "cannot read: permission denied".into(),
            line: Some(3),
            hint: Some("check its permissions and those of its folder".into()),
        }
    );
    assert_eq!(
        error(Outcome::failed(
            input,
            &Error::io("out/in.jsonl", "rename", denied()).on_line(3)
        )),
        OutcomeError {
            kind: FaultKind::Error(ErrorKind::Io),
            message: "out/in.jsonl:3: cannot rename: permission denied".into(),
            line: None,
            hint: Some("check its permissions and those of its folder".into()),
        }
    );
}

#[test]
fn ratios_round_halves_up_to_four_decimals() {
    let cases = [
        (0, 0, 1.0),
        (0, 5, 1.0),
        (5, 0, 0.0),
        (3, 1, 0.3333),
        (3, 2, 0.6667),
        (32, 1, 0.0313),
        (20_000, 19_999, 1.0),
        (1, 2, 2.0),
        (u64::MAX, u64::MAX, 1.0),
    ];
    for (before, after, expected) in cases {
        assert_eq!(ratio(before, after), expected, "{after} / {before}");
    }
}

#[test]
fn names_in_text_are_the_names_in_json() {
    assert_eq!(Status::Unsupported.to_string(), "unsupported");
    assert_eq!(
        FaultKind::Error(ErrorKind::NotFound).to_string(),
        "not_found"
    );
    assert_eq!(
        FaultKind::Rejected(Rejection::MoreTokens).to_string(),
        "more_tokens"
    );
    assert_eq!(
        serde_json::to_string(&FaultKind::Rejected(Rejection::NewFinding)).unwrap(),
        r#""new_finding""#
    );
}

#[test]
fn the_heaviest_outcome_gives_the_exit_code() {
    let path = Path::new("a.jsonl");
    let failed = || Outcome::failed(path, &Error::new(ErrorKind::Io, "cannot read"));
    let fine = || Outcome::unchanged(path, 1, "blake3:01");
    let rejected = || fine().rejected(Rejection::NewFinding, "orphan", None);
    let lacking = || Outcome {
        degraded: vec![degraded()],
        ..fine()
    };
    let missed = || {
        compacted(vec![ConversationOutcome {
            target: Some(TargetOutcome::new(10, 11)),
            ..conversation(50, 11, 4)
        }])
    };
    let met = || {
        compacted(vec![ConversationOutcome {
            target: Some(TargetOutcome::new(10, 10)),
            ..conversation(50, 10, 4)
        }])
    };
    let cases = [
        (vec![], 0),
        (
            vec![
                fine(),
                met(),
                Outcome::skipped(path),
                Outcome::unsupported(path, 1, "blake3:01"),
            ],
            0,
        ),
        (vec![fine(), rejected()], 1),
        (vec![rejected(), lacking()], 3),
        (vec![missed(), fine()], 1),
        (vec![failed(), rejected(), missed()], 3),
        (vec![rejected(), failed()], 3),
    ];
    for (outcomes, code) in cases {
        assert_eq!(Exit::of(&outcomes).code(), code, "{outcomes:?}");
    }
}

#[test]
fn notices_are_one_a_reason_and_what_failed_comes_first() {
    let path = |n: u64| format!("{n}.jsonl");
    let mut notices = Notices::default();
    for n in 0..4 {
        let format = if n == 0 { "swe-agent" } else { "unknown" };
        notices.unsupported(&path(n), &crate::format::unsupported(format), "left");
    }
    for (n, line) in [(4, 3), (4, 8), (5, 1)] {
        let what = (NoticeLevel::Failed, "broken", "it broke");
        notices.add(
            what.0,
            what.1,
            what.2,
            Some("mend it"),
            (&path(n), Some(line)),
        );
    }
    let list = notices.into_list();
    let told: Vec<_> = list
        .iter()
        .map(|n| {
            (
                n.kind,
                n.message.as_str(),
                n.files,
                n.names.join(" "),
                n.lines.clone(),
                n.places,
            )
        })
        .collect();
    let unknown = "not a known transcript format; left";
    let named = "the format swe-agent is not supported; left";
    assert_eq!(
        told,
        [
            (
                "broken",
                "it broke",
                2,
                "4.jsonl 5.jsonl".into(),
                vec![3, 8],
                3
            ),
            (
                "unsupported",
                unknown,
                3,
                "1.jsonl 2.jsonl 3.jsonl".into(),
                vec![],
                0
            ),
            ("unsupported", named, 1, "0.jsonl".into(), vec![], 0),
        ]
    );
    assert_eq!(list[0].hint, Some("mend it"));
}

#[test]
fn however_many_reasons_there_are_the_lines_stay_few() {
    let mut notices = Notices::default();
    for n in 0..100 {
        let (name, why) = (format!("{n}.jsonl"), format!("reason {n}"));
        notices.add(NoticeLevel::Failed, "broken", &why, None, (&name, None));
    }
    let list = notices.into_list();
    let files: Vec<u64> = list.iter().map(|notice| notice.files).collect();
    assert_eq!(files, [1, 1, 1, 1, 1, 95]);
    assert_eq!(list[5].message, "other reasons; a report names them");
}

prop_compose! {
    fn any_conversation()(
        (before, after, messages) in (0..1u64 << 40, 0..1u64 << 40, 0..1000u64),
        (source, has_failed) in prop::sample::select(vec![
            (None, false),
            (Some("extractive"), false),
            (Some("anthropic"), false),
            (Some("anthropic"), true),
        ]),
        target in prop::option::of((0..1u64 << 40, prop::bool::ANY)),
    ) -> ConversationOutcome {
        let target = target.map(|(tokens, is_aim)| {
            let cap = TargetOutcome::new(tokens, after);
            match is_aim {
                true => cap.of_kind(TargetKind::Aim, 0).because(MissReason::UserWords),
                false => cap,
            }
        });
        let summary = source.map(|source| {
            SummaryOutcome {
                source: source.into(),
                model: None,
                success: !has_failed,
                messages,
                preserved_messages: 0,
                tokens: after,
                attempts: 1,
                fallback: None,
                error: has_failed.then(|| "no answer".into()),
                invented: 0,
                sentences_dropped: 0,
                cut_moved: 0,
                user_verbatim: 0,
                user_clipped: 0,
                rounds: None,
                narrative: None,
                spent: (source != "extractive").then(|| Spent {
                    requests: messages,
                    ..Spent::default()
                }),
            }
        });
        ConversationOutcome { target, summary, ..conversation(before, after, messages) }
    }
}

prop_compose! {
    fn any_outcome()(
        kind in 0..6u8,
        lacks in 0..2usize,
        bytes in 0..1u64 << 40,
        warnings in 0..2usize,
        conversations in prop::collection::vec(any_conversation(), 0..3),
    ) -> Outcome {
        let path = Path::new("a \"quoted\" name.jsonl");
        let warning = Warning { kind: WarningKind::Unsupported, line: None, message: "\u{1}".into() };
        let outcome = Outcome {
            conversations,
            warnings: vec![warning; warnings],
            degraded: vec![degraded(); lacks],
            ..Outcome::unchanged(path, bytes, "blake3:01")
        };
        match kind {
            0 => Outcome::failed(path, &Error::new(ErrorKind::Io, "cannot read")),
            1 => Outcome::skipped(path),
            2 => Outcome::unsupported(path, bytes, "blake3:01"),
            3 => outcome.rejected(Rejection::MoreTokens, "grew", None),
            4 => Outcome { status: Status::Compacted, bytes_after: bytes / 3, ..outcome },
            _ => outcome,
        }
    }
}

#[test]
fn the_beginning_of_the_json_says_whose_it_is() {
    for (input, output) in [
        ("in/a.jsonl", Some("out/a.jsonl")),
        ("\"\\\n\u{e9}\u{7f}", None),
    ] {
        let outcome = Outcome {
            output: output.map(str::to_owned),
            ..Outcome::unchanged(Path::new(input), 1, "blake3:1")
        };
        let json = serde_json::to_vec(&outcome).unwrap();
        let begins = |input: &str, output: Option<&str>| {
            json.starts_with(&Outcome::begin_of_json(input, output).unwrap())
        };
        assert!(begins(&outcome.file.path, output));
        assert!(!begins("in/a", output));
        assert!(!begins(&outcome.file.path, Some("out/a")));
    }
}

proptest! {
    #[test]
    fn figures_follow_the_rules(outcome in any_outcome()) {
        let figures = Figures::of(&outcome);
        let row = serde_json::to_vec(&figures).unwrap();
        prop_assert_eq!(serde_json::from_slice::<Figures>(&row).unwrap(), figures);
        let summaries = outcome.conversations.iter().flat_map(|c| &c.summary);
        let has_failed = |summary: &SummaryOutcome| summary.error.is_some();
        let is_done = !matches!(outcome.status, Status::Failed | Status::Skipped);
        let is_final = is_done && outcome.degraded.is_empty() && !summaries.clone().any(has_failed);
        prop_assert_eq!(figures.is_final(), is_final);
        let targets = outcome.conversations.iter().flat_map(|c| c.target);
        let is_remarkable = !matches!(outcome.status, Status::Compacted | Status::Unchanged | Status::Skipped)
            || outcome.file.error.is_some()
            || !outcome.degraded.is_empty()
            || !outcome.warnings.is_empty()
            || summaries.clone().any(|summary| summary.source != "extractive")
            || targets.clone().any(|target| target.reason.is_some())
            || outcome.missed_target().is_some();
        prop_assert_eq!(outcome.is_remarkable(), is_remarkable);
        let exit = match outcome.status {
            Status::Failed => Exit::Partial,
            _ if !outcome.degraded.is_empty() => Exit::Partial,
            Status::Rejected => Exit::Check,
            _ if outcome.missed_target().is_some() => Exit::Check,
            _ => Exit::Done,
        };
        prop_assert_eq!(outcome.exit(), exit);
    }

    #[test]
    fn totals_do_not_depend_on_how_the_outcomes_are_grouped(
        outcomes in prop::collection::vec(any_outcome(), 0..12),
        cuts in (0..13usize, 0..13usize),
    ) {
        let low = cuts.0.min(cuts.1).min(outcomes.len());
        let high = cuts.0.max(cuts.1).min(outcomes.len());
        let [a, b, c] = [&outcomes[..low], &outcomes[low..high], &outcomes[high..]].map(Totals::of);

        let mut left = a;
        left += b;
        left += c;
        let mut tail = b;
        tail += c;
        let mut right = a;
        right += tail;

        prop_assert_eq!(left, Totals::of(&outcomes));
        prop_assert_eq!(right, left);
        prop_assert_eq!(
            left.files,
            left.compacted + left.unchanged + left.failed + left.unsupported + left.skipped + left.rejected
        );
    }
}
