//! The promises that hold for every transcript under every policy.
//!
//! Generators write transcripts of all formats, including the oddities of real files; policies have limits so low that they
//! change small transcripts. Outputs are read by a second reader ([`view`]), which shares no code with the program. The same 100
//! cases for each property and format are checked every time, so that a test fails because of a change, never by chance;
//! `PROPTEST_CASES=20000` checks that number of other cases. The promises about summaries are in [`summarised`].

#[macro_use]
mod formats;

mod ai_sdk;
mod anthropic;
mod case;
mod claude_code;
mod codex;
mod compared;
mod copilot;
mod detect;
mod dialect;
mod documents;
mod droid;
mod emitted;
mod gemini;
mod history;
mod json;
mod kimi;
mod known;
mod newest;
mod openai;
mod pi;
mod policies;
mod qwen;
mod replaced;
mod replay;
mod reread;
mod summarised;
mod systems;
mod tape;
mod text;
mod typed;
mod view;

use ctxpack::format::{Format, Layout, Warnings};
use ctxpack::outcome::{Action, ConversationOutcome, RoleOutcome, Status};
use ctxpack::pipeline::{Input, Part, Pipeline, Stored};
use ctxpack::plan::Keeping;
use ctxpack::policy::Layer;
use ctxpack::scan::{Cursor, unescape};
use ctxpack::store::offload_name;
use ctxpack::verify::{Finding, Rule, Severity, new_findings};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseResult};

use case::{Case, Framed, Kept, Kind, Rubbish, Run, Written, compact, frame, split};
use known::Chain;
use replaced::{Changed, Replaced, Tools, changed_results};
use tape::Tape;
use text::Mode;
use view::{LineView, view};

fn config() -> ProptestConfig {
    config_of(100)
}

/// This number of cases, unless the environment sets another: then that number of other cases.
fn config_of(default: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok();
    let asked: Option<u32> = asked.and_then(|n| n.parse().ok());
    let own = ProptestConfig::default();
    ProptestConfig {
        cases: asked.unwrap_or(default),
        // With more cases, more of them may be of no use.
        max_global_rejects: own
            .max_global_rejects
            .max(asked.unwrap_or(default).saturating_mul(8)),
        rng_seed: match (asked, own.rng_seed) {
            // A test fails because of a change, never by chance.
            (None, RngSeed::Random) => RngSeed::Fixed(1),
            (_, seed) => seed,
        },
        // A failure is shown in full; when it is fixed, it becomes a test of its own.
        failure_persistence: None,
        max_shrink_iters: 20_000,
        // In milliseconds: a failure in CI is reported while somebody waits for it.
        max_shrink_time: 60_000,
        ..own
    }
}

every_format! { config(), of;
    of_valid: Valid [
        generators_keep_the_rules
        the_newest_and_the_dead_stay
        superseded_reads_are_shown_later
    ]
    of_any: Any [
        without_layers_nothing_changes
        only_results_change
        replacements_are_what_the_policy_says
        demoted_content_can_be_found
        what_was_said_stays
        pairs_stay_pairs
        no_rule_is_broken
        never_more_tokens
        a_second_run_changes_nothing
        the_same_bytes_every_time
    ]
}

proptest! {
    #![proptest_config(config())]

    /// The formats that have them.
    #[test]
    fn mirrors_follow_their_results(case in Case::of(Format::ClaudeCode, Kind::Valid)) {
        mirrors(&case)?;
    }

    #[test]
    fn events_follow_their_results(case in Case::of(Format::Codex, Kind::Valid)) {
        mirrors(&case)?;
    }

    #[test]
    fn repeated_outputs_follow_their_results(case in Case::of(Format::Copilot, Kind::Valid)) {
        mirrors(&case)?;
    }

    #[test]
    fn details_follow_their_results(case in Case::of(Format::Pi, Kind::Valid)) {
        mirrors(&case)?;
    }

    #[test]
    fn shown_results_follow_their_results(case in Case::of(Format::Qwen, Kind::Valid)) {
        mirrors(&case)?;
    }

    #[test]
    fn copies_follow_their_results(case in Case::of(Format::Kimi, Kind::Valid)) {
        mirrors(&case)?;
    }

    #[test]
    fn displays_follow_their_results(case in Case::of(Format::Gemini, Kind::Valid)) {
        mirrors(&case)?;
    }
}

/// The generators write what they claim to: otherwise the other properties would prove little.
fn generators_keep_the_rules(case: &Case) -> TestCaseResult {
    let run = case.compact();
    let mut errors = findings(case.format, case.layout, &case.bytes);
    errors.retain(|f| f.severity == Severity::Error);
    if case.known.chain == Chain::Broken {
        errors.retain(|f| !CHAIN.contains(&f.rule));
    }
    if case.format == Format::Kimi {
        // Its agent stops at the rubbish between the lines.
        errors.retain(|f| f.rule != Rule::InvalidJson);
    }
    prop_assert_eq!(errors, []);
    // A conversation of only plain texts could be of either message format.
    if run.detected != Some((case.format, case.layout)) {
        let views = views(case.format, &case.bytes).into_iter().flatten();
        prop_assert_eq!(views.map(|v| v.results.len()).sum::<usize>(), 0);
    }
    Ok(())
}

/// The rules that a session with broken links breaks.
const CHAIN: [Rule; 3] = [
    Rule::ChainParentMissing,
    Rule::ChainBroken,
    Rule::SummaryNotSent,
];

/// Invariant 1, for transcripts; for arbitrary bytes below.
fn without_layers_nothing_changes(case: &Case) -> TestCaseResult {
    let run = compact(&case.bytes, &policies::none(&case.policy), case.keeping);
    prop_assert!(run.bytes == case.bytes);
    prop_assert!(is_unchanged(&run));
    Ok(())
}

/// Invariant 2: line by line, all bytes are the same, except those of results' contents and their copies, of links to removed
/// lines, and of recorded figures.
fn only_results_change(case: &Case) -> TestCaseResult {
    let run = case.compact();
    let Some((format, _)) = run.detected else {
        prop_assert!(run.bytes == case.bytes);
        return Ok(());
    };
    prop_assert_eq!(split(&case.bytes).0, split(&run.bytes).0);
    for Kept { before, after, .. } in run.kept(&case.bytes) {
        prop_assert_eq!(before.1, after.1);
        if before != after {
            replaced::same_but_for_results(format, before.0, after.0)?;
        }
    }
    Ok(())
}

/// A replaced content is the placeholder with the tool's name, or the preview with the name of the stored content.
fn replacements_are_what_the_policy_says(case: &Case) -> TestCaseResult {
    for result in changed_results(case, &case.compact()) {
        match result.replaced {
            None => return Err(TestCaseError::fail(format!("neither: {result:?}"))),
            Some(Replaced::Cleared) => prop_assert!(case.policy.has(Layer::Clear)),
            Some(Replaced::Demoted) => {
                prop_assert!(case.policy.has(Layer::Demote));
                prop_assert_eq!(case.keeping, Keeping::Store);
            }
            Some(Replaced::Superseded) => prop_assert!(case.policy.has(Layer::Superseded)),
        }
    }
    Ok(())
}

/// Invariant 7, as far as it does not need a disk: content that is named by its hash is given to the store.
fn demoted_content_can_be_found(case: &Case) -> TestCaseResult {
    let run = case.compact();
    let Some((format, layout)) = run.detected else {
        return Ok(());
    };
    let mut wanted: Vec<(String, Vec<u8>)> = changed_results(case, &run)
        .into_iter()
        .filter(|result| result.replaced == Some(Replaced::Demoted))
        .map(|result| (offload_name(&result.before), result.before))
        .collect();
    let pipeline = Pipeline::new(&case.policy, case.keeping).unwrap();
    let mut kept = Vec::new();
    for (bytes, first_line, part) in transcripts(layout, &case.bytes) {
        let input = Input {
            format,
            bytes,
            first_line,
            part,
            stored: Stored::default(),
            strings: &ctxpack::scan::NO_STRINGS,
            instruction_source: None,
            weights: &ctxpack::summarizer::extractive::WEIGHTS,
        };
        let compacted = pipeline.compact(input, &mut Warnings::default());
        kept.extend(compacted.offloads().map(|(name, content)| {
            let mut bytes = Vec::new();
            content.pieces(|piece| bytes.extend_from_slice(piece));
            (name.to_owned(), bytes)
        }));
    }
    // Content that an agent wrote twice is stored once.
    wanted.sort_unstable();
    wanted.dedup();
    kept.sort_unstable();
    kept.dedup();
    prop_assert!(wanted == kept);
    Ok(())
}

/// The copy of a result outside of the messages is shortened if and only if the result is.
fn mirrors(case: &Case) -> TestCaseResult {
    let run = case.compact();
    let changed = changed_results(case, &run);
    let longest = changed
        .iter()
        .map(|c| c.first_line)
        .max()
        .unwrap_or(0)
        .max(256);
    let (_, lines) = split(&case.bytes);
    for Kept {
        line,
        before,
        after,
    } in run.kept(&case.bytes)
    {
        let views = (view(case.format, before.0), view(case.format, after.0));
        let (Some(old), Some(new)) = views else {
            continue;
        };
        let here = changed.iter().filter(|c| c.line == line).count();
        for (mirror, new) in old.mirrors.iter().zip(&new.mirrors) {
            let goes = match &mirror.of {
                None => here > 0 && here == old.results.len(),
                // Where history was written again, there is a dead copy with the same id and with its own progress lines.
                Some(of) if case.format == Format::Gemini => {
                    changed.iter().any(|c| c.id == *of && c.line == line)
                }
                Some(of) if matches!(case.format, Format::Codex | Format::Kimi) => {
                    changed.iter().any(|c| c.id == *of)
                }
                Some(of) => attached_to(&lines, line).is_some_and(|owner| {
                    let mut windows = case.known.windows.iter();
                    let window = windows.find(|window| window.lines.contains(&owner));
                    let is_in = |c: &Changed| window.is_some_and(|w| w.lines.contains(&c.line));
                    changed.iter().any(|c| c.id == *of && is_in(c))
                }),
            };
            let was = mirror.node.of(before.0);
            let is = new.node.of(after.0);
            if goes {
                prop_assert!(is.len() <= was.len().min(longest));
            } else {
                prop_assert_eq!(was, is);
            }
        }
    }
    Ok(())
}

/// The line that a progress line is attached to, across other progress lines.
fn attached_to(lines: &[(&[u8], &[u8])], line: usize) -> Option<usize> {
    // Not by `serde_json`, which refuses half of a surrogate pair.
    let member = |line: usize, wanted: &[u8]| {
        let mut value = None;
        let mut cursor = Cursor::new(lines[line].0);
        cursor
            .object(|key, c| {
                let text = c.string_or_skip()?;
                if key == wanted {
                    value = text.map(|text| unescape(text.span.of(lines[line].0)).into_owned());
                }
                Ok(())
            })
            .ok()?;
        value
    };
    let mut at = line;
    for _ in 0..lines.len() {
        let parent = member(at, b"parentUuid");
        // Of a line that was written twice, the last one counts.
        at = (0..lines.len())
            .rev()
            .find(|l| parent.is_some() && member(*l, b"uuid") == parent)?;
        if member(at, b"type").as_deref() != Some(b"progress") {
            return Some(at);
        }
    }
    None
}

/// Invariants 3 and 11: only results change, so the last answer and the system's messages do not.
fn what_was_said_stays(case: &Case) -> TestCaseResult {
    let run = case.compact();
    let format = run.detected.map_or(case.format, |(format, _)| format);
    let messages = |line| -> Vec<&[u8]> {
        let spans = view(format, line).map(|v| v.messages).unwrap_or_default();
        spans.into_iter().map(|span| &line[span]).collect()
    };
    for Kept { before, after, .. } in run.kept(&case.bytes) {
        if before != after {
            prop_assert_eq!(messages(before.0), messages(after.0));
        }
    }
    Ok(())
}

/// The newest results of the policy's kinds are not cleared, nor are results of other kinds; what no model sees does not change
/// at all.
fn the_newest_and_the_dead_stay(case: &Case) -> TestCaseResult {
    let run = case.compact();
    let changed = changed_results(case, &run);
    let mut live = case.known.live();
    live.extend(case.known.windows.iter().flat_map(|w| &w.copies));
    for result in &changed {
        prop_assert!(
            live.contains(&result.line),
            "a dead line was edited: {result:?}"
        );
    }
    let tools = Tools::of(case, &run);
    let views = views(case.format, &case.bytes);
    for window in &case.known.windows {
        let mut newer = 0;
        let counted = |line: &&usize| !window.copies.contains(line);
        for line in window.lines.iter().rev().filter(counted) {
            let results = views[*line].iter().flat_map(|view| &view.results);
            for (at, result) in results.enumerate().collect::<Vec<_>>().into_iter().rev() {
                let now = changed.iter().find(|c| (c.line, c.at) == (*line, at));
                let cleared = now.filter(|c| c.replaced == Some(Replaced::Cleared));
                let counts = tools.is_of_policy(case, *line, result);
                if newer < case.policy.clear.keep || !counts {
                    prop_assert!(cleared.is_none(), "with {newer} newer ones: {cleared:?}");
                }
                newer += u64::from(counts);
            }
        }
    }
    Ok(())
}

/// What a superseded read showed is shown by a later result of the same conversation, which is kept.
fn superseded_reads_are_shown_later(case: &Case) -> TestCaseResult {
    reread::check(case, &case.compact())
}

/// Invariant 3: every call and every result on a kept line has the same id as before.
fn pairs_stay_pairs(case: &Case) -> TestCaseResult {
    let run = case.compact();
    let format = run.detected.map_or(case.format, |(format, _)| format);
    let ids = |line| {
        let view = view(format, line).unwrap_or_default();
        let results = view.results.into_iter().map(|result| result.id);
        (view.calls, results.collect::<Vec<_>>())
    };
    for Kept { before, after, .. } in run.kept(&case.bytes) {
        if before != after {
            prop_assert_eq!(ids(before.0), ids(after.0));
        }
    }
    Ok(())
}

/// Invariant 3: there are no findings that the input does not have, and no result has to be discarded because of one.
fn no_rule_is_broken(case: &Case) -> TestCaseResult {
    let run = case.compact();
    prop_assert!(
        run.outcome.status != Status::Rejected || may_be_rejected(case),
        "{:?}",
        run.outcome.file.error
    );
    if let Some((format, layout)) = run.detected {
        let before = findings(format, layout, &case.bytes);
        let after = findings(format, layout, &run.bytes);
        prop_assert_eq!(new_findings(&before, &after), Vec::<&Finding>::new());
    }
    Ok(())
}

/// Where the chain is noise, a compaction that no model sees can become the last one when a later one is removed, and a new one
/// can be where no link leads to it.
fn may_be_rejected(case: &Case) -> bool {
    let summarises = case.policy.has(Layer::Summarize);
    let is_noise = case.known.windows.is_empty();
    // A break that was reported above the window is then reported below lines that a model does not see: those kept of
    // history, or of a newer branch that a pointer leads away from.
    let breaks = case.known.chain == Chain::Broken;
    is_noise && (case.drops() || summarises) || breaks && summarises
}

/// Invariant 4, for each conversation; and a fresh count of the output gives the same figures.
fn never_more_tokens(case: &Case) -> TestCaseResult {
    let Run { outcome, bytes, .. } = case.compact();
    for conversation in &outcome.conversations {
        prop_assert!(conversation.tokens_after <= conversation.tokens_before);
        actions_add_up(conversation)?;
        roles_add_up(conversation)?;
        // A conversation is removed with the task that it belonged to; then its size is 0.
        if conversation.messages_after > 0 || !case.drops() {
            prop_assert_eq!(conversation.messages_after, conversation.messages_before);
        }
    }
    let again = compact(&bytes, &policies::none(&case.policy), case.keeping).outcome;
    let roles = |conversation: &ConversationOutcome, tokens: fn(&RoleOutcome) -> u64| {
        let roles = conversation.roles.iter();
        let roles = roles.map(|role| (role.role.name(), tokens(role)));
        roles.filter(|(_, tokens)| *tokens > 0).collect::<Vec<_>>()
    };
    let said = outcome
        .conversations
        .iter()
        .filter(|c| c.messages_after > 0)
        .map(|c| (&c.id, c.tokens_after, roles(c, |role| role.tokens_after)));
    let counted = again
        .conversations
        .iter()
        .filter(|c| c.messages_before > 0)
        .map(|c| (&c.id, c.tokens_before, roles(c, |role| role.tokens_before)));
    prop_assert_eq!(said.collect::<Vec<_>>(), counted.collect::<Vec<_>>());
    prop_assert_eq!(outcome.bytes_after, bytes.len() as u64);
    prop_assert_eq!(&outcome.hash_after, &again.hash_before);
    Ok(())
}

/// The savings that the actions report add up to the difference of the conversation's sizes.
fn actions_add_up(conversation: &ConversationOutcome) -> TestCaseResult {
    let saved = |action: &Action| action.tokens_before as i64 - action.tokens_after as i64;
    let all: i64 = conversation.actions.iter().map(saved).sum();
    let lost = conversation.tokens_before - conversation.tokens_after;
    prop_assert!(all == lost as i64, "{all} of {lost}: {conversation:#?}");
    Ok(())
}

/// The tokens of the roles are those of the conversation.
fn roles_add_up(conversation: &ConversationOutcome) -> TestCaseResult {
    let roles = || conversation.roles.iter();
    let before: u64 = roles().map(|role| role.tokens_before).sum();
    let after: u64 = roles().map(|role| role.tokens_after).sum();
    let tokens = (conversation.tokens_before, conversation.tokens_after);
    prop_assert_eq!((before, after), tokens);
    Ok(())
}

/// Invariant 5.
fn a_second_run_changes_nothing(case: &Case) -> TestCaseResult {
    let once = case.compact();
    let twice = case.compact_bytes(&once.bytes);
    prop_assert!(
        once.bytes == twice.bytes,
        "{:?}",
        twice.outcome.conversations
    );
    let again = once.outcome.status == Status::Rejected && may_be_rejected(case);
    prop_assert!(is_unchanged(&twice) || again);
    Ok(())
}

/// Invariant 6, as far as one process can check it; and a conversation does not depend on its neighbours.
fn the_same_bytes_every_time(case: &Case) -> TestCaseResult {
    let run = case.compact();
    prop_assert!(run == case.compact_bytes(&case.bytes));
    if let Some((format, Layout::Line)) = run.detected {
        let pipeline = case.pipeline(&case.policy);
        let (mark, lines) = split(&case.bytes);
        let mut alone = mark.to_vec();
        for ((bytes, end), first_line) in lines.into_iter().zip(1..) {
            let mark = if first_line == 1 { mark } else { b"" };
            let archive = case::copy_path(&[mark, bytes, end].concat());
            let input = Input {
                format,
                bytes,
                // A summary names the lines that it is about.
                first_line,
                part: Part::Line,
                stored: Stored {
                    archive: Some(&archive),
                    ..Stored::default()
                },
                strings: &ctxpack::scan::NO_STRINGS,
                instruction_source: None,
                weights: &ctxpack::summarizer::extractive::WEIGHTS,
            };
            let compacted = pipeline.compact(input, &mut Warnings::default());
            compacted
                .pieces()
                .for_each(|piece| alone.extend_from_slice(piece));
            alone.extend_from_slice(end);
        }
        prop_assert!(run.bytes == alone);
    }
    Ok(())
}

fn is_unchanged(run: &Run) -> bool {
    matches!(run.outcome.status, Status::Unchanged | Status::Unsupported)
}

/// The content of each line.
fn views(format: Format, bytes: &[u8]) -> Vec<Option<LineView>> {
    let lines = split(bytes).1.into_iter();
    lines.map(|(line, _)| view(format, line)).collect()
}

/// The transcripts of a file, as a run separates them.
fn transcripts(layout: Layout, bytes: &[u8]) -> Vec<(&[u8], u64, Part)> {
    match layout {
        Layout::File => vec![(bytes, 1, Part::File)],
        Layout::Line => {
            let lines = split(bytes).1.into_iter().zip(1..);
            lines
                .map(|((line, _), number)| (line, number, Part::Line))
                .collect()
        }
    }
}

fn findings(format: Format, layout: Layout, bytes: &[u8]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (bytes, first_line, _) in transcripts(layout, bytes) {
        let transcript = format.read(bytes, first_line, &mut Warnings::default());
        findings.extend(format.verify(&transcript));
    }
    findings
}

/// The generators and the policies make every layer change something: otherwise the properties would prove little.
#[test]
fn every_layer_is_exercised() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    for format in formats::of_lines() {
        let cases = Case::of(format, Kind::Valid);
        let mut times = std::collections::BTreeMap::new();
        for _ in 0..600 {
            let case = cases.new_tree(&mut runner).unwrap().current();
            for result in changed_results(&case, &case.compact()) {
                *times.entry(format!("{:?}", result.replaced)).or_insert(0) += 1;
            }
        }
        for layer in [Replaced::Cleared, Replaced::Demoted, Replaced::Superseded] {
            let times = times.get(&format!("{:?}", Some(layer))).copied();
            assert!(times > Some(2), "{format:?}: {layer:?} {times:?} times");
        }
    }
}

mod isolated {
    use super::*;

    /// The same lines, with and without rubbish between them.
    fn both(format: Format) -> impl Strategy<Value = (Case, Framed)> {
        let lines = Tape::of_up_to(600).prop_map(move |mut tape| {
            let written = Written::new(&mut tape, format, Mode::Clean);
            let frame =
                |tape: &mut Tape, rubbish| frame(tape, &written.lines, Mode::Clean, rubbish);
            let clean = frame(&mut tape.clone(), Rubbish::Never).bytes;
            (clean, frame(&mut tape, Rubbish::Often))
        });
        (Case::of(format, Kind::Valid), lines)
            .prop_map(|(case, (bytes, framed))| (Case { bytes, ..case }, framed))
    }

    fn check((case, framed): (Case, Framed)) -> TestCaseResult {
        let (alone, among) = (case.compact(), case.compact_bytes(&framed.bytes));
        let mut expected: Vec<Option<&[u8]>> = split(&framed.bytes)
            .1
            .into_iter()
            .map(|(line, _)| Some(line))
            .collect();
        for place in &framed.places {
            expected[*place] = None;
        }
        for Kept { line, after, .. } in alone.kept(&case.bytes) {
            expected[framed.places[line]] = Some(after.0);
        }
        let expected: Vec<&[u8]> = expected.into_iter().flatten().collect();
        let (_, among) = split(&among.bytes);
        let among: Vec<&[u8]> = among.into_iter().map(|(line, _)| line).collect();
        prop_assert!(expected == among);
        Ok(())
    }

    each_format! { tests config(), check, both }
}
