//! Texts, and the names in them.

use super::*;

#[test]
fn words_with_signs_are_found_wherever_they_are() {
    let is_sign = |b: &u8| IN_NAMES[usize::from(*b)] > LOWER;
    for byte in 0..=u8::MAX {
        let block = [byte; BLOCK];
        assert_eq!(in_ranges(&block, &SIGNS) != 0, is_sign(&byte), "{byte}");
    }
    // By a walk over single bytes.
    let plainly = |bytes: &[u8]| {
        let mut words = Vec::new();
        let mut at = 0;
        for word in bytes.split(|b| IN_NAMES[usize::from(*b)] == 0) {
            if word.iter().any(is_sign) {
                words.push((at, at + word.len()));
            }
            at += word.len() + 1;
        }
        words
    };
    let parts: [&[u8]; 7] = [
        b" ",
        b"a",
        b"word",
        b"A",
        b"_x.y",
        b"\xe4\xb8\x96",
        b"a long-er run: ",
    ];
    let mut seed = 1_u64;
    for _ in 0..20_000 {
        let mut text = Vec::new();
        while !seed.is_multiple_of(29) || text.is_empty() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (seed >> 33) as usize;
            let times = if at.is_multiple_of(16) { at % 140 } else { 1 };
            text.extend(parts[at % parts.len()].repeat(times));
        }
        seed += 1;
        let mut words = Vec::new();
        each_word(&text, |start, end| words.push((start, end)));
        assert_eq!(
            words,
            plainly(&text),
            "{:?}",
            text.escape_ascii().to_string()
        );
    }
}

fn names(text: &str) -> Vec<(Class, &str)> {
    let mut names = Vec::new();
    scan(text, |class, name| names.push((class, name)));
    names
}

#[test]
fn the_letter_of_an_escape_is_no_part_of_a_name() {
    let of = |text| names(text).into_iter().map(|(_, name)| name).collect();
    let all: [Vec<&str>; 5] = [
        of(r"{ a;\n\tthis.chatContainer.addChild(); }"),
        of(r#""\nNever_do_this\nWarn""#),
        of(r"C:\src\new_dir\table.rs src\lib_one.rs"),
        of(r"over\nNextLine C:\\new_dir"),
        of(r"first line\nnext_line\tlast_one"),
    ];
    let none: Vec<&str> = Vec::new();
    assert_eq!(
        all,
        [
            vec!["this.chatContainer.addChild"],
            vec!["Never_do_this"],
            vec!["lib_one.rs"],
            none,
            vec!["next_line", "last_one"],
        ]
    );
}

#[test]
fn a_number_with_one_digit_is_a_name_where_it_is_an_id() {
    assert_eq!(names("Task #4 of 9, a# #a"), [(Class::Id, "#4")]);
}

#[test]
fn names_are_found_in_prose_of_any_language() {
    assert_eq!(
        names("请修复 src/scan/mod.rs:12:5，函数parse_line在./a.py里；see https://a.b/c?d or #12."),
        [
            (Class::Path, "src/scan/mod.rs"),
            (Class::Symbol, "parse_line"),
            (Class::Path, "a.py"),
            (Class::Url, "https://a.b/c"),
            (Class::Id, "#12"),
        ]
    );
}

#[test]
fn each_class_has_its_form() {
    assert_eq!(
        names(
            "--no-run v1.2.30 404 2026-03-01T14:00Z deadbeef1 ABC-12 TypeError Vec::new getName MAX_LEN a.txt and/or 3/4 well-known 12"
        ),
        [
            (Class::Flag, "--no-run"),
            (Class::Number, "v1.2.30"),
            (Class::Number, "404"),
            (Class::Number, "2026-03-01T14:00Z"),
            (Class::Id, "deadbeef1"),
            (Class::Id, "ABC-12"),
            (Class::Error, "TypeError"),
            (Class::Symbol, "Vec::new"),
            (Class::Symbol, "getName"),
            (Class::Symbol, "MAX_LEN"),
            (Class::Symbol, "a.txt"),
        ]
    );
}

#[test]
fn numbers_around_a_sign_are_names_of_their_own() {
    assert_eq!(
        names("M12.5-340 1200:1250 2026-03-01 1.2.3 555-"),
        [
            (Class::Number, "M12.5"),
            (Class::Number, "340"),
            (Class::Number, "1200"),
            (Class::Number, "2026-03-01"),
            (Class::Number, "1.2.3"),
            (Class::Number, "555"),
        ]
    );
}
