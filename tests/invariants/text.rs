//! Texts as in real transcripts, and a JSON writer with the styles of all other writers.
//!
//! Never writes with `serde_json`: spacing, order, escapes, duplicates and long numbers are what matters here.

use super::tape::Tape;

/// Represents half of a surrogate pair, which no `str` can contain; written as an escape.
const HALF: char = '\u{e000}';

/// Beginnings of texts: languages, terminals, JSON in JSON, and texts that compactors and agents write.
const TEXTS: [&str; 20] = [
    "plain words of a tool",
    "fn main() {\n\tlet path = \"C:\\\\x\\u0041\";\n}\n",
    "     1→use std::fs;\r\n     2→\r\n",
    "你好，世界。这是一个测试",
    "ok 🎉👩‍👩‍👧 é ñ \u{301}",
    "\u{1b}[31mred\u{1b}[0m\u{7}\u{0}\u{7f}\u{9b}",
    "{\"a\": [1, \"b\\\"\"], \"messages\": []}",
    "a/b\\c \u{2028}\u{2029}\u{feff}\u{fffd}",
    "  \n\n  leading blanks",
    "12345 67890 3.14 ",
    "Output too large. Saved to: offloaded/0123456789abcdef0123456789abcdef.txt\nPreview:\nx...",
    "Output too large. Saved to: elsewhere.txt\nPreview:\nx...",
    "[Output of Bash cleared - run it again if needed]",
    "[Output compacted - re-read if needed]",
    "<persisted-output>\nOutput too large (141KB). Full output saved to: /t/x.txt\n\nPreview:\n",
    "<system-reminder>remember</system-reminder>",
    "한국어 日本語 العربية עברית हिन्दी",
    "]}],\"role\":\"tool\"\n",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
    "\u{e000} half of a pair \u{e000}\u{e000}",
];

/// Whether a transcript follows all rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// All rules whose violation is an error; warnings are possible.
    Clean,
    /// Anything.
    Noisy,
}

/// A text of a tool: mostly short, sometimes of some thousand characters, rarely of 60 000; a file.
pub(super) fn output(tape: &mut Tape, mode: Mode) -> String {
    if tape.one_in(2) {
        return file(tape);
    }
    let length = match tape.below(48) {
        0..8 => tape.below(24),
        8..32 => tape.below(400),
        32..44 => tape.below(2_000),
        44..47 => tape.below(8_000),
        _ if tape.one_in(4) => tape.below(60_000),
        _ => tape.below(1_000),
    };
    text(tape, mode, length)
}

/// A file, mostly with line numbers, whole or in part, and text that agents add after it.
fn file(tape: &mut Tape) -> String {
    let first = tape.pick(&[1, 1, 1, 3, 2]);
    let lines = first..=first + tape.below(40);
    let style = tape.below(5);
    let lines: Vec<String> = lines
        .map(|n| match style {
            0..3 => format!("{n:6}→\tlet line = {n};"),
            3 => format!("{n:6}\tlet line = {n};"),
            _ => format!("\tlet line = {n};"),
        })
        .collect();
    let after = tape.pick(&[
        "",
        "",
        "\n\n<system-reminder>\nRead with care.\n</system-reminder>\n",
        "\n[7 lines truncated]",
    ]);
    lines.join("\n") + after
}

/// The text of a message: never empty.
pub(super) fn words(tape: &mut Tape, mode: Mode) -> String {
    let length = tape.between(1, 120);
    text(tape, mode, length)
}

fn text(tape: &mut Tape, mode: Mode, length: usize) -> String {
    let own = match mode {
        // Half of a pair is an error in every history.
        Mode::Clean => &TEXTS[..TEXTS.len() - 1],
        Mode::Noisy => &TEXTS[..],
    };
    let beginning = tape.pick(own);
    let more = if tape.one_in(3) {
        tape.pick(own)
    } else {
        TEXTS[0]
    };
    let all = beginning.chars().chain(more.chars().cycle());
    all.take(length).collect()
}

/// A JSON value to be written.
#[derive(Debug, Clone)]
pub(super) enum Json {
    /// As it is.
    Raw(&'static str),
    Number(u64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(&'static str, Json)>),
}

/// A string.
pub(super) fn text_of(text: impl Into<String>) -> Json {
    Json::Text(text.into())
}

/// An object with its keys in this order, unless a [`Style`] changes it.
pub(super) fn object<const N: usize>(entries: [(&'static str, Json); N]) -> Json {
    Json::Object(entries.into())
}

/// Unknown fields: duplicate keys, numbers too large for any machine type, values that other programs would rewrite.
const UNKNOWN: [(&str, &str); 10] = [
    ("weight", "1.0"),
    ("cost", "0.013875000000000002"),
    ("big", "123456789012345678901234567890"),
    ("exp", "-1E+400"),
    ("twice", "{\"a\":1,\"a\": 2}"),
    ("deep", "[[[[[[[[[[[[{\"x\":[]}]]]]]]]]]]]]"),
    ("path", "\"a\\/b\\u00e9\\ud83c\\udf89\""),
    ("none", "null"),
    ("weight", "2"),
    ("nothing", "{ }"),
];

/// Adds unknown fields, some of them twice.
pub(super) fn unknown_fields(tape: &mut Tape, entries: &mut Vec<(&'static str, Json)>) {
    while tape.one_in(6) {
        let (key, value) = tape.pick(&UNKNOWN);
        let at = tape.below(entries.len() + 1);
        entries.insert(at, (key, Json::Raw(value)));
    }
}

/// The style of a writer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    comma: &'static str,
    colon: &'static str,
    inside: &'static str,
    order: Order,
    escapes: Escapes,
}

#[derive(Debug, Clone, Copy)]
enum Order {
    AsGiven,
    Backwards,
    /// The first key comes last.
    FirstLast,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escapes {
    Fewest,
    Ascii,
    AsciiUpper,
    Slashes,
    /// The first character of every string too, including keys.
    More,
}

impl Style {
    /// Any style.
    pub(super) fn any(tape: &mut Tape, mode: Mode) -> Style {
        let (comma, colon, inside) = tape.pick(&[
            (",", ":", ""),
            (", ", ": ", ""),
            (" ,\t", " :  ", " "),
            (",", ": ", "\t"),
        ]);
        let order = tape.pick(&[Order::AsGiven, Order::Backwards, Order::FirstLast]);
        let escapes = [
            Escapes::Fewest,
            Escapes::Ascii,
            Escapes::AsciiUpper,
            Escapes::Slashes,
            Escapes::More,
        ];
        // Only this program recognises a role that is written with escapes, so such a history does not follow all rules.
        let known = escapes.len() - usize::from(mode == Mode::Clean);
        Style {
            comma,
            colon,
            inside,
            order,
            escapes: tape.pick(&escapes[..known]),
        }
    }

    /// The value in this style.
    pub(super) fn write(&self, value: &Json) -> Vec<u8> {
        let mut out = Vec::new();
        self.push(value, &mut out);
        out
    }

    fn push(&self, value: &Json, out: &mut Vec<u8>) {
        match value {
            Json::Raw(raw) => out.extend_from_slice(raw.as_bytes()),
            Json::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Json::Text(text) => self.push_text(text, out),
            Json::List(list) => {
                let items = list.iter();
                self.push_items([b'[', b']'], items, |item, out| self.push(item, out), out);
            }
            Json::Object(entries) => {
                let each = |(key, value): &(&str, Json), out: &mut Vec<u8>| {
                    self.push_text(key, out);
                    out.extend_from_slice(self.colon.as_bytes());
                    self.push(value, out);
                };
                let brackets = [b'{', b'}'];
                match self.order {
                    Order::AsGiven => self.push_items(brackets, entries.iter(), each, out),
                    Order::Backwards => self.push_items(brackets, entries.iter().rev(), each, out),
                    Order::FirstLast => {
                        let items = entries.iter().skip(1).chain(entries.first());
                        self.push_items(brackets, items, each, out);
                    }
                }
            }
        }
    }

    fn push_items<T>(
        &self,
        brackets: [u8; 2],
        items: impl Iterator<Item = T>,
        mut each: impl FnMut(T, &mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        out.push(brackets[0]);
        let mut between = self.inside;
        let mut any = "";
        for item in items {
            out.extend_from_slice(between.as_bytes());
            each(item, out);
            (between, any) = (self.comma, self.inside);
        }
        out.extend_from_slice(any.as_bytes());
        out.push(brackets[1]);
    }

    fn push_text(&self, text: &str, out: &mut Vec<u8>) {
        out.push(b'"');
        let mut done = 0;
        for (at, c) in text.char_indices() {
            let is_escaped = match self.escapes {
                Escapes::Fewest | Escapes::Slashes => false,
                Escapes::Ascii | Escapes::AsciiUpper => !c.is_ascii(),
                Escapes::More => at == 0 || !c.is_ascii(),
            };
            let short: &[u8] = match c {
                HALF => b"\\ud83d",
                '"' => b"\\\"",
                '\\' => b"\\\\",
                '\n' => b"\\n",
                '\r' => b"\\r",
                '\t' => b"\\t",
                '/' if self.escapes == Escapes::Slashes => b"\\/",
                c if is_escaped || c < ' ' => b"",
                _ => continue,
            };
            out.extend_from_slice(&text.as_bytes()[done..at]);
            out.extend_from_slice(short);
            if short.is_empty() {
                self.push_units(c, out);
            }
            done = at + c.len_utf8();
        }
        out.extend_from_slice(&text.as_bytes()[done..]);
        out.push(b'"');
    }

    fn push_units(&self, c: char, out: &mut Vec<u8>) {
        let digits: &[u8; 16] = match self.escapes {
            Escapes::AsciiUpper => b"0123456789ABCDEF",
            Escapes::Fewest | Escapes::Ascii | Escapes::Slashes | Escapes::More => {
                b"0123456789abcdef"
            }
        };
        for unit in c.encode_utf16(&mut [0; 2]) {
            out.extend_from_slice(b"\\u");
            out.extend([12, 8, 4, 0].map(|shift| digits[usize::from(*unit >> shift & 15)]));
        }
    }
}
