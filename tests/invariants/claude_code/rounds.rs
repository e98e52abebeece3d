//! Calls and their results, in each of the layouts that agents write.

use super::super::anthropic::{answers, block, call, image, thoughts};
use super::super::text::{Json, Mode, object, output, text_of, words};
use super::{Aside, Chain, What, Writer, kind, task};

/// A call of an answer.
struct Called {
    id: String,
    call: Json,
    /// The prompt, if it is the call of a task.
    prompt: Option<String>,
}

impl Writer<'_> {
    /// An answer with calls, spread over lines in one of these layouts.
    pub(super) fn round(&mut self, chain: &mut Chain) {
        let message = self.message_id();
        let before = thoughts(self.tape, self.mode);
        let calls: Vec<Called> = (0..self.tape.between(1, 3))
            .map(|_| self.called(chain))
            .collect();
        let layout = self.tape.below(5);
        self.round_as(chain, &message, layout, before, &calls);
        for prompt in calls.into_iter().filter_map(|called| called.prompt) {
            self.sidechain(chain, prompt);
        }
    }

    fn called(&mut self, chain: &Chain) -> Called {
        // Noise contains duplicate ids.
        if self.mode == Mode::Clean || !self.tape.one_in(10) {
            self.ids += 1;
        }
        let id = format!("toolu_{}", self.ids);
        if chain.aside == Aside::No && self.tape.one_in(10) {
            let prompt = words(self.tape, self.mode);
            let name = self.tape.pick(&["Task", "Agent"]);
            let call = task(&id, name, &prompt);
            return Called {
                id,
                call,
                prompt: Some(prompt),
            };
        }
        let call = call(self.tape, &id);
        Called {
            id,
            call,
            prompt: None,
        }
    }

    fn round_as(
        &mut self,
        chain: &mut Chain,
        message: &str,
        layout: usize,
        before: Vec<Json>,
        calls: &[Called],
    ) {
        if layout < 2 {
            let blocks = before
                .into_iter()
                .chain(calls.iter().map(|c| c.call.clone()));
            let tasks = calls.iter().filter_map(|c| c.prompt.clone()).collect();
            self.assistant(chain, message, Json::List(blocks.collect()), tasks);
            for Called { id, .. } in calls {
                self.progress(chain, id);
            }
            if layout == 1 {
                return self.results_on_a_line(chain, calls);
            }
            return calls
                .iter()
                .for_each(|called| self.result(chain, &called.id));
        }
        for block in before {
            self.assistant(chain, message, Json::List(vec![block]), Vec::new());
        }
        match layout {
            // One line per block, then the results, each the parent of the next.
            2 => {
                for called in calls {
                    self.call_line(chain, message, called);
                    self.progress(chain, &called.id);
                }
                calls
                    .iter()
                    .for_each(|called| self.result(chain, &called.id));
            }
            // Each result right after its call.
            3 => {
                for called in calls {
                    self.call_line(chain, message, called);
                    self.progress(chain, &called.id);
                    self.result(chain, &called.id);
                }
            }
            // The parent of each result is its call; only the last result is on the path.
            _ => {
                let callers: Vec<usize> = calls
                    .iter()
                    .map(|called| self.call_line(chain, message, called))
                    .collect();
                for (called, caller) in calls.iter().zip(callers) {
                    chain.leaf = Some(caller);
                    self.progress(chain, &called.id);
                    self.result(chain, &called.id);
                }
            }
        }
    }

    fn call_line(&mut self, chain: &mut Chain, message: &str, called: &Called) -> usize {
        let tasks = called.prompt.iter().cloned().collect();
        self.assistant(chain, message, Json::List(vec![called.call.clone()]), tasks)
    }

    /// A call's result on a line of its own, with the mirror that its tool writes.
    fn result(&mut self, chain: &mut Chain, id: &str) {
        let output = output(self.tape, self.mode);
        for result in answers(self.tape, self.mode, id, &output) {
            let mirror = self.mirror(&output);
            let ids = vec![id.to_owned()];
            self.message(
                chain,
                What::Results { ids },
                Json::List(vec![result]),
                mirror,
            );
        }
        if self.tape.one_in(12) {
            self.attachment(chain);
        }
    }

    fn results_on_a_line(&mut self, chain: &mut Chain, calls: &[Called]) {
        let mut blocks = Vec::new();
        let mut all = String::new();
        for Called { id, .. } in calls {
            let output = output(self.tape, self.mode);
            blocks.extend(answers(self.tape, self.mode, id, &output));
            all.push_str(&output);
        }
        if self.tape.one_in(4) {
            blocks.push(block(
                "text",
                [("text", text_of(words(self.tape, self.mode)))],
            ));
        }
        let mirror = self.mirror(&all);
        let ids = calls.iter().map(|called| called.id.clone()).collect();
        self.message(chain, What::Results { ids }, Json::List(blocks), mirror);
    }

    fn mirror(&mut self, output: &str) -> Vec<(&'static str, Json)> {
        let out = || text_of(output);
        let value = match self.tape.below(8) {
            0 => return Vec::new(),
            1 | 2 => object([
                ("stdout", out()),
                ("stderr", text_of("")),
                ("interrupted", Json::Raw("false")),
                ("isImage", Json::Raw("false")),
            ]),
            3 => object([
                ("type", text_of("text")),
                (
                    "file",
                    object([
                        ("filePath", text_of("/a/b.rs")),
                        ("content", out()),
                        ("numLines", Json::Raw("12")),
                        ("totalLines", Json::Raw("123456789012345678901234567890")),
                    ]),
                ),
            ]),
            4 => object([
                ("filePath", text_of("/a/b.rs")),
                ("oldString", out()),
                ("originalFile", out()),
                (
                    "structuredPatch",
                    Json::List(vec![object([("lines", Json::List(vec![out()]))])]),
                ),
                ("userModified", Json::Raw("false")),
            ]),
            5 => object([
                ("mode", text_of("content")),
                ("filenames", Json::List(vec![out(), out()])),
            ]),
            6 => text_of(format!("Error: {output}")),
            _ => Json::List(vec![block("text", [("text", out())]), image(self.tape)]),
        };
        let mut fields = vec![("toolUseResult", value)];
        if self.tape.one_in(12) {
            fields.push(("toolUseResult", out()));
        }
        fields
    }

    /// Lines for a viewer, below the call or in the chain.
    fn progress(&mut self, chain: &mut Chain, call: &str) {
        while self.tape.one_in(4) {
            let output = output(self.tape, self.mode);
            let data = match self.tape.below(3) {
                0 => object([
                    ("type", text_of("bash_progress")),
                    ("fullOutput", text_of(output)),
                ]),
                1 => object([
                    ("type", text_of("agent_progress")),
                    (
                        "message",
                        object([(
                            "message",
                            object([("content", Json::List(vec![text_of(output)]))]),
                        )]),
                    ),
                ]),
                _ => text_of(output),
            };
            let fields = vec![
                kind("progress"),
                ("data", data),
                ("toolUseID", text_of("x")),
                ("parentToolUseID", text_of(call)),
            ];
            if self.tape.one_in(2) {
                self.line(chain, What::Passed, fields);
            } else {
                self.hang(chain.aside, chain.leaf, What::Passed, fields);
            }
        }
    }
}
