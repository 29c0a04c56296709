//! The program `git-shadow`; all of it is in the library.

fn main() -> std::process::ExitCode {
    git_harness::shadow::main()
}
