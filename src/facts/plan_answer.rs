//! What the user answered to a plan that the agent showed.
//!
//! PURE. A plan counts as accepted only where the agent's own sentence says so, and as refused where one does, or where the call
//! failed. Any other result leaves it unknown.

use super::exchanges::Exchange;
use super::operation::Done;
use super::{beginning, block_text};
use crate::transcript::{Outcome, Transcript};

/// How the result of a plan that was accepted begins: Claude Code in several versions and those that imitate it, Kimi, Gemini CLI,
/// Copilot CLI.
const ACCEPTED: [&str; 8] = [
    "User has approved your plan",
    "User has approved exiting plan mode",
    "User has approved the plan",
    "Exited plan mode",
    "User approved option \"",
    "Plan approved.",
    "Plan approved!",
    "Plan approved, exited plan mode",
];

/// How that of a plan begins that was not: Kimi, Gemini CLI, Qwen Code, Copilot CLI, Claude Code.
const REFUSED: [&str; 8] = [
    "User rejected the plan.",
    "User requested revisions.",
    "Plan rejected by user.",
    "Plan rejected. User feedback: ",
    "Plan execution was not approved.",
    "Plan not approved.",
    "The user doesn't want to ",
    "[Request interrupted by user",
];

/// At least as long as the longest of them, in characters.
const LONGEST: usize = 48;

/// Whether a tool shows a plan to the user.
pub(super) fn shows_plan(tool: &str) -> bool {
    matches!(tool, "ExitPlanMode" | "exit_plan_mode")
}

/// Whether the plan of a call was accepted.
pub(super) fn accepted(transcript: &Transcript<'_>, call: &Exchange) -> Done {
    let Some(result) = call.result.filter(|_| call.inner.is_none()) else {
        return Done::Unclear;
    };
    let block = transcript.block(result.block);
    if block.outcome == Outcome::Failed {
        return Done::Failed;
    }
    let said = beginning(transcript, block, LONGEST);
    let begins = |all: &[&str]| all.iter().any(|begin| said.starts_with(begin));
    match (begins(&ACCEPTED), begins(&REFUSED)) {
        (_, true) => Done::Failed,
        (true, false) => Done::Yes,
        (false, false) => Done::Unclear,
    }
}

/// What the user said beside the refusal of a plan, in Kimi's words; the other agents' are those of any refusal.
pub(super) fn feedback(transcript: &Transcript<'_>, call: &Exchange) -> Option<String> {
    const BEFORE: &str = "User rejected the plan. Feedback:";
    let result = call.result.filter(|_| call.inner.is_none())?;
    let said = block_text(transcript, transcript.block(result.block));
    let words = said.trim().strip_prefix(BEFORE)?.trim();
    (!words.is_empty()).then(|| words.to_owned())
}
