//! What is masked, what is not, and that nothing else changes.

mod encoded;
mod planted;

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use planted::{ALNUM, BASE32, BASE64, DIGIT, HEX, Rng, UPPER, WORD, planted};

/// Whether more than eight characters of a secret in a row are left.
fn leaks(redacted: &str, secret: &str) -> bool {
    let letters: Vec<char> = secret.chars().collect();
    letters
        .windows(9.min(letters.len()))
        .any(|part| redacted.contains(&part.iter().collect::<String>()))
}

fn redactor() -> &'static Redactor {
    static REDACTOR: LazyLock<Redactor> =
        LazyLock::new(|| Redactor::new().expect("the anchors compile"));
    &REDACTOR
}

#[test]
fn of_planted_secrets_98_of_100_are_masked_whole_and_nothing_else() {
    let redactor = redactor();
    let plants = planted(1, 40);
    let mut per_form: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut missed = Vec::new();
    for plant in &plants {
        let text = format!("{}{}{}", plant.before, plant.secret, plant.after);
        let redacted = redactor.redact(&text);
        let kept =
            redacted.text.starts_with(&plant.before) && redacted.text.ends_with(&plant.after);
        let whole = kept && !leaks(&redacted.text, &plant.secret);
        let (found, all) = per_form.entry(plant.form).or_default();
        *all += 1;
        *found += usize::from(whole);
        if !whole {
            missed.push(format!(
                "{}: {text:?}\n   -> {:?}",
                plant.form, redacted.text
            ));
        }
    }
    let found = plants.len() - missed.len();
    assert!(
        found * 100 >= plants.len() * 98,
        "{found} of {}: {per_form:?}\n{}",
        plants.len(),
        missed.join("\n")
    );
    for (form, (found, all)) in per_form {
        assert!(
            found * 10 >= all * 9,
            "{form}: {found} of {all}\n{}",
            missed.join("\n")
        );
    }
}

#[test]
fn each_kind_is_named_and_what_surrounds_it_stays() {
    let key = Rng(7).draw(ALNUM, 40);
    let short = "Tr0ub4dor&3x";
    let cases = [
        (
            format!("export AWS_SECRET_ACCESS_KEY=\"{key}\""),
            "export AWS_SECRET_ACCESS_KEY=\"[REDACTED:aws-secret-key]\"",
        ),
        (
            format!("postgres://ana:{short}@db:5432/shop?a=b"),
            "postgres://ana:[REDACTED:url-password]@db:5432/shop?a=b",
        ),
        (
            format!("echo '{short}' | sudo -S apt-get update"),
            "echo '[REDACTED:password]' | sudo -S apt-get update",
        ),
        (
            format!("echo -n {short} |sudo -kS true && sudo -i"),
            "echo -n [REDACTED:password] |sudo -kS true && sudo -i",
        ),
        (
            format!(
                "Encryption: none\nPrivate-Lines: 2\n{}\n{}\nPrivate-MAC: 0",
                Rng(8).draw(BASE64, 64),
                Rng(9).draw(BASE64, 40)
            ),
            "Encryption: none\nPrivate-Lines: 2\n[REDACTED:private-key]\nPrivate-MAC: 0",
        ),
        // As `grep --color` prints it.
        (
            format!(
                "\u{1b}[01;31m\u{1b}[Kgh{}{}\u{1b}[m",
                "p_",
                Rng(3).draw(ALNUM, 36)
            ),
            "\u{1b}[01;31m\u{1b}[K[REDACTED:github-token]\u{1b}[m",
        ),
        (
            format!("{{\"password\": \"{short}\", \"n\": 1}}"),
            "{\"password\": \"[REDACTED:password]\", \"n\": 1}",
        ),
        (
            format!("GET /a?token={key}&page=2 HTTP/1.1"),
            "GET /a?token=[REDACTED:secret]&page=2 HTTP/1.1",
        ),
        (
            format!("API_KEY=gh{}{}", "p_", &key[..36]),
            "API_KEY=[REDACTED:github-token]",
        ),
        (
            format!("Authorization: Bearer {key}\r\nAccept: */*"),
            "Authorization: Bearer [REDACTED:bearer-token]\r\nAccept: */*",
        ),
        (
            format!("1,AK{}{},{key},2024", "IA", &Rng(3).draw(BASE32, 16)),
            "1,[REDACTED:aws-access-key-id],[REDACTED:aws-secret-key],2024",
        ),
        (
            format!("{{\"a\":\"b\\n{}{key}\\ntn_{key}\"}}", "napi_"),
            "{\"a\":\"b\\n[REDACTED:service-token]\\ntn_KEY\"}",
        ),
        (
            format!("Cookie: theme=dark; sid={key}; lang=en"),
            "Cookie: theme=dark; sid=[REDACTED:session-cookie]; lang=en",
        ),
        (
            format!(
                "-----{} PRIVATE KEY-----\\n{key}\\n-----END PRIVATE KEY-----\\n",
                "BEGIN"
            ),
            "-----BEGIN PRIVATE KEY-----\\n[REDACTED:private-key]\\n-----END PRIVATE KEY-----\\n",
        ),
    ];
    let redactor = redactor();
    for (text, expected) in &cases {
        let expected = expected.replace("KEY\"}", &format!("{key}\"}}"));
        assert_eq!(redactor.redact(text).text, expected);
    }
}

#[test]
fn finds_are_counted_by_kind() {
    let (one, two) = (Rng(1).draw(ALNUM, 36), Rng(2).draw(ALNUM, 36));
    let text = format!("gh{p}{one} gh{p}{two} DB_PASSWORD=Tr0ub4dor&3x", p = "p_");
    let counts = redactor().redact(&text).counts;
    let expected = BTreeMap::from([(Kind::GithubToken, 2), (Kind::Password, 1)]);
    assert_eq!(counts, expected);
}

#[test]
fn a_find_that_is_cut_at_its_longest_ends_behind_a_character() {
    let password = Rng(9).draw(ALNUM, 127);
    let text = format!("db:5432:shop:ana:{password}…x");
    let redacted = redactor().redact(&text);
    assert_eq!(redacted.text, "db:5432:shop:ana:[REDACTED:password]x");
}

#[test]
fn placeholders_code_and_digests_are_no_secrets() {
    let clean = [
        "API_KEY=your-api-key",
        "API_KEY=<token>",
        "GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "export TOKEN=${GITHUB_TOKEN}",
        "export TOKEN=\"$GITHUB_TOKEN\"",
        "password = os.environ[\"DB_PASSWORD\"]",
        "const key = process.env.ANTHROPIC_API_KEY;",
        "ANTHROPIC_API_KEY=sk-ant-...",
        "password: changeme",
        "DB_PASSWORD=password123",
        "password: ${{ secrets.DB_PASSWORD }}",
        "let token = parser.next_token2();",
        "token: Sha256TokenReader,",
        "let password: Option<String> = None;",
        "pub access_token: AccessToken2,",
        "if (secret === undefined) return;",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer {token}",
        "postgres://user:password@localhost/db",
        "https://example.com:8080/a@b",
        "postgres://postgres:postgres@localhost/db",
        "git commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "\"sessionId\":\"5c0b37b4-57a5-4f26-b12d-d022ee4e51b7\"",
        "next_page_token: CAUQAA2x8f7sK2j3l4h5g6f7",
        "checksum = \"af8b4d1f1d0a2b6b8b3d0b7f4f3a1f6bdbf5a1c2b3d4e5f60718293a4b5c6d7e\"",
        "\"integrity\": \"sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==\"",
        "<img src=\"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk\">",
        "class=\"sk-folding-cube sk-cube-grid-animation-2024\"",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa\n-----END CERTIFICATE-----",
        "let begin = \"-----BEGIN PRIVATE KEY-----\"; // and then the body",
        "fn rejects_a_token_that_is_expired_2() {}",
        "max_tokens: 4096, tokenizer: \"cl100k_base\"",
        "AKIAIOSFODNN7EXAMPLE",
        "The password is stored hashed. Your token: see the settings.",
        "publicKeyToken=b77a5c561934e089",
    ];
    let redactor = redactor();
    for text in clean {
        let redacted = redactor.redact(text);
        assert_eq!(redacted.text, text);
        assert!(matches!(redacted.text, Cow::Borrowed(_)), "copied: {text}");
    }
}

#[test]
fn names_of_kinds_are_distinct_and_in_order() {
    let names: std::collections::BTreeSet<&str> =
        Kind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(names.len(), Kind::ALL.len());
    assert!(Kind::ALL.is_sorted());
}

/// Text made of the parts that the detectors look for, in any order.
fn fragments() -> impl Strategy<Value = String> {
    let drawn = (any::<u64>(), 1usize..70, 0usize..6).prop_map(|(seed, len, alphabet)| {
        Rng(seed).draw([HEX, UPPER, ALNUM, WORD, BASE64, DIGIT][alphabet], len)
    });
    let kinds = proptest::sample::select(Kind::ALL).prop_map(|kind| format!("{MASK}{kind}]"));
    let anchors: Vec<&str> = CONTEXTS
        .iter()
        .map(|(anchor, _)| *anchor)
        .chain(clues().flat_map(|clue| clue.anchors()))
        .chain(tokens().map(|token| token.prefix))
        .collect();
    let marks = vec![
        "=",
        ":",
        ": ",
        " = ",
        "\"",
        "'",
        "\\\"",
        "\\n",
        "\n",
        "\\",
        "\\\\",
        "@",
        ".",
        "-",
        "_",
        "/",
        "?",
        "&",
        " ",
        "]",
        "-----",
        "-----BEGIN ",
        "PRIVATE KEY-----",
        "-----END ",
        "Bearer ",
        "Basic ",
        "Authorization: ",
        "password",
        "token",
        "api_key",
        "Cookie: a=",
        "; ",
        "user",
        "value",
        "é",
        "…",
        "日本",
        "\u{1b}[32m",
        "\\u001b[0m",
        "%3D",
        ",",
        "(",
        ")",
        "<",
        ">",
        "\r\n",
        "\t",
        "|",
        "**",
        "export ",
        "--",
        "postgres://ana:",
        "curl -u ana:",
    ];
    let piece = prop_oneof![
        3 => drawn,
        1 => kinds,
        3 => proptest::sample::select(anchors).prop_map(str::to_owned),
        5 => proptest::sample::select(marks).prop_map(str::to_owned),
        1 => "\\PC{0,8}",
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// `text` as a JSON string.
fn json(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Whether `text` is exactly one JSON string.
fn is_json_string(text: &str) -> bool {
    let Some(inner) = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    else {
        return false;
    };
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return false,
            c if c < ' ' => return false,
            '\\' => match chars.next() {
                Some('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') => {}
                Some('u')
                    if chars
                        .by_ref()
                        .take(4)
                        .filter(char::is_ascii_hexdigit)
                        .count()
                        == 4 => {}
                _ => return false,
            },
            _ => {}
        }
    }
    true
}

proptest! {
    #[test]
    fn redacting_twice_changes_nothing_more(text in fragments()) {
        let redactor = redactor();
        let once = redactor.redact(&text);
        let twice = redactor.redact(&once.text);
        prop_assert_eq!(&twice.text, &once.text);
        prop_assert!(twice.counts.is_empty());
    }

    #[test]
    fn a_planted_text_is_the_same_after_a_second_pass(seed in any::<u64>()) {
        let redactor = redactor();
        for plant in planted(seed, 1) {
            let text = format!("{}{}{}", plant.before, plant.secret, plant.after);
            let once = redactor.redact(&text).text;
            prop_assert_eq!(redactor.redact(&once).text, once.clone());
        }
    }

    #[test]
    fn json_stays_json(text in fragments()) {
        let redactor = redactor();
        let (once, twice) = (json(&text), json(&json(&text)));
        prop_assert!(is_json_string(&redactor.redact(&once).text), "{}", once);
        prop_assert!(is_json_string(&redactor.redact(&twice).text), "{}", twice);
    }

    #[test]
    fn what_is_not_masked_is_kept_in_order(text in fragments()) {
        let redacted = redactor().redact(&text);
        let masks: u64 = redacted.counts.values().sum();
        prop_assert_eq!(masks == 0, redacted.text == text);
    }
}
