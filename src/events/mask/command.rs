//! Secrets that are given to programs on their command lines, and in the words of
//! databases.

use std::ops::Range;

use super::place::{contains, has_word_at, line_before, run, run_back};
use super::value::{Form, Promise, is_machine_made, is_secret};

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
pub(super) fn password_flag(text: &[u8], at: usize) -> Option<Range<usize>> {
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
pub(super) fn user_flag(text: &[u8], at: usize) -> Option<Range<usize>> {
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

/// The same in a list of words: `["curl", "-u", "user:…"]`.
pub(super) fn listed_user(text: &[u8], at: usize) -> Option<Range<usize>> {
    let line = line_before(text, at);
    if !contains(line, b"curl") && !contains(line, b"http") && !contains(line, b"wget") {
        return None;
    }
    let is_between = |b: u8| matches!(b, b'"' | b'\'' | b'\\' | b',' | b' ');
    let from = run(text, at + 3, 12, is_between);
    let word = from..run(text, from, 300, |b| {
        !matches!(b, b'"' | b'\'' | b'\\' | b'\n')
    });
    let colon = text[word.clone()].iter().position(|b| *b == b':')?;
    let secret = word.start + colon + 1..word.end;
    (from > at + 4 && is_given(text, &secret)).then_some(secret)
}

/// `redis-cli -a …`.
pub(super) fn auth_flag(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !text[at..].starts_with(b" -a ") || !contains(line_before(text, at), b"redis-cli") {
        return None;
    }
    let word = shell_word(text, at + 4);
    is_given(text, &word).then_some(word)
}

/// `ldapsearch -w …`.
pub(super) fn ldap_flag(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !contains(line_before(text, at), b"ldap") {
        return None;
    }
    let word = shell_word(text, at + 4);
    is_given(text, &word).then_some(word)
}

/// `-storepass …` and `-keypass …` of Java's tools.
pub(super) fn store_flag(text: &[u8], at: usize) -> Option<Range<usize>> {
    let name = run_back(text, at, 8, |b| b.is_ascii_alphabetic() || b == b'-');
    let flag = ["-storepass ", "-keypass "]
        .iter()
        .find(|flag| has_word_at(text, name, flag))?;
    let word = shell_word(text, name + flag.len());
    is_given(text, &word).then_some(word)
}

/// `-passin pass:…` of openssl.
pub(super) fn openssl_pass(text: &[u8], at: usize) -> Option<Range<usize>> {
    let line = line_before(text, at.checked_sub(2)?);
    if !has_word_at(text, at - 2, "pass:")
        || !(line.ends_with(b"-passin ") || line.ends_with(b"-passout ") || line.ends_with(b"-k "))
    {
        return None;
    }
    let word = shell_word(text, at + 3);
    is_given(text, &word).then_some(word)
}

/// `-auth user:…`.
pub(super) fn auth_pair(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !has_word_at(text, at.checked_sub(2)?, "-auth ") {
        return None;
    }
    let word = shell_word(text, at + 4);
    let colon = text[word.clone()].iter().position(|b| *b == b':')?;
    let secret = word.start + colon + 1..word.end;
    is_given(text, &secret).then_some(secret)
}

/// `htpasswd -b file user …`.
pub(super) fn web_password(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !has_word_at(text, at.checked_sub(1)?, "htpasswd -") {
        return None;
    }
    let flags = shell_word(text, at + "tpasswd ".len());
    if !text[flags.clone()].contains(&b'b') {
        return None;
    }
    let mut word = flags;
    for _ in 0..3 {
        let next = run(text, word.end, 2, |b| matches!(b, b' ' | b'\'' | b'"'));
        word = shell_word(text, next);
    }
    is_given(text, &word).then_some(word)
}

/// `echo user:… | chpasswd`.
pub(super) fn piped_password(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !has_word_at(text, at, "chpasswd") {
        return None;
    }
    let line = line_before(text, at);
    let bar = at - line.len() + line.iter().rposition(|b| *b == b'|')?;
    let end = run_back(text, bar, 4, |b| matches!(b, b' ' | b'\'' | b'"'));
    let start = run_back(text, end, 100, |b| {
        !b.is_ascii_whitespace() && !matches!(b, b':' | b'\'' | b'"')
    });
    let secret = start..end;
    (start.checked_sub(1).is_some_and(|n| text[n] == b':') && is_given(text, &secret))
        .then_some(secret)
}

/// The text before `-AsPlainText` of PowerShell.
pub(super) fn plain_text(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !has_word_at(text, at, "-asplaintext") {
        return None;
    }
    let line = line_before(text, at).trim_ascii_end();
    let quote = *line.last().filter(|b| matches!(b, b'\'' | b'"'))?;
    let end = at - line_before(text, at).len() + line.len() - 1;
    let start = run_back(text, end, 200, |b| b != quote && b != b'\n');
    let secret = start..end;
    is_given(text, &secret).then_some(secret)
}

/// `IDENTIFIED BY '…'` and `PASSWORD '…'` of databases.
pub(super) fn of_role(text: &[u8], at: usize) -> Option<Range<usize>> {
    let line = line_before(text, at + 1).to_ascii_lowercase();
    if !line.ends_with(b"identified by") && !line.ends_with(b"password") {
        return None;
    }
    let statement = [&b"create"[..], b"alter", b"grant", b"set "];
    if !statement.iter().any(|word| contains(&line, word)) {
        return None;
    }
    let word = shell_word(text, at + 2);
    let value = &text[word.clone()];
    (is_machine_made(value) || is_given(text, &word)).then_some(word)
}
