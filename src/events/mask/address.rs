//! Secrets in addresses: passwords, webhooks, tokens of a query.

use std::ops::Range;

use super::place::{contains, find, has_word_at, line_before, run, run_back};
use super::random::is_random;
use super::special::is_base64url;
use super::stand_in::is_placeholder;
use super::value::{Form, Promise, is_machine_made, is_secret};

/// Addresses that are a permission: what follows these parts is.
const HOOKS: &[&str] = &[
    "hooks.slack.com/services/",
    "hooks.slack.com/workflows/",
    "hooks.slack.com/triggers/",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
    "webhook.office.com/webhookb2/",
    "outlook.office.com/webhook/",
    "hooks.zapier.com/hooks/catch/",
    "make.com/",
    "hook.integromat.com/",
    "maker.ifttt.com/trigger/",
    "maker.ifttt.com/use/",
    "api.telegram.org/bot",
    "open.feishu.cn/open-apis/bot/v2/hook/",
    "open.larksuite.com/open-apis/bot/v2/hook/",
    "logs-01.loggly.com/inputs/",
    "events.pagerduty.com/integration/",
    "hc-ping.com/",
    "alchemy.com/v2/",
    "infura.io/v3/",
    "quiknode.pro/",
    "rpc.ankr.com/",
    "/hooks/",
    "/webhooks/incoming/",
    "webhook.site/",
    "pipedream.net/",
];

/// What is no password where one stands.
const STANDING_IN: &[&str] = &[
    "password",
    "pass",
    "passwd",
    "pw",
    "pwd",
    "secret",
    "token",
    "user",
    "x-oauth-basic",
];

/// Names of a query whose values are secret.
const ASKED: &[&str] = &[
    "code", "key", "appid", "auth", "sig", "hmac", "access", "k", "pw", "pass", "sas", "hash",
    "apitoken",
];

pub(super) fn url(text: &[u8], at: usize) -> Option<Range<usize>> {
    let from = at + 3;
    let end = run(text, from, 2048, |b| {
        !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\')
    });
    let rest = &text[from..end];
    if let Some(hook) = hook(rest) {
        let scheme = run_back(text, at, 8, |b| b.is_ascii_alphabetic());
        return Some(scheme..from + hook);
    }
    let authority = rest
        .iter()
        .position(|b| matches!(b, b'/' | b'?' | b'#'))
        .unwrap_or(rest.len());
    // A password may hold a slash by mistake; then the `@` comes after it.
    let last = rest[..authority].iter().rposition(|b| *b == b'@')?;
    let user = &rest[..last];
    let Some(colon) = user.iter().position(|b| *b == b':') else {
        return is_machine_made(user).then_some(from..from + last);
    };
    let secret = &user[colon + 1..];
    let stands_in = STANDING_IN
        .iter()
        .any(|word| secret.eq_ignore_ascii_case(word.as_bytes()));
    let reference = user[..colon].starts_with(b"<")
        || secret.starts_with(b"$")
        || secret.starts_with(b"{")
        || secret.starts_with(b"%s")
        || secret.starts_with(b"*");
    if stands_in && is_machine_made(&user[..colon]) {
        return Some(from..from + colon);
    }
    (!secret.is_empty() && !stands_in && !reference && !is_placeholder(secret))
        .then_some(from + colon + 1..from + last)
}

/// Where an address that is a permission ends.
fn hook(rest: &[u8]) -> Option<usize> {
    let begin = &rest[..rest.len().min(90)];
    let known = HOOKS.iter().find_map(|hook| {
        let at = find(begin, hook.as_bytes())?;
        Some(at + hook.len())
    })?;
    let end = run(rest, known, 400, |b| {
        is_base64url(b) || matches!(b, b'/' | b'@' | b'.' | b':')
    });
    let path = &rest[known..end];
    let is_secret = |part: &[u8]| {
        part.len() >= 10 && !is_placeholder(part) && (is_machine_made(part) || is_random(part))
            || part.len() >= 18 && part.iter().any(u8::is_ascii_digit) && !contains(part, b".")
    };
    path.split(|b| *b == b'/').any(is_secret).then_some(end)
}

/// `?code=…`, `&X-Amz-Signature=…`: what makes an address a permission.
pub(super) fn query(text: &[u8], at: usize) -> Option<Range<usize>> {
    let value = at + 3;
    let name = run_back(text, value - 1, 24, |b| is_base64url(b) || b == b'.');
    let lower = text[name..value - 1].to_ascii_lowercase();
    let is_asked = name
        .checked_sub(1)
        .is_some_and(|n| matches!(text[n], b'?' | b'&' | b';'));
    let is_known = ASKED.iter().any(|known| known.as_bytes() == lower);
    if !is_asked || !(is_known || lower.ends_with(b"signature")) {
        return None;
    }
    let end = run(text, value, 1024, |b| {
        is_base64url(b) || matches!(b, b'%' | b'+' | b'/' | b'=' | b'.' | b'~')
    });
    let secret = &text[value..end];
    (is_machine_made(secret) && !is_placeholder(secret)).then_some(value..end)
}

/// `jdbc:oracle:thin:user/…@host`.
pub(super) fn oracle(text: &[u8], at: usize) -> Option<Range<usize>> {
    const WORDS: &str = "oracle:thin:";
    let start = at.checked_sub(5)?;
    if !has_word_at(text, start, WORDS) {
        return None;
    }
    let user = start + WORDS.len();
    let end = run(text, user, 200, |b| {
        !b.is_ascii_whitespace() && !matches!(b, b'@' | b'"' | b'\'')
    });
    let slash = user + find(&text[user..end], b"/")?;
    let secret = slash + 1..end;
    (text.get(end) == Some(&b'@')
        && is_secret(&text[secret.clone()], Promise::Password, Form::Setting))
    .then_some(secret)
}

/// `[host]:587 user:…`, a line of postfix's maps.
pub(super) fn mail_map(text: &[u8], at: usize) -> Option<Range<usize>> {
    let line = line_before(text, at);
    let end = run(text, at, 200, |b| b != b'\n' && b != b'\r');
    let blank = run(text, at + 2, 8, |b| b.is_ascii_digit());
    let user = run(text, blank, 20, |b| b == b' ' || b == b'\t');
    let colon = user + find(&text[user..end], b":")?;
    let secret = colon + 1..end;
    (line.starts_with(b"[")
        && user > blank
        && !text[user..end].contains(&b' ')
        && is_secret(&text[secret.clone()], Promise::Password, Form::Setting))
    .then_some(secret)
}

/// `user / …` behind words of logging in.
pub(super) fn login_pair(text: &[u8], at: usize) -> Option<Range<usize>> {
    let line = line_before(text, at).to_ascii_lowercase();
    let words = [
        &b"credential"[..],
        b"login",
        b"log in",
        b"account",
        b"zugangsdaten",
        b"anmeld",
        b"identifiants",
        b"credenciales",
        b"sign in",
        b"user",
        b"creds",
        b"logins",
    ];
    let start = at + 3;
    let end = run(text, start, 100, |b| {
        !b.is_ascii_whitespace() && !matches!(b, b',' | b'"' | b'`' | b')')
    });
    let trimmed = start
        + text[start..end]
            .strip_suffix(b".")
            .map_or(end - start, <[u8]>::len);
    let secret = &text[start..trimmed];
    let has = |kind: fn(&u8) -> bool| secret.iter().any(kind);
    (words.iter().any(|word| contains(&line, word))
        && !contains(&line, b" / ")
        && secret.len() >= 8
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && (has(u8::is_ascii_punctuation)
            || (has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)))
        && !secret.contains(&b'/')
        && is_secret(secret, Promise::Password, Form::Setting))
    .then_some(start..trimmed)
}

/// A line of a file of cookies: seven fields, the last one is the value.
pub(super) fn cookie_file(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at - line_before(text, at).len();
    let end = run(text, at, 4096, |b| b != b'\n' && b != b'\r');
    let fields: Vec<&[u8]> = text[start..end].split(|b| *b == b'\t').collect();
    let value = *fields.get(6)?;
    let is_flag = |field: &[u8]| matches!(field, b"TRUE" | b"FALSE");
    (fields.len() == 7 && is_flag(fields[1]) && is_flag(fields[3]) && is_machine_made(value))
        .then(|| end - value.len()..end)
}
