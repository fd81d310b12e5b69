use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::module_version::ModuleVersion;
use super::modules::{PROXY_ANSWER, ask};
use super::toolchain::GoError;
use crate::{ProgramError, home};

/// How long a download may take. The source of Kubernetes has 15 MB.
const DOWNLOAD: Duration = Duration::from_secs(300);

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listed {
    #[serde(default)]
    versions: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Downloaded {
    go_mod: PathBuf,
}

pub async fn published(module: &str) -> Result<Vec<ModuleVersion>, ProgramError> {
    let refused = |reason: String| ProgramError::Versions { module: module.to_owned(), reason };
    let args = ["list", "-mod=readonly", "-m", "-versions", "-json", module];
    let answer = ask(&folder()?, &args, PROXY_ANSWER).await.map_err(|error| refused(error.to_string()))?;
    let listed: Listed = serde_json::from_str(&answer).map_err(|error| refused(error.to_string()))?;
    Ok(listed.versions.iter().filter_map(|version| version.parse().ok()).collect())
}

pub(super) async fn own_go_mod(module: &str, version: &str) -> Result<String, GoError> {
    let query = format!("{module}@{version}");
    let folder = folder().map_err(|error| GoError::Failed(error.to_string()))?;
    ask(&folder, &["list", "-mod=readonly", "-m", &query], PROXY_ANSWER).await?;
    let answer = ask(&folder, &["mod", "download", "-json", &query], DOWNLOAD).await?;
    let found: Downloaded = serde_json::from_str(&answer).map_err(|_| {
        GoError::Failed(format!("`go mod download -json {query}` reported no go.mod: {answer:?}"))
    })?;
    std::fs::read_to_string(&found.go_mod)
        .map_err(|error| GoError::Failed(format!("{}: {error}", found.go_mod.display())))
}

/// Whether Go reports that the version does not exist. The checksum database's errors have the same words.
pub(super) fn is_absence(message: &str) -> bool {
    let is_about_checksum = message.contains("verifying ");
    let is_absent = [
        "unknown revision",
        "no matching versions",
        "404 Not Found",
        "410 Gone",
        "no such file or directory",
    ]
    .iter()
    .any(|words| message.contains(words));
    is_absent && !is_about_checksum
}

fn folder() -> Result<PathBuf, ProgramError> {
    let folder = home::cache().join("versions").join("query");
    home::replace(&folder.join("go.mod"), "module query\n")?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("go: k8s.io/kubernetes@v1.37.99: invalid version: unknown revision v1.37.99", true)]
    #[case("go: m@v9.9.9: reading https://proxy.golang.org/m/@v/v9.9.9.info: 404 Not Found", true)]
    #[case("go: m@v9.9.9: reading file:///p/m/@v/v9.9.9.info: no such file or directory", true)]
    #[case("`go` did not respond within 20 s (GOPROXY=https://proxy.golang.org,direct)", false)]
    #[case("go: module lookup disabled by GOPROXY=off", false)]
    #[case("go: m@v1.0.0: reading https://proxy.golang.org/m/@v/v1.0.0.info: 403 Forbidden", false)]
    #[case(
        "go: m@v1.0.0: verifying go.mod: reading https://sum.golang.org/lookup/m@v1.0.0: 404 Not Found",
        false
    )]
    #[case("`go` cannot be run: No such file or directory (os error 2)", false)]
    fn an_absent_version_is_not_an_unreachable_proxy(#[case] message: &str, #[case] is_absent: bool) {
        assert_eq!(is_absence(message), is_absent);
    }

    #[test]
    fn the_answers_of_go_are_parsed() {
        let listed: Listed =
            serde_json::from_str(r#"{"Path": "m", "Versions": ["v1.0.0", "v1.1.0"]}"#).unwrap();
        assert_eq!(listed.versions, ["v1.0.0", "v1.1.0"]);
        let none: Listed = serde_json::from_str(r#"{"Path": "m"}"#).unwrap();
        assert!(none.versions.is_empty());
        let found: Downloaded = serde_json::from_str(r#"{"GoMod": "/m.mod", "Dir": "/m"}"#).unwrap();
        assert_eq!(found.go_mod, PathBuf::from("/m.mod"));
    }
}
