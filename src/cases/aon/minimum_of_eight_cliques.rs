//! Eight cliques, the most that one level of a tree holds. Each has one required pod and one surplus pod, x 1
//! GPU. 1 node x 4 GPUs: less than the minimum. With a second node: one pod of each clique and no more. With
//! a third and a fourth: all.

use conformance_contract::ruling::Finding;
use conformance_contract::target::Target;
use conformance_driver::case::{Case, nodes};
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::{all, binding, finding};

use super::surplus_last;

const SET: &str = "stretched-eight";

pub(crate) const CASE: Case = Case::new(
    "The minimum of eight cliques is bound before any surplus pod",
    |test| Box::pin(surplus_last::drive(test, SET, 8, 16)),
    judge,
)
.clauses(&["AON-05"])
.nodes(&[nodes(1).gpus(4), nodes(1).gpus(4).joining(1), nodes(2).gpus(4).joining(2)])
.only(&[Target::KUBE_TREE]);

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AON-05", || {
        let base = history.base(SET)?;
        surplus_last::judge(history, SET, |then| {
            all(base.groups.iter().map(|group| binding::exactly(then, &group.clique, 1)))
        })
    })]
}
