//! What has to hold for any summary of any transcript, and a check of files that are named from outside.

use super::*;
use crate::format::{Detected, Detector, Layout};
use crate::scan::{lines, unescape};

/// Panics where a summary of `tokens` tokens does not hold what every one promises.
pub(super) fn check(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    span: Range<usize>,
    first_line: u64,
    policy: &Policy,
    tokens: u64,
) -> Summary {
    let estimator = Estimator::new(&policy.tokens).unwrap();
    let of = || Extract::of(transcript, conversation, span.clone(), first_line, policy);
    let extract = of();
    let summary = extract.summary(tokens, &estimator);
    assert_eq!(of().summary(tokens, &estimator), summary, "deterministic");
    assert_eq!(
        parse(&summary.text),
        summary.rows,
        "reads back:\n{}",
        summary.text
    );
    assert_eq!(
        summary.tokens,
        estimator.tokens(estimator.text(&summary.text))
    );
    let is_last = |unit: &units::Unit| matches!(unit.claim, units::Claim::Last(_));
    if extract.found.units.iter().any(is_last) {
        let last = extract.summary(0, &estimator).counted;
        assert!(
            summary.counted <= tokens.max(last),
            "{} > {tokens}",
            summary.counted
        );
    } else {
        assert!(summary.counted <= tokens, "{} > {tokens}", summary.counted);
    }
    for row in &summary.rows {
        let said = [Some(row.mark.line), row.mark.and].into_iter().flatten();
        let said: Vec<String> = said
            .flat_map(|line| readings(transcript.line((line - first_line) as u32)))
            .collect();
        let is_said = |word: &str| said.iter().any(|text| text.contains(word));
        // What is joined here is joined by a comma and a blank.
        let words = row
            .text
            .split([' ', '\n', '\t', '\r'])
            .map(|w| w.trim_end_matches(','));
        let words = words.flat_map(|word| word.split(clip::CUT));
        let numbers = row.label.split(|c: char| !c.is_ascii_digit());
        for word in words.chain(numbers) {
            assert!(is_said(word), "`{word}` is invented in {row:?}");
        }
    }
    summary
}

/// A line as it stands, and what its strings say, and the strings in these.
fn readings(line: &[u8]) -> [String; 4] {
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let once = unescape(line);
    let twice = unescape(&once);
    [
        lossy(line),
        lossy(&once),
        lossy(&twice),
        lossy(&unescape(&twice)),
    ]
}

/// `CTXPACK_SUMMARIES=a.jsonl:b.jsonl cargo test --lib -- --ignored summaries_of_given_files --nocapture`
#[test]
#[ignore = "looks at the files that CTXPACK_SUMMARIES names"]
fn summaries_of_given_files() {
    let files = std::env::var("CTXPACK_SUMMARIES").unwrap_or_default();
    for file in files.split(':').filter(|file| !file.is_empty()) {
        let bytes = std::fs::read(file).unwrap().leak();
        let mut detector = Detector::default();
        detector.look(bytes);
        let Detected::Known(format, layout) = detector.decide() else {
            println!("{file}: not supported");
            continue;
        };
        let parts: Vec<(&[u8], u64)> = match layout {
            Layout::File => vec![(&*bytes, 1)],
            Layout::Line => (1..)
                .zip(lines(bytes))
                .map(|(number, line)| (&bytes[line.start..line.end], number))
                .collect(),
        };
        let (mut summaries, mut rows) = (0, 0);
        for (bytes, first_line) in parts {
            let transcript = format.read(bytes, first_line, &mut Warnings::default());
            for conversation in &transcript.conversations {
                let all = conversation.messages.len();
                for (user_words, tokens) in [
                    (UserWords::Verbatim, 0),
                    (UserWords::Verbatim, 300),
                    (UserWords::Verbatim, 4_000),
                    (UserWords::Budget, 1_000),
                    (UserWords::Budget, 20_000),
                ] {
                    for span in [0..all, 0..all * 3 / 4, all / 4..all] {
                        let policy = policy(user_words);
                        let summary =
                            check(&transcript, conversation, span, first_line, &policy, tokens);
                        summaries += 1;
                        rows += summary.rows.len();
                    }
                }
            }
        }
        println!("{file}: {summaries} summaries, {rows} rows, nothing invented");
    }
}
