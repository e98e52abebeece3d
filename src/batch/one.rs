//! One input from its first byte to its outcome.
//!
//! Store and record are written before the output takes its name, so whatever ends the run, what the output names can be
//! found and the output can be undone.

mod ending;
mod kept;
mod outputs;
mod record;
mod work;

use std::sync::atomic::Ordering;

use self::work::Work;
use super::budget::Reservation;
use super::clean::Releases;
use super::emitted;
use super::hooks::PreHook;
use super::input::Input;
use super::refusal::Refusal;
use super::resume::ResumeNote;
use super::retry::original;
use super::sink::Sink;
use super::sum::Sum;
use super::{Effect, Options, Scope, Source, Target};
use crate::artifacts::SummaryModel;
use crate::error::{Error, ErrorKind, Result};
use crate::format::Warnings;
use crate::outcome::{Degraded, DegradedKind, Laps, Outcome};
use crate::pipeline::{self, Compacted, Pipeline};
use crate::plan::Keeping;
use crate::policy::{self, Archive, Effective, Layer, Names, OnFailure, Policy, Redact};
use crate::redact::Redactor;
use crate::store::atomic::FileVersion;
use crate::store::{FileIdentity, open_transcript};

/// What all inputs of a run share.
pub(super) struct Run<'r> {
    policy_hash: &'r str,
    keeping: Pipeline<'r>,
    /// For outputs that have no store.
    streaming: Pipeline<'r>,
    /// Whether summaries need a store for the original.
    needs_archive: bool,
    /// Whether the policy keeps the original of what it summarises.
    keeps_original: bool,
    /// Whether summaries name a copy of it.
    names_archive: bool,
    /// How texts name what is in the store.
    names: Names,
    /// How small the conversations are to be.
    goal: &'r policy::Target,
    /// Masks secrets, if outputs are to contain none; the report then contains none, either.
    redactor: Option<Redactor>,
    pub(super) releases: Releases,
    /// Whether the server accepts requests.
    refusal: &'r Refusal,
    /// What happens to a file whose summary failed.
    failure: OnFailure,
    pub(super) options: &'r Options,
}

/// The surroundings of an input that is compacted.
#[derive(Debug, Clone, Copy)]
pub(super) struct InputContext<'s> {
    pub(super) before: &'s PreHook<'s>,
    /// Who asks for summaries: see [`ModelRequest::requester`](crate::artifacts::ModelRequest::requester).
    pub(super) requester: Option<&'s str>,
}

/// A finished input.
pub(super) struct Processed {
    pub(super) outcome: Outcome,
    /// What a later run of the same command needs to know of it.
    pub(super) left: ResumeNote,
}

impl Processed {
    /// An input for which nothing was written.
    fn nothing_left(outcome: Outcome, seen: Option<FileIdentity>) -> Self {
        let contents = Vec::new();
        let left = ResumeNote { contents, seen };
        Processed { outcome, left }
    }
}

/// The redactor for secrets in outputs, if the policy asks for one.
fn redactor(policy: &Policy) -> Result<Option<Redactor>> {
    let redactor = match policy.redact {
        Redact::Outputs => Some(Redactor::new()),
        Redact::Requests | Redact::Never => None,
    };
    let failed = |e| Error::new(ErrorKind::Internal, format!("cannot look for secrets: {e}"));
    redactor.transpose().map_err(failed)
}

/// Whether summaries need a copy of the original in the store, because the policy wants one or the summaries name it.
pub(crate) fn needs_archive(policy: &Policy) -> bool {
    let is_wanted = policy.archive == Archive::Always || policy.summary.names_archive();
    policy.has(Layer::Summarize) && is_wanted
}

impl<'r> Run<'r> {
    pub(super) fn new(
        effective: &'r Effective,
        options: &'r Options,
        server: Option<&'r dyn SummaryModel>,
        refusal: &'r Refusal,
    ) -> Result<Self> {
        let policy = &effective.policy;
        let pipeline = |keeping| {
            let pipeline = Pipeline::asking(policy, keeping, server)?;
            let pipeline = pipeline.with_replies(options.replies.clone());
            let pipeline = pipeline.switched_off_by(effective.origin_of("summary.when"));
            Ok::<_, Error>(pipeline.timed(options.clock()))
        };
        Ok(Run {
            policy_hash: &effective.hash,
            keeping: pipeline(Keeping::Store)?,
            streaming: pipeline(Keeping::Nothing)?,
            needs_archive: needs_archive(policy),
            keeps_original: policy.has(Layer::Summarize) && policy.archive == Archive::Always,
            names_archive: policy.has(Layer::Summarize) && policy.summary.names_archive(),
            names: options.names(policy),
            goal: &policy.target,
            redactor: redactor(policy)?,
            releases: Releases::default(),
            refusal,
            failure: policy.summary.on_failure,
            options,
        })
    }

    fn pipeline(&self, target: &Target) -> &Pipeline<'r> {
        if target.store.is_some() {
            &self.keeping
        } else {
            &self.streaming
        }
    }

    /// The result of a transcript; for a format that is never compacted, the transcript itself.
    fn result<'a>(
        &self,
        target: &Target,
        part: pipeline::Input<'a, '_>,
        warnings: &mut Warnings,
    ) -> Result<Compacted<'a>> {
        Ok(match part.format.is_compacted() {
            true => self.pipeline(target).compact(part, warnings),
            false => emitted::reading()?.compact(part, warnings),
        })
    }

    /// Compacts one input into its output.
    ///
    /// # Errors
    /// Whatever keeps the input from being read or the output from being written; nothing is left half done then.
    pub(super) fn compact(
        &self,
        target: &Target,
        share: Reservation<'_>,
        context: InputContext<'_>,
    ) -> Result<Processed> {
        let path = target.input_path();
        let laps = Laps::start(self.options.clock());
        self.may_begin(target)?;
        // Opened only once, for its bytes and its permissions; errors about the output are reported first.
        let opened = match target.source {
            Source::File(_) => Some(target.open_input()),
            Source::Stdin => None,
        };
        let (sink, overwrite_warning) = if self.is_in_place() {
            // In a second run most files stay as they are, and these are not touched.
            (Sink::nothing(&self.options.stop), None)
        } else {
            let opened = opened.as_ref().and_then(|opened| opened.as_ref().ok());
            self.open_output(target, opened)?
        };
        let stop = &self.options.stop;
        let retried_original = self.retried_original(target)?;
        let input = match &retried_original {
            None => match opened {
                Some(opened) => Input::of_file(opened?, path, stop, share)?,
                None => Input::open(target.source, path, stop, share)?,
            },
            Some((bytes, stamp)) => {
                let mut input = Input::of_bytes(bytes, path, stop, share)?;
                input.stamp = Some(stamp.clone());
                input
            }
        };
        let about_output = [overwrite_warning, self.misnamed(input.codec)];
        let mut worked = Work::of(self, target, path, (input, sink), context, laps)?;
        if worked.outcome.output.is_some() {
            let warnings = about_output.into_iter().flatten();
            worked.outcome.warnings.extend(warnings);
        }
        Ok(worked)
    }

    /// Fails where nothing can be compacted, whatever the input is.
    fn may_begin(&self, target: &Target) -> Result<()> {
        if self.options.stop.load(Ordering::Relaxed) != 0 {
            return Err(Error::new(ErrorKind::Interrupted, "interrupted"));
        }
        self.refusal.check()?;
        if self.needs_archive && target.store.is_none() {
            return Err(Error::new(
                ErrorKind::Usage,
                "the policy archives the original, and a stream has no store to put it in",
            )
            .hint("name a folder with --store DIR, or keep no copy: --set archive=auto, and a summary.text that names none"));
        }
        Ok(())
    }

    /// The original of a file whose summaries failed when it was compacted in place, and the state of the file as it is now.
    fn retried_original(&self, target: &Target) -> Result<Option<(Vec<u8>, FileVersion)>> {
        if self.options.scope == Scope::All || !self.is_in_place() {
            return Ok(None);
        }
        let path = target.input_path();
        let (_, metadata) = open_transcript(path)?;
        Ok(Some((original(target, path)?, FileVersion::of(&metadata))))
    }

    /// Fails if the policy allows nothing in place of a summary that could not be written.
    fn check_summaries(&self, compacted: &Compacted<'_>) -> Result<()> {
        self.refusal.check()?;
        let is_failure = |degraded: &&Degraded| degraded.kind == DegradedKind::SummaryFailed;
        match (self.failure, compacted.degraded.iter().find(is_failure)) {
            (OnFailure::Fail, Some(failed)) => {
                Err(Error::new(ErrorKind::Summary, failed.message.clone()))
            }
            (OnFailure::Fail, None)
            | (OnFailure::Extractive | OnFailure::Keep | OnFailure::Prune, _) => Ok(()),
        }
    }

    /// A text of the transcript as it may appear in the report.
    fn masked(&self, text: String) -> String {
        match &self.redactor {
            Some(redactor) => redactor.redact(&text).text.into_owned(),
            None => text,
        }
    }

    pub(super) fn is_in_place(&self) -> bool {
        self.options.destination.is_in_place()
    }
}
