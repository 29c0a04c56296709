//! The program `git-trajectory`; all of it is in the library.

fn main() -> std::process::ExitCode {
    git_harness::trajectory::main()
}
