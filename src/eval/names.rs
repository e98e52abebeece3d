//! The names in a text, for measuring: things that a later step refers to by their exact spelling.
//!
//! | class | form |
//! | --- | --- |
//! | address | `scheme://` up to a blank, a quote or a bracket |
//! | path | two slashes or more, or an extension; without the working folder, `./`, a line number after it |
//! | id | a UUID, 7 to 40 hex digits of both kinds, `#123`, `ABC-12` |
//! | error | a word that ends with `Error`, `Exception` or `Warning` |
//! | symbol | at least 5 characters: dotted, `a::b`, `snake_case`, `camelCase`, `A_CONST` |
//! | number | at least 3 digits, or a version |
//! | flag | `--x` |
//!
//! Deliberately shares nothing with the summariser's scanner: with a shared scanner, both would miss the same names. One pass over
//! the bytes. Names are ASCII.

use crate::ids::IdSet;

/// The bytes that tokens consist of.
const IN_TOKENS: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 256 {
        let byte = b as u8;
        table[b] = byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'_' | b'.' | b'/' | b'-' | b':' | b'#' | b'@' | b'~' | b'+'
            );
        b += 1;
    }
    table
};

/// Bytes at which an address ends, besides blanks and non-ASCII bytes.
const ENDS_ADDRESS: &[u8] = b"\"'<>()[]{}|\\^`";

/// The maximum length of a name in bytes, and the characters at which a longer word is split.
const LONGEST: usize = 4_096;
const SIGNS: [char; 6] = ['@', '#', '+', '~', '-', ':'];

/// Characters before a name that are not part of it.
const BEFORE_NAME: [char; 3] = [':', '@', '+'];

/// Calls `found` with each name in `text` in order, repeated ones included. Paths are relative to the first of `folders` that
/// they begin with.
pub(super) fn names<'t>(text: &'t str, folders: &Folders, found: &mut impl FnMut(&'t str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !IN_TOKENS[usize::from(bytes[at])] {
            at += 1;
            continue;
        }
        if let Some(end) = end_of_outline(bytes, at) {
            at = end;
            continue;
        }
        let start = at + usize::from(is_of_escape(bytes, at));
        let mut scheme = false;
        while at < bytes.len() && IN_TOKENS[usize::from(bytes[at])] {
            scheme |= bytes[at..].starts_with(b"://")
                && bytes[at.saturating_sub(1)].is_ascii_alphabetic();
            at += 1;
        }
        if scheme {
            let is_in = |b: &u8| b.is_ascii_graphic() && !ENDS_ADDRESS.contains(b);
            at += bytes[at..].iter().take_while(|b| is_in(b)).count();
            let begins = text[start..at].find("://").map_or(start, |colon| {
                let before = &bytes[start..start + colon];
                let scheme = before.iter().rev();
                start + colon - scheme.take_while(|b| b.is_ascii_alphabetic()).count()
            });
            let address = text[begins..at].trim_end_matches(|c: char| {
                !c.is_ascii_alphanumeric() && !matches!(c, '=' | '_' | '%')
            });
            if !address.ends_with(':') && address.contains("://") {
                found(address);
            }
        } else if at - start >= 2 {
            let one = &text[start..at];
            if one.len() <= LONGEST {
                token(one, folders, found);
            } else {
                // No name is that long, and each such character would cause another scan of the rest.
                one.split(SIGNS)
                    .for_each(|part| token(part, folders, found));
            }
        }
    }
}

/// The end of the outline of a vector graphic, as in `<path d="M12 .297c-6.63 0-12 5.373-12 12z"/>`, if its first point is at
/// `start`. Its numbers are coordinates: no later step refers to one of them by itself.
fn end_of_outline(bytes: &[u8], start: usize) -> Option<usize> {
    let [b'M' | b'm', first, ..] = bytes[start..] else {
        return None;
    };
    if !first.is_ascii_digit() && !matches!(first, b' ' | b'.' | b'-') {
        return None;
    }
    let [before @ .., b'"' | b'\''] = &bytes[..start] else {
        return None;
    };
    // In source within a string, the quote is escaped.
    let before = before.strip_suffix(b"\\").unwrap_or(before);
    let [.., blank, b'd', b'='] = before else {
        return None;
    };
    let is_of_outline = |b: &&u8| {
        let commands_and_signs = b"mlhvcsqtaz.,-+e";
        b.is_ascii_digit()
            || b.is_ascii_whitespace()
            || commands_and_signs.contains(&b.to_ascii_lowercase())
    };
    let end = start + bytes[start..].iter().take_while(is_of_outline).count();
    let ends_there = bytes.get(end).is_none_or(|b| !IN_TOKENS[usize::from(*b)]);
    (blank.is_ascii_whitespace() && ends_there).then_some(end)
}

/// Whether the first letter of a token belongs to `\n`, `\t` or `\r`, as in source or JSON within a text, but not in a Windows path
/// such as `C:\name`.
fn is_of_escape(bytes: &[u8], start: usize) -> bool {
    // Limits the search backwards: a text without blanks would be scanned again and again.
    const FAR: usize = 256;
    let before = &bytes[start.saturating_sub(FAR)..start];
    let blank = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'`');
    before.ends_with(b"\\") && matches!(bytes[start], b'n' | b't' | b'r') && {
        let word = before
            .iter()
            .rposition(blank)
            .map_or(before, |at| &before[at + 1..]);
        !word.windows(2).any(|pair| pair == b":\\")
    }
}

/// The agent's working folders: a mention of a path may begin with one of them or not.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Folders {
    paths: IdSet<String>,
    /// The length of the longest, in bytes.
    longest: usize,
}

impl FromIterator<String> for Folders {
    fn from_iter<T: IntoIterator<Item = String>>(paths: T) -> Self {
        let paths: IdSet<String> = paths.into_iter().collect();
        let longest = paths.iter().map(String::len).max().unwrap_or(0);
        Folders { paths, longest }
    }
}

impl Folders {
    /// The normalised form of a path: relative to the longest of the folders that it begins with, and without `./`.
    pub(super) fn spelled<'t>(&self, path: &'t str) -> &'t str {
        let slashes = path.bytes().take(self.longest + 1).enumerate();
        let slashes = slashes.filter(|(_, byte)| *byte == b'/');
        let mut inside = path;
        for (at, _) in slashes {
            if self.paths.contains(&path[..at]) {
                inside = &path[at + 1..];
            }
        }
        while let Some(below) = inside.strip_prefix("./") {
            inside = below;
        }
        inside
    }
}

fn token<'t>(token: &'t str, folders: &Folders, found: &mut impl FnMut(&'t str)) {
    let token = unended(token).trim_start_matches(BEFORE_NAME);
    if !token.contains('/') {
        word(token, found);
        return;
    }
    // Without a folder or `./`, it may again begin with such characters.
    let mut path = folders.spelled(token);
    while let Some(rest) = path.strip_prefix(BEFORE_NAME) {
        path = folders.spelled(rest);
    }
    if is_path(path) {
        found(path);
    } else {
        path.split('/').for_each(|part| word(part, found));
    }
}

/// A token without what may follow a name: punctuation, and the line and column after a path.
fn unended(token: &str) -> &str {
    let mut token = token;
    loop {
        let bare = token.trim_end_matches(['.', ':', '-', '/', '#', '+', '@', '~']);
        let shorter = match bare.rsplit_once(':') {
            Some((before, after))
                if !before.is_empty()
                    && !before.ends_with(':')
                    && after.bytes().all(|b| b.is_ascii_digit()) =>
            {
                before
            }
            Some(_) | None => bare,
        };
        if shorter.len() == token.len() {
            return token;
        }
        token = shorter;
    }
}

fn is_path(token: &str) -> bool {
    let mut slashes = 0;
    let mut letters = 0;
    for byte in token.bytes() {
        slashes += usize::from(byte == b'/');
        letters += usize::from(byte.is_ascii_alphabetic());
    }
    letters > 0 && slashes > 0 && (slashes >= 2 || has_extension(token))
}

/// Whether the last dot is followed by up to five letters and digits, a letter first.
fn has_extension(token: &str) -> bool {
    let last = token.rsplit('/').next().unwrap_or_default();
    last.rsplit_once('.').is_some_and(|(stem, extension)| {
        let begins = extension
            .as_bytes()
            .first()
            .is_some_and(u8::is_ascii_alphabetic);
        let is_all = extension.bytes().all(|b| b.is_ascii_alphanumeric());
        begins && is_all && extension.len() <= 5 && !stem.is_empty()
    })
}

/// A token without slashes.
fn word<'t>(token: &'t str, found: &mut impl FnMut(&'t str)) {
    let mut rest = Some(token);
    while let Some(token) = rest {
        rest = first_word(token, found);
    }
}

/// Reads the word up to the first separator; returns the rest. A token may have thousands of words.
fn first_word<'t>(token: &'t str, found: &mut impl FnMut(&'t str)) -> Option<&'t str> {
    if let Some(flag) = token.strip_prefix("--")
        && flag.len() >= 2
        && flag.as_bytes()[0].is_ascii_alphabetic()
    {
        found(token);
        return None;
    }
    let one = token.trim_start_matches(['.', '-', '~', ':', '@', '+']);
    let one = unended(one);
    let bytes = one.as_bytes();
    if let Some(number) = one.strip_prefix('#')
        && !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
    {
        found(one);
        return None;
    }
    if bytes.len() < 3 {
        return None;
    }
    if is_id(one) || is_number(one) {
        found(one);
        return None;
    }
    // Two words around a character that no symbol contains.
    let is_between = |at: &usize| match bytes[*at] {
        b'#' | b'@' | b'+' | b'~' | b'-' => true,
        b':' => bytes.get(at + 1) != Some(&b':') && (*at == 0 || bytes[at - 1] != b':'),
        _ => false,
    };
    if let Some(at) = (0..bytes.len()).find(is_between) {
        first_word(&one[..at], found);
        return Some(&one[at + 1..]);
    }
    if is_error(one) || is_symbol(one) || (bytes.len() >= 4 && has_extension(one)) {
        found(one);
    }
    None
}

fn is_id(word: &str) -> bool {
    let bytes = word.as_bytes();
    let is_hex = |b: &u8| b.is_ascii_digit() || (b'a'..=b'f').contains(b);
    if bytes.len() == 36 {
        let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
        let mut all = bytes.iter().enumerate();
        return all.all(|(at, b)| {
            let b = b.to_ascii_lowercase();
            if is_dash(at) { b == b'-' } else { is_hex(&b) }
        });
    }
    if (7..=40).contains(&bytes.len()) && bytes.iter().all(is_hex) {
        let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
        return digits > 0 && digits < bytes.len();
    }
    word.split_once('-').is_some_and(|(project, number)| {
        project.len() >= 2
            && project.bytes().all(|b| b.is_ascii_uppercase())
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}

/// Whether a word is a number: at least three digits, or figures with dots between them.
fn is_number(word: &str) -> bool {
    let figures = word.strip_prefix('v').unwrap_or(word);
    let mut digits = 0;
    for byte in figures.bytes() {
        match byte {
            b'0'..=b'9' => digits += 1,
            b'.' => {}
            _ => return false,
        }
    }
    let is_version = figures.contains('.') && digits >= 2;
    is_version || (digits >= 3 && figures.len() == word.len())
}

fn is_error(word: &str) -> bool {
    let ends = ["Error", "Exception", "Warning"].into_iter();
    let mut ends = ends.filter_map(|end| word.strip_suffix(end));
    ends.any(|begins| !begins.is_empty())
}

/// Whether a word is a symbol: dots, colons, underscores or capitals between letters.
fn is_symbol(word: &str) -> bool {
    let joins = |pair: &[u8]| match pair {
        [a, b'_' | b'.' | b':'] => a.is_ascii_alphanumeric(),
        [b'_', b] => b.is_ascii_alphanumeric(),
        [a, b] => a.is_ascii_lowercase() && b.is_ascii_uppercase(),
        _ => false,
    };
    let is_word = word.bytes().any(|b| b.is_ascii_alphabetic());
    // A word that only ends with such a character is followed by punctuation.
    let inside = word.trim_end_matches(['_', '.', ':']).as_bytes();
    word.len() >= 5 && is_word && inside.windows(2).any(joins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<&str> {
        let mut all = Vec::new();
        let folders = Folders::from_iter(["/home/me/app".to_owned()]);
        names(text, &folders, &mut |name| all.push(name));
        all
    }

    #[test]
    fn each_class_has_its_form() {
        let text = "--no-run v1.2 404 12 deadbeef1 deadbeef ABC-12 #7 TypeError Error Vec::new getName MAX_LEN get_x a.txt \
             2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d and/or well-known Hello README e.g. i.e.";
        assert_eq!(
            all(text),
            [
                "--no-run",
                "v1.2",
                "404",
                "deadbeef1",
                "ABC-12",
                "#7",
                "TypeError",
                "Vec::new",
                "getName",
                "MAX_LEN",
                "get_x",
                "a.txt",
                "2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d",
            ]
        );
    }

    #[test]
    fn the_letter_of_an_escape_is_no_part_of_a_name() {
        assert_eq!(
            all(r"a line\nnext_line\tthis.field C:\src\new_dir"),
            ["next_line", "this.field", "new_dir"]
        );
    }

    #[test]
    fn coordinates_of_an_outline_are_no_names() {
        assert_eq!(
            all(
                r##"<path strokeWidth={1.5} d="M12 .297c-6.63 0-12 5.373-12 12" fill="#333"/> d=\"m10 123.5z\" get_x"##
            ),
            ["strokeWidth", "1.5", "#333", "get_x"]
        );
        // Not an outline: other attributes, and numbers in words.
        assert_eq!(
            all(r#"id="M12 345" M12 345 d="M12_345""#),
            ["345", "345", "M12_345"]
        );
    }

    #[test]
    fn a_path_has_one_spelling() {
        for text in [
            "/home/me/app/src/a.rs",
            "src/a.rs:12:5:",
            "`./src/a.rs`,",
            "(src/a.rs)",
            "在src/a.rs里",
        ] {
            assert_eq!(all(text), ["src/a.rs"], "{text}");
        }
        let nested = ["/w", "/w/app"].map(str::to_owned);
        let nested = Folders::from_iter(nested);
        let paths = ["/w/app/a.rs", "/w/app", "/w/./x", "/wide/a.rs", "a.rs"];
        assert_eq!(
            paths.map(|path| nested.spelled(path)),
            ["a.rs", "app", "x", "/wide/a.rs", "a.rs"]
        );
        assert_eq!(all("/etc/hosts a/b/c x/y"), ["/etc/hosts", "a/b/c"]);
        assert_eq!(all("/home/me/app/Makefile"), Vec::<&str>::new());
        assert_eq!(all("get_one/get_two"), ["get_one", "get_two"]);
    }

    #[test]
    fn an_address_goes_on_to_a_blank() {
        assert_eq!(
            all("see (https://a.b/c?d=e&f#g), or http://x.y/."),
            ["https://a.b/c?d=e&f#g", "http://x.y"]
        );
    }

    #[test]
    fn signs_part_words() {
        assert_eq!(
            all("react@18.2.0 is_it:not_it -- ---"),
            ["18.2.0", "is_it", "not_it"]
        );
        assert_eq!(all("./@//a @./b/c/d"), ["//a", "b/c/d"]);
        assert_eq!(
            all("ends_here. and_here: so_on_"),
            ["ends_here", "and_here", "so_on_"]
        );
    }

    proptest::proptest! {
        #[test]
        fn a_name_is_a_name_wherever_it_stands(text in "[ a-dA-C0-2_./:#@~+(é\\-]{0,40}") {
            for name in all(&text) {
                assert!(text.contains(name) && name.is_ascii());
                assert_eq!(all(&format!("({name})")), [name], "{text}");
            }
        }

        #[test]
        fn any_text_can_be_looked_through(text in "\\PC{0,60}") {
            assert!(all(&text).iter().all(|name| text.contains(name)));
        }
    }
}
