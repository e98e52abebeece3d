//! The address that requests are sent to, and the key that they carry.
//!
//! Refuses addresses that would send a key or a transcript where the user did not mean it to go. A key
//! is read from the environment alone, and is never shown.

use std::fmt;
use std::net::IpAddr;

use ureq::http::Uri;

use crate::error::{Error, ErrorKind, Result};
use crate::policy::Source;

/// The API that a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Chat Completions API.
    Openai,
}

/// Whether requests may be sent without encryption (`http://`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainHttp {
    /// Only to this machine.
    LoopbackOnly,
    /// To any server.
    Anywhere,
}

/// An API key; never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

/// A server and the key for it.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The API that it speaks.
    pub provider: Provider,
    /// The address that requests are posted to.
    pub url: String,
    /// Host and port, for messages.
    pub host: String,
    /// Whether it is the provider's own server.
    pub is_own: bool,
    /// The key; a server of the user's own may need none.
    pub key: Option<Key>,
}

impl Provider {
    /// The provider that writes summaries, if the policy names one.
    pub fn of(source: Source) -> Option<Self> {
        match source {
            Source::Extractive | Source::Scripted => None,
            Source::Anthropic => Some(Provider::Anthropic),
            Source::Openai => Some(Provider::Openai),
        }
    }

    /// The environment variable that holds the key.
    pub fn key_variable(self) -> &'static str {
        match self {
            Provider::Anthropic => "ANTHROPIC_API_KEY",
            Provider::Openai => "OPENAI_API_KEY",
        }
    }

    /// The base address of the provider's own server.
    fn own(self) -> &'static str {
        match self {
            Provider::Anthropic => "https://api.anthropic.com",
            Provider::Openai => "https://api.openai.com/v1",
        }
    }
}

impl Key {
    /// A key as the user gives it, without whitespace around it. `variable` is named in the error.
    ///
    /// # Errors
    /// [`ErrorKind::Config`]: it is empty, or has characters that a header cannot hold. The message does not show them.
    pub fn new(text: &str, variable: &str) -> Result<Self> {
        let key = text.trim();
        if key.is_empty() || !key.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(Error::new(
                ErrorKind::Config,
                format!(
                    "{variable} is not a valid key: it is empty, or has characters that a key cannot have"
                ),
            )
            .hint("set it to the key alone, without quotes, spaces or line breaks"));
        }
        Ok(Key(key.to_owned()))
    }

    /// The provider's key, if the environment has one.
    ///
    /// # Errors
    /// Those of [`Key::new`], and if the variable is not Unicode.
    pub fn from_environment(provider: Provider) -> Result<Option<Self>> {
        let variable = provider.key_variable();
        let Some(value) = std::env::var_os(variable).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let value = value.into_string().map_err(|_| {
            let message = format!("{variable} is not a valid key: it is not Unicode text");
            Error::new(ErrorKind::Config, message)
        })?;
        Key::new(&value, variable).map(Some)
    }

    /// The key, for the header that carries it.
    pub(super) fn secret(&self) -> &str {
        &self.0
    }

    /// `text` with the key masked, in case a server repeats it.
    pub(super) fn mask(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

impl Endpoint {
    /// The endpoint of a provider's API at `base` ("" = the provider's own server).
    ///
    /// # Errors
    /// [`ErrorKind::Config`]: `base` is not an address, contains a user name or a query, or is not encrypted and not on this
    /// machine; or the provider's own server is to be used without a key.
    pub fn new(provider: Provider, base: &str, key: Option<Key>, plain: PlainHttp) -> Result<Self> {
        let is_own = base.is_empty();
        let base = if is_own { provider.own() } else { base };
        let wrong = |why: &str, hint: &str| {
            // What precedes an @ may be a password.
            let shown = base.rsplit('@').next().unwrap_or_default();
            let shown = crate::text::printable(shown).into_owned();
            Err(Error::new(
                ErrorKind::Config,
                format!("summary.base_url {shown}: {why}"),
            )
            .hint(hint))
        };
        let form = "an address is https://HOST[:PORT][/PATH]";
        let Ok(uri) = base.parse::<Uri>() else {
            return wrong("not an address", form);
        };
        let (Some(scheme), Some(host), Some(authority)) =
            (uri.scheme_str(), uri.host(), uri.authority())
        else {
            return wrong("not an address", form);
        };
        if authority.as_str().contains('@') {
            return wrong(
                "it contains a user name or password",
                "keys come from the environment, never from an address",
            );
        }
        if uri.query().is_some() || base.contains('#') {
            return wrong("it contains a query or a fragment", form);
        }
        match (scheme, plain) {
            ("https", _) | ("http", PlainHttp::Anywhere) => {}
            ("http", PlainHttp::LoopbackOnly) if is_loopback(host) => {}
            ("http", PlainHttp::LoopbackOnly) => {
                return wrong(
                    "without encryption, anyone on the network path can read the transcript and the key",
                    "use https://, or --allow-http if the network is your own",
                );
            }
            _ => return wrong("it begins with neither https:// nor http://", form),
        }
        if key.is_none() && is_own {
            let variable = provider.key_variable();
            return Err(
                Error::new(ErrorKind::Config, format!("{variable} is not set"))
                    .hint("set it to your key, or name your own server with --base-url"),
            );
        }
        let path = uri.path().trim_end_matches('/');
        let path = match (provider, path) {
            (Provider::Anthropic, path) if path.ends_with("/v1") => format!("{path}/messages"),
            (Provider::Anthropic, path) => format!("{path}/v1/messages"),
            (Provider::Openai, "") => "/v1/chat/completions".to_owned(),
            (Provider::Openai, path) => format!("{path}/chat/completions"),
        };
        Ok(Endpoint {
            provider,
            url: format!("{scheme}://{authority}{path}"),
            host: authority.to_string(),
            is_own,
            key,
        })
    }
}

/// Whether a host is this machine.
fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.eq_ignore_ascii_case("localhost")
        || bare
            .parse::<IpAddr>()
            // `::ffff:127.0.0.1` is an address of version 4, too.
            .is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(provider: Provider, base: &str) -> Result<String> {
        let key = Key::new("k", "K").unwrap();
        Endpoint::new(provider, base, Some(key), PlainHttp::LoopbackOnly)
            .map(|endpoint| endpoint.url)
    }

    #[test]
    fn the_path_of_each_provider_is_added_once() {
        use Provider::{Anthropic, Openai};
        for (provider, base, expected) in [
            (Anthropic, "", "https://api.anthropic.com/v1/messages"),
            (Anthropic, "https://h/v1", "https://h/v1/messages"),
            (
                Anthropic,
                "http://127.0.0.1:9/anthropic/",
                "http://127.0.0.1:9/anthropic/v1/messages",
            ),
            (Openai, "", "https://api.openai.com/v1/chat/completions"),
            (
                Openai,
                "http://[::1]:9",
                "http://[::1]:9/v1/chat/completions",
            ),
            (
                Openai,
                "http://localhost/api/v3",
                "http://localhost/api/v3/chat/completions",
            ),
        ] {
            assert_eq!(url(provider, base).unwrap(), expected);
        }
    }

    #[test]
    fn what_would_leak_is_refused() {
        for (base, why) in [
            ("http://example.com", "without encryption"),
            ("http://127.0.0.1.example.com", "without encryption"),
            ("http://127.0.0.1@example.com", "user name"),
            ("https://me:secret@example.com", "user name"),
            ("https://example.com/?key=1", "a query"),
            ("ftp://example.com", "neither"),
            ("example.com", "not an address"),
            ("https://", "not an address"),
            ("https://a b", "not an address"),
        ] {
            let error = url(Provider::Openai, base).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Config, "{base}");
            assert!(error.message.contains(why), "{base}: {error}");
            assert!(!error.message.contains("secret"), "{error}");
        }
        let key = Key::new("k", "K").unwrap();
        let plain = Endpoint::new(Provider::Openai, "http://h", Some(key), PlainHttp::Anywhere);
        assert_eq!(plain.unwrap().host, "h");
    }

    #[test]
    fn only_the_providers_own_server_requires_a_key() {
        let without =
            |base| Endpoint::new(Provider::Anthropic, base, None, PlainHttp::LoopbackOnly);
        let error = without("").unwrap_err();
        assert_eq!(error.message, "ANTHROPIC_API_KEY is not set");
        assert!(without("http://127.0.0.1:1").is_ok());
    }

    #[test]
    fn a_key_is_one_word_and_never_shown() {
        let key = Key::new(" sk-123\n", "K").unwrap();
        assert_eq!(
            (key.secret(), format!("{key:?}").as_str()),
            ("sk-123", "Key(…)")
        );
        assert_eq!(key.mask("bad key sk-123."), "bad key [key].");
        for wrong in ["", " ", "a\nb", "a b", "é", "a\u{7f}"] {
            let error = Key::new(wrong, "K").unwrap_err();
            assert_eq!(error.kind, ErrorKind::Config, "{wrong:?}");
        }
    }
}
