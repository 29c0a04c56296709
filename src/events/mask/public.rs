//! What is random and no secret: ids, hashes, keys that are public. Known by what a run
//! begins with, by the name before it, and by where it stands.

use std::ops::Range;

use super::place::{contains, find, line_before, run, run_back};

/// Words of names whose values may be seen by everybody.
const NAMES: &[&str] = &[
    "accept",
    "address",
    "agent",
    "anchor",
    "blob",
    "boundary",
    "branch",
    "build",
    "call",
    "cert",
    "certificate",
    "challenge",
    "checksum",
    "class",
    "commit",
    "content",
    "continuation",
    "cursor",
    "data",
    "digest",
    "etag",
    "event",
    "file",
    "filename",
    "fingerprint",
    "guid",
    "hash",
    "id",
    "ids",
    "image",
    "integrity",
    "iv",
    "kid",
    "locator",
    "mappings",
    "match",
    "md5",
    "message",
    "modulus",
    "next",
    "node",
    "nonce",
    "owner",
    "page",
    "parent",
    "path",
    "peer",
    "pub",
    "public",
    "ray",
    "publickey",
    "publishable",
    "pubkey",
    "recipient",
    "ref",
    "request",
    "resource",
    "response",
    "rev",
    "revision",
    "serial",
    "session",
    "sha",
    "sha1",
    "sha256",
    "sha512",
    "shasum",
    "sig",
    "signature",
    "sitekey",
    "site",
    "snapshot",
    "socket",
    "span",
    "src",
    "subject",
    "sum",
    "tag",
    "template",
    "thread",
    "trace",
    "tree",
    "tx",
    "txid",
    "uid",
    "uuid",
    "verification",
    "verifier",
    "version",
    "websocket",
];

/// One letter names the numbers of public keys.
const NUMBERS: &[&str] = &[
    "n", "x", "y", "e", "p", "b", "bh", "x5t", "k", "h1", "zh", "r", "s",
];

/// What media, archives, certificates and public keys begin with in base64, and what
/// else tells what it is.
const BEGINNINGS: &[&str] = &[
    "AAAA",
    "AgAA",
    "CAES",
    "Cg",
    "H4sI",
    "JVBERi0",
    "MCow",
    "MEU",
    "MEQ",
    "MFkw",
    "MFkE",
    "MHYw",
    "MII",
    "MIG",
    "PD94",
    "PHN2Zy",
    "Qm",
    "R0lGOD",
    "UEsDB",
    "UklGR",
    "_R",
    "_Z",
    "bafy",
    "d09GM",
    "eyJ2ZXJzaW9uIjo",
    "gAAAA",
    "iVBOR",
    "sha1-",
    "sha256-",
    "sha384-",
    "sha512-",
    "nonce-",
    "xpub",
    "ypub",
    "zpub",
    "age1",
    "pk_",
    "pub_",
];

/// Words before `_` and `-` which say that a secret follows, not an id.
const SECRET: &[&str] = &[
    "access", "admin", "api", "apikey", "auth", "bearer", "bot", "key", "live", "oauth", "pass",
    "pat", "priv", "private", "prod", "pw", "rk", "secret", "sk", "test", "tok", "token",
];

/// Whether what begins so is an id or a piece of a file.
pub(super) fn is_public_prefix(value: &[u8]) -> bool {
    if BEGINNINGS
        .iter()
        .any(|known| value.starts_with(known.as_bytes()))
        || contains(&value[..value.len().min(8)], b"_kwDO")
        || contains(&value[..value.len().min(8)], b"_kgDO")
    {
        return true;
    }
    is_prefixed(value) || is_coin(value)
}

/// `msg_…`, `call-…`: a word, a sign, then what is random.
fn is_prefixed(value: &[u8]) -> bool {
    let Some(sign) = value
        .iter()
        .take(14)
        .rposition(|b| matches!(b, b'_' | b'-'))
    else {
        return false;
    };
    let prefix = &value[..sign];
    sign >= 1
        && prefix
            .iter()
            .all(|b| b.is_ascii_lowercase() || matches!(b, b'_' | b'-'))
        && !prefix
            .split(|b| matches!(b, b'_' | b'-'))
            .any(|word| SECRET.iter().any(|known| known.as_bytes() == word))
}

/// An address of a coin: base58 of its length.
fn is_coin(value: &[u8]) -> bool {
    let is_base58 = value
        .iter()
        .all(|b| b.is_ascii_alphanumeric() && !matches!(b, b'0' | b'O' | b'I' | b'l'));
    let is_length = match value[0] {
        b'1' | b'3' | b'T' | b'r' => (25..=35).contains(&value.len()),
        _ => (43..=44).contains(&value.len()),
    };
    is_base58 && is_length
}

/// Whether a field or variable of that name holds what everybody may see.
pub(super) fn is_public_name(name: &[u8]) -> bool {
    let mut words = Vec::with_capacity(6);
    let mut start = 0;
    for at in 1..=name.len() {
        let ends = at == name.len()
            || !name[at].is_ascii_alphanumeric()
            || (name[at].is_ascii_uppercase() && name[at - 1].is_ascii_lowercase());
        if ends {
            let word = name[start..at].trim_ascii_start();
            let word = word
                .strip_prefix(b"_")
                .or_else(|| word.strip_prefix(b"-"))
                .unwrap_or(word);
            words.push(word.to_ascii_lowercase());
            start = at;
        }
    }
    let is_in = |list: &[&str], word: &[u8]| list.iter().any(|known| known.as_bytes() == word);
    words.iter().any(|word| is_in(NAMES, word))
        || matches!(&words[..], [one] if is_in(NUMBERS, one))
}

/// Whether the run at `whole` stands where ids, hashes, addresses and names of files do.
pub(super) fn is_public_place(text: &[u8], whole: &Range<usize>) -> bool {
    let line = line_before(text, whole.start);
    let word = &line[line
        .iter()
        .rposition(|b| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'(' | b'<' | b'`'))
        .map_or(0, |n| n + 1)..];
    // In an address or a path, behind `$` of a hash of a password, in known_hosts.
    if contains(word, b"://")
        || contains(word, b"base64,")
        || word.ends_with(b"/")
        || word.ends_with(b"$")
        || contains(word, b"|1|")
        || word.ends_with(b"\\u003d")
        || word.starts_with(b"www.")
    {
        return true;
    }
    // The name of a file.
    if text.get(whole.end) == Some(&b'.') {
        let end = run(text, whole.end + 1, 8, |b| b.is_ascii_alphanumeric());
        let ending = &text[whole.end + 1..end];
        if (2..=5).contains(&ending.len())
            && ending[0].is_ascii_lowercase()
            && ending.iter().all(|b| !b.is_ascii_uppercase())
        {
            return true;
        }
    }
    // `<…@host>` of a mail; a line of its own below one that tells.
    let above = line.is_empty().then(|| {
        let end = whole.start.saturating_sub(1);
        line_before(text, end)
    });
    if text.get(whole.end) == Some(&b'@') || is_told(line) || above.is_some_and(is_told) {
        return true;
    }
    name_before(text, whole.start).is_some_and(|name| is_public_name(&text[name]))
}

/// Whether the line says that what follows is public.
fn is_told(line: &[u8]) -> bool {
    const TELLING: &[&[u8]] = &[
        b" txt ",
        b" dnskey ",
        b" tlsa ",
        b" sshfp ",
        b"ssh-rsa ",
        b"ssh-ed25519 ",
        b"ecdsa-",
        b"sha256:",
        b"sha512:",
        b"sha1:",
        b"mime-version",
        b"boundary",
        b" id ",
        b"fingerprint",
        b"public key",
        b"md5:",
        b"sourcemappingurl",
    ];
    let tail = &line[line.len().saturating_sub(60)..];
    let lower = tail.to_ascii_lowercase();
    TELLING
        .iter()
        .any(|telling| find(&lower, telling).is_some())
}

/// The name of which what begins at `at` is the value: `name: …`, `"name": "…"`, `name=…`.
fn name_before(text: &[u8], at: usize) -> Option<Range<usize>> {
    let is_between = |b: u8| {
        matches!(
            b,
            b' ' | b'"' | b'\'' | b'\\' | b'`' | b'[' | b'W' | b'/' | b'b'
        )
    };
    let sign = run_back(text, at, 12, is_between);
    let sign = sign.checked_sub(1)?;
    if !matches!(text[sign], b':' | b'=' | b'>' | b'#' | b'@') {
        return None;
    }
    let end = run_back(text, sign, 8, |b| {
        matches!(b, b' ' | b'"' | b'\'' | b'\\' | b']' | b'=')
    });
    let start = run_back(text, end, 40, |b| {
        b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')
    });
    (start < end).then_some(start..end)
}
