//! The kinds of secrets, and the name of each in a mask.
//!
//! Never defines how a secret is found.

use std::fmt;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)+) => {
        /// A kind of secret. Declared from the most to the least specific: where two secrets overlap, the kind declared earlier
        /// names both.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[$doc])* $kind,)+
        }

        impl Kind {
            /// Every kind, in its stable order.
            pub const ALL: &'static [Kind] = &[$(Kind::$kind,)+];

            /// The name in a mask: lower-case words joined by hyphens.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)+
                }
            }

            /// The kind with this name.
            pub(super) fn named(name: &str) -> Option<Kind> {
                match name {
                    $($name => Some(Kind::$kind),)+
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// The body of a private key in PEM or PGP armour.
    PrivateKey = "private-key",
    /// An age identity.
    AgeKey = "age-key",
    /// An AWS access key's id.
    AwsAccessKeyId = "aws-access-key-id",
    /// An AWS secret access key.
    AwsSecretKey = "aws-secret-key",
    /// A key of an Azure account, or a secret of an Entra client.
    AzureKey = "azure-key",
    /// A Google API key.
    GoogleApiKey = "google-api-key",
    /// A Google OAuth token or client secret.
    GoogleOauth = "google-oauth",
    /// A GitHub token.
    GithubToken = "github-token",
    /// A GitLab token.
    GitlabToken = "gitlab-token",
    /// A Bitbucket or Atlassian token.
    AtlassianToken = "atlassian-token",
    /// A Slack token.
    SlackToken = "slack-token",
    /// The secret path of a Slack webhook.
    SlackWebhook = "slack-webhook",
    /// A Stripe key, of live or test mode, or a webhook's signing secret.
    StripeKey = "stripe-key",
    /// An Anthropic key.
    AnthropicKey = "anthropic-key",
    /// An OpenAI key, or one in its form.
    OpenaiKey = "openai-key",
    /// A key of another model provider (Groq, xAI, Replicate, …).
    ModelKey = "model-key",
    /// A Hugging Face token.
    HuggingFaceToken = "hugging-face-token",
    /// An npm token.
    NpmToken = "npm-token",
    /// A PyPI token.
    PypiToken = "pypi-token",
    /// A crates.io, RubyGems, NuGet or Clojars token.
    RegistryToken = "registry-token",
    /// A Docker Hub token, or a registry's login in a Docker configuration.
    DockerToken = "docker-token",
    /// A DigitalOcean token.
    DigitaloceanToken = "digitalocean-token",
    /// A SendGrid key.
    SendgridKey = "sendgrid-key",
    /// A Twilio key.
    TwilioKey = "twilio-key",
    /// A Mailgun key.
    MailgunKey = "mailgun-key",
    /// A Telegram bot's token.
    TelegramToken = "telegram-token",
    /// A Discord bot's token.
    DiscordToken = "discord-token",
    /// The token in a Discord webhook's address.
    DiscordWebhook = "discord-webhook",
    /// A HashiCorp token: Vault, or Terraform Cloud.
    VaultToken = "vault-token",
    /// A Databricks token.
    DatabricksToken = "databricks-token",
    /// A Shopify token.
    ShopifyToken = "shopify-token",
    /// A New Relic key.
    NewRelicKey = "new-relic-key",
    /// A Linear key.
    LinearKey = "linear-key",
    /// A Notion token.
    NotionToken = "notion-token",
    /// A Figma token.
    FigmaToken = "figma-token",
    /// A Supabase key.
    SupabaseKey = "supabase-key",
    /// A Grafana or Sentry token.
    MonitoringToken = "monitoring-token",
    /// A token of a smaller service, known by its prefix.
    ServiceToken = "service-token",
    /// The signature of a URL that grants access to anyone.
    SignedUrl = "signed-url",
    /// A JSON web token.
    Jwt = "jwt",
    /// The password in a URL: of a database, a queue or a web server.
    UrlPassword = "url-password",
    /// The credentials of a `Basic` authorization.
    BasicAuth = "basic-auth",
    /// The credentials of a `Bearer` or another authorization.
    BearerToken = "bearer-token",
    /// The value of a session's cookie.
    SessionCookie = "session-cookie",
    /// A password, recognised by the name before it.
    Password = "password",
    /// A key, token or secret, recognised by the name before it.
    Secret = "secret",
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
