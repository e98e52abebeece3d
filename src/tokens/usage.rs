//! How a provider's count relates to the estimate, over the requests that a transcript recorded.
//!
//! A provider counts what is not in the file (system prompt, tool schemas) and the content, in its own tokens: `recorded` ≈
//! `overhead` + `factor` × estimate. The line is fitted by Theil–Sen: the median of the slopes between all pairs of requests, then
//! the median of the residuals. A few outliers (an agent that cut its own history, a subagent's count in the wrong place) would
//! distort a least-squares fit but not medians, and there is nothing to tune.
//!
//! For reports only: recorded usage is out of date after the first edit, so nothing is decided by it.

use serde::{Deserialize, Serialize};

use super::{Size, Sizes};
use crate::format::Format;
use crate::transcript::{Conversation, Transcript};

/// How a provider's count relates to the estimate: `recorded` ≈ `overhead` + `factor` × content.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens that the provider counted last.
    pub recorded: u64,
    /// Tokens that are not in the file: system prompt, tool schemas.
    pub overhead: u64,
    /// The provider's tokens per estimated token, to 4 decimals.
    pub factor: f64,
}

/// A request: the estimate of its content, and what the provider counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Request {
    estimate: u64,
    recorded: u64,
}

/// The maximum number of requests for a fit, evenly spread: fitting all requests of a long session would take longer than reading
/// it.
const REQUESTS: usize = 32;
/// The minimum number of distinct requests for a fit: two points always form a line.
const DISTINCT: usize = 3;
/// How far the last request may be off the line, as a share of what was counted: its parts are reported, and those of a request that
/// does not follow the line mean nothing. In recorded sessions it is off by a few percent; a figure that a compaction lowered is off by
/// half or more.
const FAR_OFF: f64 = 0.25;

/// The relation over the requests of a live window, given the numbers of the `answers` whose figures are of this window; `None` for
/// fewer than three different ones, if more content did not mean more tokens, or if the last one is far off the line.
pub fn usage(
    format: Format,
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    answers: &[usize],
    sizes: &mut Sizes,
) -> Option<Usage> {
    let messages = &conversation.messages;
    let recorded = |i: usize| format.recorded(transcript, conversation, &messages[i]);
    let last = answers.iter().rposition(|i| recorded(*i).is_some())?;
    let mut asked = answers[..=last]
        .iter()
        .rev()
        .step_by(answers.len().div_ceil(REQUESTS))
        .filter_map(|i| Some((*i, recorded(*i)?)))
        .collect::<Vec<_>>();
    asked.reverse();

    let mut before = Size::default();
    let mut at = 0;
    let mut requests = Vec::with_capacity(asked.len());
    for (answer, recorded) in asked {
        for message in &messages[at..answer] {
            before += sizes.message(transcript, conversation, message);
        }
        at = answer;
        requests.push(Request {
            estimate: sizes.estimator().tokens(before),
            recorded,
        });
    }
    fit(&requests)
}

fn fit(requests: &[Request]) -> Option<Usage> {
    let mut estimates: Vec<u64> = requests.iter().map(|r| r.estimate).collect();
    estimates.sort_unstable();
    estimates.dedup();
    if estimates.len() < DISTINCT {
        return None;
    }
    let mut slopes = Vec::with_capacity(requests.len() * (requests.len() - 1) / 2);
    for (i, a) in requests.iter().enumerate() {
        let others = requests[i + 1..]
            .iter()
            .filter(|b| b.estimate != a.estimate);
        slopes.extend(others.map(|b| {
            let rise = b.recorded as f64 - a.recorded as f64;
            rise / (b.estimate as f64 - a.estimate as f64)
        }));
    }
    let factor = median(&mut slopes)?;
    if factor <= 0.0 {
        return None;
    }
    let rest = |r: &Request| r.recorded as f64 - factor * r.estimate as f64;
    let overhead = median(&mut requests.iter().map(rest).collect::<Vec<_>>())?;
    let last = requests.last()?;
    let counted = last.recorded as f64;
    let expected = overhead + factor * last.estimate as f64;
    if (expected - counted).abs() > counted * FAR_OFF {
        return None;
    }
    Some(Usage {
        recorded: last.recorded,
        // A cast to an unsigned integer turns negative values into zero.
        overhead: overhead.round() as u64,
        factor: (factor * 10_000.0).round() / 10_000.0,
    })
}

/// The median; for an even count, the mean of the two middle numbers.
fn median(numbers: &mut [f64]) -> Option<f64> {
    let middle = numbers.len() / 2;
    if numbers.is_empty() {
        return None;
    }
    let is_odd = numbers.len() % 2 == 1;
    let (below, upper, _) = numbers.select_nth_unstable_by(middle, f64::total_cmp);
    if is_odd {
        return Some(*upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    Some((lower + *upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Warnings;
    use crate::policy;
    use crate::tokens::Estimator;
    use crate::transcript::Role;

    fn requests(points: &[(u64, u64)]) -> Vec<Request> {
        let request = |&(estimate, recorded): &(u64, u64)| Request { estimate, recorded };
        points.iter().map(request).collect()
    }

    fn fitted(points: &[(u64, u64)]) -> Option<(u64, u64, f64)> {
        fit(&requests(points)).map(|u| (u.recorded, u.overhead, u.factor))
    }

    #[test]
    fn a_line_is_found_again() {
        // recorded = 20 000 + 1.25 × estimate
        let points = [(0, 20_000), (400, 20_500), (1000, 21_250), (4000, 25_000)];
        assert_eq!(fitted(&points), Some((25_000, 20_000, 1.25)));
    }

    #[test]
    fn one_request_far_off_does_not_move_it() {
        let mut points: Vec<(u64, u64)> = (1..=9).map(|i| (i * 100, 1000 + i * 200)).collect();
        points[4].1 = 90_000;
        assert_eq!(fitted(&points), Some((2800, 1000, 2.0)));
    }

    #[test]
    fn medians_take_the_middle() {
        // Slopes: 1, 3, 2 between (0, 5), (2, 7), (4, 13); rests with 2: 5, 3, 5.
        assert_eq!(fitted(&[(0, 5), (2, 7), (4, 13)]), Some((13, 5, 2.0)));
        // Slopes 1, 2, 3, 1.5, 2.5, 2: two in the middle are 2; rests 10, 9, 9, 10: between 9 and 10, rounded up.
        assert_eq!(
            fitted(&[(0, 10), (1, 11), (2, 13), (3, 16)]),
            Some((16, 10, 2.0))
        );
    }

    #[test]
    fn too_little_gives_nothing() {
        assert_eq!(fitted(&[]), None);
        assert_eq!(fitted(&[(1, 10), (2, 20)]), None);
        assert_eq!(fitted(&[(1, 10), (2, 20), (2, 21), (1, 11)]), None);
        // The count falls as more is sent: a line through these points has no meaning.
        assert_eq!(fitted(&[(1, 30), (2, 20), (3, 10)]), None);
        // The last request is smaller than the overhead of the others, or not much larger.
        let with = |last: u64| fitted(&[(10, 120), (20, 140), (30, 160), (40, 180), (41, last)]);
        assert_eq!(with(90), None);
        assert_eq!(with(110), None);
        assert_eq!(with(170), Some((170, 100, 2.0)));
        // A negative constant makes no sense: it becomes 0.
        assert_eq!(fitted(&[(10, 0), (20, 20), (30, 40)]), Some((40, 0, 2.0)));
    }

    fn of(format: Format, text: &str) -> Option<Usage> {
        let policy =
            policy::parse("test", "[tokens]\nmethod = \"chars\"\nchars_per_token = 1").unwrap();
        let transcript = format.read(text.as_bytes(), 1, &mut Warnings::default());
        let mut sizes = Sizes::new(Estimator::new(&policy.tokens).unwrap());
        let conversation = &transcript.conversations[0];
        let messages = conversation.messages.iter().enumerate();
        let answers = messages.filter(|(_, message)| message.role == Role::Assistant);
        let answers: Vec<usize> = answers.map(|(number, _)| number).collect();
        usage(format, &transcript, conversation, &answers, &mut sizes)
    }

    fn answer(tokens: u64) -> String {
        format!(
            "{{\"role\":\"assistant\",\"content\":\"12345\",\"usage\":{{\"prompt_tokens\":{tokens}}}}}\n"
        )
    }

    const USER: &str = "{\"role\":\"user\",\"content\":\"12345\"}\n";

    #[test]
    fn a_request_holds_what_came_before_its_answer() {
        // Estimates 5, 15, 25; recorded 100 + 2 × estimate.
        let text = [110, 130, 150]
            .map(|n| USER.to_owned() + &answer(n))
            .concat();
        let expected = Usage {
            recorded: 150,
            overhead: 100,
            factor: 2.0,
        };
        assert_eq!(of(Format::OpenAi, &text), Some(expected));
        // What follows the last answer was never sent; an answer without a figure is of no use.
        let more = text + USER + "{\"role\":\"assistant\",\"content\":\"1\"}\n" + USER;
        assert_eq!(of(Format::OpenAi, &more), Some(expected));
    }

    #[test]
    fn of_many_requests_the_last_one_is_among_those_looked_at() {
        // Estimates 5 + 10 i.
        let text: String = (0..1000)
            .map(|i| USER.to_owned() + &answer(100 + 3 * (5 + 10 * i)))
            .collect();
        let expected = Usage {
            recorded: 100 + 3 * 9995,
            overhead: 100,
            factor: 3.0,
        };
        assert_eq!(of(Format::OpenAi, &text), Some(expected));
    }
}
