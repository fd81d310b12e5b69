//! A PodCliqueSet of two cliques. A label or an annotation may name the queue, on the PodCliqueSet or on a
//! clique. If an object has both, the label counts.

use conformance_driver::admission_attempts::clique;
use conformance_expect::resolver::gang_resource;
use conformance_expect::schedulers::kai::{POD_GROUP, QUEUE};

use crate::prelude::*;

const WRONG_QUEUE: Code = Code::new("wrong-queue");

pub(crate) const CASE: Case =
    case!("Exactly one queue reaches the PodGroup; none or several are refused").clauses(&[KAI_04, KAI_12]);

const KEY: &str = QUEUE.0;

const NEW: &[Attempt] = &[
    refused("no queue", &[], unnamed),
    refused("different queues on two cliques", &[], |pcs| {
        unnamed(pcs);
        put(clique(pcs, 0), "labels", "one");
        put(clique(pcs, 1), "labels", "two");
    }),
    refused("different queues on a clique and on the PodCliqueSet", &[], |pcs| {
        put(clique(pcs, 0), "annotations", "two")
    }),
    admitted("the same queue on the PodCliqueSet and on a clique", |pcs| {
        put(clique(pcs, 0), "labels", QUEUE.1)
    }),
    admitted("a queue on one clique only", |pcs| {
        unnamed(pcs);
        put(clique(pcs, 1), "annotations", "one");
    }),
];

type Named = (&'static str, fn(&mut Value));

const LIVE: [Named; 5] = [
    ("set-label", |pcs| put(&mut pcs["metadata"], "labels", "one")),
    ("set-annotation", |pcs| put(&mut pcs["metadata"], "annotations", "one")),
    ("clique-label", |pcs| put(clique(pcs, 1), "labels", "one")),
    ("clique-annotation", |pcs| put(clique(pcs, 1), "annotations", "one")),
    ("label-first", |pcs| {
        put(&mut pcs["metadata"], "labels", "one");
        put(&mut pcs["metadata"], "annotations", "two");
    }),
];

const MOVED: &[Attempt] = &[
    refused("queue of a live gang changed", &["queue"], |pcs| put(&mut pcs["metadata"], "labels", "two")),
    refused("queue of a live gang removed", &["queue"], unnamed),
];

const MOVED_ANNOTATION: &[Attempt] =
    &[refused("queue annotation of a live gang changed", &["queue"], |pcs| {
        put(&mut pcs["metadata"], "annotations", "two")
    })];

const MOVED_CLIQUE: &[Attempt] = &[refused("queue of a clique of a live gang changed", &["queue"], |pcs| {
    put(clique(pcs, 1), "labels", "two")
})];

fn put(holder: &mut Value, place: &str, queue: &str) {
    holder[place][KEY] = queue.into();
}

fn unnamed(pcs: &mut Value) {
    if let Some(labels) = pcs["metadata"]["labels"].as_object_mut() {
        labels.remove(KEY);
    }
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let named = test.manifest("named")?;
    test.attempt_creates(&named, NEW).await?;
    let mut gangs = Vec::new();
    for (name, edit) in LIVE {
        let mut pcs = named.clone();
        unnamed(&mut pcs);
        edit(&mut pcs);
        pcs["metadata"]["name"] = name.into();
        pcs["spec"]["replicas"] = 1.into();
        gangs.extend(test.submit_value(pcs).await?);
    }
    let target = test.target;
    test.until(Awaited::demanded_by(GANG_08, "the PodGroups"), REACTION, |live| {
        gangs.iter().all(|gang| gang_resource(target, live, gang, POD_GROUP).is_some())
    })
    .await?;
    test.attempt_updates("set-label", MOVED).await?;
    test.attempt_updates("set-annotation", MOVED_ANNOTATION).await?;
    test.attempt_updates("clique-label", MOVED_CLIQUE).await
}

fn resolved(history: &History) -> Ruling {
    answers(history, NEW)?;
    let end = history.end();
    LIVE.iter().try_for_each(|(name, _)| queued(&end, &history.base(name)?))
}

fn queued(live: &Live, gang: &Gang) -> Ruling {
    let found = gang_resource(Target::KAI, live, gang, POD_GROUP)
        .ok_or_else(|| Broken::NotReached(format!("PodGang {} has no PodGroup", gang.name)))?;
    ensure(found["spec"]["queue"] == "one", || {
        let message =
            format!("PodGroup of PodGang {}: queue is {}, want \"one\"", gang.name, found["spec"]["queue"]);
        violation(WRONG_QUEUE, message).shown_by_object("the PodGroup", found)
    })
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(KAI_04, || resolved(history)),
        finding(KAI_12, || {
            // If the PodGroup has no queue, a change of the queue cannot affect an existing gang.
            precondition(KAI_04, resolved(history))?;
            answers(history, MOVED)?;
            answers(history, MOVED_ANNOTATION)?;
            answers(history, MOVED_CLIQUE)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_queue_is_a_violation() {
        let ruling = |queue: Value| {
            let mut found = object(POD_GROUP, "s-0");
            found["spec"] = json!({"queue": queue});
            queued(&Story::on(Target::KAI).added(found).end().end(), &Gang::named_only("s-0"))
        };
        assert_eq!(ruling(json!("one")), Ok(()));
        assert!(ruling(json!("two")).is_err());
        assert!(ruling(Value::Null).is_err());
        let missing = queued(&Live::default(), &Gang::named_only("s-0"));
        assert!(matches!(missing, Err(Broken::NotReached(_))), "{missing:?}");
    }
}
