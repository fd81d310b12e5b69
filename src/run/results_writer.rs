//! Writes the results of a run in progress, so that `report recover` can build a report if the run is killed.

use std::collections::BTreeMap;
use std::sync::Arc;

use conformance_contract::target::Target;
use conformance_report::{CaseResult, ResultsFile, StoreError};

use crate::environment::Environment;
use crate::report_document::{RunClock, report, title};
use crate::run_plan::RunPlan;
use crate::runner::Observer;

/// The first error is reported to the observer; the run continues.
pub struct ResultsWriter<'a> {
    file: ResultsFile,
    environment: &'a Environment,
    plan: &'a RunPlan,
    clock: RunClock,
    command: String,
    observer: Arc<dyn Observer>,
    has_cluster: bool,
    has_reported_error: bool,
}

impl<'a> ResultsWriter<'a> {
    pub async fn create(
        environment: &'a Environment,
        plan: &'a RunPlan,
        clock: RunClock,
        command: String,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, StoreError> {
        let file = ResultsFile::create(&environment.settings.out)?;
        let mut results = Self {
            file,
            environment,
            plan,
            clock,
            command,
            observer,
            has_cluster: false,
            has_reported_error: false,
        };
        results.write_run().await;
        Ok(results)
    }

    /// Writes the report for a run that is killed now: every planned case counts as interrupted.
    async fn write_run(&mut self) {
        let mut planned = BTreeMap::new();
        self.plan.fill(&mut planned, &conformance_report::interrupted());
        let planned = report(self.environment, self.plan, planned, self.clock, self.command.clone()).await;
        let written = self.file.write_run(&planned.incomplete("the run was killed"));
        self.report_error(written);
    }

    pub(crate) async fn case(&mut self, target: Target, result: &CaseResult) {
        // Write the run again, because the cluster's components are known only after the cluster has started.
        if !self.has_cluster && self.environment.shared().is_some() {
            self.has_cluster = true;
            self.write_run().await;
        }
        let written = self.file.write_case(title(target), result);
        self.report_error(written);
    }

    fn report_error(&mut self, written: Result<(), StoreError>) {
        if let Err(error) = written
            && !std::mem::replace(&mut self.has_reported_error, true)
        {
            self.observer.unwritten(&error);
        }
    }
}
