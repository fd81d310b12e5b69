//! Runs control planes one after the other, each with its own folder and report, and merges the reports.

use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::target::Target;
use conformance_report as report;
use conformance_report::{MergeInput, Report};
use conformance_run::run_plan::RunPlan;

use super::Run;
use super::plan::plan;
use crate::output::Console;
use crate::report_files::{command, write_unless_interrupted};
use crate::{Failure, target_selection};

struct Round {
    title: String,
    folder: String,
    kubernetes: Kubernetes,
    plan: RunPlan,
}

impl Run<'_> {
    /// Tests every target once, on the oldest version that it supports.
    pub(super) async fn on_all(&self, versions: &[Kubernetes]) -> Result<Report, Failure> {
        // Plan all versions before the first cluster starts, so that wrong arguments fail at once.
        let mut rounds = Vec::new();
        for &kubernetes in versions {
            let mut plan = plan(kubernetes, self.request)?;
            plan.targets.retain(|target| target.kubernetes() == kubernetes);
            if !plan.targets.is_empty() {
                rounds.push(Round {
                    title: format!("Kubernetes {kubernetes}"),
                    folder: kubernetes.minor().to_owned(),
                    kubernetes,
                    plan,
                });
            }
        }
        self.rounds(rounds, "versions of Kubernetes").await
    }

    /// Runs targets whose gangs the Job controller creates on one control plane, and the others on another.
    pub(super) async fn train_jobs(&self, kubernetes: Kubernetes) -> Result<Report, Failure> {
        let plan = plan(kubernetes, self.request)?;
        let (by_job, others) = target_selection::by_control_plane(plan.targets.clone());
        let round = |title: &str, folder: &str, targets: Vec<Target>| Round {
            title: title.into(),
            folder: folder.into(),
            kubernetes,
            plan: RunPlan { targets, ..plan.clone() },
        };
        let both = [
            round("TrainJobs, a gang per Job by the Job controller", "jobs", by_job),
            round("TrainJobs, gangs by the trainer or the scheduler", "trainjobs", others),
        ];
        let rounds: Vec<_> = both.into_iter().filter(|round| !round.plan.targets.is_empty()).collect();
        match <[Round; 1]>::try_from(rounds) {
            Ok([only]) => self.on_one_cluster(kubernetes, only.plan, &self.request.output.folder).await,
            Err(rounds) => self.rounds(rounds, "control planes").await,
        }
    }

    /// `what` names the rounds in the reason of an interrupted report.
    async fn rounds(&self, rounds: Vec<Round>, what: &str) -> Result<Report, Failure> {
        let (folder_of_run, quiet) = (&self.request.output.folder, self.request.output.quiet);
        let (mut sources, planned) = (Vec::new(), rounds.len());
        for Round { title, folder, kubernetes, plan } in rounds {
            if self.interruption.is_requested() {
                break;
            }
            let path = folder_of_run.join(&folder);
            Console::quiet_if(quiet).note(&title);
            let report = self.on_one_cluster(kubernetes, plan, &path).await?;
            sources.push(MergeInput { file: path.join("report.yaml"), folder: folder.into(), report });
        }
        let mut merged =
            report::merge(&sources, command()).map_err(|error| Failure::Infrastructure(error.to_string()))?;
        if let Some(cause) = self.interruption.cause().filter(|_| sources.len() < planned) {
            let ran = sources.len();
            merged =
                merged.incomplete(format!("interrupted ({cause}), {ran} of {planned} {what} were started"));
        }
        write_unless_interrupted(folder_of_run, &merged, quiet, self.interruption).await?;
        Ok(merged)
    }
}
