//! The program `git-checkpoint`; all of it is in the library.

fn main() -> std::process::ExitCode {
    git_harness::checkpoint::main()
}
