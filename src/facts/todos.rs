//! The agent's to-dos and its plan. The last one counts.
//!
//! To-dos are those of the tools for them, or the items with boxes of a list that the agent wrote; words alone make none.

use std::borrow::Cow;
use std::ops::Range;

use super::input::Input;
use super::operation::Done;
use super::stance::{Item, ItemState, item};
use super::{Exchange, FactLocation, block_text};
use crate::transcript::{BlockKind, Conversation, Outcome, Role, Transcript};

/// A list of to-dos.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todos {
    /// The call or the text that wrote it.
    pub call: FactLocation,
    /// In its order.
    pub items: Vec<Todo>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todo {
    /// What is to be done.
    pub text: String,
    /// Its state.
    pub state: TodoState,
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
    /// Whether it was accepted.
    pub accepted: Done,
}

/// The to-dos as last written; `None` if that failed, the list is empty, or nothing in it was ever open.
///
/// Most agents write the whole list each time. Claude Code's tasks are made and changed one by one.
pub fn todos(transcript: &Transcript<'_>, exchanges: &[Exchange]) -> Option<Todos> {
    let written = exchanges.iter().rev().find_map(|exchange| {
        let tool = exchange.tool(transcript);
        if is_task(&tool) {
            return tasks(transcript, exchanges);
        }
        let is_todos = matches!(
            &*tool,
            "TodoWrite" | "todo_write" | "write_todos" | "update_plan" | "todowrite"
        );
        if !is_todos || answer(transcript, exchange) == Done::Failed {
            return None;
        }
        let input = exchange.input(transcript);
        let items = input.objects("todos").or_else(|| input.objects("plan"))?;
        Some(Todos {
            call: exchange.call,
            items: items.iter().filter_map(todo).collect(),
        })
    });
    written.filter(|todos| !todos.items.is_empty())
}

/// Whether a tool makes or changes a task of a list that the agent's program keeps.
fn is_task(tool: &str) -> bool {
    matches!(tool, "TaskCreate" | "TaskUpdate")
}

/// The tasks that were made one by one, as they were last changed. A task is known by the number that the result of its making
/// names; one without is left out, since its state is not known.
fn tasks(transcript: &Transcript<'_>, exchanges: &[Exchange]) -> Option<Todos> {
    let mut call = None;
    let mut tasks: Vec<(String, Option<Todo>)> = Vec::new();
    for exchange in exchanges.iter().filter(|of| is_task(&of.tool(transcript))) {
        if answer(transcript, exchange) == Done::Failed {
            continue;
        }
        let input = exchange.input(transcript);
        if exchange.tool(transcript) == "TaskCreate" {
            let Some((text, result)) = input.text(&["subject"]).zip(exchange.result) else {
                continue;
            };
            let said = block_text(transcript, transcript.block(result.block));
            let Some(number) = number_of_task(&said) else {
                continue;
            };
            let task = Todo {
                text: text.into_owned(),
                state: TodoState::Pending,
            };
            tasks.push((number.to_owned(), Some(task)));
        } else {
            let id = input.text(&["taskId"]);
            let status = input.text(&["status"]);
            let task = tasks.iter_mut().rev();
            let Some((_, task)) = task
                .into_iter()
                .find(|(number, _)| Some(&**number) == id.as_deref())
            else {
                continue;
            };
            if status.as_deref() == Some("deleted") {
                *task = None;
            }
            if let Some(task) = task {
                task.state = status.as_deref().map_or(task.state, state);
                task.text = input
                    .text(&["subject"])
                    .map_or(std::mem::take(&mut task.text), Cow::into_owned);
            }
        }
        call = Some(exchange.call);
    }
    Some(Todos {
        call: call?,
        items: tasks.into_iter().filter_map(|(_, task)| task).collect(),
    })
}

/// `Task #7 created successfully: …`
fn number_of_task(said: &str) -> Option<&str> {
    let (_, rest) = said.split_once("Task #")?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    (end > 0).then(|| &rest[..end])
}

/// How many items with boxes a text has at least that is a list of to-dos.
const ITEMS: usize = 2;

/// The list of items with boxes that the agent wrote last in these messages, in a text of its own.
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
            let items: Vec<Todo> = text.lines().filter_map(item).map(of_item).collect();
            (items.len() >= ITEMS).then_some(Todos {
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

fn of_item(item: Item<'_>) -> Todo {
    Todo {
        text: item.text.to_owned(),
        state: match item.state {
            ItemState::Open => TodoState::Pending,
            ItemState::Done => TodoState::Completed,
        },
    }
}

fn todo(input: &Input<'_>) -> Option<Todo> {
    let text = input.text(&["content", "description", "text", "step"])?;
    let state = input
        .text(&["status", "state"])
        .as_deref()
        .map_or(TodoState::Pending, state);
    Some(Todo {
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
        if exchange.tool(transcript) != "ExitPlanMode" {
            return None;
        }
        let input = exchange.input(transcript);
        let text = input.text(&["plan"]).filter(|text| !text.is_empty())?;
        Some(Proposal {
            call: exchange.call,
            text: text.into_owned(),
            accepted: answer(transcript, exchange),
        })
    })
}

fn answer(transcript: &Transcript<'_>, exchange: &Exchange) -> Done {
    if let Some(inner) = &exchange.inner {
        return inner.ended.done();
    }
    match exchange.result {
        None => Done::Unclear,
        Some(result) => match transcript.block(result.block).outcome {
            Outcome::Failed => Done::Failed,
            Outcome::Fine => Done::Yes,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::{ResultText, anthropic, in_main};

    #[test]
    fn the_last_list_that_was_written_counts() {
        let transcript = anthropic(&[
            (
                "TodoWrite",
                r#"{"todos":[{"content":"old","status":"pending"}]}"#,
                ResultText::Fine("ok"),
            ),
            (
                "TodoWrite",
                r#"{"todos":[{"content":"a \"b\"","status":"completed","activeForm":"x"},{"status":"in_progress","content":"c"},{"content":"d","status":"?"},{"status":"pending"},7]}"#,
                ResultText::Fine("ok"),
            ),
            (
                "TodoWrite",
                r#"{"todos":[{"content":"bad"}]}"#,
                ResultText::Failed("no"),
            ),
            ("TodoWrite", r#"{"todos":"none"}"#, ResultText::Fine("ok")),
        ]);
        let todos = in_main(&transcript, todos).unwrap();
        let item = |text: &str, state| Todo {
            text: text.to_owned(),
            state,
        };
        assert_eq!((todos.call.message, todos.call.line), (2, 2));
        assert_eq!(
            todos.items,
            [
                item("a \"b\"", TodoState::Completed),
                item("c", TodoState::InProgress),
                item("d", TodoState::Pending),
            ]
        );
    }

    #[test]
    fn tasks_are_made_and_changed_one_by_one() {
        let made = |number: u32| format!("Task #{number} created successfully: x");
        let (one, two, three) = (made(1), made(2), made(3));
        let transcript = anthropic(&[
            ("TaskCreate", r#"{"subject":"a"}"#, ResultText::Fine(&one)),
            ("TaskCreate", r#"{"subject":"b"}"#, ResultText::Fine(&two)),
            ("TaskCreate", r#"{"subject":"c"}"#, ResultText::Fine(&three)),
            (
                "TaskCreate",
                r#"{"subject":"no number"}"#,
                ResultText::Fine("made"),
            ),
            (
                "TaskUpdate",
                r#"{"taskId":"1","status":"completed"}"#,
                ResultText::Fine("ok"),
            ),
            (
                "TaskUpdate",
                r#"{"taskId":"2","subject":"B"}"#,
                ResultText::Fine("ok"),
            ),
            (
                "TaskUpdate",
                r#"{"taskId":"3","status":"deleted"}"#,
                ResultText::Fine("ok"),
            ),
            (
                "TaskUpdate",
                r#"{"taskId":"2","status":"completed"}"#,
                ResultText::Failed("no"),
            ),
            (
                "TaskUpdate",
                r#"{"taskId":"9","status":"completed"}"#,
                ResultText::Fine("ok"),
            ),
        ]);
        let found = in_main(&transcript, todos).unwrap();
        let found: Vec<(&str, TodoState)> =
            found.items.iter().map(|t| (&t.text[..], t.state)).collect();
        assert_eq!(
            found,
            [("a", TodoState::Completed), ("B", TodoState::Pending)]
        );
    }

    #[test]
    fn a_list_with_boxes_in_a_text_is_one_of_to_dos() {
        use crate::format::{Format, Warnings};

        let list = |text: &str| {
            let lines = format!(
                "{{\"role\":\"user\",\"content\":\"- [ ] x\\n- [ ] y\"}}\n{{\"role\":\"assistant\",\"content\":\"{text}\"}}\n"
            );
            let transcript = Format::Anthropic.read(lines.as_bytes(), 1, &mut Warnings::default());
            let found = listed(&transcript, &transcript.conversations[0], 0..2)?;
            assert_eq!((found.call.message, found.call.line), (1, 1));
            Some(found.items.len())
        };
        assert_eq!(list("So far:\\n- [x] one\\n- [ ] two\\n- three"), Some(2));
        assert_eq!(list("- [ ] only one"), None);
        assert_eq!(list("- one\\n- two"), None);
    }

    #[test]
    fn an_empty_list_is_none() {
        let transcript = anthropic(&[
            (
                "TodoWrite",
                r#"{"todos":[{"content":"old"}]}"#,
                ResultText::Fine("ok"),
            ),
            ("TodoWrite", r#"{"todos":[]}"#, ResultText::Fine("ok")),
        ]);
        assert_eq!(in_main(&transcript, todos), None);
    }

    #[test]
    fn a_plan_says_whether_it_was_accepted() {
        let calls = [
            (
                "ExitPlanMode",
                r##"{"plan":"# One"}"##,
                ResultText::Fine("approved"),
            ),
            (
                "ExitPlanMode",
                r##"{"plan":"# Two\n- b"}"##,
                ResultText::Failed("stay"),
            ),
            ("ExitPlanMode", "{}", ResultText::Fine("approved")),
        ];
        let last = |number: usize| {
            in_main(&anthropic(&calls[..number]), proposal).map(|p| (p.text, p.accepted))
        };
        assert_eq!(last(0), None);
        assert_eq!(last(1), Some(("# One".to_owned(), Done::Yes)));
        assert_eq!(last(3), Some(("# Two\n- b".to_owned(), Done::Failed)));
    }
}
