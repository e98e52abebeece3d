//! Secrets in encoded form: which are masked, and what stays unchanged.

use super::planted::{encode, planted};
use super::*;

/// An encoding of a text.
type Writes = fn(&str) -> String;

fn hex(text: &str) -> String {
    text.bytes().map(|b| format!("{b:02x}")).collect()
}

fn percent(text: &str) -> String {
    let encoded = |b: u8| match b {
        b if b.is_ascii_alphanumeric() || b"-_.~".contains(&b) => char::from(b).to_string(),
        b => format!("%{b:02X}"),
    };
    text.bytes().map(encoded).collect()
}

/// Lines of `width` bytes, as tools print base64.
fn lines(text: &str, width: usize, end: &str) -> String {
    let lines: Vec<&str> = (0..text.len())
        .step_by(width)
        .map(|at| &text[at..text.len().min(at + width)])
        .collect();
    lines.join(end)
}

#[test]
fn what_is_planted_is_masked_in_every_encoding() {
    let redactor = redactor();
    let plants = planted(3, 4);
    let forms: [(&str, Writes); 7] = [
        ("base64", |text| encode(text.as_bytes())),
        ("base64 for addresses", |text| {
            encode(text.as_bytes())
                .replace('+', "-")
                .replace('/', "_")
                .replace('=', "")
        }),
        ("base64 in lines", |text| {
            lines(&encode(text.as_bytes()), 76, "\n")
        }),
        ("base64 in lines of JSON", |text| {
            lines(&encode(text.as_bytes()), 64, "\\n")
        }),
        ("hex", hex),
        ("hex in indented lines", |text| {
            lines(&hex(text), 60, "\n    ")
        }),
        ("percent-encoding", percent),
    ];
    for (form, writes) in forms {
        let mut missed = Vec::new();
        for plant in &plants {
            // A text whose plain form is masked: a secret that is not found there is not found in any encoding.
            let plain = format!(
                "# settings of it\n{}{}{}",
                plant.before, plant.secret, plant.after
            );
            if leaks(&redactor.redact(&plain).text, &plant.secret) {
                continue;
            }
            let text = format!("see \"{}\" there", writes(&plain));
            let redacted = redactor.redact(&text).text;
            let whole = redacted.starts_with("see \"") && redacted.ends_with("\" there");
            let is_left = match form {
                // Only the secret is masked.
                "percent-encoding" => leaks(&redacted, &percent(&plant.secret)),
                _ => redacted.len() > 60,
            };
            if !whole || is_left {
                missed.push(format!("{}: {plain:?}\n   -> {redacted:?}", plant.form));
            }
        }
        let (all, missed_count) = (plants.len(), missed.len());
        assert!(
            missed_count * 50 <= all,
            "{form}: {missed_count} of {all}\n{}",
            missed.join("\n")
        );
    }
}

#[test]
fn a_token_that_the_end_of_a_line_breaks_is_masked() {
    let redactor = redactor();
    for (end, seed) in [("\n", 1), ("\\n", 2), ("\r\n  ", 3)] {
        let token = Rng(seed).draw(ALNUM, 36);
        let text = format!(
            "It is gh{}{}{end}{}, they say",
            "p_",
            &token[..12],
            &token[12..]
        );
        assert_eq!(
            redactor.redact(&text).text,
            "It is [REDACTED:github-token], they say"
        );
    }
}

#[test]
fn a_sentence_after_encoded_lines_is_none_of_them() {
    let setting = format!("DB_PASSWORD=Tr0ub4dor&3x\n{}", "PORT=8080\n".repeat(12));
    for width in [48, 64] {
        let encoded = lines(&encode(setting.as_bytes()), width, "\n");
        let text = format!("It is\n{encoded}\nwhatsoever it says");
        let redacted = redactor().redact(&text).text;
        assert_eq!(redacted, "It is\n[REDACTED:password]\nwhatsoever it says");
    }
}

#[test]
fn what_only_looks_encoded_stays() {
    let clean = [
        "/usr/local/share/applications/org/freedesktop/systemd/private_key_of_something_else",
        "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==",
        "3f786850e387550fdab836ed7e6dc881de23001b3f786850e387550fdab836ed7e6dc881de23001b",
        "https://example.com/search?q=how%20to%20reset%20a%20password%20in%20the%20settings&page=2",
        "next=%2Flogin%3Ftoken%3D%24TOKEN%26a%3Db",
        "sk-folding\ncube-grid-animation-2024",
    ];
    let mut clean: Vec<String> = clean.map(str::to_owned).to_vec();
    clean.push(encode(
        b"The password is stored hashed. Your token: see the settings.",
    ));
    clean.push(encode(
        "password = os.environ[\"DB_PASSWORD\"]"
            .repeat(9)
            .as_bytes(),
    ));
    clean.push(hex("export TOKEN=${GITHUB_TOKEN}"));
    for text in &clean {
        assert_eq!(redactor().redact(text).text, *text);
    }
}

#[test]
fn escapes_of_json_stay_whole() {
    let setting = "DB_PASSWORD=Tr0ub4dor&3x\n";
    let encoded = encode(setting.as_bytes());
    for before in ["\\n", "\\t", "\\u00e9", "\\f", "\\\\", "\\\""] {
        for text in [encoded.clone(), hex(setting), percent(setting)] {
            let text = format!("\"a{before}{text}\"");
            let redacted = redactor().redact(&text).text;
            assert!(is_json_string(&redacted), "{text} -> {redacted}");
        }
    }
}

/// If decoding were not linear, a single one of these would take minutes, or hours in an unoptimised build.
#[test]
fn decoding_takes_linear_time() {
    let line = format!("{}\n", "QUJD".repeat(19));
    for text in [
        "QUJD".repeat(1 << 20),
        line.repeat(50_000),
        "%41".repeat(1 << 20),
        "%2541 ".repeat(1 << 19),
        "41".repeat(1 << 21),
        format!("ghp_{}\n", "a1B2".repeat(5)).repeat(1 << 17),
        "a%".repeat(1 << 21),
    ] {
        assert!(!redactor().redact(&text).text.is_empty());
    }
}
