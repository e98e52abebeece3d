use super::*;

fn kind(line: &str, field: Option<&str>) -> ErrorKind {
    Record::of(line.as_bytes(), field, None).unwrap_err().kind
}

fn io_error(line: &str) -> String {
    let kind = FaultKind::Error(ErrorKind::Io);
    String::from_utf8(with_error(line.as_bytes(), &kind, "no \"room\"")).unwrap()
}

const ERROR_TEXT: &str = r#""error":{"kind":"io","message":"no \"room\""}"#;

#[test]
fn an_error_is_the_last_member_or_takes_the_place_of_an_old_one() {
    let last = [
        ("{}", "{#}"),
        ("{ }\n", "{ #}\n"),
        ("{\"a\":1}\r\n", "{\"a\":1,#}\r\n"),
        (" {\"a\":\"}\" } ", " {\"a\":\"}\" ,#} "),
        ("{\"a\":{}}", "{\"a\":{},#}"),
        (
            "{\"error\" : null , \"b\":2}",
            "{\"error\" : {\"kind\":\"io\",\"message\":\"no \\\"room\\\"\"} , \"b\":2}",
        ),
        ("{\"error\":{\"message\":\"x\",\"kind\":\"io\"}}", "{#}"),
    ];
    for (line, expected) in last {
        assert_eq!(io_error(line), expected.replace('#', ERROR_TEXT));
    }
    for other in [
        "",
        "x",
        "[]",
        "{",
        "{\"a\":1}{",
        "{\"error\":1}",
        "{\"error\":\"x\"}",
        "{\"error\":{\"kind\":\"io\"}}",
        // Errors of an unknown kind, or with other members, belong to someone else.
        "{\"error\":{\"kind\":\"timeout\",\"message\":\"y\"}}",
        "{\"error\":{\"kind\":\"io\",\"message\":\"y\",\"more\":1}}",
    ] {
        assert_eq!(io_error(other), other);
    }
}

#[test]
fn what_holds_no_conversation_says_so() {
    for line in ["", "1", "[]", "{", "{}x", "{\"a\":01}"] {
        assert_eq!(kind(line, None), ErrorKind::BadLine, "{line}");
        assert_eq!(kind(line, Some("a")), ErrorKind::BadLine, "{line}");
    }
    for line in [
        "{}",
        "{\"messages\":{}}",
        "{\"text\":\"x\"}",
        "{\"path\":1,\"text\":\"x\"}",
    ] {
        assert_eq!(kind(line, None), ErrorKind::Unsupported, "{line}");
    }
    assert_eq!(
        kind("{\"path\":\"a/../b\",\"text\":\"x\"}", None),
        ErrorKind::BadLine
    );
    assert_eq!(kind("{\"a\":{}}", Some("a")), ErrorKind::BadLine);
}

const CONVERSATION: &[u8] = b"{\"messages\":[{\"role\":\"user\",\"content\":\"Go on.\"}]}\n";

#[test]
fn a_transcript_is_put_where_its_own_was() {
    let text = |line: &'static str, field| {
        let record = Record::of(line.as_bytes(), field, None).unwrap();
        assert_eq!(record.unchanged(), line.as_bytes());
        String::from_utf8(record.with(b"[2,\"\xc3\xa9\"]").unwrap()).unwrap()
    };
    assert_eq!(
        text("{\"a\": \"x\\u0041\" ,\"b\":1.0}\n", Some("a")),
        "{\"a\": \"[2,\\\"\u{e9}\\\"]\" ,\"b\":1.0}\n"
    );
    assert_eq!(
        text("{\"path\":\"p\",\"base64\":\"eA==\"}", None),
        "{\"path\":\"p\",\"base64\":\"WzIsIsOpIl0=\"}"
    );
    let list = Record::of(b"{\"a\":[1] ,\"a\":[ {\"b\":1} , {} ]}", Some("a"), None).unwrap();
    assert_eq!(list.transcript().as_ref(), b"{\"b\":1}\n{}\n");
    let with = list.with(b"{\"c\":2}\n{}\r\n{}").unwrap();
    assert_eq!(with, b"{\"a\":[1] ,\"a\":[ {\"c\":2} , {} , {} ]}");
    assert_eq!(list.with(b"").unwrap(), b"{\"a\":[1] ,\"a\":[  ]}");
    // A transcript that does not fit into the line is not a result.
    for wrong in ["{}\n\n", "1\n", "{},{}\n", "{}}\n", "\u{feff}x"] {
        assert!(list.with(wrong.as_bytes()).is_err(), "{wrong}");
    }
    let itself = Record::of(CONVERSATION, None, None).unwrap();
    assert_eq!(
        itself.with(b"{\"messages\":[]}\n").unwrap(),
        b"{\"messages\":[]}\n"
    );
    for wrong in ["{}\n{}\n", "[]", ""] {
        assert!(itself.with(wrong.as_bytes()).is_err(), "{wrong}");
    }
    assert!(
        Record::of(b"{\"a\":\"x\"}", Some("a"), None)
            .unwrap()
            .with(b"\xff")
            .is_err()
    );
}

#[test]
fn a_member_is_added_last_or_replaced() {
    let with = |line: &str| String::from_utf8(with_member(line.as_bytes(), "s\"t", "[1]")).unwrap();
    for (line, expected) in [
        ("{}", "{#}"),
        ("{\"a\":{}} \n", "{\"a\":{},#} \n"),
        ("{\"s\\\"t\": 0,\"b\":1}", "{\"s\\\"t\": [1],\"b\":1}"),
        ("[]", "[]"),
        ("", ""),
    ] {
        assert_eq!(with(line), expected.replace('#', "\"s\\\"t\":[1]"));
    }
}
