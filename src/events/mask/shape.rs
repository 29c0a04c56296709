//! Tokens that are known by their shape: a literal prefix, then so many
//! characters of one kind. The prefixes are those that the services document.

use std::ops::Range;

use super::place::{begins_at, run, three_of};
use super::stand_in::{is_one_sign, is_placeholder, is_printed};
use super::value::is_machine_made;

/// Which bytes the rest of a token is made of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Class {
    /// Letters and digits.
    Alnum,
    /// Hexadecimal digits.
    Hex,
    /// Letters, digits, `-`, `_`.
    Url,
    /// Letters, digits, `-`, `_`, `.`.
    Dotted,
    /// Capital letters and digits.
    Upper,
    /// Base64 with its three signs, and `,`.
    Base64,
    /// The same, escaped for an address.
    Escaped,
}

impl Class {
    fn has(self, byte: u8) -> bool {
        match self {
            Class::Alnum => byte.is_ascii_alphanumeric(),
            Class::Hex => byte.is_ascii_hexdigit(),
            Class::Url => byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_',
            Class::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
            Class::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Class::Escaped => Class::Base64.has(byte) || byte == b'%',
            Class::Base64 => {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_' | b',')
            }
        }
    }
}

/// A token's prefix, and how it goes on.
#[derive(Debug)]
pub(super) struct Shape {
    prefix: &'static str,
    /// Where in the prefix the three rarest bytes begin.
    anchor: usize,
    class: Class,
    least: usize,
    most: usize,
    /// Whether the rest must hold a digit and no words: for prefixes that begin words too.
    digit: bool,
}

const OPEN: usize = 4096;

const fn open(prefix: &'static str, class: Class, least: usize) -> Shape {
    Shape {
        prefix,
        anchor: 0,
        class,
        least,
        most: OPEN,
        digit: false,
    }
}

const fn exact(prefix: &'static str, class: Class, length: usize) -> Shape {
    Shape {
        prefix,
        anchor: 0,
        class,
        least: length,
        most: length,
        digit: false,
    }
}

const fn wordy(prefix: &'static str, class: Class, least: usize) -> Shape {
    Shape {
        prefix,
        anchor: 0,
        class,
        least,
        most: OPEN,
        digit: true,
    }
}

const fn at(anchor: usize, shape: Shape) -> Shape {
    Shape { anchor, ..shape }
}

use Class::{Alnum, Base64, Dotted, Escaped, Hex, Upper, Url};

/// One line a service (or several lines); sorted by name of the service.
pub(super) const SHAPES: &[Shape] = &[
    at(9, open("AGE-SECRET-KEY-1", Upper, 40)),
    open("AKCp", Alnum, 60),         // Artifactory
    at(1, open("ABSK", Base64, 60)), // Bedrock
    wordy("sdk-", Url, 36),          // LaunchDarkly
    wordy("mob-", Url, 36),
    wordy("ico-", Alnum, 30),      // Infracost
    exact("oy2", Alnum, 43),       // NuGet
    open("RWRTY0Iy", Base64, 100), // minisign
    exact("AKIA", Upper, 16),
    exact("ASIA", Upper, 16),
    exact("ABIA", Upper, 16),
    exact("ACCA", Upper, 16),
    at(6, open("bedrock-api-key-", Base64, 40)),
    open("sk-ant-", Url, 20),          // Anthropic
    at(3, open("ATATT3", Base64, 60)), // Atlassian
    at(1, open("ATBB", Alnum, 28)),
    at(3, open("ATCTT3", Base64, 60)),
    wordy("bkua_", Alnum, 30),   // Buildkite
    wordy("CCIPAT_", Alnum, 30), // CircleCI
    wordy("sk_clerk_", Alnum, 20),
    open("CFPAT-", Url, 40), // Contentful
    wordy("cio", Alnum, 32), // crates.io
    wordy("cfut_", Url, 30), // Cloudflare
    exact("dapi", Hex, 32),  // Databricks
    open("ddp_", Alnum, 30),
    open("dop_v1_", Hex, 60),
    open("doo_v1_", Hex, 60),
    open("dor_v1_", Hex, 60),
    open("dckr_pat_", Url, 20),
    open("dckr_oat_", Url, 20),
    open("dp.pt.", Alnum, 40), // Doppler
    open("dp.st.", Dotted, 40),
    open("dp.ct.", Alnum, 40),
    open("dp.sa.", Alnum, 40),
    open("dt0c01.", Dotted, 60), // Dynatrace
    open("dt0s01.", Dotted, 60),
    wordy("duffel_live_", Url, 30),
    wordy("EAAA", Url, 56), // Square, Meta
    wordy("EAAC", Alnum, 60),
    wordy("EAAG", Alnum, 60),
    open("EZAK", Alnum, 50), // EasyPost
    open("EZTK", Alnum, 50),
    open("FLWSECK", Url, 12), // Flutterwave
    at(2, open("figd_", Url, 30)),
    at(2, open("FlyV1 ", Base64, 60)),
    open("fm2_", Base64, 60),
    wordy("fo1_", Url, 40),
    open("fio-u-", Url, 60), // Frame.io
    open("ghp_", Alnum, 30),
    open("gho_", Alnum, 30),
    open("ghu_", Alnum, 30),
    open("ghs_", Alnum, 30),
    open("ghr_", Alnum, 30),
    at(5, open("github_pat_", Url, 60)),
    open("glpat-", Dotted, 20),
    open("glptt-", Alnum, 30),
    open("glcbt-", Url, 18),
    open("gldt-", Url, 18),
    open("glrt-", Dotted, 18),
    open("glft-", Url, 18),
    open("glsoat-", Url, 18),
    at(2, open("gloas-", Alnum, 40)),
    open("GR1348941", Url, 20),
    open("AIza", Url, 30), // Google
    open("GOCSPX-", Url, 24),
    open("ya29.", Dotted, 30),
    open("1//0", Url, 30),
    open("glsa_", Url, 36), // Grafana
    open("glc_", Base64, 40),
    open("gsk_", Alnum, 40), // Groq
    open("hvs.", Url, 24),   // Vault
    open("hvb.", Url, 24),
    open("hvr.", Url, 24),
    open("HRKU-", Url, 36),
    open("hf_", Alnum, 30),
    open("api_org_", Alnum, 30),
    at(2, wordy("hubspot_pat-", Url, 30)),
    at(3, wordy("pat-na1-", Url, 30)),
    at(3, wordy("pat-eu1-", Url, 30)),
    at(1, wordy("ion_", Alnum, 40)),
    wordy("jina_", Url, 40),
    at(2, open("lin_api_", Alnum, 36)), // Linear
    at(2, open("lin_oauth_", Alnum, 36)),
    wordy("LTAI", Alnum, 16), // Alibaba
    open("key-", Hex, 32),    // Mailgun
    at(2, open("pubkey-", Hex, 32)),
    open("mlsn.", Hex, 60),
    open("NRAK-", Alnum, 27),
    open("NRJS-", Alnum, 19),
    open("NRII-", Url, 30),
    at(1, open("NRSP-", Alnum, 30)),
    open("npm_", Alnum, 34),
    open("ntn_", Alnum, 40),
    at(1, wordy("secret_", Alnum, 40)),
    open("nfp_", Alnum, 30), // Netlify
    open("nvapi-", Url, 50),
    open("sk-proj-", Url, 40), // OpenAI
    open("sk-svcacct-", Url, 40),
    open("sk-admin-", Url, 40),
    open("sk-or-v1-", Hex, 50), // OpenRouter
    wordy("sk-", Url, 32),
    open("pplx-", Alnum, 40),
    wordy("pcsk_", Url, 50), // Pinecone
    open("pscale_tkn_", Url, 30),
    open("pscale_pw_", Url, 30),
    open("pscale_oauth_", Url, 30),
    wordy("phc_", Alnum, 36), // PostHog
    wordy("phx_", Alnum, 36),
    open("PMAK-", Url, 50),
    at(1, open("pnu_", Alnum, 36)), // Prefect
    at(4, open("pypi-AgE", Url, 50)),
    open("pul-", Hex, 40),
    open("nsec1", Alnum, 50), // Nostr
    wordy("rdme_", Alnum, 50),
    wordy("rnd_", Alnum, 24), // Render
    wordy("re_", Url, 24),    // Resend
    exact("r8_", Alnum, 37),
    at(3, open("rubygems_", Hex, 48)),
    open("SG.", Dotted, 50),   // SendGrid
    open("xkeysib-", Url, 60), // Brevo
    open("xsmtpsib-", Url, 60),
    open("sntrys_", Base64, 50),
    open("sntryu_", Hex, 60),
    open("shpat_", Hex, 32), // Shopify
    open("shpca_", Hex, 32),
    open("shppa_", Hex, 32),
    open("shpss_", Hex, 32),
    open("shptka_", Hex, 32),
    open("xoxb-", Url, 20), // Slack
    open("xoxp-", Url, 20),
    open("xoxa-", Url, 20),
    open("xoxr-", Url, 20),
    open("xoxs-", Url, 20),
    open("xoxc-", Url, 20),
    open("xoxd-", Escaped, 20),
    open("xoxe-", Url, 20),
    open("xoxe.xoxp-", Url, 20),
    open("xapp-", Url, 30),
    open("sl.", Dotted, 100), // Dropbox
    wordy("snyk_", Dotted, 30),
    open("sq0atp-", Url, 22),
    open("sq0csp-", Url, 40),
    open("sq0idp-", Url, 22),
    open("sqp_", Hex, 40), // SonarQube
    open("squ_", Hex, 40),
    open("sqa_", Hex, 40),
    open("sk_live_", Alnum, 16), // Stripe
    open("sk_test_", Alnum, 16),
    open("rk_live_", Alnum, 16),
    open("rk_test_", Alnum, 16),
    open("whsec_", Base64, 24),
    open("sbp_", Hex, 40), // Supabase
    wordy("sb_secret_", Url, 24),
    open("tskey-", Url, 20),   // Tailscale
    wordy("tfp_", Alnum, 40),  // Typeform
    wordy("tgp_v1_", Url, 36), // Together
    wordy("vcp_", Alnum, 40),  // Vercel
    wordy("wandb_v1_", Url, 40),
    open("xai-", Alnum, 60),
    open("y0_", Url, 50), // Yandex
    open("AQVN", Url, 34),
    wordy("zpka_", Alnum, 24),
];

impl Shape {
    /// Three bytes that every such token has.
    pub(super) const fn anchor(&self) -> [u8; 3] {
        three_of(self.prefix, self.anchor)
    }

    /// The token whose anchor is at `at`.
    pub(super) fn check(&self, text: &[u8], at: usize) -> Option<Range<usize>> {
        let start = at.checked_sub(self.anchor)?;
        if !text[start..].starts_with(self.prefix.as_bytes()) {
            return None;
        }
        // A long prefix with a sign in it is proof by itself, also after a letter.
        let proof = self.prefix.len() >= 4 && self.prefix.ends_with(['_', '-', '.']);
        if !proof && !begins_at(text, start) {
            return None;
        }
        let body = start + self.prefix.len();
        let end = run(text, body, OPEN, |b| self.class.has(b));
        let length = end - body;
        if length < self.least || length > self.most {
            return None;
        }
        let body = &text[body..end];
        if self.digit && !(body.iter().any(u8::is_ascii_digit) && is_machine_made(body)) {
            return None;
        }
        // What has the very length of a token is one, whatever words are in it.
        let stands_in = if self.least == self.most {
            is_one_sign(body) || is_printed(body)
        } else {
            is_placeholder(body)
        };
        (!stands_in).then_some(start..end)
    }
}
