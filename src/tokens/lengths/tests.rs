//! Lengths, compared with the written text.

use proptest::prelude::*;

use super::*;

fn written(raw: &[u8]) -> Lengths {
    let json = json::compact(raw);
    let count = |text: &[u8]| {
        let text = String::from_utf8_lossy(text);
        Chars {
            scalars: text.chars().count() as u64,
            astral: text.chars().filter(|c| *c > '\u{ffff}').count() as u64,
        }
    };
    Lengths {
        json: count(&json),
        python: count(&repr::of_json(&json)),
    }
}

#[test]
fn lengths_are_those_of_what_would_be_written() {
    for raw in [
        "",
        r#""""#,
        r#"{"a" : [1, -0, 2.50,1e400 ,true,false , null], "b":{}}"#,
        r#""it's \"so\" \u0027 \/ \b\f\n\r\t\\""#,
        r#""it's \u0022""#,
        r#""\u001b\u000a\u007f\u0000\ud83c\udf89\ud800x\udb40\udc01\u00ad""#,
        "\"\u{7f}'é世🎉\u{ad}\u{200b}\u{e0001}\u{301}\u{fffe}\"",
        "[{\"a\":1},]",
    ] {
        assert_eq!(
            Lengths::of(raw.as_bytes()),
            written(raw.as_bytes()),
            "{raw}"
        );
    }
    let broken = b"[\"a\xffb\\n\xe4\xb8\"]";
    assert_eq!(Lengths::of(broken), written(broken));
}

#[test]
fn the_members_that_are_sent_are_as_long_as_they_are_written() {
    for object in [
        r#"{}"#,
        r#"{"id":7}"#,
        r#"{"a":{"b":[{}]},"c":"\\u0022}{","name":-1.50 , "role" : "u"}"#,
        r#"{ "role":"user","x":[1],"content" :[{"type":"text", "text":"it's\n"}],"name":null}"#,
    ] {
        let members = json::members(object.as_bytes());
        assert_eq!(
            Lengths::of_members(object.as_bytes(), &mut []),
            written(&members),
            "{object}"
        );
    }
}

#[test]
fn every_character_has_the_length_that_it_takes() {
    for c in '\0'..=char::MAX {
        let code = u32::from(c);
        let raw = match code {
            0..0x20 | 0x22 | 0x5c => format!("\"\\u{code:04x}\""),
            _ => format!("\"{c}\""),
        };
        assert_eq!(
            Lengths::of(raw.as_bytes()),
            written(raw.as_bytes()),
            "{raw}"
        );
    }
}

proptest! {
    #[test]
    fn any_value_is_as_long_as_it_is_written(
        texts in prop::collection::vec("(\\\\[\"\\\\/bfnrt]|\\\\u[0-9a-f]{4}|['\u{7f} -!#-\\[\\]-~é世🎉\u{ad}]){0,300}", 0..4),
        numbers in prop::collection::vec("-?[0-9]{1,4}(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?", 0..4),
    ) {
        let strings = texts.iter().map(|text| format!("\"{text}\": \"{text}\""));
        let raw = format!("[{{{}}}, {}]", strings.collect::<Vec<_>>().join(" , "), numbers.join(", "));
        prop_assert_eq!(Lengths::of(raw.as_bytes()), written(raw.as_bytes()));
    }

    #[test]
    fn both_ways_find_the_same_in_a_string(
        text in "(\\\\[\"\\\\/bfnrt]|\\\\u[0-9a-f]{4}|\\\\ud83c\\\\udf89|['\u{7f} -!#-\\[\\]-~é世🎉\u{ad}]|[a-z]{1,40}){0,60}",
        start in 1usize..70,
    ) {
        let raw = format!("{}\"{text}\" and more", " ".repeat(start - 1));
        if let Some(found) = wide(raw.as_bytes(), start) {
            prop_assert_eq!(found, narrow(raw.as_bytes(), start));
        }
    }
}
