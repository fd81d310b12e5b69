//! What a recycle has to be like: when it comes, what it takes, what it leaves (TERM).

use std::collections::BTreeSet;

use conformance_contract::names;
use conformance_contract::ruling::Ruling;
use conformance_contract::violation::{Code, Violation};
use conformance_expect::scopes::{Scope, SetReplica};
use conformance_history::{Change, History, SharedMark, Version, name, text};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::breaches::{Breach, Breaches};
use super::generations::{Recycle, recycles};
use super::health::is_live;
use crate::{Shown, ensure, none, violation};

const RECYCLED_UNBREACHED: Code = Code::new("recycled-without-a-breach");
const RECYCLED_EARLY: Code = Code::new("recycled-early");
const RECYCLED_LATE: Code = Code::new("recycled-late");
const NOT_RECYCLED: Code = Code::new("not-recycled");
const RECYCLED_OTHERWISE: Code = Code::new("recycled-too-often-or-not-at-all");
const DELETED_ASIDE: Code = Code::new("deleted-outside-a-recycle");
const NOT_KEPT: Code = Code::new("not-kept-over-a-recycle");

/// API times have whole seconds.
const ROUNDED: SignedDuration = SignedDuration::from_secs(1);
/// What a controller may take until the first deletion.
const PATIENCE: SignedDuration = SignedDuration::from_secs(10);

/// The recycles of a scope that are its own: those of a group's replica that go with the whole PodCliqueSet replica are
/// that one's.
pub fn own_recycles<'a>(history: &'a History, replica: &SetReplica, scope: &Scope) -> Vec<Recycle<'a>> {
    let found = recycles(history, scope);
    if *scope == replica.scope() {
        return found;
    }
    let whole = recycles(history, &replica.scope());
    let is_within = |recycle: &Recycle<'_>| {
        let begun = recycle.begun.index;
        whole.iter().any(|whole| (whole.begun.index..=whole.ended.index).contains(&begun))
    };
    found.into_iter().filter(|recycle| !is_within(recycle)).collect()
}

/// A scope is recycled once it has been breached for the delay, not before, and only for that (TERM-02).
///
/// # Errors
/// A violation per recycle without a breach, too early or too late, and per breach that lasted and led to none.
pub fn after_the_delay(
    history: &History,
    replica: &SetReplica,
    scope: &Scope,
    delay: SignedDuration,
) -> Ruling {
    let breaches = Breaches::of(history, replica);
    let breaches = breaches.of_scope(scope);
    let recycled = own_recycles(history, replica, scope);
    let leads_to = |breach: &Breach<'_>, recycle: &Recycle<'_>| {
        let begun = recycle.begun.index;
        breach.since.index < begun && breach.until.is_none_or(|until| until.index >= begun)
    };
    let of_recycles = recycled.iter().filter_map(|recycle| {
        let begun = recycle.begun;
        match breaches.iter().find(|breach| leads_to(breach, recycle)) {
            None => {
                let message = format!("{scope} was recycled, and was not breached");
                Some(violation(RECYCLED_UNBREACHED, message).shown_by("first deletion", begun))
            }
            Some(breach) => untimely(scope, breach.since, begun, delay),
        }
    });
    let last = history.entries.last().map_or(Timestamp::UNIX_EPOCH, |entry| entry.at);
    let of_breaches =
        breaches.iter().filter(|breach| !recycled.iter().any(|recycle| leads_to(breach, recycle)));
    let of_breaches = of_breaches.filter_map(|breach| {
        let lasted = breach.until.map_or(last, |until| until.at).duration_since(breach.since.at);
        (lasted > delay + PATIENCE).then(|| {
            let message = format!("{scope} was breached for {} s and was not recycled", lasted.as_secs());
            violation(NOT_RECYCLED, message).shown_by("breached since", breach.since)
        })
    });
    none(of_recycles.chain(of_breaches))
}

fn untimely(
    scope: &Scope,
    since: Version<'_>,
    begun: Version<'_>,
    delay: SignedDuration,
) -> Option<Violation> {
    let after = begun.at.duration_since(since.at);
    let code = if after < delay - ROUNDED {
        RECYCLED_EARLY
    } else if after > delay + PATIENCE {
        RECYCLED_LATE
    } else {
        return None;
    };
    let message = format!(
        "{scope} was recycled {:.1} s after it was breached; its termination delay is {:.1} s",
        after.as_secs_f64(),
        delay.as_secs_f64()
    );
    Some(violation(code, message).shown_by("breached since", since).shown_by("first deletion", begun))
}

/// A scope was recycled so many times, by itself (TERM-03 to TERM-06).
///
/// # Errors
/// A violation for more or fewer.
pub fn times(history: &History, replica: &SetReplica, scope: &Scope, wanted: usize) -> Ruling {
    let found = own_recycles(history, replica, scope);
    ensure(found.len() == wanted, || {
        let message = format!("{scope} was recycled {} times, not {wanted}", found.len());
        let violation = violation(RECYCLED_OTHERWISE, message);
        found.iter().fold(violation, |violation, recycle| violation.shown_by("first deletion", recycle.begun))
    })
}

/// No pod of a replica is deleted but by a recycle of it or of one of its groups' replicas, or by the harness (TERM-02,
/// TERM-04).
///
/// # Errors
/// A violation per pod.
pub fn nothing_else_deleted(history: &History, replica: &SetReplica) -> Ruling {
    let mut excused: BTreeSet<&str> = BTreeSet::new();
    for mark in history.marks(SharedMark::PodLost).map(|(_, mark)| mark) {
        excused.extend(mark.detail["name"].as_str());
    }
    let sizes =
        history.of("PodCliqueScalingGroup").filter_map(|version| version.object["spec"]["replicas"].as_u64());
    let most = sizes.max().and_then(|most| usize::try_from(most).ok()).unwrap_or(0);
    let of_groups = replica
        .groups
        .iter()
        .flat_map(|group| (0..most).map(|index| Scope::GroupReplica { group: group.name.clone(), index }));
    let scopes: Vec<_> = of_groups.chain([replica.scope()]).collect();
    let recycled: BTreeSet<&str> =
        scopes.iter().flat_map(|scope| recycles(history, scope)).flat_map(|recycle| recycle.old).collect();
    let mut seen = BTreeSet::new();
    let ends = history.pods().filter(|version| replica.scope().has(version.pod()));
    let ends = ends.filter(|version| version.change == Change::Deleted || !is_live(version.pod()));
    none(ends.filter(|version| seen.insert(version.uid())).filter_map(|version| {
        let is_excused = excused.contains(version.name()) || recycled.contains(version.uid());
        (!is_excused).then(|| {
            let message =
                format!("{} was deleted, and {} was not recycled for it", version.name(), replica.scope());
            violation(DELETED_ASIDE, message).shown_by("deleted", version)
        })
    }))
}

/// What a recycle keeps: PodGangs, scaling groups and Services of the replica, the live replicas of its cliques, and
/// everything of the other replicas, to the resourceVersion (TERM-12).
///
/// # Errors
/// A violation per object that is gone, was made anew, or was touched.
pub fn kept(history: &History, scope: &Scope, recycle: &Recycle<'_>, until: usize) -> Ruling {
    let Scope::Replica { set, index } = scope else { return Ok(()) };
    let (before, after) = (history.before(recycle.begun.index), history.before(until));
    let label = |object: &Value, key: &str| object["metadata"]["labels"][key].as_str().map(str::to_owned);
    let is_of_set = |object: &&Value| label(object, names::PART_OF).as_ref() == Some(set);
    let of_replica =
        |object: &Value| label(object, names::REPLICA_INDEX).and_then(|found| found.parse().ok());
    let stays = ["PodGang", "PodCliqueScalingGroup", "Service"];
    none(before.all().filter(is_of_set).filter_map(|object| {
        let (kind, name) = (text(&object["kind"]), name(object));
        let now = after.get(kind, name);
        let is_of_another = of_replica(object).is_some_and(|other: usize| other != *index);
        let same = |field: &str| now.is_some_and(|now| now["metadata"][field] == object["metadata"][field]);
        let fault = if is_of_another && !same("resourceVersion") {
            format!("{kind} {name} of another replica was touched")
        } else if stays.contains(&kind) && !same("uid") {
            format!("{kind} {name} was deleted or made anew")
        } else if kind == "PodClique"
            && now.is_none_or(|now| now["spec"]["replicas"] != object["spec"]["replicas"])
        {
            format!("PodClique {name} has other replicas than {}", object["spec"]["replicas"])
        } else {
            return None;
        };
        Some(
            violation(NOT_KEPT, format!("{fault} when {scope} was recycled"))
                .shown_by_object("before", object),
        )
    }))
}

#[cfg(test)]
mod tests {
    use conformance_expect::scopes::replicas;
    use conformance_history::testing::{Story, object};
    use serde_json::json;

    use super::super::generations::tests::{going, pod, running, scope};
    use super::*;
    use crate::message;

    fn pair() -> SetReplica {
        let clique = json!({"name": "a", "spec": {"replicas": 2}});
        let pcs =
            json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {"cliques": [clique]}}});
        replicas(&pcs).remove(0)
    }

    /// One of two is lost, and after so many seconds what is left is deleted and made anew.
    fn recycled(after: i64) -> Story {
        let lost = running().mark(SharedMark::PodLost, json!({"name": "a"})).deleted(pod("a", Some("n")));
        lost.later(after).modified(going("b")).added(pod("c", None)).added(pod("d", None))
    }

    fn judged(story: Story) -> Ruling {
        let history = story.end();
        nothing_else_deleted(&history, &pair())?;
        after_the_delay(&history, &pair(), &scope(), SignedDuration::from_secs(2))
    }

    #[test]
    fn in_time() {
        assert_eq!(judged(recycled(2)), Ok(()));
        assert_eq!(judged(recycled(1)), Ok(()), "a second's rounding");
        assert_eq!(times(&recycled(2).end(), &pair(), &scope(), 1), Ok(()));
    }

    #[test]
    fn not_in_time() {
        assert!(message(judged(recycled(0))).contains("0.0 s after it was breached"));
        assert!(message(judged(recycled(13))).contains("13.0 s after it was breached"));
        let lost = running().mark(SharedMark::PodLost, json!({"name": "a"})).deleted(pod("a", Some("n")));
        let waits = lost.later(20).added(object("Event", "e"));
        assert!(message(judged(waits)).contains("was breached for 20 s and was not recycled"));
    }

    #[test]
    fn for_nothing() {
        let story = running().later(5).modified(going("a")).modified(going("b")).added(pod("c", None));
        assert!(message(judged(story)).contains("was not breached"));
        assert!(message(times(&recycled(2).end(), &pair(), &scope(), 0)).contains("1 times, not 0"));
        let one = running().modified(going("a")).added(pod("c", Some("n")));
        assert!(message(judged(one)).contains("was not recycled for it"));
    }

    #[test]
    fn what_is_kept() {
        let labelled = |mut object: Value, replica: &str| {
            object["metadata"]["labels"] = json!({names::PART_OF: "w", names::REPLICA_INDEX: replica});
            object
        };
        let pclq = |replicas: usize| {
            let mut pclq = labelled(object("PodClique", "w-0-a"), "0");
            pclq["spec"]["replicas"] = json!(replicas);
            pclq
        };
        let before = || {
            let story = running().added(labelled(object("PodGang", "w-0"), "0")).added(pclq(3));
            story.added(labelled(object("Service", "w-1"), "1"))
        };
        let after = |story: Story| {
            let end = story.modified(going("a")).modified(going("b")).added(pod("c", None));
            end
        };
        let judged = |story: Story| {
            let history = story.end();
            let found = recycles(&history, &scope());
            kept(&history, &scope(), &found[0], history.entries.len())
        };
        assert_eq!(judged(after(before())), Ok(()));
        let anew = |object: Value| {
            let mut object = object;
            object["metadata"]["uid"] = json!("another");
            object
        };
        let gang = after(before()).modified(anew(labelled(object("PodGang", "w-0"), "0")));
        assert!(message(judged(gang)).contains("PodGang w-0 was deleted or made anew"));
        let smaller = after(before()).modified(anew(pclq(2)));
        assert!(message(judged(smaller)).contains("other replicas than 3"));
        let other = after(before()).modified(labelled(object("Service", "w-1"), "1"));
        assert!(message(judged(other)).contains("Service w-1 of another replica was touched"));
    }
}
