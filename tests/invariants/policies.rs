//! Policies of every kind, with limits low enough to matter in small transcripts.

use std::sync::LazyLock;

use ctxpack::policy::{
    Compare, CutOff, Encoding, Extra, History, Images, Layer, Method, OnFailure, Per, Policy, Role,
    Rounding, Scope, Shape, Source, SummaryWhen, TargetKind, Template, TooLarge, TooLong, ToolKind,
    TriggerOn, Unit, UserWords, presets,
};

use super::tape::Tape;

static PRESETS: LazyLock<Vec<Policy>> = LazyLock::new(|| presets().unwrap());

const PLACEHOLDERS: [&str; 6] = [
    "[Output of {tool} cleared - run it again if needed]",
    "[Output compacted - re-read if needed]",
    "-",
    "\"{tool}\"\n\\ 世🎉\u{1}",
    "{tool} {tool}",
    "cleared, and this is a placeholder that is longer than many of the results that it could take the place of, so \
     that it is often not worth it: {tool} had said something here which nobody will ever want to read again, I hope. \
     It goes on for more than the 256 bytes that a mirror of a result may keep.",
];

/// Texts of which none can be mistaken for another.
const SUPERSEDED: [&str; 4] = [
    "[Superseded: this file was read again later]",
    "=",
    "{tool}: read\tagain \u{1}世",
    "superseded, and this is a placeholder that is longer than many of the results that it could take the place of, so \
     that it is often not worth it. It goes on for more than the 256 bytes that a mirror of a result may keep: {tool} \
     has shown the same file again later, and whoever wants to know what it says now must look there and not here.",
];

const DEMOTED: [&str; 5] = [
    "Output too large. Saved to: {name}\nPreview:\n{preview}...",
    "-> {name}",
    "{tool} said: {preview}\n({name})",
    "\"{name}\"\n{preview}",
    "{name} {tool}\t{preview}\u{1}\\",
];

/// Templates of summaries besides those of the presets: of other published systems, and some invented ones.
const SUMMARIES: [&str; 5] = [
    "[Earlier conversation, summarised by ctxpack]\n{summary}",
    "[Compressed History]\n\n{summary}",
    "[对话摘要]\n{summary}\n[摘要结束]",
    "<<\"{summary}\u{1}\\\n>>",
    "so far: {summary}",
];

const ACKNOWLEDGEMENTS: [&str; 4] = [
    "",
    "",
    "Understood. Continuing with compressed context.",
    "\"ok\" 世🎉\n",
];

const KINDS: [ToolKind; 7] = [
    ToolKind::Shell,
    ToolKind::Read,
    ToolKind::Write,
    ToolKind::Edit,
    ToolKind::Search,
    ToolKind::Web,
    ToolKind::Other,
];

/// The same policy with another treatment of dead lines.
pub(super) fn with_history(policy: &Policy, history: History) -> Policy {
    Policy {
        history,
        ..policy.clone()
    }
}

/// The same policy without summaries.
pub(super) fn free(policy: &Policy) -> Policy {
    let mut free = policy.clone();
    let is_free = |layer: &Layer| !matches!(layer, Layer::Summarize | Layer::Restore);
    free.layers.retain(is_free);
    free
}

/// The policy that changes nothing, counting as `policy` does.
pub(super) fn none(policy: &Policy) -> Policy {
    let mut none = named("none");
    none.tokens = policy.tokens.clone();
    none
}

pub(super) fn named(name: &str) -> Policy {
    let mut presets = PRESETS.iter();
    presets.find(|p| p.name == name).unwrap().clone()
}

/// Any policy of layers that write no messages.
pub(super) fn any(tape: &mut Tape) -> Policy {
    let mut policy = named(tape.pick(&["auto", "layered", "none"]));
    let layers: [&[Layer]; 6] = [
        &[Layer::Superseded, Layer::Demote, Layer::Clear],
        &[Layer::Superseded],
        &[Layer::Superseded, Layer::Clear],
        &[Layer::Superseded, Layer::Demote],
        &[Layer::Demote, Layer::Clear],
        &[],
    ];
    policy.layers = layers[[0, 0, 0, 0, 1, 1, 1, 1, 2, 3, 4, 5][tape.below(12)]].to_vec();
    policy.superseded.placeholder = Template::from(tape.pick(&SUPERSEDED).to_owned());

    if tape.one_in(2) {
        policy.layers.insert(0, Layer::Drop);
    }
    policy.history = if tape.one_in(4) {
        History::Keep
    } else {
        History::Drop
    };

    let clear = &mut policy.clear;
    clear.keep = [0, 1, 3, 5, 2, 4][tape.below(6)];
    clear.min_tokens = [0, 0, 30, 250][tape.below(4)] + tape.below(51) as u64;
    clear.min_chars = [0, 0, 0, 40][tape.below(4)] + [0, tape.below(161) as u64][tape.below(2)];
    if tape.one_in(2) {
        clear.tools = tape.subset(&KINDS);
    } else if tape.one_in(2) {
        clear.tools = Vec::new();
    }
    clear.shapes = match tape.below(6) {
        4 => vec![Shape::String],
        5 => tape.subset(&[Shape::String, Shape::List]),
        _ => vec![Shape::String, Shape::List],
    };
    clear.placeholder = Template::from(tape.pick(&PLACEHOLDERS).to_owned());

    let demote = &mut policy.demote;
    demote.min_tokens = [50, 50, 50, 100, 400, 1_950][tape.below(6)] + tape.below(51) as u64;
    demote.preview_chars = tape.between(10, 200) as u64;
    demote.text = Template::from(tape.pick(&DEMOTED).to_owned());

    let tokens = &mut policy.tokens;
    tokens.method = tape.pick(&[Method::Chars, Method::Classes]);
    tokens.unit = tape.pick(&[Unit::Scalar, Unit::Utf16]);
    tokens.rounding = tape.pick(&[Rounding::Floor, Rounding::Ceil]);
    tokens.per = tape.pick(&[Per::Message, Per::Conversation]);
    tokens.scope = tape.pick(&[
        Scope::Content,
        Scope::MessageJson,
        Scope::HistoryJson,
        Scope::HistoryRepr,
        Scope::Strings,
        Scope::RoleContent,
    ]);
    tokens.chars_per_token = tape.pick(&[4.0, 3.0, 1.0, 3.5]);
    tokens.images = tape.pick(&[Images::Flat, Images::Flat, Images::Written]);
    tokens.image_tokens = tape.pick(&[1_600, 0, 5]);
    if tape.one_in(4) {
        policy.tools.read = vec!["mcp__db__query".to_owned(), "Bash".to_owned()];
    }
    policy
}

/// Any policy that writes summaries.
pub(super) fn summarising(tape: &mut Tape) -> Policy {
    let mut policy = any(tape);
    policy.layers.push(Layer::Summarize);
    if tape.one_in(2) {
        policy.layers.push(Layer::Restore);
    }
    if tape.one_in(12) {
        policy.tokens.method = Method::Bpe;
        policy.tokens.encoding = tape.pick(&[Encoding::O200kBase, Encoding::Cl100kBase]);
    }

    let trigger = &mut policy.trigger;
    trigger.on = TriggerOn::Tokens;
    trigger.tokens = tape.pick(&[1, 100, 400, 2_000]);
    trigger.compare = tape.pick(&[Compare::Over, Compare::AtLeast]);
    trigger.min_savings = tape.pick(&[0, 0, 0, 100]);

    let target = &mut policy.target;
    target.tokens = [0, 0, 10, 150, 600][tape.below(5)];
    if target.tokens > 0 {
        target.tokens += tape.below(100) as u64;
    }
    target.percent = tape.pick(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 50.0, 10.0]);
    target.kind = tape.pick(&[TargetKind::Cap, TargetKind::Aim]);

    let summary = &mut policy.summary;
    summary.when = tape.pick(&[SummaryWhen::Always, SummaryWhen::Auto]);
    summary.keep_messages = tape.pick(&[0, 1, 3, 5, 2, 0]);
    summary.keep_turns = tape.pick(&[0, 0, 1, 2]);
    summary.keep_tokens = tape.pick(&[0, 0, 30, 200, 1_000]);
    summary.user_words = tape.pick(&[UserWords::Verbatim, UserWords::Budget]);
    summary.user_message_max = tape.pick(&[2_000, 30, 10, 3]);
    summary.tokens = tape.pick(&[0, 4_000, 400, 60, 10]);
    summary.share = tape.pick(&[0.05, 0.5]);
    summary.min_tokens = tape.pick(&[0, 20, 100]);
    summary.max_tokens = summary.min_tokens + tape.pick(&[0, 50, 1_000]);
    summary.role = tape.pick(&[Role::User, Role::Assistant]);
    let texts = PRESETS.iter().map(|preset| preset.summary.text.as_str());
    let texts: Vec<&str> = texts.chain(SUMMARIES).collect();
    summary.text = Template::from(tape.pick(&texts).to_owned());
    summary.ack = tape.pick(&ACKNOWLEDGEMENTS).to_owned();
    summary.source = tape.pick(&[
        Source::Extractive,
        Source::Extractive,
        Source::Extractive,
        Source::Scripted,
    ]);
    summary.tries = tape.between(1, 3) as u64;
    summary.cut_off = tape.pick(CutOff::ALL);
    summary.too_long = tape.pick(TooLong::ALL);
    summary.window = tape.pick(&[0, 1_000, 100_000]);
    summary.on_failure = tape.pick(&[OnFailure::Extractive, OnFailure::Keep]);
    summary.too_large = tape.pick(&[TooLarge::Shrink, TooLarge::Accept]);
    summary.must_keep = !tape.one_in(4);
    summary.narrative_share = tape.pick(&[0.5, 0.1, 1.0, 0.0]);
    summary.instructions = tape
        .pick(&["", "", "keep words of the Bash tool"])
        .to_owned();

    let restore = &mut policy.restore;
    restore.files = tape.pick(&[5, 1, 2]);
    restore.tokens_per_file = tape.pick(&[1_000, 200, 20]);
    restore.tokens_total = tape.pick(&[3_000, 300, 25]);
    restore.skip_visible = tape.one_in(2);
    restore.extras = tape.subset(&[Extra::Plan, Extra::Todos, Extra::Skills]);
    policy
}

/// A published system, with a window that a small transcript fills.
pub(super) fn system(tape: &mut Tape) -> Policy {
    const SYSTEMS: [&str; 5] = ["offload-first", "reset", "boundary", "turns", "layered"];
    let mut policy = named(tape.pick(&SYSTEMS));
    let limit = tape.pick(&[1, 100, 400, 1_000]);
    policy.trigger.on = TriggerOn::Tokens;
    policy.trigger.tokens = limit;
    policy.trigger.min_savings = policy.trigger.min_savings.min(tape.pick(&[0, 50]));
    // Limits that are shares of the window refer to this.
    policy.window.context = limit * tape.pick(&[1, 2, 4]);
    policy.offload.tokens = tape.pick(&[1, limit, 2 * limit]);
    policy.demote.min_tokens = tape.pick(&[60, 200]);
    policy.clear.min_tokens = policy.clear.min_tokens.min(tape.pick(&[0, 40, 1_000]));
    if !policy.trigger.manual_tool.is_empty() {
        // Below the trigger, so that the call alone decides.
        (policy.trigger.manual_tool, policy.trigger.tokens) = ("Bash".to_owned(), 100_000);
    }
    let summary = &mut policy.summary;
    summary.when = tape.pick(&[SummaryWhen::Auto, SummaryWhen::Auto, SummaryWhen::Always]);
    summary.keep_messages = summary.keep_messages.min(tape.pick(&[5, 2]));
    summary.keep_turns = summary.keep_turns.min(tape.pick(&[6, 2, 1]));
    summary.input_chars = summary.input_chars.min(tape.pick(&[80_000, 500]));
    summary.source = tape.pick(&[Source::Extractive, Source::Scripted]);
    policy
}

/// The script of a scripted summariser: answers and failures.
pub(super) fn replies(tape: &mut Tape) -> String {
    const LINES: [&str; 7] = [
        "{\"text\":\"All of it was about tabs.\"}",
        "{\"error\":\"overloaded\"}",
        "{\"text\":\"## Files\\nL1 read: /w/a.rs\"}",
        "{\"text\":\" \"}",
        "{\"text\":\"All of it was\",\"cut_off\":true}",
        "{\"text\":\"so far: \\\"世\\\" [Conversation compressed]\\n\"}",
        "{\"text\":\"words words words words words words words words words words words words words words words\"}",
    ];
    let lines: Vec<&str> = (0..tape.below(5)).map(|_| tape.pick(&LINES)).collect();
    lines.join("\n")
}
