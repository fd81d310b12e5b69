use std::fmt;
use std::path::{Path, PathBuf};

use conformance_programs::ProgramError;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::install::{ProcessHome, StartSettings};

/// The kind of the configuration of kube-scheduler, and of schedulers that are built on it.
const KUBE_KIND: &str = "KubeSchedulerConfiguration";

#[derive(Debug, Clone, PartialEq)]
pub enum SchedulerConfiguration {
    /// The product's own defaults.
    Stock,
    File(ConfigurationFile),
}

#[derive(Debug, Clone, PartialEq)]
pub struct ConfigurationFile {
    path: PathBuf,
    sha256: String,
    document: Value,
}

impl SchedulerConfiguration {
    pub fn of_file(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        let mut documents = grove_yaml::documents(&text).map_err(|error| error.to_string())?;
        match (documents.pop(), documents.is_empty()) {
            (Some(document), true) if document.is_object() => Ok(Self::File(ConfigurationFile {
                path: path.to_owned(),
                sha256: Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect(),
                document,
            })),
            _ => Err("expected one YAML document".into()),
        }
    }
}

/// The name in reports: `stock`, or the file and the start of its digest.
impl fmt::Display for SchedulerConfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stock => f.write_str("stock"),
            Self::File(file) => write!(f, "{} (sha256:{})", file.path.display(), &file.sha256[..12]),
        }
    }
}

impl ProcessHome {
    pub(crate) fn configure(
        &self,
        name: &str,
        of_suite: &Value,
        settings: &StartSettings<'_>,
    ) -> Result<PathBuf, ProgramError> {
        match settings.configuration {
            Some(SchedulerConfiguration::File(file)) => self.write(name, &adapted(&file.document, of_suite)),
            Some(SchedulerConfiguration::Stock) | None => self.write(name, of_suite),
        }
    }
}

/// The user's configuration with the suite's access to the API server and the profiles for which
/// kube-scheduler takes its place, without leader election.
fn adapted(of_user: &Value, of_suite: &Value) -> Value {
    let mut adapted = of_user.clone();
    if adapted["kind"] != KUBE_KIND {
        return adapted;
    }
    adapted["leaderElection"] = json!({"leaderElect": false});
    if !adapted["clientConnection"].is_object() {
        adapted["clientConnection"] = json!({});
    }
    adapted["clientConnection"]["kubeconfig"] = of_suite["clientConnection"]["kubeconfig"].clone();
    let name = |profile: &Value| profile["schedulerName"].as_str().unwrap_or("default-scheduler").to_owned();
    let mut profiles = of_user["profiles"].as_array().cloned().unwrap_or_default();
    let of_suite = of_suite["profiles"].as_array().into_iter().flatten();
    for profile in of_suite {
        if !profiles.iter().any(|known| name(known) == name(profile)) {
            profiles.push(profile.clone());
        }
    }
    if !profiles.is_empty() {
        adapted["profiles"] = profiles.into();
    }
    adapted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_configuration_reaches_the_local_api_server() {
        let of_user = json!({
            "kind": KUBE_KIND,
            "leaderElection": {"leaderElect": true},
            "clientConnection": {"qps": 7, "kubeconfig": "/etc/kubernetes/scheduler.conf"},
            "profiles": [{"schedulerName": "default-scheduler", "pluginConfig": []}],
        });
        let of_suite = json!({
            "clientConnection": {"kubeconfig": "/pki/kube-scheduler.kubeconfig", "qps": 500},
            "profiles": [{"schedulerName": "default-scheduler"}, {"schedulerName": "kai-scheduler"}],
        });
        assert_eq!(
            adapted(&of_user, &of_suite),
            json!({
                "kind": KUBE_KIND,
                "leaderElection": {"leaderElect": false},
                "clientConnection": {"qps": 7, "kubeconfig": "/pki/kube-scheduler.kubeconfig"},
                "profiles": [{"schedulerName": "default-scheduler", "pluginConfig": []}, {"schedulerName": "kai-scheduler"}],
            })
        );
    }

    #[test]
    fn a_configuration_of_another_kind_is_used_unchanged() {
        let of_user = json!({"actions": "allocate", "tiers": []});
        assert_eq!(adapted(&of_user, &json!({"actions": "enqueue"})), of_user);
    }

    #[rstest::rstest]
    #[case::nothing("", false)]
    #[case::a_list("- a", false)]
    #[case::two("a: 1\n---\nb: 2\n", false)]
    #[case::one("actions: allocate\n", true)]
    fn a_file_has_one_document(#[case] text: &str, #[case] is_valid: bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scheduler.conf");
        std::fs::write(&path, text).unwrap();
        assert_eq!(SchedulerConfiguration::of_file(&path).is_ok(), is_valid);
    }
}
