//! A transcript as a file, with a policy to compact it with.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use ctxpack::artifacts::Replies;
use ctxpack::batch::compact_bytes;
use ctxpack::format::{Detected, Detector, Format, Layout};
use ctxpack::outcome::{ActionKind, Outcome};
use ctxpack::pipeline::Pipeline;
use ctxpack::plan::Keeping;
use ctxpack::policy::{History, Layer, Policy};
use ctxpack::store::{FOLDER, copy_name, hash, offload_name};
use proptest::prelude::*;

use super::known::Known;
use super::tape::Tape;
use super::text::Mode;
use super::{dialect, policies};

/// The number of words that decide a transcript: enough for most, so that few end with the simplest messages.
const TAPE: usize = 900;

/// One transcript, one policy.
#[derive(Clone)]
pub(super) struct Case {
    pub format: Format,
    pub layout: Layout,
    pub bytes: Vec<u8>,
    /// What the generator knows about its lines; nothing about noise.
    pub known: Known,
    pub policy: Policy,
    pub keeping: Keeping,
    /// The answers of a scripted summariser, one per line.
    pub replies: String,
    /// The first result asked for, which most properties of a case share.
    pub first: OnceCell<(Asked, Run)>,
}

/// All that a run depends on.
pub(super) type Asked = (Vec<u8>, Policy, Keeping, String);

/// The kind of transcripts that a property is checked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Transcripts that follow all rules.
    Valid,
    /// Also transcripts that break some rules, or are corrupted.
    Any,
}

impl Case {
    /// Transcripts of one format with any policy that does not write messages.
    pub(super) fn of(format: Format, kind: Kind) -> impl Strategy<Value = Case> {
        Case::with(format, kind, policies::any, 32)
    }

    /// Transcripts of one format with any policy that writes summaries.
    pub(super) fn summarised(format: Format, kind: Kind) -> impl Strategy<Value = Case> {
        Case::with(format, kind, policies::summarising, 200)
    }

    /// Transcripts of one format with a published system's policy.
    pub(super) fn of_system(format: Format, kind: Kind) -> impl Strategy<Value = Case> {
        Case::with(format, kind, policies::system, 60)
    }

    fn with(
        format: Format,
        kind: Kind,
        any_policy: fn(&mut Tape) -> Policy,
        words: usize,
    ) -> impl Strategy<Value = Case> {
        (Tape::of_up_to(TAPE), Tape::of_up_to(words)).prop_map(move |(mut tape, mut policy)| {
            let mode = if kind == Kind::Any && tape.one_in(2) {
                Mode::Noisy
            } else {
                Mode::Clean
            };
            let written = Written::new(&mut tape, format, mode);
            let framed = frame(&mut tape, &written.lines, mode, Rubbish::Sometimes);
            let mut bytes = framed.bytes;
            if mode == Mode::Noisy && tape.one_in(3) {
                mutate(&mut tape, &mut bytes);
            }
            let place = |line: usize| framed.places[line];
            Case {
                format,
                layout: written.layout,
                bytes,
                known: written.known.moved(place),
                keeping: if policy.one_in(8) {
                    Keeping::Nothing
                } else {
                    Keeping::Store
                },
                policy: any_policy(&mut policy),
                replies: policies::replies(&mut policy),
                first: OnceCell::new(),
            }
        })
    }

    /// Whether its policy drops dead history.
    pub(super) fn drops(&self) -> bool {
        self.policy.has(Layer::Drop) && self.policy.history == History::Drop
    }

    /// Whether it is a session, in which only some lines are live and a summary is a record of its own.
    pub(super) fn is_session(&self) -> bool {
        dialect::of(self.format).is_session()
    }

    /// The name that a summary gives to the copy of the whole file.
    pub(super) fn archive(&self) -> String {
        copy_path(&self.bytes)
    }

    /// The names that summaries give to copies of the file or of its lines.
    pub(super) fn archives(&self) -> Vec<String> {
        let (mark, lines) = split(&self.bytes);
        // The byte order mark belongs to the first line.
        let marks = [mark].into_iter().chain(std::iter::repeat(&[][..]));
        let of_line =
            |(mark, (line, end)): (&[u8], (&[u8], &[u8]))| copy_path(&[mark, line, end].concat());
        marks
            .zip(lines)
            .map(of_line)
            .chain([self.archive()])
            .collect()
    }

    /// The result of a run, which is not repeated as long as the case stays the same.
    pub(super) fn compact(&self) -> Run {
        let run = || self.compact_bytes(&self.bytes);
        let first = || (self.asked(), run());
        match self.first.get_or_init(first) {
            (asked, known) if *asked == self.asked() => known.clone(),
            _ => run(),
        }
    }

    fn asked(&self) -> Asked {
        let Case { bytes, policy, .. } = self;
        let replies = self.replies.clone();
        (bytes.clone(), policy.clone(), self.keeping, replies)
    }

    /// The result of a new run with the same policy, on these bytes.
    pub(super) fn compact_bytes(&self, bytes: &[u8]) -> Run {
        self.compact_by(&self.policy, bytes)
    }

    /// The result of a run with another policy on other bytes.
    pub(super) fn compact_by(&self, policy: &Policy, bytes: &[u8]) -> Run {
        run(bytes, &self.pipeline(policy))
    }

    /// The pipeline for a policy, with the scripted answers.
    pub(super) fn pipeline<'p>(&self, policy: &'p Policy) -> Pipeline<'p> {
        let replies = Replies::parse(&self.replies).unwrap();
        let pipeline = Pipeline::new(policy, self.keeping).unwrap();
        pipeline.with_replies(replies)
    }
}

/// The result of a run on some bytes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Run {
    /// How the file was detected.
    pub detected: Option<(Format, Layout)>,
    pub outcome: Outcome,
    pub bytes: Vec<u8>,
}

impl Run {
    /// The dropped lines of the input, according to the report.
    pub(super) fn dropped(&self) -> BTreeSet<usize> {
        let actions = self.outcome.conversations.iter().flat_map(|c| &c.actions);
        let drops = actions.filter(|action| action.kind == ActionKind::Drop);
        let run = |(line, reason): (u64, &str)| {
            let count = reason.split(' ').next().unwrap_or_default();
            let count: usize = count.parse().unwrap();
            let first = line as usize - 1;
            first..first + count
        };
        drops
            .flat_map(|action| run((action.line, &action.reason)))
            .collect()
    }

    /// The lines of the input that were not dropped, by their numbers, each with the line that it became.
    pub(super) fn kept<'r>(&'r self, before: &'r [u8]) -> Vec<Kept<'r>> {
        let dropped = self.dropped();
        let kept = split(before).1.into_iter().enumerate();
        let kept = kept.filter(|(line, _)| !dropped.contains(line));
        let after = split(&self.bytes).1;
        assert_eq!(kept.clone().count(), after.len(), "lines that nobody wrote");
        kept.zip(after)
            .map(|((line, before), after)| Kept {
                line,
                before,
                after,
            })
            .collect()
    }
}

/// A line of the input that was not dropped, before and after, with its ending.
pub(super) struct Kept<'r> {
    pub line: usize,
    pub before: (&'r [u8], &'r [u8]),
    pub after: (&'r [u8], &'r [u8]),
}

/// The result of a run on some bytes.
pub(super) fn compact(bytes: &[u8], policy: &Policy, keeping: Keeping) -> Run {
    run(bytes, &Pipeline::new(policy, keeping).unwrap())
}

fn run(bytes: &[u8], pipeline: &Pipeline<'_>) -> Run {
    let (outcome, output) = compact_bytes(Path::new("in.jsonl"), bytes, pipeline, None);
    let mut detector = Detector::default();
    detector.look(bytes);
    Run {
        detected: match detector.decide() {
            Detected::Known(format, layout) => Some((format, layout)),
            Detected::Unsupported(_) => None,
        },
        outcome,
        bytes: output,
    }
}

/// Shown when a property fails: the file, with one Rust literal per line, and the keys of the policy that vary.
impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?} {:?} {:?}", self.format, self.layout, self.keeping)?;
        literals(f, &self.bytes)?;
        const VARIED: [&str; 7] = [
            "layers",
            "history",
            "tokens.",
            "superseded.",
            "demote.",
            "clear.",
            "tools.",
        ];
        const SUMMARIES: [&str; 4] = ["trigger.", "target.", "summary.", "restore."];
        let summaries: &[&str] = if self.policy.has(Layer::Summarize) {
            writeln!(f, "{}", self.replies)?;
            &SUMMARIES
        } else {
            &[]
        };
        for (key, value) in self.policy.keys().unwrap() {
            let mut varied = VARIED.iter().chain(summaries);
            if varied.any(|varied| key.starts_with(varied)) {
                write!(f, "  {key}={value}")?;
            }
        }
        writeln!(f)?;
        write!(f, "  {:?}", self.known)
    }
}

fn literals(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    let mut lines = bytes.split_inclusive(|b| *b == b'\n');
    lines.try_for_each(|line| writeln!(f, "  b\"{}\"", line.escape_ascii()))
}

/// The lines of a transcript before they are joined to a file.
pub(super) struct Written {
    pub layout: Layout,
    pub lines: Vec<Vec<u8>>,
    pub known: Known,
}

impl Written {
    pub(super) fn new(tape: &mut Tape, format: Format, mode: Mode) -> Written {
        dialect::of(format).written(tape, mode)
    }

    /// Of a format in which every message is live.
    pub(super) fn all_live(layout: Layout, lines: Vec<Vec<u8>>) -> Written {
        let windows = match layout {
            Layout::File => vec![(0..lines.len()).collect()],
            Layout::Line => (0..lines.len()).map(|line| vec![line]).collect(),
        };
        Written {
            layout,
            lines,
            known: Known::all_live(windows),
        }
    }
}

/// Lines without an object, as found among other lines.
const RUBBISH: [&[u8]; 13] = [
    b"",
    b"  \t",
    b"// Source: https://example.com",
    b"# comment",
    b"42",
    b"\"a string\"",
    b"[1, {\"role\": \"user\"}]",
    b"null",
    b"not json",
    b"{\"a\":",
    b"{\"a\":1} {\"b\":2}",
    b"{'a': 1}",
    b"\xff\xfe\x00{}",
];

/// Whether there are rubbish lines among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rubbish {
    Sometimes,
    Often,
    Never,
}

/// A file, and the number of each line in it.
pub(super) struct Framed {
    pub bytes: Vec<u8>,
    pub places: Vec<usize>,
}

impl fmt::Debug for Framed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        literals(f, &self.bytes)
    }
}

/// Joins lines to a file, with a byte order mark, line endings, and other things found in files.
pub(super) fn frame(tape: &mut Tape, lines: &[Vec<u8>], mode: Mode, rubbish: Rubbish) -> Framed {
    let mut bytes = Vec::new();
    let mut places = Vec::with_capacity(lines.len());
    let mut count = 0;
    if tape.one_in(12) {
        bytes.extend_from_slice(b"\xef\xbb\xbf");
    }
    let ends: [&[u8]; 2] = [b"\n", b"\r\n"];
    let mut end = tape.pick(&ends);
    let rare = match rubbish {
        Rubbish::Sometimes => tape.between(8, 60),
        Rubbish::Often | Rubbish::Never => 3,
    };
    for line in lines {
        while rubbish != Rubbish::Never && tape.one_in(rare) {
            bytes.extend_from_slice(RUBBISH[tape.below(RUBBISH.len())]);
            bytes.extend_from_slice(end);
            count += 1;
        }
        if mode == Mode::Noisy {
            end = tape.pick(&ends);
        }
        bytes.extend_from_slice(line);
        bytes.extend_from_slice(end);
        places.push(count);
        count += 1;
    }
    if tape.one_in(4) {
        bytes.truncate(bytes.len() - end.len());
    }
    Framed { bytes, places }
}

/// Corrupts a file: bytes are lost, doubled or changed, or the end is missing.
fn mutate(tape: &mut Tape, bytes: &mut Vec<u8>) {
    for _ in 0..tape.between(1, 4) {
        let at = tape.below(bytes.len().clamp(1, usize::from(u16::MAX)));
        let to = (at + tape.between(0, 12)).min(bytes.len());
        let at = at.min(to);
        match tape.below(4) {
            0 => drop(bytes.drain(at..to)),
            1 => {
                let again = bytes[at..to].to_vec();
                drop(bytes.splice(at..at, again));
            }
            2 => {
                let new = tape.pick(b"\"{}[],:\\\n\r\0\xff u01");
                drop(bytes.splice(at..to.min(at + 1), [new]));
            }
            _ => bytes.truncate(to),
        }
    }
}

/// A file as other readers see it: its byte order mark, and each line with its ending.
#[expect(clippy::type_complexity, reason = "a mark, and lines with their ends")]
pub(super) fn split(bytes: &[u8]) -> (&[u8], Vec<(&[u8], &[u8])>) {
    let mark = if bytes.starts_with(b"\xef\xbb\xbf") {
        3
    } else {
        0
    };
    let (mark, rest) = bytes.split_at(mark);
    let lines = rest.split_inclusive(|b| *b == b'\n').map(|line| {
        let end = match line {
            [.., b'\r', b'\n'] => 2,
            [.., b'\n'] => 1,
            _ => 0,
        };
        line.split_at(line.len() - end)
    });
    (mark, lines.collect())
}

/// The path by which a summary names the copy of a transcript.
pub(super) fn copy_path(bytes: &[u8]) -> String {
    format!("{FOLDER}/{}", copy_name(&hash(bytes)))
}

/// The path by which a text names a content in the store.
pub(super) fn offload_path(content: &[u8]) -> String {
    format!("{FOLDER}/{}", offload_name(content))
}
