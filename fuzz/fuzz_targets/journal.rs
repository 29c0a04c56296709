//! Any bytes as a journal: an error or turns, never a panic.
//! `cargo fuzz run journal`

#![no_main]

use git_harness::replay::journal::{Journal, Limits, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits {
        bytes: 1 << 20,
        entries: 1000,
    };
    let Ok(journal) = Journal::read("fuzzed".into(), bytes.to_vec(), limits) else {
        return;
    };
    for index in 0..journal.container.len() {
        let entry = journal.container.entry(index).expect("counted");
        write::event(entry).expect("an entry that was read is an object");
        // The same journal, whatever blanks stand between its tokens.
        let compact = write::compact(entry);
        assert_eq!(write::compact(&compact), compact);
    }
});
