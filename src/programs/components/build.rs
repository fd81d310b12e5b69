use std::path::{Path, PathBuf};
use std::process::Stdio;

use sha2::{Digest, Sha256};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use super::component::Component;
use super::digests::hex;
use super::toolchain::Toolchain;
use crate::{ProgramError, available_memory, home};

const SPARE_MIB: u64 = 1024;

/// The linker drops DWARF (`-s -w`). A compiler that does not write it saves one eighth of the time.
pub(crate) const COMPILER_FLAGS: &str = "-dwarf=false";

/// With fewer processors, each compiler gets one thread, because parallel packages keep all processors busy.
const ONE_THREAD_BELOW: usize = 5;

/// Limits of the heap at which a compiler collects garbage. Below the minimum, Go's default applies.
const MEMORY_OF_COMPILER_MIB: std::ops::RangeInclusive<u64> = 512..=1536;

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BuiltBy {
    pub name: String,
    pub version: String,
    pub go: String,
    pub sha256: String,
    /// Missing in files of older versions of the suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    pub seconds: f64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Build<'a> {
    pub folder: &'a Path,
    pub ldflags: &'a str,
    pub version: &'a str,
    /// The programs to build. If there are several, each must have the name of its package's last folder.
    pub programs: &'a [Target<'a>],
}

#[derive(Debug, Clone)]
pub(crate) struct Target<'a> {
    pub name: &'a str,
    pub package: &'a str,
    pub kept_in: PathBuf,
}

pub(super) fn key(component: &Component, go: &Toolchain) -> String {
    let mut hash = Sha256::new();
    let module = component.module;
    for part in [
        module.go_mod,
        module.go_sum,
        &*module.ldflags,
        COMPILER_FLAGS,
        component.package,
        go.version.as_str(),
        go.target.as_str(),
    ] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    if let Some(amendment) = module.amendment {
        amendment.hash_into(&mut hash);
    }
    hex(&hash.finalize())[..16].to_owned()
}

/// Builds programs into the folder `into`. Calls `on_package` with the number of packages compiled so far.
pub(super) async fn build(
    build: Build<'_>,
    into: &Path,
    log: &Path,
    mut on_package: impl FnMut(usize),
) -> Result<(), ProgramError> {
    home::require_space(&home::cache(), SPARE_MIB, "to build a component", home::CACHE_VARIABLE)?;
    let failed = |reason: &str| ProgramError::Build {
        component: names(build.programs),
        version: build.version.into(),
        log: log.into(),
        tail: [reason, &home::tail(log, 15)].join("\n").trim().to_owned(),
    };
    home::write(log, "")?;
    home::create_folder(into)?;
    // Go gives a single program this file name, and several programs the names of their packages.
    let output = match build.programs {
        [only] => into.join(only.name),
        _ => into.join(""),
    };
    let vendored = build.folder.join("vendor/modules.txt").is_file();
    let modules = if vendored { "-mod=vendor" } else { "-mod=readonly" };
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = if processors < ONE_THREAD_BELOW { " -c=1" } else { "" };
    let mut go = Command::new("go")
        .args(["build", "-v", "-trimpath", modules, "-buildvcs=false", "-ldflags", build.ldflags])
        .arg(format!("-gcflags=all={COMPILER_FLAGS}{threads}"))
        .arg("-o")
        .arg(output)
        .args(build.programs.iter().map(|program| program.package))
        .current_dir(build.folder)
        .env("CGO_ENABLED", "0")
        .envs(garbage_collection(available_memory::in_mib(), processors))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|e| failed(&format!("`go` cannot be run: {e}")))?;
    let mut text = String::new();
    let mut compiled = 0;
    if let Some(stderr) = go.stderr.take() {
        let mut lines = BufReader::new(stderr).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            compiled += 1;
            on_package(compiled);
            text.push_str(&line);
            text.push('\n');
        }
    }
    home::write(log, &text)?;
    match go.wait().await {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(&status.to_string())),
        Err(error) => Err(failed(&error.to_string())),
    }
}

pub(super) fn names(programs: &[Target<'_>]) -> String {
    programs.iter().map(|program| program.name).collect::<Vec<_>>().join(", ")
}

/// Go variables that delay garbage collection, which saves one eighth of the time, unless the user set them.
fn garbage_collection(available_mib: Option<u64>, processors: usize) -> Vec<(&'static str, String)> {
    const VARIABLES: [&str; 2] = ["GOGC", "GOMEMLIMIT"];
    // One compiler runs per processor. Half of the memory remains for other programs and the file cache.
    let share = available_mib.unwrap_or(0) / (2 * processors as u64);
    if share < *MEMORY_OF_COMPILER_MIB.start()
        || VARIABLES.iter().any(|name| std::env::var_os(name).is_some())
    {
        return Vec::new();
    }
    let limit = share.min(*MEMORY_OF_COMPILER_MIB.end());
    VARIABLES.into_iter().zip(["off".to_owned(), format!("{limit}MiB")]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::amendment::Amendment;
    use super::super::component::Module;
    use super::super::testing::{module, program};
    use super::*;

    static PLAIN: Module = module("", None);
    static AMENDED: Module = module("", Some(&AMENDMENT));
    static AMENDMENT: Amendment = Amendment {
        module: "example.com/api",
        version: "v1.0.0",
        sum: "h1:s",
        go_mod_sum: "h1:m",
        folder: "api",
        files: &[("added.go", "package api\n")],
    };

    fn of_package(package: &'static str, module: &'static Module) -> Component {
        program("program", "v1.0.0", package, module)
    }

    fn go(version: &str) -> Toolchain {
        Toolchain { version: version.into(), target: "linux/amd64".into() }
    }

    #[test]
    fn a_key_changes_with_the_program_and_the_toolchain() {
        let [one, other] = ["example.com/m/one", "example.com/m/other"].map(|name| of_package(name, &PLAIN));
        assert_eq!(key(&one, &go("go1.26.8")), key(&one, &go("go1.26.8")));
        assert_ne!(key(&one, &go("go1.26.8")), key(&one, &go("go1.26.9")));
        assert_ne!(key(&one, &go("go1.26.8")), key(&other, &go("go1.26.8")));
    }

    #[test]
    fn an_added_file_changes_the_key() {
        let [plain, amended] = [&PLAIN, &AMENDED].map(|module| of_package("example.com/m", module));
        assert_ne!(key(&plain, &go("go1.26.8")), key(&amended, &go("go1.26.8")));
    }

    #[rstest::rstest]
    #[case::much(Some(22_000), 2, Some("1536MiB"))]
    #[case::some(Some(3000), 2, Some("750MiB"))]
    #[case::little(Some(2000), 2, None)]
    #[case::many_processors(Some(30_000), 64, None)]
    #[case::unknown(None, 2, None)]
    fn a_compiler_may_use_its_share_of_the_memory(
        #[case] available_mib: Option<u64>,
        #[case] processors: usize,
        #[case] limit: Option<&str>,
    ) {
        let set = garbage_collection(available_mib, processors);
        assert_eq!(set.iter().find(|(name, _)| *name == "GOMEMLIMIT").map(|(_, value)| &**value), limit);
        assert_eq!(set.len(), if limit.is_some() { 2 } else { 0 });
    }
}
