//! Tests of both forms of a replay.

use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::error::{Error, ErrorKind};
use crate::policy::Layer;
use crate::replay::{Done, Event, Figures, PolicyReplay, SessionReplay, Step, TurnReplay, Verdict};
use crate::report::Screen;
use crate::report::{Render, ReportFormat};

fn figures(sent: u64, cache_lost: u64, peak: u64, last: u64) -> Figures {
    Figures {
        sent,
        cache_lost,
        peak,
        last,
    }
}

fn policy(name: &str, done: Done, tokens: Figures, steps: Vec<Step>) -> PolicyReplay {
    PolicyReplay {
        policy: name.to_owned(),
        done,
        tokens,
        own: tokens,
        estimator: "chars".into(),
        threshold: Some(9_000),
        windows: vec![9_000, 1_000],
        turns: vec![TurnReplay {
            turn: 1,
            line: 1,
            requests: 2,
            sent: tokens.sent,
            context: tokens.last,
        }],
        steps,
    }
}

fn files() -> Vec<Examined<FileReplay>> {
    let event = |layer, result, count, freed, reason: &str| Event {
        layer,
        result,
        count,
        freed,
        reason: reason.to_owned(),
    };
    let step = Step {
        request: 2,
        turn: 1,
        line: 12,
        before: 9_100,
        after: 1_000,
        events: vec![
            event(
                Layer::Clear,
                Verdict::Made,
                2,
                100,
                "5 newer results after it",
            ),
            event(Layer::Summarize, Verdict::LeftOut, 3, 8_000, "too large"),
            event(Layer::Summarize, Verdict::Failed, 0, 0, "no \u{1b}answer"),
            event(Layer::Summarize, Verdict::Held, 0, 0, "held back"),
        ],
    };
    let done = Done {
        compactions: 1,
        failures: 1,
        edits: 2,
    };
    let mut file = Examined::<FileReplay>::new(Path::new("a.jsonl"), "anthropic", 0);
    file.found.sessions.push(SessionReplay {
        id: "main".to_owned(),
        messages: 12,
        turns: 1,
        requests: 2,
        whole: figures(2_000_000, 0, 12_000, 13_000),
        policies: vec![
            policy("some", done, figures(500_000, 40, 9_000, 1_100), vec![step]),
            policy(
                "none",
                Done::default(),
                figures(2_000_000, 0, 12_000, 13_000),
                Vec::new(),
            ),
        ],
    });
    let error = Error::new(ErrorKind::Decode, "no gzip");
    vec![file, Examined::failed(Path::new("b.jsonl.gz"), &error)]
}

fn report<'e>(files: &'e &'e [Examined<FileReplay>]) -> Replays<'e> {
    let name = |name: &str| PolicyRef {
        name: name.to_owned(),
        hash: "0".to_owned(),
        overrides: Vec::new(),
    };
    let about = ReplayHeader {
        policies: vec![name("some"), name("none")],
        estimator: "classes".into(),
    };
    Replays::of(about, files).unwrap()
}

fn shown(detail: Detail) -> Vec<String> {
    let mut out = Vec::new();
    write_replay_table(&report(&&files()[..]), detail, Screen::plain(100), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn policies_stand_side_by_side() {
    let expected = [
        "policy  compactions  failed  edits       sent  of whole  cache lost    peak   final",
        "some              1       1      2    500 000     25.0%          40   9 000   1 100",
        "none              0       0      0  2 000 000    100.0%           0  12 000  13 000",
        "2 requests in 1 session; tokens by classes, whole: 2 000 000 sent",
        "not replayed: 1 failed",
        "",
        "tokens sent of   whole  some  none",
        "a.jsonl           2.0M  500k  2.0M",
        "b.jsonl.gz      failed",
    ];
    assert_eq!(shown(Detail::Totals), expected);
}

#[test]
fn the_timeline_tells_turns_and_steps() {
    let shown = shown(Detail::Timeline);
    let expected = [
        "",
        "some: a.jsonl                        request  line  before  after  freed",
        "turn 1: 2 requests, 500 000 sent                 1          1 100",
        "  clear 2: 5 newer results after it        2    12   9 100  1 000    100",
        "  summarize 3 left out: too large          2    12   9 100  1 000  8 000",
        "  summarize failed: no \\u{1b}answer        2    12   9 100  1 000      0",
        "  summarize not tried: held back           2    12   9 100  1 000      0",
        "2 requests; tokens by chars as some counts; trigger 9 000",
        "",
        "none: a.jsonl                       request  line  before   after  freed",
        "turn 1: 2 requests, 2 000 000 sent              1          13 000",
        "2 requests; tokens by chars as none counts; trigger 9 000",
    ];
    assert_eq!(shown[9..], expected);
}

#[test]
fn the_json_has_every_key() {
    let mut out = Vec::new();
    let files = files();
    report(&&files[..])
        .render(ReportFormat::Json, &mut out)
        .unwrap();
    let json: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["estimator"], "classes");
    assert_eq!(json["policies"][0]["name"], "some");
    let tokens = json!({"sent": 500_000, "cache_lost": 40, "peak": 9_000, "final": 1_100});
    assert_eq!(
        json["totals"]["policies"][0],
        json!({"policy": "some", "compactions": 1, "failures": 1, "edits": 2, "tokens": tokens, "own": tokens})
    );
    let totals = &json["totals"];
    let counts = [
        "files",
        "replayed",
        "unsupported",
        "failed",
        "sessions",
        "requests",
    ];
    assert_eq!(
        counts.map(|key| totals[key].as_u64()),
        [2, 1, 0, 1, 1, 2].map(Some)
    );
    assert_eq!(json["files"][1]["error"]["kind"], "decode");
    let policy = &json["files"][0]["sessions"][0]["policies"][0];
    assert_eq!(policy["windows"], json!([9_000, 1_000]));
    assert_eq!(
        policy["turns"][0],
        json!({"turn": 1, "line": 1, "requests": 2, "sent": 500_000, "context": 1_100})
    );
    assert_eq!(
        policy["steps"][0]["events"][1],
        json!({"layer": "summarize", "result": "left_out", "count": 3, "freed": 8_000, "reason": "too large"})
    );
}

/// The points of each curve on the page, in percent.
fn curves(files: &[Examined<FileReplay>]) -> Vec<String> {
    let mut page = Vec::new();
    report(&files)
        .render(ReportFormat::Html, &mut page)
        .unwrap();
    let page = String::from_utf8(page).unwrap();
    let lines = page.split("<polyline ").skip(1);
    let points = lines.map(|line| line.split("points=\"").nth(1).unwrap());
    points
        .map(|points| points.split('"').next().unwrap().to_owned())
        .collect()
}

#[test]
fn a_curve_has_a_point_for_each_request() {
    let mut files = files();
    assert_eq!(
        curves(&files),
        [
            "0,32.31 100,31.67 100,83.59 100,82.95",
            "0,32.31 100,83.59 100,6.67"
        ]
    );
    // Reports of versions that did not record request sizes have no curves.
    for policy in &mut files[0].found.sessions[0].policies {
        policy.windows.clear();
    }
    assert_eq!(curves(&files), Vec::<String>::new());
}
