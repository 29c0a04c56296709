//! Whether a value that stands where a secret belongs is one: not a
//! placeholder, a reference, a type or a piece of code.

use super::describing::WORDS;
use super::stand_in::is_placeholder;

/// How much the name beside a value promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Promise {
    /// `password`, `passwd`, `passphrase`: chosen by people, may be short.
    Password,
    /// `secret`, `credentials`: both kinds.
    Secret,
    /// `token`, `api_key`: made by machines, long and without words.
    Token,
}

/// How the value is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// In quotes.
    Quoted,
    /// `NAME=value` without spaces, as in a settings file or on a command line.
    Setting,
    /// Where also other things stand: only what has a digit and a letter is one.
    Loose,
    /// Anything else: `name: value`, `name = value`.
    Bare,
}

/// Whether `value` is a secret, by its own looks and what its name promises.
pub(super) fn is_secret(value: &[u8], promise: Promise, form: Form) -> bool {
    if value.len() < 4 || is_placeholder(value) || is_reference(value) || is_word_list(value) {
        return false;
    }
    if form == Form::Loose && !value.iter().any(u8::is_ascii_digit) {
        return false;
    }
    match promise {
        Promise::Password => is_password(value, form),
        Promise::Secret => is_machine_made(value) || is_password(value, form),
        Promise::Token => is_machine_made(value),
    }
}

/// Long and without words: what a machine made.
pub(super) fn is_machine_made(value: &[u8]) -> bool {
    if value.len() < 16 || value.contains(&b' ') || is_path(value) {
        return false;
    }
    let digits = value.iter().filter(|b| b.is_ascii_digit()).count();
    let letters = value.iter().filter(|b| b.is_ascii_alphabetic()).count();
    // More than the one of a time.
    if letters * 12 < value.len() || (digits == 0 && !is_mixed(value)) {
        return false;
    }
    distinct(value) >= 8 && !is_wordy(value)
}

/// What a person made up for a token, where the name leaves no doubt: letters and digits
/// of some length, no path, no piece of a program.
pub(super) fn is_made_up(value: &[u8]) -> bool {
    let letters = value.iter().filter(|b| b.is_ascii_alphabetic()).count();
    let digits = value.iter().filter(|b| b.is_ascii_digit()).count();
    value.len() >= 8
        && letters >= 3
        // Words alone take more of them, and none that only says what it is.
        && (digits >= 1 || (value.len() >= 12 && !names_itself(value)))
        && value.iter().all(|b| b.is_ascii_graphic())
        && !value.contains(&b'/')
        && !is_placeholder(value)
        && !is_reference(value)
        && !is_word_list(value)
        && !is_code(value)
}

/// What a person chose for a password: a sign that names lack, or both cases and digits.
pub(super) fn is_chosen(value: &[u8]) -> bool {
    let has = |kind: fn(&u8) -> bool| value.iter().any(kind);
    let signs = |b: &u8| {
        matches!(
            b,
            b'!' | b'#' | b'?' | b'*' | b'$' | b'%' | b'&' | b'@' | b'^'
        )
    };
    has(u8::is_ascii_digit)
        && !has(|b| matches!(b, b'/' | b':' | b'+'))
        && (has(signs) || (has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)))
}

fn is_password(value: &[u8], form: Form) -> bool {
    let of_a_path = |b: &u8| super::place::is_word(*b) || matches!(b, b'.' | b'-' | b'/');
    if value.starts_with(b"/") && value.iter().all(of_a_path) {
        return false;
    }
    if value.starts_with(b"!") && value[1..].iter().all(u8::is_ascii_alphabetic) {
        return false; // a tag of YAML
    }
    let spaces = value.contains(&b' ');
    let digits = value.iter().any(u8::is_ascii_digit);
    let letters = value.iter().filter(|b| b.is_ascii_alphabetic()).count();
    let signs = value.iter().any(|b| {
        b.is_ascii_punctuation()
            && !matches!(b, b'_' | b'-' | b'.' | b',' | b'\'' | b'?' | b':' | b'/')
    });
    if spaces {
        // A label or a sentence, unless it has what sentences lack.
        return form == Form::Quoted && digits && !ends_like_prose(value) && !value.contains(&b'%');
    }
    if form == Form::Loose {
        let dense = digits && letters >= 2 && value.len() >= 8 && !is_code(value);
        let format = [&b"%s"[..], b"%d", b"%(", b"%v", b"%{"];
        let is_format = format
            .iter()
            .any(|sign| super::place::contains(value, sign));
        return dense && !is_path(value) && !is_format && !names_itself(value);
    }
    if form == Form::Bare && is_code(value) {
        return false;
    }
    if value.split(|b| matches!(b, b'|' | b':' | b',')).count() > 1
        && is_word_list(
            value
                .split(|b| matches!(b, b'|' | b':' | b','))
                .next()
                .unwrap_or_default(),
        )
    {
        return false; // rules of a form: `required|min:8`
    }
    if !digits && !value.is_ascii() {
        return false; // a text in some language
    }
    if names_itself(value) && !(digits && (signs || value.len() >= 9)) {
        return false;
    }
    match form {
        _ if digits || (signs && letters >= 3) => {
            value.len() >= 6 || (form != Form::Bare && digits)
        }
        Form::Quoted => {
            value.len() >= 6
                && !value.contains(&b'.')
                && !value.contains(&b'/')
                && !value.contains(&b':')
                && !is_label(value)
        }
        Form::Setting => value.len() >= 6 && !is_path(value),
        Form::Bare | Form::Loose => false,
    }
}

/// `Password`, `Enter_password`: says what it is instead of being it.
pub(super) fn names_itself(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    [
        &b"password"[..],
        b"passwd",
        b"passwort",
        b"secret",
        b"token",
        b"credential",
        b"_key",
        b"apikey",
        b"api-key",
    ]
    .iter()
    .any(|name| super::place::contains(&lower, name))
}

/// A name of something, in quotes: camelCase or snake_case.
fn is_label(value: &[u8]) -> bool {
    value.contains(&b'_')
        || value
            .windows(2)
            .any(|w| w[0].is_ascii_lowercase() && w[1].is_ascii_uppercase())
        || value[0].is_ascii_uppercase()
}

fn ends_like_prose(value: &[u8]) -> bool {
    value.ends_with(b".") || value.ends_with(b":") || value.ends_with(b"?")
}

/// A name that stands for the value: a variable, a call, a path into an object.
fn is_reference(value: &[u8]) -> bool {
    matches!(
        value[0],
        b'$' | b'%' | b'&' | b'*' | b'{' | b'[' | b'(' | b'#' | b'\\'
    ) && !value.iter().any(u8::is_ascii_digit)
        || matches!(value, [b'$', first, ..] if first.is_ascii_alphabetic() && value[1..].iter().all(|b| super::place::is_word(*b)) && value.iter().any(|b| b.is_ascii_uppercase()))
        || (value[0] == b'@' && value.iter().any(|b| matches!(b, b'.' | b'/')))
        || value.starts_with(b"[")
        || value.starts_with(b"{")
        || value.starts_with(b"(")
        || value.starts_with(b"&mut ")
        || value.starts_with(b"file:")
        || value.starts_with(b"env:")
        || value.starts_with(b"vault:")
        || value.starts_with(b"op://")
        || value.starts_with(b"arn:")
        || value.starts_with(b"secret:")
        || value.starts_with(b"http://")
        || value.starts_with(b"https://")
}

fn is_word_list(value: &[u8]) -> bool {
    let bare = value.trim_ascii_end();
    let bare = bare.strip_suffix(b".").unwrap_or(bare);
    std::str::from_utf8(bare)
        .is_ok_and(|text| WORDS.iter().any(|word| word.eq_ignore_ascii_case(text)))
}

/// A piece of a program: a call, an index, a generic type, a dotted path.
fn is_code(value: &[u8]) -> bool {
    value
        .iter()
        .any(|b| matches!(b, b'(' | b')' | b'[' | b'<' | b'>' | b'|' | b'`'))
        || super::place::contains(value, b"::")
        || super::place::contains(value, b"->")
        || is_dotted_name(value)
        || is_number_type(value)
}

fn is_number_type(value: &[u8]) -> bool {
    matches!(value, [b'u' | b'i' | b'f', rest @ ..] if rest.len() <= 3 && rest.iter().all(u8::is_ascii_digit))
}

fn is_dotted_name(value: &[u8]) -> bool {
    value.contains(&b'.')
        && value.split(|b| *b == b'.').all(|part| {
            part.first()
                .is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
                && part.iter().all(|b| super::place::is_word(*b))
        })
}

fn is_path(value: &[u8]) -> bool {
    (value.starts_with(b"/")
        || value.starts_with(b"./")
        || value.starts_with(b"../")
        || value.starts_with(b"~/"))
        && is_wordy(value)
}

/// Whether most of it is words joined by signs or by capitals.
fn is_wordy(value: &[u8]) -> bool {
    let all = value.iter().filter(|b| b.is_ascii_alphanumeric()).count();
    words_in(value) * 10 >= all * 6
}

/// How many of its letters belong to words.
pub(super) fn words_in(value: &[u8]) -> usize {
    let mut in_words = 0;
    let mut start = 0;
    for at in 0..=value.len() {
        let ends = at == value.len()
            || !value[at].is_ascii_alphabetic()
            || (at > start && value[at].is_ascii_uppercase() && value[at - 1].is_ascii_lowercase());
        if ends {
            let part = &value[start.min(at)..at];
            if part.len() >= 3 && is_pronounced(part) {
                in_words += part.len();
            }
            start = if at < value.len() && value[at].is_ascii_alphabetic() {
                at
            } else {
                at + 1
            };
        }
    }
    in_words
}

/// One case, vowels between consonants as languages have them.
fn is_pronounced(part: &[u8]) -> bool {
    let tail = &part[1..];
    let same_case =
        tail.iter().all(u8::is_ascii_lowercase) || part.iter().all(u8::is_ascii_uppercase);
    let vowels = part
        .iter()
        .filter(|b| {
            matches!(
                b.to_ascii_lowercase(),
                b'a' | b'e' | b'i' | b'o' | b'u' | b'y'
            )
        })
        .count();
    same_case && vowels * 5 >= part.len() && vowels * 4 <= part.len() * 3
}

/// Letters in a mix of cases that no name has.
fn is_mixed(value: &[u8]) -> bool {
    let changes = value
        .windows(2)
        .filter(|w| w[0].is_ascii_lowercase() != w[1].is_ascii_lowercase())
        .count();
    changes * 3 >= value.len()
}

pub(super) fn distinct(value: &[u8]) -> usize {
    let mut seen = [false; 256];
    for byte in value {
        seen[usize::from(*byte)] = true;
    }
    seen.iter().filter(|s| **s).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_write_no_words() {
        assert!(is_machine_made(b"f3Kq9ZsLm2Xw8Vb1Tn6R"));
        assert!(is_machine_made(b"9f86d081884c7d659a2feaa0c55ad015"));
        assert!(!is_machine_made(b"my-service-account-2"));
        assert!(!is_machine_made(b"authenticationTokenProvider2"));
        assert!(!is_machine_made(b"/usr/share/keys/service1.pem"));
    }
}
