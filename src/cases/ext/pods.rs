//! `read`, 2 + 3 pods, selects a scheduler that would read the PodGang itself. No such scheduler process
//! runs.

use conformance_contract::ruling::Finding;
use conformance_contract::target::Target;
use conformance_driver::case::Case;
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::Expected;
use conformance_history::{History, MarkName};
use conformance_judge::{backends, finding, pods};

use crate::kube::hands_off;

pub(crate) const CASE: Case = Case::new(
    "Pods get the profile's scheduler name, gate and labels, and are released",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["EXT-01", "EXT-04"])
.only(&[Target::EXTERNAL]);

const SET: &str = "read";
const RELEASED: MarkName = MarkName::of_case("all pods released");

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit(SET).await? {
        test.until_released(&gang).await?;
    }
    test.mark(RELEASED, serde_json::Value::Null);
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("EXT-01", || {
            pods::as_they_should_be(history, SET, &history.gangs(SET)?)?;
            backends::serves(history, SET, history.header.target.backend())?;
            history.reached(RELEASED).map(drop)
        }),
        finding("EXT-04", || {
            hands_off::no_gang_resources(history, &[])?;
            history.reached(RELEASED).map(drop)
        }),
    ]
}
