//! Pictures and documents: reads the forms of all formats and writes them in the form of a target.
//!
//! Never changes data, and never fetches a URL.

use std::borrow::Cow;

use super::json::{escaped, push_quoted};
use crate::scan::{Kind, Value, unescape};
use crate::transcript::BlockKind;

/// A picture or a document.
#[derive(Debug, Clone)]
pub(super) struct Media<'t> {
    /// The media type, if stated or recognisable.
    pub(super) mime: Cow<'t, [u8]>,
    /// The source of its data.
    pub(super) source: Source<'t>,
    /// The name of its file.
    pub(super) name: Option<Cow<'t, [u8]>>,
}

/// Where the data is.
#[derive(Debug, Clone)]
pub(super) enum Source<'t> {
    /// Inline, in base64.
    Data(Cow<'t, [u8]>),
    /// At a URL.
    Url(Cow<'t, [u8]>),
    /// Inline, as text.
    Text(Cow<'t, [u8]>),
}

/// The picture types that Anthropic's API accepts.
const PICTURES: [&[u8]; 4] = [b"image/png", b"image/jpeg", b"image/gif", b"image/webp"];
/// The beginnings of such pictures in base64.
const BEGINNINGS: [&[u8]; 4] = [b"iVBORw0", b"/9j/", b"R0lGOD", b"UklGR"];

impl<'t> Media<'t> {
    /// Reads a block in any of the known forms.
    pub(super) fn of(block: Value<'t>) -> Option<Self> {
        let [mime, name, title] = block.fields(["mediaType", "filename", "title"]);
        let [camel, short] = block.fields(["mimeType", "mime"]);
        let mime = [mime, camel, short].into_iter().find_map(Value::unescaped);
        let name = [name, title].into_iter().find_map(Value::unescaped);
        let mut media = Media::placed(block)?;
        media.name = media.name.or(name);
        if media.mime.is_empty() {
            media.mime = mime.unwrap_or_default();
        }
        if let Source::Data(data) = &media.source
            && (media.mime.is_empty() || media.mime.ends_with(b"/*"))
        {
            let of = BEGINNINGS.iter().position(|begin| data.starts_with(begin));
            media.mime = Cow::Borrowed(of.map_or(&b""[..], |of| PICTURES[of]));
        }
        Some(media)
    }

    /// Finds the data, wherever the form holds it.
    fn placed(block: Value<'t>) -> Option<Self> {
        let [source, picture, camel, inline] =
            block.fields(["source", "image_url", "imageUrl", "inlineData"]);
        let [uri, image, data, url, file] =
            block.fields(["fileData", "image", "data", "url", "file"]);
        let [parsed, named] = block.fields(["file_data", "file_url"]);
        if source.kind() == Some(Kind::Object) {
            let [kind, mime, data, url] = source.fields(["type", "media_type", "data", "url"]);
            return match kind.string()? {
                b"base64" => Media::new(Source::Data(data.unescaped()?), mime),
                b"url" => Media::new(Source::Url(url.unescaped()?), mime),
                b"text" => Media::new(Source::Text(data.unescaped()?), mime),
                _ => None,
            };
        }
        for at in [picture, camel] {
            let of = match at.kind() {
                Some(Kind::Object) => at.field("url"),
                _ => at,
            };
            if let Some(url) = of.unescaped() {
                return Some(Media::at(url));
            }
        }
        let [mime, within] = inline.fields(["mimeType", "data"]);
        if let Some(data) = within.unescaped() {
            return Media::new(Source::Data(data), mime);
        }
        let [mime, place] = uri.fields(["mimeType", "fileUri"]);
        if let Some(place) = place.unescaped() {
            return Media::new(Source::Url(place), mime);
        }
        let [within, name] = file.fields(["file_data", "filename"]);
        let texts = [image, data, url, parsed, within, named];
        let text = texts.into_iter().find_map(Value::unescaped)?;
        let mut media = Media::at(text);
        media.name = name.unescaped();
        Some(media)
    }

    fn new(source: Source<'t>, mime: Value<'t>) -> Option<Self> {
        Some(Media {
            mime: mime.unescaped().unwrap_or_default(),
            source,
            name: None,
        })
    }

    /// Reads a URL, with or without the data in it, or the data itself.
    fn at(text: Cow<'t, [u8]>) -> Self {
        let within = text.strip_prefix(b"data:").and_then(|rest| {
            let at = memchr::memmem::find(rest, b";base64,")?;
            Some((rest[..at].to_vec(), rest[at + 8..].to_vec()))
        });
        let is_url = [&b"http://"[..], b"https://", b"gs://", b"file://", b"data:"];
        let (mime, source) = match within {
            Some((mime, data)) => (mime, Source::Data(Cow::Owned(data))),
            None if is_url.iter().any(|begin| text.starts_with(begin)) => {
                (Vec::new(), Source::Url(text))
            }
            None => (Vec::new(), Source::Data(text)),
        };
        Media {
            mime: Cow::Owned(mime),
            source,
            name: None,
        }
    }

    /// Whether it is a picture.
    pub(super) fn is_picture(&self) -> bool {
        self.mime.starts_with(b"image/")
    }

    /// Writes a picture as a part of Chat Completions; `None` if the API cannot hold it.
    pub(super) fn chat_picture(&self) -> Option<Vec<u8>> {
        let mut out = br#"{"type":"image_url","image_url":{"url":"#.to_vec();
        push_quoted(&mut out, &self.url()?);
        out.extend_from_slice(b"}}");
        Some(out)
    }

    /// Writes a document as a part of Chat Completions; `None` if the API cannot hold it.
    pub(super) fn chat_document(&self) -> Option<Vec<u8>> {
        let Source::Data(_) = &self.source else {
            return None;
        };
        let mut out = br#"{"type":"file","file":{"file_data":"#.to_vec();
        push_quoted(&mut out, &self.url()?);
        if let Some(name) = &self.name {
            out.extend_from_slice(br#","filename":"#);
            push_quoted(&mut out, &escaped(name));
        }
        out.extend_from_slice(b"}}");
        Some(out)
    }

    /// The content as a URL, without quotes.
    fn url(&self) -> Option<Vec<u8>> {
        match &self.source {
            Source::Data(_) if self.mime.is_empty() => None,
            Source::Data(data) => {
                let data = [b"data:", &self.mime[..], b";base64,", data].concat();
                Some(escaped(&data))
            }
            Source::Url(url) => Some(escaped(url)),
            Source::Text(_) => None,
        }
    }

    /// Writes a picture as an Anthropic block; `None` if the API cannot hold it.
    fn anthropic_picture(&self) -> Option<Vec<u8>> {
        match &self.source {
            Source::Data(_) if !PICTURES.contains(&&self.mime[..]) => None,
            Source::Data(_) | Source::Url(_) => self.anthropic("image"),
            Source::Text(_) => None,
        }
    }

    /// Writes a document as an Anthropic block; `None` if the API cannot hold it.
    fn anthropic_document(&self) -> Option<Vec<u8>> {
        match &self.source {
            Source::Data(_) if self.mime[..] != b"application/pdf"[..] => None,
            Source::Data(_) | Source::Url(_) | Source::Text(_) => self.anthropic("document"),
        }
    }

    fn anthropic(&self, kind: &str) -> Option<Vec<u8>> {
        let mut out = format!("{{\"type\":\"{kind}\",\"source\":{{\"type\":").into_bytes();
        match &self.source {
            Source::Data(data) => {
                out.extend_from_slice(br#""base64","media_type":"#);
                push_quoted(&mut out, &escaped(&self.mime));
                out.extend_from_slice(br#","data":"#);
                push_quoted(&mut out, &escaped(data));
            }
            Source::Url(url) if url.starts_with(b"http") => {
                out.extend_from_slice(br#""url","url":"#);
                push_quoted(&mut out, &escaped(url));
            }
            Source::Url(_) => return None,
            Source::Text(text) => {
                out.extend_from_slice(br#""text","media_type":"text/plain","data":"#);
                push_quoted(&mut out, &escaped(text));
            }
        }
        out.extend_from_slice(b"}}");
        Some(out)
    }
}

/// Writes a picture or a document as an Anthropic block; copies one that already is such a block. `None` if the API cannot hold it.
pub(crate) fn anthropic_media(kind: BlockKind, value: Value<'_>) -> Option<Vec<u8>> {
    let [written, source] = value.fields(["type", "source"]);
    let is_own = matches!(written.string(), Some(b"image" | b"document"))
        && source.field("type").string().is_some();
    if is_own {
        return Some(value.raw().to_vec());
    }
    let media = Media::of(value)?;
    match kind == BlockKind::Image || media.is_picture() {
        true => media.anthropic_picture(),
        false => media.anthropic_document(),
    }
}

/// Whether a text consists only of white space.
pub(super) fn is_blank(raw: &[u8]) -> bool {
    let text = unescape(raw);
    String::from_utf8_lossy(&text).trim().is_empty()
}
