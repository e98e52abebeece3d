//! The invariants of any summary of any transcript, checked for whole files: the fixtures and given files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::*;
use crate::facts::describes_pictures;
use crate::format::{Detected, Detector, Layout};
use crate::scan::{lines, unescape};
use crate::transcript::Typed;

/// All labels, without the numbers in them.
const LABELS: [&str; 45] = [
    "accepted",
    "as",
    "away",
    "before",
    "call",
    "calls",
    "cancelled",
    "delete",
    "deleted",
    "described",
    "done",
    "edit",
    "edited",
    "exit",
    "failed",
    "here",
    "in",
    "interrupted",
    "move",
    "moved",
    "not",
    "ok",
    "outcome",
    "pending",
    "plan",
    "progress",
    "ran",
    "read",
    "refused",
    "result",
    "revert",
    "reverted",
    "running",
    "said",
    "search",
    "searched",
    "stash",
    "stashed",
    "unanswered",
    "unknown",
    "unstash",
    "unstashed",
    "was",
    "write",
    "wrote",
];

/// A transcript, and the texts of the lines examined so far.
pub(super) struct Source<'t, 'a> {
    transcript: &'t Transcript<'a>,
    first_line: u64,
    lines: BTreeMap<u64, LineTexts>,
}

/// The texts of a line: as written, its strings, and the strings in these.
struct LineTexts {
    readings: [String; 4],
    words: BTreeSet<String>,
    names: BTreeSet<String>,
}

/// The separate words of a text. Where a summary itself joins words, it uses a comma and a blank.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', '\n', '\t', '\r'])
        .map(|word| word.trim_end_matches(','))
}

fn names(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    entities::scan(text, |_, name| names.extend([name.to_owned()]));
    names
}

impl<'t, 'a> Source<'t, 'a> {
    pub(super) fn of(transcript: &'t Transcript<'a>, first_line: u64) -> Self {
        Source {
            transcript,
            first_line,
            lines: BTreeMap::new(),
        }
    }

    fn line(&mut self, number: u64) -> &LineTexts {
        self.lines.entry(number).or_insert_with(|| {
            let line = self.transcript.line((number - self.first_line) as u32);
            let once = unescape(line).into_owned();
            let twice = unescape(&once).into_owned();
            let thrice = unescape(&twice).into_owned();
            let readings = [line, &once, &twice, &thrice]
                .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            LineTexts {
                words: readings
                    .iter()
                    .flat_map(|text| words(text))
                    .map(str::to_owned)
                    .collect(),
                names: readings.iter().flat_map(|text| names(text)).collect(),
                readings,
            }
        })
    }

    /// Panics if a row contains text that its lines do not contain.
    fn trace(&mut self, row: &Row) {
        let marks = [Some(row.mark.line), row.mark.and].into_iter().flatten();
        let marks: Vec<u64> = marks.collect();
        if row.section == Section::Requests && describes_pictures(&row.text) {
            // Its kind is in the line; its size and its line number are computed.
            let kinds = row
                .text
                .split([' ', ',', '\n'])
                .filter(|word| word.contains('/'));
            let texts = self.line(row.mark.line);
            let holds = |part: &str| texts.readings.iter().any(|text| text.contains(part));
            assert!(kinds.into_iter().all(holds), "invented in {row:?}");
            return;
        }
        if row.section == Section::Requests && left_out(&row.text).is_some() {
            // They were counted.
            return;
        }
        // A command's folder is that of its line or of one before it.
        let own = match row.section {
            Section::Commands => row.label.split(" in ").next().unwrap_or_default(),
            _ => &row.label,
        };
        let of_label = match row.label.ends_with(" not described") {
            // They were counted.
            true => "",
            false => own,
        };
        let numbers = of_label.split(|c: char| !c.is_ascii_digit());
        let pieces = words(&row.text).flat_map(|word| word.split(clip::CUT));
        let pieces: Vec<&str> = pieces
            .chain(numbers)
            .filter(|piece| !piece.is_empty())
            .collect();
        let mut missing: BTreeSet<&str> = pieces.into_iter().collect();
        let mut invented = names(&row.text);
        for mark in &marks {
            let texts = self.line(*mark);
            let holds = |part: &str| texts.readings.iter().any(|text| text.contains(part));
            // A relative path may be written from the root, with the folder that the line names.
            let is_joined = |word: &str| {
                let mut slashes = word.match_indices('/');
                row.section == Section::Files
                    && slashes.any(|(at, _)| at > 0 && holds(&word[..at]) && holds(&word[at + 1..]))
            };
            let is_said = |word: &str| texts.words.contains(word) || holds(word) || is_joined(word);
            missing.retain(|word| !is_said(word));
            invented.retain(|name| !texts.names.contains(name));
            if row.section == Section::Files {
                // Another path may be written relative to that folder.
                let is_below = |long: &str, short: &str| long.ends_with(&format!("/{short}"));
                let is_one = |a: &str, b: &str| is_below(a, b) || is_below(b, a);
                invented.retain(|name| !texts.names.iter().any(|known| is_one(known, name)));
            }
        }
        assert_eq!(missing, BTreeSet::new(), "invented in {row:?}");
        // A name without an end is cut somewhere.
        if !row.text.contains(clip::CUT) {
            assert_eq!(invented, BTreeSet::new(), "invented in {row:?}");
        }
        let labels = own.split(|c: char| !c.is_ascii_alphabetic());
        for label in labels.filter(|label| !label.is_empty()) {
            assert!(LABELS.contains(&label), "{row:?}");
        }
    }

    /// Panics if a summary of a span in one of these sizes breaks an invariant; returns the numbers of summaries and of rows.
    pub(super) fn check(
        &mut self,
        conversation: &Conversation,
        span: Range<usize>,
        policy: &Policy,
        sizes: &[(UserWords, u64)],
    ) -> (usize, usize) {
        let (transcript, first_line) = (self.transcript, self.first_line);
        let estimator = Estimator::new(&policy.tokens).unwrap();
        let of = || extract(transcript, conversation, span.clone(), first_line, policy);
        let (extract, again) = (of(), of());
        let of_words = |source: super::super::Source<'_, '_>| Extract::words(source, span.clone());
        let of_words = with_source(transcript, conversation, first_line, policy, of_words);
        let mut checked = 0;
        for (words, tokens) in sizes.iter().copied() {
            let summary = extract.summary(tokens, words, &estimator);
            let of_another = again.summary(tokens, words, &estimator);
            assert_eq!(of_another, summary, "deterministic");
            let text = &summary.text;
            assert_eq!(parse(text).rows, summary.rows, "reads back:\n{text}");
            assert_eq!(summary.tokens, estimator.tokens(estimator.text(text)));
            let least = extract.summary(0, words, &estimator);
            assert_eq!(of_words.summary(0, words, &estimator), least);
            let least = least.counted;
            assert!(
                summary.counted <= tokens.max(least),
                "{} > {tokens}",
                summary.counted
            );
            let has_to =
                matches!(words, UserWords::Budget) && !extract.found.last_requests.is_empty();
            assert_eq!(least > 0, has_to && text.contains("## User"), "{least}");
            if words == UserWords::Verbatim {
                self.check_words(conversation, span.clone(), policy, &estimator, &summary);
            }
            for row in &summary.rows {
                self.trace(row);
            }
            checked += summary.rows.len();
        }
        (sizes.len(), checked)
    }

    /// Panics if the user's messages are not quoted exactly.
    fn check_words(
        &self,
        conversation: &Conversation,
        span: Range<usize>,
        policy: &Policy,
        estimator: &Estimator,
        summary: &ExtractiveSummary,
    ) {
        let earlier = Earlier::of(policy).unwrap();
        let origins = earlier.origins(self.transcript, conversation);
        for number in span {
            let message = &conversation.messages[number];
            if message.typed == Typed::No || origins[number] != MessageOrigin::Session {
                continue;
            }
            let typed = requests::words(self.transcript, conversation.blocks(message));
            let tokens = estimator.tokens(estimator.text(&typed));
            if tokens <= policy.summary.user_message_max && !typed.trim().is_empty() {
                assert!(
                    summary.text.contains(&typed),
                    "{typed}\nin\n{}",
                    summary.text
                );
            }
        }
    }
}

/// Checks summaries of several spans and sizes of a file; returns the numbers of summaries and of rows.
fn check_file(file: &Path) -> (usize, usize) {
    const SIZES: [(UserWords, u64); 5] = [
        (UserWords::Verbatim, 0),
        (UserWords::Verbatim, 300),
        (UserWords::Verbatim, 4_000),
        (UserWords::Budget, 1_000),
        (UserWords::Budget, 20_000),
    ];
    let policy = auto();
    let bytes = fs::read(file).unwrap();
    let mut detector = Detector::default();
    detector.look(&bytes);
    let (mut summaries, mut rows) = (0, 0);
    let Detected::Known(format, layout) = detector.decide() else {
        return (0, 0);
    };
    let parts: Vec<(&[u8], u64)> = match layout {
        Layout::File => vec![(&*bytes, 1)],
        Layout::Line => (1..)
            .zip(lines(&bytes))
            .map(|(number, line)| (&bytes[line.start..line.end], number))
            .collect(),
    };
    for (bytes, first_line) in parts {
        let transcript = format.read(bytes, first_line, &mut Warnings::default());
        let mut source = Source::of(&transcript, first_line);
        for conversation in &transcript.conversations {
            let all = conversation.messages.len();
            for span in [0..all, 0..all * 3 / 4, all / 4..all, all / 3..all / 2] {
                let checked = source.check(conversation, span, &policy, &SIZES);
                summaries += checked.0;
                rows += checked.1;
            }
        }
    }
    (summaries, rows)
}

/// All files below a folder whose names end in `end`.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(end) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn summaries_of_the_fixtures() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let files = files(&folder, "input.jsonl");
    let checked: Vec<(usize, usize)> = files.par_iter().map(|file| check_file(file)).collect();
    let rows: usize = checked.iter().map(|(_, rows)| rows).sum();
    assert!(files.len() > 50 && rows > 1_000, "{} {rows}", files.len());
}

/// `CTXPACK_TRANSCRIPTS=folder cargo test --lib summaries_of_given_transcripts -- --nocapture`
#[test]
fn summaries_of_given_transcripts() {
    let Some(folder) = std::env::var_os("CTXPACK_TRANSCRIPTS") else {
        return;
    };
    let files = files(Path::new(&folder), ".jsonl");
    assert!(!files.is_empty(), "no file below {}", folder.display());
    for file in files {
        let (summaries, rows) = check_file(&file);
        println!("{}: {summaries} summaries, {rows} rows", file.display());
    }
}
