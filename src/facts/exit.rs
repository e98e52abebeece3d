//! The ways in which a command can end.

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// With this status.
    Code(i64),
    /// It succeeded: the format flags failed results, and this one is not flagged.
    Well,
    /// It failed, with an unknown status.
    Badly,
    /// It was interrupted.
    Interrupted,
    /// The shell has begun it and did not wait for it: how it goes on, nothing says.
    Begun,
    /// It had not ended when it was last looked at.
    Running,
    /// The same, and nothing would have told the agent of its end since.
    WasRunning,
    /// The user did not let the agent run it.
    Refused,
    /// There is no result.
    Unanswered,
    /// The result does not state how the command ended.
    Unknown,
}
