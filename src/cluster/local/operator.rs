use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use conformance_install::operator::{Operator, OperatorError};
use conformance_install::part::Part;
use conformance_programs::home;
use conformance_programs::process::Process;

use super::{LocalCluster, audit, webhooks};
use crate::ClusterError;
use crate::plain_http::{get, plain_client};

const TAIL: usize = 15;

impl LocalCluster {
    /// Waits until the operator and its webhooks answer. Returns the response or log line that shows it.
    pub(super) async fn operator_ready(&self, operator: &Operator) -> Result<String, ClusterError> {
        let home = self.layout.operator_home(operator)?;
        let name = &operator.description.name;
        let tail = || home::tail(&self.log(Part::Controller), TAIL);
        let readiness = &operator.description.readiness;
        let limit = Duration::from_secs(readiness.seconds);
        let client = plain_client(home.health)?;
        let begin = Instant::now();
        let message = loop {
            let last = match (&readiness.path, &readiness.log_line) {
                (Some(path), _) => match get(&client, path, Duration::from_secs(2)).await {
                    Ok(answer) => break answer,
                    Err(error) => error.to_string(),
                },
                (None, text) => match self.logged(text.as_deref().unwrap_or_default()) {
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
        let has_exited = || self.dead_operator(operator).is_some();
        if let Some((url, last)) = webhooks::silent_webhook(operator, home, has_exited).await? {
            return Err(self.dead_operator(operator).unwrap_or_else(|| {
                let last = last.to_string();
                OperatorError::Webhook { operator: name.clone(), url, last, tail: tail() }.into()
            }));
        }
        Ok(message)
    }

    fn dead_operator(&self, operator: &Operator) -> Option<ClusterError> {
        let how = self.running_parts().get(&Part::Controller).and_then(Process::ended)?;
        let command = self.layout.process(Part::Controller, &self.spec(), &self.programs);
        let command = command.map(|process| {
            let mut words: Vec<_> =
                process.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
            words.push(process.program.display().to_string());
            words.extend(process.args);
            words.join(" ")
        });
        let error = OperatorError::Ended {
            operator: operator.description.name.clone(),
            how,
            command: command.unwrap_or_default(),
            tail: home::tail(&self.log(Part::Controller), TAIL),
        };
        Some(error.into())
    }

    fn logged(&self, text: &str) -> Option<String> {
        let from = self.operator_log_from.load(Ordering::Relaxed);
        let new = audit::read(&self.log(Part::Controller), from).ok()?;
        new.lines().find(|line| line.contains(text)).map(str::to_owned)
    }
}
