//! Values that only show where a secret would be: `YOUR_API_KEY`, `${TOKEN}`,
//! `xxxxxxxx`. A stand-in is the whole value, or nearly: a few letters of one occur in
//! real secrets too.

use super::value::distinct;

/// Parts that a stand-in has.
const PARTS: &[&[u8]] = &[
    b"example",
    b"your",
    b"placeholder",
    b"redacted",
    b"changeme",
    b"change_me",
    b"change-me",
    b"change-this",
    b"insert",
    b"dummy",
    b"replace",
    b"todo",
    b"[masked]",
    b"here",
    b"removed",
    b"sample",
    b"1234567890123456",
    b"abcdefghijklmnop",
    b"not-a-real",
    b"notreal",
    b"fake",
];

/// What else a stand-in is made of, longest first where one begins another.
const FILLERS: &[&[u8]] = &[
    b"1234567890",
    b"0123456789",
    b"123456789",
    b"12345678",
    b"abcdefghij",
    b"abcdef",
    b"123456",
    b"12345",
    b"1234",
    b"123",
    b"000",
    b"anthropic",
    b"application",
    b"credentials",
    b"credential",
    b"development",
    b"passphrase",
    b"production",
    b"subscription",
    b"database",
    b"username",
    b"passwords",
    b"password",
    b"passwd",
    b"account",
    b"service",
    b"private",
    b"project",
    b"public",
    b"webhook",
    b"secret",
    b"access",
    b"actual",
    b"domain",
    b"client",
    b"openai",
    b"github",
    b"google",
    b"string",
    b"tokens",
    b"token",
    b"server",
    b"stripe",
    b"signing",
    b"session",
    b"random",
    b"admin",
    b"value",
    b"never",
    b"valid",
    b"strong",
    b"secure",
    b"super",
    b"long",
    b"login",
    b"local",
    b"proj",
    b"api03",
    b"test",
    b"live",
    b"user",
    b"name",
    b"real",
    b"only",
    b"with",
    b"this",
    b"auth",
    b"pass",
    b"bot",
    b"key",
    b"api",
    b"aws",
    b"app",
    b"the",
    b"for",
    b"and",
    b"pwd",
    b"url",
    b"jwt",
    b"not",
    b"id",
    b"my",
    b"db",
    b"in",
    b"me",
    b"to",
    b"be",
    b"is",
    b"of",
    b"v1",
    b"sk",
];

/// Signs between which a name stands for the value.
const TEMPLATES: &[(&[u8], &[u8])] = &[
    (b"${", b"}"),
    (b"{{", b"}"),
    (b"$(", b")"),
    (b"%(", b")"),
    (b"<", b">"),
];

/// The keys that Amazon's manuals print, with and without their prefix.
const PRINTED: &[&[u8]] = &[
    b"akiaiosfodnn7example",
    b"iosfodnn7example",
    b"wjalrxutnfemi/k7mdeng/bpxrficyexamplekey",
    b"je7mtgbclwbf/2zk/h3ycaexamplekey",
];

/// How many letters and digits may be left over.
const LEFT_OVER: usize = 3;

/// How many may stand beside dots or stars that replace the rest of a secret.
const BESIDE_DOTS: usize = 10;

/// Whether `value` only shows where a secret would be.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    if is_one_sign(value) {
        return true;
    }
    if is_printed(value) {
        return true;
    }
    let lower = value.to_ascii_lowercase();
    let (mut at, mut left, mut is_one, mut has_dots) = (0, 0, false, false);
    while at < lower.len() {
        let rest = &lower[at..];
        let dots = length_of_dots(rest);
        let template = length_of_template(rest);
        let part = PARTS.iter().find(|part| rest.starts_with(part));
        let filler = FILLERS.iter().find(|part| rest.starts_with(part));
        if dots > 0 {
            has_dots = true;
            at += dots;
        } else if template > 0 {
            is_one = true;
            at += template;
        } else if let Some(part) = part {
            is_one = true;
            at += part.len();
        } else if let Some(filler) = filler {
            at += filler.len();
        } else {
            left += usize::from(lower[at].is_ascii_alphanumeric() || lower[at] >= 0x80);
            at += 1;
        }
    }
    (is_one && left <= LEFT_OVER) || (has_dots && left <= BESIDE_DOTS)
}

/// Whether it is what Amazon's manuals print.
pub(super) fn is_printed(value: &[u8]) -> bool {
    PRINTED
        .iter()
        .any(|known| known.eq_ignore_ascii_case(value))
}

/// `xxxxxxxx`, `********`.
pub(super) fn is_one_sign(value: &[u8]) -> bool {
    value.len() >= 8 && distinct(value) <= 3
}

/// The length of what replaces the rest of a secret.
fn length_of_dots(text: &[u8]) -> usize {
    if text.starts_with("…".as_bytes()) {
        return "…".len();
    }
    [b'x', b'*', b'.']
        .iter()
        .map(|sign| text.iter().take_while(|b| *b == sign).count())
        .find(|count| *count >= 4 || (*count == 3 && text[0] == b'.'))
        .unwrap_or(0)
}

fn length_of_template(text: &[u8]) -> usize {
    for (open, close) in TEMPLATES {
        if text.starts_with(open) {
            // An opening that is not closed was cut: the rest is a name too.
            return super::place::find(text, close).map_or(text.len(), |n| n + close.len());
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_no_secrets() {
        for text in [
            "xxxxxxxxxxxx",
            "YOUR_API_KEY",
            "AKIAIOSFODNN7EXAMPLE",
            "${TOKEN}",
            "<token>",
            "your-secret-key-here",
            "sk-1234567890abcdefghijklmnop",
            "fake-password-123",
            "ab12…9f",
        ] {
            assert!(is_placeholder(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_part_of_a_stand_in_does_not_unmask_a_secret() {
        for text in [
            "fakeHunter2!xQ7",
            "A1b2fakeD4e5F6g7H8i9",
            "samplehunter2hunter2",
            "yourHorseBattery9Staple",
            "hunter2hunter2<",
            "x${A}f3Kq9ZsLm2Xw8Vb1",
        ] {
            assert!(!is_placeholder(text.as_bytes()), "{text}");
        }
    }
}
