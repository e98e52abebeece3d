//! A server on loopback that does what a test tells it to, good or bad, byte for byte.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A request as it came.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Request {
    pub(in crate::cli) at: Instant,
    /// The request line and the headers, in lower case.
    pub(in crate::cli) head: String,
    pub(in crate::cli) body: Value,
    /// The body as it came.
    pub(in crate::cli) raw: Vec<u8>,
}

/// What a server does with a request.
pub(in crate::cli) enum Act {
    /// Answers with a status, headers and a body.
    Answer(u16, &'static str, String),
    /// Sends these bytes and closes.
    Raw(Vec<u8>),
    /// Closes at once.
    Drop,
    /// Sends a byte of this answer every so often.
    Slow(Vec<u8>, Duration),
    /// Sends zeros for as long as somebody takes them.
    Flood,
    /// Answers after a while.
    Later(Duration, Box<Act>),
}

/// A server, until the test ends.
pub(in crate::cli) struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
    most_at_once: Arc<AtomicUsize>,
}

impl Server {
    /// One that does with the n-th request, from 0, what `act` says.
    pub(in crate::cli) fn start(
        act: impl Fn(usize, &Request) -> Act + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server {
            port: listener.local_addr().unwrap().port(),
            requests: Arc::default(),
            most_at_once: Arc::default(),
        };
        let (requests, most) = (server.requests.clone(), server.most_at_once.clone());
        let (act, now) = (Arc::new(act), Arc::new(AtomicUsize::new(0)));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (requests, most) = (requests.clone(), most.clone());
                let (act, now) = (act.clone(), now.clone());
                thread::spawn(move || {
                    let mut stream = stream;
                    let Some(request) = read(&mut stream) else {
                        return;
                    };
                    let number = {
                        let mut all = requests.lock().unwrap();
                        all.push(request.clone());
                        all.len() - 1
                    };
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    answer(&mut stream, act(number, &request), &now);
                });
            }
        });
        server
    }

    /// One that answers every request with a summary.
    pub(in crate::cli) fn of_summaries(text: &'static str) -> Self {
        Server::start(move |_, request| summary(request, text))
    }

    pub(in crate::cli) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(in crate::cli) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// How many requests were open at the same time, at most.
    pub(in crate::cli) fn most_at_once(&self) -> usize {
        self.most_at_once.load(Ordering::SeqCst)
    }
}

impl Request {
    /// What the model is told and given, whichever provider it is for.
    pub(in crate::cli) fn content(&self) -> &str {
        let messages = self.body["messages"].as_array().unwrap();
        messages.last().unwrap()["content"].as_str().unwrap()
    }

    /// What stands between the marks.
    pub(in crate::cli) fn record(&self) -> &str {
        let content = self.content();
        let start = content.find("<transcript-").unwrap();
        let start = start + content[start..].find('\n').unwrap() + 1;
        &content[start..content.rfind("\n</transcript-").unwrap()]
    }
}

/// The answer that is a summary, for the provider that was asked.
pub(in crate::cli) fn summary(request: &Request, text: &str) -> Act {
    let body = if request.head.contains("/v1/messages") {
        json!({"type": "message", "model": "claude-test", "content": [{"type": "text", "text": text}],
               "stop_reason": "end_turn", "usage": {"input_tokens": 100, "output_tokens": 10}})
    } else {
        json!({"model": "gpt-test", "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
               "usage": {"prompt_tokens": 100, "completion_tokens": 10}})
    };
    Act::Answer(200, "", body.to_string())
}

/// The same, cut off at the limit of its size.
pub(in crate::cli) fn cut(request: &Request, text: &str) -> Act {
    let whole = summary(request, text);
    let Act::Answer(status, headers, body) = whole else {
        return whole;
    };
    let ends = [
        ("\"end_turn\"", "\"max_tokens\""),
        ("\"stop\"", "\"length\""),
    ];
    let body = ends
        .iter()
        .fold(body, |body, (whole, cut)| body.replace(whole, cut));
    Act::Answer(status, headers, body)
}

fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break at + 4;
        }
        match stream.read(&mut buffer).ok()? {
            0 => return None,
            n => bytes.extend_from_slice(&buffer[..n]),
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.map_or(0, |text| text.trim().parse().unwrap());
    while bytes.len() < head_end + length {
        match stream.read(&mut buffer).ok()? {
            0 => return None,
            n => bytes.extend_from_slice(&buffer[..n]),
        }
    }
    Some(Request {
        at: Instant::now(),
        head,
        body: serde_json::from_slice(&bytes[head_end..]).unwrap_or_default(),
        raw: bytes[head_end..].to_vec(),
    })
}

fn answer(stream: &mut TcpStream, act: Act, open: &AtomicUsize) {
    // Who is not listened to any more has nothing to say.
    let done = || {
        open.fetch_sub(1, Ordering::SeqCst);
    };
    match act {
        Act::Later(time, act) => {
            thread::sleep(time);
            return answer(stream, *act, open);
        }
        Act::Answer(status, headers, body) => {
            done();
            let bytes = whole(status, headers, &body);
            let _ = stream.write_all(&bytes);
            return;
        }
        Act::Raw(bytes) => drop(stream.write_all(&bytes)),
        Act::Drop => {}
        Act::Slow(bytes, every) => {
            for byte in bytes {
                thread::sleep(every);
                if stream.write_all(&[byte]).is_err() {
                    break;
                }
            }
        }
        Act::Flood => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
            while stream.write_all(&[b' '; 65536]).is_ok() {}
        }
    }
    done();
}

/// The bytes of an answer.
pub(in crate::cli) fn whole(status: u16, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} So\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}",
        body.len()
    )
    .into_bytes()
}
