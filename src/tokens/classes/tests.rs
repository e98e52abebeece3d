//! Sums of weights, compared with sums computed by hand and as properties.

use proptest::prelude::*;

use super::*;
use crate::scan::unescape_into;

/// The weights along a text, looked up one by one.
fn pairs(classes: &[(u8, u8)]) -> u64 {
    let weight = |(a, b): &(u8, u8)| u64::from(weights::CLASSES[usize::from(*a)][usize::from(*b)]);
    classes.iter().map(weight).sum()
}

#[test]
fn a_weight_belongs_to_a_character_after_another() {
    let th = u64::from(weights::LETTERS[usize::from(b't' - b'a')][usize::from(b'h' - b'a')]);
    let han = class('世' as u32);
    let dot = class('.' as u32);
    assert_eq!(plain(b""), 0);
    assert_eq!(plain(b"th"), pairs(&[(START, LOWER)]) + th);
    assert_eq!(
        plain("th7 \n世th.".as_bytes()),
        pairs(&[
            (START, LOWER),
            (LOWER, DIGIT),
            (DIGIT, SPACE),
            (SPACE, NEWLINE),
            (NEWLINE, han),
            (han, LOWER),
            (LOWER, dot),
        ]) + 2 * th
    );
}

#[test]
fn every_class_but_the_start_has_its_characters() {
    let mut seen = [0u32; CLASSES];
    for c in 0..=0x10_ffff {
        seen[usize::from(class(c))] += 1;
    }
    assert_eq!(seen[usize::from(START)], 0);
    assert!(seen[1..].iter().all(|n| *n > 0), "{seen:?}");
}

#[test]
fn the_table_of_the_basic_plane_says_what_its_ranges_do() {
    for c in (0x80..0x1_0000).filter_map(char::from_u32) {
        let text = c.to_string();
        assert_eq!(
            decode(text.as_bytes()),
            (NO_BYTE | class(c as u32), text.len())
        );
    }
}

#[test]
fn frequent_letter_pairs_are_cheaper() {
    assert!(plain(b"the internation") < plain(b"xqz jvkwqzxpfhg"));
}

#[test]
fn bytes_that_are_no_text_weigh_as_controls() {
    assert_eq!(plain(b"a\xffb\xf0\x9f"), plain(b"a\x01b\x01\x01"));
    assert_eq!(
        written(br"\u4e16\ud83c\udf89\n"),
        plain("世🎉\n".as_bytes())
    );
}

/// Text of all classes, with the words and runs that real text has.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zA-Z ]{0,20}",
        "[ -~\n\t\r]{0,20}",
        " {0,40}",
        "\\PC{0,8}",
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn cutting_text_never_raises_its_weight(text in text()) {
        let mut last = 0;
        for (at, c) in text.char_indices() {
            let weight = plain(&text.as_bytes()[..at + c.len_utf8()]);
            prop_assert!(last <= weight);
            last = weight;
        }
    }

    #[test]
    fn pieces_weigh_what_the_whole_does(text in text(), at in any::<prop::sample::Index>()) {
        let at = at.index(text.len() + 1);
        let cut = (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        let mut sum = Sum::new();
        sum.add(&text.as_bytes()[..cut], Escapes::None);
        sum.add(&text.as_bytes()[cut..], Escapes::None);
        prop_assert_eq!(sum.weight, plain(text.as_bytes()));
    }

    #[test]
    fn escaped_text_weighs_what_it_says(text in text()) {
        let json = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(written(&json.as_bytes()[1..json.len() - 1]), plain(text.as_bytes()));
    }

    #[test]
    fn what_is_written_weighs_what_is_left_of_it(raw in "([a-z\"é {}:]|\\\\[\"\\\\/bfnrtux]|\\\\u[0-9a-f]{4}){0,60}") {
        let mut sum = Sum::new();
        unescape_into(raw.as_bytes(), |chunk| sum.add(chunk, Escapes::None));
        prop_assert_eq!(written(raw.as_bytes()), sum.weight);
    }

    #[test]
    fn the_fast_path_sums_the_same_pairs(text in text()) {
        let mut sum = Sum::new();
        for c in text.chars() {
            sum.character(decode(c.encode_utf8(&mut [0; 4]).as_bytes()).0);
        }
        prop_assert_eq!(sum.weight, plain(text.as_bytes()));
    }

    #[test]
    fn any_bytes_have_a_weight(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        prop_assert!(plain(&bytes) <= 65_535 * bytes.len() as u64);
    }
}
