//! A text that is read in parts: whatever their size, the result is that of reading it in one piece.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use proptest::prelude::*;

use super::*;
use crate::scan::{LARGE, parts_of_lines};

/// The sizes of parts, in bytes: from a line each to everything at once.
const SIZES: [usize; 5] = [0, 100, 1000, 5000, 1 << 20];

fn in_one_piece(format: Format, text: &[u8]) -> String {
    let mut transcript = Transcript::new(text);
    let mut warnings = Warnings::default();
    warnings.begin(text, 5);
    for raw in lines(text) {
        format.push(&mut transcript, raw, &mut warnings);
    }
    format!("{transcript:?}{:?}", warnings.finish())
}

fn in_parts(format: Format, text: &[u8], size: usize) -> String {
    let mut transcript = Transcript::new(text);
    let mut warnings = Warnings::default();
    warnings.begin(text, 5);
    format.push_parts(&mut transcript, &NO_STRINGS, size, &mut warnings);
    format!("{transcript:?}{:?}", warnings.finish())
}

/// What a file is, and the long strings found in it, where the first `begun` bytes are looked at first.
fn told_in_parts(text: &[u8], begun: usize, size: usize) -> (Detected, String) {
    let mut detector = Detector::default();
    detector.look(&text[..begun]);
    while detector.look_at_parts(text, size) {}
    (detector.decide(), format!("{:?}", detector.into_strings()))
}

fn told_in_one_piece(text: &[u8], begun: usize) -> (Detected, String) {
    let mut detector = Detector::default();
    detector.look(&text[..begun]);
    detector.look(&text[begun..]);
    (detector.decide(), format!("{:?}", detector.into_strings()))
}

fn check(text: &[u8]) {
    for size in SIZES {
        for begun in parts_of_lines(text, 0, size).into_iter().take(2) {
            let expected = told_in_one_piece(text, begun.end);
            assert_eq!(told_in_parts(text, begun.end, size), expected);
        }
    }
    let (Detected::Known(format, Layout::File), _) = told_in_one_piece(text, 0) else {
        return;
    };
    let expected = in_one_piece(format, text);
    for size in SIZES {
        let found = in_parts(format, text, size);
        let same = found.bytes().zip(expected.bytes());
        let at = same.take_while(|(one, other)| one == other).count();
        assert!(
            found == expected,
            "{} in parts of {size} bytes: {} instead of {}",
            format.name(),
            &found[at.saturating_sub(200)..found.len().min(at + 200)],
            &expected[at.saturating_sub(200)..expected.len().min(at + 200)],
        );
    }
}

/// Every file of the fixtures.
fn fixtures() -> &'static [Vec<u8>] {
    static TEXTS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    TEXTS.get_or_init(read_fixtures)
}

fn read_fixtures() -> Vec<Vec<u8>> {
    let mut folders: Vec<PathBuf> = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")];
    let mut texts = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(extension) if extension == "jsonl" => texts.push(fs::read(path).unwrap()),
                Some(_) | None => {}
            }
        }
    }
    texts
}

#[test]
fn each_fixture_reads_the_same_in_parts() {
    let texts = fixtures();
    assert!(texts.len() > 400);
    texts.iter().for_each(|text| check(text));
}

/// The decision is checked at the same lines, so that it is final at the same one, and says the same.
#[test]
fn a_decision_is_final_at_the_same_line_in_parts() {
    let said = format!(r#"{{"role":"user","content":"{}"}}"#, "a b ".repeat(500));
    let many = |line: &str, bytes: usize| format!("{line}\n").repeat(bytes / line.len());
    let strange = |role: &str| format!("{{\"role\":\"{role}\",\"content\":\"x\"}}\n");
    let ask = format!(r#"{{"messages":[{said}]}}"#);
    let sdk = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"tool-call","toolCallId":"a","toolName":"b","input":{}}]}]}"#;
    let kinds: String = (b'a'..=b'p')
        .rev()
        .map(|c| strange(&(c as char).to_string().repeat(2)))
        .collect();
    let mut settled = 0;
    for text in [
        [
            many(&said, 1 << 21),
            strange("odd"),
            many(&said, 3 << 20),
            strange("odd"),
        ]
        .concat(),
        [
            many(&said, 5 << 19),
            kinds.clone(),
            many(&said, 1 << 19),
            kinds,
        ]
        .concat(),
        [
            many(r#"{"meta":"x y z"}"#, 1 << 20),
            many(&ask, 3 << 19),
            format!("{sdk}\n"),
            many(&ask, 2 << 20),
        ]
        .concat(),
    ] {
        let text = text.as_bytes();
        let begun = parts_of_lines(text, 0, 1000)[0].end;
        for size in [20_000, 300_000] {
            let mut detector = Detector::default();
            detector.look(&text[..begun]);
            detector.look(&text[begun..]);
            let mut shared = Detector::default();
            shared.look(&text[..begun]);
            while shared.look_at_parts(text, size) {}
            assert_eq!(shared.decide(), detector.decide());
            assert_eq!(shared.is_settled(), detector.is_settled());
            settled += usize::from(detector.is_settled());
            let strings = [shared, detector].map(|one| format!("{:?}", one.into_strings()));
            assert!(strings[0] == strings[1]);
        }
    }
    assert!(settled > 2, "{settled}");
}

#[test]
fn warnings_are_counted_over_all_parts() {
    let line = "{\"role\":\"user\",\"content\":\"\\ud800\"}\r\n";
    let text = line.repeat(250) + "{";
    check(text.as_bytes());
    let seen = in_parts(Format::Anthropic, text.as_bytes(), 100);
    assert!(seen.contains("(and 150 more lines like this)"), "{seen}");
}

/// The records of the first lines.
fn records(transcript: &Transcript<'_>, lines: usize) -> String {
    let blocks: Vec<_> = (0..transcript.block_count() as u32)
        .map(|number| transcript.block(number))
        .map(|block| (block, transcript.texts(block)))
        .collect();
    format!(
        "{:?}{blocks:?}{:?}{:?}{:?}",
        &transcript.lines()[..lines],
        transcript.units(),
        transcript.mirrors(),
        transcript.links().iter().take(lines).collect::<Vec<_>>(),
    )
}

#[test]
fn lines_that_are_read_again_at_once_get_the_records_of_one_after_the_other() {
    let threads = rayon::ThreadPoolBuilder::new().num_threads(2);
    let threads = threads.build().unwrap();
    let (mut both, mut any) = (0, 0);
    for text in fixtures() {
        let (Detected::Known(format, Layout::File), _) = told_in_one_piece(text, 0) else {
            continue;
        };
        let count = lines(text).count();
        let replaced = |text: &[u8]| {
            let mut transcript = Transcript::new(text);
            let mut warnings = Warnings::default();
            for raw in lines(text) {
                format.push(&mut transcript, raw, &mut warnings);
            }
            // Every other line, and one that cannot be read any more.
            let new = (0..count as u32).step_by(2).map(|line| match line {
                2 => (line, b"{".to_vec()),
                _ => (line, transcript.line(line).to_vec()),
            });
            let new = new.collect();
            transcript.replace_lines(new, |bytes, record| {
                format.line(bytes, record, &mut Warnings::default())
            });
            (transcript.is_shared(), records(&transcript, count))
        };
        // The last line may have no ending.
        let ended = [&text[..], b"\n"].concat();
        let large = [&ended[..], &[b' '; LARGE]].concat();
        let (in_turn, at_once) = (replaced(&ended), threads.install(|| replaced(&large)));
        assert!(at_once.0);
        both += usize::from(!in_turn.0);
        any += 1;
        assert_eq!(at_once.1, in_turn.1, "{}", format.name());
    }
    assert!(any > 300 && both > 300, "{any} {both}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn lines_of_any_formats_in_any_order_read_the_same_in_parts(
        picked in prop::collection::vec((any::<prop::sample::Index>(), 0..4u8), 1..40),
    ) {
        let texts = fixtures();
        let mut text = Vec::new();
        for (pick, ending) in picked {
            let from = pick.get(texts);
            let all: Vec<RawLine> = lines(from).collect();
            if !all.is_empty() {
                let raw = pick.get(&all);
                text.extend_from_slice(&from[raw.start..raw.end]);
            }
            text.extend_from_slice([&b"\n"[..], b"\r\n", b"\n\n", b"\n\xef\xbb\xbf\n"][ending as usize]);
        }
        check(&text);
    }
}
