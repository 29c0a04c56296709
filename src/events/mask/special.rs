//! Secrets with a form of their own: private keys, JSON web tokens, passwords
//! in URLs and on command lines, webhooks.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::context::bearer;
use super::place::{begins_at, contains, find, has_word_at, line_before, run, run_back};
use super::value::{Form, Promise, is_machine_made, is_placeholder, is_secret};

/// A rule in code, with three bytes that all its matches contain.
pub(super) struct Special {
    pub(super) anchor: &'static str,
    pub(super) check: fn(&[u8], usize) -> Option<Range<usize>>,
}

/// All of them.
pub(super) const SPECIALS: &[Special] = &[
    Special {
        anchor: "vat",
        check: private_key,
    },
    Special {
        anchor: "eyj",
        check: json_web_token,
    },
    Special {
        anchor: "://",
        check: url,
    },
    Special {
        anchor: "riz",
        check: authorization,
    },
    Special {
        anchor: "rer",
        check: bearer,
    },
    Special {
        anchor: "uth",
        check: registry_login,
    },
    Special {
        anchor: ":aa",
        check: telegram,
    },
    Special {
        anchor: "-us",
        check: mailchimp,
    },
    Special {
        anchor: "pat",
        check: airtable,
    },
    Special {
        anchor: "asv",
        check: terraform,
    },
    Special {
        anchor: "8q~",
        check: azure_client,
    },
    Special {
        anchor: "7q~",
        check: azure_client,
    },
    Special {
        anchor: "sig",
        check: shared_access,
    },
    Special {
        anchor: " -p",
        check: password_flag,
    },
    Special {
        anchor: " -u",
        check: user_flag,
    },
    Special {
        anchor: " -a",
        check: auth_flag,
    },
];

fn private_key(text: &[u8], at: usize) -> Option<Range<usize>> {
    let word = at.checked_sub(3)?;
    if !text[word..].starts_with(b"PRIVATE KEY") {
        return None;
    }
    let line = line_before(text, word);
    let head = run(text, word, 40, |b| b.is_ascii_uppercase() || b == b' ');
    if !text[head..].starts_with(b"-----") {
        return None;
    }
    if contains(line, b"-----END ") {
        // A key whose beginning was cut away.
        let end = word - line.len() + find(line, b"-----END ")?;
        let start = run_back(text, end, 16 << 10, is_armour);
        return (end - start >= 32 && !contains(&text[start..end], b"-----")).then_some(start..end);
    }
    if !contains(line, b"-----BEGIN ") {
        return None;
    }
    let body = head + 5;
    let rest = &text[body..text.len().min(body + (16 << 10))];
    let end = match find(rest, b"-----END ") {
        Some(n) => body + n,
        None => run(text, body, 16 << 10, is_armour),
    };
    let kept = text[body..end]
        .iter()
        .filter(|b| b.is_ascii_alphanumeric())
        .count();
    (kept >= 16).then(|| {
        // The line breaks stay, so that the text keeps its shape.
        let trimmed = text[body..end].trim_ascii_end().len();
        body + run(&text[body..end], 0, 4, |b| matches!(b, b'\n' | b'\r'))..body + trimmed
    })
}

fn is_armour(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || byte.is_ascii_whitespace()
        || matches!(byte, b'+' | b'/' | b'=' | b'\\' | b':' | b',' | b'.')
}

fn is_base64url(byte: u8) -> bool {
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

fn url(text: &[u8], at: usize) -> Option<Range<usize>> {
    let from = at + 3;
    let end = run(text, from, 2048, |b| {
        !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\')
    });
    let rest = &text[from..end];
    if rest.starts_with(b"hooks.slack.com/services/")
        || contains(&rest[..rest.len().min(60)], b"discord.com/api/webhooks/")
        || contains(&rest[..rest.len().min(60)], b"discordapp.com/api/webhooks/")
    {
        let last = rest.iter().rposition(|b| *b == b'/')?;
        let secret = run(rest, last + 1, 200, is_base64url);
        let scheme = run_back(text, at, 8, |b| b.is_ascii_alphabetic());
        return (secret - last > 16 && !is_placeholder(&rest[last..secret]))
            .then_some(scheme..from + secret);
    }
    let authority = rest
        .iter()
        .position(|b| matches!(b, b'/' | b'?' | b'#'))
        .unwrap_or(rest.len());
    // A password may hold a slash by mistake; then the `@` comes after it.
    let last = rest[..authority].iter().rposition(|b| *b == b'@')?;
    let user = &rest[..last];
    match user.iter().position(|b| *b == b':') {
        Some(colon) => {
            let secret = &user[colon + 1..];
            let stands_in = [
                "password",
                "pass",
                "passwd",
                "pw",
                "pwd",
                "secret",
                "token",
                "user",
                "x-oauth-basic",
            ]
            .iter()
            .any(|word| secret.eq_ignore_ascii_case(word.as_bytes()));
            let reference = user[..colon].starts_with(b"<")
                || secret.starts_with(b"$")
                || secret.starts_with(b"{")
                || secret.starts_with(b"%s")
                || secret.starts_with(b"*");
            (!secret.is_empty() && !stands_in && !reference && !is_placeholder(secret))
                .then_some(from + colon + 1..from + last)
        }
        None => is_machine_made(user).then_some(from..from + last),
    }
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
        is_login(secret)
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

fn airtable(text: &[u8], at: usize) -> Option<Range<usize>> {
    let dot = run(text, at + 3, 15, |b| b.is_ascii_alphanumeric());
    let end = run(text, dot + 1, 65, |b| b.is_ascii_hexdigit());
    (text[at..].starts_with(b"pat")
        && dot - at == 17
        && text.get(dot) == Some(&b'.')
        && end - dot == 65
        && begins_at(text, at))
    .then_some(at..end)
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

fn shell_word(text: &[u8], at: usize) -> Range<usize> {
    let open = run(text, at, 1, |b| matches!(b, b'\'' | b'"'));
    let end = if open > at {
        let quote = text[at];
        run(text, open, 300, |b| b != quote && b != b'\n')
    } else {
        run(text, at, 300, |b| {
            !b.is_ascii_whitespace()
                && !matches!(b, b';' | b'|' | b'&' | b'"' | b'\'' | b')' | b'\\')
        })
    };
    open..end
}

fn is_given(text: &[u8], word: &Range<usize>) -> bool {
    let value = &text[word.clone()];
    value.len() >= 4 && is_secret(value, Promise::Password, Form::Setting)
}

/// `mysql -p…`, `sshpass -p …`, `docker login -p …`.
fn password_flag(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !text[at..].starts_with(b" -p") {
        return None;
    }
    let line = line_before(text, at);
    let has = |program: &str| contains(line, program.as_bytes());
    let word = if has("sshpass")
        || (has("login") && (has("docker") || has("podman") || has("az ") || has("oc ")))
    {
        shell_word(text, run(text, at + 3, 2, |b| b == b' '))
    } else if has("mysql") || has("mariadb") {
        if text.get(at + 3) == Some(&b' ') {
            return None; // a database follows: the password is asked for
        }
        shell_word(text, at + 3)
    } else {
        return None;
    };
    is_given(text, &word).then_some(word)
}

/// `curl -u user:…`.
fn user_flag(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !text[at..].starts_with(b" -u") {
        return None;
    }
    let line = line_before(text, at);
    if !["curl", "http", "wget", "jfrog"]
        .iter()
        .any(|program| contains(line, program.as_bytes()))
    {
        return None;
    }
    let word = shell_word(text, run(text, at + 3, 2, |b| b == b' '));
    let colon = text[word.clone()].iter().position(|b| *b == b':')?;
    let from = word.start + colon + 1;
    let secret = if from == word.end {
        shell_word(text, from) // user:'…'
    } else {
        from..word.end
    };
    is_given(text, &secret).then_some(secret)
}

/// `redis-cli -a …`.
fn auth_flag(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !text[at..].starts_with(b" -a ") || !contains(line_before(text, at), b"redis-cli") {
        return None;
    }
    let word = shell_word(text, at + 4);
    is_given(text, &word).then_some(word)
}
