//! Queues `open` and `other` are Open, `closed` is closed later. Queue `missing` does not exist.

use conformance_contract::names::VOLCANO_QUEUE;
use conformance_driver::admission_attempts::template;
use conformance_expect::resolver::gang_resource;
use conformance_expect::schedulers::volcano::POD_GROUP;

use crate::prelude::*;

const WRONG_QUEUE: Code = Code::new("wrong-queue");

pub(crate) const CASE: Case =
    case!("One open queue reaches the PodGroup and stays; any other queue is refused")
        .clauses(&[VOL_03, VOL_07, VOL_08]);

const OPEN: &[Attempt] = &[
    admitted("a queue that was opened", |pcs| on_set(pcs, "open")),
    admitted("another queue that was opened", |pcs| on_set(pcs, "other")),
    admitted("a queue that is still open", |pcs| on_set(pcs, "closed")),
];

const CLOSED: &[Attempt] = &[refused("a queue that was closed", &[], |pcs| on_set(pcs, "closed"))];

const NEW: &[Attempt] = &[
    admitted("no queue", |_| {}),
    admitted("an open queue on the PodCliqueSet", |pcs| on_set(pcs, "open")),
    admitted("one queue on the PodCliqueSet and on all cliques", |pcs| {
        on_set(pcs, "open");
        on_cliques(pcs, ["open", "open"]);
    }),
    refused("a queue that does not exist", &[], |pcs| on_set(pcs, "missing")),
    refused("a queue that is not open", &[], |pcs| on_set(pcs, "closed")),
    refused("an invalid queue name", &[], |pcs| annotate(&mut pcs["metadata"], "No Queue")),
    refused("different queues on a clique and on the PodCliqueSet", &[], |pcs| {
        on_set(pcs, "open");
        on_cliques(pcs, ["open", "other"]);
    }),
    refused("different queues on two cliques", &[], |pcs| on_cliques(pcs, ["open", "other"])),
];

/// VOL-08: a queue counts even if only the cliques name it.
const ON_CLIQUES: &[Attempt] =
    &[admitted("an open queue on all cliques", |pcs| on_cliques(pcs, ["open", "open"]))];

const MOVED: &[Attempt] = &[
    refused("queue of a live gang changed", &["queue"], |pcs| on_set(pcs, "other")),
    refused("queue of a live gang removed", &["queue"], |pcs| {
        if let Some(annotations) = pcs["metadata"]["annotations"].as_object_mut() {
            annotations.remove(VOLCANO_QUEUE);
        }
    }),
];

const MOVED_CLIQUES: &[Attempt] =
    &[refused("queue of all cliques of a live gang changed", &["queue"], |pcs| {
        on_cliques(pcs, ["other", "other"])
    })];

/// Each PodCliqueSet that exists, with the queue of its PodGroup; empty for Volcano's default queue.
const LIVE: [(&str, &str); 3] = [("by-set", "open"), (BY_CLIQUES, "open"), ("by-nobody", "")];
const BY_CLIQUES: &str = "by-cliques";

fn on_set(pcs: &mut Value, queue: &str) {
    let queue = full_name(pcs, queue);
    annotate(&mut pcs["metadata"], &queue);
}

fn on_cliques(pcs: &mut Value, queues: [&str; 2]) {
    let queues = queues.map(|queue| full_name(pcs, queue));
    for (clique, queue) in template(pcs)["cliques"].as_array_mut().into_iter().flatten().zip(&queues) {
        annotate(clique, queue);
    }
}

/// The full name of a queue of this case, as [`TestContext::domain`] forms it.
fn full_name(pcs: &Value, queue: &str) -> String {
    format!("{}-{queue}", pcs["metadata"]["namespace"].as_str().unwrap_or_default())
}

fn annotate(holder: &mut Value, queue: &str) {
    holder["annotations"][VOLCANO_QUEUE] = queue.into();
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for queue in ["open", "other", "closed"] {
        test.create_volcano_queue(&test.domain(queue)).await?;
    }
    let named = test.manifest("named")?;
    test.retry_creates_until(&named, OPEN, REACTION).await?;
    test.close_queue(&test.domain("closed")).await?;
    test.retry_creates_until(&named, CLOSED, REACTION).await?;
    test.attempt_creates(&named, &[NEW, ON_CLIQUES].concat()).await?;
    let mut gangs = Vec::new();
    for (name, queue) in LIVE {
        let mut pcs = named.clone();
        pcs["metadata"]["name"] = name.into();
        pcs["spec"]["replicas"] = 1.into();
        match name {
            "by-set" => on_set(&mut pcs, queue),
            BY_CLIQUES => on_cliques(&mut pcs, [queue, queue]),
            _ => {}
        }
        gangs.extend(test.submit_value(pcs).await?);
    }
    let target = test.target;
    test.until(Awaited::demanded_by(GANG_08, "the PodGroups"), REACTION, |live| {
        gangs.iter().all(|gang| gang_resource(target, live, gang, POD_GROUP).is_some())
    })
    .await?;
    test.attempt_updates("by-set", MOVED).await?;
    test.attempt_updates(BY_CLIQUES, MOVED_CLIQUES).await
}

fn queued(live: &Live, gang: &Gang, queue: &str) -> Ruling {
    let found = gang_resource(Target::VOLCANO, live, gang, POD_GROUP)
        .ok_or_else(|| Broken::NotReached(format!("PodGang {} has no PodGroup", gang.name)))?;
    ensure(found["spec"]["queue"] == queue, || {
        let queue_found = &found["spec"]["queue"];
        violation(
            WRONG_QUEUE,
            format!("PodGroup of PodGang {}: queue is {queue_found}, want {queue:?}", gang.name),
        )
        .shown_by_object("the PodGroup", found)
    })
}

fn all_queued(history: &History, is_meant: fn(&str) -> bool) -> Ruling {
    let end = history.end();
    for (name, queue) in LIVE.into_iter().filter(|(name, _)| is_meant(name)) {
        let queue =
            if queue.is_empty() { "default".to_owned() } else { full_name(history.submitted(name)?, queue) };
        queued(&end, &history.base(name)?, &queue)?;
    }
    Ok(())
}

fn resolved(history: &History) -> Ruling {
    answers(history, OPEN)?;
    answers(history, CLOSED)?;
    answers(history, NEW)?;
    all_queued(history, |name| name != BY_CLIQUES)
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(VOL_03, || resolved(history)),
        finding(VOL_07, || {
            precondition(VOL_03, resolved(history))?;
            answers(history, MOVED)?;
            answers(history, MOVED_CLIQUES)
        }),
        finding(VOL_08, || {
            answers(history, ON_CLIQUES)?;
            all_queued(history, |name| name == BY_CLIQUES)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use conformance_facts::attempts::Wanted;

    use super::*;

    #[test]
    fn another_queue_is_a_violation() {
        let mut found = object(POD_GROUP, "s-0");
        found["spec"] = json!({"queue": "default"});
        let live = Story::on(Target::VOLCANO).added(found).end().end();
        let ruling = |gang: &str, queue: &str| queued(&live, &Gang::named_only(gang), queue);
        assert_eq!(ruling("s-0", "default"), Ok(()));
        assert!(matches!(ruling("s-0", "ns-open"), Err(Broken::Violated(_))));
        assert!(matches!(ruling("t-0", "default"), Err(Broken::NotReached(_))));
    }

    #[test]
    fn each_wrong_answer_breaks_its_clause() {
        let asked = [OPEN, CLOSED, NEW, ON_CLIQUES].concat();
        for attempt in &asked {
            let wrong = if attempt.wanted == Wanted::Admitted { 422 } else { 201 };
            let story = answered(Story::on(Target::VOLCANO), &asked, &[(attempt.title, wrong, "")]);
            let broken: Vec<_> = check(&story.end())
                .into_iter()
                .filter(|finding| matches!(finding.ruling, Err(Broken::Violated(_))))
                .map(|finding| finding.clause)
                .collect();
            let is_of_cliques = ON_CLIQUES.iter().any(|other| other.title == attempt.title);
            assert_eq!(broken, [if is_of_cliques { VOL_08 } else { VOL_03 }], "{}", attempt.title);
        }
    }

    #[test]
    fn queue_names_start_with_the_namespace() {
        let mut pcs = json!({"metadata": {"namespace": "ns"}, "spec": {"template": {"cliques": [{}, {}]}}});
        on_set(&mut pcs, "open");
        on_cliques(&mut pcs, ["open", "other"]);
        assert_eq!(pcs["metadata"]["annotations"][VOLCANO_QUEUE], "ns-open");
        assert_eq!(pcs["spec"]["template"]["cliques"][1]["annotations"][VOLCANO_QUEUE], "ns-other");
    }
}
