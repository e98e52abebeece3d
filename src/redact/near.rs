//! Finds tokens that have no prefix of their own, by a clue beside or within them.
//!
//! Never looks further than a few hundred bytes from the clue.

use std::ops::Range;

use super::Found;
use super::bytes::{Set, begins, ends};
use super::kind::Kind;
use super::value::{self, Setting};

/// How far from a service's name its token may stand, in bytes.
const REACH: usize = 256;

/// What tells that a token is near.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clue {
    /// The name of Twilio, whose keys are `SK` and hexadecimal digits.
    Twilio,
    /// The name of Discord, or how its bots log in: its tokens are three parts joined by dots.
    Discord,
    /// `:AA`, which joins the two parts of a Telegram token.
    Telegram,
    /// `Q~`, which a secret of an Entra client has after a digit.
    Entra,
    /// `NRAL`, which ends a New Relic licence key.
    NewRelic,
    /// `.atlasv1.`, which joins the two parts of a Terraform Cloud token.
    Terraform,
    /// The host of Slack's webhooks.
    SlackWebhook,
    /// The path of Discord's webhooks.
    DiscordWebhook,
    /// `eyJ`, the first bytes of a JSON object in base64.
    Jwt,
    /// `:5432:`, the port in a line of PostgreSQL's password file.
    Pgpass,
    /// `sig=` or `-Signature=`, the signature of an address that a store or a service has signed.
    Signature,
}

/// Looks around a clue; the answer is where to search on.
pub(super) fn find(clue: Clue, text: &[u8], anchor: Range<usize>, found: &mut Vec<Found>) -> usize {
    let find = match clue {
        Clue::Twilio => return by_service(text, anchor, found, Kind::TwilioKey, twilio),
        Clue::Discord => return by_service(text, anchor, found, Kind::DiscordToken, discord),
        Clue::Telegram => telegram(text, &anchor).map(|range| (range, Kind::TelegramToken)),
        Clue::Entra => entra(text, &anchor).map(|range| (range, Kind::AzureKey)),
        Clue::NewRelic => new_relic(text, &anchor).map(|range| (range, Kind::NewRelicKey)),
        Clue::Terraform => terraform(text, &anchor).map(|range| (range, Kind::VaultToken)),
        Clue::SlackWebhook => slack_webhook(text, &anchor).map(|range| (range, Kind::SlackWebhook)),
        Clue::DiscordWebhook => {
            discord_webhook(text, &anchor).map(|range| (range, Kind::DiscordWebhook))
        }
        Clue::Jwt => jwt(text, &anchor).map(|range| (range, Kind::Jwt)),
        Clue::Pgpass => pgpass(text, &anchor).map(|range| (range, Kind::Password)),
        Clue::Signature => signature(text, &anchor).map(|range| (range, Kind::SignedUrl)),
    };
    match find {
        Some((range, kind)) => {
            let resume = range.end.max(anchor.end);
            found.push(Found { range, kind });
            resume
        }
        None => anchor.end,
    }
}

/// The first token behind a service's name that `at` finds in a place where one may begin.
fn by_service(
    text: &[u8],
    anchor: Range<usize>,
    found: &mut Vec<Found>,
    kind: Kind,
    at: fn(&[u8], usize) -> Option<Range<usize>>,
) -> usize {
    let reach = anchor.end..text.len().min(anchor.end + REACH);
    let range = reach
        .filter(|&i| matches!(text[i], b'S' | b'M' | b'N' | b'O') && begins(text, i))
        .find_map(|i| at(text, i));
    if let Some(range) = range {
        found.push(Found { range, kind });
    }
    anchor.end
}

/// The secret that goes with an AWS access key's id which ends at `at`: forty bytes of base64 without a name, as consoles
/// and tables print it.
pub(super) fn aws_secret(text: &[u8], at: usize) -> Option<Found> {
    let limit = text.len().min(at + REACH);
    let mut start = at;
    while start < limit {
        let run = text[start..]
            .iter()
            .take(41)
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'+'))
            .count();
        let value = &text[start..start + run];
        let mixed = value.iter().any(u8::is_ascii_uppercase)
            && value.iter().any(u8::is_ascii_lowercase)
            && value.iter().any(u8::is_ascii_digit);
        if run == 40 && mixed && value::is_issued(value) && !value::is_wordy(value) {
            return Some(Found {
                range: start..start + run,
                kind: Kind::AwsSecretKey,
            });
        }
        // An escape's letter is no part of what follows it.
        start += match text.get(start) {
            Some(b'\\') => 2,
            _ => run.max(1),
        };
    }
    None
}

fn twilio(text: &[u8], at: usize) -> Option<Range<usize>> {
    let key = text[at..].starts_with(b"SK")
        && Set::Hex.run(text, at + 2, 32) == 32
        && ends(text, at + 34);
    (key && value::is_issued(&text[at + 2..at + 34])).then_some(at..at + 34)
}

fn discord(text: &[u8], at: usize) -> Option<Range<usize>> {
    let id = Set::Word.run(text, at, 30);
    let time = part(text, at + id, 7)?;
    let mac = part(text, time.end, 45)?;
    let sizes =
        (23..=30).contains(&id) && (6..=7).contains(&time.len()) && (27..=45).contains(&mac.len());
    (sizes && value::is_issued(&text[at..mac.end])).then_some(at..mac.end)
}

fn telegram(text: &[u8], anchor: &Range<usize>) -> Option<Range<usize>> {
    let id = text[..anchor.start]
        .iter()
        .rev()
        .take(12)
        .take_while(|b| b.is_ascii_digit())
        .count();
    let body = Set::Word.run(text, anchor.start + 1, 36);
    let range = anchor.start - id..anchor.start + 1 + body;
    let sizes = (8..=11).contains(&id) && (34..=36).contains(&body);
    (sizes && text[anchor.start + 1..].starts_with(b"AA") && value::is_issued(&text[range.clone()]))
        .then_some(range)
}

fn entra(text: &[u8], anchor: &Range<usize>) -> Option<Range<usize>> {
    let set = |b: u8| Set::Dotted.has(b) || b == b'~';
    let start = anchor.start.checked_sub(4)?;
    let run = text[anchor.end..]
        .iter()
        .take(36)
        .take_while(|&&b| set(b))
        .count();
    let body = value::trim_end(&text[anchor.end..anchor.end + run]).len();
    let range = start..anchor.end + body;
    let whole = text[start..anchor.start].iter().all(|&b| set(b))
        && text[anchor.start - 1].is_ascii_digit()
        && begins(text, start)
        && (31..=34).contains(&body);
    (whole && value::is_issued(&text[range.clone()])).then_some(range)
}

fn new_relic(text: &[u8], anchor: &Range<usize>) -> Option<Range<usize>> {
    let body = Set::Hex.run_back(text, anchor.start, 36);
    let range = anchor.start - body..anchor.end;
    (body == 36
        && begins(text, range.start)
        && ends(text, range.end)
        && value::is_issued(&text[range.clone()]))
    .then_some(range)
}

fn terraform(text: &[u8], anchor: &Range<usize>) -> Option<Range<usize>> {
    let id = Set::Alnum.run_back(text, anchor.start, 14);
    let body = Set::Word.run(text, anchor.end, 100);
    let range = anchor.start - id..anchor.end + body;
    (id == 14
        && begins(text, range.start)
        && (60..=100).contains(&body)
        && value::is_issued(&text[range.clone()]))
    .then_some(range)
}

fn slack_webhook(text: &[u8], anchor: &Range<usize>) -> Option<Range<usize>> {
    let len = text[anchor.end..]
        .iter()
        .take(200)
        .take_while(|&&b| Set::Word.has(b) || b == b'/')
        .count();
    let path = &text[anchor.end..anchor.end + len];
    let kind = path.iter().position(|&b| b == b'/')? + 1;
    let secret = anchor.end + kind..anchor.end + len;
    let value = &text[secret.clone()];
    (value.len() >= 30 && value.contains(&b'/') && value::is_issued(value)).then_some(secret)
}

fn discord_webhook(text: &[u8], anchor: &Range<usize>) -> Option<Range<usize>> {
    let id = text[anchor.end..]
        .iter()
        .take(22)
        .take_while(|b| b.is_ascii_digit())
        .count();
    let slash = anchor.end + id;
    let len = Set::Word.run(text, slash + 1, 100);
    let range = slash + 1..slash + 1 + len;
    ((16..=21).contains(&id) && text.get(slash) == Some(&b'/') && (50..=100).contains(&len))
        .then_some(range)
        .filter(|range| value::is_issued(&text[range.clone()]))
}

/// The longest part of a web token looked at, in bytes.
const MAX_PART: usize = 16 * 1024;

fn jwt(text: &[u8], anchor: &Range<usize>) -> Option<Range<usize>> {
    if !text[anchor.clone()].starts_with(b"eyJ") || !begins(text, anchor.start) {
        return None;
    }
    let head = Set::Word.run(text, anchor.start, MAX_PART);
    let claims = part(text, anchor.start + head, MAX_PART).filter(|claims| claims.len() >= 10)?;
    // The signature may be cut off, or empty; of an encrypted token two more parts follow.
    let mut end = claims.end;
    for _ in 0..3 {
        match part(text, end, MAX_PART) {
            Some(next) => end = next.end,
            None => break,
        }
    }
    let signed = end > claims.end;
    let real = head >= 15 && (signed || value::is_issued(&text[anchor.start..anchor.start + head]));
    real.then_some(anchor.start..end)
}

/// The password in a line of a password file: `host:5432:database:user:password`.
fn pgpass(text: &[u8], anchor: &Range<usize>) -> Option<Range<usize>> {
    let host = Set::Dotted.run_back(text, anchor.start, 1);
    let database = Set::Word.run(text, anchor.end, 64);
    let user = Set::Dotted.run(text, anchor.end + database + 1, 64);
    let start = anchor.end + database + 1 + user + 1;
    let joined = host == 1
        && text.get(anchor.end + database) == Some(&b':')
        && text.get(start - 1) == Some(&b':');
    let ends = |b: u8| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'`' | b'\\');
    let rest = text.get(start..).filter(|_| joined)?;
    let len = rest.iter().take(128).take_while(|&&b| !ends(b)).count();
    value::is_chosen(&rest[..len], Setting::Literal).then_some(start..start + len)
}

/// The signature in an address's query: `&sig=…%3D`, `&X-Amz-Signature=…`.
fn signature(text: &[u8], anchor: &Range<usize>) -> Option<Range<usize>> {
    let name = Set::Word.run_back(text, anchor.start, 16);
    let joined = matches!(text[..anchor.start - name], [.., b'?' | b'&' | b';']);
    if !joined {
        return None;
    }
    let len = Set::Base64.run(text, anchor.end, 1024);
    let range = anchor.end..anchor.end + len;
    ((40..=1024).contains(&len) && value::is_issued(&text[range.clone()])).then_some(range)
}

/// The part behind a dot at `at`: word bytes, at least one.
fn part(text: &[u8], at: usize, most: usize) -> Option<Range<usize>> {
    if text.get(at) != Some(&b'.') {
        return None;
    }
    let len = Set::Word.run(text, at + 1, most);
    (1..=most).contains(&len).then_some(at + 1..at + 1 + len)
}
