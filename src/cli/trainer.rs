//! A Kubeflow Trainer given by the user: `--trainer-dir` and `--trainer-source`.

use std::sync::Arc;

use conformance_install::given_trainer::{GivenTrainer, PROGRAM, TrainerSource};
use conformance_programs::components::Progress;
use conformance_report::Implementation;

use super::Failure;
use super::args::{ClusterArgs, ToolArgs};

/// The given trainer, if any, with its program: found in a folder, or built.
pub(crate) async fn given(
    tools: &ToolArgs,
    cluster: &ClusterArgs,
    progress: &dyn Progress,
) -> Result<Option<Arc<GivenTrainer>>, Failure> {
    let is_a_program = cluster.bins.iter().any(|(name, _)| name == PROGRAM);
    let given = match (&tools.trainer_dir, &tools.trainer_source) {
        (None, None) => return Ok(None),
        _ if is_a_program => {
            return Err(Failure::Usage(format!(
                "{PROGRAM} is given twice: give either --bin, or --trainer-dir or --trainer-source"
            )));
        }
        (Some(dir), _) => GivenTrainer::in_folder(dir)?,
        (None, Some(dir)) => TrainerSource::open(dir).await?.build(progress).await?,
    };
    Ok(Some(Arc::new(given)))
}

pub(crate) fn implementation(given: &GivenTrainer) -> Implementation {
    Implementation {
        name: "kubeflow-trainer".into(),
        version: given.version(),
        organization: Some("kubeflow".into()),
        url: Some("https://github.com/kubeflow/trainer".into()),
        commit: given.commit.clone(),
        description: None,
        declaration: None,
        cluster_admin: false,
        reference: false,
    }
}

/// A line that names the tested trainer, and the plugin that implements its runtimes' policy for KAI.
pub(crate) fn description(given: &GivenTrainer) -> String {
    let plugin =
        if given.has_kai_plugin { "with its built-in KAI plugin" } else { "with the harness's KAI plugin" };
    format!("trainer {}, {plugin}", given.version())
}
