//! The hook in the agents' settings: put in beside what is there, and taken out cleanly.

use std::fs;

use serde_json::{Value, json};

use super::common::Repo;

fn settings(repo: &Repo, file: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(repo.home().join(file)).unwrap()).unwrap()
}

fn put(repo: &Repo, file: &str, text: &str) {
    let path = repo.home().join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn what_is_there_stays_and_comes_back() {
    let repo = Repo::new();
    let before = "{\n  \"z\": 1,\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"beep\"\n          }\n        ]\n      }\n    ]\n  },\n  \"a\": 2\n}\n";
    put(&repo, ".claude/settings.json", before);
    repo.git("trajectory install claude")
        .fails(1)
        .says("+++")
        .says("--yes");
    assert_eq!(
        fs::read_to_string(repo.home().join(".claude/settings.json")).unwrap(),
        before
    );
    repo.git("trajectory install claude -n").ok();
    repo.git("trajectory install claude -y").ok();
    let now = settings(&repo, ".claude/settings.json");
    assert_eq!(now["hooks"]["Stop"][0]["hooks"][0]["command"], "beep");
    let command = now["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
        .as_str()
        .unwrap();
    assert!(
        command.starts_with('/') && command.ends_with("git-trajectory hook claude"),
        "{command}"
    );
    assert_eq!(now["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"], 10);
    for never in ["MessageDisplay", "WorktreeCreate", "PreCompact"] {
        assert!(now["hooks"].get(never).is_none(), "{never}");
    }
    assert_eq!(
        fs::read_to_string(
            repo.home()
                .join(".claude/settings.json.before-git-trajectory")
        )
        .unwrap(),
        before
    );
    repo.git("trajectory install claude -y")
        .ok()
        .says("installed already");
    repo.git("trajectory install --uninstall claude -y").ok();
    assert_eq!(
        fs::read_to_string(repo.home().join(".claude/settings.json")).unwrap(),
        before
    );
}

#[test]
fn every_agent_is_installed_and_leaves_nothing() {
    let repo = Repo::new();
    repo.git("trajectory install claude codex gemini pi opencode -y")
        .ok()
        .says("/hooks")
        .says("fetch-retries");
    let files = [
        ".claude/settings.json",
        ".codex/hooks.json",
        ".gemini/settings.json",
        ".pi/agent/extensions/git-trajectory.ts",
        ".config/opencode/plugins/git-trajectory.js",
    ];
    for file in files {
        assert!(repo.home().join(file).exists(), "{file}");
    }
    assert_eq!(
        settings(&repo, ".codex/hooks.json")["hooks"]["Interrupt"][0]["hooks"][0]["timeout"],
        3
    );
    assert_eq!(
        settings(&repo, ".gemini/settings.json")["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"],
        10_000
    );
    repo.git("trajectory install --uninstall claude codex gemini pi opencode -y")
        .ok();
    for file in files {
        assert!(!repo.home().join(file).exists(), "{file}");
    }
}

#[test]
fn scopes_are_the_agents_own() {
    let repo = Repo::new();
    repo.git("trajectory install claude --scope=local -y").ok();
    assert!(repo.exists(".claude/settings.local.json"));
    repo.git("trajectory install gemini pi --scope=project -y")
        .ok();
    assert!(
        repo.exists(".gemini/settings.json") && repo.exists(".pi/extensions/git-trajectory.ts")
    );
    repo.git("trajectory install codex --scope=local -y")
        .fails(128)
        .says("no settings for one user in one repository");
    repo.git("trajectory install emacs -y")
        .fails(128)
        .says("not known");
}

#[test]
fn settings_that_cannot_be_read_are_left_alone() {
    let repo = Repo::new();
    put(&repo, ".gemini/settings.json", "{ // a comment\n}");
    repo.git("trajectory install gemini -y")
        .fails(128)
        .says("nothing was changed");
    put(
        &repo,
        ".pi/agent/extensions/git-trajectory.ts",
        "export default () => {};",
    );
    repo.git("trajectory install pi -y")
        .fails(128)
        .says("is not ours");
}

#[test]
fn doctor_finds_silence() {
    let repo = Repo::new();
    let find = |agent: &str| {
        let all = repo.git("trajectory doctor --json").json();
        all["agents"]
            .as_array()
            .unwrap()
            .iter()
            .find(|a| a["agent"] == agent)
            .unwrap()
            .clone()
    };
    assert_eq!(find("codex")["installed"], json!([]));
    repo.git("trajectory install codex -y").ok();
    assert!(find("codex")["last_event"].is_null());
    assert_eq!(find("codex")["problems"], json!([]));
    // It has run since, and nothing came: the hook is not trusted.
    put(&repo, ".codex/sessions/2026/x.jsonl", "{}\n");
    repo.sh(&format!(
        "touch -d '+1 hour' '{}'",
        repo.home().join(".codex/sessions/2026/x.jsonl").display()
    ))
    .ok();
    assert!(
        find("codex")["problems"][0]
            .as_str()
            .unwrap()
            .contains("/hooks")
    );
    let hooks = repo.home().join(".codex/hooks.json");
    let text = fs::read_to_string(&hooks).unwrap();
    let program = settings(&repo, ".codex/hooks.json")["hooks"]["Stop"][0]["hooks"][0]["command"]
        .as_str()
        .unwrap()
        .replace(" hook codex", "");
    fs::write(&hooks, text.replace(&program, "/nowhere/git-trajectory")).unwrap();
    assert!(
        find("codex")["problems"]
            .to_string()
            .contains("which is not there")
    );
    repo.feed("trajectory hook claude", "garbage").ok();
    let trouble = repo.git("trajectory doctor").fails(1).out();
    assert!(trouble.contains("the hook had trouble"), "{trouble}");
}
