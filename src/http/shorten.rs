//! Which rounds of a conversation are sent again when all of them together were too long for the model.
//!
//! PURE. Both functions expect at least two rounds.

use super::too_long::Excess;

/// The share of the computed room that is used: where the tokens are in the text is not known.
const MARGIN: f64 = 0.9;

/// The newest rounds that fit the limit that the server names; `max_tokens` of it are for the answer. At least one round
/// stays, and at least one is left out.
pub(super) fn newest_within(rounds: &[String], excess: Excess, max_tokens: u64) -> &[String] {
    let Excess { prompt, limit } = excess;
    let limit = if limit > max_tokens * 2 {
        limit - max_tokens
    } else {
        limit
    };
    let room = bytes(rounds) as f64 * limit as f64 / prompt as f64 * MARGIN;
    let mut used = 0;
    let newest = rounds.iter().rev().take_while(|round| {
        used += round.len();
        used as f64 <= room
    });
    let count = newest.count().clamp(1, rounds.len() - 1);
    &rounds[rounds.len() - count..]
}

/// The older and the newer half, by bytes.
pub(super) fn halves(rounds: &[String]) -> (&[String], &[String]) {
    let half = bytes(rounds) / 2;
    let mut used = 0;
    let older = rounds.iter().take_while(|round| {
        used += round.len();
        used <= half
    });
    let count = older.count().clamp(1, rounds.len() - 1);
    rounds.split_at(count)
}

fn bytes(rounds: &[String]) -> usize {
    rounds.iter().map(String::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(rounds: &[String]) -> Vec<usize> {
        rounds.iter().map(String::len).collect()
    }

    fn rounds(sizes: &[usize]) -> Vec<String> {
        sizes.iter().map(|n| "x".repeat(*n)).collect()
    }

    #[test]
    fn the_oldest_rounds_are_left_out_as_far_as_the_server_says() {
        let all = rounds(&[400, 300, 200, 100]);
        let kept = |prompt, limit, max_tokens| {
            sizes(newest_within(&all, Excess { prompt, limit }, max_tokens))
        };
        // 1000 bytes are 500 tokens; of 300 the answer takes 20, and a tenth is spared: 504 bytes.
        assert_eq!(kept(500, 300, 20), [200, 100]);
        assert_eq!(kept(500, 400, 20), [300, 200, 100]);
        // At least one is left out, and at least one stays.
        assert_eq!(kept(500, 499, 0), [300, 200, 100]);
        assert_eq!(kept(500, 1, 100), [100]);
    }

    #[test]
    fn halves_are_of_about_the_same_size() {
        let split = |all: &[usize]| {
            let all = rounds(all);
            let (older, newer) = halves(&all);
            (sizes(older), sizes(newer))
        };
        assert_eq!(split(&[10, 10, 10, 10]), (vec![10, 10], vec![10, 10]));
        assert_eq!(split(&[90, 5, 5]), (vec![90], vec![5, 5]));
        assert_eq!(split(&[5, 5, 90]), (vec![5, 5], vec![90]));
    }
}
