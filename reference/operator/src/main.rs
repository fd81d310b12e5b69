fn main() -> std::process::ExitCode {
    grove_backend_controller::command_line::main(std::env::args_os())
}
