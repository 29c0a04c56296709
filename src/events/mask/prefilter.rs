//! The first look: which places of a text deserve a rule at all.
//!
//! Every rule names three bytes that all its matches contain. A text is walked
//! once; at each place the first two bytes find a set of possible third ones,
//! by their low three bits: two loads and a test for a byte of clean text.

use std::sync::LazyLock;

use super::context::KEYWORDS;
use super::shape::SHAPES;
use super::special::SPECIALS;

/// A rule that can be tried at a place where its anchor stands.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    Shape(usize),
    Keyword(usize),
    Special(usize),
}

impl Rule {
    /// The secret near `at`, where the anchor begins.
    pub(super) fn check(self, text: &[u8], at: usize) -> Option<std::ops::Range<usize>> {
        match self {
            Rule::Shape(n) => SHAPES[n].check(text, at),
            Rule::Keyword(n) => KEYWORDS[n].check(text, at),
            Rule::Special(n) => (SPECIALS[n].check)(text, at),
        }
    }
}

struct Anchors {
    /// By two bytes: a bit for each value of the low three bits of a third.
    pairs: Box<[u8; 1 << 16]>,
    /// By three folded bytes, sorted.
    rules: Vec<(u32, Vec<Rule>)>,
}

static ANCHORS: LazyLock<Anchors> = LazyLock::new(|| {
    let mut anchors = Anchors {
        pairs: Box::new([0; 1 << 16]),
        rules: Vec::new(),
    };
    for (n, shape) in SHAPES.iter().enumerate() {
        anchors.add(shape.anchor(), Rule::Shape(n));
    }
    for (n, keyword) in KEYWORDS.iter().enumerate() {
        anchors.add(keyword.anchor(), Rule::Keyword(n));
    }
    for (n, special) in SPECIALS.iter().enumerate() {
        anchors.add(special.anchor.as_bytes(), Rule::Special(n));
    }
    anchors
});

impl Anchors {
    fn add(&mut self, anchor: &[u8], rule: Rule) {
        for first in cases(anchor[0]) {
            for second in cases(anchor[1]) {
                let pair = u16::from_le_bytes([first, second]);
                for third in cases(anchor[2]) {
                    self.pairs[usize::from(pair)] |= 1 << (third & 7);
                }
            }
        }
        let three = folded(anchor);
        match self.rules.binary_search_by_key(&three, |(key, _)| *key) {
            Ok(n) => self.rules[n].1.push(rule),
            Err(n) => self.rules.insert(n, (three, vec![rule])),
        }
    }

    fn rules(&self, three: &[u8]) -> &[Rule] {
        match self
            .rules
            .binary_search_by_key(&folded(three), |(key, _)| *key)
        {
            Ok(n) => &self.rules[n].1,
            Err(_) => &[],
        }
    }
}

fn cases(byte: u8) -> [u8; 2] {
    [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()]
}

/// Calls `found` for each rule whose anchor stands at a place of `text`.
pub(super) fn candidates(text: &[u8], mut found: impl FnMut(Rule, usize)) {
    let anchors = &*ANCHORS;
    let pairs = &*anchors.pairs;
    for (at, three) in text.windows(3).enumerate() {
        let thirds = pairs[usize::from(u16::from_le_bytes([three[0], three[1]]))];
        if thirds >> (three[2] & 7) & 1 != 0 {
            for rule in anchors.rules(three) {
                found(*rule, at);
            }
        }
    }
}

/// Three bytes as a number, letters without case.
fn folded(three: &[u8]) -> u32 {
    u32::from_le_bytes([
        three[0].to_ascii_lowercase(),
        three[1].to_ascii_lowercase(),
        three[2].to_ascii_lowercase(),
        0,
    ])
}
