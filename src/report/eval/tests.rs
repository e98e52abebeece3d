//! A run of one session, rendered.

use std::path::Path;

use super::*;
use crate::eval::{Budget, Cut, Kind, MethodScores, Scores, SessionEval, Skipped};
use crate::report::Screen;
use crate::report::{Render, ReportFormat};

fn files() -> Vec<Examined<FileEval>> {
    let scores = |method: &str, kind, need: Option<f64>, invented| MethodScores {
        method: method.to_owned(),
        kind,
        budget: Budget::Percent(10.0),
        scores: Scores {
            cuts: 2,
            shares: [
                need,
                Some(50.0),
                None,
                None,
                None,
                None,
                None,
                None,
                None,
                Some(9.876),
            ],
            invented,
            examples: vec!["x.rs".to_owned(); invented as usize],
            over: 2 * invented,
            unreachable: invented,
        },
        intervals: None,
    };
    let cut = Cut {
        message: 8,
        line: 9,
        tokens: 1200,
        need: 12,
        user: 2,
        modified: 0,
        commands: 0,
        errors: 0,
    };
    let session = |id: &str, skipped, scores: Vec<MethodScores>| SessionEval {
        id: id.to_owned(),
        messages: 20,
        tokens: 2400,
        skipped,
        cuts: match skipped {
            None => vec![cut.clone(), cut.clone()],
            Some(_) => Vec::new(),
        },
        scores,
        rounds: Vec::new(),
    };
    let mut file = Examined::<FileEval>::new(Path::new("a,\u{1b}.jsonl"), "anthropic", 0);
    file.found.sessions = vec![
        session(
            "main",
            None,
            vec![
                scores("auto", Kind::Policy, Some(200.0 / 3.0), 1),
                scores("head+tail", Kind::Baseline, None, 0),
            ],
        ),
        session("side", Some(Skipped::NoCut), Vec::new()),
    ];
    vec![file]
}

fn evals<'e>(files: &'e &'e [Examined<FileEval>]) -> Evals<'e> {
    let about = EvalHeader::new(Vec::new(), vec![Budget::Percent(10.0)]);
    Evals::of(about, files).unwrap()
}

fn text(write: impl Fn(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_table_has_a_row_for_each_method() {
    let rows = "\
budget 10%  need  grounded  far  user  mod  cmd  err  files  ends  used  over  invented
auto        66.7      50.0    -     -    -    -    -      -     -   9.9     2         1
head+tail      -      50.0    -     -    -    -    -      -     -   9.9     0         0

";
    let note = "\
2 cuts in 1 session; percent, tokens by cl100k_base
over the budget: 2 times, 1 of them because the policy cannot leave less
not measured: 1 with no place for a cut
";
    let totals =
        text(|out| write_eval_table(&evals(&&files()[..]), Rows::Totals, Screen::plain(100), out));
    assert_eq!(totals, format!("{rows}{note}"));
    let sessions = text(|out| {
        write_eval_table(
            &evals(&&files()[..]),
            Rows::Sessions,
            Screen::plain(100),
            out,
        )
    });
    let of_session = "a,\\u{1b}.jsonl: 2 400 tokens, 2 cuts, 12 12 names needed\n";
    let skipped = "a,\\u{1b}.jsonl side: with no place for a cut\n\n";
    assert_eq!(sessions, format!("{rows}{of_session}{rows}{skipped}{note}"));
}

#[test]
fn the_csv_has_a_line_for_each_method_and_session() {
    let totals = "\
path,session,method,kind,budget,cuts,need,grounded,far,user,mod,cmd,err,state_files,state_cmd,used,over,invented
,,auto,policy,10,2,66.67,50.00,,,,,,,,9.88,2,1
,,head+tail,baseline,10,2,,50.00,,,,,,,,9.88,0,0
";
    assert_eq!(
        text(|out| write_eval_csv(&evals(&&files()[..]), Rows::Totals, out)),
        totals
    );
    let sessions = "\
\"a,\\u{1b}.jsonl\",main,auto,policy,10,2,66.67,50.00,,,,,,,,9.88,2,1
\"a,\\u{1b}.jsonl\",main,head+tail,baseline,10,2,,50.00,,,,,,,,9.88,0,0
";
    assert_eq!(
        text(|out| write_eval_csv(&evals(&&files()[..]), Rows::Sessions, out)),
        format!("{totals}{sessions}")
    );
}

#[test]
fn the_json_has_all_of_it() {
    let json = text(|out| evals(&&files()[..]).render(ReportFormat::Json, out));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let scores = &json["totals"]["scores"][0];
    assert_eq!(scores["method"], "auto");
    assert_eq!(scores["kind"], "policy");
    assert_eq!(scores["need"], 66.67);
    assert_eq!(
        (&scores["over"], &scores["unreachable"]),
        (&2.into(), &1.into())
    );
    assert_eq!(scores["far"], serde_json::Value::Null);
    assert_eq!(scores["invented_names"][0], "x.rs");
    assert_eq!(json["totals"]["skipped"]["no_cut"], 1);
    assert_eq!(json["files"][0]["sessions"][1]["skipped"], "no_cut");
    assert_eq!(json["files"][0]["sessions"][0]["cuts"][0]["mod"], 0);
    assert_eq!(json["vocabulary"], "cl100k_base");
}

#[test]
fn the_page_says_why_files_were_not_measured() {
    let mut files = files();
    let unread = |path: &str| {
        let why = crate::outcome::Unread {
            why: "the format x is not supported".to_owned(),
            ..Default::default()
        };
        let mut file = Examined::<FileEval>::new(Path::new(path), "x", 0);
        file.status = crate::outcome::FileStatus::Unsupported(why);
        file
    };
    files.extend([unread("b"), unread("c")]);
    let page = text(|out| evals(&&files[..]).render(ReportFormat::Html, out));
    let told = "<span class=\"n\">2</span> unsupported: the format x is not supported</li>";
    assert!(page.contains(told), "{page}");
}
