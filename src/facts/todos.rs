//! The agent's to-dos and its plan. The last one counts.
//!
//! To-dos come from the tools for them, or from a checkbox list that the agent wrote; never from words alone.

mod tasks;

use std::iter;
use std::ops::Range;

use super::input::Input;
use super::operation::Done;
use super::plan_answer::{accepted, shows_plan};
use super::refused::{says_it_failed, was_refused};
use super::stance::{Item, ItemState, item};
use super::{Exchange, FactLocation, block_text};
use crate::transcript::{BlockKind, Conversation, Outcome, Role, Transcript};
use tasks::{makes_or_changes, tasks};

/// A list of to-dos.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todos {
    /// The call or the text that wrote it.
    pub call: FactLocation,
    /// The to-dos, in the list's order.
    pub items: Vec<Todo>,
    /// Changes of tasks that were created before, in order.
    pub changes: Vec<TaskChange>,
    /// Which to-dos the list is about.
    pub reach: Reach,
}

/// Which to-dos a list is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// All of them: it was written as a whole.
    All,
    /// Only those in the list: each was created or changed individually.
    Named,
}

/// A to-do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todo {
    /// The number by which the agent changes it, if it is a task.
    pub number: Option<String>,
    /// What is to be done.
    pub text: String,
    /// Its state.
    pub state: TodoState,
    /// The message that wrote it.
    pub message: u32,
}

/// A change of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskChange {
    /// The task's number.
    pub number: String,
    /// What became of its state.
    pub state: StateChange,
    /// Its new text, if that was changed.
    pub text: Option<String>,
    /// Where the change is stated.
    pub source: ChangeSource,
}

/// What became of the state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateChange {
    /// It stays as it was.
    Unchanged,
    /// The task has this state now.
    To(TodoState),
    /// The task was deleted.
    Deleted,
}

/// Where a change of a task is stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeSource {
    /// The call that changed it.
    Call,
    /// A list of all tasks, which also contains unchanged ones.
    List,
}

/// The state of a to-do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TodoState {
    /// Not begun.
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
    /// Abandoned.
    Cancelled,
}

/// A plan that the agent has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The call that showed it.
    pub call: FactLocation,
    /// Its text.
    pub text: String,
    /// Who wrote it.
    pub author: Author,
    /// Whether it was accepted.
    pub accepted: Done,
}

/// Who wrote a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// The agent.
    Agent,
    /// The user, who changed what the agent showed; its location is that of the result.
    User,
}

/// The to-dos as last written; `None` if there are none, or if the last list was emptied.
pub fn todos(transcript: &Transcript<'_>, exchanges: &[Exchange]) -> Option<Todos> {
    last_todos(transcript, exchanges.iter()).filter(|todos| !todos.items.is_empty())
}

/// The to-dos as last written, even if none are left.
///
/// Most agents write the whole list each time. A call without a result has written none. Claude Code's tasks are created and
/// changed one by one.
pub fn last_todos<'e>(
    transcript: &Transcript<'_>,
    exchanges: impl DoubleEndedIterator<Item = &'e Exchange> + Clone,
) -> Option<Todos> {
    // Every task call yields the list of all tasks, or none.
    let mut tasks = iter::once_with(|| tasks(transcript, exchanges.clone())).flatten();
    exchanges.clone().rev().find_map(|exchange| {
        let tool = exchange.tool(transcript);
        if makes_or_changes(&tool) {
            return tasks.next();
        }
        if !writes_list(&tool) || exchange.result.is_none() && exchange.inner.is_none() {
            return None;
        }
        let is_sure = match answer(transcript, exchange) {
            Done::Failed => return None,
            Done::Unclear => false,
            Done::Yes => true,
        };
        let input = exchange.input(transcript);
        let items = input.objects("todos").or_else(|| input.objects("plan"));
        let items = match items.filter(|_| is_sure) {
            // A cell has written a list that cannot be read, or may have: the one before it may be out of date.
            None if exchange.inner.is_some() => Vec::new(),
            items => items?,
        };
        let todo = |item| todo(item, exchange.call.message);
        Some(Todos {
            call: exchange.call,
            items: items.iter().filter_map(todo).collect(),
            changes: Vec::new(),
            reach: Reach::All,
        })
    })
}

/// Whether a tool writes a whole list of to-dos.
pub fn writes_list(tool: &str) -> bool {
    matches!(
        tool,
        "TodoWrite" | "todo_write" | "write_todos" | "update_plan" | "todowrite" | "TodoList"
    )
}

/// The minimum number of checkbox items in a text that counts as a list of to-dos.
const ITEMS: usize = 2;

/// The last checkbox list that the agent wrote in a text of its own in these messages.
pub fn listed(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    messages: Range<usize>,
) -> Option<Todos> {
    messages.rev().find_map(|number| {
        let message = conversation.messages.get(number)?;
        if message.role != Role::Assistant {
            return None;
        }
        let blocks = conversation.blocks(message).iter().rev();
        blocks.copied().find_map(|number_of_block| {
            let block = transcript.block(number_of_block);
            let is_text = block.kind == BlockKind::Text;
            let text = is_text.then(|| block_text(transcript, block))?;
            let of_item = |item| of_item(item, number as u32);
            let items: Vec<Todo> = text.lines().filter_map(item).map(of_item).collect();
            (items.len() >= ITEMS).then_some(Todos {
                changes: Vec::new(),
                reach: Reach::All,
                call: FactLocation {
                    message: number as u32,
                    line: block.line,
                    block: number_of_block,
                },
                items,
            })
        })
    })
}

fn of_item(item: Item<'_>, message: u32) -> Todo {
    Todo {
        number: None,
        message,
        text: item.text.to_owned(),
        state: match item.state {
            ItemState::Open => TodoState::Pending,
            ItemState::Done => TodoState::Completed,
        },
    }
}

fn todo(input: &Input<'_>, message: u32) -> Option<Todo> {
    let text = input.text(&["content", "description", "text", "step", "title"])?;
    let state = input
        .text(&["status", "state"])
        .as_deref()
        .map_or(TodoState::Pending, state);
    Some(Todo {
        number: None,
        message,
        text: text.into_owned(),
        state,
    })
}

fn state(status: &str) -> TodoState {
    match status {
        "in_progress" => TodoState::InProgress,
        "completed" | "done" => TodoState::Completed,
        "cancelled" | "canceled" => TodoState::Cancelled,
        _ => TodoState::Pending,
    }
}

/// The plan that was shown last.
pub fn proposal(transcript: &Transcript<'_>, exchanges: &[Exchange]) -> Option<Proposal> {
    exchanges.iter().rev().find_map(|exchange| {
        if !shows_plan(&exchange.tool(transcript)) {
            return None;
        }
        let accepted = accepted(transcript, exchange);
        if let Some((call, author, text)) = written_back(transcript, exchange) {
            return Some(Proposal {
                call,
                text,
                author,
                accepted,
            });
        }
        let input = exchange.input(transcript);
        let text = input.text(&["plan", "summary"]);
        Some(Proposal {
            call: exchange.call,
            text: text.filter(|text| !text.is_empty())?.into_owned(),
            author: Author::Agent,
            accepted,
        })
    })
}

/// The plan in the result of the call that showed it: as changed by the user, or as the agent's file holds it. Claude Code writes
/// it below a heading of its own.
fn written_back(
    transcript: &Transcript<'_>,
    exchange: &Exchange,
) -> Option<(FactLocation, Author, String)> {
    const EDITED: &str = "\n## Approved Plan (edited by user):\n";
    const APPROVED: &str = "\n## Approved Plan:\n";
    let result = exchange.result.filter(|_| exchange.inner.is_none())?;
    let said = block_text(transcript, transcript.block(result.block));
    let after = |heading| Some(said.split_once(heading)?.1.trim());
    let (place, author, text) = match after(EDITED) {
        Some(text) => (result, Author::User, text),
        None => (exchange.call, Author::Agent, after(APPROVED)?),
    };
    let has_plan = || exchange.input(transcript).has(&["plan"]);
    let is_needed = author == Author::User || !has_plan();
    let place = if has_plan() { place } else { result };
    (is_needed && !text.is_empty()).then(|| (place, author, text.to_owned()))
}

fn answer(transcript: &Transcript<'_>, exchange: &Exchange) -> Done {
    if let Some(inner) = &exchange.inner {
        return inner.ended.done();
    }
    let Some(result) = exchange.result else {
        return Done::Unclear;
    };
    let block = transcript.block(result.block);
    let has_failed = block.outcome == Outcome::Failed
        || was_refused(transcript, exchange)
        || says_it_failed(transcript, block);
    match has_failed {
        true => Done::Failed,
        false => Done::Yes,
    }
}

#[cfg(test)]
mod tests;
