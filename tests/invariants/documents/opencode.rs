//! Sessions that opencode exported, and how it compacted itself.

use serde_json::{Value, json};

use super::super::tape::Tape;
use super::super::text::{Mode, output, words};
use super::{Around, Written};

/// The messages of a generated session, and how it compacted itself.
struct Writer<'t> {
    tape: &'t mut Tape,
    messages: Vec<Value>,
    time: u64,
    ids: u64,
}

const SESSION: &str = "ses_1";

impl Writer<'_> {
    fn session(&mut self) {
        for _ in 0..self.tape.between(0, 8) {
            let asked = self.user();
            for _ in 0..self.tape.between(0, 5) {
                self.answer(&asked);
            }
            if self.tape.one_in(8) {
                self.compaction();
            }
        }
    }

    fn id(&mut self, kind: &str) -> String {
        self.ids += 1;
        format!("{kind}_{:06}", self.ids)
    }

    fn push(&mut self, id: &str, mut info: Value, mut parts: Vec<Value>) {
        self.time += self.tape.below(3) as u64;
        info["id"] = json!(id);
        info["sessionID"] = json!(SESSION);
        info["time"] = json!({"created": self.time});
        for part in &mut parts {
            part["id"] = json!(self.id("prt"));
            part["sessionID"] = json!(SESSION);
            part["messageID"] = json!(id);
        }
        self.messages.push(json!({"info": info, "parts": parts}));
    }

    fn user(&mut self) -> String {
        let mut parts = vec![json!({"type": "text", "text": words(self.tape, Mode::Clean)})];
        if self.tape.one_in(5) {
            let added = output(self.tape, Mode::Clean);
            parts.push(json!({"type": "text", "text": added, "synthetic": true}));
        }
        if self.tape.one_in(6) {
            let mime = self
                .tape
                .pick(&["image/png", "text/plain", "application/pdf"]);
            parts.push(json!({"type": "file", "mime": mime, "url": "data:x;base64,AAAA"}));
        }
        let id = self.id("msg");
        let info =
            json!({"role": "user", "agent": "build", "model": {"providerID": "p", "modelID": "m"}});
        self.push(&id, info, parts);
        id
    }

    fn answer(&mut self, asked: &str) {
        let mut parts = vec![json!({"type": "step-start"})];
        if self.tape.one_in(3) {
            let thought = words(self.tape, Mode::Clean);
            parts.push(json!({"type": "reasoning", "text": thought, "time": {"start": 1}}));
        }
        if self.tape.one_in(2) {
            parts.push(json!({"type": "text", "text": words(self.tape, Mode::Clean)}));
        }
        for _ in 0..self.tape.below(4) {
            parts.push(self.call());
        }
        let counted = self.tape.below(20_000);
        parts.push(json!({"type": "step-finish", "reason": "stop", "cost": 0}));
        let mut info = json!({"role": "assistant", "parentID": asked, "modelID": "m", "providerID": "p", "mode": "build",
            "agent": "build", "path": {"cwd": "/w", "root": "/w"}, "cost": 0, "finish": "stop",
            "tokens": {"total": counted + 7, "input": 3, "output": 4, "reasoning": 0, "cache": {"read": counted, "write": 0}}});
        if self.tape.one_in(12) {
            info["error"] =
                json!({"name": self.tape.pick(&["APIError", "MessageAbortedError"]), "data": {}});
        }
        let id = self.id("msg");
        self.push(&id, info, parts);
    }

    fn call(&mut self) -> Value {
        let (tool, input) = match self.tape.below(4) {
            0 => (
                "bash",
                json!({"command": "cargo test", "description": "Runs the tests"}),
            ),
            1 => (
                "read",
                json!({"filePath": format!("/w/f{}.rs", self.tape.below(3))}),
            ),
            2 => (
                "edit",
                json!({"filePath": "/w/f1.rs", "oldString": "a", "newString": "b"}),
            ),
            _ => ("grep", json!({"pattern": "x"})),
        };
        let said = output(self.tape, Mode::Clean);
        let time = json!({"start": 1, "end": 2});
        let state = match self.tape.below(12) {
            0 => json!({"status": "error", "input": input, "error": said, "time": time}),
            1 => json!({"status": "error", "input": input, "error": "Aborted", "time": time,
                "metadata": {"interrupted": true, "output": said}}),
            2 => json!({"status": "running", "input": input, "time": {"start": 1}}),
            3 => {
                json!({"status": "completed", "input": input, "output": said, "title": "t", "metadata": {},
                "time": {"start": 1, "end": 2, "compacted": 3}})
            }
            _ => json!({"status": "completed", "input": input, "output": said, "title": "t",
                "metadata": {"output": said, "exit": self.tape.below(2)}, "time": time}),
        };
        json!({"type": "tool", "tool": tool, "callID": self.id("call"), "state": state})
    }

    /// What the agent writes when it compacts: sometimes it keeps some messages.
    fn compaction(&mut self) {
        let question = self.id("msg");
        let mut part = json!({"type": "compaction", "auto": false});
        if self.tape.one_in(2) {
            let at = self.tape.below(self.messages.len());
            part["tail_start_id"] = self.messages[at]["info"]["id"].clone();
        }
        let info =
            json!({"role": "user", "agent": "build", "model": {"providerID": "p", "modelID": "m"}});
        self.push(&question, info, vec![part]);
        if self.tape.one_in(5) {
            // It failed.
            return;
        }
        let said = words(self.tape, Mode::Clean);
        let answer = self.id("msg");
        let info = json!({"role": "assistant", "parentID": question, "summary": true, "finish": "stop", "mode": "compaction",
            "agent": "compaction", "modelID": "m", "providerID": "p", "path": {"cwd": "/w", "root": "/w"}, "cost": 0,
            "tokens": {"input": 1, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}}});
        self.push(
            &answer,
            info,
            vec![json!({"type": "text", "text": format!("Summary. {said}")})],
        );
    }
}

pub(super) fn session(tape: &mut Tape) -> Written {
    let mut writer = Writer {
        tape,
        messages: Vec::new(),
        time: 1_700_000_000_000,
        ids: 0,
    };
    writer.session();
    let info = json!({"id": SESSION, "directory": "/w", "title": "A title", "time": {"created": 1, "updated": 2}});
    Written {
        around: Around::from([("info", info)]),
        messages: writer.messages.iter().map(Value::to_string).collect(),
    }
}

pub(super) fn id(message: &Value) -> &Value {
    &message["info"]["id"]
}

/// Takes out what a compaction may change: results, their copies, links to removed messages, figures.
pub(super) fn blank(message: &mut Value) {
    for key in ["parentID", "tokens"] {
        message["info"].as_object_mut().unwrap().remove(key);
    }
    for part in message["parts"].as_array_mut().unwrap() {
        if let Some(state) = part.get_mut("state").and_then(Value::as_object_mut) {
            for key in ["output", "error", "metadata"] {
                state.remove(key);
            }
        }
    }
}
