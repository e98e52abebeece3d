//! A second reader of lines: results, calls, roles, mirrors, links.
//!
//! Written from the formats' documentation, not from the program's readers; how each format writes a line is in its dialect.

use std::ops::Range;

use ctxpack::format::Format;
use ctxpack::scan::unescape;
use ctxpack::transcript::Outcome;

use super::dialect;
use super::json::{self, Kind, Node};

/// A tool result.
#[derive(Debug, Clone)]
pub(super) struct ResultView {
    /// The id of the call that it answers; empty in the older form of OpenAI.
    pub id: String,
    /// The tool, where the result itself names it.
    pub tool: String,
    /// Its content, if it has one.
    pub content: Option<Node>,
    /// Whether it is flagged as failed.
    pub outcome: Outcome,
}

/// A string or a list outside of the messages that repeats a result.
#[derive(Debug, Clone)]
pub(super) struct MirrorView {
    /// Where it is.
    pub node: Node,
    /// The id of its call; `None` for the results on the same line.
    pub of: Option<String>,
}

/// The input of a call.
#[derive(Debug)]
pub(super) struct AskView {
    pub id: String,
    pub tool: String,
    /// The input as JSON.
    pub input: String,
    /// How many results are before it on its line.
    pub results_before: usize,
}

/// A line.
#[derive(Debug, Default)]
pub(super) struct LineView {
    /// Its results, in order.
    pub results: Vec<ResultView>,
    /// Ids and names of its calls, in order.
    pub calls: Vec<(String, String)>,
    /// The same calls with their inputs.
    pub asks: Vec<AskView>,
    /// Messages without results: nothing in them may ever change.
    pub messages: Vec<Range<usize>>,
    pub mirrors: Vec<MirrorView>,
    /// Its parent, or what it points to.
    pub link: Option<Node>,
    /// The figures that a provider counted, in the order in which they are lowered.
    pub figures: Vec<Node>,
    /// Its own id.
    pub id: Option<Node>,
    /// Values that depend on these and on the kept lines: the sum of the figures, and what a compaction keeps.
    pub sums: Vec<Node>,
}

/// The content of a line; `None` where there is no object on it.
pub(super) fn view(format: Format, line: &[u8]) -> Option<LineView> {
    let root = json::object(line)?;
    let mut view = LineView::default();
    dialect::of(format).view(&mut view, line, &root);
    Some(view)
}

/// The text of the string under a key.
pub(super) fn string_under(line: &[u8], node: &Node, key: &str) -> String {
    node.get(key).map(|n| n.text(line)).unwrap_or_default()
}

impl LineView {
    /// Adds a call, with its name and input in `called`.
    pub(super) fn call(&mut self, line: &[u8], id: String, called: &Node, inputs: &[&str]) {
        let tool = string_under(line, called, "name");
        self.calls.push((id.clone(), tool.clone()));
        let input = inputs.iter().find_map(|key| called.get(key));
        let input = input.map(|input| match &input.kind {
            Kind::Text => input.text(line),
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

    /// Removes the figures from the messages.
    pub(super) fn forget_figures(&mut self) {
        for figure in self.figures.iter().chain(&self.sums) {
            let holds = |message: &Range<usize>| message.contains(&figure.span.start);
            if let Some(at) = self.messages.iter().position(holds) {
                let Range { start, end } = self.messages[at];
                let parts = [start..figure.span.start, figure.span.end..end];
                self.messages.splice(at..=at, parts);
            }
        }
    }

    pub(super) fn mirror(&mut self, node: &Node, of: Option<&String>) {
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

/// The text of a result: its texts, one per line where there are several.
pub(super) fn result_text(line: &[u8], content: &Node) -> Vec<u8> {
    if content.is_text() {
        return content.text_bytes(line);
    }
    if content.is_json() {
        return unescape(content.of(line)).into_owned();
    }
    let texts: Vec<Vec<u8>> = content
        .list()
        .iter()
        .filter_map(|part| match string_under(line, part, "type").as_str() {
            _ if part.is_text() => Some(part),
            "text" | "input_text" | "output_text" => part.get("text"),
            "refusal" => part.get("refusal"),
            _ => None,
        })
        .filter(|text| text.is_text())
        .map(|text| text.text_bytes(line))
        .collect();
    texts.join(&b'\n')
}

/// Whether all parts of a content are texts.
pub(super) fn is_all_text(line: &[u8], content: &Node) -> bool {
    let is_text = |part: &Node| {
        let kind = string_under(line, part, "type");
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
