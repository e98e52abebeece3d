//! Reports as JSON: the contract that scripts read.
//!
//! Streams to the writer; never builds the whole text in memory. Characters that could control a terminal are escaped.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::ops::Range;

use serde::Serialize;

use super::pieces::in_turn;
use crate::outcome::{Entries, Listed};
use crate::text::{PrintableJson, printable_json};

/// Writes one indented object, followed by a line ending.
pub(super) fn write_pretty(report: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut text = in_pieces(out);
    serde_json::to_writer_pretty(&mut text, report)?;
    text.write_all(b"\n")?;
    done(text)
}

/// Writes one object on one line.
pub(super) fn write_line(report: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut text = in_pieces(out);
    serde_json::to_writer(&mut text, report)?;
    text.write_all(b"\n")?;
    done(text)
}

/// Writes a report with the keys of `head` and then its `files`, which are stored elsewhere: byte for byte as [`write_pretty`]
/// would. All threads of the current pool prepare entries.
pub(super) fn write_list<E: Listed>(
    head: &impl Serialize,
    files: &dyn Entries<E>,
    out: &mut dyn Write,
) -> io::Result<()> {
    #[derive(Serialize)]
    struct Whole<'h, H> {
        #[serde(flatten)]
        head: &'h H,
        files: [(); 0],
    }
    let whole = serde_json::to_vec_pretty(&Whole { head, files: [] })?;
    let begin = whole.strip_suffix(b"]\n}").unwrap_or(&whole);
    out.write_all(&printable(begin.to_vec())?)?;
    write_pieces(files, out, |at, json, text| {
        text.extend_from_slice(if at == 0 { b"\n    " } else { b",\n    " });
        indent(json, 2, text);
    })?;
    out.write_all(if files.is_empty() {
        b"]\n}\n"
    } else {
        b"\n  ]\n}\n"
    })
}

/// Writes each of the `files` on a line. All threads of the current pool prepare them.
pub(super) fn write_each<E: Listed>(files: &dyn Entries<E>, out: &mut dyn Write) -> io::Result<()> {
    write_pieces(files, out, |_, json, text| {
        text.extend_from_slice(json);
        text.push(b'\n');
    })
}

/// Writes the texts of all entries one after the other; `add` appends the text of an entry, given its index and its JSON.
fn write_pieces<E: Listed>(
    files: &dyn Entries<E>,
    out: &mut dyn Write,
    add: impl Fn(usize, &[u8], &mut Vec<u8>) + Sync,
) -> io::Result<()> {
    let piece = |places: Range<usize>| {
        let mut text = Vec::new();
        files.each_json(places, &mut |at, json| add(at, json, &mut text))?;
        printable(text)
    };
    in_turn(files, piece, &mut |text: &Vec<u8>| out.write_all(text))
}

/// JSON, safe to display.
fn printable(json: Vec<u8>) -> io::Result<Vec<u8>> {
    let escaped = match printable_json(text_of(&json)?) {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(text.into_bytes()),
    };
    Ok(escaped.unwrap_or(json))
}

fn text_of(json: &[u8]) -> io::Result<&str> {
    std::str::from_utf8(json).map_err(io::Error::other)
}

/// Appends compact JSON, indented like [`write_pretty`] does at that depth. Parses nothing except where strings end.
fn indent(json: &[u8], mut depth: usize, out: &mut Vec<u8>) {
    let line = |depth: usize, out: &mut Vec<u8>| {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    };
    let mut rest = json;
    while let [first, after @ ..] = rest {
        let mut end = 1;
        match first {
            b'{' | b'[' => {
                out.push(*first);
                match after.first() {
                    Some(close @ (b'}' | b']')) => {
                        out.push(*close);
                        end = 2;
                    }
                    Some(_) | None => {
                        depth += 1;
                        line(depth, out);
                    }
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(depth, out);
                out.push(*first);
            }
            b',' => {
                out.push(b',');
                line(depth, out);
            }
            b':' => out.extend_from_slice(b": "),
            b'"' => {
                end = string(rest);
                out.extend_from_slice(&rest[..end]);
            }
            _ => {
                let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']');
                end = rest.iter().position(is_end).unwrap_or(rest.len());
                out.extend_from_slice(&rest[..end]);
            }
        }
        rest = &rest[end..];
    }
}

/// The length in bytes of the string at the start of `json`.
fn string(json: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &json[at..]) {
        at += found + 1;
        match json[at - 1] {
            b'"' => return at,
            // An escaped character never ends the string.
            _ => at = (at + 1).min(json.len()),
        }
    }
    json.len()
}

/// Passes on what is still buffered; flushing `out` is up to its owner.
fn done(text: BufWriter<PrintableJson<&mut dyn Write>>) -> io::Result<()> {
    text.into_inner()
        .map(drop)
        .map_err(io::IntoInnerError::into_error)
}

/// Buffers writes, so that they are examined in larger pieces: a serialiser writes a few bytes at a time. No write is split, so
/// each piece consists of whole characters.
fn in_pieces(out: &mut dyn Write) -> BufWriter<PrintableJson<&mut dyn Write>> {
    /// Small enough that most pieces are ASCII, which passes through unchanged.
    const PIECE: usize = 4 << 10;
    BufWriter::with_capacity(PIECE, PrintableJson(out))
}

/// Writes a line for each of `files` and a last one for all.
pub(super) fn write_lines<T: Serialize>(
    files: &[T],
    last: &impl Serialize,
    out: &mut dyn Write,
) -> io::Result<()> {
    for file in files {
        write_line(file, out)?;
    }
    write_line(last, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_made_of_text_are_those_of_the_serialiser() {
        let values = [
            r#"{"a":[],"b":{},"c":[{}],"d":[[1,2.50,-3e-7],null,true],"e":{"f":"g"}}"#,
            r#"{"quote\"":"a \"b\": [1, {2}], c\\","":"","\\":"\\\""}"#,
            r#""text""#,
            "[]",
            "17",
        ];
        for text in values {
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            let compact = serde_json::to_vec(&value).unwrap();
            let mut lines = Vec::new();
            indent(&compact, 0, &mut lines);
            assert_eq!(lines, serde_json::to_vec_pretty(&value).unwrap(), "{text}");
        }
    }
}
