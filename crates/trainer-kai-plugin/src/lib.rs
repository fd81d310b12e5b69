//! Kubeflow TrainJobs in a queue of KAI, beside an unmodified trainer: what kubeflow/trainer #3186 would have built in.
//!
//! A training runtime says `podGroupPolicy.kaiScheduler.queue`; every pod of its TrainJobs then has the label
//! `kai.scheduler/queue`, and KAI does the rest: it makes the gang of a TrainJob by itself. The trainer does not know the
//! field. So this program's webhook adds an entry to `runtimePatches` of a new TrainJob, the trainer's own way in for
//! admission webhooks, and nothing else: no schedulerName, no gang resource, no topology, no priority.
//!
//! - [`policy`]: what a runtime says, and what is wrong with it; [`patch`]: the entry in a TrainJob;
//! - [`admission`]: the three webhooks; [`runtimes`]: where they read runtimes;
//! - [`crd`]: the field in the trainer's CRDs; [`install`]: what the program needs in a cluster;
//! - [`program`], [`command_line`]: the process.
//!
//! The conformance suite knows none of this: it is given a program and its command line.

pub mod admission;
pub mod command_line;
pub mod crd;
pub mod install;
pub mod patch;
pub mod policy;
pub mod program;
pub mod runtimes;
