//! What a sentence does: it decides something or gives a reason, leaves something open, refuses, corrects, or takes back.
//!
//! Decides by structure if there is any (a checkbox, a label with a colon, a leading verb), otherwise by whole phrases in ten
//! languages (`phrases/`). A question does none of these. Does not understand meaning: an ambiguous phrase is left out, because a
//! wrong decision is worse than a missed one. Never looks at other sentences.
//!
//! Evaluated on a test set written before the phrase lists (`sentences/`).

mod rules;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::LazyLock;

use rules::Rules;

/// What a sentence may do.
struct Stances {
    decides: Rules,
    leaves_open: Rules,
    refuses: Rules,
    corrects: Rules,
    takes_back: Rules,
}

static STANCES: LazyLock<Stances> = LazyLock::new(|| Stances {
    decides: Rules::of(include_str!("phrases/decides.txt")),
    leaves_open: Rules::of(include_str!("phrases/open.txt")),
    refuses: Rules::of(include_str!("phrases/refuses.txt")),
    corrects: Rules::of(include_str!("phrases/corrects.txt")),
    takes_back: Rules::of(include_str!("phrases/takes_back.txt")),
});

/// Whether a sentence states a decision or a reason.
pub fn decides(sentence: &str) -> bool {
    let sentence = plain(sentence);
    !is_question(&sentence) && STANCES.decides.hold(&sentence)
}

/// Whether a sentence or a list item says that something is still to be done.
pub fn leaves_open(sentence: &str) -> bool {
    if let Some(Item { state, .. }) = item(sentence) {
        return state == ItemState::Open;
    }
    let sentence = plain(sentence);
    !is_question(&sentence) && STANCES.leaves_open.hold(&sentence)
}

/// Whether a sentence does one of both: [`decides`] or [`leaves_open`].
pub fn decides_or_leaves_open(sentence: &str) -> bool {
    let text = plain(sentence);
    let is_question = is_question(&text);
    if !is_question && STANCES.decides.hold(&text) {
        return true;
    }
    match item(sentence) {
        Some(Item { state, .. }) => state == ItemState::Open,
        None => !is_question && STANCES.leaves_open.hold(&text),
    }
}

/// Whether a person forbids something or says no.
pub fn refuses(sentence: &str) -> bool {
    let sentence = plain(sentence);
    if is_question(&sentence) {
        return false;
    }
    let [excluded, found] = STANCES.refuses.found(&sentence);
    !excluded && (found || forbids(rules::opened(&sentence)))
}

/// Whether a person says that something was not meant that way.
pub fn corrects(sentence: &str) -> bool {
    let sentence = plain(sentence);
    !is_question(&sentence) && STANCES.corrects.hold(&sentence)
}

/// Whether a sentence says that the one before it does not hold.
pub fn takes_back(sentence: &str) -> bool {
    STANCES.takes_back.hold(&plain(sentence))
}

/// A list item with a checkbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Item<'t> {
    /// Whether the box is empty.
    pub(super) state: ItemState,
    /// What follows the box.
    pub(super) text: &'t str,
}

/// The box of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemState {
    /// Empty.
    Open,
    /// Ticked.
    Done,
}

/// The list item on a line, if it has a checkbox: `- [ ] this`, `3. [x] that`.
pub(super) fn item(line: &str) -> Option<Item<'_>> {
    let line = line.trim_start();
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = match digits.len() < line.len() {
        true => digits.strip_prefix(['.', ')'])?,
        false => line.strip_prefix(['-', '*', '+', '•']).unwrap_or(line),
    };
    let rest = rest.trim_start();
    let boxes = [
        ("[ ]", ItemState::Open),
        ("[]", ItemState::Open),
        ("☐", ItemState::Open),
        ("[x]", ItemState::Done),
        ("[X]", ItemState::Done),
        ("☑", ItemState::Done),
        ("☒", ItemState::Done),
    ];
    let (text, state) = boxes.into_iter().find_map(|(empty, state)| {
        let text = rest.strip_prefix(empty)?;
        // `[x](address)` is a link.
        text.starts_with(char::is_whitespace)
            .then(|| (text.trim(), state))
    })?;
    (!text.is_empty()).then_some(Item { state, text })
}

/// The sentence in lower case, with uniform apostrophes and colons.
fn plain(sentence: &str) -> Cow<'_, str> {
    let sentence = sentence.trim();
    // Most sentences are ASCII, which has one apostrophe and one colon.
    if sentence.is_ascii() && !sentence.contains(" :") {
        return match sentence.bytes().any(|b| b.is_ascii_uppercase()) {
            true => Cow::Owned(sentence.to_ascii_lowercase()),
            false => Cow::Borrowed(sentence),
        };
    }
    let lower = sentence.to_lowercase();
    let is_uniform = !lower.chars().any(|c| matches!(c, '’' | '：' | ':' | '，'));
    if is_uniform {
        return Cow::Owned(lower);
    }
    let mut text = String::with_capacity(lower.len());
    for c in lower.chars() {
        match c {
            '’' => text.push('\''),
            '：' | ':' => {
                text.truncate(text.trim_end_matches([' ', '\u{a0}', '\u{202f}']).len());
                text.push(':');
            }
            '，' => text.push_str(", "),
            c => text.push(c),
        }
    }
    Cow::Owned(text)
}

/// Whether a sentence in plain form asks something.
fn is_question(sentence: &str) -> bool {
    const CLOSING: [char; 8] = ['"', '\'', ')', '»', '”', '」', '*', ' '];
    const ENDS: [&str; 8] = [
        "吗",
        "吗。",
        "ですか",
        "ですか。",
        "ますか",
        "ますか。",
        "나요",
        "까요",
    ];
    let end = sentence.trim_end_matches(CLOSING);
    end.ends_with(['?', '？'])
        || sentence.starts_with('¿')
        || ENDS.iter().any(|of| end.ends_with(of))
}

/// Whether a sentence begins with a negative imperative, in languages where the verb ending shows it: Spanish, Russian.
fn forbids(sentence: &str) -> bool {
    let mut words = sentence
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let (first, mut second) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    match first {
        "no" | "nunca" => {
            const PRONOUNS: [&str; 8] = ["lo", "la", "los", "las", "le", "les", "me", "nos"];
            // Statements, not orders.
            const STATED: [&str; 24] = [
                "tienes",
                "puedes",
                "sabes",
                "eres",
                "quieres",
                "crees",
                "ves",
                "haces",
                "entiendes",
                "recuerdas",
                "necesitas",
                "debes",
                "usas",
                "has",
                "vas",
                "piensas",
                "dices",
                "es",
                "además",
                "tests",
                "más",
                "antes",
                "errores",
                "problemas",
            ];
            // English plurals have the same ending.
            const SPANISH: [&str; 22] = [
                "el", "la", "los", "las", "un", "una", "de", "del", "al", "en", "que", "por",
                "con", "sin", "lo", "esto", "eso", "este", "esta", "ese", "todavía", "nada",
            ];
            if PRONOUNS.contains(&second) {
                second = words.next().unwrap_or_default();
            }
            let is_order = second.ends_with("es") || second.ends_with("as");
            let mut others = words.chain([first]);
            is_order
                && second.len() > 3
                && !STATED.contains(&second)
                && others.any(|word| SPANISH.contains(&word) || word == "nunca")
        }
        "не" | "никогда" => {
            if second == "не" {
                second = words.next().unwrap_or_default();
            }
            const ORDERS: [&str; 8] = ["ай", "яй", "уй", "юй", "айте", "яйте", "уйте", "ите"];
            ORDERS.iter().any(|end| second.ends_with(end)) && second.chars().count() > 3
        }
        _ => false,
    }
}
