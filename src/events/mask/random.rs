//! Whether a run of characters is random: what a machine draws from letters of both
//! cases and digits, unlike anything that people name or write.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::value::{distinct, words_in};

/// A byte of a token: letters, digits and the signs of both alphabets of base64.
pub(super) fn is_token(byte: u8) -> bool {
    TOKEN[usize::from(byte)]
}

static TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut n = 0;
    while n < 256 {
        let byte = n as u8;
        table[n] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'=');
        n += 1;
    }
    table
};

#[derive(PartialEq, Clone, Copy)]
enum Kind {
    Lower,
    Upper,
    Digit,
    Sign,
}

fn kind(byte: u8) -> Kind {
    match byte {
        b'a'..=b'z' => Kind::Lower,
        b'A'..=b'Z' => Kind::Upper,
        b'0'..=b'9' => Kind::Digit,
        _ => Kind::Sign,
    }
}

/// Whether letters of both cases and a digit are there at all.
pub(super) fn has_all_kinds(value: &[u8]) -> bool {
    let has = |kind: fn(&u8) -> bool| value.iter().any(kind);
    has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
}

/// Whether `value` is random: both cases and digits, changing so often that no name, no
/// path and no text in base64 is meant.
pub(super) fn is_random(value: &[u8]) -> bool {
    let (mut lower, mut upper, mut digits, mut signs, mut slashes) = (0, 0, 0, 0, 0);
    let (mut changes, mut pairs, mut piece, mut longest) = (0, 0, 0, 0);
    let mut last = Kind::Sign;
    for byte in value {
        let this = kind(*byte);
        match this {
            Kind::Lower => lower += 1,
            Kind::Upper => upper += 1,
            Kind::Digit => digits += 1,
            Kind::Sign => signs += 1,
        }
        slashes += usize::from(*byte == b'/');
        if this == Kind::Sign {
            piece = 0;
        } else {
            piece += 1;
            longest = longest.max(piece);
            if last != Kind::Sign {
                pairs += 1;
                changes += usize::from(this != last);
            }
        }
        last = this;
    }
    let letters = lower + upper;
    digits >= 1
        && lower >= 3
        && upper >= 3
        // One letter in nine is of the rarer case, and more: names have fewer.
        && upper * 9 >= letters
        && lower * 9 >= letters
        && digits * 2 <= letters * 3
        && longest >= 10
        && signs * 6 <= value.len()
        && slashes * 20 <= value.len() + 20
        && changes * 20 >= pairs * 7
        && distinct(value) * 5 >= value.len().min(40) * 2
        && words_in(value) * 20 < (letters + digits) * 10
        && !is_text(value)
}

/// base64 of a text.
fn is_text(value: &[u8]) -> bool {
    let bare = value.trim_ascii_end();
    let bare = &bare[..bare.iter().rposition(|b| *b != b'=').map_or(0, |n| n + 1)];
    // Whole groups only: what was cut has a rest.
    let whole = &bare[..bare.len() - bare.len() % 4];
    let text = STANDARD_NO_PAD
        .decode(whole)
        .or_else(|_| URL_SAFE_NO_PAD.decode(whole));
    text.is_ok_and(|text| {
        let plain = |b: &&u8| b.is_ascii_graphic() || matches!(**b, b' ' | b'\n' | b'\r' | b'\t');
        text.iter().filter(plain).count() * 10 >= text.len() * 9
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_is_random() {
        for text in [
            "8ULNHqzQgKujtR4tWHiIqeVs",
            "ebNfvYF0TnKgVltgLDKGDfTyTli3MEp9vINy8oK4",
            "8GMMH1lo8avwjSwuI5xVz7-xRcc30wGEy3nHzNn2cbI=",
            "llSNJ4d4BO9vir8zblED1jqVcrQ75/VeWCyYKVyg",
        ] {
            assert!(is_random(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn what_is_named_is_not() {
        for text in [
            "AuthenticationTokenProviderFactoryBean2",
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
            "wJalrXUtnFEMI",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
            "3F2504E0-4F89-11D3-9A0C-0305E82C3301",
            "aGVsbG8gd29ybGQsIHRoaXMgaXMgYSB0ZXN0",
            "kCFStreamSSLLevel2NegotiatedSSLv3",
            "WebKitFormBoundary7MA4YWxkTrZu0gW",
        ] {
            assert!(!is_random(text.as_bytes()), "{text}");
        }
    }
}
