//! The tables about live windows: their growth over turns, how they compare with the policy's thresholds, and how presets and
//! estimators count them.
//!
//! A single conversation is shown turn by turn; of several, each has one row.

use super::seen::Shown;
use super::{Stats, Turns, View};
use crate::outcome::Examined;
use crate::policy::Compare;
use crate::report::rows::{Foot, Last, Table};
use crate::stats::{ConversationStats, FileStats, ResultsOver, Standing, Thresholds, Turn, Window};
use crate::text::{count, printable, thousands};

/// The maximum number of turns to show for a conversation.
const TURNS_SHOWN: usize = 12;
/// The maximum length of a turn's bar, in characters.
const BAR: u64 = 24;
/// The maximum length of a conversation's row of steps, in characters.
const STEPS: usize = 16;
/// The characters for steps, from an empty window to the full one.
const LEVELS: [char; 8] = ['.', ':', '-', '=', '+', '*', '#', '@'];
/// What the columns of recorded usage count.
const PROVIDERS: &str = "recorded, overhead: tokens as the provider counts them; factor: how many of them for one estimated token";
/// The text of an empty cell.
const NONE: &str = "-";

/// How the windows grew.
pub(super) fn growth(stats: &Stats<'_>, view: View) -> Vec<Table> {
    if let Some(conversation) = stats.seen.only() {
        return vec![turns("context over turns".to_owned(), conversation, view)];
    }
    let folder = stats.folder();
    let hidden = stats.seen.conversations.saturating_sub(view.top as u64);

    let has_trigger = stats.head.about.thresholds.trigger.is_some();
    let since = has_trigger.then_some("over since turn");
    let header = ["conversation", "turns", "context over turns", "tokens"];
    let mut table = Table::new(header.into_iter().chain(since));
    table.note = (hidden > 0).then(|| format!("and {} more", thousands(hidden)));
    let mut tables = Vec::new();
    for shown in stats.seen.windows.iter().take(view.top) {
        let conversation = &shown.conversation;
        let name = name_of(shown, folder);
        let mut row = vec![
            name.clone(),
            thousands(conversation.turns),
            steps(&conversation.timeline),
            thousands(conversation.tokens),
        ];
        row.extend(conversation.standing.trigger.map(|w| turn_or_none(w.since)));
        table.rows.push(row);
        if view.turns == Turns::All {
            tables.push(turns(format!("turns of {name}"), conversation, view));
        }
    }
    tables.insert(0, table);
    tables
}

/// A conversation's file without the common folder, and its id if the file has several.
pub(super) fn name_of(shown: &Shown, folder: &str) -> String {
    let path = &shown.path[folder.len()..];
    let name = match shown.of {
        1 => path.to_owned(),
        _ => format!("{path} {}", shown.conversation.id),
    };
    printable(&name).into_owned()
}

/// A conversation turn by turn; the bars are its window.
fn turns(title: String, conversation: &ConversationStats, view: View) -> Table {
    let numbers = ["turn", "line", "messages", "tokens", "context", "recorded"];
    let mut table = Table::new([title].into_iter().chain(numbers.map(str::to_owned)));
    let all = &conversation.timeline;
    let shown = match view.turns {
        Turns::All => all.iter().collect(),
        Turns::Some => spread(all, TURNS_SHOWN),
    };
    if shown.len() < all.len() {
        let turns = count(all.len() as u64, "turn");
        table.note = Some(format!("{} of {turns}; -v shows all", shown.len()));
    }
    let limit = conversation.standing.trigger.map(|window| window.limit);
    for turn in shown {
        let mut row = vec![bar(turn.context, limit, conversation.tokens)];
        row.extend([turn.turn, turn.line].map(|number| number.to_string()));
        row.extend([turn.messages, turn.tokens, turn.context].map(thousands));
        row.push(turn.recorded.map_or(NONE.to_owned(), thousands));
        table.rows.push(row);
    }
    table
}

/// At most `most` of a list, evenly spread; the first and the last are among them.
fn spread<T>(all: &[T], most: usize) -> Vec<&T> {
    if all.len() <= most {
        return all.iter().collect();
    }
    (0..most)
        .map(|i| &all[i * (all.len() - 1) / (most - 1)])
        .collect()
}

/// A window as a share of the full one; the part over the limit is drawn with another character.
fn bar(context: u64, limit: Option<u64>, whole: u64) -> String {
    let part = |tokens: u64| {
        let tokens = u128::from(tokens.min(whole)) * u128::from(BAR);
        tokens.div_ceil(u128::from(whole.max(1))) as usize
    };
    let within = part(limit.map_or(context, |limit| limit.min(context)));
    "=".repeat(within) + &"#".repeat(part(context) - within)
}

/// The window at the end of each turn, or of some, as a level.
fn steps(timeline: &[Turn]) -> String {
    let whole = timeline.last().map_or(0, |turn| turn.context);
    let level = |turn: &Turn| {
        let level = (u128::from(turn.context) * 8).div_ceil(u128::from(whole.max(1)));
        LEVELS[(level as usize).clamp(1, 8) - 1]
    };
    spread(timeline, STEPS).into_iter().map(level).collect()
}

fn turn_or_none(turn: Option<u64>) -> String {
    turn.map_or(NONE.to_owned(), thousands)
}

/// The limits of the policy, and how the conversations compare.
pub(super) fn thresholds(stats: &Stats<'_>) -> Table {
    let Thresholds {
        trigger,
        compare,
        min_savings,
        target,
        target_percent,
        offload,
        demote,
        clear,
        clear_chars,
        clear_keep,
    } = stats.head.about.thresholds;
    let policy = format!("policy {}", stats.head.about.policy.name);
    let mut table = Table::new([printable(&policy).as_ref(), "limit", "status"]);
    table.words = &[0, 2];
    table.last = Last::Words;
    let only = stats.seen.only();
    let standings = &stats.seen.standings;
    let mut add = |name: &str, limit: String, status: String| {
        table.rows.push(vec![name.to_owned(), limit, status]);
    };
    let windows = |by: fn(&Standing) -> Option<Window>, over: u64| match only {
        Some(one) => by(&one.standing).map_or(String::new(), |window| match window.since {
            Some(turn) => format!("over since turn {turn} (now {})", thousands(one.tokens)),
            None => format!("not over it (now {})", thousands(one.tokens)),
        }),
        None => {
            let all = count(stats.seen.conversations, "conversation");
            format!("{} of {all} over it", thousands(over))
        }
    };
    let counts = &stats.head.totals.counts;
    let results: u64 = counts
        .tools
        .ranked()
        .iter()
        .map(|(_, tool)| tool.results)
        .sum();
    let by_result = |by: fn(&Standing) -> Option<ResultsOver>, over: u64| {
        let since = only.and_then(|one| by(&one.standing)?.since);
        let since = since.map(|turn| format!(", the first in turn {turn}"));
        let results = count(results, "result");
        format!("{} of {results} over it", thousands(over)) + &since.unwrap_or_default()
    };
    if let Some(limit) = trigger {
        add(
            "summarise",
            holds(compare, limit),
            windows(|s| s.trigger, standings.trigger),
        );
    }
    if let Some(savings @ 1..) = min_savings {
        add(
            "a summary saves",
            holds(Compare::AtLeast, savings),
            String::new(),
        );
    }
    let percent = target_percent.map(|percent| format!("{percent}%"));
    if let Some(limit) = percent.or(target.map(thousands)) {
        add("target", limit, windows(|s| s.target, standings.target));
    }
    if let Some(limit) = offload {
        add(
            "offload",
            holds(compare, limit),
            windows(|s| s.offload, standings.offload),
        );
    }
    if let Some(limit) = demote {
        add(
            "demote",
            holds(Compare::Over, limit),
            by_result(|s| s.demote, standings.demote),
        );
    }
    if let Some(limit) = clear {
        let keep = clear_keep.unwrap_or(0);
        let chars = clear_chars.map(|chars| format!("; only over {}", count(chars, "character")));
        let stands = by_result(|s| s.clear, standings.clear) + &chars.unwrap_or_default();
        let stands = format!("{stands}; the newest {keep} stay");
        add("clear", holds(Compare::Over, limit), stands);
    }
    table
}

fn holds(compare: Compare, limit: u64) -> String {
    format!("{} {}", compare.name(), thousands(limit))
}

/// The presets side by side.
pub(super) fn presets(stats: &Stats<'_>) -> Table {
    let counts = &stats.head.totals.counts;
    let conversations = counts.live.conversations;
    let mut table = Table::new(["preset", "estimator", "tokens", "summarises", "would now"]);
    table.words = &[0, 1];
    for preset in &counts.presets.0 {
        let would = match (preset.over, conversations) {
            (None, _) => NONE.to_owned(),
            (Some(0), 1) => "no".to_owned(),
            (Some(_), 1) => "yes".to_owned(),
            (Some(over), _) => format!("{} of {}", thousands(over), thousands(conversations)),
        };
        let threshold = preset.threshold.map(|t| holds(preset.compare, t));
        table.rows.push(vec![
            preset.policy.clone(),
            preset.estimator.clone().into_owned(),
            preset.tokens.map_or(NONE.to_owned(), thousands),
            threshold.unwrap_or_else(|| "never".to_owned()),
            would,
        ]);
    }
    table
}

/// The estimates side by side, with what providers counted.
pub(super) fn estimates(stats: &Stats<'_>, shown: &[&Examined<FileStats>]) -> Table {
    let totals = stats.head.totals.counts.estimates.named();
    // An estimator that never counted has no column.
    let has_column = |i: &usize| totals[*i].1.is_some();
    let columns: Vec<usize> = (0..totals.len()).filter(has_column).collect();
    let has_usage = shown.iter().any(|file| file.found.usage().is_some());
    let of_usage: &[&str] = match has_usage {
        true => &["recorded", "overhead", "factor"],
        false => &[],
    };
    let header = ["estimates"]
        .into_iter()
        .chain(columns.iter().map(|i| totals[*i].0));
    let mut table = Table::new(header.chain(of_usage.iter().copied()));
    let row = |name: &str, estimates: [(&str, Option<u64>); 4]| {
        let columns = columns.iter().map(|i| estimates[*i].1);
        let cells = columns.map(|tokens| tokens.map_or(NONE.to_owned(), thousands));
        let name = [printable(name).into_owned()];
        name.into_iter().chain(cells).collect::<Vec<_>>()
    };
    table.note = has_usage.then(|| PROVIDERS.to_owned());
    let folder = stats.folder();
    for file in shown
        .iter()
        .filter(|file| !file.found.conversations.is_empty())
    {
        let FileStats {
            counts,
            conversations,
        } = &file.found;
        table.rows.push(row(
            &file.file.path[folder.len()..],
            counts.estimates.named(),
        ));
        if let Some((conversation, usage)) = file.found.usage() {
            // Next to the estimates of several conversations, it would seem to be for all of them.
            if conversations.len() > 1 {
                let name = format!("  in {}", conversation.id);
                table.rows.push(row(&name, conversation.estimates.named()));
            }
            if let Some(row) = table.rows.last_mut() {
                row.push(thousands(usage.recorded));
                row.push(thousands(usage.overhead));
                row.push(format!("{:.2}", usage.factor));
            }
        }
    }
    if stats.entries.len() > 1 {
        table.rows.push(row("total", totals));
        table.foot = Foot::Sum;
    }
    table
}
