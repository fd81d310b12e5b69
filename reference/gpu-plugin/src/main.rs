fn main() -> std::process::ExitCode {
    fake_gpu_plugin::command_line::main(std::env::args_os())
}
