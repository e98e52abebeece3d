//! A second reader of JSON, so that errors of the program's own reader are not repeated here.
//!
//! Simple recursion over bytes, which builds a tree of spans. Reads what `serde_json` cannot represent (lone surrogates,
//! duplicate keys, bytes that are not UTF-8); a caller first asks `serde_json` whether a line is JSON at all.

use std::ops::Range;

/// A value and where it is in its line.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// From its first byte to the byte after its last one.
    pub span: Range<usize>,
    /// What it is.
    pub kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// Unescaped keys, in their order on the line.
    Object(Vec<(String, Node)>),
    List(Vec<Node>),
    Text,
    /// A number, `true`, `false` or `null`.
    Plain,
    /// A value that a model reads as written.
    Json,
}

/// The object on a line; `None` where there is none.
pub(super) fn object(line: &[u8]) -> Option<Node> {
    // `serde_json` checks what it skips like everything else, except the meaning of surrogates.
    let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
    let mut at = 0;
    let node = is_json.then(|| value(line, &mut at))?;
    matches!(node.kind, Kind::Object(_)).then_some(node)
}

fn value(line: &[u8], at: &mut usize) -> Node {
    white(line, at);
    let start = *at;
    let kind = match line[start] {
        b'{' => {
            let mut entries = Vec::new();
            items(line, at, |at| {
                let key = value(line, at);
                white(line, at);
                *at += 1;
                entries.push((key.text(line), value(line, at)));
            });
            Kind::Object(entries)
        }
        b'[' => {
            let mut list = Vec::new();
            items(line, at, |at| list.push(value(line, at)));
            Kind::List(list)
        }
        b'"' => {
            *at += 1;
            while line[*at] != b'"' {
                *at += if line[*at] == b'\\' { 2 } else { 1 };
            }
            *at += 1;
            Kind::Text
        }
        _ => {
            let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
            *at += line[start..].iter().take_while(|b| is_part(b)).count();
            Kind::Plain
        }
    };
    Node {
        span: start..*at,
        kind,
    }
}

/// Reads from an opening bracket to the byte after its closing one.
fn items(line: &[u8], at: &mut usize, mut item: impl FnMut(&mut usize)) {
    *at += 1;
    loop {
        white(line, at);
        match line[*at] {
            b'}' | b']' => break,
            b',' => *at += 1,
            _ => item(at),
        }
    }
    *at += 1;
}

fn white(line: &[u8], at: &mut usize) {
    while matches!(line.get(*at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        *at += 1;
    }
}

impl Node {
    /// The value under a key; of a duplicate key the last one counts.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let Kind::Object(entries) = &self.kind else {
            return None;
        };
        let entry = entries.iter().rfind(|(name, _)| name == key)?;
        Some(&entry.1)
    }

    /// The elements of a list; none if it is not a list.
    pub(super) fn list(&self) -> &[Node] {
        match &self.kind {
            Kind::List(list) => list,
            Kind::Object(_) | Kind::Text | Kind::Plain | Kind::Json => &[],
        }
    }

    /// The members of an object; none if it is not one.
    pub(super) fn members(&self) -> &[(String, Node)] {
        match &self.kind {
            Kind::Object(entries) => entries,
            Kind::List(_) | Kind::Text | Kind::Plain | Kind::Json => &[],
        }
    }

    /// Whether it is a value that a model reads as written.
    pub(super) fn is_json(&self) -> bool {
        matches!(self.kind, Kind::Json)
    }

    /// Whether it is a string.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.kind, Kind::Text)
    }

    /// Whether it is an object.
    pub(super) fn is_object(&self) -> bool {
        matches!(self.kind, Kind::Object(_))
    }

    /// Whether it is a list.
    pub(super) fn is_list(&self) -> bool {
        matches!(self.kind, Kind::List(_))
    }

    /// Its bytes.
    pub(super) fn of<'l>(&self, line: &'l [u8]) -> &'l [u8] {
        &line[self.span.clone()]
    }

    /// The number, if it is an integer.
    pub(super) fn number(&self, line: &[u8]) -> Option<u64> {
        let is_plain = matches!(self.kind, Kind::Plain);
        let digits = std::str::from_utf8(self.of(line))
            .ok()
            .filter(|_| is_plain)?;
        digits.parse().ok()
    }

    /// The unescaped text of a string; empty if it is not a string. A lone surrogate becomes U+FFFD, like an invalid byte.
    pub(super) fn text(&self, line: &[u8]) -> String {
        String::from_utf8_lossy(&self.text_bytes(line)).into_owned()
    }

    /// The unescaped bytes of a string; invalid bytes stay as they are.
    pub(super) fn text_bytes(&self, line: &[u8]) -> Vec<u8> {
        if !self.is_text() {
            return Vec::new();
        }
        let raw = &line[self.span.start + 1..self.span.end - 1];
        let mut said = Vec::with_capacity(raw.len());
        let mut at = 0;
        while at < raw.len() {
            if raw[at] != b'\\' {
                said.push(raw[at]);
                at += 1;
                continue;
            }
            let c = match raw[at + 1] {
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'u' => {
                    let (c, length) = unit(raw, at);
                    at += length - 2;
                    c
                }
                other => char::from(other),
            };
            at += 2;
            said.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        said
    }
}

/// The character of a `\u` escape, and its length in bytes.
fn unit(raw: &[u8], at: usize) -> (char, usize) {
    let hex = |at: usize| {
        let digits = raw.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let units: Vec<u16> = [at, at + 6].into_iter().map_while(hex).collect();
    match char::decode_utf16(units).next() {
        Some(Ok(c)) if c.len_utf16() == 2 => (c, 12),
        Some(Ok(c)) => (c, 6),
        Some(Err(_)) | None => (char::REPLACEMENT_CHARACTER, 6),
    }
}
