//! Writes the artifacts of a case: the history and, if it failed, objects, events and logs.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conformance_cluster::ClusterError;
use conformance_cluster::provider::{Logs, Provider};
use conformance_contract::target::Target;
use conformance_driver::case::Case;
use conformance_driver::context::Stop;
use conformance_driver::test_cluster::TestCluster;
use conformance_history::{History, HistoryError};
use conformance_programs::blocking::in_place;
use conformance_programs::{ProgramError, home};
use conformance_report::CaseResult;

use super::verdict;

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum ArtifactError {
    Cluster(#[from] ClusterError),
    Program(#[from] ProgramError),
    File(#[from] std::io::Error),
    History(#[from] HistoryError),
    Yaml(#[from] grove_yaml::YamlError),
}

#[derive(Debug)]
pub(crate) struct Artifacts {
    out: PathBuf,
    folder: PathBuf,
    cluster: Arc<dyn Provider>,
    logs: Logs,
}

impl Artifacts {
    pub(crate) fn begin(
        out: &Path,
        case: &Case,
        target: Target,
        test_cluster: &TestCluster,
        attempt: usize,
    ) -> Self {
        let name = case.id.replace('/', "-");
        let name = if attempt == 0 { name } else { format!("{name}-retry-{attempt}") };
        let folder = PathBuf::from("artifacts").join(target.slug()).join(name);
        let cluster = test_cluster.cluster.clone();
        Self { out: out.into(), folder, logs: cluster.logs(target.scheduler()), cluster }
    }

    /// Returns the folder, relative to the report. If writing fails, it logs the error and returns `None`.
    pub(crate) async fn keep(
        &self,
        history: &History,
        result: &CaseResult,
        stop: Option<&Stop>,
    ) -> Option<String> {
        let logs = async {
            if !needs_explanation(result) {
                return Ok(());
            }
            let folder = self.out.join(&self.folder);
            Ok(self.cluster.export_logs(&self.logs, &folder).await?)
        };
        let written = match in_place(|| self.write(history, result, stop)) {
            Ok(()) => logs.await,
            failed => failed,
        };
        match written {
            Ok(()) => Some(self.folder.display().to_string()),
            Err(reason) => {
                tracing::warn!(folder = %self.folder.display(), %reason, "failed to write the artifacts");
                None
            }
        }
    }

    fn write(
        &self,
        history: &History,
        result: &CaseResult,
        stop: Option<&Stop>,
    ) -> Result<(), ArtifactError> {
        let folder = self.out.join(&self.folder);
        let _ = std::fs::remove_dir_all(&folder);
        home::create_folder(&folder)?;
        let file = File::create(folder.join("history.jsonl"))?;
        history.write(BufWriter::new(file))?;
        if !needs_explanation(result) {
            return Ok(());
        }
        let end = history.end();
        let (events, objects): (Vec<_>, Vec<_>) = end.all().partition(|object| object["kind"] == "Event");
        for (name, content) in [("objects.yaml", objects), ("events.yaml", events)] {
            let text = grove_yaml::write(&content)?;
            home::write(&folder.join(name), text)?;
        }
        if let Some(stop) = stop {
            home::write(&folder.join("stopped.txt"), format!("{stop}\n"))?;
        }
        Ok(())
    }
}

/// Not for interrupted cases: writing the objects of 1,000 pods takes longer than they may take.
fn needs_explanation(result: &CaseResult) -> bool {
    !verdict::is_expected(result.outcome.verdict) && !result.is_interrupted()
}

#[cfg(test)]
mod tests {
    use conformance_contract::verdict::Outcome;

    use super::*;

    #[rstest::rstest]
    #[case::interrupted(conformance_report::interrupted(), false)]
    #[case::in_error(Outcome::error("the API server ended"), true)]
    fn an_interrupted_case_has_only_its_history(#[case] outcome: Outcome, #[case] explained: bool) {
        let result = CaseResult::without_running("aon/one-pod-short", "one short", ["AON-02"], &outcome);
        assert_eq!(needs_explanation(&result), explained);
    }
}
