//! What may have changed files without a call that names them: commands, subagents, other tools, the user.
//!
//! PURE. Reports possible changes only: after one, earlier content must not be taken as current. Treats anything unknown as a
//! change. The exceptions are builds and tests, which are assumed to leave sources alone.

mod abandoned;

use std::collections::HashSet;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::activity::Activity;
use super::block_text;
use super::cell_calls::has_unread;
use super::error_lines::NOT_THERE;
use super::exchanges::{Exchange, FactLocation, TellingLocation, text_of};
use super::path::{self, is_relative, on_its_drive, with_slashes};
use super::refused::never_ran;
use super::script::{Effects, effects};
use super::shell::{is_shell_tool, output, shows};
use super::tools::steers;
use super::user_commands::user_commands;
use crate::ids::IdMap;
use crate::policy::ToolKind;
use crate::transcript::{BlockKind, Conversation, LineKind, Role, Transcript, Typed};

mod running;

/// Something that may have changed files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PossibleChange {
    /// Its location.
    pub(super) at: TellingLocation,
    what: What,
}

/// Which files it may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    /// Any.
    Anything,
    /// The files at these paths, or in folders at these paths.
    Paths(Vec<String>),
    /// Those that these blocks name.
    Named(Vec<u32>),
    /// Those that this line names.
    Noted(u32),
    /// Those that the user names in a sentence about a change.
    Said(u32),
    /// Those that the result says are not there.
    Missing(u32),
    /// Those for which the result, a comparison with the recorded state, shows something other than the known content.
    Compared(u32),
    /// The file that the result shows, if it differs from the known content.
    Shown { path: String, result: FactLocation },
}

/// The files that each call is known to have operated on, as the call writes them, keyed by its block.
type Operated<'f> = IdMap<u32, Vec<&'f str>>;

/// Subagents that only read.
const ONLY_LOOK: [&str; 4] = ["Explore", "Plan", "explore", "plan"];

/// The tools that start subagents, among those that steer an agent.
const AGENTS: [&str; 7] = [
    "Agent",
    "Task",
    "task",
    "spawn_agent",
    "spawn_agents_on_csv",
    "delegate",
    "dispatch_agent",
];

/// Phrases that are looked for in every text: finders that are made once.
struct Phrases<const N: usize>([Finder<'static>; N]);

impl<const N: usize> Phrases<N> {
    fn new(phrases: [&'static str; N]) -> Self {
        Phrases(phrases.map(Finder::new))
    }

    /// Whether a text has one of them.
    fn are_in(&self, raw: &[u8]) -> bool {
        self.0.iter().any(|phrase| phrase.find(raw).is_some())
    }
}

/// How agents report that someone else changed a file that they had read.
static CHANGED: LazyLock<Phrases<3>> = LazyLock::new(|| {
    Phrases::new([
        "was modified, either by the user or by a linter",
        "\"edited_text_file\"",
        "has been modified externally",
    ])
});

/// How an output says that a file is not there.
static MISSING: LazyLock<Phrases<4>> = LazyLock::new(|| Phrases::new(NOT_THERE));

/// How an output says that a commit hook, or a formatter that another program ran, has changed files.
static REFORMATTED: LazyLock<Phrases<2>> =
    LazyLock::new(|| Phrases::new(["modified by this hook", "reformatted"]));

/// The event by which versions of Codex say that they have put files back, or some of them, to what they were before a turn.
static UNDONE: LazyLock<Phrases<1>> = LazyLock::new(|| Phrases::new(["\"undo_completed\""]));

/// Everything that may have changed files, in conversation order, except the operations in `acts`.
pub fn possible_changes(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    acts: &Activity,
) -> Vec<PossibleChange> {
    let mut operated: Operated<'_> = IdMap::default();
    for operation in acts.files.iter().flat_map(|file| &file.operations) {
        let paths = operated.entry(operation.call.block).or_default();
        paths.push(&operation.written);
    }
    let mut changes: Vec<PossibleChange> = Vec::new();
    for call in &acts.calls {
        of_call(transcript, call, &operated, &mut changes);
    }
    for call in &abandoned::calls(transcript, conversation) {
        of_call(transcript, call, &Operated::default(), &mut changes);
    }
    of_cells(transcript, &acts.calls, &mut changes);
    running::of_commands(transcript, conversation, &acts.calls, &mut changes);
    running::of_agents(transcript, conversation, &acts.calls, &mut changes);
    of_words(transcript, conversation, &mut changes);
    of_notes(transcript, conversation, &mut changes);
    of_the_users_commands(transcript, conversation, &mut changes);
    changes.sort_by_key(|change| change.at);
    changes
}

fn of_call(
    transcript: &Transcript<'_>,
    call: &Exchange,
    operated: &Operated<'_>,
    changes: &mut Vec<PossibleChange>,
) {
    if never_ran(transcript, call) {
        return;
    }
    let mut push = |what: What| {
        changes.push(PossibleChange {
            at: call.call.into(),
            what,
        })
    };
    let named = || {
        let blocks = [Some(call.call), call.result];
        What::Named(
            blocks
                .into_iter()
                .flatten()
                .map(|place| place.block)
                .collect(),
        )
    };
    if let Some(what) = typed_into(transcript, call) {
        push(what);
    }
    match call.kind {
        ToolKind::Shell => {
            let known = operated.get(&call.call.block);
            of_shell(transcript, call, known.map_or(&[][..], Vec::as_slice), push);
        }
        ToolKind::Write | ToolKind::Edit if !operated.contains_key(&call.call.block) => {
            push(named())
        }
        ToolKind::Other => {
            let tool = call.tool(transcript);
            if AGENTS.contains(&&*tool) {
                if !running::only_looks(transcript, call) {
                    push(What::Anything);
                }
            } else if !steers(&tool) {
                push(named());
            }
        }
        ToolKind::Write | ToolKind::Edit | ToolKind::Read | ToolKind::Search | ToolKind::Web => {}
    }
}

/// What a shell command may have changed besides the files of its operations, which are `known`.
fn of_shell(
    transcript: &Transcript<'_>,
    call: &Exchange,
    known: &[&str],
    mut push: impl FnMut(What),
) {
    let Some(command) = call.input(transcript).command() else {
        return;
    };
    match effects(&command) {
        Effects::Anything => push(What::Anything),
        Effects::Paths(mut paths) => {
            // A patch passed to a shell: its effects are already known as operations.
            paths.retain(|path| !known.contains(&&path[..]));
            if !paths.is_empty() {
                push(What::Paths(paths));
            }
        }
    }
    let Some(result) = call.result else {
        return;
    };
    if !is_shell_tool(&call.tool(transcript))
        && let Some(path) = shows(&command)
    {
        push(What::Shown { path, result });
    }
    if command.split_whitespace().take(2).eq(["git", "diff"]) {
        push(What::Compared(result.block));
    }
    let said = transcript.block(result.block);
    let raw = transcript.bytes(said.line, said.content);
    if MISSING.are_in(raw) {
        push(What::Missing(result.block));
    }
    if REFORMATTED.are_in(raw) {
        push(What::Anything);
    }
}

/// Possible changes according to the user and the agent's own notes.
fn of_words(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    changes: &mut Vec<PossibleChange>,
) {
    for (number, message) in (0..).zip(&conversation.messages) {
        if message.role != Role::User {
            continue;
        }
        for block in conversation.blocks(message) {
            let said = transcript.block(*block);
            let at = TellingLocation {
                message: number,
                line: said.line,
                block: Some(*block),
            };
            let raw = transcript.bytes(said.line, said.value);
            if CHANGED.are_in(raw) {
                changes.push(PossibleChange {
                    at,
                    what: What::Named(vec![*block]),
                });
            }
            if message.typed == Typed::Yes && said.kind == BlockKind::Text && said.is_words() {
                changes.push(PossibleChange {
                    at,
                    what: What::Said(*block),
                });
            }
        }
    }
}

/// Possible changes that the agent noted on lines that are not messages; each is located at the message before its line.
fn of_notes(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    changes: &mut Vec<PossibleChange>,
) {
    for (line, kind) in (0..).zip(transcript.lines().iter().map(|line| line.kind)) {
        if kind == LineKind::Message {
            continue;
        }
        let bytes = transcript.line(line);
        let what = if UNDONE.are_in(bytes) {
            What::Anything
        } else if CHANGED.are_in(bytes) {
            What::Noted(line)
        } else {
            continue;
        };
        let messages = &conversation.messages;
        let after = messages.partition_point(|message| conversation.first_line(message) < line);
        changes.push(PossibleChange {
            at: TellingLocation {
                message: after.saturating_sub(1) as u32,
                line,
                block: None,
            },
            what,
        });
    }
}

/// What may have been changed by what a call types into a command that goes on, which may be a shell.
fn typed_into(transcript: &Transcript<'_>, call: &Exchange) -> Option<What> {
    if !matches!(&*call.tool(transcript), "write_stdin" | "write_bash") {
        return None;
    }
    let input = call.input(transcript);
    let typed = input.text(&["chars", "input"])?;
    let is_empty = typed.chars().all(|c| c.is_control() || c.is_whitespace());
    (!is_empty).then(|| effects_of(&typed)).flatten()
}

/// What the calls in cells may have changed that could not be read.
fn of_cells(transcript: &Transcript<'_>, calls: &[Exchange], changes: &mut Vec<PossibleChange>) {
    for of_a_block in calls.chunk_by(|a, b| a.call.block == b.call.block) {
        let call = of_a_block[0].call;
        if has_unread(transcript, transcript.block(call.block)) {
            changes.push(PossibleChange {
                at: call.into(),
                what: What::Anything,
            });
        }
    }
}

/// What a command may change; `None` if nothing.
fn effects_of(command: &str) -> Option<What> {
    match effects(command) {
        Effects::Anything => Some(What::Anything),
        Effects::Paths(paths) => (!paths.is_empty()).then_some(What::Paths(paths)),
    }
}

/// What commands may have changed that the user ran.
fn of_the_users_commands(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    changes: &mut Vec<PossibleChange>,
) {
    for ran in user_commands(transcript, conversation) {
        let what = effects_of(&ran.command);
        changes.extend(what.map(|what| PossibleChange { at: ran.at, what }));
    }
}

impl PossibleChange {
    /// Whether the file at this path, with the known text `known`, may have changed.
    pub(super) fn may_change(&self, transcript: &Transcript<'_>, path: &str, known: &str) -> bool {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let names = |block: &u32| {
            let block = transcript.block(*block);
            let raw = transcript.bytes(block.line, block.value);
            memchr::memmem::find(raw, name.as_bytes()).is_some()
        };
        match &self.what {
            What::Anything => true,
            What::Paths(paths) => paths.iter().any(|touched| may_be(touched, path)),
            What::Named(blocks) => blocks.iter().any(names),
            What::Noted(line) => {
                memchr::memmem::find(transcript.line(*line), name.as_bytes()).is_some()
            }
            What::Compared(block) => {
                names(block) && {
                    let text = block_text(transcript, transcript.block(*block));
                    is_another(&text, path, known)
                }
            }
            What::Said(block) => {
                names(block) && {
                    let text = block_text(transcript, transcript.block(*block));
                    tells_of_a_change(&text, name)
                }
            }
            What::Missing(block) => {
                names(block) && {
                    let text = block_text(transcript, transcript.block(*block));
                    let says = |line: &str| NOT_THERE.iter().any(|words| line.contains(words));
                    text.lines().any(|line| says(line) && line.contains(name))
                }
            }
            What::Shown {
                path: shown,
                result,
            } => {
                may_be(shown, path) && {
                    let said = output(text_of(transcript, *result, None));
                    let lines: HashSet<&str> = known.lines().collect();
                    let mut said = said.lines().filter(|line| !line.trim().is_empty());
                    !said.all(|line| lines.contains(line))
                }
            }
        }
    }
}

/// Whether a path, as a command writes it, may be that of a file or of a folder that contains it.
fn may_be(touched: &str, path: &str) -> bool {
    let [touched, path] = [touched, path].map(with_slashes);
    let on_drive = match path::is_of_windows(&path) {
        true => on_its_drive(&touched),
        false => None,
    };
    let touched = on_drive.as_deref().unwrap_or(&touched);
    let touched = touched.trim_start_matches("./").trim_end_matches('/');
    let path = &path[..];
    let (touched, from_home) = match touched.strip_prefix("~/") {
        Some(rest) => (rest, true),
        None => (touched, false),
    };
    if matches!(touched, "" | "." | ".." | "~") || touched.contains("../") {
        return true;
    }
    let is_end = |whole: &str, end: &str| {
        whole.strip_suffix(end).is_some_and(|before| {
            before.is_empty() || before.ends_with('/') || end.starts_with('/')
        })
    };
    let is_other_case = path::is_of_windows(path) && ends_in_another_case(path, touched);
    if is_end(path, touched) || is_end(touched, path) || is_other_case {
        return true;
    }
    // The file may be in a folder of this path.
    let folder = format!("{touched}/");
    match !is_relative(touched) && !from_home {
        true => path.starts_with(&folder) || is_relative(path),
        false => path.starts_with(&folder) || path.contains(&format!("/{folder}")),
    }
}

/// Whether a path ends with another one or contains it, ignoring case.
fn ends_in_another_case(path: &str, end: &str) -> bool {
    let (path, end) = (format!("/{path}/").to_lowercase(), end.to_lowercase());
    path.contains(&format!("/{}/", end.trim_start_matches('/')))
}

/// Whether a comparison shows lines of a file that a text lacks.
fn is_another(comparison: &str, path: &str, text: &str) -> bool {
    let lines: HashSet<&str> = text.lines().collect();
    let mut is_its = false;
    comparison.lines().any(|line| {
        if let Some(named) = line.strip_prefix("+++ ") {
            let named = named.strip_prefix("b/").unwrap_or(named);
            is_its = may_be(named.trim_end(), path);
            return false;
        }
        let is_now = line.strip_prefix('+').or_else(|| line.strip_prefix(' '));
        is_its && is_now.is_some_and(|now| !now.trim().is_empty() && !lines.contains(now))
    })
}

/// Whether a sentence that names a file reports a change of it.
fn tells_of_a_change(text: &str, name: &str) -> bool {
    /// Parts of words, in lower case.
    const WORDS: [&str; 60] = [
        "delet",
        "chang",
        "edit",
        "modif",
        "renam",
        "mov",
        "updat",
        "fixed",
        "rewrote",
        "revert",
        "restor",
        "replac",
        "adjust",
        "tweak",
        "undid",
        "undo",
        "overw",
        "gelösch",
        "geänder",
        "bearbeit",
        "umbenann",
        "verschob",
        "supprim",
        "renomm",
        "déplac",
        "borr",
        "cambi",
        "elimin",
        "renombr",
        "apagu",
        "exclu",
        "mudei",
        "alter",
        "удал",
        "измен",
        "переим",
        "перемес",
        "исправ",
        "删",
        "改",
        "移",
        "重命名",
        "更新",
        "削除",
        "変更",
        "編集",
        "修正",
        "삭제",
        "변경",
        "수정",
        "이동",
        "حذف",
        "عدل",
        "غير",
        "हटा",
        "बदल",
        "संपाद",
        "ganti",
        "zmien",
        "usun",
    ];
    text.split(['\n', '!', '?', '。', '！', '？'])
        .any(|sentence| {
            sentence.contains(name) && {
                let sentence = sentence.to_lowercase();
                WORDS.iter().any(|word| sentence.contains(word))
            }
        })
}

#[cfg(test)]
mod tests;
