//! `compact --batch`: summaries for many conversations that a server writes together, hours later; and an estimate of what a run
//! would request.
//!
//! The compaction itself is the same as in any run: one run holds back the requests and leaves their files as they are; in a later
//! one, the answers are in the store. Keeps no state of its own: the store records what was sent.

mod steps;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::Context;
use super::progress::Bar;
use super::useless_flags::given;
use crate::artifacts::{BatchClient, Demand};
use crate::batch::{self, Destination, Effect, Found, Options, Ran, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::policy::Effective;
use crate::report::Estimate;
use crate::text::{count, thousands};

use steps::Steps;

/// The heading of flags for servers.
pub(super) const REQUESTS: &str = "Requests (with --summarizer anthropic or openai)";

/// What to do about batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Step {
    /// Send the requests for summaries that are due; leave the files unchanged for now
    Submit,
    /// Send, and wait until everything is collected and written
    Wait,
    /// Collect the answers of batches that have ended, and write what they complete
    Collect,
}

/// Flags for batches and prices.
#[derive(Debug, Default, Args)]
pub(super) struct BatchArgs {
    /// Ask for all summaries together, by the provider's batch API: cheaper, and answered within a day
    ///
    /// Files whose summaries have not arrived yet stay unchanged. Run the same command again with the next step: requests are not
    /// sent twice, and collected answers are in the store.
    #[arg(long, value_enum, value_name = "STEP", help_heading = REQUESTS)]
    pub(super) batch: Option<Step>,
    /// Write the requests to FILE instead of sending them; with --batch collect, read the answers from FILE
    #[arg(long, value_name = "FILE", requires = "batch", help_heading = REQUESTS)]
    batch_file: Option<PathBuf>,
    /// At most N requests in one batch [default: the provider's limit]
    #[arg(long, value_name = "N", requires = "batch", value_parser = clap::value_parser!(u32).range(1..), help_heading = REQUESTS)]
    batch_requests: Option<u32>,
    /// With --dry-run: price per million input tokens
    #[arg(long, value_name = "PRICE", requires = "dry_run", value_parser = price, help_heading = REQUESTS)]
    price_in: Option<f64>,
    /// With --dry-run: price per million output tokens
    #[arg(long, value_name = "PRICE", requires = "dry_run", value_parser = price, help_heading = REQUESTS)]
    price_out: Option<f64>,
}

/// The server of a run with batches, and how long it is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queue<'q> {
    pub(super) server: Option<&'q dyn BatchClient>,
    pub(super) most: Option<Duration>,
}

impl BatchArgs {
    /// The flags for prices that were given.
    pub(super) fn given(&self) -> impl Iterator<Item = &'static str> {
        given([
            ("--price-in", self.price_in.map(drop)),
            ("--price-out", self.price_out.map(drop)),
        ])
    }

    /// The maximum number of requests in a batch.
    #[cfg(feature = "http")]
    pub(super) fn most(&self) -> Option<usize> {
        self.batch_requests
            .map(|most| usize::try_from(most).unwrap_or(usize::MAX))
    }

    /// Processes the inputs that were found, in as many passes as the step takes.
    ///
    /// # Errors
    /// The errors of [`batch::run`]; [`ErrorKind::Usage`] for a run that cannot wait: one that reads a stream, or uses no server.
    pub(super) fn run(
        &self,
        (context, bar): (&Context, &Bar),
        queue: Queue<'_>,
        found: &Found,
        effective: &Effective,
        options: &Options,
    ) -> Result<Ran> {
        let Some(step) = self.batch else {
            return batch::run(found, effective, options, bar);
        };
        // It would be the first.
        let first = found.sources.iter().next().transpose()?;
        let is_stream = first.is_some_and(|first| *first == Source::Stdin);
        if is_stream || options.destination == Destination::Stdout {
            let message = "--batch takes files: a stream cannot wait for its summaries";
            return Err(Error::new(ErrorKind::Usage, message)
                .hint("name files or folders, and -o FILE or --out-dir for the outputs"));
        }
        let Some(server) = queue.server else {
            let message = "--batch asks a server for summaries, and the policy names none";
            return Err(Error::new(ErrorKind::Usage, message)
                .hint("add --summarizer anthropic or --summarizer openai"));
        };
        if options.effect == Effect::DryRun {
            return batch::run(found, effective, options, bar);
        }
        let mut steps = Steps::new((context, bar), server, effective, options);
        match (&self.batch_file, step) {
            (Some(file), Step::Submit) => steps.write_requests(found, file)?,
            (Some(file), Step::Collect) => steps.read_answers(found, file)?,
            (Some(_), Step::Wait) => {
                let message =
                    "--batch wait cannot be used with --batch-file: there is no server to wait for";
                return Err(Error::new(ErrorKind::Usage, message).hint(
                    "use --batch submit, and --batch collect when the answers have arrived",
                ));
            }
            (None, Step::Submit) => {
                steps.pass(found)?;
                steps.submit();
            }
            (None, Step::Collect) => {
                let stores = batch::stores(found, options)?;
                if steps.fetch(&stores).is_some() {
                    steps.pass(found)?;
                }
            }
            (None, Step::Wait) => steps.until_done(found, queue.most)?,
        }
        steps.into_ran()
    }

    /// What a run would ask for; `None` if it would request nothing.
    pub(super) fn estimate(&self, demand: Demand) -> Option<Estimate> {
        let of = |tokens: u64, price: Option<f64>| tokens as f64 * price.unwrap_or(0.0) / 1e6;
        let is_priced = self.price_in.is_some() || self.price_out.is_some();
        let price =
            || of(demand.input_tokens, self.price_in) + of(demand.output_tokens, self.price_out);
        (demand.requests > 0).then(|| Estimate {
            requests: demand.requests,
            input_tokens: demand.input_tokens,
            output_tokens: demand.output_tokens,
            price: is_priced.then(price),
        })
    }
}

/// The line that a dry run prints about it.
pub(super) fn would_send(estimate: Estimate) -> String {
    let price = match estimate.price {
        None => String::new(),
        Some(price) if price < 1.0 => format!(": at most about {price:.4}"),
        Some(price) => format!(": at most about {price:.2}"),
    };
    format!(
        "a run would send {} of about {} tokens, for answers of at most {} tokens{price}; parts of long conversations and second \
         answers come on top",
        count(estimate.requests, "request"),
        thousands(estimate.input_tokens),
        thousands(estimate.output_tokens)
    )
}

/// A price: a number that is not below 0.
fn price(text: &str) -> std::result::Result<f64, String> {
    let price: Option<f64> = text.trim().parse().ok();
    let price = price.filter(|price| price.is_finite() && *price >= 0.0);
    price.ok_or_else(|| "a price like 1.5, in the money of your choice".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_says_requests_tokens_and_money() {
        let mut args = BatchArgs {
            batch: None,
            batch_file: None,
            batch_requests: None,
            price_in: None,
            price_out: None,
        };
        assert_eq!(args.estimate(Demand::default()), None);
        let said = |args: &BatchArgs, demand| would_send(args.estimate(demand).unwrap());
        let demand = Demand {
            requests: 45,
            input_tokens: 1_500_000,
            output_tokens: 90_000,
        };
        let tokens = "a run would send 45 requests of about 1 500 000 tokens, for answers of at most 90 000 tokens";
        assert!(said(&args, demand).starts_with(&format!("{tokens};")));
        args.price_in = Some(1.5);
        args.price_out = Some(7.0);
        let priced = format!("{tokens}: at most about 2.88;");
        assert!(said(&args, demand).starts_with(&priced));
        for wrong in ["-1", "nan", "inf", "1 euro", ""] {
            assert!(price(wrong).is_err(), "{wrong}");
        }
    }
}
