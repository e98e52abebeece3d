//! Compaction in memory, and from file to file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::Policy;
use crate::artifacts::{Replies, SummaryModel};
use crate::batch::{
    self, BadLines, Destination, Effect, FileSource, Found, Hooks, Limits, Options, Overwrite,
    Progress, Reported, Resume, Scope, Source, Trust, compact_bytes, needs_archive,
};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{FaultKind, Outcome, Status};
use crate::pipeline::Pipeline;
use crate::plan::Keeping;
use crate::policy::Redact;

/// The result of [`compact`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Compacted {
    /// The transcript's new bytes, or the input if nothing was worth doing or the result was rejected.
    pub bytes: Vec<u8>,
    /// What was done and why, with tokens before and after. It serialises to an entry of the program's report.
    pub outcome: Outcome,
}

/// Compacts a transcript in memory.
///
/// The format is detected. Bytes of an unknown format come back unchanged, with [`Status::Unsupported`]. Nothing is written, so
/// there is no store: layers that move outputs out of the transcript (`demote`, `offload`) do nothing here, and the caller keeps
/// the original. Use [`compact_file`] if you need these layers or [`undo`](crate::undo()).
///
/// A policy that names a provider (`summary.source`) sends requests to it, with the key in the environment variable
/// `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`.
///
/// ```
/// use ctxpack::{Policy, compact};
///
/// // Four calls of a tool with large results; the policy keeps the newest one.
/// let mut session = String::from("{\"role\":\"user\",\"content\":\"Why does it fail?\"}\n");
/// for number in 0..4 {
///     let log = "error: connection refused ".repeat(100);
///     session += &format!(
///         "{{\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"t{number}\",\
///          \"name\":\"bash\",\"input\":{{\"command\":\"cat {number}.log\"}}}}]}}\n\
///          {{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"t{number}\",\
///          \"content\":\"{log}\"}}]}}\n"
///     );
/// }
/// let policy = Policy::from_toml("layers = [\"clear\"]\n[clear]\nkeep = 1\n")?;
///
/// let compacted = compact(session.as_bytes(), &policy)?;
///
/// assert!(compacted.bytes.len() < session.len() / 2);
/// assert!(compacted.outcome.tokens_after() < compacted.outcome.tokens_before());
/// assert_eq!(compacted.outcome.conversations[0].actions.len(), 3);
/// # Ok::<(), ctxpack::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Config`]: the policy asks for something that is not possible in memory (a copy of the original, masking secrets in
/// a format that is not read), names a provider without a key, or names one in a build without the feature `http`.
pub fn compact(bytes: &[u8], policy: &Policy) -> Result<Compacted> {
    let settings = &policy.effective.policy;
    if needs_archive(settings) {
        return Err(Error::new(
            ErrorKind::Config,
            "the policy archives the original, which is not possible in memory",
        )
        .hint("use compact_file, or set archive to auto"));
    }
    let server = server(policy)?;
    let server = server.as_ref().map(|(server, _)| server.as_ref());
    let pipeline = Pipeline::asking(settings, Keeping::Nothing, server)?;
    let (outcome, bytes) = compact_bytes(Path::new("-"), bytes, &pipeline, None);
    if outcome.status == Status::Unsupported && settings.redact == Redact::Outputs {
        return Err(Error::new(
            ErrorKind::Config,
            "cannot mask secrets: this format is not supported",
        ));
    }
    Ok(Compacted { bytes, outcome })
}

/// Compacts a file into another file, as `ctxpack compact INPUT -o OUTPUT` does.
///
/// The store `.ctxpack` beside the output takes what leaves the transcript and records where the output came from, so that
/// [`undo`](crate::undo()) finds the original. The output is renamed into place last, complete and durable. It replaces an existing
/// file only if ctxpack wrote that file. Inputs may be compressed (gzip, zstd).
///
/// # Errors
/// [`ErrorKind::NotFound`], [`ErrorKind::Io`], [`ErrorKind::Decode`], [`ErrorKind::TooLarge`]: the input cannot be read, or the
/// output cannot be written. [`ErrorKind::Exists`]: the output exists and is not ctxpack's. [`ErrorKind::Config`]: as for
/// [`compact`].
pub fn compact_file(
    input: impl AsRef<Path>,
    output: impl AsRef<Path>,
    policy: &Policy,
) -> Result<Outcome> {
    let path = input.as_ref();
    let source = Source::File(FileSource {
        path: path.to_owned(),
        folder: None,
        origin: batch::Origin::Named,
    });
    let found = Found {
        sources: [source].into_iter().collect(),
        ..Found::default()
    };
    let options = Options {
        fork: None,
        emit: None,
        destination: Destination::File(output.as_ref().to_owned()),
        store: None,
        overwrite: Overwrite::OwnOnly,
        reported: Reported::default(),
        effect: Effect::Write,
        format: None,
        replies: Replies::default(),
        server: server(policy)?,
        limits: Limits::default(),
        scope: Scope::All,
        resume: Resume::Never,
        trust: Trust::Bytes,
        bad_lines: BadLines::Pass,
        hooks: Hooks::default(),
        jobs: 1,
        stop: Arc::new(AtomicUsize::new(0)),
        clock: None,
    };
    let ran = batch::run(&found, &policy.effective, &options, &Unseen)?;
    if let Some(fault) = ran.faults.into_iter().next() {
        return Err(fault);
    }
    let outcome = ran.outcomes.into_vec()?.into_iter().next();
    let outcome =
        outcome.ok_or_else(|| Error::new(ErrorKind::Internal, "a run without outcome"))?;
    match outcome.file.error {
        Some(error) if outcome.status == Status::Failed => {
            let kind = match error.kind {
                FaultKind::Error(kind) => kind,
                FaultKind::Rejected(_) => ErrorKind::Internal,
            };
            let failed = Error::new(kind, error.message).at(path);
            Err(Error {
                line: error.line,
                hint: error.hint,
                ..failed
            })
        }
        _ => Ok(outcome),
    }
}

/// Ignores all progress.
struct Unseen;

impl Progress for Unseen {
    fn done(&self, _: u64) {}

    fn waiting(&self, _: usize) {}
}

/// The server that writes summaries, if the policy names one, and the maximum number of concurrent requests.
#[cfg(feature = "http")]
fn server(policy: &Policy) -> Result<Option<(Box<dyn SummaryModel>, usize)>> {
    use crate::http::{Endpoint, Key, Limits, Network, PlainHttp, Provider, Server};
    use crate::pipeline::asks_a_server;

    let policy = &policy.effective.policy;
    let Some(provider) = Provider::of(policy.summary.source).filter(|_| asks_a_server(policy))
    else {
        return Ok(None);
    };
    let key = Key::from_environment(provider)?;
    let endpoint = Endpoint::new(
        provider,
        &policy.summary.base_url,
        key,
        PlainHttp::LoopbackOnly,
    )?;
    let limits = Limits::default();
    let at_once = limits.concurrent;
    let stop = Arc::new(AtomicUsize::new(0));
    let server = Server::new(
        endpoint,
        policy.summary.host_breaker(),
        limits,
        Network::Online,
        stop,
    );
    Ok(Some((Box::new(server), at_once)))
}

/// No server: the pipeline then rejects a policy that names a provider.
#[cfg(not(feature = "http"))]
fn server(_: &Policy) -> Result<Option<(Box<dyn SummaryModel>, usize)>> {
    Ok(None)
}
