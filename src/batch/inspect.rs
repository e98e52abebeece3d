//! Transcripts compacted in memory: nothing is written.

use std::path::Path;

use super::sum::Sum;
use crate::format::{Detected, Detector, Layout, Warnings};
use crate::outcome::Outcome;
use crate::pipeline::{self, Part, Pipeline, Stored};
use crate::store::{self, FOLDER, Store, copy_name};
use crate::summarizer::extractive::WEIGHTS;

/// Compacts an input in memory; returns the outcome, as a run would report it, and the output's bytes.
///
/// `store` is the store that earlier runs offloaded to; nothing is written there.
pub fn compact_bytes(
    path: &Path,
    bytes: &[u8],
    pipeline: &Pipeline<'_>,
    store: Option<&Store>,
) -> (Outcome, Vec<u8>) {
    let mut detector = Detector::default();
    detector.look(bytes);
    compact_detected(path, bytes, detector.decide(), pipeline, store)
}

/// The same for bytes whose format is known, or was named by the user.
pub fn compact_detected(
    path: &Path,
    bytes: &[u8],
    detected: Detected,
    pipeline: &Pipeline<'_>,
    store: Option<&Store>,
) -> (Outcome, Vec<u8>) {
    let detected = detected.for_compaction();
    let mut sum = Sum::default();
    let mut warnings = Warnings::default();
    let mut output = Vec::new();
    match &detected {
        Detected::Unsupported(_) => output.extend_from_slice(bytes),
        &Detected::Known(format, layout) => each(bytes, layout, |bytes, first_line, part| {
            if part == Part::Line && !Detector::reads_conversation(format, bytes) {
                warnings.not_understood(first_line);
                output.extend_from_slice(bytes);
                return;
            }
            let archive = format!("{FOLDER}/{}", copy_name(&store::hash(bytes)));
            let input = pipeline::Input {
                format,
                bytes,
                first_line,
                part,
                stored: Stored {
                    store,
                    archive: Some(&archive),
                    ..Stored::default()
                },
                strings: &crate::scan::NO_STRINGS,
                instruction_source: None,
                weights: &WEIGHTS,
            };
            let compacted = pipeline.compact(input, &mut warnings);
            compacted
                .pieces()
                .for_each(|piece| output.extend_from_slice(piece));
            sum.add(compacted);
        }),
    }
    let base = Outcome {
        hash_after: Some(store::hash(&output)),
        bytes_after: output.len() as u64,
        ..Outcome::unchanged(path, bytes.len() as u64, store::hash(bytes))
    };
    (sum.outcome(detected, warnings.finish(), base), output)
}

/// Calls `one` with each transcript of a file and the number of its first line.
pub(crate) fn each<'b>(bytes: &'b [u8], layout: Layout, mut one: impl FnMut(&'b [u8], u64, Part)) {
    let part = match layout {
        Layout::File => Part::File,
        Layout::Line => Part::Line,
    };
    for (bytes, first_line) in layout.parts(bytes) {
        one(bytes, first_line, part);
    }
}
