//! A second reader of lines: results, calls, roles, mirrors, links.
//!
//! Knows the formats by their documents, not by the program's readers; what each writes on a line is in its dialect.

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

/// What is on a line; `None` where there is no object on it.
pub(super) fn view(format: Format, line: &[u8]) -> Option<LineView> {
    let root = json::object(line)?;
    let mut view = LineView::default();
    dialect::of(format).view(&mut view, line, &root);
    Some(view)
}

/// What the string under a key says.
pub(super) fn say(line: &[u8], node: &Node, key: &str) -> String {
    node.get(key).map(|n| n.said(line)).unwrap_or_default()
}

impl LineView {
    /// A call, named and with its input in `called`.
    pub(super) fn call(&mut self, line: &[u8], id: String, called: &Node, inputs: &[&str]) {
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

    /// Takes the figures out of what was said.
    pub(super) fn forget_figures(&mut self) {
        for figure in self.figures.iter().chain(&self.sums) {
            let holds = |said: &Range<usize>| said.contains(&figure.span.start);
            if let Some(at) = self.said.iter().position(holds) {
                let Range { start, end } = self.said[at];
                let parts = [start..figure.span.start, figure.span.end..end];
                self.said.splice(at..=at, parts);
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
