//! Ids of events: ordered by time for what happens now, a hash of the origin
//! for what is read from elsewhere.

use std::collections::hash_map::RandomState;
use std::fmt::Write;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

/// A new id, greater than those of earlier milliseconds: `hev_`, 12 digits of
/// time, 16 that no other process draws.
pub fn fresh(ms: i64) -> String {
    static DRAWN: AtomicU64 = AtomicU64::new(0);
    // The standard library seeds this from the system's random numbers.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.write_u64(DRAWN.fetch_add(1, Ordering::Relaxed));
    hasher.write_i64(ms);
    format!("hev_{ms:012x}{:016x}", hasher.finish())
}

/// The id that `parts` always have, wherever they are read.
pub fn of(parts: &[&str]) -> String {
    format!("hev_{}", &hash(parts)[..28])
}

/// 64 hexadecimal digits that stand for `parts`.
pub fn hash(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part.as_bytes());
    }
    let mut text = String::with_capacity(64);
    for byte in digest.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_ids_differ_and_sort_by_time() {
        let (a, b, later) = (fresh(1), fresh(1), fresh(2));
        assert_ne!(a, b);
        assert!(a < later && b < later);
        assert_eq!(a.len(), later.len());
    }

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_eq!(of(&["ab", "c"]), of(&["ab", "c"]));
    }
}
