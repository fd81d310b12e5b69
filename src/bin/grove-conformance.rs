//! The harness: see `grove_conformance::cli`.

use std::process::ExitCode;

use grove_conformance::cluster::process;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1).peekable();
    // The launcher of child processes, before anything else: it must become the program at once.
    if args.peek().map(String::as_str) == Some(process::EXEC_VERB) {
        return grove_conformance::cli::launcher_failed(&process::exec(args.skip(1)));
    }
    grove_conformance::cli::main().into()
}
