//! Tokens known by their prefix: one row each.
//!
//! Never looks left of a token further than for its edge.

use std::ops::Range;

use super::Found;
use super::bytes::{Set, begins};
use super::kind::Kind;
use super::value;

/// A token's form: a prefix, then so many bytes of a set, then none of that set.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) prefix: &'static str,
    kind: Kind,
    set: Set,
    least: usize,
    most: usize,
}

impl Shape {
    /// The token at an anchor that this shape's prefix matched, in whatever case.
    pub(super) fn find(&self, text: &[u8], anchor: &Range<usize>) -> Option<Found> {
        if &text[anchor.clone()] != self.prefix.as_bytes() || !begins(text, anchor.start) {
            return None;
        }
        let len = self.set.run(text, anchor.end, self.most);
        if len > self.most {
            return None;
        }
        let body = value::trim_end(&text[anchor.end..anchor.end + len]);
        if body.len() < self.least || !value::is_issued(body) {
            return None;
        }
        Some(Found {
            range: anchor.start..anchor.end + body.len(),
            kind: self.kind,
        })
    }
}

const fn shape(prefix: &'static str, kind: Kind, set: Set, least: usize, most: usize) -> Shape {
    Shape {
        prefix,
        kind,
        set,
        least,
        most,
    }
}

/// The lengths are the published ones, with room above where a service says that its tokens may grow.
pub(super) const SHAPES: &[Shape] = &[
    // Armour that went through base64 as a whole, as cluster settings hold it.
    shape(
        "LS0tLS1CRUdJTiBQUklWQVRF",
        Kind::PrivateKey,
        Set::Base64,
        40,
        32_768,
    ),
    shape(
        "LS0tLS1CRUdJTiBSU0EgUFJJVkFUR",
        Kind::PrivateKey,
        Set::Base64,
        40,
        32_768,
    ),
    shape(
        "LS0tLS1CRUdJTiBFQyBQUklWQVRF",
        Kind::PrivateKey,
        Set::Base64,
        40,
        32_768,
    ),
    shape(
        "LS0tLS1CRUdJTiBPUEVOU1NI",
        Kind::PrivateKey,
        Set::Base64,
        40,
        32_768,
    ),
    shape("AGE-SECRET-KEY-1", Kind::AgeKey, Set::Upper, 58, 58),
    shape("AKIA", Kind::AwsAccessKeyId, Set::Upper, 16, 16),
    shape("ASIA", Kind::AwsAccessKeyId, Set::Upper, 16, 16),
    shape("ABIA", Kind::AwsAccessKeyId, Set::Upper, 16, 16),
    shape("ACCA", Kind::AwsAccessKeyId, Set::Upper, 16, 16),
    shape("AIza", Kind::GoogleApiKey, Set::Word, 35, 35),
    shape("ya29.", Kind::GoogleOauth, Set::Dotted, 20, 2048),
    shape("GOCSPX-", Kind::GoogleOauth, Set::Word, 24, 40),
    shape("1//0", Kind::GoogleOauth, Set::Word, 40, 200),
    shape("ghp_", Kind::GithubToken, Set::Alnum, 20, 255),
    shape("gho_", Kind::GithubToken, Set::Alnum, 20, 255),
    shape("ghu_", Kind::GithubToken, Set::Alnum, 20, 255),
    shape("ghs_", Kind::GithubToken, Set::Dotted, 20, 2048),
    shape("ghr_", Kind::GithubToken, Set::Alnum, 20, 255),
    shape("github_pat_", Kind::GithubToken, Set::Word, 22, 255),
    shape("glpat-", Kind::GitlabToken, Set::Dotted, 20, 300),
    shape("gldt-", Kind::GitlabToken, Set::Word, 20, 64),
    shape("glrt-", Kind::GitlabToken, Set::Dotted, 20, 64),
    shape("glptt-", Kind::GitlabToken, Set::Hex, 40, 40),
    shape("glcbt-", Kind::GitlabToken, Set::Word, 20, 64),
    shape("glsoat-", Kind::GitlabToken, Set::Word, 20, 64),
    shape("glft-", Kind::GitlabToken, Set::Word, 20, 64),
    shape("glimt-", Kind::GitlabToken, Set::Word, 20, 64),
    shape("glagent-", Kind::GitlabToken, Set::Word, 40, 64),
    shape("gloas-", Kind::GitlabToken, Set::Hex, 64, 64),
    shape("GR1348941", Kind::GitlabToken, Set::Word, 20, 20),
    shape("ATATT3", Kind::AtlassianToken, Set::Base64, 80, 300),
    shape("ATCTT3", Kind::AtlassianToken, Set::Base64, 80, 300),
    shape("ATBB", Kind::AtlassianToken, Set::Alnum, 32, 32),
    shape("xoxb-", Kind::SlackToken, Set::Word, 20, 255),
    shape("xoxp-", Kind::SlackToken, Set::Word, 20, 255),
    shape("xoxa-", Kind::SlackToken, Set::Word, 20, 255),
    shape("xoxr-", Kind::SlackToken, Set::Word, 20, 255),
    shape("xoxs-", Kind::SlackToken, Set::Word, 20, 255),
    shape("xoxo-", Kind::SlackToken, Set::Word, 20, 255),
    shape("xoxc-", Kind::SlackToken, Set::Word, 20, 255),
    shape("xoxd-", Kind::SlackToken, Set::Base64, 20, 512),
    shape("xoxe-", Kind::SlackToken, Set::Word, 20, 512),
    shape("xoxe.xox", Kind::SlackToken, Set::Word, 20, 512),
    shape("xapp-", Kind::SlackToken, Set::Word, 20, 255),
    shape("sk_live_", Kind::StripeKey, Set::Alnum, 10, 255),
    shape("sk_test_", Kind::StripeKey, Set::Alnum, 10, 255),
    shape("rk_live_", Kind::StripeKey, Set::Alnum, 10, 255),
    shape("rk_test_", Kind::StripeKey, Set::Alnum, 10, 255),
    shape("whsec_", Kind::StripeKey, Set::Base64, 24, 255),
    shape("sk-ant-", Kind::AnthropicKey, Set::Word, 20, 255),
    shape("sk-", Kind::OpenaiKey, Set::Word, 20, 300),
    shape("gsk_", Kind::ModelKey, Set::Alnum, 40, 64),
    shape("xai-", Kind::ModelKey, Set::Alnum, 60, 100),
    shape("pplx-", Kind::ModelKey, Set::Alnum, 40, 64),
    shape("r8_", Kind::ModelKey, Set::Alnum, 37, 40),
    shape("nvapi-", Kind::ModelKey, Set::Word, 50, 100),
    shape("csk-", Kind::ModelKey, Set::Alnum, 40, 64),
    shape("jina_", Kind::ModelKey, Set::Word, 40, 80),
    shape("lsv2_pt_", Kind::ModelKey, Set::Word, 40, 64),
    shape("lsv2_sk_", Kind::ModelKey, Set::Word, 40, 64),
    shape("pcsk_", Kind::ModelKey, Set::Word, 50, 100),
    shape("tvly-", Kind::ModelKey, Set::Word, 28, 64),
    shape("hf_", Kind::HuggingFaceToken, Set::Alnum, 30, 44),
    shape("api_org_", Kind::HuggingFaceToken, Set::Alnum, 30, 44),
    shape("npm_", Kind::NpmToken, Set::Alnum, 36, 36),
    shape("pypi-AgE", Kind::PypiToken, Set::Word, 50, 1024),
    shape("rubygems_", Kind::RegistryToken, Set::Hex, 48, 48),
    shape("cio", Kind::RegistryToken, Set::Alnum, 32, 32),
    shape("oy2", Kind::RegistryToken, Set::Alnum, 43, 43),
    shape("CLOJARS_", Kind::RegistryToken, Set::Alnum, 60, 60),
    shape("dckr_pat_", Kind::DockerToken, Set::Word, 24, 64),
    shape("dckr_oat_", Kind::DockerToken, Set::Word, 24, 64),
    shape("dop_v1_", Kind::DigitaloceanToken, Set::Hex, 64, 64),
    shape("doo_v1_", Kind::DigitaloceanToken, Set::Hex, 64, 64),
    shape("dor_v1_", Kind::DigitaloceanToken, Set::Hex, 64, 64),
    shape("SG.", Kind::SendgridKey, Set::Dotted, 60, 80),
    shape("hvs.", Kind::VaultToken, Set::Word, 24, 255),
    shape("hvb.", Kind::VaultToken, Set::Word, 24, 400),
    shape("hvr.", Kind::VaultToken, Set::Word, 24, 255),
    shape("dapi", Kind::DatabricksToken, Set::Hex, 32, 32),
    shape("dose", Kind::DatabricksToken, Set::Hex, 32, 32),
    shape("shpat_", Kind::ShopifyToken, Set::Hex, 32, 32),
    shape("shpca_", Kind::ShopifyToken, Set::Hex, 32, 32),
    shape("shppa_", Kind::ShopifyToken, Set::Hex, 32, 32),
    shape("shpss_", Kind::ShopifyToken, Set::Hex, 32, 32),
    shape("key-", Kind::MailgunKey, Set::Hex, 32, 32),
    shape("NRAK-", Kind::NewRelicKey, Set::Upper, 27, 27),
    shape("NRJS-", Kind::NewRelicKey, Set::Hex, 19, 19),
    shape("NRII-", Kind::NewRelicKey, Set::Word, 32, 32),
    shape("lin_api_", Kind::LinearKey, Set::Alnum, 32, 64),
    shape("lin_oauth_", Kind::LinearKey, Set::Alnum, 32, 80),
    shape("secret_", Kind::NotionToken, Set::Alnum, 43, 43),
    shape("ntn_", Kind::NotionToken, Set::Alnum, 40, 60),
    shape("figd_", Kind::FigmaToken, Set::Word, 36, 64),
    shape("figu_", Kind::FigmaToken, Set::Word, 36, 64),
    shape("figo_", Kind::FigmaToken, Set::Word, 36, 64),
    shape("sbp_", Kind::SupabaseKey, Set::Hex, 40, 40),
    shape("sb_secret_", Kind::SupabaseKey, Set::Word, 28, 64),
    shape("glsa_", Kind::MonitoringToken, Set::Word, 41, 41),
    shape("glc_", Kind::MonitoringToken, Set::Base64, 32, 500),
    shape("sntrys_", Kind::MonitoringToken, Set::Base64, 60, 500),
    shape("sntryu_", Kind::MonitoringToken, Set::Hex, 64, 64),
    shape("squ_", Kind::ServiceToken, Set::Hex, 40, 40),
    shape("sqp_", Kind::ServiceToken, Set::Hex, 40, 40),
    shape("sqa_", Kind::ServiceToken, Set::Hex, 40, 40),
    shape("PMAK-", Kind::ServiceToken, Set::Word, 59, 59),
    shape("pul-", Kind::ServiceToken, Set::Hex, 40, 40),
    shape("dp.pt.", Kind::ServiceToken, Set::Alnum, 40, 44),
    shape("dp.st.", Kind::ServiceToken, Set::Dotted, 40, 80),
    shape("dp.ct.", Kind::ServiceToken, Set::Alnum, 40, 44),
    shape("pscale_tkn_", Kind::ServiceToken, Set::Dotted, 32, 64),
    shape("pscale_pw_", Kind::ServiceToken, Set::Dotted, 32, 64),
    shape("pscale_oauth_", Kind::ServiceToken, Set::Dotted, 32, 64),
    shape("sl.B", Kind::ServiceToken, Set::Word, 60, 2000),
    shape("sl.u.", Kind::ServiceToken, Set::Word, 60, 2000),
    shape("sq0atp-", Kind::ServiceToken, Set::Word, 22, 22),
    shape("sq0csp-", Kind::ServiceToken, Set::Word, 43, 43),
    shape("aio_", Kind::ServiceToken, Set::Alnum, 28, 28),
    shape("ops_eyJ", Kind::ServiceToken, Set::Base64, 100, 2000),
    shape("bkua_", Kind::ServiceToken, Set::Hex, 40, 40),
    shape("CCIPAT_", Kind::ServiceToken, Set::Word, 40, 100),
    shape("tskey-", Kind::ServiceToken, Set::Word, 20, 100),
    shape("fo1_", Kind::ServiceToken, Set::Word, 43, 43),
    shape("fm2_", Kind::ServiceToken, Set::Base64, 100, 2000),
    shape("nfp_", Kind::ServiceToken, Set::Alnum, 36, 40),
    shape("rnd_", Kind::ServiceToken, Set::Alnum, 28, 40),
    shape("napi_", Kind::ServiceToken, Set::Alnum, 40, 80),
    shape("sgp_", Kind::ServiceToken, Set::Word, 40, 80),
    shape("dt0c01.", Kind::ServiceToken, Set::Dotted, 80, 100),
    shape("phx_", Kind::ServiceToken, Set::Alnum, 40, 60),
    shape("HRKU-", Kind::ServiceToken, Set::Word, 36, 80),
    shape("FLWSECK", Kind::ServiceToken, Set::Word, 32, 50),
    shape("EZAK", Kind::ServiceToken, Set::Alnum, 54, 54),
    shape("AKCp", Kind::ServiceToken, Set::Alnum, 69, 69),
];
