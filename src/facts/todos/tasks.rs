//! The tasks of a list that the agent's program keeps: each is made and changed by calls of its own.
//!
//! PURE. A task is known by the number that the result of its making names; one without is left out, since its state is not known.

use std::borrow::Cow;

use super::{ChangeSource, Reach, StateChange, TaskChange, Todo, TodoState, Todos, answer, state};
use crate::facts::operation::Done;
use crate::facts::{Exchange, FactLocation, block_text};
use crate::ids::IdMap;
use crate::transcript::Transcript;

/// Whether a tool makes or changes a task.
pub(super) fn makes_or_changes(tool: &str) -> bool {
    matches!(tool, "TaskCreate" | "TaskUpdate")
}

/// The tasks as they were last changed; `None` if no call has made or changed one.
pub(super) fn tasks<'e>(
    transcript: &Transcript<'_>,
    exchanges: impl Iterator<Item = &'e Exchange>,
) -> Option<Todos> {
    let mut tasks = Tasks::default();
    for exchange in exchanges {
        let made = match &*exchange.tool(transcript) {
            "TaskCreate" => Tasks::create,
            "TaskUpdate" => Tasks::update,
            "TaskList" => Tasks::list,
            _ => continue,
        };
        if answer(transcript, exchange) != Done::Failed {
            made(&mut tasks, transcript, exchange);
        }
    }
    Some(Todos {
        call: tasks.call?,
        items: tasks.all.into_iter().flatten().collect(),
        changes: tasks.changes,
        reach: Reach::Named,
    })
}

#[derive(Default)]
struct Tasks {
    /// In the order in which they were made; `None` if deleted.
    all: Vec<Option<Todo>>,
    /// For each number, the index of the last task with it in `tasks`.
    made: IdMap<String, usize>,
    /// Changes of tasks that were made before.
    changes: Vec<TaskChange>,
    /// The state that a list last gave for a task created before.
    listed: IdMap<String, TodoState>,
    /// The last call that made or changed one.
    call: Option<FactLocation>,
}

impl Tasks {
    fn create(&mut self, transcript: &Transcript<'_>, exchange: &Exchange) {
        let input = exchange.input(transcript);
        let Some((text, result)) = input.text(&["subject"]).zip(exchange.result) else {
            return;
        };
        let said = block_text(transcript, transcript.block(result.block));
        let Some(number) = number_of_task(&said) else {
            return;
        };
        self.made.insert(number.to_owned(), self.all.len());
        self.all.push(Some(Todo {
            number: Some(number.to_owned()),
            text: text.into_owned(),
            state: TodoState::Pending,
            message: exchange.call.message,
        }));
        self.call = Some(exchange.call);
    }

    fn update(&mut self, transcript: &Transcript<'_>, exchange: &Exchange) {
        let input = exchange.input(transcript);
        let Some(number) = input.text(&["taskId"]) else {
            return;
        };
        let change = TaskChange {
            number: number.into_owned(),
            state: match input.text(&["status"]).as_deref() {
                None => StateChange::Unchanged,
                Some("deleted") => StateChange::Deleted,
                Some(status) => StateChange::To(state(status)),
            },
            text: input.text(&["subject"]).map(Cow::into_owned),
            source: ChangeSource::Call,
        };
        match self.made.get(&change.number) {
            Some(at) => change.apply(&mut self.all[*at]),
            None => {
                // A later list with the state from before would undo this change.
                if change.state != StateChange::Unchanged {
                    self.listed.remove(&change.number);
                }
                self.changes.push(change);
            }
        }
        self.call = Some(exchange.call);
    }

    /// Others may have changed tasks, too: agents of the agent, and earlier sessions.
    fn list(&mut self, transcript: &Transcript<'_>, exchange: &Exchange) {
        let Some(result) = exchange.result else {
            return;
        };
        let said = block_text(transcript, transcript.block(result.block));
        for (number, state) in said.lines().filter_map(listed_task) {
            match self.made.get(number).map(|at| &mut self.all[*at]) {
                Some(Some(task)) => task.state = state,
                Some(None) => {}
                // Each list repeats the previous one.
                None if self.listed.get(number) == Some(&state) => {}
                None => {
                    self.listed.insert(number.to_owned(), state);
                    self.changes.push(TaskChange {
                        number: number.to_owned(),
                        state: StateChange::To(state),
                        text: None,
                        source: ChangeSource::List,
                    });
                }
            }
        }
    }
}

impl TaskChange {
    fn apply(self, task: &mut Option<Todo>) {
        match self.state {
            StateChange::Unchanged => {}
            StateChange::To(state) => {
                if let Some(task) = task {
                    task.state = state;
                }
            }
            StateChange::Deleted => *task = None,
        }
        if let (Some(text), Some(task)) = (self.text, task) {
            task.text = text;
        }
    }
}

/// The number of a task and its state in a line of a list of them: `#7 [completed] Write the parser`.
fn listed_task(line: &str) -> Option<(&str, TodoState)> {
    let (number, rest) = line.trim().strip_prefix('#')?.split_once(" [")?;
    let (of_task, _) = rest.split_once(']')?;
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let is_state = matches!(
        of_task,
        "pending" | "in_progress" | "completed" | "cancelled"
    );
    (is_number && is_state).then(|| (number, state(of_task)))
}

/// `Task #7 created successfully: …`
fn number_of_task(said: &str) -> Option<&str> {
    let (_, rest) = said.split_once("Task #")?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    (end > 0).then(|| &rest[..end])
}
