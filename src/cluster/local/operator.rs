//! An operator that replaces the reference controller.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use conformance_install::operator::{Operator, OperatorError};
use conformance_install::part::Part;
use conformance_programs::home;
use conformance_programs::process::Process;

use super::{LocalCluster, webhooks};
use crate::ClusterError;
use crate::plain_http::{ask, plain_client};

const TAIL: usize = 15;

impl LocalCluster {
    /// Waits until an operator reports that it is ready and its webhooks answer. Returns its answer or log
    /// line.
    pub(super) async fn operator_ready(&self, operator: &Operator) -> Result<String, ClusterError> {
        let place = self.layout.operator_place(operator)?;
        let name = &operator.description.name;
        let tail = || home::tail(&self.log(Part::Controller), TAIL);
        let readiness = &operator.description.readiness;
        let limit = Duration::from_secs(readiness.seconds);
        let client = plain_client(place.health)?;
        let begin = Instant::now();
        let said = loop {
            let last = match (&readiness.path, &readiness.log_line) {
                (Some(path), _) => match ask(&client, path, Duration::from_secs(2)).await {
                    Ok(answer) => break answer,
                    Err(last) => last,
                },
                (None, words) => match self.logged(words.as_deref().unwrap_or_default()) {
                    Some(line) => break line,
                    None => "no line of its log contains readiness.logLine".into(),
                },
            };
            if let Some(error) = self.dead_operator(operator).or_else(|| self.dead()) {
                return Err(error);
            }
            if begin.elapsed() > limit {
                let (operator, seconds, tail) = (name.clone(), limit.as_secs(), tail());
                return Err(OperatorError::NotReady { operator, seconds, last, tail }.into());
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        };
        let gave_up = || self.dead_operator(operator).is_some();
        if let Some((url, last)) = webhooks::silent_webhook(operator, place, gave_up).await? {
            return Err(self.dead_operator(operator).unwrap_or_else(|| {
                OperatorError::Webhook { operator: name.clone(), url, last, tail: tail() }.into()
            }));
        }
        Ok(said)
    }

    /// Why an operator's process has exited.
    fn dead_operator(&self, operator: &Operator) -> Option<ClusterError> {
        let how = self.lock().get(&Part::Controller).and_then(Process::ended)?;
        let command = self.layout.process(Part::Controller, &self.spec(), &self.programs);
        let command = command.map(|process| {
            let env = process.env.iter().map(|(name, value)| format!("{name}={value}"));
            let program = std::iter::once(process.program.display().to_string());
            env.chain(program).chain(process.args).collect::<Vec<_>>().join(" ")
        });
        let error = OperatorError::Ended {
            operator: operator.description.name.clone(),
            how,
            command: command.unwrap_or_default(),
            tail: home::tail(&self.log(Part::Controller), TAIL),
        };
        Some(error.into())
    }

    /// The first log line with this text since the operator's start.
    fn logged(&self, words: &str) -> Option<String> {
        let from = self.operator_log_from.load(Ordering::Relaxed);
        let log = std::fs::read(self.log(Part::Controller)).ok()?;
        let text = String::from_utf8_lossy(log.get(usize::try_from(from).ok()?..)?).into_owned();
        text.lines().find(|line| line.contains(words)).map(str::to_owned)
    }
}
