//! A second reader of lines: results, calls, roles, mirrors, links.
//!
//! Knows the formats by their documents, not by the program's readers.

use std::ops::Range;

use ctxpack::format::Format;
use ctxpack::scan::unescape;
use ctxpack::transcript::Outcome;

use super::json::{self, Kind, Node};

/// A tool result.
#[derive(Debug, Clone)]
pub(super) struct ResultView {
    /// The id of the call that it answers; empty in the older form of OpenAI.
    pub id: String,
    /// The tool, where the result says it itself.
    pub tool: String,
    /// Its content, if it has one.
    pub content: Option<Node>,
    /// Whether it says that its call failed.
    pub outcome: Outcome,
}

/// A string or a list outside of the messages that repeats a result.
#[derive(Debug, Clone)]
pub(super) struct MirrorView {
    /// Where it stands.
    pub node: Node,
    /// The id of its call; none: the results on the same line.
    pub of: Option<String>,
}

/// What a call asks its tool for.
#[derive(Debug)]
pub(super) struct AskView {
    pub id: String,
    pub tool: String,
    /// The input as JSON.
    pub input: String,
    /// How many results stand before it on its line.
    pub results_before: usize,
}

/// A line.
#[derive(Debug, Default)]
pub(super) struct LineView {
    /// Its results, in order.
    pub results: Vec<ResultView>,
    /// Ids and names of its calls, in order.
    pub calls: Vec<(String, String)>,
    /// The same calls with what they ask for.
    pub asks: Vec<AskView>,
    /// Messages without any result: nothing in them may ever change.
    pub said: Vec<Range<usize>>,
    pub mirrors: Vec<MirrorView>,
    /// What it hangs on, or points to.
    pub link: Option<Node>,
    /// What a provider counted, in the order in which it is lowered.
    pub figures: Vec<Node>,
    /// Its own id.
    pub id: Option<Node>,
    /// What depends on these and on the lines that stay: the sum of the figures, and what a compaction keeps.
    pub sums: Vec<Node>,
}

/// The parts of a recorded usage that fill a window, in the order in which they are lowered.
const FIGURES: [&str; 3] = [
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "input_tokens",
];

/// Lines that describe a session: nothing hangs on them and they hang on nothing, whatever ids they carry.
pub(super) const SESSION: [&str; 7] = [
    "file-history-snapshot",
    "queue-operation",
    "summary",
    "permission-mode",
    "ai-title",
    "tools-used",
    "cost-state",
];

/// What is on a line; `None` where there is no object on it.
pub(super) fn view(format: Format, line: &[u8]) -> Option<LineView> {
    let root = json::object(line)?;
    let mut view = LineView::default();
    match format {
        Format::Anthropic => view.anthropic(line, &root),
        Format::OpenAi => match root.get("messages") {
            Some(messages) if messages.is_list() => {
                let messages = messages.list().iter();
                messages.for_each(|message| view.openai(line, message));
            }
            Some(_) | None => view.openai(line, &root),
        },
        Format::ClaudeCode => view.claude_code(line, &root),
        Format::Codex => view.codex(line, &root),
        Format::Pi => view.pi(line, &root),
        Format::AiSdk => view.ai_sdk(line, &root),
        Format::GeminiStream => unreachable!("only read"),
    }
    Some(view)
}

/// What the string under a key says.
fn say(line: &[u8], node: &Node, key: &str) -> String {
    node.get(key).map(|n| n.said(line)).unwrap_or_default()
}

impl LineView {
    fn anthropic(&mut self, line: &[u8], message: &Node) {
        let (results, blocks) = (self.results.len(), message.get("content"));
        for block in blocks.map(Node::list).unwrap_or_default() {
            let say = |key| say(line, block, key);
            match say("type").as_str() {
                "tool_use" => self.call(line, say("id"), block, &["input"]),
                "tool_result" => self.results.push(ResultView {
                    id: say("tool_use_id"),
                    tool: String::new(),
                    content: block.get("content").cloned(),
                    outcome: match block.get("is_error").map(|node| node.of(line)) {
                        Some(b"true") => Outcome::Failed,
                        Some(_) | None => Outcome::Fine,
                    },
                }),
                _ => {}
            }
        }
        if self.results.len() == results {
            self.said.push(message.span.clone());
        }
    }

    fn openai(&mut self, line: &[u8], message: &Node) {
        let say = |key| say(line, message, key);
        if matches!(say("role").as_str(), "tool" | "function") {
            self.results.push(ResultView {
                id: say("tool_call_id"),
                tool: say("name"),
                content: message.get("content").cloned(),
                outcome: Outcome::Fine,
            });
            return;
        }
        self.said.push(message.span.clone());
        for call in message
            .get("tool_calls")
            .map(Node::list)
            .unwrap_or_default()
        {
            let id = self::say(line, call, "id");
            match call.get("function").or(call.get("custom")) {
                Some(called) => self.call(line, id, called, &["arguments", "input"]),
                None => self.calls.push((id, String::new())),
            }
        }
        if let Some(call) = message.get("function_call") {
            self.call(line, String::new(), call, &["arguments"]);
        }
    }

    /// A call, named and with its input in `called`.
    fn call(&mut self, line: &[u8], id: String, called: &Node, inputs: &[&str]) {
        let tool = say(line, called, "name");
        self.calls.push((id.clone(), tool.clone()));
        let input = inputs.iter().find_map(|key| called.get(key));
        let input = input.map(|input| match &input.kind {
            Kind::Text => input.said(line),
            Kind::Object(_) | Kind::List(_) | Kind::Plain | Kind::Json => {
                String::from_utf8_lossy(input.of(line)).into_owned()
            }
        });
        let input = input.unwrap_or_default();
        self.asks.push(AskView {
            id,
            tool,
            input,
            results_before: self.results.len(),
        });
    }

    fn claude_code(&mut self, line: &[u8], root: &Node) {
        let kind = say(line, root, "type");
        self.id = root.get("uuid").cloned();
        let link = if kind == "last-prompt" {
            "leafUuid"
        } else {
            "parentUuid"
        };
        if !SESSION.contains(&kind.as_str()) {
            self.link = root.get(link).cloned();
        }
        if kind == "progress" {
            let of = say(line, root, "parentToolUseID");
            if let Some(data) = root.get("data").filter(|_| !of.is_empty()) {
                self.mirror(data, Some(&of));
            }
        }
        if kind != "user" && kind != "assistant" {
            return;
        }
        if let Some(message) = root.get("message") {
            self.anthropic(line, message);
            let usage = message.get("usage");
            let figures = FIGURES.iter().filter_map(|key| usage?.get(key)).cloned();
            self.figures = figures.filter(|f| f.number(line).is_some()).collect();
            self.forget_figures();
        }
        if let Some(mirror) = root.get("toolUseResult") {
            self.mirror(mirror, None);
        }
    }

    fn codex(&mut self, line: &[u8], root: &Node) {
        let Some(payload) = root.get("payload").filter(|node| node.is_object()) else {
            return self.item(line, root);
        };
        match say(line, root, "type").as_str() {
            "response_item" => self.item(line, payload),
            "compacted" => match payload.get("replacement_history") {
                Some(items) => items.list().iter().for_each(|item| self.item(line, item)),
                None => self.said.push(payload.span.clone()),
            },
            "event_msg" => {
                if say(line, payload, "type") == "token_count" {
                    let usage = payload
                        .get("info")
                        .and_then(|info| info.get("last_token_usage"));
                    let keys = ["cached_input_tokens", "input_tokens", "total_tokens"];
                    let figures = keys.iter().filter_map(|key| usage?.get(key)).cloned();
                    self.figures = figures.filter(|f| f.number(line).is_some()).collect();
                }
                let (event, id) = match payload.get("item") {
                    Some(item) => (item, "id"),
                    None => (payload, "call_id"),
                };
                let of = say(line, event, id);
                for key in [
                    "stdout",
                    "stderr",
                    "aggregated_output",
                    "formatted_output",
                    "result",
                ] {
                    if let Some(output) = event.get(key).filter(|_| !of.is_empty()) {
                        self.mirror(output, Some(&of));
                    }
                }
            }
            _ => {}
        }
    }

    /// An item of the Responses API.
    fn item(&mut self, line: &[u8], item: &Node) {
        let id = say(line, item, "call_id");
        match say(line, item, "type").as_str() {
            "function_call" | "custom_tool_call" => {
                self.call(line, id, item, &["arguments", "input"]);
                self.said.push(item.span.clone());
            }
            "local_shell_call" => {
                self.calls.push((id, "local_shell".to_owned()));
                self.said.push(item.span.clone());
            }
            "function_call_output" | "custom_tool_call_output" => {
                let output = item.get("output").filter(|o| o.is_text() || o.is_list());
                let Some(output) = output else {
                    return;
                };
                let (content, outcome) = body(line, output);
                self.results.push(ResultView {
                    id,
                    tool: String::new(),
                    content: Some(content),
                    outcome,
                });
            }
            _ => self.said.push(item.span.clone()),
        }
    }

    fn ai_sdk(&mut self, line: &[u8], message: &Node) {
        let (results, is_tool) = (self.results.len(), say(line, message, "role") == "tool");
        for part in message.get("content").map(Node::list).unwrap_or_default() {
            let say = |key| say(line, part, key);
            match say("type").as_str() {
                "tool-call"
                    if part.get("providerExecuted").map(|n| n.of(line)) != Some(b"true") =>
                {
                    let id = say("toolCallId");
                    let name = say("toolName");
                    self.calls.push((id.clone(), name.clone()));
                    let input = part.get("input").or(part.get("args"));
                    self.asks.push(AskView {
                        id,
                        tool: name,
                        input: input.map_or(String::new(), |input| {
                            String::from_utf8_lossy(input.of(line)).into_owned()
                        }),
                        results_before: self.results.len(),
                    });
                }
                "tool-result" if is_tool => {
                    let output = part.get("output");
                    let kind = output.map(|output| self::say(line, output, "type"));
                    let value = output.and_then(|o| o.get("value").or(o.get("reason")));
                    let is_true = |key| part.get(key).map(|n| n.of(line)) == Some(b"true");
                    let failed = ["error-text", "error-json", "execution-denied"];
                    let has_failed = kind.as_deref().is_some_and(|kind| failed.contains(&kind));
                    self.results.push(ResultView {
                        id: say("toolCallId"),
                        tool: say("toolName"),
                        content: part
                            .get("result")
                            .or(value)
                            .map(|value| as_read(kind.as_deref(), value)),
                        outcome: if has_failed || is_true("isError") {
                            Outcome::Failed
                        } else {
                            Outcome::Fine
                        },
                    });
                }
                _ => {}
            }
        }
        if self.results.len() == results {
            self.said.push(message.span.clone());
        }
    }

    fn pi(&mut self, line: &[u8], root: &Node) {
        self.id = root.get("id").cloned();
        self.link = root.get("parentId").cloned();
        if say(line, root, "type") == "compaction" {
            let kept = ["firstKeptEntryId", "firstKeptEntryIndex"];
            self.sums = kept
                .iter()
                .filter_map(|key| root.get(key))
                .cloned()
                .collect();
        }
        let Some(message) = root.get("message") else {
            return;
        };
        let say = |key| say(line, message, key);
        if say("role") == "toolResult" {
            self.results.push(ResultView {
                id: say("toolCallId"),
                tool: say("toolName"),
                content: message.get("content").cloned(),
                outcome: match message.get("isError").map(|node| node.of(line)) {
                    Some(b"true") => Outcome::Failed,
                    Some(_) | None => Outcome::Fine,
                },
            });
            if let Some(details) = message.get("details") {
                self.mirror(details, None);
            }
            return;
        }
        if say("role") == "bashExecution" {
            let is_sent = message.get("excludeFromContext").map(|n| n.of(line)) != Some(b"true");
            let output = message
                .get("output")
                .filter(|output| is_sent && output.is_text());
            self.results.extend(output.map(|output| ResultView {
                id: String::new(),
                tool: "bash".to_owned(),
                content: Some(output.clone()),
                outcome: Outcome::Fine,
            }));
            return;
        }
        self.said.push(message.span.clone());
        let has_ended = !matches!(say("stopReason").as_str(), "aborted" | "error");
        for block in message.get("content").map(Node::list).unwrap_or_default() {
            if self::say(line, block, "type") == "toolCall" && has_ended {
                let id = self::say(line, block, "id");
                self.call(line, id, block, &["arguments"]);
            }
        }
        if say("role") == "assistant" {
            let usage = message.get("usage");
            let number = |key: &&str| usage?.get(key).filter(|n| n.number(line).is_some());
            let figures = ["cacheRead", "cacheWrite", "input"];
            self.figures = figures.iter().filter_map(number).cloned().collect();
            self.sums = number(&"totalTokens").cloned().into_iter().collect();
            self.forget_figures();
        }
    }

    /// Takes the figures out of what was said.
    fn forget_figures(&mut self) {
        for figure in self.figures.iter().chain(&self.sums) {
            let holds = |said: &Range<usize>| said.contains(&figure.span.start);
            if let Some(at) = self.said.iter().position(holds) {
                let Range { start, end } = self.said[at];
                let parts = [start..figure.span.start, figure.span.end..end];
                self.said.splice(at..=at, parts);
            }
        }
    }

    fn mirror(&mut self, node: &Node, of: Option<&String>) {
        match &node.kind {
            Kind::Object(entries) => {
                for (_, value) in entries {
                    self.mirror(value, of);
                }
            }
            Kind::Text | Kind::List(_) => self.mirrors.push(MirrorView {
                node: node.clone(),
                of: of.cloned(),
            }),
            Kind::Plain | Kind::Json => {}
        }
    }
}

/// An output without what the agent tells of it first. The last letter of that stands for the quote before the output.
fn body(line: &[u8], output: &Node) -> (Node, Outcome) {
    let mut node = output.clone();
    let raw = String::from_utf8_lossy(output.of(line)).into_owned();
    let begins = ["\"Chunk ID: ", "\"Wall time: ", "\"Exit code: "];
    let end = raw.find("\\nOutput:\\n").filter(|at| *at < 500);
    let header = end.filter(|_| begins.iter().any(|begin| raw.starts_with(begin)));
    let mut failed = ["\"unsupported call: ", "\"aborted by user"]
        .iter()
        .any(|begin| raw.starts_with(begin));
    if let Some(end) = header {
        node.span.start += end + "\\nOutput:\\".len();
        let status = raw[..end].split("exited with code ").nth(1);
        let status = status.or(raw.strip_prefix("\"Exit code: "));
        failed |= status.is_some_and(|status| !status.starts_with('0'));
    } else if raw.starts_with("\"{\\\"output\\\":") {
        let status = raw.rsplit("\\\"exit_code\\\":").next();
        failed |= status.is_some_and(|status| !status.trim_start().starts_with('0'));
    }
    let outcome = if failed {
        Outcome::Failed
    } else {
        Outcome::Fine
    };
    (node, outcome)
}

/// A value of an output of a type, or of the older form: parts, a string, or JSON.
fn as_read(kind: Option<&str>, value: &Node) -> Node {
    let is_json = match (kind, &value.kind) {
        (_, Kind::Text) => false,
        (Some("content"), Kind::List(_)) => false,
        (
            Some("text" | "json" | "error-text" | "error-json" | "execution-denied" | "content"),
            _,
        )
        | (None, _) => !matches!(value.kind, Kind::Plain),
        (Some(_), _) => false,
    };
    if is_json {
        Node {
            kind: Kind::Json,
            span: value.span.clone(),
        }
    } else {
        value.clone()
    }
}

/// What a result says: its texts, a line each where there are several.
pub(super) fn said(line: &[u8], content: &Node) -> Vec<u8> {
    if content.is_text() {
        return content.said_bytes(line);
    }
    if content.is_json() {
        return unescape(content.of(line)).into_owned();
    }
    let texts: Vec<Vec<u8>> = content
        .list()
        .iter()
        .filter_map(|part| match say(line, part, "type").as_str() {
            _ if part.is_text() => Some(part),
            "text" | "input_text" | "output_text" => part.get("text"),
            "refusal" => part.get("refusal"),
            _ => None,
        })
        .filter(|text| text.is_text())
        .map(|text| text.said_bytes(line))
        .collect();
    texts.join(&b'\n')
}

/// Whether all parts of a content are texts.
pub(super) fn is_all_text(line: &[u8], content: &Node) -> bool {
    let is_text = |part: &Node| {
        let kind = say(line, part, "type");
        part.is_text()
            || matches!(
                kind.as_str(),
                "text" | "input_text" | "output_text" | "refusal"
            )
    };
    content.is_text()
        || content.is_json()
        || content.is_list() && content.list().iter().all(is_text)
}
