//! Pictures, documents and other non-text parts of typed messages: their kinds and sizes, if the transcript has them.
//!
//! Reads only the first bytes of a picture. Never opens a URL.

use crate::scan::{Cursor, Kind, Parse, Value, unescape};
use crate::transcript::{Block, BlockKind, Transcript};

/// The type of an attachment with what the user typed while the agent was working.
const QUEUED: &[u8] = b"queued_command";

/// The maximum depth to which nested values are searched.
const DEEPEST: u8 = 4;

/// What is known about a picture or a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picture {
    what: &'static str,
    /// Its media type.
    media: String,
    /// Its size in bytes, if it is in the transcript.
    bytes: Option<u64>,
    /// Its width and height in pixels, if its first bytes say so.
    pixels: Option<(u32, u32)>,
}

/// What is known about a block, if it is a picture, a document, or a part that no reader knows.
pub fn picture(transcript: &Transcript<'_>, block: &Block) -> Option<Picture> {
    let raw = transcript.bytes(block.line, block.value);
    let what = match block.kind {
        BlockKind::Image => "picture",
        BlockKind::Document => "document",
        BlockKind::Text
        | BlockKind::Thinking
        | BlockKind::Redacted
        | BlockKind::Call
        | BlockKind::Result
        | BlockKind::Server
        | BlockKind::Attachment => return None,
        BlockKind::Other => return Some(Picture::of_part(raw)),
    };
    Some(Picture::of_raw(what, raw))
}

/// The non-text parts in an attachment with what the user typed while the agent was working.
pub fn queued_pictures(transcript: &Transcript<'_>, block: &Block) -> Vec<Picture> {
    let mut pictures = Vec::new();
    let attachment = Value::of(transcript.bytes(block.line, block.value));
    let [kind, prompt] = attachment.fields(["type", "prompt"]);
    if block.kind == BlockKind::Attachment && kind.string() == Some(QUEUED) {
        prompt.elements(|part| pictures.extend(Picture::of(part)));
    }
    pictures
}

/// Whether a text consists of lines like those of [`Picture::description`].
pub fn describes_pictures(text: &str) -> bool {
    text.split('\n').all(|line| {
        let begins = ["[picture: ", "[document: ", "[part: "]
            .iter()
            .any(|begin| line.starts_with(begin));
        begins && line.ends_with(']')
    })
}

impl Picture {
    /// What is known about a block of a message; `None` for text.
    fn of(block: Value<'_>) -> Option<Self> {
        let what = match block.field("type").string().unwrap_or_default() {
            b"text" => return None,
            b"image" => "picture",
            b"document" => "document",
            _ => return Some(Picture::of_part(block.raw())),
        };
        Some(Picture::of_raw(what, block.raw()))
    }

    /// A picture or a document.
    fn of_raw(what: &'static str, raw: &[u8]) -> Self {
        let mut picture = Picture {
            what,
            ..Picture::default()
        };
        // The line was parsed before. Should it fail here, what was found so far is used.
        let _ = picture.read(b"", &mut Cursor::new(raw), DEEPEST);
        picture
    }

    /// A part of another type: its name and its size as written.
    fn of_part(raw: &[u8]) -> Self {
        let kind = Value::of(raw).field("type").string().unwrap_or_default();
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
        let media = match kind.len() < 80 && kind.iter().all(is_plain) {
            true => String::from_utf8_lossy(kind).into_owned(),
            false => String::new(),
        };
        Picture {
            what: "part",
            media,
            bytes: Some(raw.len() as u64),
            pixels: None,
        }
    }

    /// The text in a summary, with the line (from 1) of its message: `[picture: image/png, 640x480, 12 kB, L12]`.
    pub fn description(&self, line: u64) -> String {
        let pixels = self
            .pixels
            .map(|(width, height)| format!("{width}x{height}"));
        let size = self.bytes.map(|bytes| match bytes {
            ..1_000 => format!("{bytes} bytes"),
            bytes => format!("{} kB", bytes.div_ceil(1_000)),
        });
        let media = Some(self.media.clone()).filter(|media| !media.is_empty());
        let known: Vec<String> = [media, pixels, size, Some(format!("L{line}"))]
            .into_iter()
            .flatten()
            .collect();
        format!("[{}: {}]", self.what, known.join(", "))
    }

    fn read(&mut self, key: &[u8], cursor: &mut Cursor<'_>, levels: u8) -> Parse<()> {
        let line = cursor.line();
        match cursor.kind()? {
            Kind::Object if levels > 0 => cursor
                .object(|key, cursor| self.read(key, cursor, levels - 1))
                .map(drop),
            Kind::String => {
                self.value(key, cursor.string()?.span.of(line));
                Ok(())
            }
            Kind::Object | Kind::Array | Kind::Number | Kind::Bool | Kind::Null => {
                cursor.skip().map(drop)
            }
        }
    }

    fn value(&mut self, key: &[u8], value: &[u8]) {
        let value: &[u8] = &unescape(value);
        match key {
            b"media_type" | b"mediaType" | b"mimeType" => self.media(value),
            // A data URL, or only its content.
            b"data" | b"image" | b"url" | b"image_url" | b"file_data" | b"file" => {
                match value.strip_prefix(b"data:") {
                    Some(rest) => {
                        let comma = rest
                            .iter()
                            .position(|byte| *byte == b',')
                            .unwrap_or(rest.len());
                        let (head, data) = rest.split_at(comma);
                        self.media(head.split(|byte| *byte == b';').next().unwrap_or_default());
                        self.data(data.strip_prefix(b",").unwrap_or_default());
                    }
                    None if !value.contains(&b':') => self.data(value),
                    None => {}
                }
            }
            _ => {}
        }
    }

    /// Sets the media type if the value has the form of one: other text is not repeated.
    fn media(&mut self, value: &[u8]) {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/+.-".contains(byte);
        if self.media.is_empty()
            && value.len() < 80
            && value.contains(&b'/')
            && value.iter().all(is_plain)
        {
            self.media = String::from_utf8_lossy(value).into_owned();
        }
    }

    /// Reads base64 data.
    fn data(&mut self, data: &[u8]) {
        let unpadded = data.iter().rev().skip_while(|byte| **byte == b'=').count() as u64;
        if unpadded == 0 {
            return;
        }
        self.bytes = Some(unpadded * 3 / 4);
        self.pixels = pixels(&decoded(data));
    }
}

/// Decodes the first bytes of base64 text, enough for a header.
fn decoded(data: &[u8]) -> Vec<u8> {
    const CHARACTERS: usize = 32;
    let digit = |byte: &u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let digits: Vec<u8> = data.iter().take(CHARACTERS).map_while(digit).collect();
    let mut bytes = Vec::with_capacity(CHARACTERS);
    for four in digits.chunks_exact(4) {
        let bits = four
            .iter()
            .fold(0_u32, |bits, digit| bits << 6 | u32::from(*digit));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
    bytes
}

/// The width and height in a picture's header, for formats that begin with them.
fn pixels(header: &[u8]) -> Option<(u32, u32)> {
    let be = |at: usize| {
        let four = header.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_be_bytes(four))
    };
    let le = |at: usize| {
        let two = header.get(at..at + 2)?.try_into().ok()?;
        Some(u32::from(u16::from_le_bytes(two)))
    };
    if header.starts_with(b"\x89PNG\r\n\x1a\n") && header.get(12..16) == Some(b"IHDR") {
        return Some((be(16)?, be(20)?));
    }
    if header.starts_with(b"GIF8") {
        return Some((le(6)?, le(8)?));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, Warnings};

    /// The texts for the pictures of a message whose content is this list.
    fn descriptions(format: Format, content: &str) -> Vec<String> {
        let line = format!(r#"{{"role":"user","content":{content}}}"#);
        let transcript = format.read(line.as_bytes(), 1, &mut Warnings::default());
        let conversation = &transcript.conversations[0];
        let blocks = conversation.blocks(&conversation.messages[0]).iter();
        let pictures = blocks.filter_map(|block| picture(&transcript, transcript.block(*block)));
        pictures.map(|picture| picture.description(12)).collect()
    }

    #[test]
    fn a_picture_says_what_its_header_and_its_length_say() {
        // A PNG of 640 by 480.
        const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAoAAAAHgCAYAAAA=";
        let anthropic = format!(
            r#"[{{"type":"text","text":"see"}},{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{PNG}"}}}}]"#
        );
        assert_eq!(
            descriptions(Format::Anthropic, &anthropic),
            ["[picture: image/png, 640x480, 29 bytes, L12]"]
        );
        let openai = format!(
            r#"[{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{PNG}"}}}}]"#
        );
        assert_eq!(
            descriptions(Format::OpenAi, &openai),
            ["[picture: image/png, 640x480, 29 bytes, L12]"]
        );
        let escaped = openai.replace("image/png;", r"image\/png;");
        assert_eq!(
            descriptions(Format::OpenAi, &escaped),
            ["[picture: image/png, 640x480, 29 bytes, L12]"]
        );
        let ai_sdk = format!(r#"[{{"type":"image","image":"{PNG}","mediaType":"image/png"}}]"#);
        assert_eq!(
            descriptions(Format::AiSdk, &ai_sdk),
            ["[picture: image/png, 640x480, 29 bytes, L12]"]
        );
    }

    #[test]
    fn what_is_not_known_is_not_told() {
        let one = |source: &str| {
            let content = format!(r#"[{{"type":"image","source":{source}}}]"#);
            descriptions(Format::Anthropic, &content)
        };
        assert_eq!(
            one(r#"{"type":"url","url":"https://example.com/a.png"}"#),
            ["[picture: L12]"]
        );
        assert_eq!(
            one(r#"{"media_type":"no\nmedia/type","data":""}"#),
            ["[picture: L12]"]
        );
        let long = format!(
            r#"{{"media_type":"image/webp","data":"{}"}}"#,
            "UklG".repeat(1_000)
        );
        assert_eq!(one(&long), ["[picture: image/webp, 3 kB, L12]"]);
        let pdf = r#"[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERg=="}}]"#;
        assert_eq!(
            descriptions(Format::Anthropic, pdf),
            ["[document: application/pdf, 4 bytes, L12]"]
        );
    }
}
