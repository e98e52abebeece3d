mod many;

use proptest::prelude::*;
use serde_json::value::RawValue;

use super::*;

fn read(line: &str) -> Parse<(Span, Anomalies)> {
    let mut cursor = Cursor::new(line.as_bytes());
    let span = cursor.skip()?;
    cursor.end()?;
    Ok((span, cursor.anomalies))
}

/// `serde_json`'s verdict. `RawValue` has no depth limit and keeps lone surrogates, like this parser.
fn is_json(line: &str) -> bool {
    serde_json::from_str::<&RawValue>(line).is_ok()
}

#[test]
fn lines_keep_every_byte_in_its_place() {
    let at = |bytes: &'static [u8]| {
        lines(bytes)
            .map(|l| (&bytes[l.start..l.end], l.eol))
            .collect::<Vec<_>>()
    };
    assert_eq!(at(b""), []);
    assert_eq!(at(b"\n"), [(&b""[..], Eol::Lf)]);
    assert_eq!(at(b"a\nb"), [(&b"a"[..], Eol::Lf), (b"b", Eol::None)]);
    assert_eq!(
        at(b"a\r\n\r\n\r"),
        [(&b"a"[..], Eol::CrLf), (b"", Eol::CrLf), (b"\r", Eol::None)]
    );
    assert_eq!(at(b"\xef\xbb\xbfa\n"), [(&b"a"[..], Eol::Lf)]);
    assert_eq!(
        at("a\u{2028}b\rc".as_bytes()),
        [("a\u{2028}b\rc".as_bytes(), Eol::None)]
    );
}

#[test]
fn what_serde_json_takes_is_taken_and_nothing_else() {
    for line in [
        "{}",
        "[]",
        "0",
        "-0",
        "1.5e+3",
        "1E400",
        "true",
        "false",
        "null",
        r#""\ud800""#,
        r#""\uD83C\uDF89""#,
        "[1,2]",
        " { \"a\" : [ ] } ",
        r#"{"a":1,"a":2}"#,
        "\"\u{7f}\u{2028}\"",
        "[[[[]]]]",
        r#"{"a":{"b":[{},[],"",0]}}"#,
        "",
        " ",
        "{",
        "}",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{1:1}",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "+1",
        "tru",
        "nul",
        "truex",
        "NaN",
        "Infinity",
        "\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\\u123\"",
        "\"a\tb\"",
        "\"\0\"",
        "{}{}",
        "[1]2",
        "{}\u{0}",
        "[1 2]",
        "{\"a\" 1}",
        "[}",
        "{]",
        "[[]",
        "// x",
        "\u{feff}{}",
        "'a'",
        "{\"a\":1 \"b\":2}",
        r#""\ud800\u""#,
        r#""\ud800\ud800""#,
        "\"\\",
    ] {
        assert_eq!(read(line).is_ok(), is_json(line), "{line:?}");
    }
}

#[test]
fn oddities_are_seen() {
    let odd = |line: &str| read(line).unwrap().1;
    assert!(odd(r#"{"a":"\ud83c\udf89","n":12345678901234567890}"#).is_empty());
    assert_eq!(odd(r#"["\ud800"]"#), Anomalies::LONE_SURROGATE);
    assert_eq!(odd(r#"{"\udc00x":1}"#), Anomalies::LONE_SURROGATE);
    assert_eq!(
        odd("123456789012345678901234567890"),
        Anomalies::LONG_NUMBER
    );
    assert_eq!(
        odd(&format!("{}{}", "[".repeat(127), "]".repeat(127))),
        Anomalies::default()
    );
    assert_eq!(
        odd(&format!("{}{}", "[".repeat(128), "]".repeat(128))),
        Anomalies::DEEP
    );
    let mut cursor = Cursor::new(br#"{"a":1,"b":2,"a":3}"#);
    cursor.object(|_, c| c.skip().map(drop)).unwrap();
    assert_eq!(cursor.anomalies, Anomalies::DUPLICATE_KEY);
}

#[test]
fn a_hundred_thousand_levels_are_skipped() {
    let deep = format!("{}{}", "{\"a\":[".repeat(50_000), "]}".repeat(50_000));
    assert_eq!(read(&deep).unwrap().0, Span::new(0, deep.len()));
    assert!(read(&"[".repeat(100_000)).is_err());
}

#[test]
fn characters_are_counted_after_unescaping() {
    for (raw, scalars, astral) in [
        ("", 0, 0),
        ("abcdefgh", 8, 0),
        ("é世🎉 and more é世🎉", 16, 2),
        (r"\n\t\\\u00e9\/", 5, 0),
        (r"\ud83c\udf89", 1, 1),
        (r"\ud83cx\udf89", 3, 0),
        (r"0123456\n89abcde世f", 17, 0),
    ] {
        let line = format!("\"{raw}\"");
        let text = Cursor::new(line.as_bytes()).string().unwrap();
        assert_eq!(
            (text.scalars, text.astral, text.span.of(line.as_bytes())),
            (scalars, astral, raw.as_bytes()),
            "{raw}"
        );
    }
}

#[test]
fn objects_and_arrays_hand_out_spans() {
    let line = br#" {"a" : "x\n", "\u0062":[1, {"c":2}] }"#;
    let mut seen = Vec::new();
    let mut cursor = Cursor::new(line);
    let whole = cursor
        .object(|key, c| {
            let key = String::from_utf8(key.to_vec()).unwrap();
            if c.kind()? == Kind::Array {
                c.array(|c| {
                    let span = c.skip()?;
                    seen.push((key.clone(), span.of(line).to_vec()));
                    Ok(())
                })?;
            } else {
                seen.push((key, c.skip()?.of(line).to_vec()));
            }
            Ok(())
        })
        .unwrap();
    cursor.end().unwrap();
    assert_eq!(whole, Span::new(1, line.len()));
    let expected = [("a", r#""x\n""#), ("b", "1"), ("b", r#"{"c":2}"#)];
    assert_eq!(
        seen,
        expected.map(|(k, v)| (k.to_owned(), v.as_bytes().to_vec()))
    );
}

#[test]
fn fields_are_found_by_their_names() {
    let line =
        Value::of(br#" {"a":"x\n", "\u0062": -7, "c":{"d":[true,"e"]}, "f":null, "g":true} "#);
    let [a, b, c, f, none] = line.fields(["a", "b", "c", "f", "none"]);
    assert_eq!(line.kind(), Some(Kind::Object));
    assert_eq!(
        [a, b, c, f, none].map(Value::kind),
        [
            Some(Kind::String),
            Some(Kind::Number),
            Some(Kind::Object),
            Some(Kind::Null),
            None
        ]
    );
    assert_eq!(a.string(), Some(&br"x\n"[..]));
    assert_eq!(a.unescaped().as_deref(), Some(&b"x\n"[..]));
    assert_eq!((b.number(), b.number::<u64>()), (Some(-7), None));
    assert_eq!(b.span(), Span::new(23, 25));
    assert_eq!((b.string(), c.string(), none.string()), (None, None, None));
    assert_eq!(none.raw(), b"");
    assert!(f.is_there() && !none.is_there());
    let mut elements = Vec::new();
    c.field("d").elements(|value| elements.push(value.raw()));
    assert_eq!(elements, [&b"true"[..], b"\"e\""]);
    c.elements(|_| panic!("an object has no elements"));
    let names = line.in_order(["g", "none", "f", "a"]).map(|(name, _)| name);
    assert_eq!(names, ["none", "a", "f", "g"]);
}

#[test]
fn of_a_field_that_is_there_twice_the_last_one_counts() {
    let line = Value::of(br#"{"a":1,"\u0061":2,"b":"x","b":3,"c":{"d":1,"e":1},"c":{"e":2}}"#);
    let [a, b, c] = line.fields(["a", "b", "c"]);
    assert_eq!((a.number(), b.string()), (Some(2), None));
    assert_eq!(c.raw(), br#"{"e":2}"#);
    assert!(!line.within(&["c", "d"]).is_there());
    assert_eq!(line.within(&["c", "e"]).number(), Some(2));
}

#[test]
fn a_path_leads_through_objects_alone() {
    let line = Value::of(br#"{"a":{"b":{"c":5,"d":[6]}},"x":[{"a":1}]}"#);
    assert_eq!(line.within(&["a", "b", "c"]).number(), Some(5));
    assert_eq!(line.within(&["a", "b"]).field("d").raw(), b"[6]");
    assert_eq!(line.within(&[]).fields(["x"])[0].raw(), br#"[{"a":1}]"#);
    for path in [&["b"][..], &["a", "c"], &["a", "b", "c", "d"], &["x", "a"]] {
        assert!(!line.within(path).is_there(), "{path:?}");
    }
}

#[test]
fn what_is_no_json_object_has_no_fields() {
    let broken: [&[u8]; 6] = [
        b"",
        b"[1]",
        b"{\"a\":1",
        b"{\"a\":1,}",
        b"{\"a\":1,\"b\":x}",
        b"\"a\"",
    ];
    for line in broken {
        assert!(!Value::of(line).field("a").is_there());
        assert!(!Value::of(line).within(&["a"]).is_there());
    }
    // No error in the part: it does not look past its end.
    let part = Value::part(b"[{\"a\":1} }", Span::new(1, 8));
    assert_eq!(part.field("a").number(), Some(1));
    assert_eq!(part.field("a").span(), Span::new(6, 7));
    assert!(!part.field("a").field("a").is_there());
}

/// JSON text of any value, and the same with a byte or two changed.
fn json_like() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "-?[0-9]{1,4}(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?",
        Just("null".to_owned()),
        Just("true".to_owned()),
        ".{0,20}".prop_map(|s| serde_json::to_string(&s).unwrap()),
        "(\\\\[\"\\\\/bfnrt]|\\\\u[0-9a-f]{4}|[ -!#-\\[\\]-~é世🎉]){0,12}"
            .prop_map(|s| format!("\"{s}\"")),
    ];
    let tree = leaf.prop_recursive(5, 40, 5, |inner| {
        let key = ".{0,6}".prop_map(|s| serde_json::to_string(&s).unwrap());
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|v| format!("[{}]", v.join(", "))),
            prop::collection::vec((key, inner), 0..5).prop_map(|v| format!(
                "{{{}}}",
                v.iter()
                    .map(|(k, v)| format!("{k}:{v}"))
                    .collect::<Vec<_>>()
                    .join(",")
            )),
        ]
    });
    let change = (any::<prop::sample::Index>(), "[\\[\\]{}:,\"\\\\0a \\u{1}]?");
    (tree, prop::collection::vec(change, 0..3)).prop_map(|(json, changes)| {
        let mut chars: Vec<char> = json.chars().collect();
        for (at, with) in changes {
            let at = at.index(chars.len().max(1));
            if at < chars.len() {
                chars.splice(at..=at, with.chars());
            }
        }
        chars.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_verdict_is_that_of_serde_json(line in json_like()) {
        prop_assert_eq!(read(&line).is_ok(), is_json(&line));
    }

    #[test]
    fn fields_are_those_of_serde_json(
        members in prop::collection::vec(("[ab]|\\\\u006[12]", json_like()), 0..5),
        path in prop::collection::vec("[ab]", 0..3),
    ) {
        let members = members.iter().map(|(key, value)| format!("\"{key}\": {value}"));
        let line = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
        // Lines that `serde_json` cannot represent (a lone surrogate) or does not accept are not compared.
        if let Ok(expected) = serde_json::from_str::<serde_json::Value>(&line) {
            let json = |value: Value<'_>| serde_json::from_slice::<serde_json::Value>(value.raw()).ok();
            let value = Value::of(line.as_bytes());
            for (name, value) in ["a", "b"].into_iter().zip(value.fields(["a", "b"])) {
                prop_assert_eq!(json(value), expected.get(name).cloned());
            }
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let at = path.iter().try_fold(&expected, |value, name| value.get(name));
            prop_assert_eq!(json(value.within(&path)), at.cloned());
        }
    }

    #[test]
    fn strings_say_what_serde_json_says(text in ".{0,60}", at in 0..9usize) {
        let line = format!("{}{}", " ".repeat(at), serde_json::to_string(&text).unwrap());
        let read = Cursor::new(line.as_bytes()).string().unwrap();
        prop_assert_eq!(read.scalars as usize, text.chars().count());
        prop_assert_eq!(read.utf16() as usize, text.encode_utf16().count());
        let unescaped = unescape(read.span.of(line.as_bytes()));
        prop_assert_eq!(unescaped.as_ref(), text.as_bytes());
    }

    #[test]
    fn no_bytes_at_all_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut cursor = Cursor::new(&bytes);
        let _ = cursor.skip();
        let value = Value::of(&bytes).within(&["a"]);
        prop_assert!(value.raw().len() <= bytes.len());
        for line in lines(&bytes) {
            prop_assert!(line.start <= line.end && line.end <= bytes.len());
        }
    }
}

/// The units of a document: their numbers from 1, and what they say.
fn units(text: &str) -> Result<Vec<(usize, &str)>, NoDocument> {
    let units = document(text.as_bytes())?;
    let filled = (1..).zip(units).filter(|(_, unit)| unit.eol != Eol::Within);
    Ok(filled
        .map(|(number, unit)| (number, &text[unit.start..unit.end]))
        .collect())
}

#[test]
fn the_messages_of_a_document_are_units_on_their_lines() {
    let text = "{\n \"messages\": [\n  {\n   \"a\": \"]\"\n  },\n  2\n ],\n \"info\": [{}]\n}\n";
    let expected = [
        (1, "{\n \"messages\": ["),
        (3, "{\n   \"a\": \"]\"\n  }"),
        (6, "2"),
        (7, "],\n \"info\": [{}]\n}\n"),
    ];
    assert_eq!(units(text), Ok(expected.to_vec()));
    let short = r#"{"x":{"messages":[1]},"messages":[{},{}]}"#;
    let numbers = units(short).map(|units| units.iter().map(|unit| unit.0).collect());
    assert_eq!(numbers, Ok(vec![1, 2, 3, 4]));
    assert_eq!(
        units(r#"{"messages":[ ]}"#),
        Ok(vec![(1, r#"{"messages":["#), (2, "]}")])
    );
}

#[test]
fn what_is_not_one_document_with_one_list_is_none() {
    for (text, why) in [
        ("", NoDocument::Other),
        ("[1]", NoDocument::Other),
        ("{}", NoDocument::Other),
        (r#"{"messages":{}}"#, NoDocument::Other),
        (r#"{"messages":[1,]}"#, NoDocument::Other),
        (r#"{"messages":["#, NoDocument::CutOff),
        (r#"{"messages":[{"a":"b"#, NoDocument::CutOff),
        (r#"{"messages":[{"a":tru"#, NoDocument::CutOff),
        ("{\"messages\":[{\"a\":1\n\n", NoDocument::CutOff),
        (r#"{"messages":[]}{"messages":[]}"#, NoDocument::More),
        ("{\"messages\":[]}\nx", NoDocument::More),
        (r#"{"messages":[],"messages":[]}"#, NoDocument::TwoLists),
    ] {
        assert_eq!(units(text), Err(why), "{text:?}");
    }
}

#[test]
fn a_run_of_any_length_before_an_escape_is_kept() {
    for length in 0..100 {
        let run = "abcdé".chars().cycle().take(length).collect::<String>();
        let raw = format!(r"{run}\n\\{run}\u00e9\ud83d\ude00\ud800");
        let text = format!("{run}\n\\{run}é😀\u{fffd}");
        assert_eq!(decoded(raw.as_bytes()), text);
        assert_eq!(unescape(raw.as_bytes()), text.as_bytes());
        // A broken escape ends what can be read, and bytes that are no UTF-8 are replaced.
        let broken = [run.as_bytes(), br"\n", b"\xff", br"\x"].concat();
        assert_eq!(decoded(&broken), format!("{run}\n\u{fffd}\\x"));
    }
}
