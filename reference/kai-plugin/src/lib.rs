//! Puts Kubeflow TrainJobs into a KAI queue. kubeflow/trainer #3186 would build this into the trainer.
//!
//! A training runtime sets `podGroupPolicy.kaiScheduler.queue`, a field that the trainer does not know. The
//! webhook adds an entry to `runtimePatches` of each new TrainJob, the trainer's interface for admission
//! webhooks. So every pod of the TrainJob gets the label `kai.scheduler/queue`, and KAI creates the gang.

pub mod admission;
pub mod command_line;
pub mod crd;
pub mod install;
pub mod patch;
pub mod policy;
pub mod program;
pub mod runtimes;
