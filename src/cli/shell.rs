use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;
use conformance_report::Exit;

use super::args::Cli;
use super::{Failure, output};

pub(crate) fn completions(shell: Shell) -> Exit {
    let mut command = Cli::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    output::data(&String::from_utf8_lossy(&script));
    Exit::Conformant
}

pub(crate) fn man(folder: Option<&Path>) -> Result<Exit, Failure> {
    match folder {
        Some(folder) => std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
            .map_err(|e| Failure::Usage(format!("--dir {}: {e}", folder.display())))?,
        None => {
            let mut page = Vec::new();
            Man::new(Cli::command())
                .render(&mut page)
                .map_err(|e| Failure::Infrastructure(format!("cannot render the manual page: {e}")))?;
            output::data(&String::from_utf8_lossy(&page));
        }
    }
    Ok(Exit::Conformant)
}
