use super::*;
use crate::facts::{Activity, Lines, Placeholders};
use crate::format::{Format, Warnings};
use crate::policy::preset;

/// A call: its tool, its input, and what its result says.
type Call<'c> = (&'c str, &'c str, &'c str);

/// Writes each call on a line and its result on the next one: call `n` is message `2 n`.
fn transcript(calls: &[Call<'_>]) -> Transcript<'static> {
    let mut lines = String::new();
    for (number, (tool, input, said)) in calls.iter().enumerate() {
        let said = serde_json::to_string(said).unwrap();
        lines += &format!(
            "{{\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"t{number}\",\"name\":\"{tool}\",\"input\":{input}}}]}}\n{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"t{number}\",\"content\":{said}}}]}}\n"
        );
    }
    let bytes = lines.into_bytes().leak();
    Format::Anthropic.read(bytes, 1, &mut Warnings::default())
}

/// What `ask` says of the files of these calls.
fn of<T>(calls: &[Call<'_>], ask: impl FnOnce(&Recents<'_>) -> T) -> T {
    let transcript = transcript(calls);
    let policy = preset("auto").unwrap();
    let placeholders = Placeholders::of(&policy).unwrap();
    let conversation = &transcript.conversations[0];
    let acts = Activity::of(&transcript, conversation, &policy.tools);
    ask(&recent(&transcript, conversation, &acts, &placeholders))
}

fn found_in(calls: &[Call<'_>]) -> Vec<Recent> {
    of(calls, |found| found.iter().cloned().collect())
}

/// The paths and texts of the files found.
fn texts(calls: &[Call<'_>]) -> Vec<(String, Option<String>)> {
    let found = found_in(calls).into_iter();
    found
        .map(|recent| (recent.path, recent.content.map(|content| content.text)))
        .collect()
}

fn text(path: &str, text: &str) -> (String, Option<String>) {
    (path.to_owned(), Some(text.to_owned()))
}

const A: Call<'_> = ("read_file", r#"{"path":"/w/a.rs"}"#, "fn a() {}\n");
const B: Call<'_> = ("read_file", r#"{"path":"/w/b.rs"}"#, "fn b() {}\n");
const EDIT_A: Call<'_> = (
    "edit_file",
    r#"{"path":"/w/a.rs","old_string":"a()","new_string":"z()"}"#,
    "done",
);

#[test]
fn a_read_that_shows_no_file_as_its_tool_does_is_unclear() {
    let read = |said: &'static str| ("Read", r#"{"file_path":"/w/r.rs"}"#, said);
    let unclear = |calls: &[Call<'_>], most| of(calls, |recents| recents.unclear(most));
    let bare = read("fn r() {}\n");
    assert_eq!(unclear(&[bare, A], 5), ["/w/r.rs"]);
    assert_eq!(unclear(&[bare, A], 1), [""; 0]);
    assert_eq!(unclear(&[read("     1→fn r() {}")], 5), [""; 0]);
    // A read that an earlier run has cleared, or that an edit follows, is not unclear.
    let cleared = read("[Output of Read cleared - run it again if needed]");
    let edit = (
        "Edit",
        r#"{"file_path":"/w/r.rs","old_string":"x","new_string":"y"}"#,
        "done",
    );
    for calls in [&[cleared][..], &[bare, edit]] {
        assert_eq!(unclear(calls, 5), [""; 0]);
    }
}

#[test]
fn the_newest_read_comes_first_and_each_file_once() {
    let again = ("read_file", r#"{"path":"/w//./a.rs"}"#, "fn c() {}\n");
    assert_eq!(
        texts(&[A, B, again]),
        [
            text("/w//./a.rs", "fn c() {}\n"),
            text("/w/b.rs", "fn b() {}\n")
        ]
    );
    assert_eq!(found_in(&[A, B, again])[0].full, "/w/a.rs");
}

#[test]
fn reads_alone_count_and_later_edits_are_in_what_they_showed() {
    let written = (
        "write_file",
        r#"{"path":"/w/new.rs","content":"x"}"#,
        "written",
    );
    let command = ("bash", r#"{"command":"cat /w/c.rs"}"#, "x");
    let missing = ("read_file", r#"{"path":"/w/d.rs"}"#, "File not found");
    assert_eq!(
        texts(&[A, B, EDIT_A, written, command, missing]),
        [
            text("/w/b.rs", "fn b() {}\n"),
            text("/w/a.rs", "fn z() {}\n")
        ]
    );
}

#[test]
fn a_content_that_is_not_sure_is_none() {
    let edit = (
        "edit_file",
        r#"{"path":"/w/a.rs","old_string":"nowhere","new_string":""}"#,
        "done",
    );
    assert_eq!(texts(&[A, edit]), [("/w/a.rs".to_owned(), None)]);
}

#[test]
fn a_part_keeps_its_lines() {
    let part = (
        "Read",
        r#"{"file_path":"/w/a.rs","offset":10,"limit":2}"#,
        "    10→ten\n    11→eleven",
    );
    let expected = Content {
        text: "ten\neleven".to_owned(),
        lines: Lines {
            first: 10,
            last: Some(11),
        },
    };
    assert_eq!(found_in(&[part])[0].content, Some(expected));
}

#[test]
fn what_an_earlier_compaction_left_is_no_content() {
    let gone = [
        "[Superseded: this file was read again later]",
        "[Output of read_file cleared - run it again if needed]",
        // In the words of another policy.
        "[Output compacted - re-read if needed]",
        "Output too large. Saved to: .ctxpack/offloaded/0123.txt\nPreview:\nfn a...",
    ];
    for said in gone {
        let read = ("read_file", r#"{"path":"/w/a.rs"}"#, said);
        assert_eq!(texts(&[B, read])[0], ("/w/a.rs".to_owned(), None), "{said}");
        // It may have shown another content than the older read.
        let found = texts(&[A, B, read]);
        assert_eq!(found[0], ("/w/a.rs".to_owned(), None), "{said}");
        assert_eq!(found[1], text("/w/b.rs", "fn b() {}\n"), "{said}");
        let replaced = |calls: &[Call<'_>]| of(calls, |recents| recents.replaced(1));
        assert_eq!(replaced(&[A, B, read]), ["/w/a.rs"], "{said}");
        for calls in [&[A, B, read, A][..], &[read], &[A, EDIT_A]] {
            assert_eq!(replaced(calls), [""; 0], "{said}");
        }
    }
}

#[test]
fn a_file_is_visible_where_a_read_that_stays_and_all_since_lead_to_its_content() {
    let part = (
        "read_file",
        r#"{"path":"/w/a.rs","offset":1,"limit":1}"#,
        "fn z() {}",
    );
    let a = |calls: &[Call<'_>]| found_in(calls).pop().unwrap();
    let none = |_| false;
    // Result 0 is message 1.
    assert!(a(&[A]).is_visible(1, none));
    assert!(!a(&[A]).is_visible(2, none));
    let edited = a(&[A, EDIT_A, part]);
    assert!(edited.is_visible(1, none));
    assert!(!edited.is_visible(2, none));
    // The newest one counts.
    let twice = a(&[A, A]);
    assert!(twice.is_visible(3, none));
    let block = twice.shown_by.unwrap().block;
    assert!(!twice.is_visible(3, |replaced| replaced == block));
    // A write shows what it writes.
    let write = (
        "write_file",
        r#"{"path":"/w/a.rs","content":"fn q() {}"}"#,
        "written",
    );
    assert!(a(&[A, write]).is_visible(2, none));
    assert!(!a(&[A, write]).is_visible(3, none));
}

#[test]
fn another_content_on_the_disk_is_not_visible() {
    let whole = |text: &str| Content {
        text: text.to_owned(),
        lines: Lines::ALL,
    };
    let known = found_in(&[A]).remove(0);
    let same = known.clone().with(whole("fn a() {}"));
    assert_eq!(same.source, RestoredFrom::Disk);
    assert!(same.is_visible(0, |_| false));
    let other = known.with(whole("fn a() { 1 }\n"));
    assert_eq!(other.content, Some(whole("fn a() { 1 }\n")));
    assert!(!other.is_visible(0, |_| false));
}
