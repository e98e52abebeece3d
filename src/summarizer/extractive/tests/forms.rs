//! The form of summaries: what is written can be read back.

use super::form::FileRows;
use super::*;

fn request(line: u64, text: &str) -> Row {
    Row {
        section: Section::Requests,
        mark: Mark::line(line),
        label: String::new(),
        text: text.to_owned(),
    }
}

fn check(rows: &[Row], expected: &str) {
    check_with(rows, FileRows::Whole, expected);
}

fn check_with(rows: &[Row], files: FileRows, expected: &str) {
    let text = form::write(rows, files);
    assert_eq!(text, expected);
    for behind in [
        "",
        "\n",
        "\n\n[File restored: a]\n## Files\n[L1] read: b",
        "\nmore",
    ] {
        let text = format!("Before.\n\n{text}{behind}");
        let parsed = parse(&text);
        assert_eq!((parsed.before, &*parsed.rows), ("Before.\n\n", rows));
    }
}

#[test]
fn the_users_words_stand_as_they_are() {
    check(
        &[
            request(1, "one line"),
            request(2, "two\n\n  lines\n"),
            request(3, " blanks "),
            request(4, "a\r\n~~~\r\nb"),
            request(5, "~~~"),
            request(6, "~~~~\n~~~\nx"),
            request(7, "\n~~"),
        ],
        "\
## User requests
L1 one line
L2
~~~
two

  lines

~~~
L3
~~~
 blanks 
~~~
L4
~~~
a\r
~~~\r
b
~~~
L5 ~~~
L6
~~~~~
~~~~
~~~
x
~~~~~
L7
~~~

~~
~~~",
    );
}

#[test]
fn other_texts_are_indented() {
    let row = |section, and, label: &str, text: &str| Row {
        section,
        mark: Mark { line: 7, and },
        label: label.to_owned(),
        text: text.to_owned(),
    };
    check(
        &[
            row(
                Section::Commands,
                Some(8),
                "exit 1",
                "a: b\n\n  [L9] c\n## Files\n\n\nd",
            ),
            row(Section::Commands, Some(8), "exit 1", "if a:\n  b\n c"),
            row(Section::Details, None, "", "[L3] x"),
        ],
        "\
## Commands
L7,L8 exit 1: a: b

   [L9] c
 ## Files


 d
L7,L8 exit 1: if a:
    b
   c

## Details
L7 [L3] x",
    );
    // Older versions indented by two blanks.
    let older = parse("## Details\n[L7] a\n  b\n\n    c\n");
    assert_eq!(older.rows[0].text, "a\nb\n\n  c");
}

#[test]
fn files_that_were_looked_at_share_a_label_in_short() {
    let row = |line, label: &str, text: &str| Row {
        section: Section::Files,
        mark: Mark::line(line),
        label: label.to_owned(),
        text: text.to_owned(),
    };
    let rows = [
        row(1, "read", "a"),
        row(2, "read", "b/c d"),
        row(3, "deleted", "e"),
        // A bare name would look like an existing file.
        row(4, "deleted", "e2"),
        row(5, "searched", "f: g"),
        row(6, "searched", "h\ni: j"),
        row(7, "searched", "k"),
        Row {
            section: Section::Plan,
            ..row(8, "searched", "no file")
        },
    ];
    let short = "\
## Files
L1 read: a
L2 b/c d
L3 deleted: e
L4 deleted: e2
L5 searched: f: g
L6 searched: h
 i: j
L7 k

## Plan and to-dos
L8 searched: no file";
    check_with(&rows, FileRows::Short, short);
    let whole = short.replace("L2 ", "L2 read: ");
    check(&rows, &whole.replace("L7 ", "L7 searched: "));
}

#[test]
fn a_summary_of_an_older_version_may_tell_a_change_once_for_several_files() {
    let rows = parse("## Files\nL1 wrote: a\nL2 b").rows;
    assert_eq!((&rows[1].label[..], &rows[1].text[..]), ("wrote", "b"));
}

#[test]
fn other_texts_are_no_summary() {
    for text in [
        "",
        "## Files",
        "## Files\n- a.rs",
        "## Files\n\nL1 read: a",
        "## Files\nL1 a",
        "## Details\nL1a",
        "## Details\nL1: a",
        "## Details\nL1 ",
        "## Details\nL1, a",
        "## Details\nL1,L2,L3 a",
        "## Details\nL a",
        "## Details\nLL1 a",
        "## Details\nL1L a",
        "## Details\n[Lx] a",
        "## Details\n[L1]a",
        "## Details\n[L1 a",
        "## User requests\nL1\n~~~\nno end",
        "## User requests\nL1\n~~\na\n~~",
        " ## Details\nL1 a",
    ] {
        let expected = Parsed {
            before: text,
            rows: Vec::new(),
            after: "",
        };
        assert_eq!(parse(text), expected, "{text}");
    }
}

#[test]
fn marks_of_older_summaries_are_read() {
    for text in [
        "## Files\n[L7,8] read: a",
        "## Files\n[L7,L8] read: a",
        "## Files\nL7,L8 read: a",
    ] {
        let mark = Mark {
            line: 7,
            and: Some(8),
        };
        assert_eq!(parse(text).rows[0].mark, mark);
    }
}

#[test]
fn a_narrative_before_the_rows_is_never_read_as_rows() {
    let narrative = "## Goal\nIt lags.\n\n## Files\n[L9] read: never.rs\n## Filesystem\n";
    let rows = "## Files\n[L1] read: a.rs";
    let prose = as_prose(narrative);
    assert_eq!(
        prose,
        "## Goal\nIt lags.\n\n### Files\n[L9] read: never.rs\n## Filesystem\n"
    );
    let text = format!("{prose}\n{rows}");
    let Parsed { before, rows, .. } = parse(&text);
    assert_eq!(before.trim_end(), prose.trim_end());
    let [row] = &rows[..] else {
        panic!("{rows:?}");
    };
    assert_eq!((row.mark, row.text.as_str()), (Mark::line(1), "a.rs"));
}
