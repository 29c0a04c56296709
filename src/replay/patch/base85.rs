//! git's base85 (base85.c): five characters for four bytes, a letter before
//! each line for its length.

const DIGITS: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// The values of the digits, 85 for what is none.
const VALUES: [u8; 256] = {
    let mut values = [85; 256];
    let mut at = 0;
    while at < DIGITS.len() {
        values[DIGITS[at] as usize] = at as u8;
        at += 1;
    }
    values
};

/// The bytes that the lines of one binary hunk spell; `None` when one is broken.
pub fn decode(lines: &[&str]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(lines.len() * 52);
    for line in lines {
        line_into(line.as_bytes(), &mut bytes)?;
    }
    Some(bytes)
}

/// How many bytes a line of a binary hunk says it holds; `None` when it is no such line.
pub fn length(line: &[u8]) -> Option<usize> {
    match line.first()? {
        upper @ b'A'..=b'Z' => Some(usize::from(upper - b'A') + 1),
        lower @ b'a'..=b'z' => Some(usize::from(lower - b'a') + 27),
        _ => None,
    }
}

fn line_into(line: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let wanted = length(line)?;
    let digits = &line[1..];
    if digits.len() != wanted.div_ceil(4) * 5 {
        return None;
    }
    let start = bytes.len();
    for group in digits.chunks_exact(5) {
        let mut value: u32 = 0;
        for digit in group {
            let digit = VALUES[usize::from(*digit)];
            if digit == 85 {
                return None;
            }
            value = value.checked_mul(85)?.checked_add(u32::from(digit))?;
        }
        bytes.extend_from_slice(&value.to_be_bytes());
    }
    bytes.truncate(start + wanted);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_git_are_read() {
        // How `git diff --binary` writes an empty file: the deflated nothing (RFC 1950).
        let nothing = [0x78, 0x01, 0x03, 0, 0, 0, 0, 0x01];
        assert_eq!(decode(&["HcmV?d00001"]), Some(nothing.to_vec()));
        // Of two lines the first is full, and a length counts bytes, not digits.
        assert_eq!(decode(&["A00000"]), Some(vec![0]));
        assert_eq!(
            decode(&["HcmV?d00001", "BcmV?d"]),
            Some([&nothing[..], &nothing[..2]].concat())
        );
    }

    #[test]
    fn broken_lines_are_refused() {
        for line in [
            "", "A", "A0000", "A000000", "!00000", "A0000\"", "A~~~~~", "z00000",
        ] {
            assert_eq!(decode(&[line]), None, "{line}");
        }
    }
}
