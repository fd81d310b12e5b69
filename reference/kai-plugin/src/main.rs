fn main() -> std::process::ExitCode {
    trainer_kai_plugin::command_line::main(std::env::args_os())
}
