//! How long a server asks to wait before the next request, in each server's form.
//!
//! PURE. Headers take precedence over the body, because they are meant for programs.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use serde_json::Value;

use super::response::Response;

/// The longest useful wait. Adding an arbitrary value from a server to a clock could overflow.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// Phrases before a time in an error message, in lower case.
const ASKS: [&str; 5] = [
    "try again in ",
    "try again after ",
    "retry in ",
    "retry after ",
    "wait ",
];

impl Response {
    /// How long the server asks to wait before the next request; more than a day counts as a day.
    pub(super) fn wait(&self) -> Option<Duration> {
        self.asked().map(|wait| wait.min(LONGEST))
    }

    fn asked(&self) -> Option<Duration> {
        if let Some(millis) = self.retry_after_ms.as_deref().and_then(number) {
            return Some(seconds(millis / 1_000.0));
        }
        // A date is compared with the server's own clock.
        let time = |text: &Option<String>| {
            let text = text.as_deref()?.trim();
            DateTimeParser::new().parse_timestamp(text).ok()
        };
        let date = time(&self.date);
        if let Some(after) = self.retry_after.as_deref().and_then(number) {
            return until(after, date);
        }
        if let (Some(after), Some(date)) = (time(&self.retry_after), date) {
            return between(date, after);
        }
        self.exhausted(date).or_else(|| self.said())
    }

    /// The time until the last of the exhausted limits is reset: `x-ratelimit-remaining-tokens: 0` beside
    /// `x-ratelimit-reset-tokens: 6m0s`, and Anthropic's equivalent with a date.
    fn exhausted(&self, date: Option<Timestamp>) -> Option<Duration> {
        let used_up = self.limits.iter().filter(|(name, left)| {
            name.contains("remaining") && left.trim().parse::<f64>().is_ok_and(|left| left <= 0.0)
        });
        let reset = used_up.filter_map(|(name, _)| {
            let name = name.replace("remaining", "reset");
            let (_, text) = self.limits.iter().find(|(other, _)| *other == name)?;
            let text = text.trim();
            match (text.parse::<Timestamp>(), date) {
                (Ok(time), Some(date)) => between(date, time),
                (Ok(_), None) => None,
                (Err(_), _) => match number(text) {
                    Some(number) => until(number, date),
                    None => duration(text).map(|(time, _)| time),
                },
            }
        });
        reset.max()
    }

    /// What the body says: Google's `RetryInfo`, or a sentence.
    fn said(&self) -> Option<Duration> {
        let text = String::from_utf8_lossy(&self.body).to_lowercase();
        let body: Option<Value> = serde_json::from_slice(&self.body).ok();
        let body = match &body {
            // Google's OpenAI endpoint puts the error into a list.
            Some(Value::Array(list)) => list.first(),
            body => body.as_ref(),
        };
        let details = body.and_then(|body| body["error"]["details"].as_array());
        let delays = details.into_iter().flatten();
        let mut delays = delays.filter_map(|one| duration(one["retryDelay"].as_str()?));
        if let Some((time, _)) = delays.next() {
            return Some(time);
        }
        ASKS.iter().find_map(|ask| {
            let (_, after) = text.split_once(ask)?;
            duration(after).map(|(time, _)| time)
        })
    }
}

fn number(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// The meaning of a bare number: seconds, or a point in time, as OpenRouter (milliseconds) and GitHub (seconds) send it.
fn until(number: f64, date: Option<Timestamp>) -> Option<Duration> {
    const SECONDS: f64 = 1e9;
    const MILLIS: f64 = 1e12;
    let time = match number {
        n if n >= MILLIS => Timestamp::from_millisecond(n as i64),
        n if n >= SECONDS => Timestamp::from_second(n as i64),
        n => return Some(seconds(n)),
    };
    between(date?, time.ok()?)
}

fn between(now: Timestamp, then: Timestamp) -> Option<Duration> {
    let seconds = then.as_second() - now.as_second();
    u64::try_from(seconds).ok().map(Duration::from_secs)
}

fn seconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number).unwrap_or(LONGEST)
}

/// A time at the start of a text, and the rest: `1.5s`, `6m0s`, `120ms`, `2 seconds`; a bare number means seconds.
fn duration(text: &str) -> Option<(Duration, &str)> {
    let mut rest = text;
    let mut total: Option<f64> = None;
    loop {
        let digits = rest
            .bytes()
            .take_while(|b| b.is_ascii_digit() || *b == b'.')
            .count();
        let Ok(number) = rest[..digits].trim_end_matches('.').parse::<f64>() else {
            break;
        };
        let after = rest[digits..].trim_start_matches(' ');
        let letters = after.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (scale, used) = match &after[..letters] {
            "ms" | "milliseconds" | "millisecond" => (0.001, letters),
            "s" | "sec" | "secs" | "second" | "seconds" => (1.0, letters),
            "m" | "min" | "mins" | "minute" | "minutes" => (60.0, letters),
            "h" | "hour" | "hours" => (3_600.0, letters),
            // Not a unit: if nothing came before it, the number means seconds.
            _ if total.is_none() => (1.0, 0),
            _ => break,
        };
        total = Some(total.unwrap_or_default() + number * scale);
        rest = &after[used..];
        if used == 0 {
            break;
        }
    }
    Some((seconds(total?), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(response: &Response) -> Option<u128> {
        response.wait().map(|wait| wait.as_millis())
    }

    #[test]
    fn a_sentence_says_how_long() {
        for (message, expected) in [
            ("Rate limit reached. Please try again in 2s.", Some(2_000)),
            ("Please try again in 1.5s. Visit …", Some(1_500)),
            ("please try again in 120ms.", Some(120)),
            ("Try again in 6m0.5s", Some(360_500)),
            ("Please retry after 20 seconds.", Some(20_000)),
            ("Please retry in 21.25s.", Some(21_250)),
            ("You must wait 3 before", Some(3_000)),
            ("wait for it", None),
            ("too many requests", None),
        ] {
            let response = Response {
                status: 429,
                body: serde_json::json!({"error": {"message": message}})
                    .to_string()
                    .into_bytes(),
                ..Response::default()
            };
            assert_eq!(millis(&response), expected, "{message}");
        }
    }

    #[test]
    fn google_says_it_in_the_details() {
        let body = r#"[{"error": {"code": 429, "message": "quota", "details": [{"@type": "x"}, {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "21s"}]}}]"#;
        let response = Response {
            body: body.into(),
            ..Response::default()
        };
        assert_eq!(millis(&response), Some(21_000));
    }

    #[test]
    fn a_limit_that_is_used_up_says_when_it_is_renewed() {
        let limits = |pairs: &[(&str, &str)]| Response {
            limits: pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            date: Some("Sun, 06 Nov 1994 08:49:37 GMT".to_owned()),
            ..Response::default()
        };
        let openai = [
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ];
        assert_eq!(millis(&limits(&openai)), Some(360_000));
        assert_eq!(millis(&limits(&openai[..2])), Some(1_000));
        let left = [
            ("x-ratelimit-remaining-requests", "3"),
            ("x-ratelimit-reset-requests", "1s"),
        ];
        assert_eq!(millis(&limits(&left)), None);
        let anthropic = [
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("anthropic-ratelimit-requests-reset", "1994-11-06T08:50:07Z"),
        ];
        assert_eq!(millis(&limits(&anthropic)), Some(30_000));
        // OpenRouter, GitHub: a point in time.
        for reset in ["1741305600000", "1741305600"] {
            let mut response =
                limits(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", reset)]);
            response.date = Some("Thu, 06 Mar 2025 23:59:30 GMT".to_owned());
            assert_eq!(millis(&response), Some(30_000), "{reset}");
        }
    }

    #[test]
    fn no_wait_is_longer_than_a_day() {
        let asks = |retry_after: &str| Response {
            retry_after: Some(retry_after.to_owned()),
            date: Some("Sun, 06 Nov 1994 08:49:37 GMT".to_owned()),
            ..Response::default()
        };
        assert_eq!(millis(&asks("7")), Some(7_000));
        for text in ["100000", "10000000000000", "Fri, 06 Nov 2099 08:49:37 GMT"] {
            assert_eq!(millis(&asks(text)), Some(86_400_000), "{text}");
        }
        // No clock can represent such a time, and its meaning is unknown.
        assert_eq!(millis(&asks("10000000000000000000")), None);
        let sentence = Response {
            body: br#"{"error":{"message":"wait 99999999999999999999 s"}}"#.to_vec(),
            ..Response::default()
        };
        assert_eq!(millis(&sentence), Some(86_400_000));
    }
}
