//! Runs the Docker engine through its command line, which kind also uses.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use crate::ProgramError;

#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
pub struct Engine {
    #[serde(rename = "ServerVersion")]
    pub version: String,
    /// `1` or `2`.
    #[serde(rename = "CgroupVersion")]
    pub cgroup_version: String,
    #[serde(rename = "DockerRootDir")]
    pub root: String,
}

/// Runs a command and returns its standard output. An error has the last lines of its standard error.
pub async fn output(mut command: Command) -> Result<String, ProgramError> {
    let mut line = command.as_std().get_program().to_string_lossy().into_owned();
    for argument in command.as_std().get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    let failed = |reason: String| ProgramError::Command { command: line.clone(), reason };
    let ended = command
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|e| failed(format!("the program cannot be run: {e}")))?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&ended.stderr);
    Err(failed(format!("{}: {}", ended.status, reason(&stderr))))
}

/// Returns the last 20 lines, without the stack traces that Go programs print after an error.
fn reason(stderr: &str) -> String {
    let lines: Vec<_> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    let is_location = |line: &str| line.starts_with('\t') && (line.contains(".go:") || line.contains(".s:"));
    let is_frame = |index: usize| lines[index..].iter().take(2).any(|line| is_location(line));
    let mut kept = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if !is_frame(index) {
            kept.push(*line);
        }
    }
    kept[kept.len().saturating_sub(20)..].join("\n")
}

pub async fn docker<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<String, ProgramError> {
    let mut command = Command::new("docker");
    command.args(words).env("DOCKER_CLI_HINTS", "false");
    output(command).await
}

pub async fn engine() -> Result<Engine, ProgramError> {
    let unusable = |reason: String| ProgramError::Docker { reason };
    let answer = Command::new("docker")
        .args(["info", "--format", "{{json .}}"])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|e| unusable(format!("`docker` cannot be run: {e}")))?;
    let stderr = String::from_utf8_lossy(&answer.stderr).trim().to_owned();
    match serde_json::from_slice::<Engine>(&answer.stdout) {
        Ok(engine) if !engine.version.is_empty() => Ok(engine),
        // The client prints its own data even if no engine answers.
        _ if stderr.contains("permission denied") => {
            Err(unusable(format!("no permission to use the Docker engine: {stderr}")))
        }
        _ => Err(unusable(format!("no Docker engine answers: {stderr}"))),
    }
}

pub async fn has_image(name: &str) -> bool {
    docker(["image", "inspect", "--format", "{{.Id}}", name]).await.is_ok()
}

pub async fn build(tag: &str, dockerfile: &str, context: &Path) -> Result<(), ProgramError> {
    let path = context.join(".dockerfile");
    super::home::write(&path, dockerfile)?;
    let (path, context) = (path.display().to_string(), context.display().to_string());
    docker(["build", "--quiet", "--label", LABEL, "--tag", tag, "--file", &path, &context]).await.map(drop)
}

/// Label of every image that the harness builds.
pub const LABEL: &str = "conformance.grove.io/made-by=grove-conformance";

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::with_a_stack(
        "ERROR: failed to create cluster\nmain.main\n\tkubeadm.go:25\n",
        "ERROR: failed to create cluster"
    )]
    #[case::without_a_stack("no space left\n\nbye\n", "no space left\nbye")]
    fn a_reason_has_no_stack_trace(#[case] stderr: &str, #[case] expected: &str) {
        assert_eq!(reason(stderr), expected);
    }
}
