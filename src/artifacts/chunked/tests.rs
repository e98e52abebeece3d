use std::cell::RefCell;
use std::collections::BTreeSet;

use super::*;
use crate::artifacts::Excess;
use crate::policy::{Policy, preset};

/// How a server handles a prompt that is longer than its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Habit {
    SaysFigures,
    SaysTooLong,
    Cuts,
    /// It has no window, and counts few tokens.
    CountsHalf,
}

/// A server with a window, in tokens of four bytes, that writes down the files mentioned in what it reads.
struct Model {
    window: usize,
    habit: Habit,
    requests: RefCell<Vec<PartRequest>>,
}

impl Model {
    fn reply(&self, asked: &PartRequest) -> ModelReply {
        self.requests.borrow_mut().push(asked.clone());
        let text = asked.rounds.concat();
        let tokens = (asked.prompt.len() + text.len()) / 4;
        let is_long = tokens + asked.max_tokens as usize > self.window;
        let excess = Excess {
            prompt: tokens as u64,
            limit: self.window as u64,
        };
        let why = || "too long".to_owned();
        let (text, counted) = match (self.habit, is_long) {
            (Habit::SaysFigures, true) => (Err((why(), Some(excess))), 0),
            (Habit::SaysTooLong, true) => (Err((why(), None)), 0),
            (Habit::Cuts, true) => {
                let end = text.len() - self.window * 3;
                (Ok(&text[end..]), self.window)
            }
            (Habit::CountsHalf, _) => (Ok(&text[..]), tokens / 2),
            (_, false) => (Ok(&text[..]), tokens),
        };
        ModelReply {
            text: match text {
                Ok(read) => Ok(format!("These were read: {}", files(read).join(", "))),
                Err((why, excess)) => Err(ModelError::TooLong { why, excess }),
            },
            attempts: 1,
            model: None,
            spent: Spent::default(),
            unread: 0,
            ending: Ending::Whole,
            left_out: BTreeSet::new(),
            counted: counted as u64,
        }
    }

    fn read(&self, policy: &Policy, rounds: &[String]) -> SummaryReply {
        read(policy, rounds, &|asked| self.reply(asked))
    }
}

/// A conversation read by a server that replies like this.
fn read(
    policy: &Policy,
    rounds: &[String],
    reply: &dyn Fn(&PartRequest) -> ModelReply,
) -> SummaryReply {
    let estimator = Estimator::new(&policy.tokens).unwrap();
    let given = Given::new(rounds);
    let reader = PartReader {
        summary: &policy.summary,
        window: policy.summary.window,
        estimator: &estimator,
        size: 4_000,
        prompt: &|size| format!("In {size} tokens."),
        given: &given,
        ask: &|asked, _| reply(asked),
    };
    reader.read(rounds.to_vec())
}

/// The files that a text names.
fn files(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '.');
    let words = words.map(|word| word.trim_matches('.'));
    let files: BTreeSet<&str> = words.filter(|word| word.ends_with(".rs")).collect();
    files.into_iter().collect()
}

fn rounds(count: usize) -> Vec<String> {
    let round = |n| {
        let words = "The parser was read once more, and its next test fails. ".repeat(40);
        format!("[assistant]\nNow f{n}.rs. {words}\n\n")
    };
    (0..count).map(round).collect()
}

#[test]
fn every_round_is_told_however_long_the_conversation_and_whatever_the_server_says() {
    let rounds = rounds(200);
    let all = rounds.concat().len() / 4;
    for times in [2, 5, 20] {
        for habit in [Habit::SaysFigures, Habit::SaysTooLong, Habit::Cuts] {
            let model = Model {
                window: all / times,
                habit,
                requests: RefCell::default(),
            };
            let read = model.read(&preset("auto").unwrap(), &rounds);
            let what = format!("{times} times, {habit:?}");
            let text = read.reply.text.clone().unwrap();
            assert_eq!(files(&text).len(), 200, "{what}");
            let told = read.reading.rounds;
            assert_eq!(
                (told.all, told.read, told.shortened),
                (200, 200, 0),
                "{what}"
            );
            let cut = match habit {
                Habit::Cuts => PromptCut::InSilence,
                _ => PromptCut::Never,
            };
            assert_eq!(read.reading.cut, cut, "{what}");
            let requests = model.requests.borrow();
            assert_eq!(read.reply.attempts as usize, requests.len());
            assert!(
                requests.len() * 2 <= told.parts as usize * 3,
                "{what}: {} requests, {} parts",
                requests.len(),
                told.parts
            );
            // What has been sent already is not sent again.
            let whole_requests = requests.iter().filter(|a| a.rounds.len() == 200).count();
            assert_eq!(whole_requests, 1, "{what}");
        }
    }
}

#[test]
fn a_window_that_is_known_costs_no_refused_request() {
    let rounds = rounds(60);
    let model = Model {
        window: 5_000,
        habit: Habit::SaysFigures,
        requests: RefCell::default(),
    };
    let mut policy = preset("auto").unwrap();
    policy.summary.window = 4_000;
    let read = model.read(&policy, &rounds);
    assert_eq!(files(&read.reply.text.unwrap()).len(), 60);
    // This many parts need a request that merges.
    let parts = read.reading.rounds.parts as usize;
    assert_eq!(model.requests.borrow().len(), parts + 1);
    // A window that is large enough changes nothing.
    policy.summary.window = 1_000_000;
    let model = Model {
        window: 1_000_000,
        ..model
    };
    model.requests.borrow_mut().clear();
    let read = model.read(&policy, &rounds);
    assert_eq!((read.reply.attempts, read.reading.rounds.parts), (1, 1));
    assert_eq!(model.requests.borrow()[0].max_tokens, 4_800);
}

#[test]
fn the_last_of_a_few_parts_is_sent_with_the_summaries_of_the_others() {
    let rounds = rounds(60);
    let model = Model {
        window: 20_000,
        habit: Habit::SaysFigures,
        requests: RefCell::default(),
    };
    let mut policy = preset("auto").unwrap();
    policy.summary.window = 20_000;
    let read = model.read(&policy, &rounds);
    assert_eq!(files(&read.reply.text.unwrap()).len(), 60);
    let requests = model.requests.borrow();
    assert_eq!((requests.len(), read.reading.rounds.parts), (3, 3));
    assert!(
        requests[2]
            .prompt
            .contains("ends with the last part in full")
    );
    let text = requests[2].rounds.concat();
    assert!(text.starts_with("[part 1]\nThese were read: f0.rs"));
    assert!(
        text.contains("\n\n[part 2]\n") && text.contains("\n\n[part 3, in full]\n[assistant]\n")
    );
}

#[test]
fn parts_that_are_answered_later_are_asked_for_together_and_are_the_same_then() {
    let rounds = rounds(60);
    for window in [20_000, 5_000] {
        let model = Model {
            window: window as usize,
            habit: Habit::SaysFigures,
            requests: RefCell::default(),
        };
        let mut policy = preset("auto").unwrap();
        policy.summary.window = window;
        let at_once = model.read(&policy, &rounds);
        let asked: Vec<String> = model
            .requests
            .take()
            .iter()
            .map(|a| a.rounds.concat())
            .collect();
        // Each run gets answers to what an earlier run requested.
        let known: RefCell<BTreeSet<String>> = RefCell::default();
        let mut all = Vec::new();
        let later = loop {
            let answered = known.borrow().clone();
            let read = read(&policy, &rounds, &|asked| {
                let text = asked.rounds.concat();
                let reply = model.reply(asked);
                if answered.contains(&text) {
                    return reply;
                }
                known.borrow_mut().insert(text);
                ModelReply {
                    text: Err(ModelError::Waiting("a batch".to_owned())),
                    ..reply
                }
            });
            let new = known.borrow().len() - answered.len();
            all.push(new);
            if new == 0 {
                break read;
            }
        };
        assert_eq!(later.reply.text, at_once.reply.text);
        assert_eq!(known.borrow().len(), asked.len(), "{window}");
        // All parts at once, then the one that needs them, then nothing.
        assert_eq!(all, [asked.len() - 1, 1, 0], "{window}");
    }
}

#[test]
fn a_round_that_is_longer_than_the_window_is_shortened() {
    let mut rounds = rounds(3);
    let output = "0123456789 abc\n".repeat(4_000);
    rounds.insert(
        1,
        format!("[assistant]\nSee long.rs.\n\n[result Bash]\n{output}last.rs\n\n"),
    );
    let model = Model {
        window: 4_000,
        habit: Habit::SaysFigures,
        requests: RefCell::default(),
    };
    let read = model.read(&preset("auto").unwrap(), &rounds);
    let text = read.reply.text.unwrap();
    assert_eq!(
        files(&text),
        ["f0.rs", "f1.rs", "f2.rs", "last.rs", "long.rs"]
    );
    let told = read.reading.rounds;
    assert_eq!((told.read, told.shortened), (4, 1));
}

#[test]
fn a_server_that_counts_fewer_tokens_for_everything_has_cut_nothing() {
    let rounds = rounds(60);
    let model = Model {
        window: 0,
        habit: Habit::CountsHalf,
        requests: RefCell::default(),
    };
    let read = model.read(&preset("auto").unwrap(), &rounds);
    assert_eq!(files(&read.reply.text.unwrap()).len(), 60);
    assert_eq!(read.reading.cut, PromptCut::Never);
    assert_eq!((read.reading.rounds.parts, read.reply.attempts), (1, 2));
}

#[test]
fn a_policy_that_asks_once_asks_once() {
    let rounds = rounds(60);
    for (habit, cut) in [
        (Habit::SaysFigures, PromptCut::Never),
        (Habit::Cuts, PromptCut::InSilence),
    ] {
        let model = Model {
            window: 5_000,
            habit,
            requests: RefCell::default(),
        };
        let read = model.read(&preset("boundary").unwrap(), &rounds);
        assert_eq!(model.requests.borrow().len(), 1);
        assert_eq!(read.reply.text.is_ok(), habit == Habit::Cuts);
        assert_eq!(read.reading.cut, cut);
    }
}

#[test]
fn a_window_that_holds_no_part_is_a_failure_that_says_so() {
    let mut policy = preset("auto").unwrap();
    policy.summary.window = 200;
    let model = Model {
        window: 200,
        habit: Habit::SaysTooLong,
        requests: RefCell::default(),
    };
    let read = model.read(&policy, &rounds(60));
    let Err(ModelError::Failed(why)) = read.reply.text else {
        panic!("{:?}", read.reply.text);
    };
    assert!(
        why.starts_with("the model's context window (about 200 tokens) is too small"),
        "{why}"
    );
    assert_eq!(model.requests.borrow().len(), 0);
}

#[test]
fn an_answer_to_a_part_that_is_no_summary_is_asked_for_once_more() {
    let rounds = rounds(60);
    let mut policy = preset("auto").unwrap();
    policy.summary.window = 4_000;
    for (refusals, is_summary) in [(1, true), (2, false)] {
        let model = Model {
            window: 5_000,
            habit: Habit::SaysFigures,
            requests: RefCell::default(),
        };
        let read = read(&policy, &rounds, &|asked| {
            let reply = model.reply(asked);
            let is_refused = model.requests.borrow().len() <= refusals;
            let text = match is_refused {
                true => Ok("I cannot help with that.".to_owned()),
                false => reply.text,
            };
            ModelReply { text, ..reply }
        });
        assert_eq!(read.reply.text.is_ok(), is_summary);
        if !is_summary {
            let why = "the answer to a part of the conversation refuses to summarise".to_owned();
            assert_eq!(read.reply.text, Err(ModelError::Failed(why)));
            assert_eq!(read.reading.rounds.read, 0);
        }
    }
}
