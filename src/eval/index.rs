//! An index of a session: the names in each event, and where each name and each sequence of three words first occurs.

use super::background_ends::settled;
use super::call::End;
use super::events::{Event, EventKind};
use super::names::{Folders, names};
use super::sought::PatternSet;
use crate::ids::{IdMap, IdSet};

/// An index of a session.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) events: Vec<Event>,
    pub(super) folders: Folders,
    /// For each event that is a call, the event of its first result and how the call ended.
    ends: Vec<Option<(usize, End)>>,
    /// The same for a command that was still running then.
    settled: Vec<Option<(usize, End)>>,
    numbers: IdMap<String, u32>,
    /// The event in which each name first occurs.
    first: Vec<usize>,
    /// The names that each event refers to, and the names in the body that it writes.
    named: Vec<[Vec<u32>; 2]>,
    /// The event in which each sequence of three words first occurs.
    runs: IdMap<u64, usize>,
    /// The concatenated text of all events, and where each begins.
    all: String,
    begins: Vec<usize>,
}

/// What a text contains of the part before a cut.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// The names from before the cut.
    pub(super) names: IdSet<u32>,
    /// The names among them that are within three consecutive words from before the cut.
    pub(super) grounded: IdSet<u32>,
    /// Names that did not occur before the cut, each once, in text order.
    pub(super) invented: Vec<String>,
}

impl Index {
    pub(super) fn new(events: Vec<Event>, folders: Folders) -> Index {
        let mut index = Index {
            ends: vec![None; events.len()],
            settled: settled(&events),
            events: Vec::new(),
            folders,
            numbers: IdMap::default(),
            first: Vec::new(),
            named: Vec::new(),
            runs: IdMap::default(),
            all: String::new(),
            begins: Vec::new(),
        };
        for (number, event) in events.iter().enumerate() {
            index.begins.push(index.all.len());
            match &event.what {
                EventKind::Call { tool, .. } => {
                    index.all.push_str(tool);
                    index.all.push('\n');
                }
                EventKind::Result {
                    of: Some(call),
                    end,
                } => {
                    index.ends[*call].get_or_insert((number, *end));
                }
                EventKind::Result { of: None, .. }
                | EventKind::User
                | EventKind::Agent
                | EventKind::Notice => {}
            }
            for text in [&event.text, &event.body] {
                index.all.push_str(text);
                index.all.push('\n');
                words(text, |run, _| {
                    index.runs.entry(run).or_insert(number);
                });
            }
            let named = [&event.text, &event.body].map(|text| index.number_all(text, number));
            index.named.push(named);
        }
        index.begins.push(index.all.len());
        index.events = events;
        index
    }

    /// The numbers of a text's names, each once.
    fn number_all(&mut self, text: &str, event: usize) -> Vec<u32> {
        let mut all = Vec::new();
        let Index {
            folders,
            numbers,
            first,
            ..
        } = self;
        names(text, folders, &mut |name| {
            let number = match numbers.get(name) {
                Some(number) => *number,
                None => {
                    let number = first.len() as u32;
                    numbers.insert(name.to_owned(), number);
                    first.push(event);
                    number
                }
            };
            all.push(number);
        });
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The first event of a message or a later one.
    pub(super) fn event_of(&self, message: usize) -> usize {
        self.events.partition_point(|event| event.message < message)
    }

    /// How the call at this event index ended, if it was answered before the event `cut`.
    pub(super) fn end_of(&self, call: usize, cut: usize) -> Option<End> {
        let is_before = |(result, _): &(usize, End)| *result < cut;
        let end = self.settled[call].filter(is_before);
        let end = end.or_else(|| self.ends[call].filter(is_before));
        end.map(|(_, end)| end)
    }

    /// The result text of the call at this event index, if it was answered before the event `cut`.
    pub(super) fn answer_to(&self, call: usize, cut: usize) -> Option<&str> {
        let (result, _) = self.ends[call].filter(|(result, _)| *result < cut)?;
        Some(&self.events[result].text)
    }

    /// The text before an event.
    pub(super) fn before(&self, event: usize) -> &str {
        &self.all[..self.begins[event]]
    }

    /// The names from before the event `cut` that are used after it before they are shown again.
    pub(super) fn needed(&self, cut: usize) -> Vec<u32> {
        let mut met = IdSet::default();
        let mut needed = Vec::new();
        for (event, named) in self.events.iter().zip(&self.named).skip(cut) {
            for name in named.iter().flatten() {
                if self.first[*name as usize] < cut && met.insert(*name) && event.is_authored() {
                    needed.push(*name);
                }
            }
        }
        needed
    }

    /// The spelling of each name, by its number.
    pub(super) fn spelled(&self) -> Vec<&str> {
        let mut spelled = vec![""; self.first.len()];
        // Each has its own slot, so the iteration order does not matter.
        #[allow(clippy::iter_over_hash_type)]
        for (name, number) in &self.numbers {
            spelled[*number as usize] = &name[..];
        }
        spelled
    }

    /// What the passages contain from the part before the event `cut`.
    pub(super) fn seen<'p>(&self, passages: impl Iterator<Item = &'p str>, cut: usize) -> Seen {
        let mut seen = Seen::default();
        let mut met: IdSet<&str> = IdSet::default();
        let mut unknown: Vec<&str> = Vec::new();
        for passage in passages {
            // The end of the current stretch of known sequences.
            let mut known: Vec<(usize, usize)> = Vec::new();
            words(passage, |run, (start, end)| {
                if self.runs.get(&run).is_some_and(|event| *event < cut) {
                    match known.last_mut() {
                        Some(last) if start <= last.1 => last.1 = end,
                        Some(_) | None => known.push((start, end)),
                    }
                }
            });
            let mut stretch = 0;
            names(passage, &self.folders, &mut |name| {
                let at = name.as_ptr() as usize - passage.as_ptr() as usize;
                let number = self.numbers.get(name);
                let number = number.filter(|number| self.first[**number as usize] < cut);
                let Some(number) = number else {
                    if met.insert(name) {
                        unknown.push(name);
                    }
                    return;
                };
                seen.names.insert(*number);
                while known.get(stretch).is_some_and(|(_, end)| *end <= at) {
                    stretch += 1;
                }
                if known.get(stretch).is_some_and(|(start, _)| *start <= at) {
                    seen.grounded.insert(*number);
                }
            });
        }
        let unknown = unknown.into_iter().map(str::to_owned).collect();
        seen.invented = missing(unknown, self.before(cut).as_bytes());
        seen
    }
}

/// Those of `names` that `text` does not contain.
pub(super) fn missing(mut names: Vec<String>, text: &[u8]) -> Vec<String> {
    let mut found = PatternSet::new(names.iter().cloned())
        .found_in(text)
        .into_iter();
    names.retain(|_| found.next() == Some(false));
    names
}

/// Calls `found` with the hash and the byte range of each three consecutive words.
fn words(text: &str, mut found: impl FnMut(u64, (usize, usize))) {
    let mut last: [(u64, usize); 2] = [(0, usize::MAX); 2];
    for word in text.split_ascii_whitespace() {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        let one = hash(word.as_bytes());
        let [(first, begins), (second, _)] = last;
        if begins != usize::MAX {
            let run = mix(mix(first, second), one);
            found(run, (begins, start + word.len()));
        }
        last = [last[1], (one, start)];
    }
}

/// A hash that is the same on every machine and in every run.
fn hash(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

fn mix(a: u64, b: u64) -> u64 {
    (a.rotate_left(23) ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::call::{Call, End};

    fn event(what: EventKind, text: &str, body: &str) -> Event {
        Event {
            message: 0,
            block: None,
            what,
            text: text.to_owned(),
            body: body.to_owned(),
        }
    }

    fn call() -> EventKind {
        EventKind::Call {
            tool: "mcp__tool".to_owned(),
            call: Call::default(),
        }
    }

    fn index() -> Index {
        let result = || EventKind::Result {
            of: None,
            end: End::Fine,
        };
        let events = vec![
            event(EventKind::User, "fix the get_one call in src/a.rs now", ""),
            event(result(), "get_two get_three get_four", ""),
            // The cut.
            event(call(), "get_two", "get_four"),
            event(result(), "get_three", ""),
            event(EventKind::Agent, "get_three get_five", ""),
            event(EventKind::Agent, "get_one get_five", ""),
        ];
        Index::new(events, Folders::default())
    }

    fn spelled(index: &Index, numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
        let mut all: Vec<(String, u32)> = index.numbers.clone().into_iter().collect();
        all.sort();
        let numbers: IdSet<u32> = numbers.into_iter().collect();
        all.retain(|(_, number)| numbers.contains(number));
        all.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn needed_is_what_is_used_before_it_is_shown_again() {
        let index = index();
        // get_three is shown first; get_five did not occur before the cut.
        assert_eq!(
            spelled(&index, index.needed(2)),
            ["get_four", "get_one", "get_two"]
        );
    }

    #[test]
    fn a_name_is_grounded_where_three_words_of_the_original_stand() {
        let index = index();
        let text = "the get_one call src/a.rs get_two mcp__tool get_five";
        let seen = index.seen([text].into_iter(), 2);
        assert_eq!(
            spelled(&index, seen.names),
            ["get_one", "get_two", "src/a.rs"]
        );
        assert_eq!(spelled(&index, seen.grounded), ["get_one"]);
        // The tool was not called before the cut.
        assert_eq!(seen.invented, ["mcp__tool", "get_five"]);
        let later = index.seen([text].into_iter(), 5);
        assert_eq!(later.invented, Vec::<String>::new());
    }

    #[test]
    fn a_part_of_what_stood_there_is_not_invented() {
        let seen = index().seen(["in c/a.rs"].into_iter(), 2);
        assert_eq!((seen.names.len(), seen.invented.len()), (0, 0));
    }
}
