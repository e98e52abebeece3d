//! The ways in which a command can end.

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandStatus {
    /// With this status.
    Code(i64),
    /// It succeeded: the format flags failed results, and this one is not flagged.
    Succeeded,
    /// It failed, with an unknown status.
    Failed,
    /// It was interrupted.
    Interrupted,
    /// Started in the background; its end is not recorded.
    Begun,
    /// It had not ended when last polled.
    Running,
    /// Was running when last polled; the agent would not have been told of its end.
    WasRunning,
    /// The user did not let the agent run it.
    Refused,
    /// There is no result.
    Unanswered,
    /// The result does not state how the command ended.
    Unknown,
}
