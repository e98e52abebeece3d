//! Changes of history: abandoned, compacted or rewritten turns, and work of subagents.

use super::super::anthropic::user_content;
use super::super::text::{Json, Mode, object, text_of};
use super::{Aside, Chain, Line, Seams, What, Wholeness, Writer, kind};

impl Writer<'_> {
    /// The person goes back to the beginning of a turn; what came after it is dead.
    pub(super) fn rewind(&mut self, chain: &mut Chain) {
        if chain.turns.is_empty() {
            return;
        }
        let to = self.tape.below(chain.turns.len());
        chain.leaf = chain.turns[to];
        chain.turns.truncate(to);
    }

    /// The lines after `from` up to `leaf`, in order.
    pub(super) fn span(&self, leaf: Option<usize>, from: Option<usize>) -> Vec<usize> {
        let above = |line: &usize| self.lines[*line].chained.as_ref()?.above;
        let up = std::iter::successors(leaf, above);
        let mut span: Vec<usize> = up.take_while(|line| Some(*line) != from).collect();
        span.reverse();
        span
    }

    /// These lines and the results of their answers' calls, in the order in which they were written.
    fn with_results(&self, mut span: Vec<usize>) -> Vec<usize> {
        let is_result = |line: &usize| matches!(self.lines[*line].what, What::Results { .. });
        let hangs_here = |line: &usize| {
            is_result(line) && self.asked(*line).is_some_and(|asked| span.contains(&asked))
        };
        let results: Vec<usize> = (0..self.lines.len()).filter(hangs_here).collect();
        span.extend(results);
        span.sort_unstable();
        span.dedup();
        span
    }

    /// A recorded compaction, which may have kept the last turn.
    pub(super) fn compaction(&mut self, chain: &mut Chain) {
        // The boundary names the line that will come after it.
        let anchor = ("anchorUuid", text_of(format!("u{}", self.ids + 2)));
        let mut kept = match chain.turns.last() {
            Some(from) => self.span(chain.leaf, *from),
            None => Vec::new(),
        };
        let mut metadata = vec![
            ("trigger", text_of("auto")),
            ("preTokens", Json::Raw("167094")),
        ];
        let form = self.tape.below(4);
        match (form, kept.first(), kept.last()) {
            (1, Some(first), Some(last)) => {
                let ends = [
                    anchor,
                    ("headUuid", text_of(self.id(*first))),
                    ("tailUuid", text_of(self.id(*last))),
                ];
                metadata.push(("preservedSegment", object(ends)));
            }
            (2 | 3, Some(_), _) => {
                if form == 3 {
                    kept = self.with_results(kept);
                }
                let ids = kept.iter().map(|line| text_of(self.id(*line))).collect();
                let messages = object([anchor, ("uuids", Json::List(ids))]);
                metadata.push(("preservedMessages", messages));
            }
            _ => kept.clear(),
        }
        let before = chain.leaf;
        let logical = before.map_or(Json::Raw("null"), |line| text_of(self.id(line)));
        *chain = Chain::new(chain.aside);
        if self.tape.one_in(4) {
            chain.leaf = before;
        }
        self.at_seam = false;
        self.line(
            chain,
            What::Boundary { kept },
            vec![
                kind("system"),
                ("subtype", text_of("compact_boundary")),
                ("logicalParentUuid", logical),
                ("content", text_of("Conversation compacted")),
                ("compactMetadata", Json::Object(metadata)),
            ],
        );
        let said = text_of("This session is being continued from a previous conversation.");
        let marks = vec![("isCompactSummary", Json::Raw("true"))];
        self.words(chain, None, said, marks);
    }

    /// History that was written again with other uuids, as agents do when they resume.
    pub(super) fn written_again(&mut self, chain: &mut Chain) {
        let span = self.span(chain.leaf, None);
        let is_boundary = |line: &usize| matches!(self.lines[*line].what, What::Boundary { .. });
        if span.iter().any(is_boundary) {
            return;
        }
        self.ids += 1;
        let old = self.with_results(span);
        let first = self.lines.len();
        // Parents were written before their children.
        let again = |line: usize| old.binary_search(&line).ok().map(|at| first + at);
        let mark = format!("-again{}", self.ids);
        for line in &old {
            // Its parent may have been a line for a viewer, which is not written again.
            let above = self.span(Some(*line), None).into_iter().rev().skip(1);
            let above = above.into_iter().find_map(again);
            let mut copy = self.lines[*line].clone();
            if let Some(chained) = &mut copy.chained {
                chained.id.push_str(&mark);
                chained.asked = chained.asked.and_then(again);
                chained.above = above;
                chained.parent = above.map(|line| self.id(line).to_owned());
            }
            self.lines.push(copy);
        }
        chain.leaf = chain.leaf.and_then(again);
        for turn in &mut chain.turns {
            *turn = turn.and_then(again);
        }
    }

    /// A subagent's conversation in the middle of the file, which begins with its prompt.
    pub(super) fn sidechain(&mut self, main: &Chain, prompt: String) {
        if main.aside == Aside::Yes {
            return;
        }
        let mut chain = Chain::new(Aside::Yes);
        if self.tape.one_in(4) {
            chain.leaf = main.leaf;
        }
        let most = self.messages + 1 + self.tape.below(8);
        self.turn(&mut chain, most, Some(prompt));
    }

    /// The pointer to the leaf, by which an agent finds it.
    pub(super) fn last_prompt(&mut self, chain: &mut Chain) {
        let left = chain.leaf;
        match self.tape.below(5) {
            0 => {}
            1 => self.pointer(left),
            2 => self.pointer(None),
            // Back to an abandoned turn, only by a pointer.
            _ => {
                self.rewind(chain);
                let said = user_content(self.tape, self.mode);
                self.words(chain, None, said, Vec::new());
                self.pointer(left);
            }
        }
    }

    /// The order of the file; the place of each line in it; places of lines that come again. Sometimes a parent comes after its
    /// child, or a line occurs twice.
    pub(super) fn shuffled(&mut self) -> (Vec<usize>, Vec<usize>, Vec<usize>) {
        let count = self.lines.len();
        let mut order: Vec<usize> = (0..count).collect();
        // The last line decides which line is the leaf, and the line before decides which one replaces a missing parent.
        let is_node = |line: &Line| line.chained.is_some() && !matches!(line.what, What::Passed);
        let nodes: Vec<bool> = self.lines.iter().map(is_node).collect();
        let last = order.iter().rposition(|line| nodes[*line]);
        let swaps = if self.seams == Seams::Torn {
            0
        } else {
            last.unwrap_or(0)
        };
        for at in 1..swaps {
            if self.tape.one_in(40) {
                order.swap(at - 1, at);
            }
        }
        let mut doubled = Vec::with_capacity(count);
        let mut places = vec![0; count];
        let mut overridden = Vec::new();
        for line in order {
            if nodes[line] && self.seams == Seams::Whole && self.tape.one_in(60) {
                overridden.push(doubled.len());
                doubled.push(line);
            }
            // Of two lines with the same uuid the last one counts.
            places[line] = doubled.len();
            doubled.push(line);
        }
        self.break_chain();
        (doubled, places, overridden)
    }

    /// Pointers may lead away from the last compaction.
    fn break_chain(&mut self) {
        let has = |what: fn(&What) -> bool| self.lines.iter().any(|line| what(&line.what));
        let points = has(|what| matches!(what, What::Pointer { to: Some(_) }));
        if self.mode == Mode::Clean && points && has(|what| matches!(what, What::Boundary { .. })) {
            self.chain = Wholeness::Broken;
        }
    }
}
