//! 1 node with 8 devices. The pods of a clique, and of a scaling group with a scaled PodGang, share claims of
//! one device each. The PodCliqueSet defines 2 of these claims, the clique 2 and the group 3. The group is
//! scaled in from 2 replicas to 1, and then the PodCliqueSet is deleted.

use conformance_check::invariants;
use conformance_check::lifecycle::claims;
use conformance_expect::scopes::replicas;

use crate::prelude::*;

marks! { SCALED_IN = "claims of the removed replica deleted"; }

pub(crate) const CASE: Case =
    case!("Scaling in and deleting a running PodCliqueSet deletes the claims that its pods share")
        .clauses(&[DEL_01, DEL_14, GANG_30])
        .with_feature(Feature::Claims)
        .needs(&[Need::Devices])
        .nodes(&[nodes(1)]);

const SET: &str = "sharing";
const GROUP: &str = "sharing-0-model";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.publish_devices(8).await?;
    test.take_baseline().await?;
    test.submit(SET).await?;
    let mut reached = test.try_until_converged(SET).await?;
    if reached.is_ok() && test.target.declares(Feature::Claims) {
        test.scale("PodCliqueScalingGroup", GROUP, 1).await?;
        let (former, scaled) = (test.manifest(SET)?, scaled_in(test.manifest(SET)?));
        let condition = Awaited::demanded_by(DEL_14, "the claims of the removed replica deleted");
        let is_removed = |live: &Live| claims::scaled_in(live, &former, &scaled).is_ok();
        reached = test.continue_after_timeout(test.until(condition, REACTION, is_removed).await)?;
        if reached.is_ok() {
            test.mark(SCALED_IN, Value::Null);
        }
    }
    test.delete("PodCliqueSet", SET).await?;
    test.until_nothing_left().await?;
    reached
}

fn scaled_in(mut pcs: Value) -> Value {
    pcs["spec"]["template"]["podCliqueScalingGroups"][0]["replicas"] = 1.into();
    pcs
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(DEL_01, || {
            let (deleted, _) = history.reached(SharedMark::Deleted)?;
            let scaled = history.marks(SharedMark::Scaled).next();
            let before = history.upto(scaled.map_or(deleted, |(scaled, _)| scaled));
            for replica in replicas(history.submitted(SET)?) {
                precondition(TERM_20, claims::are_shared(&before, &replica.scope(), 0))?;
            }
            cleanup::nothing_left(history)
        }),
        finding(DEL_14, || at_scale_in(history, claims::scaled_in)),
        finding(GANG_30, || {
            invariants::claims_are_added(history)?;
            at_scale_in(history, |live, former, scaled| {
                precondition(DEL_14, claims::scaled_in(live, former, scaled))?;
                claims::as_shared(live, scaled)
            })
        }),
    ]
}

fn at_scale_in(history: &History, rule: impl FnOnce(&Live, &Value, &Value) -> Ruling) -> Ruling {
    let former = history.submitted(SET)?;
    history.reached(SharedMark::Scaled)?;
    history.at(SCALED_IN, |place| rule(&history.before(place), former, &scaled_in(former.clone())))
}
