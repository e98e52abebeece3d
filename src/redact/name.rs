//! Classifies a name: whether a value assigned to it is a secret, and of which kind.
//!
//! Never sees the value.

use super::kind::Kind;

/// What a name shows about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Noun {
    /// A password: people choose them.
    Password,
    /// A secret that may even be a hexadecimal digest or a UUID: an API key, a client's secret.
    Strong,
    /// A token, which may also be something else: a parser's token, a page token.
    Weak,
}

/// A name's noun and the kind of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) noun: Noun,
    pub(super) kind: Kind,
}

/// Endings of names, ignoring case and separators; the first match classifies the name.
const ENDS: &[(&str, Noun)] = &[
    ("password", Noun::Password),
    ("passwd", Noun::Password),
    ("passphrase", Noun::Password),
    ("passcode", Noun::Password),
    ("pwd", Noun::Password),
    ("secret", Noun::Strong),
    ("secretkey", Noun::Strong),
    ("secretkeybase", Noun::Strong),
    ("accesskey", Noun::Strong),
    ("apikey", Noun::Strong),
    ("apitoken", Noun::Strong),
    ("apisecret", Noun::Strong),
    ("authtoken", Noun::Strong),
    ("authkey", Noun::Strong),
    ("accesstoken", Noun::Strong),
    ("refreshtoken", Noun::Strong),
    ("privatekey", Noun::Strong),
    ("encryptionkey", Noun::Strong),
    ("signingkey", Noun::Strong),
    ("masterkey", Noun::Strong),
    ("accountkey", Noun::Strong),
    ("storagekey", Noun::Strong),
    ("sharedkey", Noun::Strong),
    ("serviceaccountkey", Noun::Strong),
    ("servicekey", Noun::Strong),
    ("servicerolekey", Noun::Strong),
    ("licensekey", Noun::Strong),
    ("subscriptionkey", Noun::Strong),
    ("deploykey", Noun::Strong),
    ("hmackey", Noun::Strong),
    ("jwtkey", Noun::Strong),
    ("appkey", Noun::Strong),
    ("applicationkey", Noun::Strong),
    ("adminkey", Noun::Strong),
    ("writekey", Noun::Strong),
    ("ingestkey", Noun::Strong),
    ("keydata", Noun::Strong),
    ("token", Noun::Weak),
];

/// Parts of names that are public, or whose tokens and keys are a program's own.
const HARMLESS: &[&str] = &[
    "public",
    "page",
    "next",
    "cancel",
    "continuation",
    "cursor",
    "sync",
    "bos",
    "eos",
    "unk",
    "csrf",
    "xsrf",
    "lex",
    "parse",
    "syntax",
    "idempoten",
    "cache",
    "shortcut",
    "integrity",
    "design",
];

impl Name {
    /// The classification of `name`, if its value is a secret. In a query, `key` counts as well.
    pub(super) fn of(name: &[u8], context: NameContext) -> Option<Name> {
        let mut joined = [0u8; 64];
        let mut len = 0;
        for &b in name
            .iter()
            .rev()
            .filter(|b| b.is_ascii_alphanumeric())
            .take(64)
        {
            joined[len] = b.to_ascii_lowercase();
            len += 1;
        }
        let joined = &mut joined[..len];
        joined.reverse();
        let digits = joined
            .iter()
            .rev()
            .take_while(|b| b.is_ascii_digit())
            .count();
        let joined = &joined[..len - digits];
        let (end, noun) = ENDS
            .iter()
            .filter(|(end, _)| joined.ends_with(end.as_bytes()))
            .max_by_key(|(end, _)| end.len())
            .copied()
            .or_else(|| short(name, joined, context))?;
        let before = &joined[..joined.len() - end.len()];
        let has = |part: &str| before.windows(part.len()).any(|w| w == part.as_bytes());
        if HARMLESS.iter().any(|part| has(part)) {
            return None;
        }
        let kind = match noun {
            Noun::Password => Kind::Password,
            Noun::Strong if end == "accountkey" || end == "storagekey" => Kind::AzureKey,
            Noun::Strong if end == "accesskey" && has("shared") => Kind::AzureKey,
            Noun::Strong if end == "accesskey" && has("secret") => Kind::AwsSecretKey,
            Noun::Strong | Noun::Weak if has("twilio") => Kind::TwilioKey,
            Noun::Strong | Noun::Weak if has("discord") => Kind::DiscordToken,
            Noun::Strong | Noun::Weak if has("databricks") => Kind::DatabricksToken,
            Noun::Strong | Noun::Weak => Kind::Secret,
        };
        Some(Name { noun, kind })
    }
}

/// Where a name occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameContext {
    /// In an address, after `?` or `&`.
    Query,
    /// Anywhere else.
    Text,
}

/// Names too short to be recognised by their end: `DB_PASS`, `dbPass`, `?key=`.
fn short(name: &[u8], joined: &[u8], context: NameContext) -> Option<(&'static str, Noun)> {
    if context == NameContext::Query && joined == b"key" {
        return Some(("key", Noun::Strong));
    }
    let before = name.len().checked_sub(4)?;
    let apart = match name[..before].last() {
        None => true,
        Some(b'_' | b'-' | b'.') => true,
        Some(_) => name[before] == b'P' && name[before + 1] == b'a',
    };
    if name.ends_with(b"_PAT") {
        return Some(("pat", Noun::Strong));
    }
    (joined.ends_with(b"pass") && name.to_ascii_lowercase().ends_with(b"pass") && apart)
        .then_some(("pass", Noun::Password))
}
