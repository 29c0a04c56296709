//! What is masked and what is left alone, held by two corpora: one that the
//! rules were made with, one that was written before them.
//!
//! A line is one text; `\n` is a line break. In the files with secrets, `«` and
//! `»` stand around the secret and `·`, which is dropped, breaks its prefix, so
//! that no scanner of pushes takes these made-up tokens for real ones.

use git_harness::events::mask::Masked;

const SECRETS: &str = include_str!("../fixtures/masking/secrets.txt");
const CLEAN: &str = include_str!("../fixtures/masking/clean.txt");
const HELDOUT_SECRETS: &str = include_str!("../fixtures/masking/heldout-secrets.txt");
const HELDOUT_CLEAN: &str = include_str!("../fixtures/masking/heldout-clean.txt");

/// The text of a line, and the secrets in it.
fn sample(line: &str) -> (String, Vec<String>) {
    let line = line.replace("\\n", "\n").replace('·', "");
    let secrets = line
        .split('«')
        .skip(1)
        .map(|rest| rest.split('»').next().unwrap().to_owned())
        .collect();
    (line.replace(['«', '»'], ""), secrets)
}

/// Whether nothing of `secret` is left: not the whole, and of each of its lines
/// no half.
fn is_gone(masked: &str, secret: &str) -> bool {
    secret.lines().filter(|line| !line.is_empty()).all(|line| {
        let half: String = line
            .chars()
            .take(line.chars().count().div_ceil(2).max(4))
            .collect();
        !masked.contains(line) && !masked.contains(&half)
    })
}

#[track_caller]
fn check_recall(corpus: &str, least: usize, share: f64) {
    let mut missed = Vec::new();
    let mut count = 0;
    for line in corpus.lines() {
        let (text, secrets) = sample(line);
        assert!(!secrets.is_empty(), "no secret is marked in {line}");
        let masked = Masked::new(&text);
        count += 1;
        if !secrets.iter().all(|secret| is_gone(&masked, secret)) {
            missed.push(format!("{text}\n  → {masked}"));
        }
    }
    let recall = 1.0 - missed.len() as f64 / count as f64;
    assert!(count >= least, "only {count} samples");
    assert!(recall >= share, "recall {recall:.4}\n{}", missed.join("\n"));
}

#[track_caller]
fn check_clean(corpus: &str, least: usize, share: f64) {
    let mut changed = Vec::new();
    let mut count = 0;
    for line in corpus.lines() {
        let text = line.replace("\\n", "\n");
        let masked = Masked::new(&text);
        count += 1;
        if *masked != *text {
            changed.push(format!("{text}\n  → {masked}"));
        }
    }
    let wrong = changed.len() as f64 / count as f64;
    assert!(count >= least, "only {count} samples");
    assert!(wrong <= share, "changed {wrong:.4}\n{}", changed.join("\n"));
}

#[test]
fn secrets_are_masked() {
    check_recall(SECRETS, 300, 0.99);
}

#[test]
fn clean_text_is_left_alone() {
    check_clean(CLEAN, 300, 0.01);
}

#[test]
fn secrets_that_the_rules_were_not_made_with_are_masked() {
    check_recall(HELDOUT_SECRETS, 150, 0.97);
}

#[test]
fn clean_text_that_the_rules_were_not_made_with_is_left_alone() {
    check_clean(HELDOUT_CLEAN, 150, 0.02);
}

#[test]
fn masking_again_changes_nothing() {
    for line in SECRETS.lines().chain(HELDOUT_SECRETS.lines()) {
        let once = Masked::new(&sample(line).0);
        assert_eq!(Masked::new(&once), once);
    }
}

/// Any bytes, cut anywhere, are answered and not a panic.
#[test]
fn no_text_breaks_the_rules() {
    for line in SECRETS
        .lines()
        .chain(CLEAN.lines())
        .chain(HELDOUT_SECRETS.lines())
    {
        let (text, _) = sample(line);
        let bytes = text.as_bytes();
        for cut in 0..bytes.len().min(160) {
            Masked::from_bytes(&bytes[cut..]);
            Masked::from_bytes(&bytes[..cut]);
            let mut odd = bytes.to_vec();
            odd[cut] = 0xc3;
            Masked::from_bytes(&odd);
        }
    }
}
