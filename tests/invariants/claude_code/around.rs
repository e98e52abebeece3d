//! Lines that are not messages, and text that was not typed.

use super::super::dialect::SESSION;
use super::super::text::{Json, object, text_of, words};
use super::{Chain, What, Writer, kind, raw};

const REQUESTS: [&str; 3] = ["api-request", "api-request-shape", "api-request-blob"];

impl Writer<'_> {
    /// Lines between turns that are not messages.
    pub(super) fn around(&mut self, chain: &mut Chain) {
        while self.tape.one_in(3) {
            self.at_seam = true;
            let words = text_of(words(self.tape, self.mode));
            match self.tape.below(12) {
                0..2 => {
                    let mut fields = vec![kind(self.tape.pick(&SESSION)), ("summary", words)];
                    if self.tape.one_in(3) {
                        // It has no children, whatever its content.
                        fields.push(raw("uuid", "\"no-place\""));
                        fields.push(("parentUuid", self.leaf_id(chain)));
                        fields.push(("timestamp", text_of(super::timestamp(self.clock))));
                    }
                    self.plain(What::Session, fields);
                }
                2 => self.plain(
                    What::Session,
                    vec![
                        kind("summary"),
                        ("summary", words),
                        raw("leafUuid", "\"elsewhere\""),
                    ],
                ),
                3 => {
                    let blob = ("blob", text_of("x".repeat(400)));
                    let fields = vec![kind(self.tape.pick(&REQUESTS)), blob];
                    self.plain(What::Request, fields);
                }
                4 => self.plain(
                    What::Session,
                    vec![kind("no-such-type"), raw("x", "{\"a\":1,\"a\":2}")],
                ),
                5 => self.pointer(None),
                6 => {
                    let fields = vec![kind("new-chained-type"), raw("content", "[1]")];
                    self.note(chain, What::Passed, fields);
                }
                7 => {
                    let fields = vec![kind("system"), raw("subtype", "\"turn_duration\"")];
                    self.note(chain, What::Note, fields);
                }
                8 => self.attachment(chain),
                9 => drop(self.words(chain, None, words, vec![raw("isMeta", "true")])),
                10 => {
                    let echo = text_of("<command-name>/x</command-name>");
                    self.words(chain, None, echo, Vec::new());
                }
                _ => {
                    let reminder = text_of("<system-reminder>x</system-reminder>");
                    self.words(chain, None, reminder, Vec::new());
                }
            }
        }
        self.at_seam = false;
    }

    pub(super) fn attachment(&mut self, chain: &mut Chain) {
        let sent = [
            "file",
            "todo_reminder",
            "queued_command",
            "hook_success",
            "date_change",
        ];
        let words = text_of(words(self.tape, self.mode));
        let attachment = object([("type", text_of(self.tape.pick(&sent))), ("content", words)]);
        let fields = vec![kind("attachment"), ("attachment", attachment)];
        self.note(chain, What::Note, fields);
    }

    /// A line without content of its own, in the chain or beside it.
    fn note(&mut self, chain: &mut Chain, what: What, fields: Vec<(&'static str, Json)>) {
        if self.tape.one_in(3) {
            self.hang(chain.aside, chain.leaf, what, fields);
        } else {
            self.line(chain, what, fields);
        }
    }

    /// A pointer to a leaf; to a line that does not exist, unless `to` or noise names one.
    pub(super) fn pointer(&mut self, to: Option<usize>) {
        let any = self.tape.below(self.lines.len() + 1);
        // Where there are no messages there is nothing to continue.
        let speaks = |line: &usize| {
            let above = self.span(Some(*line).filter(|l| *l < self.lines.len()), None);
            let words = |line: &usize| matches!(self.lines[*line].what, What::Words { .. });
            above.iter().any(words)
        };
        let any = Some(any).filter(speaks);
        let to = to.or(any.filter(|_| self.tape.one_in(2)));
        let leaf = to.map_or("elsewhere".to_owned(), |to| self.id(to).to_owned());
        let words = text_of(words(self.tape, self.mode));
        let fields = vec![
            kind("last-prompt"),
            ("lastPrompt", words),
            ("leafUuid", text_of(leaf)),
            ("sessionId", text_of("5c0375b4")),
        ];
        self.plain(What::Pointer { to }, fields);
    }

    fn leaf_id(&self, chain: &Chain) -> Json {
        let id = chain.leaf.map(|leaf| text_of(self.id(leaf)));
        id.unwrap_or(Json::Raw("null"))
    }
}
