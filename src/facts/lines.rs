//! Ranges of a file's lines.

/// Lines of a file, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    /// The first one.
    pub first: u64,
    /// The last one; `None` = up to the end of the file.
    pub last: Option<u64>,
}

impl Lines {
    /// The whole file.
    pub const ALL: Lines = Lines {
        first: 1,
        last: None,
    };

    /// These lines without an end if a command for them printed fewer: then the file has no more.
    pub(super) fn up_to_the_end(self, printed: &str) -> Lines {
        let asked = self.last.map(|last| last.saturating_sub(self.first) + 1);
        let is_all = asked.is_some_and(|asked| (printed.lines().count() as u64) < asked);
        Lines {
            last: self.last.filter(|_| !is_all),
            ..self
        }
    }

    /// Whether these lines include all of `other`.
    pub fn hold(self, other: Lines) -> bool {
        let to_the_end = match (self.last, other.last) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(last), Some(other)) => last >= other,
        };
        self.first <= other.first && to_the_end
    }
}
