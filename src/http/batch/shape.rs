//! The shapes of the two batch APIs: Anthropic's Message Batches, and OpenAI's, whose requests and results are files.
//!
//! PURE. What a server returns is data: an id becomes part of a URL only if it is a plain word, and no URL that a server names is
//! ever requested, because that would send the key there.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::error::{Error, ErrorKind, Result};
use crate::http::endpoint::Endpoint;
use crate::http::provider::Provider;
use crate::http::response::Response;

/// The maximum length of an id, in bytes.
const MAX_ID: usize = 128;
/// The number of batches on a page of a list.
pub(super) const PAGE: u64 = 100;
/// The boundary between the parts of an upload.
const BOUNDARY: &str = "ctxpack-requests-5f1c2a7e9d";
/// The metadata key by which a batch is recognised.
const TAG: &str = "ctxpack";
/// The path that OpenAI's lines name for their requests, whatever the server's own path is.
const COMPLETIONS: &str = "/v1/chat/completions";

/// The limits of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Most {
    pub(super) requests: usize,
    pub(super) bytes: u64,
}

impl Most {
    /// The provider's limits, minus some room for the envelope around the requests.
    pub(super) fn of(provider: Provider) -> Self {
        match provider {
            Provider::Anthropic => Most {
                requests: 100_000,
                bytes: 255_000_000,
            },
            Provider::Openai => Most {
                requests: 50_000,
                bytes: 199_000_000,
            },
        }
    }
}

/// URLs of the batch API on an endpoint's server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Addresses {
    provider: Provider,
    base: String,
}

impl Addresses {
    /// The URLs beside an endpoint's.
    ///
    /// # Errors
    /// [`ErrorKind::Config`]: the endpoint's URL contains a deployment or a version, so there is no place beside it.
    pub(super) fn of(endpoint: &Endpoint) -> Result<Self> {
        let base = match endpoint.provider {
            Provider::Anthropic => Some(endpoint.url.as_str()),
            Provider::Openai => endpoint.url.strip_suffix("/chat/completions"),
        };
        match base {
            Some(base) if !base.contains("/deployments/") => Ok(Addresses {
                provider: endpoint.provider,
                base: base.to_owned(),
            }),
            Some(_) | None => {
                let message = format!("{}: a deployment URL has no batch API", endpoint.host);
                Err(Error::new(ErrorKind::Config, message)
                    .hint("name the address that ends in /v1, or write the requests to a file with --batch-file"))
            }
        }
    }

    /// The batches.
    pub(super) fn batches(&self) -> String {
        format!("{}/batches", self.base)
    }

    /// A single batch.
    pub(super) fn batch(&self, id: &str) -> String {
        format!("{}/batches/{id}", self.base)
    }

    /// A page of the list: the newest batches, or those after a given one.
    pub(super) fn page(&self, after: Option<&str>) -> String {
        let name = match self.provider {
            Provider::Anthropic => "after_id",
            Provider::Openai => "after",
        };
        let after = after.map_or(String::new(), |after| format!("&{name}={after}"));
        format!("{}/batches?limit={PAGE}{after}", self.base)
    }

    /// Where files are uploaded.
    pub(super) fn files(&self) -> String {
        format!("{}/files", self.base)
    }

    /// The content of a file.
    fn content(&self, file: &str) -> String {
        format!("{}/files/{file}/content", self.base)
    }

    /// The results of an Anthropic batch; the server's own `results_url` is never requested.
    fn results(&self, id: &str) -> String {
        format!("{}/batches/{id}/results", self.base)
    }
}

/// Whether a text can be an id of a batch or a file.
pub(super) fn is_id(text: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    (1..=MAX_ID).contains(&text.len()) && text.bytes().all(is_plain)
}

/// A request as it is written in a batch, without a line ending; `body` is JSON on one line.
pub(super) fn request_line(provider: Provider, id: &str, body: &[u8]) -> Vec<u8> {
    let before = match provider {
        Provider::Anthropic => format!("{{\"custom_id\":\"{id}\",\"params\":"),
        Provider::Openai => format!(
            "{{\"custom_id\":\"{id}\",\"method\":\"POST\",\"url\":\"{COMPLETIONS}\",\"body\":"
        ),
    };
    [before.as_bytes(), body, b"}"].concat()
}

/// The bytes before, between and after the requests of an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UploadEnvelope {
    pub(super) before: String,
    pub(super) between: &'static str,
    pub(super) after: String,
    /// The content type.
    pub(super) kind: String,
}

/// The envelope for a provider: a JSON object, or a form that contains a file.
pub(super) fn around(provider: Provider) -> UploadEnvelope {
    match provider {
        Provider::Anthropic => UploadEnvelope {
            before: "{\"requests\":[".to_owned(),
            between: ",\n",
            after: "]}".to_owned(),
            kind: "application/json".to_owned(),
        },
        Provider::Openai => UploadEnvelope {
            before: format!(
                "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--{BOUNDARY}\r\n\
                 content-disposition: form-data; name=\"file\"; filename=\"ctxpack.jsonl\"\r\ncontent-type: \
                 application/jsonl\r\n\r\n"
            ),
            between: "\n",
            after: format!("\n\r\n--{BOUNDARY}--\r\n"),
            kind: format!("multipart/form-data; boundary={BOUNDARY}"),
        },
    }
}

/// The request that creates a batch from an uploaded file.
pub(super) fn creation(file: &str, tag: &str) -> Vec<u8> {
    let metadata = json!({TAG: tag});
    json!({"input_file_id": file, "endpoint": COMPLETIONS, "completion_window": "24h", "metadata": metadata})
        .to_string()
        .into_bytes()
}

/// A batch as reported by its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) id: String,
    /// When it was created, in seconds.
    pub(super) created: Option<i64>,
    /// The number of its requests, if known.
    pub(super) requests: Option<u64>,
    /// Its tag.
    pub(super) tag: Option<String>,
    pub(super) standing: BatchStatus,
}

/// The status of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BatchStatus {
    /// It is not finished.
    Working,
    /// It has ended: the URLs of its results, and the reason for requests without a result in any of them.
    Ended(Vec<String>, String),
    /// The server accepted none of its requests; says why.
    Failed(String),
}

/// Reads a server's description of a batch; `None` if the value is not one.
pub(super) fn seen(addresses: &Addresses, batch: &Value) -> Option<Seen> {
    let id = batch["id"].as_str().filter(|id| is_id(id))?.to_owned();
    let counts = &batch["request_counts"];
    let seen = match addresses.provider {
        Provider::Anthropic => {
            let counted = ["processing", "succeeded", "errored", "canceled", "expired"];
            let created = batch["created_at"].as_str()?.parse::<Timestamp>().ok();
            let standing = match batch["processing_status"].as_str()? {
                "ended" => BatchStatus::Ended(
                    vec![addresses.results(&id)],
                    "the batch has no result for it".to_owned(),
                ),
                _ => BatchStatus::Working,
            };
            Seen {
                created: created.map(Timestamp::as_second),
                requests: counted.iter().map(|name| counts[name].as_u64()).sum(),
                tag: None,
                standing,
                id,
            }
        }
        Provider::Openai => {
            let files = ["output_file_id", "error_file_id"].map(|name| batch[name].as_str());
            let files = files.into_iter().flatten().filter(|file| is_id(file));
            let files = files.map(|file| addresses.content(file)).collect();
            let standing = match batch["status"].as_str()? {
                "completed" => {
                    BatchStatus::Ended(files, "the batch has no result for it".to_owned())
                }
                "expired" => BatchStatus::Ended(files, "the batch expired before it".to_owned()),
                "cancelled" => BatchStatus::Ended(files, "the batch was cancelled".to_owned()),
                "failed" => BatchStatus::Failed(errors(&batch["errors"])),
                _ => BatchStatus::Working,
            };
            Seen {
                created: batch["created_at"].as_i64(),
                requests: counts["total"].as_u64(),
                tag: batch["metadata"][TAG].as_str().map(str::to_owned),
                standing,
                id,
            }
        }
    };
    Some(seen)
}

/// Why a batch failed as a whole: the first of its errors.
fn errors(errors: &Value) -> String {
    let first = &errors["data"][0];
    let said = first["message"].as_str().unwrap_or("no reason is given");
    let code = first["code"].as_str().unwrap_or("failed");
    let line = first["line"].as_u64();
    let line = line.map_or(String::new(), |line| format!(" (line {line})"));
    format!("{code}: {said}{line}")
}

/// A result: what the server would have answered to the request alone, or why it did not process it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Response(Response),
    Without(String),
}

/// Reads a line of results: the request's name and its outcome. Accepts both providers' forms in any file, since other servers use
/// either.
pub(super) fn result(line: &[u8]) -> Option<(String, Outcome)> {
    let line: Value = serde_json::from_slice(line).ok()?;
    let id = line["custom_id"].as_str()?.to_owned();
    let response = |status: u16, body: &Value| {
        Outcome::Response(Response {
            status,
            body: body.to_string().into_bytes(),
            ..Response::default()
        })
    };
    let result = &line["result"];
    let outcome = match result["type"].as_str() {
        Some("succeeded") => response(200, &result["message"]),
        Some("errored") => {
            let error = &result["error"];
            let kind = error["error"]["type"].as_str().or(error["type"].as_str());
            response(status_of(kind.unwrap_or_default()), error)
        }
        Some("expired") => Outcome::Without("the batch expired before it".to_owned()),
        Some("canceled") => Outcome::Without("the batch was cancelled".to_owned()),
        Some(_) => return None,
        None => {
            let answer = &line["response"];
            let status = answer["status_code"].as_u64();
            match status.and_then(|status| u16::try_from(status).ok()) {
                Some(status) if answer["body"].is_object() => response(status, &answer["body"]),
                Some(_) | None => {
                    let error = &line["error"];
                    let said = error["message"].as_str().or(error.as_str())?;
                    Outcome::Without(said.to_owned())
                }
            }
        }
    };
    Some((id, outcome))
}

/// The HTTP status that a type of Anthropic error has when a request is answered on its own.
fn status_of(kind: &str) -> u16 {
    match kind {
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "api_error" => 500,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 400,
    }
}

#[cfg(test)]
#[path = "shape/tests.rs"]
mod tests;
