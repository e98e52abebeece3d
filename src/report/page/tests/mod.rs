//! Tests of the hashes in the content security policy, of hostile text wherever a page has text, and of numbers that stay on one
//! line.

mod sha256;

use super::document::{SCRIPT, SCRIPT_HASH, STYLE, STYLE_HASH};
use super::safe::{Inert, escaped, unbroken};
use super::*;
use std::io::Write;

const HOSTILE: &str = "</script><!--<img src=x onerror=\"a()\">'&\u{202e}\u{2028}\u{1b}";

struct One;

impl RowsByIndex for One {
    fn len(&self) -> usize {
        1
    }

    fn row(&self, _: usize) -> Vec<Cell<'_>> {
        vec![Cell::Text(HOSTILE.into()), Cell::Number(1_234)]
    }

    fn detail(&self, _: usize) -> Option<Detail> {
        Some(Detail {
            facts: vec![("output", HOSTILE.to_owned())],
            tables: vec![DetailTable {
                title: HOSTILE.to_owned(),
                headings: &[("why", Align::Left)],
                rows: vec![vec![HOSTILE.to_owned()]],
                note: HOSTILE.to_owned(),
            }],
        })
    }
}

fn page(rows: &dyn Rows) -> String {
    let bars = Bars {
        title: "By tool",
        about: HOSTILE.to_owned(),
        parts: vec![(Tone::Stays, "after"), (Tone::Gone, "saved")],
        bars: vec![Bar {
            name: HOSTILE.to_owned(),
            note: HOSTILE.to_owned(),
            parts: vec![(Tone::Stays, 1), (Tone::Gone, 2)],
            value: HOSTILE.to_owned(),
        }],
    };
    let histogram = Histogram {
        title: "Savings over files",
        about: HOSTILE.to_owned(),
        what: "file",
        tenths: [1; 10],
        outliers: vec![(HOSTILE.to_owned(), "1%".to_owned())],
    };
    let curves = Curves {
        title: "Context over turns",
        about: HOSTILE.to_owned(),
        x: Axis {
            name: "turn",
            unit: Unit::One,
        },
        y: Axis {
            name: "tokens",
            unit: Unit::One,
        },
        lines: vec![Line {
            name: HOSTILE.to_owned(),
            tone: Tone::Nth(1),
            points: vec![(0.0, 10.0), (4.0, 90.0)],
            marks: vec![(4.0, 90.0, HOSTILE.to_owned())],
        }],
        limits: vec![(50.0, HOSTILE.to_owned())],
    };
    let policies = [PolicyRef {
        name: HOSTILE.to_owned(),
        hash: "blake3:a0".to_owned(),
        overrides: Vec::new(),
    }];
    let page = Page {
        command: "compact",
        headline: HOSTILE.to_owned(),
        lead: HOSTILE.to_owned(),
        bar: Some(vec![(Tone::Stays, 1)]),
        facts: vec![Fact {
            name: "Size",
            value: HOSTILE.to_owned(),
            note: HOSTILE.to_owned(),
        }],
        lists: vec![List {
            title: "Why",
            items: vec![(1, HOSTILE.to_owned())],
        }],
        charts: vec![
            Chart::Bars(bars),
            Chart::Histogram(histogram),
            Chart::Curves(curves),
        ],
        table: Table {
            what: "file",
            columns: vec![
                Column {
                    heading: "file".into(),
                    kind: ColumnKind::Name,
                },
                Column {
                    heading: "tokens".into(),
                    kind: ColumnKind::Number,
                },
            ],
            rows,
        },
        policies: &policies,
    };
    let mut out = Vec::new();
    write(&page, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_content_policy_allows_this_style_and_this_script() {
    assert_eq!(STYLE_HASH, sha256::base64(STYLE.as_bytes()));
    assert_eq!(SCRIPT_HASH, sha256::base64(SCRIPT.as_bytes()));
}

#[test]
fn hostile_text_is_text_everywhere() {
    let page = page(&One);
    let own = page.replace(SCRIPT, "").replace(STYLE, "");
    assert!(!own.contains("<img") && !own.contains("<!--"), "{own}");
    assert!(!own.contains(['\u{202e}', '\u{2028}', '\u{1b}']), "{own}");
    // The rows, what unfolds, and the script itself.
    assert_eq!(own.matches("<script").count(), 3);
    assert_eq!(own.matches("</script>").count(), 3);
    assert!(own.matches("&lt;/script&gt;&lt;!--").count() >= 14, "{own}");
}

#[test]
fn data_parses_to_what_was_written() {
    let page = page(&One);
    let block = |id: &str| {
        let start = format!("<script type=\"application/json\" id=\"{id}\">");
        let text = page.split_once(&start).unwrap().1;
        text.split_once("</script>").unwrap().0.to_owned()
    };
    let rows: serde_json::Value = serde_json::from_str(&block("rows")).unwrap();
    assert_eq!(rows["what"], "file");
    let shown = crate::text::printable(HOSTILE);
    assert_eq!(rows["rows"][0][0], *shown);
    assert_eq!(rows["rows"][0][1], 1_234);
    let details = block("details");
    let detail: serde_json::Value = serde_json::from_str(details.lines().nth(1).unwrap()).unwrap();
    assert_eq!(detail["facts"][0][1], *shown);
    assert_eq!(detail["tables"][0]["rows"][0][0], *shown);
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let page = page(&One);
    for what in ["http:", "https:", "url(", "src=", "@import", "style=\""] {
        let count = page.matches(what).count();
        // The hostile text, escaped, has a `src=`, too.
        let hostile =
            page.matches("&lt;img src=").count() + page.matches("\\u003cimg src=").count();
        assert_eq!(count, if what == "src=" { hostile } else { 0 }, "{what}");
    }
}

#[test]
fn numbers_stay_on_one_line() {
    assert_eq!(figure(1_234_567), "1\u{a0}234\u{a0}567");
    assert_eq!(amount(2048), "2.0\u{a0}KiB");
    assert_eq!(
        unbroken("below its trigger of 170 616, by 12 of 3 4567"),
        "below its trigger of 170\u{a0}616, by 12 of 3 4567"
    );
    assert_eq!(unbroken("é 1 234é"), "é 1\u{a0}234é");
    assert_eq!(escaped("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
}

#[test]
fn data_cannot_end_its_element() {
    let mut out = Inert(Vec::new());
    out.write_all(b"\"<!--</script>&\"").unwrap();
    assert_eq!(out.0, b"\"\\u003c!--\\u003c/script\\u003e\\u0026\"");
}
