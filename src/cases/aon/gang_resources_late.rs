//! 4 nodes x 8 GPUs; a gang of 5 pods x 8 GPUs: one pod short. The scheduler receives the gang resources only
//! after it has tried the pods. Until then, it must not treat the pods as pods without a gang.

use std::collections::BTreeSet;

use conformance_history::{condition, name};
use conformance_proxy::Action;
use futures::future::select_all;

use crate::disturbances::proxy_gang_resource_watches;
use crate::prelude::*;

marks! {
    UNSEEN = "passed over without its gang resources";
    SEEN = "passed over with its gang resources";
}

pub(crate) const CASE: Case =
    case!("A gang is not bound before it fits, although its gang resources arrive late", restored)
        .clauses(&[AON_19])
        .nodes(&[nodes(4).gpus(8), nodes(1).gpus(8).joining(1)])
        .isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let late =
        proxy_gang_resource_watches(test, "*late-0*", &Action::HoldEvents { others_pass: true }).await?;
    let gangs = test.submit("late").await?;
    for gang in &gangs {
        test.until_released(gang).await?;
    }
    // Some schedulers do not watch every kind, so the first event of any kind suffices.
    let first_event = select_all(late.iter().map(|(proxy, rule)| Box::pin(proxy.until_applied(*rule, 1))));
    let begin = std::time::Instant::now();
    if test.within(limits::REACTION, first_event).await.is_none() {
        return Err(test
            .timed_out("the proxy holding back an event of a gang resource", limits::REACTION, begin)
            .await);
    }
    test.canaries().await?;
    test.mark(UNSEEN, Value::Null);
    let kinds = schedulers::of(test.target).kinds();
    let unseen = test.look(|live| reports(live, kinds));
    late.iter().for_each(|(proxy, rule)| proxy.release(*rule));
    // Canaries overtake rejected pods, which wait in backoff. So the canaries follow the next attempt.
    test.until("a scheduling attempt that sees the gang resources", limits::SCHEDULING, |live| {
        !reports(live, kinds).is_subset(&unseen)
    })
    .await?;
    test.canaries().await?;
    test.mark(SEEN, Value::Null);
    test.add_nodes(1).await?;
    test.until_bound(5).await
}

fn reports(live: &Live, kinds: &[&str]) -> BTreeSet<String> {
    let of_gang = |object: &&Value| name(object).contains("late-0");
    let pods = live.of("Pod").filter(of_gang).map(|pod| {
        let reason = condition(pod, "PodScheduled").map(|condition| &condition["message"]);
        format!("{} {}", pod["spec"]["nodeName"], reason.unwrap_or(&Value::Null))
    });
    let resources = kinds.iter().flat_map(|kind| live.of(kind));
    let statuses = resources.filter(of_gang).map(|object| object["status"].to_string());
    pods.chain(statuses).collect()
}

fn check(history: &History) -> Vec<Finding> {
    let history = &history.before_restore();
    vec![finding(AON_19, || {
        let units = history.units("late")?;
        // No pod may be bound before the node joins. If the case stopped early, the node never joins.
        let seen = history.marks(SEEN).next().map(|(place, _)| place);
        let reached = [UNSEEN, SEEN].map(|mark| history.reached(mark).map(drop));
        all([binding::never(history, &units, seen), all(reached)])
    })]
}
