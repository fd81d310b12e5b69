//! Combines the suite's command line with the programs of this project that run in a cluster.

use std::ffi::OsString;
use std::process::ExitCode;

use conformance_programs::own_program::{CONTROLLER, PLUGIN, TRAINER_PLUGIN};
use conformance_programs::process::{self, EXEC_VERB};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(|verb| verb.to_str()) {
        // This arm comes first, because the launcher of a child process must call exec without delay.
        Some(EXEC_VERB) => {
            let command = args.map(|word| word.to_string_lossy().into_owned());
            conformance_cli::launcher_failed(&process::exec(command))
        }
        Some(CONTROLLER) => grove_backend_controller::command_line::main(named(CONTROLLER, args)),
        Some(PLUGIN) => fake_gpu_plugin::command_line::main(named(PLUGIN, args)),
        Some(TRAINER_PLUGIN) => trainer_kai_plugin::command_line::main(named(TRAINER_PLUGIN, args)),
        _ => conformance_cli::main().into(),
    }
}

fn named(name: &str, args: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    std::iter::once(OsString::from(name)).chain(args)
}
