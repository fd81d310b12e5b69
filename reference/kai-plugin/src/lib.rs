//! Puts Kubeflow TrainJobs into a KAI queue, alongside an unmodified trainer. kubeflow/trainer #3186 would
//! build this into the trainer.
//!
//! A training runtime sets `podGroupPolicy.kaiScheduler.queue`. Every pod of its TrainJobs then gets the
//! label `kai.scheduler/queue`, and KAI itself creates the gang. The trainer does not know the field. So this
//! program's webhook adds an entry to `runtimePatches` of a new TrainJob. This field is the trainer's
//! interface for admission webhooks. The webhook sets nothing else.
//!
//! The conformance suite does not depend on this crate: it runs the program.

pub mod admission;
pub mod command_line;
pub mod crd;
pub mod install;
pub mod patch;
pub mod policy;
pub mod program;
pub mod runtimes;
