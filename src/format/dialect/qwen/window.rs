//! What a model sees of a session: the history that the last compaction left, and the messages since.
//!
//! The input of a command that only the agent answered is removed. Words that were typed while tools were running are a message of
//! their own here; the agent sends them in the message with the results.

use super::chain::Chain;
use crate::scan::{Cursor, Kind, Span, Value, unescape};
use crate::transcript::{
    BlockKind, Compaction, Conversation, ConversationId, LinkKind, Source, Transcript, Unit,
};

/// What happens to recorded compactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compactions {
    /// They replace what was before them.
    Apply,
    /// They are ignored.
    PassOver,
}

/// One message of the window.
#[derive(Debug)]
pub(super) struct Sent<'t> {
    /// The first line of its record.
    pub(super) record: u32,
    /// Its units: one for each line of its record, or a single one from a history.
    pub(super) units: Vec<&'t Unit>,
}

/// The messages of the window, in order.
pub(super) struct Window<'t> {
    pub(super) messages: Vec<Sent<'t>>,
    /// Where on the path the window begins: at the last compaction, or at the root.
    pub(super) begins: usize,
}

impl<'t> Window<'t> {
    /// The window of a path.
    pub(super) fn of(chain: &Chain<'t, '_>, path: &[u32]) -> Self {
        Window::with(chain, path, Compactions::Apply)
    }

    fn with(chain: &Chain<'t, '_>, path: &[u32], compactions: Compactions) -> Self {
        let mut window = Window {
            messages: Vec::new(),
            begins: 0,
        };
        // Whether the last record that the agent read was the message that the window ends with.
        let mut is_last = false;
        for (at, record) in path.iter().copied().enumerate() {
            let link = chain.link(record);
            match link.kind {
                LinkKind::Compaction(Compaction::Replacement) => {
                    if compactions == Compactions::Apply {
                        window.begins = at;
                        let units = units_on(chain.transcript, record).iter();
                        let sent = units.map(|unit| Sent {
                            record,
                            units: vec![unit],
                        });
                        window.messages = sent.collect();
                    }
                    is_last = false;
                }
                LinkKind::GoBack => {
                    let command = chain.transcript.bytes(record, link.content);
                    let typed = window.messages.last().filter(|_| is_last);
                    if typed.is_some_and(|typed| is_command(chain.transcript, typed, command)) {
                        window.messages.pop();
                    }
                    is_last = false;
                }
                _ if link.role.is_some() => {
                    let lines = chain.lines_of(record);
                    let units = lines.flat_map(|line| units_on(chain.transcript, line));
                    let units: Vec<&Unit> = units.collect();
                    if !units.is_empty() {
                        window.messages.push(Sent { record, units });
                        is_last = true;
                    }
                }
                _ => {}
            }
        }
        window
            .messages
            .retain(|sent| sent.blocks().next().is_some());
        window
    }

    /// The conversation of these messages; `path` contains the live lines.
    fn conversation(self, chain: &Chain<'t, '_>, path: &[u32]) -> Conversation {
        let mut conversation = Conversation::new(ConversationId::Main);
        for sent in &self.messages {
            let first = sent.units[0];
            let content = match sent.units[..] {
                [only] => only.content,
                _ => Span::default(),
            };
            let message = conversation.push(first.role, Span::default(), content);
            let blocks: Vec<u32> = sent.blocks().collect();
            let message = &mut conversation.messages[message];
            message.is_summary = first.source == Source::Summary;
            if first.source == Source::Own {
                message.typed = chain.transcript.is_typed(first.role, &blocks);
            }
            for unit in &sent.units {
                conversation.extend(unit.line, unit.blocks.0..unit.blocks.1);
            }
        }
        for record in path[self.begins.min(path.len())..].iter().copied() {
            // The agent reads only the first line of a compaction.
            let all = if chain.link(record).is_boundary() {
                1
            } else {
                usize::MAX
            };
            conversation.path.extend(chain.lines_of(record).take(all));
        }
        conversation.leaf = path.last().copied();
        conversation.spared = chain.spared(path);
        conversation
    }
}

impl Sent<'_> {
    /// The numbers of its blocks.
    pub(super) fn blocks(&self) -> impl Iterator<Item = u32> + '_ {
        let units = self.units.iter();
        units.flat_map(|unit| unit.blocks.0..unit.blocks.1)
    }
}

/// Whether a message is just a command that the user typed.
fn is_command(transcript: &Transcript<'_>, sent: &Sent<'_>, command: &[u8]) -> bool {
    let blocks: Vec<u32> = sent.blocks().collect();
    let [only] = blocks[..] else { return false };
    let block = transcript.block(only);
    let [kind, subtype] = Value::of(transcript.line(sent.record)).fields(["type", "subtype"]);
    let is_typed = kind.string() == Some(b"user") && subtype.kind().is_none_or(|k| k == Kind::Null);
    let mut members = 0;
    let part = Cursor::new(transcript.bytes(block.line, block.value)).object(|_, c| {
        members += 1;
        c.skip().map(drop)
    });
    is_typed
        && !command.is_empty()
        && block.kind == BlockKind::Text
        && part.is_ok()
        && members == 1
        && transcript.block_text(block).as_bytes() == unescape(command).as_ref()
}

/// The messages on a line.
pub(super) fn units_on<'t>(transcript: &'t Transcript<'_>, line: u32) -> &'t [Unit] {
    let units = transcript.units();
    let from = units.partition_point(|unit| unit.line < line);
    let to = units.partition_point(|unit| unit.line <= line);
    &units[from..to]
}

/// The conversation of a session.
pub(super) fn conversation(transcript: &Transcript<'_>) -> Conversation {
    let chain = Chain::new(transcript);
    let path = chain.path();
    Window::of(&chain, &path).conversation(&chain, &path)
}

/// The whole conversation: the path to the leaf, without what compactions wrote.
pub(super) fn full_history(transcript: &Transcript<'_>) -> Conversation {
    let chain = Chain::new(transcript);
    let path = chain.path();
    Window::with(&chain, &path, Compactions::PassOver).conversation(&chain, &path)
}
