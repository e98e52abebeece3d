//! Interprets the reply to a partial-summary request, and what it reveals about the context window.
//!
//! Sends nothing itself, and decides nothing about the rounds.

use super::{ANSWER, ASKED, PartRequest, Progress, Reply, SPARE};
use crate::artifacts::counts::{Verdict, window_of};
use crate::artifacts::{ModelError, ModelReply};
use crate::policy::TooLong;
use crate::summarizer::gate::{Given, floor};

impl Progress<'_> {
    /// Asks for the summary of a part, and once more if the answer is not a summary.
    pub(super) fn send_part(&mut self, asked: &PartRequest) -> Result<Reply, ModelError> {
        let given = Given::of_part(&asked.rounds);
        let mut why = "";
        for _ in 0..ASKED {
            let heard = self.send(asked, &given);
            let Reply::Summary(ModelReply { text: Ok(text), .. }) = &heard else {
                return Ok(heard);
            };
            match floor(text, &asked.prompt, &given) {
                Err(no_summary) if self.reader.summary.max_invented >= 0 => why = no_summary.why(),
                Err(_) | Ok(()) => return Ok(heard),
            }
        }
        let why = format!("the answer to a part of the conversation {why}");
        Err(ModelError::Failed(why))
    }

    pub(super) fn send(&mut self, asked: &PartRequest, given: &Given) -> Reply {
        let rounds = asked.rounds.iter().map(|r| self.reader.tokens(r)).sum();
        let sent = self.sent(&asked.prompt, rounds);
        let reply = (self.reader.ask)(asked, given);
        self.attempts += reply.attempts;
        self.spent += reply.spent;
        self.left_out.extend(reply.left_out.iter().cloned());
        self.model = reply.model.clone().or(self.model.take());
        let in_parts = self.reader.summary.too_long == TooLong::Parts;
        match &reply.text {
            Ok(_) => self.compared(reply, sent),
            Err(ModelError::TooLong { why, excess }) if in_parts => {
                let total = sent + asked.max_tokens;
                let window = match (excess, self.window) {
                    (Some(excess), _) => window_of(*excess, sent, total),
                    // As long as nothing is known to fit, another refusal costs more than another part.
                    (None, None) => total / 2,
                    (None, Some(known)) if self.rounds.parts == 0 => known / 2,
                    (None, Some(known)) => known - known / ANSWER,
                };
                self.why.clone_from(why);
                self.narrow(window, total);
                Reply::Narrower(None)
            }
            Err(ModelError::TooLong { why, .. }) => Reply::Failed(ModelError::Failed(why.clone())),
            Err(error) => Reply::Failed(error.clone()),
        }
    }

    /// Records that the window is at most this large, and smaller than what was sent or requested in total.
    fn narrow(&mut self, window: u64, total: u64) {
        let window = window.min(total - total / SPARE);
        self.window = Some(self.window.map_or(window, |known| known.min(window)));
    }

    /// Interprets an answer by what the server counted for it.
    fn compared(&mut self, reply: ModelReply, sent: u64) -> Reply {
        if reply.unread > 0 {
            // Less was sent than is known here, so the counts cannot be compared.
            return Reply::Summary(reply);
        }
        let verdict = self.counts.judge(reply.counted, sent);
        if self.counts.are_certain() {
            self.whole = None;
        }
        match (verdict, self.reader.summary.too_long) {
            (Verdict::ReadAfterAll, _) => match self.whole.take() {
                Some(whole) => Reply::WholeAfterAll(whole),
                None => Reply::Summary(reply),
            },
            (Verdict::Read, _) | (Verdict::MayBeCut, TooLong::Fail) => Reply::Summary(reply),
            (Verdict::MayBeCut, TooLong::Parts) => {
                self.narrow(reply.counted - reply.counted / ANSWER, sent);
                Reply::Narrower(Some(reply))
            }
        }
    }
}
