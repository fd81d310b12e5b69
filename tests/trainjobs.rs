//! TrainJobs under `cargo test`, on the trainer's own control planes. On kube-scheduler and Volcano, one
//! TrainJob fits and one is a pod short. Without KAI's programs, the tests of KAI's target cover only what
//! the API server shows. Coscheduling of scheduler-plugins is left out: it would show the same and takes
//! three minutes to build. The command `trainjobs` runs all cases.
//!
//! Plain pods, on a control plane without an operator, use the cases of `ai-conformance`. Kueue takes minutes
//! to build, so only `ai-conformance` in `ci/full` judges it.

mod harness;
#[path = "harness/kai.rs"]
mod kai;
#[path = "harness/local.rs"]
mod local;
#[path = "harness/selection.rs"]
mod selection;

use std::process::ExitCode;

use conformance_contract::target::{AI_CONFORMANCE_TARGETS, Target};
use conformance_install::cluster_spec::ClusterSpec;
use conformance_install::schedulers;
use selection::Selection;

const FITS: &str = "trn/fitting-job-bound";
const SHORT: &str = "trn/one-pod-short";
const OF_PLAIN_PODS: [&str; 3] = ["aic/fitting-gang-bound", "aic/one-pod-short", "aic/room-for-one"];

fn has_kai() -> bool {
    std::env::var_os(kai::DIR).is_some()
}

fn kai_cases() -> Vec<&'static str> {
    let scheduled = has_kai().then_some([FITS, SHORT]);
    ["trn/queue-label"].into_iter().chain(scheduled.into_iter().flatten()).collect()
}

fn main() -> ExitCode {
    let on_target =
        |target: Target, ids: &[&'static str]| -> Vec<_> { ids.iter().map(|id| (target, *id)).collect() };
    selection::run(vec![
        Selection {
            letter: 'j',
            folder: "trainjob-kube",
            spec: || Ok(ClusterSpec::default().with_trainer(true)),
            cases: on_target(Target::TRAINJOB_KUBE, &[FITS, SHORT]),
            is_left_out: |_, _| false,
        },
        Selection {
            letter: 'm',
            folder: "trainjobs",
            spec: || {
                let spec = ClusterSpec::with([schedulers::volcano::SCHEDULER, schedulers::kai::SCHEDULER]);
                kai::with(spec.with_trainer(false))
            },
            cases: [
                on_target(Target::TRAINJOB_VOLCANO, &[FITS, SHORT]),
                on_target(Target::TRAINJOB_KAI, &kai_cases()),
            ]
            .concat(),
            is_left_out: |_, _| false,
        },
        Selection {
            letter: 'p',
            folder: "ai-conformance",
            spec: || {
                let schedulers = [schedulers::volcano::SCHEDULER, schedulers::koord_scheduler::SCHEDULER];
                let kai = has_kai().then_some(schedulers::kai::SCHEDULER);
                kai::with(ClusterSpec::with(schedulers.into_iter().chain(kai)).without_controller())
            },
            cases: AI_CONFORMANCE_TARGETS
                .into_iter()
                .filter(|target| *target != Target::AI_CONFORMANCE_KAI || has_kai())
                .filter(|target| *target != Target::AI_CONFORMANCE_KUEUE)
                .flat_map(|target| on_target(target, &OF_PLAIN_PODS))
                .collect(),
            is_left_out: |_, _| false,
        },
    ])
}
