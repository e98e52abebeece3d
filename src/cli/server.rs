//! Flags for requests to a summary server, and the key from the environment.
//!
//! None of them affects the text of a summary, so none is a policy key. An API key never comes from a flag, which every user of the
//! machine could read, nor from a policy file, which may be shared.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use clap::Args;

use super::batched::{BatchArgs, REQUESTS};
use super::useless_flags::given;
use crate::artifacts::{BatchClient, SummaryModel};
use crate::batch::Effect;
use crate::error::Result;
use crate::policy::Policy;

/// Flags for requests.
#[derive(Debug, Args)]
pub(super) struct ServerArgs {
    /// Maximum number of concurrent requests [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), help_heading = REQUESTS)]
    max_concurrency: Option<u16>,
    /// Send at most N requests; summaries beyond that are treated as failed (summary.on_failure)
    #[arg(long, value_name = "N", help_heading = REQUESTS)]
    max_requests: Option<u64>,
    /// Send at most about N tokens in all
    #[arg(long, value_name = "N", help_heading = REQUESTS)]
    max_input_tokens: Option<u64>,
    /// Time limit for one request [default: 300]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600), help_heading = REQUESTS)]
    request_timeout: Option<u64>,
    /// How long to wait for a server that does not respond: 90s, 10m, 2h; 0 = not at all
    ///
    /// Meanwhile, summaries wait in a queue. The default is an hour for a server that has answered before, and 10 s for one that
    /// never has. The presets of the five systems have their own retries and do not wait. With --batch wait: how long to wait for
    /// batches; by default until they have ended.
    #[arg(long, value_name = "TIME", value_parser = wait, help_heading = REQUESTS)]
    max_wait: Option<std::time::Duration>,
    /// Allow http:// addresses outside this machine
    #[arg(long, help_heading = REQUESTS)]
    allow_http: bool,
}

/// The server of a run.
pub(super) struct Asked {
    /// The model that writes the summaries.
    pub(super) model: Box<dyn SummaryModel>,
    /// The maximum number of concurrent requests.
    pub(super) at_once: usize,
    /// The same server as a batch client, if requests are held back.
    pub(super) postponed: Arc<dyn BatchClient>,
}

impl ServerArgs {
    /// Those of these flags that were given.
    pub(super) fn given(&self) -> impl Iterator<Item = &'static str> {
        given([
            ("--max-concurrency", self.max_concurrency.map(drop)),
            ("--max-requests", self.max_requests.map(drop)),
            ("--max-input-tokens", self.max_input_tokens.map(drop)),
            ("--request-timeout", self.request_timeout.map(drop)),
            ("--max-wait", self.max_wait.map(drop)),
            ("--allow-http", self.allow_http.then_some(())),
        ])
    }

    /// Always `None`: the pipeline then rejects a policy that names a provider.
    #[cfg(not(feature = "http"))]
    pub(super) fn server(
        &self,
        _: &Policy,
        _: Effect,
        _: &BatchArgs,
        _: &Arc<AtomicUsize>,
    ) -> Result<Option<Asked>> {
        Ok(None)
    }

    /// The server for summaries, if the policy names one.
    #[cfg(feature = "http")]
    pub(super) fn server(
        &self,
        policy: &Policy,
        effect: Effect,
        batch: &BatchArgs,
        stop: &Arc<AtomicUsize>,
    ) -> Result<Option<Asked>> {
        use super::batched::Step;
        use crate::http::{Endpoint, Key, Limits, Network, PlainHttp, Provider, Server};
        use crate::pipeline::asks_a_server;

        let Some(provider) = Provider::of(policy.summary.source).filter(|_| asks_a_server(policy))
        else {
            return Ok(None);
        };
        let plain = if self.allow_http {
            PlainHttp::Anywhere
        } else {
            PlainHttp::LoopbackOnly
        };
        let key = Key::from_environment(provider)?;
        let endpoint = Endpoint::new(provider, &policy.summary.base_url, key, plain)?;
        let at_once = usize::from(self.max_concurrency.unwrap_or(4));
        let limits = Limits {
            concurrent: at_once,
            requests: self.max_requests,
            input_tokens: self.max_input_tokens,
            timeout: std::time::Duration::from_secs(self.request_timeout.unwrap_or(300)),
            patience: self.patience(),
            batch: batch.most(),
        };
        let network = match (effect, batch.batch) {
            (Effect::DryRun, _) => Network::Offline,
            (Effect::Write, None) => Network::Online,
            (Effect::Write, Some(Step::Submit | Step::Wait)) => Network::Postponed,
            (Effect::Write, Some(Step::Collect)) => Network::Collected,
        };
        let breaker = policy.summary.host_breaker();
        let server = Server::new(endpoint, breaker, limits, network, stop.clone());
        let server = Arc::new(server);
        Ok(Some(Asked {
            model: Box::new(server.clone()),
            at_once,
            postponed: server,
        }))
    }

    /// How long to wait for batches; `None`: until they end.
    pub(super) fn batches_wait(&self) -> Option<std::time::Duration> {
        self.max_wait
    }

    #[cfg(feature = "http")]
    fn patience(&self) -> Option<crate::http::Patience> {
        use std::time::Duration;

        let (answered, silent) = match self.max_wait {
            Some(wait) if wait.is_zero() => return None,
            Some(wait) => (wait, wait),
            None => (Duration::from_secs(3_600), Duration::from_secs(10)),
        };
        Some(crate::http::Patience { answered, silent })
    }
}

/// `90s`, `10m`, `1h30m`; 0 without a unit.
fn wait(text: &str) -> std::result::Result<std::time::Duration, String> {
    let wrong = || "a time like 90s, 10m or 2h, or 0".to_owned();
    if text == "0" {
        return Ok(std::time::Duration::ZERO);
    }
    let time: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    time.try_into().map_err(|_| wrong())
}
