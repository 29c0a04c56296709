//! The program `git-replay`; all of it is in the library.

fn main() -> std::process::ExitCode {
    git_harness::replay::main()
}
