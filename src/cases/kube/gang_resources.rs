//! 1 node; a base PodGang of 3 podgroups, 5 pods + 1 surplus, and a scaled PodGang of 2 podgroups, 3 pods.
//! The case creates another PodGang without a PodCliqueSet. Its name has 100 characters, and its podgroups
//! have names of 70 and 160. A template's name may have 63 characters, and a PodGroup's 253. If the operator
//! acts only on PodGangs of PodCliqueSets, the case omits this PodGang.

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A PodGang becomes a Workload and PodGroups; names that are too long are shortened")
        .clauses(&[KUBE_01])
        .nodes(&[nodes(1)]);

const SET: &str = "mapped";
const LONG: &str =
    "a-podgang-of-a-hundred-characters-whose-name-leaves-a-podgroup-of-a-hundred-and-sixty-no-room-at-all";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    if !test.target.acts_on_any_pod_gang() {
        return Ok(());
    }
    let before = test.look(|live| live.of("PodGroup").count());
    let groups = match test.target.scope() {
        Some("PodGang") => 1,
        _ => 2,
    };
    test.create("PodGang", &test.manifest(LONG)?).await?;
    test.until("the PodGroups of the long names", REACTION, |live| {
        live.get("Workload", LONG).is_some() && live.of("PodGroup").count() >= before + groups
    })
    .await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KUBE_01, || {
        history.waited_for(SharedMark::Converged)?;
        let mut gangs = history.gangs(SET)?;
        if history.header.target.acts_on_any_pod_gang() {
            gangs.push(Gang::named_only(LONG));
        }
        let matched = gang_resources::match_pod_gangs(history, &history.end(), &gangs);
        // KUBE-01 is about PodGroup scope.
        match history.header.target.scope() {
            Some("PodGang") => precondition(KUBE_08, matched),
            _ => matched,
        }
    })]
}
