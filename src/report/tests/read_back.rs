//! Tests of reports that are read back, merged, or rejected.

use std::io::Cursor;
use std::time::Duration;

use super::*;
use crate::report::read::{Command, Merged, Parts, read_compact};

/// The files and the rest of a report of `compact`.
fn parts(report: &Report) -> (Vec<Outcome>, read::Back<CompactHeader>) {
    let written = text(|out| report.render(ReportFormat::Jsonl, out));
    let mut written = Cursor::new(written);
    let stored = read::open(Path::new("r.jsonl"), &mut written).unwrap();
    assert_eq!(stored.command(), Command::Compact);
    let mut files = Vec::new();
    let back = stored.compact(&mut |file| {
        files.push(file);
        Ok(())
    });
    (files, back.unwrap())
}

#[test]
fn a_report_that_is_read_back_is_the_same() {
    for format in [ReportFormat::Json, ReportFormat::Jsonl] {
        let path = PathBuf::from(format!("r.{}", format.extension()));
        let written = text(|out| sample().render(format, out));
        let read = read_compact(&path, written.as_bytes()).unwrap();
        assert_eq!(text(|out| read.render(format, out)), written);
        let page = |report: &dyn Render| text(|out| report.render(ReportFormat::Html, out));
        assert_eq!(page(&read), page(&sample()));
    }
    let (files, back) = parts(&sample());
    let files = &files[..];
    let streamed = back.report(Totals::of(files), &files).unwrap();
    for format in ReportFormat::ALL {
        let again = text(|out| streamed.render(format, out));
        assert_eq!(again, text(|out| sample().render(format, out)));
    }
}

#[test]
fn what_is_no_report_is_refused_with_its_line() {
    let good = text(|out| sample().render(ReportFormat::Jsonl, out));
    let broken = good.replacen("{\"input\":\"logs/b", "{\"inpt\":\"logs/b", 1);
    let no_end: String = good
        .lines()
        .take(2)
        .map(|line| format!("{line}\n"))
        .collect();
    let later = good.replace("\"schema_version\":1", "\"schema_version\":2");
    for (name, content, line, message) in [
        ("r.jsonl", &broken[..], 2, "missing field `input or path`"),
        ("r.jsonl", &no_end, 2, "its end is missing"),
        ("r.jsonl", &later, 5, "its schema_version is 2"),
        (
            "r.json",
            "{\n  \"schema_version\": 1\n,}",
            3,
            "it is not JSON",
        ),
        (
            "r.json",
            "{\"schema_version\": 1, \"files\": []}",
            1,
            "not a report on compact, stats, replay, eval, check or diff",
        ),
        ("r.json", "{}", 1, "it is not a report"),
        ("r.json", "[]", 1, "it is not a report"),
    ] {
        let error = read_compact(Path::new(name), content.as_bytes()).unwrap_err();
        assert_eq!(error.line, Some(line), "{error}");
        assert!(error.message.contains(message), "{error}");
        assert!(!error.message.contains("struct"), "{error}");
    }
    assert!(read_compact(Path::new("r.csv"), b"").is_err());
}

#[test]
fn merged_reports_have_new_totals() {
    let other = Report::new(
        PolicyRef {
            name: "reset".into(),
            hash: "blake3:b0".into(),
            overrides: vec![],
        },
        vec![compacted("z.jsonl", 1_000, 400)],
    );
    let merged = |reports: Vec<Report>| {
        let mut files = Vec::new();
        let mut heads = Parts::default();
        for report in &reports {
            let (own, head) = parts(report);
            heads.add_compact(head, report.totals()).unwrap();
            files.extend(own);
        }
        files.sort_by(|a, b| a.file.path.cmp(&b.file.path));
        let Merged::Compact(merged) = heads.merged().unwrap() else {
            panic!("a report on stats");
        };
        let files = &files[..];
        let report = merged.report(Totals::of(files), &files);
        let json = text(|out| report.render(ReportFormat::Json, out));
        read_compact(Path::new("r.json"), json.as_bytes()).unwrap()
    };
    let same = merged(vec![sample(), sample()]);
    assert_eq!(same.policy(), sample().policy());
    assert_eq!(same.totals().files, 8);
    let both = merged(vec![other, sample()]);
    assert_eq!(both.policy().name, "auto + reset");
    assert_eq!(both.totals().tokens_before, 59_411);
    assert_eq!(both.files().last().unwrap().file.path, "z.jsonl");

    // Times add up if all reports have some.
    let timed = |seconds| sample().with_timings(Some(Duration::from_secs(seconds)));
    let both = merged(vec![timed(2), timed(3)]);
    assert_eq!(
        both.head().timings().unwrap().wall(),
        Duration::from_secs(5)
    );
    let one = merged(vec![timed(2), sample()]);
    assert_eq!(one.head().timings(), None);
}

#[test]
fn every_kind_of_warning_is_read_back() {
    use crate::format::WarningKind as Line;
    for kind in [
        WarningKind::UserWords,
        WarningKind::NotDemoted,
        WarningKind::Line(Line::InvalidUtf8),
        WarningKind::Line(Line::NotAnObject),
        WarningKind::Line(Line::NoFinalNewline),
    ] {
        let json = serde_json::to_string(&kind).unwrap();
        assert_eq!(serde_json::from_str::<WarningKind>(&json).unwrap(), kind);
    }
}

#[test]
fn csv_reports_are_known_by_all_of_their_columns() {
    let csv = ReportFormat::Csv(CsvRows::File);
    let ours = rendered(vec![], csv);
    let header = ours.trim_end();
    for known in [
        header,
        &header.replace(
            ",stored_before,stored_after,project,last_message,calls,calls_understood,reasons",
            "",
        ),
        &format!("{header},later"),
        "case,check,message\na,b,c\n",
    ] {
        assert!(is_report(known.as_bytes(), csv), "{known}");
    }
    for foreign in [
        "",
        "input,output,format,status,mine\n",
        "path,session,notes\n1,2,3\n",
        "input,output,format\n",
        "case,check\n",
    ] {
        assert!(!is_report(foreign.as_bytes(), csv), "{foreign}");
    }
}
