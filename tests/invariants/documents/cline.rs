//! Sessions of Cline, with results of each shape and its own compactions.

use serde_json::{Value, json};

use super::super::tape::Tape;
use super::super::text::{Mode, output, words};
use super::{Around, Written};

struct Writer<'t> {
    tape: &'t mut Tape,
    messages: Vec<Value>,
    time: u64,
    ids: u64,
}

pub(super) fn session(tape: &mut Tape) -> Written {
    let mut writer = Writer {
        tape,
        messages: Vec::new(),
        time: 1_700_000_000_000,
        ids: 0,
    };
    if writer.tape.one_in(6) {
        writer.summary();
    }
    for _ in 0..writer.tape.between(1, 8) {
        writer.user();
        for _ in 0..writer.tape.between(0, 4) {
            writer.round();
        }
        writer.answer();
    }
    Written {
        around: Around::from([
            ("version", json!(1)),
            ("updated_at", json!("2026-01-02T00:00:00.000Z")),
            ("agent", json!("lead")),
            ("sessionId", json!("1795421458345_z1icz")),
            ("origin", json!({"source": "cli", "mode": "user"})),
        ]),
        messages: writer.messages.iter().map(Value::to_string).collect(),
    }
}

impl Writer<'_> {
    fn push(&mut self, role: &str, content: Value) -> &mut Value {
        self.ids += 1;
        self.time += 7;
        let id = format!("msg_{}", self.ids);
        self.messages
            .push(json!({"id": id, "role": role, "content": content, "ts": self.time}));
        self.messages.last_mut().unwrap()
    }

    fn words(&mut self) -> String {
        format!("so {}", words(self.tape, Mode::Clean))
    }

    fn summary(&mut self) {
        let said = self.words();
        let message = self.push("user", json!([{"type": "text", "text": said}]));
        message["metadata"] = json!({"kind": "compaction_summary", "displayRole": "system", "userRunSpan": 3, "summary": said});
    }

    fn user(&mut self) {
        let said = self.words();
        let said = match self.tape.one_in(4) {
            true => said,
            false => format!("<user_input mode=\"act\">{said}</user_input>"),
        };
        let mut content = json!([{"type": "text", "text": said}]);
        match self.tape.below(8) {
            6 => content = json!(said),
            7 => content
                .as_array_mut()
                .unwrap()
                .push(json!({"type": "image", "data": "aGk=", "mediaType": "image/png"})),
            _ => {}
        }
        self.push("user", content);
        if self.tape.one_in(8) {
            let said = self.words();
            let note = self.push("assistant", json!([{"type": "text", "text": said}]));
            note["metadata"] = json!({"displayOnly": true, "displayRole": "error"});
        }
    }

    fn answer(&mut self) {
        let said = self.words();
        let mut content = vec![json!({"type": "text", "text": said})];
        if self.tape.one_in(4) {
            let thought = self.words();
            content.insert(
                0,
                json!({"type": "thinking", "thinking": thought, "signature": "s"}),
            );
        }
        let counted = self.tape.below(9_000);
        let answer = self.push("assistant", json!(content));
        answer["modelInfo"] = json!({"id": "m", "provider": "p"});
        answer["metrics"] = json!({"inputTokens": counted, "outputTokens": 3});
    }

    fn round(&mut self) {
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        for _ in 0..self.tape.between(1, 3) {
            self.ids += 1;
            let id = format!("call_{}", self.ids);
            let (name, input, content) = self.call();
            calls.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
            let mut result =
                json!({"type": "tool_result", "tool_use_id": id, "name": name, "content": content});
            if self.tape.one_in(8) {
                result["is_error"] = json!(true);
            }
            results.push(result);
        }
        self.push("assistant", json!(calls));
        self.push("user", json!(results));
    }

    /// A call: its tool, its input, and its result.
    fn call(&mut self) -> (&'static str, Value, Value) {
        let said = output(self.tape, Mode::Clean);
        let path = format!("/w/f{}.rs", self.tape.below(3));
        let one =
            |query: &str, result: &str| json!({"query": query, "result": result, "success": true});
        match self.tape.below(6) {
            0 => (
                "run_commands",
                json!({"commands": ["ls"]}),
                json!([one("ls", &said)]),
            ),
            1 => {
                let failed = json!({"query": "no", "result": said, "error": "Command exited with code 1", "success": false});
                (
                    "run_commands",
                    json!({"commands": ["ls", "no"]}),
                    json!([one("ls", "a"), failed]),
                )
            }
            2 => {
                let numbered = said
                    .lines()
                    .zip(1..)
                    .map(|(line, number)| format!("{number:3} | {line}"));
                let shown = numbered.collect::<Vec<_>>().join("\n");
                (
                    "read_files",
                    json!({"files": [{"path": path}]}),
                    json!([one(&path, &shown)]),
                )
            }
            3 => {
                let input = json!({"path": path, "old_text": "a", "new_text": "b"});
                let answer = one(&format!("edit:{path}"), &said);
                ("editor", input, json!(answer.to_string()))
            }
            4 => (
                "skills",
                json!({"skill": "s"}),
                json!([{"type": "text", "text": said}]),
            ),
            _ => (
                "search_codebase",
                json!({"queries": ["x"]}),
                json!([one("x", &said)]),
            ),
        }
    }
}

pub(super) fn id(message: &Value) -> &Value {
    &message["id"]
}

/// Takes out what a compaction may change: results.
pub(super) fn blank(message: &mut Value) {
    if let Some(blocks) = message.get_mut("content").and_then(Value::as_array_mut) {
        for block in blocks.iter_mut().filter_map(Value::as_object_mut) {
            if block["type"] == "tool_result" {
                block.remove("content");
            }
        }
    }
}
