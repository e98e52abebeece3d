//! What a check has found: a verdict for each case.

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
    /// For people: lines.
    pub(super) how: String,
    /// The messages whose outcome changed, where the output could be compared by message.
    pub(super) changed: Option<Changed>,
    /// The files that would make it as expected, with what they hold then.
    pub(super) goldens: Vec<Golden>,
    /// What would differ all the same: lines.
    pub(super) beyond: String,
}

/// A file of what is expected, as it would be.
pub(super) struct Golden {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
}

impl Difference {
    /// One that no golden mends.
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
    /// Cases without a policy of their own are compacted under it.
    pub(super) policy: PolicyRef,
    /// How many cases have their own.
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
