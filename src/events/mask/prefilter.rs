//! The first look: which places of a text deserve a rule at all.
//!
//! Every rule names three bytes that all its matches contain. A text is walked
//! once; at each place three bytes, letters without case, are hashed into a table
//! that stays in the processor's nearest cache. Twelve places are looked at together,
//! so that clean text costs one branch for all of them.

use std::ops::Range;

use super::call::CALLS;
use super::keyword::KEYWORDS;
use super::place::three_of;
use super::printed::PRINTERS;
use super::program::PROGRAMS;
use super::shape::SHAPES;
use super::special::SPECIALS;

/// A rule that can be tried at a place where its anchor stands.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    Shape(usize),
    Keyword(usize),
    Special(usize),
    Program(usize),
    Call(usize),
    Printer(usize),
}

impl Rule {
    /// The secrets near `at`, where the anchor begins.
    pub(super) fn check(self, text: &[u8], at: usize, found: &mut Vec<Range<usize>>) {
        match self {
            Rule::Shape(n) => found.extend(SHAPES[n].check(text, at)),
            Rule::Keyword(n) => KEYWORDS[n].check(text, at, found),
            Rule::Special(n) => found.extend((SPECIALS[n].check)(text, at)),
            Rule::Program(n) => PROGRAMS[n].check(text, at, found),
            Rule::Printer(n) => found.extend(PRINTERS[n].check(text, at)),
            Rule::Call(n) => CALLS[n].check(text, at, found),
        }
    }
}

/// Whether `value` is a secret because of the field `name` that holds it.
pub(super) fn is_secret_field(name: &str, value: &str) -> bool {
    let name = name.as_bytes();
    let mut is = false;
    candidates(name, |rule, at| {
        if let Rule::Keyword(n) = rule {
            is = is || KEYWORDS[n].has_field(name, at, value);
        }
    });
    is
}

/// The size of the table: a hash has so many bits.
const BITS: u32 = 15;

/// How many places are looked at together: the threes of bytes in eight.
const PLACES: usize = 6;

/// How many bytes are looked at together: two times eight, of which two are in both.
const CHUNK: usize = PLACES + 8;

/// How many hashes are of one group, so that the number of a group is a byte.
const TOGETHER: usize = 3;

/// How many rules there are.
const COUNT: usize = OF_SPECIALS + SPECIALS.len();

/// Where those of each kind begin.
const OF_KEYWORDS: usize = SHAPES.len();
const OF_PROGRAMS: usize = OF_KEYWORDS + KEYWORDS.len();
const OF_CALLS: usize = OF_PROGRAMS + PROGRAMS.len();
const OF_PRINTERS: usize = OF_CALLS + CALLS.len();
const OF_SPECIALS: usize = OF_PRINTERS + PRINTERS.len();

/// Made when the program is built, so that a hook need not.
static ANCHORS: Anchors = Anchors::new();

struct Anchors {
    /// By hash: the number of its group of rules plus one, or 0.
    groups: [u8; 1 << BITS],
    /// By group: the first of its rules; they go on to the first of the next.
    firsts: [u16; 256],
    /// The rules with their anchors, those of one hash beside each other.
    rules: [(u32, Rule); COUNT],
}

impl Anchors {
    const fn new() -> Self {
        let mut rules = [(0, Rule::Shape(0)); COUNT];
        let mut n = 0;
        while n < COUNT {
            let (anchor, rule) = if n < OF_KEYWORDS {
                (SHAPES[n].anchor(), Rule::Shape(n))
            } else if n < OF_PROGRAMS {
                let n = n - OF_KEYWORDS;
                (KEYWORDS[n].anchor(), Rule::Keyword(n))
            } else if n < OF_CALLS {
                let n = n - OF_PROGRAMS;
                (PROGRAMS[n].anchor(), Rule::Program(n))
            } else if n < OF_PRINTERS {
                let n = n - OF_CALLS;
                (CALLS[n].anchor(), Rule::Call(n))
            } else if n < OF_SPECIALS {
                let n = n - OF_PRINTERS;
                (PRINTERS[n].anchor(), Rule::Printer(n))
            } else {
                let n = n - OF_SPECIALS;
                (three_of(SPECIALS[n].anchor, 0), Rule::Special(n))
            };
            let three = folded(number(&anchor));
            // Sorted by insertion; equal ones stay in their order.
            let mut at = n;
            while at > 0 && hash(rules[at - 1].0) > hash(three) {
                rules[at] = rules[at - 1];
                at -= 1;
            }
            rules[at] = (three, rule);
            n += 1;
        }
        let mut groups = [0; 1 << BITS];
        let mut firsts = [COUNT as u16; 256];
        let (mut n, mut hashes) = (0, 0);
        while n < COUNT {
            let place = hash(rules[n].0);
            if groups[place] == 0 {
                let group = hashes / TOGETHER;
                assert!(group < 254, "the number of a group is a byte");
                if hashes % TOGETHER == 0 {
                    firsts[group] = n as u16;
                }
                hashes += 1;
                groups[place] = group as u8 + 1;
            }
            n += 1;
        }
        Anchors {
            groups,
            firsts,
            rules,
        }
    }

    /// Tries the rules at the places of `eight`, which begins at `at`.
    #[inline(never)]
    fn look_in(&self, eight: u64, at: usize, found: &mut impl FnMut(Rule, usize)) {
        for place in 0..PLACES {
            self.look((eight >> (8 * place)) as u32, at + place, found);
        }
    }

    /// Tries the rules of `three`, which stands at `at`.
    fn look(&self, three: u32, at: usize, found: &mut impl FnMut(Rule, usize)) {
        let group = usize::from(self.groups[hash(three)]);
        if group == 0 {
            return;
        }
        let [first, end] = [group - 1, group].map(|n| usize::from(self.firsts[n]));
        let folded = folded(three);
        for (anchor, rule) in &self.rules[first..end] {
            if *anchor == folded {
                found(*rule, at);
            }
        }
    }
}

/// Calls `found` for each rule whose anchor stands at a place of `text`.
pub(super) fn candidates(text: &[u8], mut found: impl FnMut(Rule, usize)) {
    let mut at = 0;
    while let Some(bytes) = text[at..].first_chunk::<CHUNK>() {
        let halves = halves(bytes);
        let any = halves.map(|half| {
            let uncased = half & UNCASED;
            (0..PLACES).fold(0, |any, place| {
                any | ANCHORS.groups[hash_uncased((uncased >> (8 * place)) as u32)]
            })
        });
        if any[0] | any[1] != 0 {
            for n in 0..halves.len() {
                if any[n] != 0 {
                    ANCHORS.look_in(halves[n], at + n * PLACES, &mut found);
                }
            }
        }
        at += 2 * PLACES;
    }
    for (place, three) in text.windows(3).enumerate().skip(at) {
        ANCHORS.look(number(three), place, &mut found);
    }
}

/// The first eight bytes and the last eight.
fn halves(bytes: &[u8; CHUNK]) -> [u64; 2] {
    let of = |from: usize| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&bytes[from..from + 8]);
        u64::from_le_bytes(eight)
    };
    [of(0), of(PLACES)]
}

/// What is left of letters when their case does not count.
const UNCASED: u64 = 0xdfdf_dfdf_dfdf_dfdf;

/// Where three bytes belong; the case of letters and the byte behind do not count.
const fn hash(bytes: u32) -> usize {
    hash_uncased(bytes & UNCASED as u32)
}

/// The same for letters without case. The highest byte falls out of the product.
const fn hash_uncased(bytes: u32) -> usize {
    // Of some thousand, the one with which the fewest common threes meet an anchor.
    const SPREAD: u32 = 0x00bd_d467;
    (bytes.wrapping_mul(SPREAD << 8) >> (32 - BITS)) as usize
}

const fn number(three: &[u8]) -> u32 {
    u32::from_le_bytes([three[0], three[1], three[2], 0])
}

/// Three bytes, letters without case.
const fn folded(three: u32) -> u32 {
    let [a, b, c, _] = three.to_le_bytes();
    u32::from_le_bytes([
        a.to_ascii_lowercase(),
        b.to_ascii_lowercase(),
        c.to_ascii_lowercase(),
        0,
    ])
}
