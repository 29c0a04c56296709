//! Any text as a patch, applied to any content: a result or a refusal, never a panic.
//! `cargo fuzz run patch`

#![no_main]

use git_harness::replay::patch::{Body, binary, mend, parse, path, text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&[u8], &str)| {
    let (content, patch) = input;
    let mut mended = patch.to_owned();
    mend(&mut mended);
    let again = mended.clone();
    mend(&mut mended);
    assert_eq!(mended, again, "mending twice mends no more");
    let Ok(changes) = parse(&mended) else {
        return;
    };
    for change in changes {
        assert_eq!(path::danger(&change.path), None);
        match &change.body {
            Body::None => {}
            Body::Text(hunks) => drop(text::apply(content, hunks)),
            Body::Literal(size, lines) => drop(binary::inflated((*size).min(1 << 20), lines)),
            Body::Delta(size, lines) => {
                if let Some(delta) = binary::inflated((*size).min(1 << 20), lines) {
                    drop(binary::apply_delta(content, &delta));
                }
            }
        }
    }
});
