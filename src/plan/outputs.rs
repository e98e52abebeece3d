//! Which results may become smaller so that a conversation fits its target.
//!
//! PURE. Results inside an assistant message are excluded; so are results that the agent itself has moved to a file.

use super::results::{Content, ResultRef, Results, is_persisted, may_leave};
use super::{Cut, Keeping, Subject};
use crate::outcome::TargetOutcome;
use crate::policy::{Layer, Policy};
use crate::transcript::{Block, Role, Shape, Transcript};

/// The share of a cap for kept messages, in percent: beyond that, the same tokens are worth more in the summary.
pub const KEPT_SHARE: u64 = 30;

/// The results of one conversation that have to become smaller together.
#[derive(Debug)]
pub struct OutputPlan {
    /// The conversation's number.
    pub conversation: usize,
    /// Which results.
    pub results: Vec<OutputCandidate>,
    /// How small.
    pub fit: Fit,
}

/// A result that may become smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputCandidate {
    /// Which one.
    pub place: ResultRef,
    /// What happens to its content.
    pub content: Content,
}

/// How small results have to become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// The results leave no room for a summary.
    Summary {
        /// The room for them.
        room: Room,
        /// Why the summary is due.
        due: String,
    },
    /// The conversation is over its target.
    Target {
        /// The target.
        target: TargetOutcome,
        /// The live tokens of the conversation.
        total: u64,
        /// How often they may be fitted again.
        tries_left: u32,
    },
}

/// A target, and what it leaves for outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The target, in tokens.
    pub target: u64,
    /// The tokens that outputs may have together.
    pub tokens: u64,
}

impl Room {
    /// The room for the newest outputs (those after the cut `least`, with the token counts `sizes`) if one of them is larger
    /// than the target and everything else fits into it. `None` otherwise, or if there is nothing to summarise.
    ///
    /// If more than one output does not fit, the summary covers the outputs too, like older messages: measurements showed
    /// that this keeps more of what is needed next than the start and end of each output.
    pub fn beside_one_large(subject: &Subject<'_>, least: Cut, sizes: &[u64]) -> Option<Room> {
        let goal = subject.goal?;
        let target = goal.tokens;
        let largest = sizes.iter().max().filter(|size| **size > target)?;
        let total = subject.total();
        let now = goal.content(total).unwrap_or(total);
        let others = now.saturating_sub(*largest);
        if others > target * (100 - KEPT_SHARE) / 100 || !subject.cutter.has_span(least) {
            return None;
        }
        let all: u64 = sizes.iter().sum();
        Some(Room {
            target,
            tokens: target.saturating_sub(now.saturating_sub(all)),
        })
    }
}

/// The results of one conversation, from the message `from` on, that may become smaller.
pub fn outputs(
    transcript: &Transcript<'_>,
    number: usize,
    from: usize,
    policy: &Policy,
    keeping: Keeping,
) -> Vec<OutputCandidate> {
    let is_store = policy.has(Layer::Demote) && keeping == Keeping::Store;
    let results = Results::of(transcript, number);
    let planned = |(_, place, block): (usize, &ResultRef, &Block)| {
        let message = place.message as usize;
        let is_answer = results.conversation.messages[message].role == Role::Assistant;
        if message < from || is_answer || !may_clip(transcript, block) {
            return None;
        }
        Some(OutputCandidate {
            place: *place,
            content: if is_store && may_leave(transcript, block) {
                Content::Stored
            } else {
                Content::Dropped
            },
        })
    };
    results.blocks().filter_map(planned).collect()
}

/// Whether a result may lose a part of what it says; pictures in it go first.
fn may_clip(transcript: &Transcript<'_>, block: &Block) -> bool {
    let is_known = match block.shape {
        Shape::String | Shape::List | Shape::Parts => block.others == 0,
        Shape::Absent | Shape::Other => false,
    };
    is_known && !is_persisted(transcript, block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, Warnings};
    use crate::policy::preset;

    #[test]
    fn results_from_a_message_on_may_be_clipped_and_those_without_pictures_demoted() {
        let lines = [
            r#"{"role":"user","content":"go"}"#,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Bash","input":{}}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"old"}]}"#,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"b","name":"Read","input":{}},{"type":"tool_use","id":"c","name":"Read","input":{}},{"type":"tool_use","id":"d","name":"Read","input":{}},{"type":"tool_use","id":"e","name":"Find","input":{}}]}"#,
            concat!(
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"text"},"#,
                r#"{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"x"},"#,
                r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}}]},"#,
                r#"{"type":"tool_result","tool_use_id":"d","content":"<persisted-output>\n/t/x"},"#,
                r#"{"type":"tool_result","tool_use_id":"e","content":[{"type":"tool_reference","tool_name":"x"}]}]}"#
            ),
        ];
        let bytes = lines.join("\n").into_bytes();
        let transcript = Format::Anthropic.read(&bytes, 1, &mut Warnings::default());
        let auto = preset("auto").unwrap();
        let found = |from, keeping, policy: &Policy| -> Vec<(u32, String, Content)> {
            let outputs = outputs(&transcript, 0, from, policy, keeping);
            let row = |o: &OutputCandidate| {
                let tool = o.place.tool(&transcript).into_owned();
                (o.place.message, tool, o.content)
            };
            outputs.iter().map(row).collect()
        };
        let row = |message, tool: &str, content| (message, tool.to_owned(), content);
        let newest = [
            row(4, "Read", Content::Stored),
            row(4, "Read", Content::Dropped),
        ];
        assert_eq!(found(3, Keeping::Store, &auto), newest);
        let all = [
            row(2, "Bash", Content::Dropped),
            row(4, "Read", Content::Dropped),
            row(4, "Read", Content::Dropped),
        ];
        assert_eq!(found(0, Keeping::Nothing, &auto), all);
        let mut without = auto;
        without.layers.retain(|layer| *layer != Layer::Demote);
        assert_eq!(found(0, Keeping::Store, &without), all);
    }
}
