//! What is JSON and what is not: a table of cases, each with the verdict of our scanner and that of `serde_json`.
//!
//! `cases.txt` has one case a line, as `VERDICT<TAB>NAME<TAB>BYTES` with `\t`, `\r`, `\\` and `\xNN` for what a line cannot
//! hold. `y`: JSON to everybody. `n`: to nobody. `i`: a reader may decide; two signs say what the scanner and
//! `serde_json::Value` decide, in this order. The scanner must take whatever an agent wrote, or a line of a user would be lost
//! to a lone surrogate, so it takes more than `serde_json` there, and never less.

use std::collections::BTreeSet;
use std::path::Path;

use ctxpack::batch::compact_bytes;
use ctxpack::format::{Format, WarningKind, Warnings};
use ctxpack::pipeline::Pipeline;
use ctxpack::plan::Keeping;
use ctxpack::policy::{preset, presets};
use ctxpack::scan::{Cursor, Kind};
use serde_json::Value;

struct Case {
    verdict: &'static str,
    name: &'static str,
    bytes: Vec<u8>,
}

fn cases() -> Vec<Case> {
    let case = |line: &'static str| {
        let mut columns = line.splitn(3, '\t');
        let mut next = || {
            columns
                .next()
                .unwrap_or_else(|| panic!("three columns: {line}"))
        };
        Case {
            verdict: next(),
            name: next(),
            bytes: unescaped(next()),
        }
    };
    include_str!("cases.txt").lines().map(case).collect()
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != b'\\' {
            bytes.push(first);
            continue;
        }
        let (byte, taken) = match rest[0] {
            b't' => (b'\t', 1),
            b'r' => (b'\r', 1),
            b'\\' => (b'\\', 1),
            b'x' => {
                let digits = std::str::from_utf8(&rest[1..3]).unwrap();
                (u8::from_str_radix(digits, 16).unwrap(), 3)
            }
            other => panic!("unknown escape {other}"),
        };
        bytes.push(byte);
        rest = &rest[taken..];
    }
    bytes
}

fn is_taken(bytes: &[u8]) -> bool {
    let mut cursor = Cursor::new(bytes);
    cursor.skip().and_then(|_| cursor.end()).is_ok()
}

/// As many kinds of cases as the suite that every parser is measured by, and none twice.
#[test]
fn the_table_is_whole() {
    let cases = cases();
    let of = |kind: &str| cases.iter().filter(|c| c.verdict.starts_with(kind)).count();
    assert!(of("y") >= 95 && of("n") >= 188 && of("i") >= 35);
    assert_eq!(of("y") + of("n") + of("i"), cases.len());
    assert_eq!(
        cases.iter().map(|c| c.name).collect::<BTreeSet<_>>().len(),
        cases.len()
    );
    assert_eq!(
        cases
            .iter()
            .map(|c| &c.bytes)
            .collect::<BTreeSet<_>>()
            .len(),
        cases.len()
    );
}

#[test]
fn every_case_has_its_verdict() {
    let mut wrong = Vec::new();
    for Case {
        verdict,
        name,
        bytes,
    } in cases()
    {
        let sign = |taken: bool| if taken { '+' } else { '-' };
        let ours = sign(is_taken(&bytes));
        let serde = sign(serde_json::from_slice::<Value>(&bytes).is_ok());
        let wanted = match verdict {
            "y" => "++",
            "n" => "--",
            other => other.strip_prefix("i").unwrap(),
        };
        if wanted != format!("{ours}{serde}") {
            wrong.push(format!("{verdict} {name}: {ours}{serde}"));
        }
        assert!(
            ours == '+' || serde == '-',
            "{name}: less than serde_json takes"
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// At the beginning of a file it is no part of the line.
const MARKED: &str = "mark before an object";

/// Whether it is a reason why a line is no message.
fn says_why(kind: WarningKind) -> bool {
    use WarningKind::{BadJson, BlankLine, Comment, NotAnObject, Nul, Truncated};
    matches!(
        kind,
        BadJson | BlankLine | Comment | NotAnObject | Nul | Truncated
    )
}

/// Each line that is no object, or is odd, is told by its number, in whatever format; and it stays as it is.
#[test]
fn what_is_no_message_is_told_and_stays() {
    let cases = cases();
    let file: Vec<u8> = cases
        .iter()
        .flat_map(|case| [case.bytes.as_slice(), b"\n"])
        .flatten()
        .copied()
        .collect();
    for format in Format::ALL {
        for (case, line) in cases.iter().zip(1..) {
            let mut warnings = Warnings::default();
            let alone = [case.bytes.as_slice(), b"\n"].concat();
            format.read(&alone, line, &mut warnings);
            let is_object = Cursor::new(&case.bytes).kind() == Ok(Kind::Object);
            let told = warnings.finish();
            let is_told = told
                .iter()
                .any(|warning| warning.line == line && says_why(warning.kind));
            assert_eq!(
                is_told,
                !(is_taken(&case.bytes) && is_object) && case.name != MARKED,
                "{}: {}: {told:?}",
                format.name(),
                case.name
            );
        }
    }
    for policy in presets().unwrap() {
        let pipeline = Pipeline::new(&policy, Keeping::Store).unwrap();
        let (_, output) = compact_bytes(Path::new("in.jsonl"), &file, &pipeline, None);
        assert!(output == file, "{}", policy.name);
    }
    let auto = preset("auto").unwrap();
    let pipeline = Pipeline::new(&auto, Keeping::Store).unwrap();
    for case in &cases {
        let (_, output) = compact_bytes(Path::new("in.jsonl"), &case.bytes, &pipeline, None);
        assert!(output == case.bytes, "{}", case.name);
    }
}
