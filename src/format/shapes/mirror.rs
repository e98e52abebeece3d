//! Mirrors: copies of a cleared result outside the messages, and the minimal parts of them to remove.
//!
//! Readers of session files access `toolUseResult` and `progress.data` by key, so a mirror keeps its shape: long strings
//! become the placeholder, long lists become empty, everything else (paths, counts, flags) is kept.

use crate::scan::{Cursor, Kind, Parse, Span};

/// Strings and lists longer than this, in bytes as written, are copies of an output; shorter ones are facts about it (a
/// path, a status) that readers need.
const MIRROR_MIN: u32 = 256;

/// How a part of a mirror is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MirrorCut {
    /// A long string: the placeholder, as a string.
    Text,
    /// A long list: an empty one.
    List,
}

/// The parts of the mirror at `value` that repeat its result.
pub fn mirror_cuts(line: &[u8], value: Span) -> Vec<(Span, MirrorCut)> {
    let mut cuts = Vec::new();
    let bytes = value.of(line);
    // The line was read before, so this should not fail; a mirror that cannot be read stays as it is.
    if walk(&mut Cursor::new(bytes), &mut cuts, 0).is_err() {
        cuts.clear();
    }
    for (span, _) in &mut cuts {
        span.start += value.start;
    }
    cuts
}

/// Objects nested deeper than this stay as they are.
const DEEPEST: u32 = 8;

fn walk(c: &mut Cursor<'_>, cuts: &mut Vec<(Span, MirrorCut)>, depth: u32) -> Parse<()> {
    let cut = match c.kind()? {
        Kind::Object if depth < DEEPEST => {
            return c.object(|_, c| walk(c, cuts, depth + 1)).map(drop);
        }
        Kind::String => MirrorCut::Text,
        Kind::Array => MirrorCut::List,
        Kind::Object | Kind::Number | Kind::Bool | Kind::Null => return c.skip().map(drop),
    };
    let span = c.skip()?;
    if span.len > MIRROR_MIN {
        cuts.push((span, cut));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_strings_and_lists_go_and_the_shape_stays() {
        let long = "x".repeat(300);
        let list = vec!["line"; 100];
        let path = "/a/".to_owned() + &"b".repeat(200);
        let value = serde_json::json!({
            "type": "text", "file": {"filePath": path, "content": long, "numLines": 3},
            "structuredPatch": list, "few": ["a"], "interrupted": false,
        })
        .to_string();
        let line = format!("{{\"toolUseResult\":{value}}}");
        let cuts = mirror_cuts(line.as_bytes(), Span::new(17, line.len() - 1));
        let text = |s: Span| {
            std::str::from_utf8(s.of(line.as_bytes()))
                .unwrap()
                .to_owned()
        };
        assert_eq!(
            cuts.iter().map(|(s, c)| (text(*s), *c)).collect::<Vec<_>>(),
            [
                (serde_json::to_string(&long).unwrap(), MirrorCut::Text),
                (serde_json::to_string(&list).unwrap(), MirrorCut::List),
            ]
        );
    }

    #[test]
    fn a_mirror_that_is_a_string_or_a_list_is_one_cut() {
        let string = format!("\"{}\"", "e".repeat(300));
        let cut = |s: &str| mirror_cuts(s.as_bytes(), Span::new(0, s.len()));
        assert_eq!(cut(&string), [(Span::new(0, 302), MirrorCut::Text)]);
        assert_eq!(cut("\"short\""), []);
        let list = format!("[{string}]");
        assert_eq!(cut(&list), [(Span::new(0, 304), MirrorCut::List)]);
    }
}
