//! Judges a value: made by a machine, chosen by a person, or no secret at all.
//!
//! Never sees the text around the value.

/// Which letter follows which often: bit `n` of row `a` for the pair of `a` and the `n`th letter. The 240 commonest of the
/// 676 pairs, 95 % of those in code and English; of random letters they are 36 %.
const PAIRS: [u32; 26] = {
    let rows: [&[u8]; 26] = [
        b"bcdfgiklmnprstuvxy",
        b"aceijlouy",
        b"aefhiklorstu",
        b"adeiorsu",
        b"abcdefgilmnpqrstvwxy",
        b"aefgiloru",
        b"einrsu",
        b"aeiot",
        b"abcdefglmnoprstvxz",
        b"e",
        b"e",
        b"adefilostuy",
        b"abeimopsu",
        b"acdefgiklnopstuv",
        b"bcdgiklmnoprstuvw",
        b"aeiloprstuy",
        b"u",
        b"acdegimnorstuy",
        b"acehiopstuy",
        b"acdehiloprstuy",
        b"bcefilmnprst",
        b"aei",
        b"aehior",
        b"cfpt",
        b"pst",
        b"e",
    ];
    let mut bits = [0; 26];
    let mut a = 0;
    while a < 26 {
        let mut i = 0;
        while i < rows[a].len() {
            bits[a] |= 1 << (rows[a][i] - b'a');
            i += 1;
        }
        a += 1;
    }
    bits
};

/// Words in a value that only marks the place of one. None under four letters: a random token would contain it.
const FILLERS: &str = "example your xxxx changeme change-me change_me change-this placeholder dummy sample redacted \
    replace insert notreal foobar foo-bar foo_bar lorem **** .... ____ ---- hidden censored \
    masked undefined";

/// More of them, which a long random token may contain by chance.
const SHORT_FILLERS: &str = "fake test mock demo todo blah deadbeef cafebabe qwerty";

/// What a value begins with that says where the secret comes from, or that is no text of its own.
const SOURCES: &str = "< [ ( %( %s %{ process. os. env config. self. this. args. settings. secrets. vault: arn: \
    file: op:// data: ssh- ecdsa- sha1 sha2 sha3 sha5 urn: ref+ / ./ ../ ~/ \\ var. local. \
    module.";

/// What the values of passwords are made of that nobody keeps: whole values of such words are no secrets.
const PLAIN_WORDS: &str = "password passwd passphrase passcode pass pwd word secret token key api auth access refresh \
    client user username admin administrator root guest login name value string foo bar baz qux \
    abc hello world new old my the a this is not no some any wrong bad good invalid valid \
    correct default strong super very secure safe long short plain plaintext text hash db \
    database postgres postgresql mysql mongo redis rabbitmq minio server local dev prod staging \
    temp tmp here in env to be set with and or for of from id session bearer basic jwt oauth \
    private public first second third other another must change me it please enter none null \
    true false app service bot v data type required optional encrypted decrypted hashed base sha \
    md rsa aes hmac bcrypt argon letmein welcome";

/// How much of a value is searched for fillers, in bytes: none of them begins after a long random text.
const MAX_SHOWN: usize = 256;

/// How a value was found, which says how much it must show of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setting {
    /// Quoted, or in a place that takes text alone: a line of `.env`, a query, a header, a flag.
    Literal,
    /// Without quotes, in text that could be code or prose.
    Bare,
}

/// `value` without what only ends a sentence or pads a run.
pub(super) fn trim_end(value: &[u8]) -> &[u8] {
    let kept = value.iter().rposition(|b| !matches!(b, b'.' | b'-' | b'%'));
    &value[..kept.map_or(0, |last| last + 1)]
}

/// Whether the body of a token with a known prefix was issued, and not written to show the form.
pub(super) fn is_issued(body: &[u8]) -> bool {
    let counts = Counts::of(body);
    counts.distinct >= 8.min(body.len() / 2)
        && counts.digits + counts.uppers > 0
        && !is_words(body)
        && !has(FILLERS, body)
}

/// Whether a value of unknown form looks random: an API key, a token, a generated secret.
pub(super) fn is_machine_made(value: &[u8], setting: Setting) -> bool {
    let counts = Counts::of(value);
    let letters = counts.lowers + counts.uppers;
    let mixed = if counts.digits == 0 {
        // Letters alone: base64 and base62 mix their cases.
        setting == Setting::Literal
            && value.len() >= 20
            && counts.lowers >= 4
            && counts.uppers >= 4
            && counts.others == 0
    } else {
        letters >= 2 && (counts.digits >= 2 || counts.uppers >= 2 && counts.lowers >= 2)
    };
    let least = match setting {
        Setting::Literal => 16,
        Setting::Bare => 20,
    };
    value.len() >= least
        && (setting == Setting::Literal || !is_path(value))
        && mixed
        && counts.distinct >= 8
        && (letters + counts.digits) * 4 >= value.len() * 3
        && !is_stepwise(value)
        && !is_wordy(value)
        && !is_placeholder(value)
}

/// Whether a value is a key too short to be told from its randomness alone: under a name that takes nothing else, three
/// classes of bytes will do.
pub(super) fn is_short_key(value: &[u8]) -> bool {
    let counts = Counts::of(value);
    value.len() >= 12 && counts.digits >= 2 && !is_wordy(value) && is_chosen(value, Setting::Bare)
}

/// Whether a value given to a password's name is one that somebody chose, or drew.
pub(super) fn is_chosen(value: &[u8], setting: Setting) -> bool {
    let counts = Counts::of(value);
    let symbols = value.iter().filter(|b| b"!@#$%^&*+=?~".contains(b)).count();
    let classes = [counts.lowers, counts.uppers, counts.digits, symbols]
        .iter()
        .filter(|&&n| n > 0)
        .count();
    let least_classes = match setting {
        Setting::Literal => 2,
        Setting::Bare => 3,
    };
    // Letters alone are words, unless they mix their cases as no name does.
    let drawn = value.len() >= 10 && counts.uppers >= 3 && counts.lowers >= 3 && !is_wordy(value);
    let least = match setting {
        Setting::Literal => 6,
        Setting::Bare => 8,
    };
    value.len() >= least
        && counts.distinct >= 5
        && counts.lowers + counts.uppers > 0
        && (counts.digits + symbols > 0 || drawn && setting == Setting::Literal)
        && (classes >= least_classes
            || counts.digits >= 3 && counts.lowers + counts.uppers >= 3 && !is_wordy(value))
        && !is_stepwise(value)
        && !is_placeholder(value)
        && (classes == 4 || !is_plain(value))
        && !value.starts_with(b"0x")
        && (setting == Setting::Literal || symbols > 0 || counts.digits >= 3 || !is_wordy(value))
}

/// Whether a value only shows where a secret goes, or says where it comes from.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    let starts = |start: &str| {
        value
            .get(..start.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
    };
    let source = SOURCES.split_ascii_whitespace().any(starts);
    // Base64 may begin with a slash too; a path has words between them.
    let base64 = value.len() >= 40 && value[0] == b'/' && !is_wordy(value);
    let variable = matches!(value, [b'$' | b'@' | b'%' | b':' | b'#' | b'&' | b'*', name @ ..]
        if name.iter().all(|&b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'@' | b'%')));
    let wrapped = matches!(
        value,
        [b'{', .., b'}'] | [b'$', b'{', ..] | [b'_', b'_', .., b'_', b'_']
    );
    source && !base64
        || variable
        || wrapped
        || value.windows(2).any(|two| {
            matches!(
                two,
                b"${" | b"$(" | b"{{" | b"}}" | b"::" | b"->" | b"()" | b"#{" | b"\\n" | b"\\t"
            )
        })
        || memfind(value, super::MASK.as_bytes())
        || memfind(value, b"://")
        || memfind(value, "…".as_bytes())
        || memfind(value, "•".as_bytes())
        || value
            .iter()
            .any(|b| matches!(b, b'<' | b'>' | b'"' | b'\'' | b'`') || b.is_ascii_whitespace())
        || has(FILLERS, value)
        || has(SHORT_FILLERS, value)
}

/// Whether a value has the form of a UUID.
pub(super) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// Whether a value is of hexadecimal digits alone.
pub(super) fn is_hex(value: &[u8]) -> bool {
    value.iter().all(u8::is_ascii_hexdigit)
}

/// What a base64 text says, if that is printable ASCII: enough for a login.
pub(super) fn decode_login(value: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(value.len());
    let (mut bits, mut held) = (0u32, 0);
    for &b in value {
        let six = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            let byte = (bits >> held) as u8;
            if !(b' '..=b'~').contains(&byte) {
                return None;
            }
            out.push(byte);
            bits &= (1 << held) - 1;
        }
    }
    Some(out)
}

/// Whether the letters of a value follow one another as they do in words. Of hexadecimal digits that says nothing.
pub(super) fn is_wordy(value: &[u8]) -> bool {
    // Nor do words have digits in many places.
    let numbers = value
        .windows(2)
        .filter(|two| two[0].is_ascii_digit() && !two[1].is_ascii_digit());
    if is_hex(value) || numbers.count() >= 4 {
        return false;
    }
    let (mut pairs, mut common) = (0, 0);
    for two in value.windows(2) {
        if two.iter().all(u8::is_ascii_alphabetic) {
            let (a, b) = (two[0].to_ascii_lowercase(), two[1].to_ascii_lowercase());
            pairs += 1;
            common += usize::from(PAIRS[usize::from(a - b'a')] >> (b - b'a') & 1 == 1);
        }
    }
    pairs >= 5 && pairs * 3 >= value.len() && common * 100 >= pairs * 82
}

/// Whether a value is words and numbers joined by marks, as a name is: `output-waiting-1770927708311`.
fn is_words(value: &[u8]) -> bool {
    value.split(|b| !b.is_ascii_alphanumeric()).all(|part| {
        let letters = part.iter().filter(|b| b.is_ascii_alphabetic()).count();
        let lower = part.iter().skip(1).all(|b| b.is_ascii_lowercase());
        part.len() <= 3 || letters == 0 || letters == part.len() && (lower || is_wordy(part))
    })
}

/// Whether a value is made of plain words, digits at their ends and marks between them.
pub(super) fn is_plain(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let mut rest: &[u8] = &lower;
    while let [first, tail @ ..] = rest {
        if !first.is_ascii_alphabetic() {
            rest = tail;
            continue;
        }
        let word = PLAIN_WORDS
            .split_ascii_whitespace()
            .filter(|word| rest.starts_with(word.as_bytes()))
            .max_by_key(|word| word.len());
        match word {
            Some(word) => rest = &rest[word.len()..],
            None => return false,
        }
    }
    true
}

/// Whether a value goes up by one or stays in too many places for chance: `12345678`, `abcdefgh`, `aaaa`.
fn is_stepwise(value: &[u8]) -> bool {
    let steps = value
        .windows(2)
        .filter(|two| two[1] == two[0] || two[1] == two[0].wrapping_add(1))
        .count();
    steps * 5 >= value.len() * 2
}

/// Whether a value is names joined by dots, as code has them.
fn is_path(value: &[u8]) -> bool {
    value.contains(&b'.')
        && value.split(|&b| b == b'.').all(|part| {
            part.first()
                .is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
        })
}

fn has(fillers: &str, value: &[u8]) -> bool {
    let lower = value[..value.len().min(MAX_SHOWN)].to_ascii_lowercase();
    fillers
        .split_ascii_whitespace()
        .any(|filler| memfind(&lower, filler.as_bytes()))
}

fn memfind(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}

/// How many bytes of each class a value has.
#[derive(Default)]
struct Counts {
    digits: usize,
    uppers: usize,
    lowers: usize,
    others: usize,
    distinct: usize,
}

impl Counts {
    fn of(value: &[u8]) -> Counts {
        let mut counts = Counts::default();
        let mut seen = [false; 256];
        for &b in value {
            match b {
                b'0'..=b'9' => counts.digits += 1,
                b'A'..=b'Z' => counts.uppers += 1,
                b'a'..=b'z' => counts.lowers += 1,
                _ => counts.others += 1,
            }
            counts.distinct += usize::from(!seen[usize::from(b)]);
            seen[usize::from(b)] = true;
        }
        counts
    }
}
