//! The two kinds of binary hunk: a literal and a delta, both deflated.

use std::io::Read;

use flate2::read::ZlibDecoder;

use crate::replay::patch::base85;

/// More than this is left to git, which has its own care for big files.
const LARGEST: usize = 1 << 30;

/// The `size` bytes that base85 `lines` hold deflated; `None` when they do not.
pub fn inflated(size: usize, lines: &[&str]) -> Option<Vec<u8>> {
    if size > LARGEST {
        return None;
    }
    let deflated = base85::decode(lines)?;
    let mut bytes = Vec::new();
    // One byte more than promised, so that a longer stream is noticed and not kept.
    ZlibDecoder::new(deflated.as_slice())
        .take(size as u64 + 1)
        .read_to_end(&mut bytes)
        .ok()?;
    (bytes.len() == size).then_some(bytes)
}

/// What `delta` makes of `base` (gitformat-pack(5), "Deltified representation");
/// `None` when it does not fit.
pub fn apply_delta(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut delta = delta;
    if size(&mut delta)? != base.len() {
        return None;
    }
    let wanted = size(&mut delta)?;
    if wanted > LARGEST {
        return None;
    }
    let mut result = Vec::new();
    while let Some(op) = byte(&mut delta) {
        if op & 0x80 != 0 {
            let mut offset = 0;
            let mut length = 0;
            for bit in 0..4 {
                if op & (1 << bit) != 0 {
                    offset |= usize::from(byte(&mut delta)?) << (8 * bit);
                }
            }
            for bit in 0..3 {
                if op & (0x10 << bit) != 0 {
                    length |= usize::from(byte(&mut delta)?) << (8 * bit);
                }
            }
            if length == 0 {
                length = 0x10000;
            }
            result.extend_from_slice(base.get(offset..offset.checked_add(length)?)?);
        } else {
            // A zero is reserved, and copies nothing.
            let (literal, rest) = delta
                .split_at_checked(usize::from(op))
                .filter(|_| op != 0)?;
            result.extend_from_slice(literal);
            delta = rest;
        }
        if result.len() > wanted {
            return None;
        }
    }
    (result.len() == wanted).then_some(result)
}

fn byte(bytes: &mut &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*first)
}

fn size(bytes: &mut &[u8]) -> Option<usize> {
    let mut value: usize = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let next = byte(bytes)?;
        value |= usize::from(next & 0x7f).checked_shl(shift)?;
        if next & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_copies_and_inserts() {
        let delta = [5, 7, 0x91, 1, 3, 2, b'x', b'y', 0x90, 2];
        assert_eq!(apply_delta(b"abcde", &delta), Some(b"bcdxyab".to_vec()));
    }

    #[test]
    fn a_delta_that_does_not_fit_is_refused() {
        for delta in [
            &[][..],
            &[5],
            &[4, 1, 1, b'x'],
            &[5, 1],
            &[5, 1, 0],
            &[5, 1, 2, b'x'],
            &[5, 9, 0x91, 3, 9],
            &[5, 1, 2, b'x', b'y'],
            &[0xff; 20],
            &[5, 2, 0xff],
        ] {
            assert_eq!(apply_delta(b"abcde", delta), None, "{delta:?}");
        }
    }
}
