//! Secrets that code gives to a call by their place: `login("user", "secret")`. One line
//! a name of such calls.

use std::ops::Range;

use super::place::{is_word, run, three_of};
use super::value::{Form, Promise, is_chosen, is_machine_made, is_secret};

/// Which of the literals of a call are secret.
#[derive(Debug, Clone, Copy)]
enum Pick {
    /// The one at this place, counted from 0.
    At(usize),
    /// The last one.
    Last,
    /// The last one, though it be the only.
    Final,
    /// The second one behind an address.
    BehindUrl,
    /// All that a machine made.
    Made,
}

/// A call, an assignment of a pair, or a word of a configuration in code.
#[derive(Debug)]
pub(super) struct Call {
    name: &'static str,
    anchor: usize,
    pick: Pick,
}

const fn call(name: &'static str, anchor: usize, pick: Pick) -> Call {
    Call { name, anchor, pick }
}

use Pick::{At, BehindUrl, Final, Last, Made};

/// Letters without case; the number is where the three rarest letters begin.
pub(super) const CALLS: &[Call] = &[
    call("login", 1, At(1)),
    call("log_in", 2, At(1)),
    call("sign_in", 3, At(1)),
    call("signin", 2, At(1)),
    call("authenticate", 1, At(1)),
    call("auth", 1, At(1)),
    call("credentials", 2, At(1)),
    call("basic", 2, At(1)),
    call("basic_auth", 2, At(1)),
    call("basicauth", 2, At(1)),
    call("digestauth", 5, At(1)),
    call("basicauthentication", 2, At(1)),
    call("passwordauthentication", 9, At(1)),
    call("authenticationtoken", 1, At(1)),
    call("networkcredential", 9, At(1)),
    call("awscredentials", 5, At(1)),
    call("staticcredentials", 8, At(1)),
    call("staticcredentialsprovider", 8, At(1)),
    call("credentials.new", 2, At(1)),
    call("getconnection", 2, At(2)),
    call("connect", 3, BehindUrl),
    call("drivermanagerdatasource", 12, BehindUrl),
    call("pdo", 0, At(2)),
    call("mysqli", 1, At(2)),
    call("mysqli_connect", 1, At(2)),
    call("mysql_connect", 1, At(2)),
    call("oci_connect", 1, At(1)),
    call("ftp_login", 5, At(1)),
    call("ldap_bind", 3, Last),
    call("simple_bind_s", 5, At(1)),
    call("imap_open", 0, At(2)),
    call("ssh2_auth_password", 6, At(1)),
    call("create_user", 5, Last),
    call("create_superuser", 10, Last),
    call("unlockaccount", 1, At(1)),
    call("algoliasearch", 1, At(1)),
    call("twilio", 1, Made),
    call("fernet", 3, At(0)),
    call("createhmac", 6, At(1)),
    call("hmac.new", 0, At(0)),
    call("hmac", 0, At(0)),
    call("secretkeyspec", 6, At(0)),
    call("jwt.sign", 0, At(0)),
    call("jwt.encode", 0, At(0)),
    call("jwt.verify", 0, At(0)),
    call("jwt.decode", 0, At(0)),
    call("cookieparser", 3, At(0)),
    call("wifi.begin", 2, Final),
    call("login_as", 5, At(1)),
    call("wallet", 0, Made),
    call("privatekeytoaccount", 3, Made),
    call("privatekey", 3, Made),
    call("from_key", 3, Made),
    call("client", 0, Made),
    call("provider", 3, Made),
    call("oauth", 0, Made),
    call("userhandler", 3, Made),
    call("setcredentials", 5, At(1)),
    call("set_access_token", 3, Made),
];

/// How far the literals of a call are looked for.
const LONGEST: usize = 600;

impl Call {
    /// Three bytes that the name has.
    pub(super) const fn anchor(&self) -> [u8; 3] {
        three_of(self.name, self.anchor)
    }

    /// The secrets of the call whose anchor is at `at`.
    pub(super) fn check(&self, text: &[u8], at: usize, found: &mut Vec<Range<usize>>) {
        let Some(start) = at.checked_sub(self.anchor) else {
            return;
        };
        let end = start + self.name.len();
        // `smtp.login`, `HTTPBasicAuth`, `set_basic_auth`: what a name ends with counts.
        if !super::place::has_word_at(text, start, self.name) {
            return;
        }
        let Some(open) = opened(text, end) else {
            return;
        };
        let literals = literals(text, open);
        let mut give = |literal: Option<&Range<usize>>| {
            if let Some(literal) = literal.filter(|literal| is_given(&text[(*literal).clone()])) {
                found.push(literal.clone());
            }
        };
        match self.pick {
            At(n) => give(literals.get(n)),
            Final => give(literals.last()),
            Last if literals.len() >= 2 => give(literals.last()),
            Last => {}
            BehindUrl => {
                let url = literals.first().map(|first| &text[first.clone()]);
                if url.is_some_and(|url| url.iter().any(|b| matches!(b, b':' | b'=' | b'/'))) {
                    give(literals.get(2));
                } else if literals.len() == 2 {
                    give(
                        literals
                            .get(1)
                            .filter(|last| is_chosen(&text[(*last).clone()])),
                    );
                }
            }
            Made => found.extend(
                literals
                    .into_iter()
                    .filter(|literal| is_made(&text[literal.clone()])),
            ),
        }
    }
}

/// Where the literals begin behind a name that ends at `end`: `name(`, `name=(`,
/// `name: [`, `name "…"`, `name :word, "…"`.
fn opened(text: &[u8], end: usize) -> Option<usize> {
    let sign = run(text, end, 4, |b| matches!(b, b'"' | b'\'' | b'!' | b'?'));
    let sign = run(text, sign, 3, |b| matches!(b, b' ' | b'=' | b':' | b'>'));
    match text.get(sign)? {
        b'(' => Some(sign + 1),
        b'[' if sign > end => Some(sign + 1),
        b'"' | b'\'' if sign == end + 1 && text[end] == b' ' => Some(sign),
        byte if sign > end && byte.is_ascii_lowercase() && text[end..sign].ends_with(b" :") => {
            Some(sign)
        }
        _ => None,
    }
}

/// The literals that are arguments themselves, from `open` on.
fn literals(text: &[u8], open: usize) -> Vec<Range<usize>> {
    let stop = text.len().min(open + LONGEST);
    let mut found = Vec::new();
    let (mut at, mut depth) = (open, 0);
    while at < stop && found.len() < 8 {
        match text[at] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' if depth == 0 => break,
            b')' | b']' | b'}' => depth -= 1,
            b';' => break,
            // A call without brackets ends with its line.
            b'\n'
                if text[open - 1] == b' '
                    && text[..at].trim_ascii_end().ends_with(b"\"")
                        | text[..at].trim_ascii_end().ends_with(b"'") =>
            {
                break;
            }
            quote @ (b'"' | b'\'' | b'`') => {
                let end = run(text, at + 1, 300, |b| b != quote && b != b'\n');
                let escape = usize::from(text[..end].ends_with(b"\\"));
                let is_named = text[open..at].trim_ascii_end().ends_with(b"=")
                    || text[open..at].trim_ascii_end().ends_with(b":");
                if depth == 0 && text.get(end) == Some(&quote) && !is_named {
                    found.push(at + 1..end - escape);
                }
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

fn is_given(value: &[u8]) -> bool {
    is_app_password(value)
        || (value.len() >= 6
            && value.iter().any(u8::is_ascii_digit)
            && value.iter().any(u8::is_ascii_alphabetic)
            && !value.contains(&b' ')
            && !value.contains(&b'{')
            && !is_algorithm(value)
            && is_secret(value, Promise::Password, Form::Quoted))
}

/// `sha256`, `aes-256-gcm`.
fn is_algorithm(value: &[u8]) -> bool {
    const NAMES: &[&[u8]] = &[
        b"sha", b"md5", b"aes", b"rsa", b"utf", b"base64", b"oauth2", b"argon2", b"pbkdf2",
        b"ed25519", b"blake", b"http",
    ];
    let lower = value.to_ascii_lowercase();
    value.len() <= 20 && NAMES.iter().any(|name| lower.starts_with(name))
}

fn is_made(value: &[u8]) -> bool {
    let digits = value.iter().filter(|b| b.is_ascii_digit()).count();
    value.len() >= 20
        && digits >= 3
        && value
            .iter()
            .all(|b| is_word(*b) || matches!(b, b'-' | b'+' | b'/' | b'='))
        && is_machine_made(value)
        && !is_uuid(value)
        && is_secret(value, Promise::Token, Form::Quoted)
}

fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36 && value.iter().filter(|b| **b == b'-').count() == 4
}

/// Four times four letters, as Google makes them.
fn is_app_password(value: &[u8]) -> bool {
    value.len() == 19
        && value
            .split(|b| *b == b' ')
            .all(|part| part.len() == 4 && part.iter().all(u8::is_ascii_lowercase))
}
