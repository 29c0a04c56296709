//! Programs that ask: run on a terminal of their own (a pty), and answered.

use rexpect::process::WaitStatus;
use rexpect::session::{PtySession, spawn_command};

use crate::common::Repo;

/// A program that runs on a terminal.
pub(crate) struct Terminal {
    session: PtySession,
}

impl Repo {
    /// Starts `git <arguments>` on a terminal.
    #[track_caller]
    pub(crate) fn on_terminal(&self, arguments: &[&str]) -> Terminal {
        let mut command = self.command(arguments);
        // The pty gives it all three streams; `/dev/null` would make it "no terminal".
        command.stdin(std::process::Stdio::inherit());
        // 10 seconds are a limit for a test that hangs, nothing that is waited for.
        let session = spawn_command(command, Some(10_000)).unwrap();
        Terminal { session }
    }
}

impl Terminal {
    /// Waits until `text` has been shown; what was shown before it.
    #[track_caller]
    pub(crate) fn shows(&mut self, text: &str) -> String {
        self.session
            .exp_string(text)
            .unwrap_or_else(|e| panic!("the terminal never showed '{text}': {e}"))
    }

    /// Presses these keys.
    #[track_caller]
    pub(crate) fn press(&mut self, keys: &str) {
        self.session.send(keys).unwrap();
        self.session.flush().unwrap();
    }

    /// Moves the choice of a question to the answer that begins with `answer`, and takes it.
    #[track_caller]
    pub(crate) fn choose(&mut self, answer: &str) {
        let shown = self.chosen();
        self.choose_from(shown, answer);
    }

    /// Likewise, when `shows("> ")` has already seen the first answer begin.
    #[track_caller]
    pub(crate) fn choose_after_first(&mut self, answer: &str) {
        self.press("\x1b[B");
        self.choose(answer);
    }

    fn choose_from(&mut self, mut shown: String, answer: &str) {
        for _ in 0..8 {
            if shown.starts_with(answer) {
                return self.press("\r");
            }
            self.press("\x1b[B");
            shown = self.chosen();
        }
        panic!("the question has no answer '{answer}'");
    }

    /// The answer that is chosen, as soon as one is shown.
    #[track_caller]
    fn chosen(&mut self) -> String {
        let (_, shown) = self
            .session
            .exp_regex(r"> [A-Za-z][^\r\n]*")
            .unwrap_or_else(|e| panic!("no question: {e}"));
        shown.trim_start_matches("> ").to_owned()
    }

    /// Waits for its end: the exit code, and what it showed last.
    #[track_caller]
    pub(crate) fn ends(mut self) -> (i32, String) {
        let rest = self.session.exp_eof().unwrap();
        match self.session.process().wait().unwrap() {
            WaitStatus::Exited(_, code) => (code, rest),
            other => panic!("it did not exit: {other:?}\n{rest}"),
        }
    }
}
