//! Limits on figures, like `<= 9000` or `>= 50%`.
//!
//! Does not know which figures exist.

use std::fmt;

/// A limit on a figure.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limit {
    relation: Relation,
    number: f64,
    /// What the number counts.
    pub(super) unit: Unit,
    /// The limit as it was written.
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    AtMost,
    AtLeast,
    Below,
    Above,
    Equal,
}

/// What the number of a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Things, such as tokens.
    One,
    /// Hundredths of a whole.
    Percent,
}

impl Limit {
    /// Parses `text`: a number, optionally preceded by `<=`, `<`, `>=`, `>` or `=`, and optionally followed by `k` or `%`.
    pub(super) fn parse(text: &str) -> Option<Limit> {
        let relations = [
            ("<=", Relation::AtMost),
            (">=", Relation::AtLeast),
            ("<", Relation::Below),
            (">", Relation::Above),
            ("==", Relation::Equal),
            ("=", Relation::Equal),
            ("", Relation::Equal),
        ];
        let (relation, rest) = relations.into_iter().find_map(|(sign, relation)| {
            let rest = text.trim().strip_prefix(sign)?;
            Some((relation, rest.trim()))
        })?;
        let (digits, factor, unit) = match (rest.strip_suffix('%'), rest.strip_suffix(['k', 'K'])) {
            (Some(digits), _) => (digits, 1.0, Unit::Percent),
            (None, Some(digits)) => (digits, 1000.0, Unit::One),
            (None, None) => (rest, 1.0, Unit::One),
        };
        let digits = digits.trim().replace('_', "");
        // The parser also accepts `inf` and `nan` as numbers.
        let is_number = digits.starts_with(|c: char| c.is_ascii_digit());
        let number: f64 = digits.parse().ok().filter(|_| is_number)?;
        Some(Limit {
            relation,
            number: number * factor,
            unit,
            text: text.trim().to_owned(),
        })
    }

    /// The same, but a text without a sign is not a limit.
    pub(super) fn signed(text: &str) -> Option<Limit> {
        let is_signed = text.trim_start().starts_with(['<', '>', '=']);
        Limit::parse(text).filter(|limit| is_signed && limit.unit == Unit::One)
    }

    /// The number alone, if it is above `least` and not above `most`, and written without a sign.
    pub(super) fn within(&self, least: f64, most: f64) -> Option<f64> {
        let is_within = self.number > least && self.number <= most;
        (self.relation == Relation::Equal && is_within).then_some(self.number)
    }

    /// Whether it can be a limit on a percentage of a whole; no limit is below 0.
    pub(super) fn is_share(&self) -> bool {
        self.number <= 100.0
    }

    /// Whether `value` satisfies the limit.
    pub(super) fn holds(&self, value: f64) -> bool {
        match self.relation {
            Relation::AtMost => value <= self.number,
            Relation::AtLeast => value >= self.number,
            Relation::Below => value < self.number,
            Relation::Above => value > self.number,
            Relation::Equal => value == self.number,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_sign_and_a_number() {
        for (text, fits, does_not) in [
            ("<= 9000", 9000.0, 9001.0),
            ("<9k", 8999.0, 9000.0),
            (">= 50%", 50.0, 49.9),
            ("> 1_000", 1001.0, 1000.0),
            ("= 3", 3.0, 4.0),
            ("3", 3.0, 2.0),
        ] {
            let limit = Limit::parse(text).unwrap();
            assert!(limit.holds(fits) && !limit.holds(does_not), "{text}");
        }
        for text in [
            "", "<=", "many", "<= -1", "nan", "> inf", "1 2", "=> 3", "%",
        ] {
            assert_eq!(Limit::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_text_of_a_report_is_no_limit() {
        assert!(Limit::signed("<= 3").is_some());
        assert_eq!(Limit::signed("3"), None);
        assert_eq!(Limit::signed("<= 3%"), None);
        assert_eq!(Limit::signed("<= three"), None);
    }
}
