//! What is masked and what is left alone, held by four corpora: one that the rules
//! were made with; two by people who had not seen them (measured at first: recall
//! 0.877 with 1.6 % changed, and 0.854 with 1.0 %; the kinds that were missed have
//! rules since); and one more that no rule was ever made for, nor shall be: it says
//! what a stranger's text meets (recall 0.972, 1.4 % changed).
//!
//! A line of the first is one text; `\n` is a line break, and `«` and `»` stand
//! around the secret. A line of the others is a JSON object. `·`, which is dropped,
//! breaks every secret, so that no scanner of pushes takes these made-up tokens for
//! real ones.

use git_harness::events::mask::{Masked, MaskedJson};
use serde_json::{Value, json};

const SECRETS: &str = include_str!("../fixtures/masking/secrets.txt");
const CLEAN: &str = include_str!("../fixtures/masking/clean.txt");
const HELDOUT: [&str; 2] = [
    include_str!("../fixtures/masking/heldout.jsonl"),
    include_str!("../fixtures/masking/heldout2.jsonl"),
];
const UNSEEN: &str = include_str!("../fixtures/masking/unseen.jsonl");

/// A text, and the secrets in it.
type Sample = (String, Vec<String>);

/// The texts of a corpus of others that have a secret, or that have none.
fn heldout(corpus: &str, kind: &str) -> Vec<Sample> {
    corpus
        .replace('·', "")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|sample| sample["kind"] == kind)
        .map(|sample| {
            let listed = sample["secrets"].as_array().into_iter().flatten();
            let secrets = listed.chain([&sample["secret"]]);
            (
                sample["text"].as_str().unwrap().to_owned(),
                secrets
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect(),
            )
        })
        .collect()
}

fn samples(corpus: &str) -> Vec<Sample> {
    corpus.lines().map(sample).collect()
}

/// The text of a line, and the secrets in it.
fn sample(line: &str) -> Sample {
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
fn check_recall(corpus: &[Sample], least: usize, share: f64) {
    let mut missed = Vec::new();
    for (text, secrets) in corpus {
        assert!(!secrets.is_empty(), "no secret is marked in {text}");
        let masked = Masked::new(text);
        if !secrets.iter().all(|secret| is_gone(&masked, secret)) {
            missed.push(format!("{text}\n  → {masked}"));
        }
    }
    let recall = 1.0 - missed.len() as f64 / corpus.len() as f64;
    assert!(corpus.len() >= least, "only {} samples", corpus.len());
    assert!(recall >= share, "recall {recall:.4}\n{}", missed.join("\n"));
}

#[track_caller]
fn check_clean(corpus: &[Sample], least: usize, share: f64) {
    let mut changed = Vec::new();
    for (text, _) in corpus {
        let masked = Masked::new(text);
        if *masked != **text {
            changed.push(format!("{text}\n  → {masked}"));
        }
    }
    let wrong = changed.len() as f64 / corpus.len() as f64;
    assert!(corpus.len() >= least, "only {} samples", corpus.len());
    assert!(wrong <= share, "changed {wrong:.4}\n{}", changed.join("\n"));
}

#[test]
fn secrets_are_masked() {
    check_recall(&samples(SECRETS), 700, 0.99);
}

#[test]
fn clean_text_is_left_alone() {
    check_clean(&samples(CLEAN), 500, 0.01);
}

#[test]
fn secrets_that_the_rules_were_not_made_with_are_masked() {
    check_recall(&heldout(HELDOUT[0], "true"), 150, 0.97);
    check_recall(&heldout(HELDOUT[1], "true"), 400, 0.97);
    check_recall(&heldout(UNSEEN, "true"), 300, 0.97);
}

#[test]
fn clean_text_that_the_rules_were_not_made_with_is_left_alone() {
    check_clean(&heldout(HELDOUT[0], "clean"), 150, 0.02);
    check_clean(&heldout(HELDOUT[1], "clean"), 300, 0.02);
    check_clean(&heldout(UNSEEN, "clean"), 250, 0.02);
}

#[test]
fn masking_again_changes_nothing() {
    let others = HELDOUT.map(|corpus| heldout(corpus, "true")).concat();
    for (text, _) in samples(SECRETS).into_iter().chain(others) {
        let once = Masked::new(&text);
        assert_eq!(Masked::new(&once), once);
    }
}

/// Any bytes, cut anywhere, are answered and not a panic.
#[test]
fn no_text_breaks_the_rules() {
    let others = HELDOUT.map(|corpus| heldout(corpus, "true")).concat();
    let all = [samples(SECRETS), samples(CLEAN), others].concat();
    for (number, (text, _)) in all.iter().enumerate() {
        let bytes = text.as_bytes();
        // Of each text some places, of all together every one.
        for cut in (number % 8..bytes.len().min(160)).step_by(8) {
            Masked::from_bytes(&bytes[cut..]);
            Masked::from_bytes(&bytes[..cut]);
            let mut odd = bytes.to_vec();
            odd[cut] = 0xc3;
            Masked::from_bytes(&odd);
        }
    }
}

/// What a machine made, and what a person made up.
const RANDOM: &str = "f3Kq9ZsLm2Xw8Vb1Tn6RqW4y";
const MADE_UP: &str = "hunter2hunter2";
const WORDS: &str = "correct-horse-battery";

#[test]
fn the_words_of_a_stand_in_unmask_nothing() {
    for word in [
        "fake", "your", "sample", "todo", "insert", "example", "here",
    ] {
        let token = format!("ghp_Ab3dEf6h{word}Ij9LmN2pQr5tUv8xYz1Bc4De7F");
        let key = format!("AKIA{:A<16}", format!("Q7{}ZP", word.to_uppercase()));
        for text in [
            token.clone(),
            format!("password={word}Hunter2!xQ7"),
            format!("postgres://u:{word}Hunter2xQ7@h/d"),
            key,
        ] {
            let masked = Masked::new(&text);
            assert!(masked.contains("[masked]"), "{text} → {masked}");
        }
    }
}

#[test]
fn names_beside_values_are_known_in_each_form() {
    let mut missed = Vec::new();
    for text in [
        format!("aws configure set aws_secret_access_key {RANDOM}"),
        format!("npm config set //registry.npmjs.org/:_authToken {RANDOM}"),
        format!(r#"["curl","-u","bob:{MADE_UP}","https://h"]"#),
        format!(r#"[\"curl\", \"-u\", \"bob:{MADE_UP}\"]"#),
        format!(r#"["x","--password","{RANDOM}"]"#),
        format!(r#"{{"name":"password","value":"{RANDOM}"}}"#),
        format!(r#"{{\"name\": \"API_KEY\", \"value\": \"{RANDOM}\"}}"#),
        format!(r#"{{"secret":{{"value":"{RANDOM}"}}}}"#),
        format!(r#"{{"auth":{{"user":"bob","pass":"{MADE_UP}"}}}}"#),
        format!(r#"{{\"auth\": {{\"user\": \"bob\", \"pass\": \"{MADE_UP}\"}}}}"#),
        format!("user%3Dbob%26password%3D{RANDOM}%26next"),
        format!("Authorization: Basic {RANDOM}"),
        format!("set-cookie: session={RANDOM}; Path=/"),
        format!("Cookie: a=b; auth={RANDOM}"),
        format!("TOKEN={MADE_UP}"),
        format!("export API_KEY={MADE_UP}"),
        format!("X-Api-Key: {MADE_UP}"),
        format!("tool --api-key {MADE_UP}"),
        format!("export API_KEY={WORDS}"),
        format!("tool --token={WORDS}"),
        format!("tool --api-key={MADE_UP}"),
        format!("//registry.npmjs.org/:_authToken={MADE_UP}"),
    ] {
        let masked = Masked::new(&text);
        if [RANDOM, MADE_UP, WORDS]
            .iter()
            .any(|secret| masked.contains(secret))
        {
            missed.push(format!("{text} → {masked}"));
        }
    }
    for value in [
        json!(["curl", "-u", format!("bob:{MADE_UP}")]),
        json!(["x", "--password", RANDOM]),
        json!(["aws", "configure", "set", "aws_secret_access_key", RANDOM]),
        json!({"name": "password", "value": RANDOM}),
        json!([{"key": "API_TOKEN", "value": RANDOM}]),
        json!({"secret": {"value": RANDOM}}),
        json!({"auth": {"user": "bob", "pass": MADE_UP}}),
        json!({"env": {"API_KEY": RANDOM}}),
    ] {
        let masked = MaskedJson::new(value.clone(), 4096);
        let masked = masked.as_str();
        if masked.contains(RANDOM) || masked.contains(MADE_UP) {
            missed.push(format!("{value} → {masked}"));
        }
        assert!(serde_json::from_str::<Value>(masked).is_ok());
    }
    for value in [
        json!(["git", "commit", "-m", "password reset works"]),
        json!({"name": "title", "value": "a1b2c3d4e5f6g7h8i9"}),
        json!({"data": {"pass": true, "text": "tests pass: 12"}}),
    ] {
        assert_eq!(
            MaskedJson::new(value.clone(), 4096).as_str(),
            value.to_string()
        );
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
