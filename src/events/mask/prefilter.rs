//! The first look: which places of a text deserve a rule at all.
//!
//! Every rule names three bytes that all its matches contain. A text is walked
//! once; at each place three bytes, letters without case, are hashed into a table
//! that stays in the processor's nearest cache. Six places are looked at together,
//! so that clean text costs one branch for all of them.

use std::ops::Range;
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
    pub(super) fn check(self, text: &[u8], at: usize) -> Option<Range<usize>> {
        match self {
            Rule::Shape(n) => SHAPES[n].check(text, at),
            Rule::Keyword(n) => KEYWORDS[n].check(text, at),
            Rule::Special(n) => (SPECIALS[n].check)(text, at),
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

struct Anchors {
    /// By hash: the group of rules plus one, or 0.
    groups: Box<[u8; 1 << BITS]>,
    /// Rules whose anchors share a hash, each with its anchor.
    rules: Vec<Vec<(u32, Rule)>>,
}

static ANCHORS: LazyLock<Anchors> = LazyLock::new(|| {
    let mut anchors = Anchors {
        groups: Box::new([0; 1 << BITS]),
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
        let group = &mut self.groups[hash(number(anchor))];
        if *group == 0 {
            self.rules.push(Vec::new());
            *group = u8::try_from(self.rules.len()).expect("fewer than 256 anchors, by a test");
        }
        self.rules[usize::from(*group) - 1].push((folded(number(anchor)), rule));
    }

    /// Tries the rules of `three`, which stands at `at`.
    fn look(&self, three: u32, at: usize, found: &mut impl FnMut(Rule, usize)) {
        let group = self.groups[hash(three)];
        if group == 0 {
            return;
        }
        let three = folded(three);
        for (anchor, rule) in &self.rules[usize::from(group) - 1] {
            if *anchor == three {
                found(*rule, at);
            }
        }
    }
}

/// Calls `found` for each rule whose anchor stands at a place of `text`.
pub(super) fn candidates(text: &[u8], mut found: impl FnMut(Rule, usize)) {
    let anchors = &*ANCHORS;
    let groups = &*anchors.groups;
    let mut at = 0;
    while let Some(eight) = text[at..].first_chunk::<8>() {
        let eight = u64::from_le_bytes(*eight);
        let mut any = 0;
        for place in 0..PLACES {
            any |= groups[hash((eight >> (8 * place)) as u32)];
        }
        if any != 0 {
            for place in 0..PLACES {
                anchors.look((eight >> (8 * place)) as u32, at + place, &mut found);
            }
        }
        at += PLACES;
    }
    for (place, three) in text.windows(3).enumerate().skip(at) {
        anchors.look(number(three), place, &mut found);
    }
}

/// Where three bytes belong; the case of letters and the byte behind do not count.
fn hash(bytes: u32) -> usize {
    const FOLD: u32 = 0x00df_dfdf;
    const SPREAD: u32 = 0x9e37_79b1;
    ((bytes & FOLD).wrapping_mul(SPREAD) >> (32 - BITS)) as usize
}

fn number(three: &[u8]) -> u32 {
    u32::from_le_bytes([three[0], three[1], three[2], 0])
}

/// Three bytes, letters without case.
fn folded(three: u32) -> u32 {
    let [a, b, c, _] = three.to_le_bytes().map(|byte| byte.to_ascii_lowercase());
    u32::from_le_bytes([a, b, c, 0])
}
