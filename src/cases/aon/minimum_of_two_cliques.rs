//! Two cliques, each of one required pod and one surplus pod, x 8 GPUs. 1 node x 8 GPUs: less than the
//! minimum. With a second node: one pod of each clique and no more, although either clique's surplus pod
//! would fit instead of the other clique's required pod. With a third and a fourth: all.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_history::History;
use conformance_judge::{binding, finding};

use super::room_for_one_of_two_cliques::{ATOMIC, is_atomic};
use super::surplus_last;

const SET: &str = "stretched-pair";

pub(crate) const CASE: Case = Case::new(
    "The minimum of two cliques is bound before any surplus pod",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["AON-05"])
.nodes(&[nodes(1).gpus(8), nodes(1).gpus(8).joining(1), nodes(2).gpus(8).joining(2)])
.only(ATOMIC);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    if is_atomic(test.target).is_err() {
        return Ok(());
    }
    surplus_last::drive(test, SET, 2, 4).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AON-05", || {
        is_atomic(history.header.target)?;
        surplus_last::judge(history, SET, |then| {
            binding::exactly(then, "stretched-pair-0-left", 1)?;
            binding::exactly(then, "stretched-pair-0-right", 1)
        })
    })]
}
