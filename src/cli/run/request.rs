//! The request of a run: its arguments, and the contents of the files that they name. Each file is read once,
//! before anything is built.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use conformance_driver::case::Case;
use conformance_report::AcceptedDeviations;
use conformance_run::feasibility::Knowledge;
use conformance_run::first_failure::FirstFailure;
use conformance_run::workload;

use crate::args::{ProviderName, RunArgs};
use crate::{Failure, accept, generated, output, scale, select};

pub(super) struct Request<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) cases: Cases,
    /// The gang scope of the run. A workload that names one is run in that scope.
    pub(super) scope: Option<String>,
    /// The deviations of `--accept`.
    pub(super) accepted: Option<AcceptedDeviations>,
    /// The first failure of the run, on any of its control planes, with `--fail-fast`.
    pub(super) first_failure: Option<Arc<FirstFailure>>,
}

/// The cases that the arguments request.
pub(super) enum Cases {
    /// The suite's cases, as far as they are selected.
    Suite,
    Scale(&'static Case),
    Generated(Vec<&'static Case>),
    OwnWorkload {
        file: PathBuf,
        case: &'static Case,
    },
}

impl<'a> Request<'a> {
    pub(super) fn read(args: &'a RunArgs) -> Result<Self, Failure> {
        let cases = Cases::read(args)?;
        let named = match &cases {
            Cases::OwnWorkload { case, .. } => workload::scope(case),
            Cases::Suite | Cases::Scale(_) | Cases::Generated(_) => None,
        };
        Ok(Self {
            args,
            cases,
            scope: named.or_else(|| args.subject.scope.clone()),
            accepted: accept::read(args.output.accept.as_deref())?,
            first_failure: args.selection.fail_fast.then(Arc::default),
        })
    }
}

impl Cases {
    fn read(args: &RunArgs) -> Result<Self, Failure> {
        if let Some(size) = scale::size(&args.workloads, &args.subject, &args.provider)? {
            return Ok(Self::Scale(size.case()));
        }
        if let Some(cases) = generated::cases(&args.workloads)? {
            return Ok(Self::Generated(cases));
        }
        match &args.workloads.workload {
            Some(file) => {
                let nodes = args.workloads.nodes.as_deref().unwrap_or_default();
                let case = own_workload(file, nodes, args.provider.provider)?;
                Ok(Self::OwnWorkload { file: file.clone(), case })
            }
            None => Ok(Self::Suite),
        }
    }
}

/// Refuses a workload that does not fit the nodes. Prints why it is undecided whether it fits.
fn own_workload(file: &Path, nodes: &str, provider: ProviderName) -> Result<&'static Case, Failure> {
    let usage = |reason: String| Failure::Usage(format!("--workload {}: {reason}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| usage(error.to_string()))?;
    let knowledge = match provider {
        ProviderName::Local => Knowledge::Complete,
        ProviderName::Kind | ProviderName::Existing => Knowledge::OfHarness,
    };
    let accepted = workload::case(&text, &select::nodes(nodes)?, knowledge);
    let accepted = accepted.map_err(|reason| usage(reason.to_string()))?;
    if !accepted.undecided.is_empty() {
        output::say(&format!(
            "--workload {}: only a scheduler can decide whether the pods fit, so pods that stay pending prove \
             nothing:\n  {}",
            file.display(),
            accepted.undecided.join("\n  ")
        ));
    }
    Ok(accepted.case)
}
