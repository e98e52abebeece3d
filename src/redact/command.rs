//! Finds passwords in arguments of commands: `curl -u user:…`, `mysql -p…`, `sshpass -p …`, `identified by '…'`.
//!
//! Never looks past the command's line.

use std::ops::Range;

use super::Found;
use super::bytes::{Quote, line_end, skip_blanks};
use super::kind::Kind;
use super::value::{self, Setting};

/// The maximum number of bytes of a command's line that are examined.
const MAX_LINE: usize = 1024;

/// A flag that takes a secret.
struct Flag {
    command: &'static str,
    flag: &'static str,
    takes: Takes,
}

/// What a flag takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// `user:password`, as the next word.
    Login,
    /// A password as the next word.
    Word,
    /// A password in the same word as the flag.
    Attached,
    /// `name=value`, a cookie, as the next word.
    Cookie,
    /// A password in quotes, as in SQL.
    Quoted,
}

const FLAGS: &[Flag] = &[
    flag("curl ", " -u", Takes::Login),
    flag("curl ", " --user ", Takes::Login),
    flag("curl ", " --user=", Takes::Login),
    flag("curl ", " --proxy-user ", Takes::Login),
    flag("curl ", " -b ", Takes::Cookie),
    flag("mongo", " -p ", Takes::Word),
    flag("mysql", " -p", Takes::Attached),
    flag("sshpass ", " -p ", Takes::Word),
    flag("sshpass ", " -p", Takes::Attached),
    flag("redis-cli ", " -a ", Takes::Word),
    flag("docker login ", " -p ", Takes::Word),
    flag("identified by ", " ", Takes::Quoted),
];

const fn flag(command: &'static str, flag: &'static str, takes: Takes) -> Flag {
    Flag {
        command,
        flag,
        takes,
    }
}

/// Searches the rest of a command's line, up to where the same command occurs again. The search continues after the command's
/// name.
pub(super) fn find(text: &[u8], anchor: Range<usize>, found: &mut Vec<Found>) -> usize {
    let command = &text[anchor.clone()];
    let line = &text[..line_end(text, anchor.end, MAX_LINE)];
    let again = line[anchor.end..]
        .windows(command.len())
        .position(|part| part == command);
    let line = &line[..again.map_or(line.len(), |at| anchor.end + at)];
    // The blank that ends an anchor may begin the first flag.
    let args = anchor.end - usize::from(command.ends_with(b" "));
    for flag in FLAGS
        .iter()
        .filter(|flag| command.eq_ignore_ascii_case(flag.command.as_bytes()))
    {
        let places = line[args..].windows(flag.flag.len()).enumerate();
        for (i, _) in places.filter(|(_, part)| *part == flag.flag.as_bytes()) {
            let range = flag.takes.argument(text, args + i + flag.flag.len());
            found.extend(range.map(|range| Found {
                range,
                kind: flag.takes.kind(),
            }));
        }
    }
    anchor.end
}

impl Takes {
    fn kind(self) -> Kind {
        match self {
            Takes::Cookie => Kind::SessionCookie,
            Takes::Login | Takes::Word | Takes::Attached | Takes::Quoted => Kind::Password,
        }
    }

    /// The secret in the argument at `at`.
    fn argument(self, text: &[u8], at: usize) -> Option<Range<usize>> {
        let at = match self {
            Takes::Attached => at,
            Takes::Login | Takes::Word | Takes::Cookie | Takes::Quoted => skip_blanks(text, at),
        };
        let word = match Quote::at(text, at) {
            Some(quote) => quote.quoted(text, MAX_LINE)?,
            None if self == Takes::Quoted => return None,
            None => bare_word(text, at),
        };
        let after = |mark: u8| {
            let at = text[word.clone()].iter().position(|&b| b == mark)?;
            Some(word.start + at + 1..word.end)
        };
        let range = match self {
            Takes::Login => after(b':')?,
            Takes::Cookie => after(b'=')?,
            Takes::Word | Takes::Attached | Takes::Quoted => word,
        };
        let value = &text[range.clone()];
        let secret = value::is_machine_made(value, Setting::Literal)
            || self != Takes::Cookie && value::is_chosen(value, Setting::Literal);
        secret.then_some(range)
    }
}

/// The password in `echo '…' | sudo -S`, where `sudo -` is at `anchor`.
pub(super) fn piped(text: &[u8], anchor: Range<usize>) -> Option<Range<usize>> {
    let flags = text[anchor.end..]
        .iter()
        .take_while(|b| b.is_ascii_alphabetic());
    if !flags.clone().any(|flag| *flag == b'S') {
        return None;
    }
    let start = anchor.start.saturating_sub(MAX_LINE);
    let before = text[start..anchor.start]
        .trim_ascii_end()
        .strip_suffix(b"|")?;
    let echo = before.windows(5).rposition(|five| five == b"echo ")?;
    let mut at = skip_blanks(text, start + echo + 5);
    for flag in [b"-n ", b"-e ", b"-E "] {
        if text[at..].starts_with(flag) {
            at = skip_blanks(text, at + flag.len());
        }
    }
    let end = start + before.len();
    let word = match Quote::at(text, at) {
        Some(quote) => quote.quoted(text, MAX_LINE)?,
        None => bare_word(text, at),
    };
    // A variable is not a password, and text after another command does not belong to this one.
    let value = &text[word.clone()];
    (word.end <= end && value::is_chosen(value, Setting::Literal)).then_some(word)
}

fn bare_word(text: &[u8], at: usize) -> Range<usize> {
    let ends =
        |b: u8| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'`' | b'\\' | b';' | b'|');
    let len = text[at..]
        .iter()
        .take(MAX_LINE)
        .take_while(|&&b| !ends(b))
        .count();
    at..at + len
}
