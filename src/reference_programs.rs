//! The reference programs in one binary, for images: the first argument selects the program.

use std::process::ExitCode;

use conformance_programs::own_program::{CONTROLLER, INIT, PLUGIN, TRAINER_PLUGIN};

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1);
    match std::env::args().nth(1).as_deref() {
        Some(CONTROLLER) => grove_backend_controller::command_line::main(arguments),
        Some(INIT) => grove_initc::main(arguments),
        Some(PLUGIN) => fake_gpu_plugin::command_line::main(arguments),
        Some(TRAINER_PLUGIN) => trainer_kai_plugin::command_line::main(arguments),
        _ => ExitCode::from(2),
    }
}
