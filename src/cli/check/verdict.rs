//! The results of a check: a verdict for each case.

use std::borrow::Cow;
use std::path::PathBuf;

use super::cases::Case;
use super::changed::Changed;
use crate::error::Error;
use crate::report::PolicyRef;

/// The result of a case.
pub(super) enum Verdict {
    Same,
    Updated,
    Differs(Difference),
    /// Why it could not be run.
    Failed(Error),
}

/// How a case differs.
pub(super) struct Difference {
    /// The difference as lines, for people.
    pub(super) how: String,
    /// The messages whose outcome changed, where the output could be compared by message.
    pub(super) changed: Option<Changed>,
    /// The files that would make the case as expected, with their new contents.
    pub(super) goldens: Vec<Golden>,
    /// What would still differ afterwards, as lines.
    pub(super) beyond: String,
}

/// An expected file with its new contents.
pub(super) struct Golden {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
}

impl Difference {
    /// A difference that no golden fixes.
    pub(super) fn lasting(how: String) -> Self {
        Difference {
            beyond: how.clone(),
            how,
            changed: None,
            goldens: Vec::new(),
        }
    }

    /// Whether goldens would mend any of it.
    pub(super) fn can_be_accepted(&self) -> bool {
        self.how != self.beyond
    }

    /// The first line of how.
    pub(super) fn first_line(&self) -> &str {
        self.how.lines().next().unwrap_or_default().trim_start()
    }
}

/// All cases of a run.
pub(super) struct Checked {
    /// The version of the program that ran them.
    pub(super) version: Cow<'static, str>,
    /// The policy under which cases without their own are compacted.
    pub(super) policy: PolicyRef,
    /// The number of cases with their own policy.
    pub(super) own: u64,
    pub(super) cases: Vec<(Case, Verdict)>,
}

impl Checked {
    /// The numbers of cases that are as expected, updated, different, failed.
    pub(super) fn numbers(&self) -> [usize; 4] {
        let number =
            |is: fn(&Verdict) -> bool| self.cases.iter().filter(|(_, verdict)| is(verdict)).count();
        [
            number(|verdict| matches!(verdict, Verdict::Same)),
            number(|verdict| matches!(verdict, Verdict::Updated)),
            number(|verdict| matches!(verdict, Verdict::Differs(_))),
            number(|verdict| matches!(verdict, Verdict::Failed(_))),
        ]
    }
}
