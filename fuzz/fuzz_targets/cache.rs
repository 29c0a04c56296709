//! Any bytes as a side cache: nothing, or a cache that is written as it was read.
//! `cargo fuzz run cache`

#![no_main]

use git_harness::snapshot::cache::Cache;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for hash in [gix::hash::Kind::Sha1, gix::hash::Kind::Sha256] {
        let _ = Cache::decode(bytes, hash);
    }
    // Past the checksum, which a fuzzer does not guess.
    let mut sealed = bytes.to_vec();
    Cache::seal(&mut sealed);
    if let Some(cache) = Cache::decode(&sealed, gix::hash::Kind::Sha1) {
        let again = Cache::decode(&cache.encode(), gix::hash::Kind::Sha1);
        assert_eq!(again, Some(cache));
    }
});
