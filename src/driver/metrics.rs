use conformance_cluster::provider::MetricsPage;
use conformance_contract::clauses::Feature;
use conformance_facts::metrics::{Numbers, differences};
use conformance_history::SharedMark;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::context::{Awaited, Stop, TestContext};
use crate::limits::REACTION;

impl TestContext {
    /// Reads the metrics until they agree with the history, or times out. The operator must be idle.
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
        let agreed = self.poll_until(agreement, REACTION, || async {
            let (agrees, detail) = self.reading(&page).await?;
            Ok(agrees.then_some(detail))
        });
        let detail = match agreed.await {
            Err(Stop::Timeout(_)) => self.reading(&page).await?.1,
            agreed => agreed?,
        };
        self.test_cluster.cluster.healthy().await?;
        self.mark(SharedMark::MetricsRead, detail);
        Ok(())
    }

    async fn reading(&self, page: &MetricsPage) -> Result<(bool, Value), Stop> {
        let answer = page.read().await;
        let read = Timestamp::now();
        self.caught_up().await?;
        let history = self.history();
        let index = history.entries.len();
        Ok(match answer {
            Ok(text) => {
                let numbers = Numbers::read(&text, &self.namespace, &page.names);
                let agrees = differences(&history, &numbers, read).is_empty();
                (agrees, json!({"place": index, "numbers": numbers}))
            }
            Err(error) => (false, json!({"place": index, "failed": error.to_string()})),
        })
    }
}
