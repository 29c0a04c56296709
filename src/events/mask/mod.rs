//! Takes secrets out of text before anything is written. [`Masked`] is the only
//! text that the event log, its state and its mirror accept, and this module is
//! the only one that can make it.
//!
//! A scan for rare three-byte fragments costs less than a nanosecond a byte; only
//! where one is found do the precise rules look, and only at that place. The rules are
//! tables of names (`shape`, `keyword`, `program`, `call`, `printed`, `address`), and
//! `bare` finds what is secret by its looks alone.

mod address;
mod argv;
mod armour;
mod bare;
mod call;
mod column;
mod command;
mod context;
mod describing;
mod json;
mod keyword;
mod loose;
mod named;
mod piped;
mod place;
mod prefilter;
mod printed;
mod program;
mod public;
mod random;
mod shape;
mod special;
mod stand_in;
mod text;
mod value;

use std::ops::Range;

pub use json::{MaskedJson, is_identifier};
pub use text::{MASK, Masked, boundary};

/// Where the secrets of `text` are, in order and apart from each other.
pub fn secrets(text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    prefilter::candidates(text, |rule, at| rule.check(text, at, &mut found));
    bare::runs(text, &mut found);
    merge(found)
}

/// The same without what is only known by its looks: for what may be a name, which
/// is random too.
fn known_secrets(text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    prefilter::candidates(text, |rule, at| rule.check(text, at, &mut found));
    merge(found)
}

fn merge(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.retain(|r| !r.is_empty());
    ranges.sort_by_key(|r| (r.start, r.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}
