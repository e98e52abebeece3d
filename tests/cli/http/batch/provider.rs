//! A server that speaks the published shapes of both batch APIs, and counts what is paid for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::cli::http::server::{Act, Request, Server};

/// What becomes of a request in a batch.
#[derive(Debug, Clone)]
pub(super) enum Fate {
    /// It is answered with this summary.
    Text(String),
    /// An error of this kind with this message, as if it had been sent alone.
    Errored(&'static str, &'static str),
    Expired,
    Canceled,
    /// There is no line for it.
    Missing,
}

/// A batch that the server has.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    pub(super) id: String,
    pub(super) items: Vec<Value>,
    created: i64,
    metadata: Value,
    /// How often it was looked at.
    looks: usize,
}

/// What the server has, by both APIs.
#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) batches: Vec<Batch>,
    files: BTreeMap<String, String>,
    /// Batches that were made and whose answer is not sent: the connection breaks.
    pub(super) breaks: usize,
    /// How often a batch is looked at before it has ended.
    pub(super) looks: usize,
    /// The status that all batches end with, where that is not the usual one.
    pub(super) status: Option<&'static str>,
    /// Requests that were answered one by one.
    pub(super) single: usize,
}

type Decide = Box<dyn Fn(&Value) -> Fate + Send + Sync>;

pub(super) struct Provider {
    pub(super) server: Server,
    pub(super) book: Arc<Mutex<Book>>,
    pub(super) name: &'static str,
}

impl Provider {
    /// One whose requests, as they stand in a batch, come to this.
    pub(super) fn start(
        name: &'static str,
        decide: impl Fn(&Value) -> Fate + Send + Sync + 'static,
    ) -> Self {
        let book: Arc<Mutex<Book>> = Arc::default();
        let (own, decide): (_, Decide) = (book.clone(), Box::new(decide));
        let server =
            Server::start(move |_, request| act(name, &mut own.lock().unwrap(), request, &decide));
        Provider { server, book, name }
    }

    /// The requests of all batches, by name; a name twice is paid twice.
    pub(super) fn paid(&self) -> Vec<String> {
        let book = self.book.lock().unwrap();
        let items = book.batches.iter().flat_map(|batch| &batch.items);
        items
            .map(|item| item["custom_id"].as_str().unwrap().to_owned())
            .collect()
    }

    /// That every request was sent once, in so many batches, and none by itself.
    #[track_caller]
    pub(super) fn has_been_paid(&self, requests: usize, batches: usize) {
        let mut paid = self.paid();
        assert_eq!(paid.len(), requests);
        paid.sort();
        paid.dedup();
        assert_eq!(paid.len(), requests, "a request was sent twice");
        let book = self.book.lock().unwrap();
        assert_eq!((book.batches.len(), book.single), (batches, 0));
    }

    /// What a run is begun with.
    pub(super) fn flags(&self) -> String {
        format!(
            "--summarize always --summarizer {} --model m-1 --base-url {} --set summary.keep_tokens=20 --set \
             summary.tokens=200",
            self.name,
            self.server.url()
        )
    }
}

/// The conversation of a request.
pub(super) fn record(item: &Value) -> String {
    let body = match item.get("params") {
        Some(params) => params,
        None => &item["body"],
    };
    let messages = body["messages"].as_array().unwrap();
    messages.last().unwrap()["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap()
}

fn act(name: &str, book: &mut Book, request: &Request, decide: &Decide) -> Act {
    let line = request.head.lines().next().unwrap();
    let (method, path) = line.split_once(' ').unwrap();
    let path = path.split(' ').next().unwrap();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let root = match name {
        "anthropic" => "/v1/messages/batches",
        _ => "/v1/batches",
    };
    let ok = |value: Value| Act::Answer(200, "", value.to_string());
    match (method, path.strip_prefix(root)) {
        ("post", Some("")) => {
            let (items, metadata) = match name {
                "anthropic" => (
                    request.body["requests"].as_array().unwrap().clone(),
                    json!({}),
                ),
                _ => {
                    assert_eq!(request.body["completion_window"], "24h");
                    assert_eq!(request.body["endpoint"], "/v1/chat/completions");
                    let file = &book.files[request.body["input_file_id"].as_str().unwrap()];
                    let items = file.lines().map(|line| serde_json::from_str(line).unwrap());
                    (items.collect(), request.body["metadata"].clone())
                }
            };
            let id = format!("batch_{}", book.batches.len() + 1);
            book.batches.push(Batch {
                id,
                items,
                created: now(),
                metadata,
                looks: 0,
            });
            if book.breaks > 0 {
                book.breaks -= 1;
                return Act::Drop;
            }
            let last = book.batches.last().unwrap();
            ok(told(name, book, last, decide))
        }
        ("get", Some("")) => {
            // Newest first, two a page.
            let mut newest: Vec<&Batch> = book.batches.iter().rev().collect();
            let after = query
                .split('&')
                .find_map(|part| part.split_once("after")?.1.split_once('='));
            if let Some((_, after)) = after {
                let at = newest.iter().position(|batch| batch.id == after).unwrap();
                newest.drain(..=at);
            }
            let more = newest.len() > 2;
            newest.truncate(2);
            let data: Vec<Value> = newest.iter().map(|b| told(name, book, b, decide)).collect();
            ok(json!({"data": data, "has_more": more}))
        }
        ("get", Some(rest)) if rest.ends_with("/results") => {
            let id = rest.trim_start_matches('/').trim_end_matches("/results");
            let batch = book.batches.iter().find(|batch| batch.id == id).unwrap();
            Act::Answer(200, "", lines(batch, decide, true, anthropic_line))
        }
        ("get", Some(rest)) => {
            let id = rest.trim_start_matches('/');
            match book.batches.iter().position(|batch| batch.id == id) {
                Some(at) => {
                    book.batches[at].looks += 1;
                    ok(told(name, book, &book.batches[at], decide))
                }
                None => Act::Answer(
                    404,
                    "",
                    json!({"error": {"message": "No batch"}}).to_string(),
                ),
            }
        }
        ("post", None) if path == "/v1/files" => {
            let text = String::from_utf8(request.raw.clone()).unwrap();
            assert!(text.contains("name=\"purpose\"\r\n\r\nbatch\r\n"), "{text}");
            let start = text.find("application/jsonl\r\n\r\n").unwrap() + 21;
            let file = &text[start..text.rfind("\r\n--").unwrap()];
            let id = format!("file-{}", book.files.len() + 1);
            book.files.insert(id.clone(), file.trim_end().to_owned());
            ok(json!({"id": id, "object": "file", "purpose": "batch"}))
        }
        ("get", None) if path.starts_with("/v1/files/") => {
            let id = path
                .trim_start_matches("/v1/files/")
                .trim_end_matches("/content");
            let (kind, id) = id.split_once("-of-").unwrap();
            let batch = book.batches.iter().find(|batch| batch.id == id).unwrap();
            let is_error = kind == "errors";
            Act::Answer(
                200,
                "",
                lines(batch, decide, !is_error, |fate| openai_line(fate, is_error)),
            )
        }
        _ => {
            book.single += 1;
            Act::Answer(500, "", "{}".to_owned())
        }
    }
}

/// The results, the last request first, before them perhaps one of a request that nobody sent.
fn lines(
    batch: &Batch,
    decide: &Decide,
    with_stranger: bool,
    line: impl Fn(&Fate) -> Option<Value>,
) -> String {
    let mut text = String::new();
    let stranger = json!({"custom_id": "0".repeat(32), "result": {"type": "expired"}});
    if with_stranger {
        text.push_str(&format!("{stranger}\n"));
    }
    for item in batch.items.iter().rev() {
        if let Some(mut line) = line(&decide(item)) {
            line["custom_id"] = item["custom_id"].clone();
            text.push_str(&format!("{line}\n"));
        }
    }
    text
}

fn anthropic_line(fate: &Fate) -> Option<Value> {
    let result = match fate {
        Fate::Text(text) => {
            json!({"type": "succeeded", "message": {"id": "msg_1", "type": "message",
            "role": "assistant", "model": "claude-test", "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn", "stop_sequence": null, "usage": {"input_tokens": 100, "output_tokens": 10}}})
        }
        Fate::Errored(kind, message) => json!({"type": "errored",
            "error": {"type": "error", "error": {"type": kind, "message": message}}}),
        Fate::Expired => json!({"type": "expired"}),
        Fate::Canceled => json!({"type": "canceled"}),
        Fate::Missing => return None,
    };
    Some(json!({"result": result}))
}

fn openai_line(fate: &Fate, is_error: bool) -> Option<Value> {
    let line = match fate {
        Fate::Text(text) if !is_error => json!({"id": "batch_req_1", "error": null,
            "response": {"status_code": 200, "request_id": "r", "body": {"id": "c", "object": "chat.completion",
                "model": "gpt-test", "choices": [{"index": 0, "finish_reason": "stop",
                    "message": {"role": "assistant", "content": text}}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}}}}),
        Fate::Errored(kind, message) if is_error => json!({"id": "batch_req_1", "error": null,
            "response": {"status_code": 400, "request_id": "r", "body": {"error": {"message": message, "type": kind}}}}),
        Fate::Expired if is_error => {
            json!({"id": "batch_req_1", "response": null, "error": {"code": "batch_expired",
            "message": "This request could not be executed before the completion window expired."}})
        }
        Fate::Canceled if is_error => {
            json!({"id": "batch_req_1", "response": null, "error": {"code": "batch_cancelled",
            "message": "The batch was cancelled."}})
        }
        _ => return None,
    };
    Some(line)
}

/// A batch as its API tells of it.
fn told(name: &str, book: &Book, batch: &Batch, decide: &Decide) -> Value {
    let is_done = batch.looks > book.looks;
    let fates: Vec<Fate> = batch.items.iter().map(decide).collect();
    let counted = |is: fn(&Fate) -> bool| match is_done {
        true => fates.iter().filter(|fate| is(fate)).count(),
        false => 0,
    };
    let succeeded = counted(|fate| matches!(fate, Fate::Text(_)));
    match name {
        "anthropic" => {
            let processing = if is_done { 0 } else { fates.len() };
            let time = |seconds: i64| {
                // Good enough for a test: the days since 1970 of this one.
                let (days, rest) = (seconds / 86_400, seconds % 86_400);
                let (year, month, day) = date(days);
                format!(
                    "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.5Z",
                    rest / 3_600,
                    rest / 60 % 60,
                    rest % 60
                )
            };
            json!({"id": batch.id, "type": "message_batch",
                "processing_status": if is_done { "ended" } else { "in_progress" },
                "request_counts": {"processing": processing, "succeeded": succeeded,
                    "errored": counted(|fate| matches!(fate, Fate::Errored(..))),
                    "canceled": counted(|fate| matches!(fate, Fate::Canceled)),
                    "expired": counted(|fate| matches!(fate, Fate::Expired | Fate::Missing))},
                "created_at": time(batch.created), "expires_at": time(batch.created + 86_400), "ended_at": null,
                "archived_at": null, "cancel_initiated_at": null, "results_url": "https://evil.example/results"})
        }
        _ => {
            let status = match (is_done, book.status) {
                (false, _) => "in_progress",
                (true, status) => status.unwrap_or("completed"),
            };
            let file = |kind: &str| match is_done && status != "failed" {
                true => json!(format!("{kind}-of-{}", batch.id)),
                false => Value::Null,
            };
            json!({"id": batch.id, "object": "batch", "endpoint": "/v1/chat/completions", "completion_window": "24h",
                "input_file_id": "file-1", "created_at": batch.created, "status": status,
                "errors": {"object": "list", "data": [{"code": "invalid_file", "message": "no", "line": 1, "param": null}]},
                "output_file_id": file("output"), "error_file_id": file("errors"),
                "request_counts": {"total": fates.len(), "completed": succeeded, "failed": 0},
                "metadata": batch.metadata})
        }
    }
}

/// The date of a day since 1970.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let day = days % 146_097;
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let rest = day - (365 * year + year / 4 - year / 100);
    let month = (5 * rest + 2) / 153;
    let date = (
        rest - (153 * month + 2) / 5 + 1,
        if month < 10 { month + 3 } else { month - 9 },
    );
    (year + era * 400 + i64::from(date.1 <= 2), date.1, date.0)
}
