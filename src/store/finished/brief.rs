//! What a note says, in numbers: enough to tell that an input and its output have not been touched since, without the line.
//!
//! Derived from the lines of completed runs and kept beside them: see `store::rows`. Not every note has one; of others, and
//! wherever a file differs, the line is read. Plain data.

use super::LINE_VERSION;
use super::note::{END, NoteHeader, named};
use crate::outcome::{Figures, Outcome};
use crate::store::FileIdentity;
use crate::store::identity::IDENTITY_WORDS;
use crate::store::keys::{key_of, wide_key_of};
use crate::store::manifest::output_key;
use crate::store::rows::Meaning;

/// The numbers of a row.
pub(super) const WORDS: usize = 6 + 2 * IDENTITY_WORDS + Figures::WORDS;
/// The meaning of these rows: 1, with the version of the lines.
pub(super) const BRIEFS: Meaning = Meaning(1 << 32 | LINE_VERSION as u64);

/// A line, and what it says in short.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    /// The key of the input's name.
    pub(super) key: u64,
    /// Where the line begins.
    pub(super) offset: u64,
    /// Its length.
    pub(super) bytes: u32,
    /// Where the JSON of the outcome begins in it, and what else there is to say.
    pub(super) brief: Option<(u32, Brief)>,
}

/// What a note says about an input whose output was written, for which the store keeps nothing else and no server was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Brief {
    /// See [`names_key`].
    pub names: [u64; 2],
    /// The key of the output's record: see [`RecordedOutputs::has_key`](crate::store::manifest::RecordedOutputs::has_key).
    pub record: u64,
    /// As in [`Finished`](super::Finished).
    pub input_seen: FileIdentity,
    /// As there.
    pub output_seen: FileIdentity,
    /// Those of the outcome.
    pub figures: Figures,
}

/// A key of the names of an input and its output, in the store and in the [beginning](Outcome::begin_of_json) of the outcome: files
/// with other names, and the same files named in another way, have another one.
pub fn names_key(input: &str, output: &str, begin: &[u8]) -> [u64; 2] {
    wide_key_of(&[input.as_bytes(), &[0], output.as_bytes(), &[0], begin].concat())
}

impl Brief {
    fn of(header: &NoteHeader<'_>) -> Option<Self> {
        let output = header.output.as_deref()?;
        let hashes = (
            header.hash_after.as_deref()?,
            header.hash_before.as_deref()?,
        );
        let figures = header.figures;
        let is_plain = header.contents.is_empty() && figures.is_final();
        (is_plain && figures.to_words().is_some()).then_some(())?;
        let begin = Outcome::beginning_in(header.outcome)?;
        Some(Brief {
            names: names_key(&header.input, output, begin),
            record: output_key(output, hashes),
            input_seen: header.input_seen,
            output_seen: header.output_seen?,
            figures,
        })
    }
}

impl Row {
    /// The row of a line with this offset; `None` if the line does not count.
    pub(super) fn of(line: &[u8], offset: u64) -> Option<Self> {
        let key = key_of(&named(line)?);
        let brief = || {
            let header = NoteHeader::of(line)?;
            let before = header.outcome.as_ptr().addr() - line.as_ptr().addr();
            Some((u32::try_from(before).ok()?, Brief::of(&header)?))
        };
        Some(Row {
            key,
            offset,
            bytes: u32::try_from(line.len()).ok()?,
            brief: brief(),
        })
    }

    /// The offset at which the line ends; `None` if no file is that long.
    pub(super) fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.bytes.into())
    }

    /// Where the outcome's JSON is in the file of lines, if the row tells it: its offset and length.
    pub(super) fn outcome(&self) -> Option<(u64, u32)> {
        let (before, _) = self.brief?;
        let bytes = self.bytes.checked_sub(before)?;
        let bytes = bytes.checked_sub(END.len() as u32)?;
        Some((self.offset.checked_add(before.into())?, bytes))
    }

    pub(super) fn to_words(self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        words[0] = self.key;
        words[1] = self.offset;
        words[2] = self.bytes.into();
        let Some((before, brief)) = self.brief else {
            return words;
        };
        // A line does not begin with its outcome, so that 0 stands for none.
        words[2] |= u64::from(before) << 32;
        let [first, second] = brief.names;
        let seen = [brief.input_seen, brief.output_seen].map(FileIdentity::to_words);
        let figures = brief.figures.to_words().unwrap_or_default();
        let rest = [first, second, brief.record].into_iter();
        let rest = rest.chain(seen.into_iter().flatten()).chain(figures);
        for (word, value) in words[3..].iter_mut().zip(rest) {
            *word = value;
        }
        words
    }

    pub(super) fn of_words(words: &[u64; WORDS]) -> Option<Self> {
        let [key, offset, lengths, rest @ ..] = words;
        let before = (lengths >> 32) as u32;
        let brief = || {
            let (&[first, second, record], rest) = rest.split_first_chunk()?;
            let (input_seen, rest) = rest.split_first_chunk()?;
            let (output_seen, rest) = rest.split_first_chunk()?;
            Some(Brief {
                names: [first, second],
                record,
                input_seen: FileIdentity::of_words(input_seen),
                output_seen: FileIdentity::of_words(output_seen),
                figures: Figures::of_words(rest.first_chunk()?)?,
            })
        };
        let brief = match before {
            0 => None,
            before => Some((before, brief()?)),
        };
        Some(Row {
            key: *key,
            offset: *offset,
            bytes: *lengths as u32,
            brief,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::store::finished::Finished;

    const INPUT: &str = "../in/\"a\"\\.jsonl";

    /// The line of a note about this outcome, with these contents.
    fn line(outcome: Outcome, contents: Vec<(String, FileIdentity)>) -> Vec<u8> {
        let seen = |bytes: u64| FileIdentity {
            bytes,
            modified: (bytes > 1).then_some((1_700_000_000 + bytes, u32::MAX)),
            touched: None,
        };
        let finished = Finished {
            input: INPUT.to_owned(),
            input_seen: seen(1),
            output: Some("a.jsonl".to_owned()),
            output_seen: Some(seen(2)),
            contents,
            outcome,
        };
        finished.line().unwrap().bytes
    }

    fn unchanged() -> Outcome {
        let mut outcome = Outcome::unchanged(Path::new(INPUT), 9, "blake3:1");
        outcome.hash_after = Some("blake3:1".to_owned());
        outcome.output = Some("out/a.jsonl".to_owned());
        outcome
    }

    #[test]
    fn a_row_says_what_its_line_says() {
        let line = line(unchanged(), Vec::new());
        let header = NoteHeader::of(&line).unwrap();
        let row = Row::of(&line, 77).unwrap();
        assert_eq!(row.key, key_of(INPUT));
        assert_eq!((row.offset, row.bytes), (77, line.len() as u32));
        let (_, brief) = row.brief.unwrap();
        assert_eq!(brief.input_seen, header.input_seen);
        assert_eq!(Some(brief.output_seen), header.output_seen);
        assert_eq!(brief.figures, header.figures);
        let begin = Outcome::begin_of_json(INPUT, Some("out/a.jsonl")).unwrap();
        assert_eq!(brief.names, names_key(&header.input, "a.jsonl", &begin));
        assert_ne!(brief.names, names_key(&header.input, "b.jsonl", &begin));
        let (offset, bytes) = row.outcome().unwrap();
        let range = offset as usize - 77..offset as usize - 77 + bytes as usize;
        assert_eq!(&line[range], header.outcome);

        let again = Row::of_words(&row.to_words()).unwrap();
        assert_eq!(again.to_words(), row.to_words());
        assert_eq!(again.brief, row.brief);
    }

    #[test]
    fn what_cannot_be_told_in_short_is_left_to_the_line() {
        let content = (
            "offloaded/x".to_owned(),
            FileIdentity {
                bytes: 3,
                modified: None,
                touched: None,
            },
        );
        let mut damaged = line(unchanged(), Vec::new());
        damaged[14] ^= 1;
        let foreign = Outcome::unsupported(Path::new(INPUT), 9, "blake3:1");
        for line in [
            line(unchanged(), vec![content]),
            line(foreign, Vec::new()),
            damaged,
        ] {
            let row = Row::of(&line, 5).unwrap();
            assert!(row.brief.is_none());
            let again = Row::of_words(&row.to_words()).unwrap();
            assert_eq!(
                (again.key, again.offset, again.bytes),
                (row.key, 5, row.bytes)
            );
            assert!(again.brief.is_none() && again.outcome().is_none());
        }
        assert!(Row::of(b"{}\n", 0).is_none());
    }
}
