//! Selects the rounds of a conversation to send again when all of them together were too long for the model.
//!
//! PURE. Leaves out whole rounds, oldest first: enough to make up the excess that the server reports plus a margin, or a fifth of
//! them if it reports none. Never fewer than one, and never all.

use crate::artifacts::Excess;
use crate::summarizer::reading::begun;

/// One round in this many is dropped if the server does not say by how much the prompt is too long.
const DROP_DIVISOR: usize = 5;
/// The share of the limit to leave free in addition, as a divisor: a prompt's words have a different ratio of tokens to bytes than
/// repetitive rounds, by 7 % of the limit with llama.cpp and SmolLM2. Without this margin, most retries are again too long.
const MARGIN: u64 = 20;
/// The text that replaces the rounds that were left out.
const LEFT_OUT: &str = "[The beginning of this conversation was left out: it was too long to be summarised as a whole]\n\n";

/// The rounds without the oldest ones; there must be at least two. `around` is the number of bytes of the prompt outside the
/// rounds.
pub(super) fn without_oldest(
    rounds: &[String],
    excess: Option<Excess>,
    around: usize,
) -> &[String] {
    let dropped = match excess {
        Some(Excess { prompt, limit }) => {
            let all = rounds.iter().map(String::len).sum::<usize>() + around;
            // The position of the tokens in the text is unknown: each byte counts as the same fraction of a token.
            let excess = prompt.saturating_sub(limit - limit / MARGIN);
            let gap = excess as f64 * all as f64 / prompt.max(1) as f64;
            let mut left_out = 0;
            let before = rounds.iter().take_while(|round| {
                let is_needed = (left_out as f64) < gap;
                left_out += round.len();
                is_needed
            });
            before.count()
        }
        None => rounds.len() / DROP_DIVISOR,
    };
    &rounds[dropped.clamp(1, rounds.len() - 1)..]
}

/// The text of the `newest` of `all` rounds, with a note if some are left out.
pub(super) fn text_of(all: &[String], newest: &[String]) -> String {
    let text = newest.concat();
    if newest.len() == all.len() {
        return text;
    }
    format!("{LEFT_OUT}{}", begun(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(sizes: &[usize]) -> Vec<String> {
        sizes.iter().map(|n| "x".repeat(*n)).collect()
    }

    #[test]
    fn the_oldest_rounds_that_make_up_the_gap_are_left_out() {
        let all = rounds(&[100, 200, 300, 400]);
        let kept = |prompt, limit, around| {
            let kept = without_oldest(&all, Some(Excess { prompt, limit }), around);
            kept.len()
        };
        // A thousand bytes are 500 tokens: two bytes each. Of a limit of 473 tokens, 450 may be used.
        assert_eq!(kept(500, 473, 0), 3);
        assert_eq!(kept(500, 472, 0), 2);
        assert_eq!(kept(500, 368, 0), 2);
        assert_eq!(kept(500, 367, 0), 1);
        // At least one is left out, and at least one stays.
        assert_eq!(kept(500, 499, 0), 3);
        assert_eq!(kept(500, 1, 0), 1);
        // The prompt's own words cannot be left out, so each token accounts for more bytes.
        assert_eq!(kept(500, 480, 0), 3);
        assert_eq!(kept(500, 480, 1_000), 2);
    }

    #[test]
    fn a_fifth_is_left_out_of_an_unknown_gap() {
        let kept = |n: usize| without_oldest(&rounds(&vec![1; n]), None, 9).len();
        assert_eq!([kept(2), kept(9), kept(10), kept(20)], [1, 8, 8, 16]);
    }

    #[test]
    fn a_text_says_that_its_beginning_was_left_out() {
        let json = ["[1".to_owned(), ", 2".to_owned(), ", 3]".to_owned()];
        assert_eq!(text_of(&json, &json), "[1, 2, 3]");
        assert_eq!(text_of(&json, &json[1..]), format!("{LEFT_OUT}[2, 3]"));
        let plain = ["[user]\na".to_owned(), "[user]\nb".to_owned()];
        assert_eq!(text_of(&plain, &plain[1..]), format!("{LEFT_OUT}[user]\nb"));
    }
}
