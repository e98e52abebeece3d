//! The agent's to-dos and its plan. The last one counts.

use super::input::Input;
use super::operation::Done;
use super::{Exchange, FactLocation};
use crate::transcript::{Outcome, Transcript};

/// A list of to-dos.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todos {
    /// The call that wrote it.
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

/// The to-dos as last written; `None` if that failed or the list is empty.
pub fn todos(transcript: &Transcript<'_>, exchanges: &[Exchange]) -> Option<Todos> {
    let written = exchanges.iter().rev().find_map(|exchange| {
        let is_todos = matches!(
            &*exchange.tool(transcript),
            "TodoWrite" | "todo_write" | "write_todos" | "update_plan"
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

fn todo(input: &Input<'_>) -> Option<Todo> {
    let text = input.text(&["content", "description", "text", "step"])?;
    let state = match input.text(&["status", "state"]).as_deref() {
        Some("in_progress") => TodoState::InProgress,
        Some("completed" | "done") => TodoState::Completed,
        Some("cancelled" | "canceled") => TodoState::Cancelled,
        Some(_) | None => TodoState::Pending,
    };
    Some(Todo {
        text: text.into_owned(),
        state,
    })
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
