//! The result of a check as a page: the contents for each case. `report` determines the layout.

use std::io::{self, Write};

use super::markdown::{became, place};
use super::report::row;
use crate::cli::check::cases::Case;
use crate::cli::check::changed::{ChangedMessage, Tokens};
use crate::cli::check::verdict::{Checked, Verdict};
use crate::outcome::path_text;
use crate::report::{CheckPage, CheckedCase, CheckedMessage, write_check_page};

impl Checked {
    /// Errors are those of the writer.
    pub(super) fn page(&self, out: &mut dyn Write) -> io::Result<()> {
        let page = CheckPage {
            cases: self
                .cases
                .iter()
                .map(|(case, verdict)| of(case, verdict))
                .collect(),
            numbers: self.numbers().map(|number| number as u64),
            under: self.under(self.policy.name.clone()),
            policy: &self.policy,
        };
        write_check_page(&page, out)
    }
}

fn of<'r>(case: &Case, verdict: &'r Verdict) -> CheckedCase<'r> {
    let (status, what) = row(verdict);
    let difference = match verdict {
        Verdict::Differs(difference) => Some(difference),
        Verdict::Same | Verdict::Updated | Verdict::Failed(_) => None,
    };
    let changed = difference.and_then(|difference| difference.changed.as_ref());
    let messages = changed.into_iter().flat_map(|changed| &changed.messages);
    CheckedCase {
        name: path_text(case.path()),
        status,
        tokens: changed.map(|changed| figures(changed.tokens)),
        what,
        difference: difference.map_or("", |difference| &difference.how),
        messages: messages.map(message).collect(),
    }
}

fn message(message: &ChangedMessage) -> CheckedMessage {
    CheckedMessage {
        place: place(message, |id| id.to_owned()),
        name: message.name(),
        fates: [message.expected, message.got].map(|fate| became(fate.as_ref())),
        tokens: figures(message.tokens),
    }
}

fn figures(tokens: Tokens) -> [u64; 3] {
    [tokens.before, tokens.expected, tokens.got]
}
