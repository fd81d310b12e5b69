//! A node with 8 devices. A clique and a scaling group with a scaled PodGang share claims at every level: 2
//! of the PodCliqueSet, 2 of the clique and 3 of the group, each of one device. They run, then the
//! PodCliqueSet is deleted. An allocated claim is deleted once the last pod that uses it is gone.

use conformance_contract::ruling::Finding;
use conformance_contract::target::KUBE;
use conformance_driver::case::{Case, Need, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::scopes::replicas;
use conformance_history::{History, SharedMark};
use conformance_judge::life::claims;
use conformance_judge::{cleanup, finding, premise};

pub(crate) const CASE: Case = Case::new(
    "Deleting a running PodCliqueSet deletes the claims that its pods share",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["DEL-01"])
.only(KUBE)
.needs(&[Need::Devices])
.nodes(&[nodes(1)]);

const SET: &str = "sharing";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.publish_devices(8).await?;
    test.take_baseline().await?;
    test.submit(SET).await?;
    let started = test.converged_or_not(SET).await?;
    test.delete("PodCliqueSet", SET).await?;
    test.until_nothing_left().await?;
    started
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("DEL-01", || {
        let (deleted, _) = history.reached(SharedMark::Deleted)?;
        let before = history.upto(deleted);
        for replica in replicas(history.submitted(SET)?) {
            premise("TERM-20", claims::are_shared(&before, &replica.scope(), 0))?;
        }
        cleanup::nothing_left(history)
    })]
}
