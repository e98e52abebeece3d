//! Which sessions are measured, and where they are cut.
//!
//! Never reads a session. PURE.

/// Which sessions are measured, and where they are cut.
#[derive(Debug, Clone, PartialEq)]
pub struct Cutting {
    /// Where to cut a session, in percent of its tokens.
    pub cuts: Vec<f64>,
    /// Sessions with fewer tokens are left out.
    pub min_tokens: u64,
    /// If more than 0: the number of equidistant places at which a session is cut and compacted in turn.
    pub rounds: u32,
}

impl Cutting {
    /// All sessions, cut at these places.
    pub fn at(cuts: &[f64]) -> Cutting {
        Cutting {
            cuts: cuts.to_vec(),
            min_tokens: 0,
            rounds: 0,
        }
    }

    /// Where a session is cut, in percent of its tokens.
    pub(super) fn percents(&self) -> Vec<f64> {
        match self.rounds {
            0 => self.cuts.clone(),
            rounds => {
                let parts = f64::from(rounds) + 1.0;
                (1..=rounds).map(|n| f64::from(n) * 100.0 / parts).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_at_equal_distances() {
        let cuts = Cutting::at(&[80.0, 35.0]);
        assert_eq!(cuts.percents(), [80.0, 35.0]);
        let rounds = Cutting { rounds: 3, ..cuts };
        assert_eq!(rounds.percents(), [25.0, 50.0, 75.0]);
    }
}
