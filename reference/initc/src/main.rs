fn main() -> std::process::ExitCode {
    grove_initc::main(std::env::args_os())
}
