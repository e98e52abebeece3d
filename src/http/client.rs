//! Sends one request over the network and reads the response, or a file that is too large for memory.
//!
//! Follows no redirects, uses no proxy from the environment, waits no longer than its timeout, and reads no more than a summary can
//! need. Each request runs on a thread of its own, so that an interrupted run need not wait for the server.

use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use ureq::http::request::Builder;
use ureq::http::{HeaderMap, Request};
use ureq::{Agent, AsSendBody, Body};

use super::endpoint::{Auth, Endpoint};
use super::provider::Provider;
use super::response::{Failure, Response};
use crate::semaphore::POLL;

/// The timeout for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest response, in bytes.
const MAX_BODY_BYTES: u64 = 8 << 20;
/// The largest file, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 30;
/// The maximum number of headers about limits to keep, and the maximum length of their names in bytes.
const MAX_LIMITS: usize = 32;
const MAX_LIMIT_NAME: usize = 100;
/// The version of Anthropic's API.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// An HTTP client for one server.
#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
    endpoint: Endpoint,
    timeout: Duration,
}

/// A call to a server.
#[derive(Debug)]
pub(super) struct Call {
    /// The URL, always on the endpoint's server, because that server's key is sent.
    pub(super) url: String,
    pub(super) content: Content,
    /// A file to write a successful response to, instead of returning its body.
    pub(super) into: Option<File>,
    /// How long it may take.
    pub(super) timeout: Duration,
}

/// What is sent.
#[derive(Debug)]
pub(super) enum Content {
    /// No body (GET).
    None,
    /// A JSON value.
    Json(Vec<u8>),
    /// A file from its current position on, and its content type.
    File { kind: String, file: File },
}

impl Client {
    pub(super) fn new(endpoint: Endpoint, timeout: Duration) -> Self {
        let config = Agent::config_builder()
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .proxy(None)
            .timeout_connect(Some(CONNECT_TIMEOUT.min(timeout)))
            .timeout_global(Some(timeout))
            .user_agent(concat!("ctxpack/", env!("CARGO_PKG_VERSION")))
            .build();
        Client {
            agent: config.into(),
            endpoint,
            timeout,
        }
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends `body` and waits for the response.
    pub(super) fn send(&self, body: Vec<u8>, stop: &AtomicUsize) -> Result<Response, Failure> {
        let call = Call {
            url: self.endpoint.url.clone(),
            content: Content::Json(body),
            into: None,
            timeout: self.timeout,
        };
        self.call(call, stop)
    }

    /// Makes a call and waits for the response.
    pub(super) fn call(&self, call: Call, stop: &AtomicUsize) -> Result<Response, Failure> {
        let Call {
            url,
            content,
            into,
            timeout,
        } = call;
        let request = self.request(&url, &content);
        let agent = self.agent.clone();
        let (sender, receiver) = channel();
        let work = move || {
            let result =
                sent(&agent, request, content, timeout).and_then(|response| read(response, into));
            // If the run was interrupted, there is no receiver.
            let _ = sender.send(result);
        };
        let thread = std::thread::Builder::new().name("request".to_owned());
        if let Err(error) = thread.spawn(work) {
            return Err(Failure::RunLimit(format!(
                "cannot start a thread for the request: {error}"
            )));
        }
        loop {
            match receiver.recv_timeout(POLL) {
                Ok(Ok(response)) if response.body.len() as u64 > MAX_BODY_BYTES => {
                    return Err(Failure::Rejected(
                        "the response is larger than 8 MiB".to_owned(),
                    ));
                }
                Ok(Ok(response)) => return Ok(response),
                Ok(Err(error)) => return Err(Failure::Transient(describe(&error))),
                Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) != 0 => {
                    return Err(Failure::Interrupted);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::Transient("the request was aborted".to_owned()));
                }
            }
        }
    }

    /// The head of a request, with the key.
    fn request(&self, url: &str, content: &Content) -> Builder {
        let mut request = match content {
            Content::None => Request::get(url),
            Content::Json(_) => Request::post(url).header("content-type", "application/json"),
            Content::File { kind, .. } => Request::post(url).header("content-type", kind),
        };
        request = request.header("accept", "application/json");
        if self.endpoint.provider == Provider::Anthropic {
            request = request.header("anthropic-version", ANTHROPIC_VERSION);
        }
        if let Some(key) = &self.endpoint.key {
            request = match self.endpoint.auth {
                Auth::XApiKey => request.header("x-api-key", key.secret()),
                Auth::ApiKey => request.header("api-key", key.secret()),
                Auth::Bearer => request.header("authorization", format!("Bearer {}", key.secret())),
            };
        }
        request
    }
}

/// Sends a request.
fn sent(
    agent: &Agent,
    request: Builder,
    content: Content,
    timeout: Duration,
) -> Result<ureq::http::Response<Body>, ureq::Error> {
    fn run<S: AsSendBody>(
        agent: &Agent,
        request: Request<S>,
        timeout: Duration,
    ) -> Result<ureq::http::Response<Body>, ureq::Error> {
        let request = agent.configure_request(request);
        agent.run(request.timeout_global(Some(timeout)).build())
    }
    match content {
        Content::None => run(agent, request.body(())?, timeout),
        Content::Json(body) => run(agent, request.body(body)?, timeout),
        Content::File { file, .. } => run(agent, request.body(file)?, timeout),
    }
}

/// Reads a response; a successful one into a file, if one is given.
fn read(
    mut response: ureq::http::Response<Body>,
    into: Option<File>,
) -> Result<Response, ureq::Error> {
    let mut body = Vec::new();
    let (status, reader) = (response.status().as_u16(), response.body_mut().as_reader());
    match into {
        Some(mut file) if status == 200 => {
            // Reading one byte more than the limit shows that it was exceeded.
            let copied = io::copy(&mut reader.take(MAX_FILE_BYTES + 1), &mut file)?;
            if copied > MAX_FILE_BYTES {
                return Err(io::Error::other("the file is larger than 16 GiB").into());
            }
        }
        Some(_) | None => {
            reader.take(MAX_BODY_BYTES + 1).read_to_end(&mut body)?;
        }
    }
    Ok(of_parts(status, response.headers(), body))
}

fn of_parts(status: u16, headers: &HeaderMap, body: Vec<u8>) -> Response {
    let header = |name: &str| {
        let value = headers.get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let limits = headers.iter().filter_map(|(name, value)| {
        let name = name.as_str();
        let is_limit = name.contains("ratelimit") && name.len() <= MAX_LIMIT_NAME;
        Some((
            name.to_owned(),
            value.to_str().ok().filter(|_| is_limit)?.to_owned(),
        ))
    });
    // A server that does not send its time is assumed to have ours.
    let now = || {
        DateTimePrinter::new()
            .timestamp_to_rfc9110_string(&Timestamp::now())
            .ok()
    };
    Response {
        status,
        retry_after_ms: header("retry-after-ms"),
        retry_after: header("retry-after"),
        should_retry: header("x-should-retry"),
        date: header("date").or_else(now),
        limits: limits.take(MAX_LIMITS).collect(),
        body,
    }
}

/// A network error, for people.
fn describe(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "the server did not answer in time".to_owned(),
        ureq::Error::HostNotFound => "the server's name cannot be resolved".to_owned(),
        ureq::Error::ConnectionFailed => "cannot connect to the server".to_owned(),
        error => format!("the connection failed: {error}"),
    }
}
