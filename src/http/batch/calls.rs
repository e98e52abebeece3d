//! Calls of a batch API. Queries are retried on transient failures; calls that may have created a batch are not.

use std::fs::File;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use serde_json::Value;

use super::shape::Addresses;
use crate::error::{Error, ErrorKind};
use crate::http::client::{Call, Client, Content};
use crate::http::response::{Failure, Response, value};
use crate::semaphore::sleep_unless;

/// The timeout for transferring a file of requests or results.
const TRANSFER: Duration = Duration::from_secs(3_600);
/// The timeout for a query.
const QUESTION: Duration = Duration::from_secs(120);
/// The wait before the first retry of a query; each further retry doubles it.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait that a server may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// A client of one server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller<'c> {
    pub(super) client: &'c Client,
    pub(super) addresses: &'c Addresses,
    pub(super) stop: &'c AtomicUsize,
    /// How often to try a call that is free to repeat.
    pub(super) tries: u32,
}

/// Why a creating call failed, as far as known.
#[derive(Debug)]
pub(super) enum NotMade {
    /// The server said that it created nothing.
    Refused(Failure),
    /// It is unknown whether the server created anything.
    Unknown(Failure),
}

impl Caller<'_> {
    /// Sends a query; returns the answer, and the server's time in seconds.
    pub(super) fn ask(&self, url: &str) -> Result<(Value, i64), Failure> {
        self.repeated(|| {
            let response = self.call(url, Content::None, None, QUESTION)?;
            let answer = value(&response, self.client.endpoint().key.as_ref())?;
            Ok((answer, time_at(&response)))
        })
    }

    /// Downloads a file from the server into an empty local file.
    pub(super) fn download(
        &self,
        url: &str,
        mut into: impl FnMut() -> std::io::Result<File>,
    ) -> Result<(), Failure> {
        self.repeated(|| {
            let file = into().and_then(|file| file.set_len(0).map(|()| file));
            let file = file.map_err(|e| Failure::RunLimit(format!("cannot keep results: {e}")))?;
            let response = self.call(url, Content::None, Some(file), TRANSFER)?;
            value(&response, self.client.endpoint().key.as_ref()).map(drop)
        })
    }

    /// Creates something on the server, at most once: retries only if the server was too busy for the request.
    pub(super) fn make(
        &self,
        url: &str,
        mut content: impl FnMut() -> std::io::Result<Content>,
    ) -> Result<Value, NotMade> {
        let mut tries = 0;
        loop {
            tries += 1;
            let content = content().map_err(|e| {
                NotMade::Refused(Failure::RunLimit(format!("cannot read the requests: {e}")))
            })?;
            let response = self.call(url, content, None, TRANSFER);
            let response = response.map_err(NotMade::Unknown)?;
            let result = value(&response, self.client.endpoint().key.as_ref());
            match (response.status, result) {
                (_, Ok(made)) => return Ok(made),
                (429, Err(Failure::Busy { retry_after, .. })) if tries < self.tries => {
                    self.pause(retry_after, tries).map_err(NotMade::Refused)?;
                }
                (300..=499, Err(failure)) => return Err(NotMade::Refused(failure)),
                (_, Err(failure)) => return Err(NotMade::Unknown(failure)),
            }
        }
    }

    /// Describes a failure as an error for people.
    pub(super) fn error(&self, failure: &Failure) -> Error {
        let why = match failure {
            Failure::Interrupted => return Error::new(ErrorKind::Interrupted, "interrupted"),
            Failure::Busy { why, .. }
            | Failure::Refused { why, .. }
            | Failure::PromptTooLong { why, .. }
            | Failure::Transient(why)
            | Failure::Rejected(why)
            | Failure::Fatal(why)
            | Failure::NoModel(why)
            | Failure::RunLimit(why)
            | Failure::Waiting(why) => why.as_str(),
            Failure::Offline => "no request is sent",
        };
        let endpoint = self.client.endpoint();
        let why = match &endpoint.key {
            Some(key) => key.mask(why),
            None => why.to_owned(),
        };
        Error::new(ErrorKind::Summary, format!("{}: {why}", endpoint.host))
    }

    fn repeated<T>(&self, mut call: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
        let mut tries = 0;
        loop {
            tries += 1;
            match call() {
                Err(failure) if failure.is_transient() && tries < self.tries => {
                    let asked = match failure {
                        Failure::Busy { retry_after, .. } => retry_after,
                        _ => None,
                    };
                    self.pause(asked, tries)?;
                }
                result => return result,
            }
        }
    }

    fn call(
        &self,
        url: &str,
        content: Content,
        into: Option<File>,
        timeout: Duration,
    ) -> Result<Response, Failure> {
        let call = Call {
            url: url.to_owned(),
            content,
            into,
            timeout,
        };
        self.client.call(call, self.stop)
    }

    /// Waits as long as the server asks, or else with exponential backoff.
    fn pause(&self, asked: Option<Duration>, tries: u32) -> Result<(), Failure> {
        let wait = asked.unwrap_or(FIRST_WAIT * 2u32.saturating_pow(tries - 1));
        self.sleep(wait.min(LONGEST_WAIT))
    }

    /// Sleeps, unless the run is interrupted.
    pub(super) fn sleep(&self, time: Duration) -> Result<(), Failure> {
        sleep_unless(self.stop, time).ok_or(Failure::Interrupted)
    }
}

/// The server's time when it answered, in seconds; our own if the server does not say.
fn time_at(response: &Response) -> i64 {
    let date = response.date.as_deref();
    let date = date.and_then(|date| DateTimeParser::new().parse_timestamp(date.trim()).ok());
    date.unwrap_or_else(Timestamp::now).as_second()
}
