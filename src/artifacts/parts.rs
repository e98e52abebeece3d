//! Which rounds of a long conversation are sent together, and what is sent of a round that is too long by itself.
//!
//! PURE. Rounds stay whole and in order, and none is left out: of a round that does not fit, the beginnings and ends of its longest
//! texts are sent.

use crate::text::{ceil_boundary, floor_boundary};

/// Divisor: the end of a shortened text makes up this fraction of it.
const END: usize = 3;

/// Divisor: the last part is at least this fraction of a whole part, if it is sent with the summaries of all others.
const LEAST_LAST: u64 = 4;

/// How many of the first rounds, which have these sizes, are sent together so that all parts are about the same size: at least one,
/// even if it does not fit into the room.
pub(super) fn first_part(sizes: &[u64], room: u64) -> usize {
    let all: u64 = sizes.iter().sum();
    let parts = all.div_ceil(room.max(1)).max(1);
    part_of(sizes, room, all.div_ceil(parts))
}

/// The size of the next part, if the last part can be sent with the summaries of all others. `all` is the total in tokens, `taken`
/// the tokens of earlier summaries, and `summary` the maximum for each further one.
pub(super) fn before_last(all: u64, room: u64, taken: u64, summary: u64) -> Option<u64> {
    let mut last = room.saturating_sub(taken);
    let mut full = 0;
    loop {
        full += 1;
        last = last.saturating_sub(summary);
        if last == 0 || last < room / LEAST_LAST {
            return None;
        }
        let held = room.saturating_mul(full).saturating_add(last);
        if all <= held {
            // Each is filled to the same share.
            let aim = u128::from(all) * u128::from(room) / u128::from(held);
            return Some(aim as u64);
        }
    }
}

/// How many of the first rounds, of these sizes, make a part of about `aim` tokens: at least one.
pub(super) fn part_of(sizes: &[u64], room: u64, aim: u64) -> usize {
    let mut sum = 0;
    for (number, size) in sizes.iter().enumerate() {
        if number > 0 && (sum + size > room || sum >= aim) {
            return number;
        }
        sum += size;
    }
    sizes.len()
}

/// A round in about `most` bytes: short texts stay as they are, the longest keep their beginning and end. A text begins with a
/// label such as `[result Bash]` after an empty line; a round without any is one text.
pub(super) fn clamped(round: &str, most: usize) -> String {
    let texts = texts(round);
    let cap = cap(&texts, most);
    texts
        .into_iter()
        .map(|text| clamped_text(text, cap))
        .collect()
}

fn texts(round: &str) -> Vec<&str> {
    let starts = round.match_indices("\n\n[").map(|(at, _)| at + 2);
    let mut texts = Vec::new();
    let mut from = 0;
    for start in starts {
        texts.push(&round[from..start]);
        from = start;
    }
    texts.push(&round[from..]);
    texts
}

/// The length that no text may exceed so that all together have `most` bytes.
fn cap(texts: &[&str], most: usize) -> usize {
    let mut lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
    lengths.sort_unstable();
    let mut left = most;
    for (number, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - number);
        if *length > share {
            return share;
        }
        left -= length;
    }
    usize::MAX
}

fn clamped_text(text: &str, cap: usize) -> String {
    if text.len() <= cap {
        return text.to_owned();
    }
    let end = cap / END;
    let head = floor_boundary(text, cap - end);
    let tail = ceil_boundary(text, text.len() - end);
    let left_out = text[head..tail].chars().count();
    format!(
        "{}\n[… {left_out} characters left out …]\n{}",
        &text[..head],
        &text[tail..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes of all parts.
    fn parts(mut sizes: &[u64], room: u64) -> Vec<u64> {
        let mut parts = Vec::new();
        while !sizes.is_empty() {
            let (part, rest) = sizes.split_at(first_part(sizes, room));
            parts.push(part.iter().sum());
            sizes = rest;
        }
        parts
    }

    #[test]
    fn parts_fit_are_about_equal_and_leave_nothing_out() {
        assert_eq!(parts(&[10; 10], 100), [100]);
        assert_eq!(parts(&[10; 10], 99), [50, 50]);
        assert_eq!(parts(&[10; 10], 49), [40, 30, 30]);
        assert_eq!(parts(&[10, 500, 10, 10], 100), [10, 500, 20]);
        assert_eq!(parts(&[7], 0), [7]);
        assert_eq!(parts(&[3, 3], 0), [3, 3]);
    }

    #[test]
    fn the_last_part_has_room_for_the_summaries_of_all_others() {
        // One whole part and a last one beside its summary hold 100 + 80.
        assert_eq!(before_last(180, 100, 0, 20), Some(100));
        assert_eq!(before_last(90, 100, 0, 20), Some(50));
        // Two whole ones hold 200 + 60; with earlier summaries, less.
        assert_eq!(before_last(260, 100, 0, 20), Some(100));
        assert_eq!(before_last(260, 100, 10, 20), Some(78));
        assert_eq!(before_last(1_000, 100, 0, 20), None);
        assert_eq!(before_last(100, 100, 90, 20), None);
        assert_eq!(before_last(7, 0, 0, 0), None);
        assert!(before_last(u64::MAX, u64::MAX / 8, 0, 1).is_some());
    }

    #[test]
    fn of_a_long_round_the_longest_texts_are_clamped() {
        let long = format!("{}{}", "a".repeat(500), "z".repeat(500));
        let round = format!(
            "[assistant]\nI look.\n\n[call Bash]\n{{}}\n\n[result Bash]\n{long}\n\n[result Read]\nfine\n\n"
        );
        let short = clamped(&round, 300);
        assert!(short.starts_with("[assistant]\nI look.\n\n[call Bash]\n{}\n\n[result Bash]\naaa"));
        assert!(short.ends_with("zzz\n\n[result Read]\nfine\n\n"), "{short}");
        assert!(short.contains("a\n[… ") && short.contains(" characters left out …]\nz"));
        assert!(short.len() < 340, "{}", short.len());
        assert_eq!(clamped(&round, round.len()), round);
        let umlauts = clamped(&"ä".repeat(400), 101);
        assert!(umlauts.starts_with('ä') && umlauts.ends_with('ä'));
    }
}
