//! Conversations of any length, as each agent writes them, with known typed messages.
//!
//! Texts are parts of two long texts that are generated once, so that a conversation of a million characters costs little.

use std::sync::LazyLock;

use ctxpack::format::Format;
use ctxpack::transcript::Outcome;

use super::super::dialect::Script;
use super::super::tape::Tape;

/// A conversation.
#[derive(Debug)]
pub(super) struct Chat {
    pub(super) format: Format,
    /// The system message, where the format has one.
    pub(super) system: String,
    /// The typed messages, in order, each with what followed.
    pub(super) turns: Vec<Turn>,
}

/// What the user typed, and what the agent did then.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) typed: String,
    /// The results of calls.
    outputs: Vec<String>,
    /// The agent's final answer; `None` where it has not answered yet.
    answer: Option<String>,
}

/// A conversation as a file.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) bytes: Vec<u8>,
    /// The line (from 1) of each typed message.
    pub(super) typed: Vec<u64>,
    /// The line of each message that is not a system message.
    pub(super) messages: Vec<u64>,
}

/// Words as agents, people and logs write them, on one line.
static PLAIN: LazyLock<String> = LazyLock::new(|| {
    const WORDS: [&str; 24] = [
        "the",
        "gauge",
        "at",
        "alder-quay",
        "lags",
        "by",
        "an",
        "hour",
        "so",
        "look",
        "into",
        "src/tide.rs",
        "and",
        "keep",
        "what",
        "was",
        "measured",
        "before",
        "March;",
        "see",
        "tests/lag_test.py",
        "line",
        "or",
        "ask",
    ];
    many(&WORDS, " ", 48_000)
});

/// Letters of three bytes, each about a token.
static WIDE: LazyLock<String> = LazyLock::new(|| {
    many(
        &["水位", "站", "延迟", "一小时", "请", "检查", "日志"],
        "",
        48_000,
    )
});

fn many(words: &[&str], between: &str, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 32);
    let mut seed = 7_u64;
    while text.len() < bytes {
        text.push_str(words[dice(&mut seed, words.len())]);
        text.push_str(between);
    }
    text
}

/// A number below `n`.
fn dice(seed: &mut u64, n: usize) -> usize {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    ((*seed >> 33) as usize) % n.max(1)
}

fn within((least, end): (usize, usize), seed: &mut u64) -> usize {
    least + dice(seed, end - least)
}

/// A text of about this number of tokens.
fn plain(tokens: usize, seed: &mut u64) -> &'static str {
    let length = (tokens * 4).min(PLAIN.len() / 2);
    let from = dice(seed, PLAIN.len() - length);
    &PLAIN[from..from + length]
}

fn wide(tokens: usize, seed: &mut u64) -> &'static str {
    let length = tokens.min(WIDE.len() / 6);
    let from = dice(seed, WIDE.len() / 3 - length);
    &WIDE[from * 3..(from + length) * 3]
}

impl Chat {
    pub(super) fn of(tape: &mut Tape) -> Chat {
        let format = tape.pick(&crate::invariants::formats::of_lines());
        let mut seed = tape.below(1 << 16) as u64;
        // Most are small, and the smallest and largest ones occur.
        let system = tape.pick(&[0, 0, 10, 200, 200, 3_000, 9_900, 30_000, 100_000]);
        let count = match tape.below(40) {
            0..20 => 1 + tape.below(8),
            20..34 => 5 + tape.below(40),
            34..39 => 40 + tape.below(120),
            _ => tape.between(200, 500),
        };
        let sizes = match count {
            ..9 => tape.pick(&[
                (10, 60),
                (10, 600),
                (10, 60),
                (1_000, 5_000),
                (1_900, 2_100),
            ]),
            9..45 => tape.pick(&[(10, 60), (10, 400), (10, 60), (10, 1_500), (1_000, 5_000)]),
            _ => tape.pick(&[(10, 60), (10, 60), (10, 60), (10, 300)]),
        };
        let outputs = match count {
            ..9 => tape.pick(&[(0, 2), (0, 6), (0, 40), (3, 4)]),
            _ => tape.pick(&[(0, 1), (0, 2), (0, 6)]),
        };
        let size_of_output = tape.pick(&[(1, 40), (1, 400), (200, 2_000), (1, 40)]);
        let is_answered = !tape.one_in(3);
        let mut turns: Vec<Turn> = Vec::with_capacity(count);
        for number in 1..=count {
            let size = within(sizes, &mut seed);
            let more = within(outputs, &mut seed);
            let more = (0..more).map(|n| {
                let size = within(size_of_output, &mut seed);
                format!("output {number}.{n}: {}", plain(size, &mut seed))
            });
            let outputs = more.collect();
            let answer = format!(
                "Done {number}: {}",
                plain(within((5, 80), &mut seed), &mut seed)
            );
            turns.push(Turn {
                typed: typed(number, size, &mut seed),
                outputs,
                answer: Some(answer),
            });
        }
        if let Some(last) = turns.last_mut().filter(|_| !is_answered) {
            last.answer = None;
            if dice(&mut seed, 2) == 0 {
                last.outputs.clear();
            }
        }
        let system = (0..system / 4_000 + 1)
            .map(|n| plain((system - n * 4_000).min(4_000), &mut seed))
            .collect();
        Chat {
            format,
            system,
            turns,
        }
    }

    /// The conversation as its agent writes it.
    pub(super) fn written(&self) -> Written {
        let mut script = Script::new(self.format);
        if !self.system.trim().is_empty() {
            script.system(&self.system);
        }
        let mut written = Written {
            bytes: Vec::new(),
            typed: Vec::new(),
            messages: Vec::new(),
        };
        for turn in &self.turns {
            let user = script.user(&turn.typed);
            written.typed.push(user);
            written.messages.push(user);
            for (n, output) in turn.outputs.iter().enumerate() {
                let call = script.dialect.shell(&format!("look {user} {n}"));
                written
                    .messages
                    .extend(script.call(call, output, Outcome::Fine));
            }
            if let Some(answer) = &turn.answer {
                written.messages.push(script.answer(answer));
            }
        }
        written.bytes = script.bytes;
        written
    }
}

/// A message of about this number of tokens: plain words, lines, text that looks like a part of a summary, other scripts.
fn typed(number: usize, tokens: usize, seed: &mut u64) -> String {
    let text = match dice(seed, 8) {
        0 => wide(tokens, seed).to_owned(),
        1 => plain(tokens, seed).replace(" so ", "\n\n  "),
        2 => format!("~~~\n{}\n~~~", plain(tokens, seed)),
        3 => format!("see\n## Files\nL1 read: a.rs\n{}", plain(tokens, seed)),
        4 => format!("{{\"a\": \"{}\\n\"}}", plain(tokens, seed)),
        _ => plain(tokens, seed).to_owned(),
    };
    let blank = ["", "", "", " ", "\n"][dice(seed, 5)];
    format!("Request {number}: {text} (end of request {number}){blank}")
}
