//! Simple methods to compare policies with: keep the end, keep both ends, mask results.
//!
//! Text and blocks count as for a policy. Pairs may be split, since the result is never sent. Cuts fall between words.

use std::borrow::Cow;

use super::Baseline;
use super::events::{Event, EventKind};
use crate::tokens::Estimator;

/// The text of a masked result.
const MASKED: &str = "[Old tool result content cleared]";

/// What a method keeps of a session.
#[derive(Debug, Default)]
pub(super) struct KeptPassages<'e> {
    pub(super) passages: Vec<Cow<'e, str>>,
    pub(super) tokens: u64,
}

/// An event, or what is left of it.
#[derive(Debug, Clone)]
struct Piece<'e> {
    text: Cow<'e, str>,
    tokens: u64,
}

/// What `baseline` keeps of `events` within `budget` tokens; `tokens` has the tokens of each event.
pub(super) fn kept<'e>(
    baseline: Baseline,
    events: &'e [Event],
    tokens: &[u64],
    budget: u64,
    estimator: &Estimator,
) -> KeptPassages<'e> {
    let mut pieces: Vec<Piece<'e>> = events
        .iter()
        .zip(tokens)
        .map(|(event, tokens)| Piece {
            text: match &event.body[..] {
                "" => Cow::Borrowed(&event.text[..]),
                body => Cow::Owned(format!("{}{body}", event.text)),
            },
            tokens: *tokens,
        })
        .collect();
    match baseline {
        Baseline::Window => tail(&pieces, budget, estimator),
        Baseline::HeadAndTail => {
            let mut kept = head(&mut pieces, budget / 2, estimator);
            let tail = tail(&pieces, budget - kept.tokens, estimator);
            kept.passages.extend(tail.passages);
            kept.tokens += tail.tokens;
            kept
        }
        Baseline::MaskKeep5 | Baseline::MaskKeep0 => {
            let keep = match baseline {
                Baseline::MaskKeep5 => 5,
                Baseline::MaskKeep0 | Baseline::Window | Baseline::HeadAndTail => 0,
            };
            let mask = estimator.tokens(estimator.text(MASKED));
            let old = last_results(events, keep);
            for (piece, event) in pieces.iter_mut().zip(events).take(old) {
                if is_result(event) && piece.tokens > mask {
                    (piece.text, piece.tokens) = (Cow::Borrowed(MASKED), mask);
                }
            }
            tail(&pieces, budget, estimator)
        }
    }
}

/// The index of the first of a session's last `count` results.
fn last_results(events: &[Event], count: usize) -> usize {
    let results = events.iter().enumerate().rev();
    let mut results = results.filter(|(_, event)| is_result(event));
    match count.checked_sub(1) {
        None => events.len(),
        Some(before) => results.nth(before).map_or(0, |(at, _)| at),
    }
}

fn is_result(event: &Event) -> bool {
    matches!(event.what, EventKind::Result { .. })
}

/// Keeps the end of the pieces.
fn tail<'e>(pieces: &[Piece<'e>], budget: u64, estimator: &Estimator) -> KeptPassages<'e> {
    let mut kept = KeptPassages::default();
    for Piece { text, tokens } in pieces.iter().rev() {
        let room = budget - kept.tokens;
        if *tokens > room {
            if let Some((start, tokens)) = last_words(text, room, estimator) {
                kept.tokens += tokens;
                kept.passages.push(Cow::Owned(text[start..].to_owned()));
            }
            break;
        }
        kept.tokens += tokens;
        kept.passages.push(text.clone());
    }
    kept.passages.reverse();
    kept
}

/// Takes the start of the pieces.
fn head<'e>(pieces: &mut Vec<Piece<'e>>, budget: u64, estimator: &Estimator) -> KeptPassages<'e> {
    let mut kept = KeptPassages::default();
    let mut taken = 0;
    for Piece { text, tokens } in pieces.iter_mut() {
        let room = budget - kept.tokens;
        if *tokens > room {
            if let Some((end, first)) = first_words(text, room, estimator) {
                kept.tokens += first;
                kept.passages.push(Cow::Owned(text[..end].to_owned()));
                *text = Cow::Owned(text[end..].to_owned());
                *tokens -= first.min(*tokens);
            }
            break;
        }
        kept.tokens += *tokens;
        kept.passages.push(text.clone());
        taken += 1;
    }
    pieces.drain(..taken);
    kept
}

/// The positions where words of a text begin, and its end.
fn between_words(text: &str) -> Vec<usize> {
    let starts = text.split_ascii_whitespace();
    let mut places: Vec<usize> = starts
        .map(|word| word.as_ptr() as usize - text.as_ptr() as usize)
        .collect();
    places.push(text.len());
    places
}

/// The start of the longest tail of a text with at most `most` tokens, and its token count.
fn last_words(text: &str, most: u64, estimator: &Estimator) -> Option<(usize, u64)> {
    let places = between_words(text);
    let (mut low, mut high) = (0, places.len() - 1);
    // The maximum average number of bytes per token.
    let reach = usize::try_from(most)
        .unwrap_or(usize::MAX)
        .saturating_mul(32);
    low += places.partition_point(|place| text.len() - place > reach);
    low = low.min(high);
    let tokens = |place: usize| estimator.tokens(estimator.text(&text[places[place]..]));
    while low < high {
        let middle = low + (high - low) / 2;
        if tokens(middle) <= most {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    (places[high] < text.len()).then(|| (places[high], tokens(high)))
}

/// The end of the longest prefix of a text with at most `most` tokens, and its token count.
fn first_words(text: &str, most: u64, estimator: &Estimator) -> Option<(usize, u64)> {
    // Blanks before the first word count like any others.
    let mut places = vec![0];
    places.extend(between_words(text));
    let reach = usize::try_from(most)
        .unwrap_or(usize::MAX)
        .saturating_mul(32);
    let (mut low, mut high) = (0, places.partition_point(|place| *place <= reach));
    high = high.saturating_sub(1);
    let tokens = |place: usize| estimator.tokens(estimator.text(&text[..places[place]]));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if tokens(middle) <= most {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    (places[low] > 0).then(|| (places[low], tokens(low)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::call::End;
    use crate::policy::{Method, Scope, preset};

    /// Here, four characters make a token.
    fn estimator() -> Estimator {
        let mut tokens = preset("auto").unwrap().tokens;
        (tokens.method, tokens.scope) = (Method::Chars, Scope::Content);
        tokens.chars_per_token = 4.0;
        tokens.rounding = crate::policy::Rounding::Ceil;
        Estimator::new(&tokens).unwrap()
    }

    fn session() -> (Vec<Event>, Vec<u64>) {
        let event = |what: EventKind, text: &str| Event {
            message: 0,
            block: None,
            what,
            text: text.to_owned(),
            body: String::new(),
        };
        let result = || EventKind::Result {
            of: None,
            end: End::Fine,
        };
        let events = vec![
            event(EventKind::User, "aaa bbb ccc ddd"),
            event(result(), &"one two ".repeat(20)),
            event(EventKind::Agent, "eee fff ggg hhh"),
        ];
        (events, vec![4, 40, 4])
    }

    fn kept_by(baseline: Baseline, budget: u64) -> (String, u64) {
        let (events, tokens) = session();
        let kept = kept(baseline, &events, &tokens, budget, &estimator());
        let passages = kept.passages.iter().filter(|p| !p.is_empty());
        let passages: Vec<&str> = passages.map(|p| p.trim()).collect();
        (passages.join("|"), kept.tokens)
    }

    #[test]
    fn a_window_is_the_end() {
        assert_eq!(
            kept_by(Baseline::Window, 4),
            ("eee fff ggg hhh".to_owned(), 4)
        );
        assert_eq!(kept_by(Baseline::Window, 2), ("ggg hhh".to_owned(), 2));
        assert_eq!(
            kept_by(Baseline::Window, 6),
            ("one two|eee fff ggg hhh".to_owned(), 6)
        );
        assert_eq!(kept_by(Baseline::Window, 100).1, 48);
        assert_eq!(kept_by(Baseline::Window, 0), (String::new(), 0));
    }

    #[test]
    fn both_ends_share_the_budget() {
        assert_eq!(
            kept_by(Baseline::HeadAndTail, 4),
            ("aaa bbb|ggg hhh".to_owned(), 4)
        );
        assert_eq!(
            kept_by(Baseline::HeadAndTail, 12),
            (
                "aaa bbb ccc ddd|one two|one two|eee fff ggg hhh".to_owned(),
                12
            )
        );
        assert_eq!(kept_by(Baseline::HeadAndTail, 100).1, 48);
    }

    #[test]
    fn blanks_before_the_first_word_count() {
        let text = " \t\n".repeat(2_000) + "word";
        let mut pieces = vec![Piece {
            tokens: 1_501,
            text: Cow::Borrowed(&text),
        }];
        let kept = head(&mut pieces, 100, &estimator());
        assert_eq!((kept.tokens, kept.passages.len(), pieces.len()), (0, 0, 1));
    }

    #[test]
    fn old_results_are_masked() {
        assert_eq!(
            kept_by(Baseline::MaskKeep0, 100),
            (format!("aaa bbb ccc ddd|{MASKED}|eee fff ggg hhh"), 17)
        );
        assert_eq!(kept_by(Baseline::MaskKeep5, 100).1, 48);
    }
}
