//! Takes an input whose format is known to its result, with one method for each layout.
//!
//! Puts what the result names into the store as it goes. Does not give the output its name: see [`ending`](super::ending).

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use super::{InputContext, Processed, Run};
use crate::batch::detected::{Recognised, detect};
use crate::batch::input::{Codec, Input};
use crate::batch::origin::SessionOrigin;
use crate::batch::pour::{Output, copy, each_line, pack};
use crate::batch::sink::Sink;
use crate::batch::strict::BadLines;
use crate::batch::sum::Sum;
use crate::batch::{Effect, Source, Target, emitted};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Detected, Detector, Format, Layout, Warnings};
use crate::outcome::{Laps, Phase, Warning, WarningKind};
use crate::pipeline::{self, Part, Stored};
use crate::policy::OnFailure;
use crate::scan::{NO_STRINGS, Strings};
use crate::store::FOLDER;
use crate::summarizer::extractive::WEIGHTS;

/// What does not change while an input is worked on.
pub(super) struct Job<'w> {
    pub(super) run: &'w Run<'w>,
    pub(super) target: &'w Target<'w>,
    /// The path of the input in the report.
    pub(super) path: &'w Path,
    pub(super) context: InputContext<'w>,
    /// The name of the store's folder in texts, if they can name it.
    folder: Option<String>,
}

impl Job<'_> {
    /// The stored contents that the texts of a transcript can name, with `archive` as the path of its copy.
    fn stored<'p>(
        &'p self,
        archive: Option<&'p str>,
        originals: &'p BTreeMap<String, u64>,
    ) -> Stored<'p> {
        Stored {
            folder: self.folder.as_deref().unwrap_or(FOLDER),
            archive,
            requester: self.context.requester,
            ..self.target.stored(originals)
        }
    }
}

/// An input being processed.
pub(super) struct Work<'w> {
    pub(super) job: Job<'w>,
    pub(super) input: Input<'w>,
    pub(super) detected: Detected,
    /// The long strings that were found during format detection.
    strings: Strings,
    pub(super) sink: Sink<'w>,
    pub(super) laps: Laps,
    pub(super) origin: SessionOrigin,
    pub(super) sum: Sum,
    pub(super) warnings: Warnings,
    /// The live tokens before anything was compacted, as noted by an earlier run.
    pub(super) originals: BTreeMap<String, u64>,
    /// The uncompressed size of a compressed output; `None` if the output is not compressed.
    pub(super) text_after: Option<u64>,
}

/// How an input was processed.
enum Passage {
    /// Its result is in the sink.
    Whole,
    /// The policy allows nothing in place of a summary that failed, so there is no result.
    NoSummary(Error),
}

impl<'w> Work<'w> {
    /// Processes an open input into its output; the report calls it `path`.
    pub(super) fn of(
        run: &'w Run<'w>,
        target: &'w Target<'w>,
        path: &'w Path,
        (mut input, sink): (Input<'w>, Sink<'w>),
        context: InputContext<'w>,
        laps: Laps,
    ) -> Result<Processed> {
        if let (Source::Stdin, Some(kept), Effect::Write) =
            (target.source, &target.store, run.options.effect)
        {
            // An input that comes from a stream cannot be read again.
            let archive = kept.store.archive()?;
            let mut archive = match sink.is_memory() {
                // Nothing is replaced, and flushing each record of a stream to disk takes ten times as long as everything else.
                true => archive.lazy(),
                false => archive,
            };
            archive
                .write_all(input.so_far())
                .map_err(|e| Error::io(path, "keep a copy", e))?;
            input.copy = Some(archive);
        }
        let Recognised {
            detected,
            doubt,
            strings,
        } = detect(&mut input, run.options.format)?;
        let detected = emitted::taken(detected, run.options.emit);
        if let Some(fork) = &run.options.fork {
            fork.check(&detected)?;
        }
        let doubt = doubt.map(|message| Warning {
            kind: WarningKind::OtherFormat,
            line: None,
            message,
        });
        let mut sum = Sum::default();
        sum.warnings.extend(doubt);
        let folder = target.store_path(run.names);
        let mut work = Work {
            job: Job {
                run,
                target,
                path,
                context,
                folder,
            },
            text_after: input.stored_bytes().map(|_| input.text_bytes()),
            input,
            detected,
            strings,
            sink,
            laps,
            origin: SessionOrigin::default(),
            sum,
            warnings: Warnings::default(),
            originals: BTreeMap::new(),
        };
        let passage = match work.detected {
            Detected::Unsupported(_) => work.unsupported()?,
            Detected::Known(format, Layout::File) => work.file(format)?,
            Detected::Known(format, Layout::Line) => work.lines(format)?,
        };
        match passage {
            Passage::Whole => work.finish(),
            Passage::NoSummary(error) => Ok(work.without_summary(&error)),
        }
    }

    /// Passes an input of unknown format through unchanged.
    fn unsupported(&mut self) -> Result<Passage> {
        let options = self.job.run.options;
        if self.job.run.redactor.is_some() {
            return Err(Error::new(
                ErrorKind::Config,
                "cannot mask secrets: this format is not supported",
            )
            .hint("leave the file out, or run without --redact outputs"));
        }
        if options.emit.is_some() {
            // The unchanged input would not consist of messages.
            self.sink = Sink::nothing(&options.stop);
        }
        if options.bad_lines == BadLines::Fail {
            self.input.rest()?;
            self.check_lines()?;
        }
        copy(&mut self.input, &mut self.sink)?;
        Ok(Passage::Whole)
    }

    /// Processes a file that is one transcript.
    fn file(&mut self, format: Format) -> Result<Passage> {
        let Job {
            run, target, path, ..
        } = self.job;
        let clock = run.options.clock();
        self.input.rest()?;
        self.check_lines()?;
        let copy = run.copied(&self.input.buffer);
        let folder = self.job.folder.as_deref();
        let archive = copy.as_ref().map(|copy| copy.path(folder));
        if run.goal.is_share() {
            self.originals = target.originals(&self.input.hash().0)?;
        }
        let part = pipeline::Input {
            format,
            bytes: &self.input.buffer,
            strings: &self.strings,
            first_line: 1,
            part: Part::File,
            stored: self.job.stored(archive.as_deref(), &self.originals),
            instruction_source: Some(self.job.context.before),
            weights: &WEIGHTS,
        };
        self.origin = SessionOrigin::of(path, &self.detected, &self.input.buffer);
        self.laps.lap(clock, Phase::Read);
        let mut compacted = run.result(target, part, &mut self.warnings)?;
        if let Err(error) = run.check_summaries(&compacted) {
            run.refusal.check()?;
            self.sum.add(compacted);
            return Ok(Passage::NoSummary(error));
        }
        self.laps
            .skip(clock, compacted.timings.take().unwrap_or_default());
        if !compacted.waits() {
            if compacted.is_changed() {
                self.job.context.before.compacts()?;
            }
            if run.is_in_place() && compacted.is_changed() {
                self.sink = run.open_in_place(target, &self.input)?;
            }
            let kept = run.keep(target, &compacted, folder, copy)?;
            self.sum.copies.extend(kept);
            let text = run.put(&mut compacted, &self.detected, &self.input, &mut self.sink)?;
            self.text_after = self.text_after.map(|_| text);
        }
        self.sum.add(compacted);
        Ok(Passage::Whole)
    }

    /// Processes a file with one transcript per line.
    fn lines(&mut self, format: Format) -> Result<Passage> {
        let run = self.job.run;
        let stop = &run.options.stop;
        if run.is_in_place() {
            self.sink = run.open_in_place(self.job.target, &self.input)?;
        }
        let mut lines = Lines {
            job: &self.job,
            format,
            sum: &mut self.sum,
            laps: &mut self.laps,
            originals: &self.originals,
            is_without_summary: false,
        };
        // What was written to a stream cannot be taken back where a hook skips the input, or the input fails.
        let may_fail = self.job.context.before.is_there() || run.failure == OnFailure::Fail;
        let is_final = may_fail && self.job.target.output().is_none();
        let mut output = match self.input.codec {
            Codec::Plain if !is_final => Output::Now(&mut self.sink),
            Codec::Plain | Codec::Gzip | Codec::Zstd => Output::Later(Vec::new()),
        };
        let each = |bytes: &[u8], number, output: &mut Output<'_, '_>, warnings: &mut Warnings| {
            lines.line((bytes, number), output, warnings)
        };
        if let Err(error) = each_line(&mut self.input, &mut output, &mut self.warnings, each) {
            run.refusal.check()?;
            if !lines.is_without_summary {
                return Err(error);
            }
            // The hash covers the whole input.
            copy(&mut self.input, &mut Sink::nothing(stop))?;
            return Ok(Passage::NoSummary(error));
        }
        if let Output::Later(text) = output {
            self.text_after = self.text_after.map(|_| text.len() as u64);
            let is_new = self.sum.changed || run.options.emit.is_some();
            let codec = self.input.codec;
            if is_new || codec == Codec::Plain {
                pack(std::iter::once(text.as_slice()), codec, &mut self.sink)?;
            } else {
                self.sink.put(&self.input.raw)?;
            }
        }
        Ok(Passage::Whole)
    }

    /// Fails on bad lines if they may not be passed through.
    fn check_lines(&self) -> Result<()> {
        let bad_lines = self.job.run.options.bad_lines;
        bad_lines.check(&self.detected, &self.input.buffer)
    }
}

/// The lines of a file with a transcript on each.
struct Lines<'l, 'w> {
    job: &'l Job<'w>,
    format: Format,
    sum: &'l mut Sum,
    laps: &'l mut Laps,
    originals: &'l BTreeMap<String, u64>,
    /// Whether the last error is about a summary.
    is_without_summary: bool,
}

impl Lines<'_, '_> {
    fn line(
        &mut self,
        (bytes, number): (&[u8], u64),
        output: &mut Output<'_, '_>,
        warnings: &mut Warnings,
    ) -> Result<()> {
        let Job {
            run,
            target,
            context,
            ..
        } = *self.job;
        let (options, clock) = (run.options, run.options.clock());
        if options.format.is_none() && !Detector::reads_conversation(self.format, bytes) {
            if options.emit.is_some() {
                warnings.not_emitted(number);
                return Ok(());
            }
            warnings.not_understood(number);
            return output.put(bytes);
        }
        let bad_lines = options.bad_lines;
        bad_lines.check_part(self.format, bytes, number)?;
        // The file's own hash is known only at its end; a conversation's is known now.
        let copy = run.copied(bytes);
        let folder = self.job.folder.as_deref();
        let archive = copy.as_ref().map(|copy| copy.path(folder));
        let part = pipeline::Input {
            format: self.format,
            bytes,
            first_line: number,
            part: Part::Line,
            stored: self.job.stored(archive.as_deref(), self.originals),
            strings: &NO_STRINGS,
            instruction_source: Some(context.before),
            weights: &WEIGHTS,
        };
        self.laps.lap(clock, Phase::Read);
        let mut compacted = run.result(target, part, warnings)?;
        if let Err(error) = run.check_summaries(&compacted) {
            self.sum.add(compacted);
            self.is_without_summary = true;
            return Err(error);
        }
        self.laps
            .skip(clock, compacted.timings.take().unwrap_or_default());
        // The other summaries are requested as well, but none is written.
        if self.sum.waits || compacted.waits() {
            self.sum.add(compacted);
            return Ok(());
        }
        if compacted.is_changed() {
            context.before.compacts()?;
        }
        let kept = run.keep(target, &compacted, folder, copy)?;
        self.sum.copies.extend(kept);
        match options.emit {
            Some(messages) => {
                let of = (self.format, Layout::Line);
                output.put(&emitted::lines(&mut compacted, of, messages))?;
            }
            None => compacted.pieces().try_for_each(|piece| output.put(piece))?,
        }
        self.sum.add(compacted);
        self.laps.lap(clock, Phase::Write);
        Ok(())
    }
}
