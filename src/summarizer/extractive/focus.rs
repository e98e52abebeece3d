//! The instructions for a summary, as words to look for. They influence the choice, and never appear in a summary.

/// Words that make a statement worth more.
#[derive(Debug, Default)]
pub(super) struct Focus {
    words: Vec<String>,
}

impl Focus {
    /// The words of `instructions`: those of four letters or more, and pairs of characters in scripts without blanks.
    pub(super) fn of(instructions: &str) -> Focus {
        let lower = instructions.to_lowercase();
        let mut words: Vec<String> = Vec::new();
        for word in lower.split(|c: char| !c.is_alphanumeric() && c != '_') {
            let letters: Vec<char> = word.chars().collect();
            if letters.iter().any(|c| *c >= '\u{2e80}') {
                words.extend(
                    letters
                        .windows(2)
                        .map(|pair| pair.iter().collect::<String>()),
                );
            } else if letters.len() >= 4 {
                words.push(word.to_owned());
            }
        }
        words.sort_unstable();
        words.dedup();
        Focus { words }
    }

    /// The value of a text for the words that it contains.
    pub(super) fn worth(&self, text: &str) -> f64 {
        if self.words.is_empty() {
            return 0.0;
        }
        let lower = text.to_lowercase();
        let held = self.words.iter().filter(|word| lower.contains(*word));
        // The first word counts most, each further one less.
        let held = held.count() as f64;
        3.0 * held / (held + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_any_script_are_looked_for() {
        let focus = Focus::of("Keep the Parser, und 解析器");
        assert_eq!(focus.words, ["keep", "parser", "析器", "解析"]);
        assert_eq!(focus.worth("the PARSER"), 1.5);
        assert_eq!(focus.worth("修复解析器"), 2.0);
        assert_eq!(focus.worth("the"), 0.0);
        assert_eq!(Focus::of("").worth("keep"), 0.0);
    }
}
