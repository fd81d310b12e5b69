//! A Kubeflow Trainer that the user provides: `--component trainer-controller-manager=DIR`, or `src:DIR`.

use std::sync::Arc;

use conformance_install::given_trainer::{self, GivenTrainer};
use conformance_programs::components::Progress;
use conformance_report::Implementation;

use super::Failure;
use super::request::{ProgramRequest, TrainerSource};

pub(crate) async fn given(
    programs: &ProgramRequest,
    progress: &dyn Progress,
) -> Result<Option<Arc<GivenTrainer>>, Failure> {
    let given = match &programs.trainer {
        None => return Ok(None),
        Some(TrainerSource::Folder(dir)) => GivenTrainer::in_folder(dir)?,
        Some(TrainerSource::Checkout(dir)) => {
            given_trainer::TrainerSource::open(dir).await?.build(progress).await?
        }
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
        ..Implementation::default()
    }
}

pub(crate) fn description(given: &GivenTrainer) -> String {
    let plugin =
        if given.has_kai_plugin { "with its built-in KAI plugin" } else { "with the harness's KAI plugin" };
    format!("trainer {}, {plugin}", given.version())
}
