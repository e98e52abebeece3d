//! The to-dos that a call writes, in any of the tools for them: a whole list, or one task of a list that the agent's program keeps.
//!
//! Reads them independently of `facts`, from the input as the agent wrote it. Does not know whether the call succeeded.

use serde_json::Value;

/// The number of characters of a to-do that are compared, since summaries may clip it.
const COMPARED: usize = 100;

/// The spellings of states that are not open.
pub(super) const CLOSED: [&str; 6] = [
    "completed",
    "complete",
    "done",
    "cancelled",
    "canceled",
    "deleted",
];

/// A call that creates or changes one task of a list that the agent's program keeps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Task {
    /// Its number; for a new task, the result names it.
    pub(super) number: Option<String>,
    pub(super) words: Option<String>,
    pub(super) state: Option<String>,
}

/// What a call does to a task, if it is such a call.
pub(super) fn task(tool: &str, input: &Value) -> Option<Task> {
    let text = |key: &str| input.get(key)?.as_str().map(str::to_owned);
    matches!(tool, "TaskCreate" | "TaskUpdate").then(|| Task {
        number: text("taskId"),
        words: text("subject").map(|words| beginning(&words)),
        state: text("status"),
    })
}

/// The open items of a list in a call's input; `None` if it has none.
pub(super) fn items(tool: &str, input: &Value) -> Option<Vec<String>> {
    let is_list = tool.to_ascii_lowercase().contains("todo") || tool == "update_plan";
    let list = ["todos", "plan", "todoList"].iter().find_map(|key| {
        let list = input.get(*key)?.as_array();
        list.filter(|_| is_list)
    })?;
    let open = list.iter().filter_map(|item| {
        let text = |keys: [&str; 5]| keys.iter().find_map(|key| item.get(*key)?.as_str());
        let state = text(["status", "state", "", "", ""]).unwrap_or_default();
        let words = text(["content", "step", "text", "description", "title"])?;
        (!CLOSED.contains(&state)).then(|| beginning(words))
    });
    Some(open.collect())
}

fn beginning(words: &str) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    let beginning: String = words.join(" ").chars().take(COMPARED).collect();
    beginning.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn open_are_those_that_are_not_closed() {
        let input = json!({"todos": [
            {"content": "one  thing", "status": "pending"},
            {"content": "two", "status": "completed"},
            {"content": "three", "status": "in_progress"},
            {"content": "four"},
            7,
        ]});
        let expected = ["one thing", "three", "four"].map(str::to_owned);
        assert_eq!(items("TodoWrite", &input), Some(expected.to_vec()));
        assert_eq!(items("Read", &input), None);
        let plan = json!({"plan": [{"step": "x".repeat(200), "status": "pending"}]});
        assert_eq!(items("update_plan", &plan), Some(vec!["x".repeat(100)]));
        assert_eq!(items("ExitPlanMode", &json!({"plan": "a text"})), None);
    }
}
