//! Builds images of single programs without a registry. An image has a static program on `scratch`, and the
//! program's digest as its tag. This project's own programs are dynamic by default, so they are linked again.

use std::path::{Path, PathBuf};

use super::cargo::{self, Build};
use super::components::digest;
use super::docker;
use super::own_program::{REFERENCE_PROGRAMS, SUITE};
use crate::blocking::in_place;
use crate::{CargoError, ProgramError};

pub const REPOSITORY: &str = "grove-conformance";
/// User and group of this project's programs, as in their manifests.
pub const NOBODY: &str = "65532:65532";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub program: String,
    pub reference: String,
    pub bytes: u64,
}

/// The Dockerfile of an image with one file and leading arguments. `user` is `UID:GID`, by default root.
pub fn dockerfile(file: &str, arguments: &[&str], user: Option<&str>) -> String {
    let user = user.map(|user| format!("USER {user}\n")).unwrap_or_default();
    let arguments: String = arguments.iter().map(|argument| format!(", \"{argument}\"")).collect();
    format!(
        "FROM scratch\nCOPY {file} /usr/local/bin/\nENV PATH=/usr/local/bin\n{user}ENTRYPOINT [\"/usr/local/bin/{file}\"{arguments}]\n"
    )
}

/// Builds the image of a reference program. Unless `given` is a static program, all these images contain the
/// file with all reference programs, so that they share a layer.
pub async fn of_reference(
    program: &str,
    given: Option<&Path>,
    user: Option<&str>,
) -> Result<Image, ProgramError> {
    if let Some(path) = given
        && in_place(|| is_static(path))?
    {
        return of_program(program, path, user).await;
    }
    let all = linked(SUITE, REFERENCE_PROGRAMS, &["--features", "images"]).await?;
    of_file(program, &all, REFERENCE_PROGRAMS, &[program], user).await
}

pub async fn of_program(program: &str, path: &Path, user: Option<&str>) -> Result<Image, ProgramError> {
    of_file(program, path, program, &[], user).await
}

/// Builds an image from a copy of the file, because a concurrent build may replace the file.
async fn of_file(
    program: &str,
    path: &Path,
    file: &str,
    arguments: &[&str],
    user: Option<&str>,
) -> Result<Image, ProgramError> {
    let context = tempfile::tempdir().map_err(ProgramError::file("a temporary folder"))?;
    let copy = context.path().join(file);
    in_place(|| std::fs::copy(path, &copy)).map_err(ProgramError::file(path))?;
    if !in_place(|| is_static(&copy))? {
        let reason =
            "the program needs an interpreter: build the program with CGO_ENABLED=0; if another build has \
             just replaced the file, run again"
                .to_owned();
        return Err(ProgramError::Static { program: program.into(), reason });
    }
    let tag = in_place(|| digest(&copy))?[..12].to_owned();
    let reference = format!("{REPOSITORY}/{program}:{tag}");
    if !docker::has_image(&reference).await {
        docker::build(&reference, &dockerfile(file, arguments, user), context.path()).await?;
    }
    let size = docker::docker(["image", "inspect", "--format", "{{.Size}}", &reference]).await?;
    let bytes = size.trim().parse().unwrap_or_default();
    Ok(Image { program: program.into(), reference, bytes })
}

/// Like [`of_program`], and also tags the image with `reference`.
pub async fn named(
    program: &str,
    path: &Path,
    user: Option<&str>,
    reference: &str,
) -> Result<Image, ProgramError> {
    let image = of_program(program, path, user).await?;
    docker::docker(["tag", &image.reference, reference]).await?;
    Ok(Image { reference: reference.into(), ..image })
}

pub async fn can_link() -> Result<String, ProgramError> {
    cargo::version().await.map_err(|error| ProgramError::Cargo { reason: error.to_string() })
}

/// Returns `given` if it is static. Otherwise links the program from its sources.
pub async fn static_program(program: &str, given: Option<&Path>) -> Result<PathBuf, ProgramError> {
    if let Some(path) = given
        && in_place(|| is_static(path))?
    {
        return Ok(path.into());
    }
    linked(program, program, &[]).await
}

async fn linked(package: &str, program: &str, flags: &[&str]) -> Result<PathBuf, ProgramError> {
    let build = Build { package, program, flags, with_faults: false };
    build.run().await.map_err(|error| match error {
        CargoError::NoSources(_) => ProgramError::Cargo { reason: error.to_string() },
        error => ProgramError::Static { program: program.into(), reason: error.to_string() },
    })
}

fn is_static(path: &Path) -> Result<bool, ProgramError> {
    const PT_INTERP: u32 = 3;
    let raw = std::fs::read(path).map_err(ProgramError::file(path))?;
    let number_at = |offset: usize, length: usize| {
        let bytes = raw.get(offset..offset + length).unwrap_or_default();
        bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)) as usize
    };
    // In 64-bit little-endian ELF, these are the offset, size and number of program headers.
    let (table, size, count) = (number_at(32, 8), number_at(54, 2), number_at(56, 2));
    Ok((0..count).all(|index| number_at(table + index * size, 4) as u32 != PT_INTERP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_has_one_program_and_nothing_else() {
        insta::assert_snapshot!(dockerfile("pause", &[], Some(NOBODY)), @r#"
        FROM scratch
        COPY pause /usr/local/bin/
        ENV PATH=/usr/local/bin
        USER 65532:65532
        ENTRYPOINT ["/usr/local/bin/pause"]
        "#);
    }

    #[test]
    fn a_dynamically_linked_program_is_not_static() {
        assert!(!is_static(&std::env::current_exe().unwrap()).unwrap());
    }
}
