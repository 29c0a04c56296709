//! Secrets with a form of their own: JSON web tokens, headers, cookies, files of
//! passwords, and the list of all rules that are code.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::context::{bearer, pass_field, short, short_pass};
use super::place::{begins_at, contains, has_word_at, line_before, run, run_back};
use super::stand_in::is_placeholder;
use super::value::{Form, Promise, is_machine_made, is_secret};
use super::{address, armour, command, piped, printed};

/// A rule in code, with three bytes that all its matches contain.
pub(super) struct Special {
    pub(super) anchor: &'static str,
    pub(super) check: fn(&[u8], usize) -> Option<Range<usize>>,
}

const fn special(anchor: &'static str, check: fn(&[u8], usize) -> Option<Range<usize>>) -> Special {
    Special { anchor, check }
}

/// All of them.
pub(super) const SPECIALS: &[Special] = &[
    special("vat", armour::private_key),
    special("vat", armour::putty_key),
    special("ls0", armour::encoded_key),
    special("eyj", json_web_token),
    special("eyj", armour::encoded_logins),
    special("\"d\"", armour::web_key),
    special("://", address::url),
    special("re=", address::query),
    special("de=", address::query),
    special("ey=", address::query),
    special("id=", address::query),
    special("th=", address::query),
    special("ig=", address::query),
    special("ac=", address::query),
    special("e:t", address::oracle),
    special("]:5", address::mail_map),
    special("]:4", address::mail_map),
    special("]:2", address::mail_map),
    special(" / ", address::login_pair),
    special("e\t/", address::cookie_file),
    special("w v", printed::announced),
    special("mne", printed::phrase),
    special("phr", printed::phrase),
    special("see", printed::phrase),
    special("d.j", printed::numbers),
    special("eyp", printed::numbers),
    special("ola", printed::numbers),
    special("t8a", printed::numbers),
    special("riz", authorization),
    special("rer", bearer),
    special("uth", registry_login),
    special("uth", mail_login),
    special("uth", command::auth_pair),
    special("sid", cookie),
    special("nid", cookie),
    special("on=", session_cookie),
    special("th=", session_cookie),
    special("pas", short_pass),
    special("pw=", short),
    special("pw:", short),
    special("pw ", short),
    special("pw\"", short),
    special("ss\"", pass_field),
    special("ss\\", pass_field),
    special("\"-u", command::listed_user),
    special("@tc", source_name),
    special("@un", source_name),
    special(":54", password_file),
    special(":64", password_file),
    special("azf", azure_key),
    special("azs", azure_key),
    special("+ac", azure_key),
    special("+as", azure_key),
    special(":aa", telegram),
    special("-us", mailchimp),
    special("asv", terraform),
    special("lt\"", made_password),
    special("8q~", azure_client),
    special("7q~", azure_client),
    special("sig", shared_access),
    special("epa", command::store_flag),
    special("ypa", command::store_flag),
    special("ech", piped::piped),
    special("ntf", piped::formatted),
    special("<<<", piped::here_string),
    special("\\r\"", piped::sent),
    special("-as", piped::plain_text),
    special("y '", piped::of_role),
    special("d '", piped::of_role),
    special("mta", discord),
    special("mte", discord),
    special("mti", discord),
    special("mtm", discord),
    special("mtq", discord),
    special("mtu", discord),
    special("mty", discord),
    special("mtc", discord),
    special("mtg", discord),
    special("mtk", discord),
];

pub(super) fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

fn json_web_token(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !text[at..].starts_with(b"eyJ") || !begins_at(text, at) {
        return None;
    }
    let mut end = run(text, at, 16 << 10, is_base64url);
    let mut parts = 1;
    while end - at >= 12 && text.get(end) == Some(&b'.') && parts < 5 {
        let next = run(text, end + 1, 16 << 10, is_base64url);
        if next == end + 1 {
            break;
        }
        end = next;
        parts += 1;
    }
    (parts >= 2 && end - at >= 36).then_some(at..end)
}

fn authorization(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at.checked_sub(5)?;
    if !has_word_at(text, start, "authorization") {
        return None;
    }
    let sign = run(text, start + "authorization".len(), 8, |b| {
        matches!(b, b'"' | b'\'' | b'\\' | b' ' | b']')
    });
    if !matches!(text.get(sign), Some(b':' | b'=' | b',')) {
        return None;
    }
    let scheme = run(text, sign + 1, 8, |b| {
        matches!(b, b'"' | b'\'' | b'\\' | b' ' | b'`')
    });
    let end = run(text, scheme, 20, |b| b.is_ascii_alphabetic() || b == b'-');
    let value = if text.get(end) == Some(&b' ') && end > scheme {
        end + 1
    } else {
        scheme
    };
    let stop = run(text, value, 4096, |b| {
        !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\'' | b'\\' | b'`' | b',' | b';')
    });
    let secret = &text[value..stop];
    if is_placeholder(secret) || secret.starts_with(b"$") || secret.starts_with(b"{") {
        return None;
    }
    let basic = text[scheme..end].eq_ignore_ascii_case(b"basic");
    let is = if basic {
        is_login(secret) || is_machine_made(secret)
    } else {
        is_machine_made(secret)
    };
    is.then_some(value..stop)
}

/// base64 of `user:password`.
fn is_login(value: &[u8]) -> bool {
    value.len() >= 8
        && STANDARD
            .decode(value)
            .is_ok_and(|login| login.contains(&b':') && login.iter().all(|b| *b >= b' '))
}

/// `"auth": "…"` of a container registry's login file, `_auth=…` of npm's.
fn registry_login(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at.checked_sub(1)?;
    if !has_word_at(text, start, "auth")
        || !matches!(text.get(start + 4), Some(b'"' | b' ' | b'=' | b':' | b'\\'))
    {
        return None;
    }
    let value = run(text, start + 4, 10, |b| {
        matches!(b, b'"' | b'\\' | b' ' | b'=' | b':')
    });
    let end = run(text, value, 4096, |b| {
        b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=')
    });
    is_login(&text[value..end]).then_some(value..end)
}

fn telegram(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = run_back(text, at, 11, |b| b.is_ascii_digit());
    let end = run(text, at + 1, 40, is_base64url);
    let digits = at - start;
    ((8..=10).contains(&digits)
        && text[at..].starts_with(b":AA")
        && (34..=36).contains(&(end - at - 1)))
    .then_some(start..end)
}

fn mailchimp(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at.checked_sub(32)?;
    let end = run(text, at + 3, 3, |b| b.is_ascii_digit());
    let hex = text[start..at].iter().all(u8::is_ascii_hexdigit);
    (hex && begins_at(text, start) && end > at + 3).then_some(start..end)
}

/// `pat` with fourteen signs, a dot, and the digits of `run`.
pub(super) fn airtable(text: &[u8], run: &Range<usize>) -> Option<Range<usize>> {
    let start = run.start.checked_sub(18)?;
    let (name, digits) = (&text[start..run.start], &text[run.clone()]);
    (name.starts_with(b"pat")
        && name.ends_with(b".")
        && name[3..17].iter().all(u8::is_ascii_alphanumeric)
        && digits.len() == 64
        && digits.iter().all(u8::is_ascii_hexdigit)
        && begins_at(text, start))
    .then_some(start..run.end)
}

fn terraform(text: &[u8], at: usize) -> Option<Range<usize>> {
    const MIDDLE: &str = ".atlasv1.";
    let dot = at.checked_sub(4)?;
    if !has_word_at(text, dot, MIDDLE) {
        return None;
    }
    let start = run_back(text, dot, 20, |b| b.is_ascii_alphanumeric());
    let end = run(text, dot + MIDDLE.len(), 120, is_base64url);
    (dot - start >= 10 && end - dot > 40).then_some(start..end)
}

fn azure_client(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = run_back(text, at, 3, |b| is_base64url(b) || b == b'.');
    let end = run(text, at + 3, 40, |b| {
        is_base64url(b) || matches!(b, b'.' | b'~')
    });
    (text[at + 1..].starts_with(b"Q~") && at - start == 3 && (31..=34).contains(&(end - at - 3)))
        .then_some(start..end)
}

/// `"result": "…"` of a password that Terraform made.
fn made_password(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at.checked_sub(4)?;
    if !has_word_at(text, start, "result\"") {
        return None;
    }
    let from = run(text, at + 3, 6, |b| matches!(b, b':' | b' ' | b'"'));
    let end = run(text, from, 500, |b| b != b'"' && b != b'\n');
    let before = &text[at.saturating_sub(600)..at];
    (contains(before, b"random_password") || contains(before, b"random_string"))
        .then_some(from..end)
        .filter(|secret| is_secret(&text[secret.clone()], Promise::Password, Form::Quoted))
}

/// `sig=…` of a shared access signature.
fn shared_access(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !text[at..].starts_with(b"sig=")
        || !at
            .checked_sub(1)
            .is_some_and(|n| matches!(text[n], b'?' | b'&' | b';'))
    {
        return None;
    }
    let end = run(text, at + 4, 200, |b| {
        b.is_ascii_alphanumeric() || matches!(b, b'%' | b'+' | b'/' | b'=' | b'-' | b'_')
    });
    is_machine_made(&text[at + 4..end]).then_some(at + 4..end)
}

/// `AUTH PLAIN …` of mail.
fn mail_login(text: &[u8], at: usize) -> Option<Range<usize>> {
    const WORDS: &str = "auth plain ";
    let start = at.checked_sub(1)?;
    if !has_word_at(text, start, WORDS) {
        return None;
    }
    let value = start + WORDS.len();
    let end = run(text, value, 1024, |b| {
        b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=')
    });
    let login = STANDARD.decode(&text[value..end]).ok()?;
    (login.len() >= 8 && login.contains(&0)).then_some(value..end)
}

/// Whether the line holds cookies.
fn is_of_cookies(text: &[u8], at: usize) -> bool {
    let line = line_before(text, at).to_ascii_lowercase();
    contains(&line, b"cookie") || contains(&line, b"-b '") || contains(&line, b"-b \"")
}

/// The id of a session, where cookies are.
fn cookie(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !is_of_cookies(text, at) {
        return None;
    }
    let name = run_back(text, at, 40, |b| is_base64url(b) || b == b'.');
    let lower = text[name..at + 3].to_ascii_lowercase();
    let value = match text.get(at + 3) {
        Some(b'=') => at + 4,
        Some(b'\'' | b'"') => run(text, at + 3, 6, |b| {
            matches!(b, b'\'' | b'"' | b',' | b' ' | b':')
        }),
        _ => return None,
    };
    if !(lower.ends_with(b"sid") || lower.ends_with(b"sessionid") || lower.ends_with(b"sessid")) {
        return None;
    }
    let end = run(text, value, 1024, |b| {
        !b.is_ascii_whitespace() && !matches!(b, b';' | b'\'' | b'"' | b',' | b'\\')
    });
    is_machine_made(&text[value..end]).then_some(value..end)
}

/// `session=…` and `auth=…`, where cookies are.
fn session_cookie(text: &[u8], at: usize) -> Option<Range<usize>> {
    let name = run_back(text, at + 2, 40, |b| is_base64url(b) || b == b'.');
    let lower = text[name..at + 2].to_ascii_lowercase();
    if !(lower.ends_with(b"session") || lower.ends_with(b"auth")) || !is_of_cookies(text, at) {
        return None;
    }
    let end = run(text, at + 3, 1024, |b| {
        !b.is_ascii_whitespace() && !matches!(b, b';' | b'\'' | b'"' | b',' | b'\\')
    });
    is_machine_made(&text[at + 3..end]).then_some(at + 3..end)
}

/// The password in `user:…@tcp(host)/base`, as Go's drivers take it.
fn source_name(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !has_word_at(text, at, "@tcp(") && !has_word_at(text, at, "@unix(") {
        return None;
    }
    let start = run_back(text, at, 100, |b| {
        !b.is_ascii_whitespace() && !matches!(b, b':' | b'"' | b'\'' | b'`')
    });
    let secret = &text[start..at];
    (start.checked_sub(1).is_some_and(|n| text[n] == b':')
        && is_secret(secret, Promise::Password, Form::Setting))
    .then_some(start..at)
}

/// `host:5432:base:user:…`, a line of a password file of PostgreSQL.
fn password_file(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at - line_before(text, at).len();
    let end = run(text, at, 300, |b| b != b'\n' && b != b'\r');
    let mut parts = text[start..end].splitn(5, |b| *b == b':');
    let host = parts.next()?;
    let port = parts.next()?;
    let (base, user, secret) = (parts.next()?, parts.next()?, parts.next()?);
    let is_name = |part: &[u8]| {
        !part.is_empty()
            && part
                .iter()
                .all(|b| is_base64url(*b) || matches!(b, b'.' | b'*'))
    };
    (start + host.len() == at
        && [host, base, user].iter().all(|part| is_name(part))
        && port.len() == 4
        && port.iter().all(u8::is_ascii_digit)
        && !secret.contains(&b' ')
        && is_secret(secret, Promise::Password, Form::Setting))
    .then_some(end - secret.len()..end)
}

/// Keys of Azure, which carry the name of their service near their end.
fn azure_key(text: &[u8], at: usize) -> Option<Range<usize>> {
    const SERVICES: &[&[u8]] = &[b"AzFu", b"AzSe", b"+ACR", b"+ACD", b"+ASt"];
    if !SERVICES.iter().any(|name| text[at..].starts_with(name)) {
        return None;
    }
    let is_part = |b: u8| is_base64url(b) || matches!(b, b'+' | b'/');
    let start = run_back(text, at, 90, is_part);
    let rest = run(text, at, 20, is_part);
    let end = run(text, rest, 2, |b| b == b'=');
    ((36..=84).contains(&(at - start)) && (8..=16).contains(&(end - at))).then_some(start..end)
}

/// Three parts, of which the first is a number in base64.
fn discord(text: &[u8], at: usize) -> Option<Range<usize>> {
    let first = run(text, at, 40, is_base64url);
    let second = run(text, first + 1, 40, is_base64url);
    let third = run(text, second + 1, 60, is_base64url);
    (text[at..].starts_with(b"MT")
        && begins_at(text, at)
        && (23..=28).contains(&(first - at))
        && text.get(first) == Some(&b'.')
        && second.saturating_sub(first) == 7
        && text.get(second) == Some(&b'.')
        && (27..=40).contains(&(third.saturating_sub(second + 1))))
    .then_some(at..third)
}
