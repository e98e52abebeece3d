//! One request over the network, and what arrives.
//!
//! Follows nobody elsewhere, uses no proxy that the environment names, waits no longer than it was told, and reads no more
//! than a summary can have. Each request has a thread of its own, so that a run that is stopped need not wait for a server.

use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use ureq::Agent;
use ureq::http::HeaderMap;

use super::answer::{Arrived, Failure};
use super::endpoint::{Endpoint, Provider};
use crate::semaphore::POLL;

/// What a server may take to answer a knock.
const CONNECT: Duration = Duration::from_secs(10);
/// The most that is read of an answer.
const BODY_BYTES: u64 = 8 << 20;
/// The version of Anthropic's interface that is spoken.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The way to a server.
#[derive(Debug)]
pub(super) struct Wire {
    agent: Agent,
    endpoint: Endpoint,
}

impl Wire {
    pub(super) fn new(endpoint: Endpoint, patience: Duration) -> Self {
        let config = Agent::config_builder()
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .proxy(None)
            .timeout_connect(Some(CONNECT.min(patience)))
            .timeout_global(Some(patience))
            .user_agent(concat!("ctxpack/", env!("CARGO_PKG_VERSION")))
            .build();
        Wire {
            agent: config.into(),
            endpoint,
        }
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends `body` and waits for what comes back.
    pub(super) fn send(&self, body: Vec<u8>, stop: &AtomicUsize) -> Result<Arrived, Failure> {
        let mut request = self
            .agent
            .post(&self.endpoint.url)
            .header("content-type", "application/json")
            .header("accept", "application/json");
        if self.endpoint.provider == Provider::Anthropic {
            request = request.header("anthropic-version", ANTHROPIC_VERSION);
        }
        if let Some(key) = &self.endpoint.key {
            request = match self.endpoint.provider {
                Provider::Anthropic => request.header("x-api-key", key.secret()),
                Provider::Openai => {
                    request.header("authorization", format!("Bearer {}", key.secret()))
                }
            };
        }
        let (give, take) = channel();
        let work = move || {
            let sent = request.send(body.as_slice()).and_then(|mut response| {
                let mut body = Vec::new();
                let read = response.body_mut().as_reader().take(BODY_BYTES + 1);
                let mut read = read;
                read.read_to_end(&mut body)?;
                Ok(arrived(
                    response.status().as_u16(),
                    response.headers(),
                    body,
                ))
            });
            // Nobody listens any more where the run was stopped.
            let _ = give.send(sent);
        };
        let thread = std::thread::Builder::new().name("request".to_owned());
        if let Err(error) = thread.spawn(work) {
            return Err(Failure::Limit(format!(
                "no thread for the request: {error}"
            )));
        }
        loop {
            match take.recv_timeout(POLL) {
                Ok(Ok(arrived)) if arrived.body.len() as u64 > BODY_BYTES => {
                    return Err(Failure::Refused(
                        "the answer is larger than 8 MiB".to_owned(),
                    ));
                }
                Ok(Ok(arrived)) => return Ok(arrived),
                Ok(Err(error)) => return Err(Failure::Passing(told(&error))),
                Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) != 0 => {
                    return Err(Failure::Stopped);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::Passing("the request broke off".to_owned()));
                }
            }
        }
    }
}

fn arrived(status: u16, headers: &HeaderMap, body: Vec<u8>) -> Arrived {
    let header = |name: &str| {
        let value = headers.get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    Arrived {
        status,
        retry_after_ms: header("retry-after-ms"),
        retry_after: header("retry-after"),
        should_retry: header("x-should-retry"),
        date: header("date"),
        body,
    }
}

/// What went wrong on the way, for people.
fn told(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "the server did not answer in time".to_owned(),
        ureq::Error::HostNotFound => "the server's name leads nowhere".to_owned(),
        ureq::Error::ConnectionFailed => "no server answers there".to_owned(),
        error => format!("the connection failed: {error}"),
    }
}
