//! The URL that requests are sent to, and the header that carries the key.
//!
//! Rejects URLs that would send a key or a transcript to an unintended place.

use std::net::IpAddr;

use ureq::http::Uri;

use super::key::Key;
use super::provider::Provider;
use crate::error::{Error, ErrorKind, Result};

/// Whether requests may be sent without encryption (`http://`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainHttp {
    /// Only to this machine.
    LoopbackOnly,
    /// To any server.
    Anywhere,
}

/// The header that carries the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// `x-api-key`: Anthropic.
    XApiKey,
    /// `authorization: Bearer …`: OpenAI and most compatible servers.
    Bearer,
    /// `api-key`: Azure.
    ApiKey,
}

/// A server and the key for it.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The API that it speaks.
    pub provider: Provider,
    /// The URL that requests are posted to.
    pub url: String,
    /// Host and port, for messages.
    pub host: String,
    /// Whether it is the provider's own server.
    pub is_own: bool,
    /// The key; the user's own server may need none.
    pub key: Option<Key>,
    /// How the key is sent.
    pub auth: Auth,
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
            // The part before an @ may be a password.
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
        let is_azure = provider == Provider::Openai && is_azure(host, uri.path());
        let version = uri.query().filter(|query| is_azure && is_version(query));
        if uri.query() != version || base.contains('#') {
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
            (Provider::Openai, "") if is_azure => "/openai/v1/chat/completions".to_owned(),
            (Provider::Openai, "") => "/v1/chat/completions".to_owned(),
            // The form that consoles show.
            (Provider::Openai, path) if path.ends_with("/chat/completions") => path.to_owned(),
            (Provider::Openai, path) => format!("{path}/chat/completions"),
        };
        let version = version.map_or(String::new(), |version| format!("?{version}"));
        Ok(Endpoint {
            provider,
            url: format!("{scheme}://{authority}{path}{version}"),
            host: authority.to_string(),
            is_own,
            key,
            auth: match provider {
                Provider::Anthropic => Auth::XApiKey,
                Provider::Openai if is_azure => Auth::ApiKey,
                Provider::Openai => Auth::Bearer,
            },
        })
    }
}

/// Whether a host is this machine.
fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.eq_ignore_ascii_case("localhost")
        || bare
            .parse::<IpAddr>()
            // `::ffff:127.0.0.1` is an IPv4 address, too.
            .is_ok_and(|address| address.to_canonical().is_loopback())
}

/// Suffixes of Azure's host names.
const AZURE: [&str; 3] = [
    ".openai.azure.com",
    ".cognitiveservices.azure.com",
    ".services.ai.azure.com",
];

/// Whether a URL is Azure's, judging by its host or, behind a gateway, by a deployment in its path.
fn is_azure(host: &str, path: &str) -> bool {
    let host = host.to_ascii_lowercase();
    AZURE.iter().any(|end| host.ends_with(end)) || path.contains("/openai/deployments/")
}

/// Whether a query consists only of the version of Azure's API.
fn is_version(query: &str) -> bool {
    let version = query.strip_prefix("api-version=");
    version.is_some_and(|version| {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.');
        !version.is_empty() && version.bytes().all(is_plain)
    })
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
                "http://[::ffff:127.0.0.1]:9/v1",
                "http://[::ffff:127.0.0.1]:9/v1/chat/completions",
            ),
            (
                Openai,
                "http://localhost/api/v3",
                "http://localhost/api/v3/chat/completions",
            ),
            (
                Openai,
                "https://h/openai/v1/chat/completions",
                "https://h/openai/v1/chat/completions",
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
    fn azure_has_a_version_in_its_address_and_a_header_of_its_own() {
        let of = |base: &str| {
            let key = Key::new("k", "K").unwrap();
            let endpoint =
                Endpoint::new(Provider::Openai, base, Some(key), PlainHttp::LoopbackOnly);
            endpoint.map(|endpoint| (endpoint.url, endpoint.auth))
        };
        let deployment = "https://a.openai.azure.com/openai/deployments/d";
        let version = "?api-version=2024-10-21";
        let whole = format!("{deployment}/chat/completions{version}");
        for base in [&format!("{deployment}{version}"), &whole] {
            assert_eq!(of(base).unwrap(), (whole.clone(), Auth::ApiKey));
        }
        let v1 = "https://a.openai.azure.com/openai/v1/chat/completions".to_owned();
        for base in [
            "https://a.openai.azure.com",
            "https://a.openai.azure.com/openai/v1/",
        ] {
            assert_eq!(of(base).unwrap(), (v1.clone(), Auth::ApiKey));
        }
        let gateway = "http://localhost:9/openai/deployments/d?api-version=preview";
        assert_eq!(of(gateway).unwrap().1, Auth::ApiKey);
        for base in [
            "https://a.openai.azure.com?api-version=",
            "https://a.openai.azure.com?api-version=1&x=2",
            "https://a.openai.azure.com.example.com?api-version=1",
            "https://a.openai.azure.com/#api-version=1",
        ] {
            assert!(of(base).is_err(), "{base}");
        }
        assert_eq!(of("https://azure.example.com").unwrap().1, Auth::Bearer);
    }
}
