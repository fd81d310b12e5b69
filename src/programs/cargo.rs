//! Builds this project's programs with cargo: static ones for images, and the reference operator with faults.

use std::path::{Path, PathBuf};

use tokio::process::Command;
use tokio::sync::OnceCell;

use super::docker;
use super::own_program::CONTROLLER;
use crate::{CargoError, ProgramError};

/// Runs rustc with `--cfg mutants`.
const WRAPPER: &str = "reference/operator/rustc-with-faults";

#[derive(Debug, Clone, Copy)]
pub(crate) struct Build<'a> {
    pub package: &'a str,
    pub program: &'a str,
    pub flags: &'a [&'a str],
    pub with_faults: bool,
}

impl Build<'_> {
    pub(crate) async fn run(self) -> Result<PathBuf, CargoError> {
        let mut cargo = command()?;
        cargo.args(["rustc", "--quiet", "--locked", "--message-format=json"]);
        cargo.args(["--package", self.package, "--bin", self.program]).args(self.flags);
        let suite = std::env::current_exe().unwrap_or_default();
        let target = suite.ancestors().skip(1).find(|folder| folder.join("CACHEDIR.TAG").is_file());
        if self.with_faults {
            // Use a separate target folder, so that programs with faults do not replace the usual ones.
            let target = target.map_or_else(|| sources().join("target"), Path::to_path_buf);
            cargo.arg("--target-dir").arg(target.join("mutants")).env("CARGO_BUILD_BUILD_DIR", target);
            cargo.env("RUSTC_WORKSPACE_WRAPPER", sources().join(WRAPPER));
        } else if let Some(target) = target {
            // Use the target folder of the running program, so that cargo compiles nothing twice.
            cargo.arg("--target-dir").arg(target);
        }
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        cargo.args(["--", "-C", "target-feature=+crt-static", "-C", "strip=symbols"]);
        for line in output(cargo).await?.lines() {
            let Ok(message) = serde_json::from_str::<serde_json::Value>(line) else { continue };
            if message["target"]["name"] == self.program
                && let Some(path) = message["executable"].as_str()
            {
                return Ok(path.into());
            }
        }
        Err(CargoError::NoProgram)
    }
}

/// Builds the reference operator with faults, once per process. It runs as a local process and in an image.
pub async fn controller_with_faults() -> Result<PathBuf, ProgramError> {
    static BUILT: OnceCell<PathBuf> = OnceCell::const_new();
    let build = Build { package: CONTROLLER, program: CONTROLLER, flags: &[], with_faults: true };
    let built = BUILT.get_or_try_init(|| build.run()).await;
    built.cloned().map_err(|source| ProgramError::Faults { source })
}

pub(crate) async fn version() -> Result<String, CargoError> {
    let mut cargo = command()?;
    cargo.arg("--version");
    Ok(output(cargo).await?.trim().to_owned())
}

fn sources() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn command() -> Result<Command, CargoError> {
    let sources = sources();
    if !sources.join("Cargo.toml").is_file() {
        return Err(CargoError::NoSources(sources.into()));
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(sources);
    // `cargo run` sets these variables, and the build script of `ring` reads them. With them, this cargo
    // would compile `ring` and everything that depends on it again, and so would the next `cargo run`.
    let is_of_package =
        |name: &str| ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.starts_with(prefix));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_of_package)) {
        cargo.env_remove(name);
    }
    Ok(cargo)
}

async fn output(cargo: Command) -> Result<String, CargoError> {
    docker::output(cargo).await.map_err(|error| CargoError::Failed(Box::new(error)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_rustc_wrapper_is_executable() {
        let wrapper = std::fs::metadata(sources().join(WRAPPER)).unwrap();
        assert_ne!(wrapper.permissions().mode() & 0o100, 0);
    }
}
