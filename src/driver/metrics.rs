//! The operator's metrics, which no API object shows.

use conformance_cluster::provider::MetricsPage;
use conformance_contract::clauses::Feature;
use conformance_history::SharedMark;
use conformance_judge::life::metrics::{Numbers, differences};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::context::{Awaited, Stop, TestContext};
use crate::limits::REACTION;

impl TestContext {
    /// Reads what the operator's metrics say of the namespace, if it declares them, and marks it: once they agree with the history,
    /// or when they have had their time for that. Nothing may be left to do.
    ///
    /// # Errors
    /// [`Stop::Cluster`] if a watch or the cluster fails meanwhile.
    pub async fn read_metrics(&self) -> Result<(), Stop> {
        if !self.target.declares(Feature::Metrics) {
            return Ok(());
        }
        let page = match self.test_cluster.cluster.metrics() {
            Ok(page) => page,
            Err(why) => {
                self.mark(SharedMark::MetricsRead, json!({"unasked": why}));
                return Ok(());
            }
        };
        let agreement = Awaited::demanded_by("STAT-11", "metrics that agree with the history");
        let agreed = self.until_answered(agreement, REACTION, || async {
            let (agrees, detail) = self.reading(&page).await?;
            Ok(agrees.then_some(detail))
        });
        let detail = match agreed.await {
            Err(Stop::Wait(_)) => self.reading(&page).await?.1,
            agreed => agreed?,
        };
        self.test_cluster.cluster.healthy().await?;
        self.mark(SharedMark::MetricsRead, detail);
        Ok(())
    }

    /// What the metrics say now, and whether it agrees with the history.
    async fn reading(&self, page: &MetricsPage) -> Result<(bool, Value), Stop> {
        let answer = page.read().await;
        let read = Timestamp::now();
        self.caught_up().await?;
        let history = self.history();
        let place = history.entries.len();
        Ok(match answer {
            Ok(text) => {
                let numbers = Numbers::read(&text, &self.namespace, &page.names);
                let agrees = differences(&history, &numbers, read).is_empty();
                (agrees, json!({"place": place, "numbers": numbers}))
            }
            Err(why) => (false, json!({"place": place, "failed": why})),
        })
    }
}
