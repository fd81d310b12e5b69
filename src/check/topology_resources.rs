//! The topology resources that a backend creates for a ClusterTopologyBinding, and the status of the binding.
//!
//! A status covers every scheduler with topology resources in the cluster. Only the target's entry is
//! checked. The condition is checked only if that entry alone determines it.

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::target::Target;
use conformance_contract::violation::Code;
use conformance_expect::schedulers;
use conformance_facts::topology::{BINDING, entry};
use conformance_history::{Change, History, Live, Version, condition};
use serde_json::Value;

use super::{Shown, ensure, none, violation};

const TOPOLOGY_NOT_AS_BOUND: Code = Code::new("topology-not-as-bound");
const IN_SYNC_UNSAID: Code = Code::new("in-sync-unsaid");
const DRIFT_UNSAID: Code = Code::new("drift-unsaid");
const REFERENCE_UNNAMED: Code = Code::new("reference-unnamed");
const SILENT_ABOUT_SCHEDULER: Code = Code::new("silent-about-scheduler");
const MADE_UNASKED: Code = Code::new("made-unasked");
const FOREIGN_OBJECT_TOUCHED: Code = Code::new("foreign-object-touched");
const GONE_BEFORE_BINDING: Code = Code::new("gone-before-binding");
const OUTLIVED_BINDING: Code = Code::new("outlived-binding");

/// The kind of the target's topology resources. Returns `NotReached` if the target has none.
pub fn kind(target: Target) -> Result<&'static str, Broken> {
    let none = || Broken::NotReached(format!("{target} has no topology resources"));
    schedulers::of(target).topology_kind().ok_or_else(none)
}

/// The target's topology resources match the binding, and the status of the binding reports them as in sync
/// (TOPO-09).
pub fn follow(history: &History, live: &Live, binding: &str) -> Ruling {
    let target = history.header.target;
    kind(target)?;
    let found = there(live, binding)?;
    let faults = schedulers::of(target).topology_faults(found, live, &history.header.namespace);
    none(
        faults
            .into_iter()
            .map(|fault| violation(TOPOLOGY_NOT_AS_BOUND, fault).shown_by_object("the binding", found)),
    )?;
    says_in_sync(history, live, binding)
}

/// The status of the binding reports the target's topology resource as in sync. If all entries are in sync,
/// the condition is False.
pub fn says_in_sync(history: &History, live: &Live, binding: &str) -> Ruling {
    let (found, entry) = (there(live, binding)?, state(history, live, binding)?);
    let entries = found["status"]["schedulerTopologyStatuses"].as_array().into_iter().flatten();
    let all = entries.into_iter().all(|entry| entry["inSync"] == true);
    let wrong = |what: &str| {
        violation(IN_SYNC_UNSAID, format!("{what}: {entry}")).shown_by_object("the binding", found)
    };
    ensure(entry["inSync"] == true, || {
        wrong("inSync is not true although the topology resource matches its binding")
    })?;
    let drift = condition(found, names::TOPOLOGY_DRIFT).map_or(&Value::Null, |drift| &drift["status"]);
    ensure(!all || drift == "False", || {
        wrong("the drift condition is not False although all topology resources match the binding")
    })
}

/// The status of the binding reports the target's topology resource as out of sync and gives a reason. The
/// condition does not contradict it (TOPO-09, TOPO-15, TOPO-16).
pub fn says_out_of_sync(history: &History, live: &Live, binding: &str) -> Ruling {
    let (found, entry) = (there(live, binding)?, state(history, live, binding)?);
    let wrong = |what: &str| {
        violation(DRIFT_UNSAID, format!("{what}: {entry}")).shown_by_object("the binding", found)
    };
    ensure(entry["inSync"] == false, || {
        wrong("inSync is not false although the topology resource does not match its binding")
    })?;
    let says_why = entry["message"].as_str().is_some_and(|message| !message.is_empty());
    ensure(says_why, || {
        wrong("the message does not report why the topology resource does not match its binding")
    })?;
    let drift = condition(found, names::TOPOLOGY_DRIFT);
    let told = drift.is_some_and(|drift| drift["status"] != "False");
    ensure(told, || {
        wrong("the drift condition is False although a topology resource does not match the binding")
    })
}

/// The target's status message names the topology resource that the binding refers to (TOPO-15).
pub fn names_reference(history: &History, live: &Live, binding: &str) -> Ruling {
    let (found, entry) = (there(live, binding)?, state(history, live, binding)?);
    let references = found["spec"]["schedulerTopologyBindings"].as_array().into_iter().flatten();
    let mut references = references.filter(|of| of["schedulerName"] == history.header.target.backend());
    let Some(reference) = references.find_map(|of| of["topologyReference"].as_str()) else {
        return Err(Broken::NotReached(format!("{BINDING} {binding} has no topologyReference")));
    };
    let is_named = entry["message"].as_str().is_some_and(|message| message.contains(reference));
    ensure(is_named, || {
        violation(REFERENCE_UNNAMED, format!("the message does not name {reference}: {entry}"))
            .shown_by_object("the binding", found)
    })
}

fn there<'a>(live: &'a Live, binding: &str) -> Result<&'a Value, Broken> {
    live.get(BINDING, binding)
        .ok_or_else(|| Broken::NotReached(format!("{BINDING} {binding} does not exist")))
}

fn state<'a>(history: &History, live: &'a Live, binding: &str) -> Result<&'a Value, Broken> {
    let (found, scheduler) = (there(live, binding)?, history.header.target.backend());
    entry(found, scheduler).ok_or_else(|| {
        let silent = format!("the status of {BINDING} {binding} has no entry for {scheduler}");
        violation(SILENT_ABOUT_SCHEDULER, silent).shown_by_object("the binding", found).into()
    })
}

/// This binding never controlled a topology resource of the target (TOPO-16, TOPO-17).
pub fn never_became(history: &History, binding: &str) -> Ruling {
    let kind = kind(history.header.target)?;
    if history.named(BINDING, binding).next().is_none() {
        return Err(Broken::NotReached(format!("{BINDING} {binding} never existed")));
    }
    let of_binding = history.of(kind).filter(|version| {
        let owners = version.object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        version.change == Change::Added
            && owners.into_iter().any(|owner| owner["kind"] == BINDING && owner["name"] == binding)
    });
    none(of_binding.map(|version| {
        violation(
            MADE_UNASKED,
            format!("{kind} {} was created for {BINDING} {binding}, want none", version.name()),
        )
        .shown_by("observed", version)
    }))
}

/// A topology resource that the operator does not own was never changed or deleted before the entry `until`
/// (TOPO-17).
pub fn untouched(history: &History, uid: &str, until: usize) -> Ruling {
    let kind = kind(history.header.target)?;
    let mut versions = history.of(kind).filter(|version| version.uid() == uid && version.index < until);
    let Some(first) = versions.next() else {
        return Err(Broken::NotReached(format!("the {kind} of another owner never existed")));
    };
    let its_own = |version: &Version<'_>| {
        let metadata = &version.object["metadata"];
        (version.object["spec"].clone(), metadata["ownerReferences"].clone(), metadata["labels"].clone())
    };
    let touched =
        versions.filter(|version| version.change == Change::Deleted || its_own(version) != its_own(&first));
    none(touched.map(|version| {
        violation(
            FOREIGN_OBJECT_TOUCHED,
            format!("{kind} {} of another owner was changed or deleted", version.name()),
        )
        .shown_by("as created", first)
        .shown_by("changed", version)
    }))
}

/// The topology resources at the entry `from` still exist at `to`, as the same objects (DEL-13).
pub fn outlived(history: &History, from: usize, to: usize) -> Ruling {
    let kind = kind(history.header.target)?;
    let (before, after) = (history.before(from), history.before(to));
    if before.of(kind).next().is_none() {
        return Err(Broken::NotReached(format!("no {kind} existed before the deletion")));
    }
    let uid = |object: &Value| object["metadata"]["uid"].clone();
    let stands = |object: &Value| after.of(kind).any(|later| uid(later) == uid(object));
    none(before.of(kind).filter(|object| !stands(object)).map(|object| {
        violation(
            GONE_BEFORE_BINDING,
            format!("{kind} {} was deleted before its binding", object["metadata"]["name"]),
        )
        .shown_by_object("observed", object)
    }))
}

/// Before the entry `until`, all topology resources that this binding controlled were deleted (DEL-09).
pub fn went_with(history: &History, binding: &str, until: usize) -> Ruling {
    let kind = kind(history.header.target)?;
    let is_its = |object: &Value| {
        let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        owners.into_iter().any(|owner| owner["kind"] == BINDING && owner["name"] == binding)
    };
    if !history.of(kind).any(|version| is_its(version.object)) {
        return Err(Broken::NotReached(format!("{BINDING} {binding} never had a {kind}")));
    }
    let live = history.before(until);
    none(live.of(kind).filter(|object| is_its(object)).map(|object| {
        violation(
            OUTLIVED_BINDING,
            format!("{kind} {} still exists after its binding was deleted", object["metadata"]["name"]),
        )
        .shown_by_object("observed", object)
    }))
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, object, owned};
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    const NAME: &str = "rows";

    /// A binding with one level, with one status entry per scheduler.
    fn binding(statuses: &[(&str, bool, &str)], drift: &str) -> Value {
        let mut binding = object(BINDING, NAME);
        binding["spec"] = json!({"levels": [{"domain": "rack", "key": names::RACK}]});
        let entries = statuses.iter().map(
            |(name, in_sync, message)| json!({"schedulerName": name, "inSync": in_sync, "message": message}),
        );
        binding["status"]["schedulerTopologyStatuses"] = entries.collect();
        binding["status"]["conditions"] = json!([{"type": names::TOPOLOGY_DRIFT, "status": drift}]);
        binding
    }

    fn topology(key: &str) -> Value {
        let mut topology = object("Topology", NAME);
        topology["spec"] = json!({"levels": [{"nodeLabel": key}]});
        topology
    }

    fn message(ruling: Ruling) -> String {
        match ruling {
            Ok(()) => "holds".into(),
            Err(Broken::Violated(found)) => found[0].message.clone(),
            Err(Broken::NotReached(why)) => format!("not reached: {why}"),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[rstest]
    #[case::all_is_well(binding(&[("kai-scheduler", true, "")], "False"), "holds")]
    #[case::another_scheduler_drifted(
        binding(&[("kai-scheduler", true, ""), ("volcano", false, "held")], "True"), "holds"
    )]
    #[case::condition(
        binding(&[("kai-scheduler", true, "")], "True"),
        "the drift condition is not False although all topology resources match the binding"
    )]
    #[case::entry(
        binding(&[("kai-scheduler", false, "differs")], "True"),
        "inSync is not true although the topology resource matches its binding"
    )]
    #[case::silent(
        binding(&[("volcano", true, "")], "False"),
        "the status of ClusterTopologyBinding rows has no entry for kai-scheduler"
    )]
    fn one_that_follows(#[case] binding: Value, #[case] wanted: &str) {
        let story = Story::on(Target::KAI).added(binding);
        let history = story.added(owned(topology(names::RACK), BINDING, NAME)).end();
        let said = message(follow(&history, &history.end(), NAME));
        assert!(said.starts_with(wanted), "{said}");
    }

    #[rstest]
    #[case::other_levels(
        owned(topology(names::HOST), BINDING, NAME),
        "levels is [\"kubernetes.io/hostname\"], want"
    )]
    #[case::of_nobody(topology(names::RACK), "Topology rows is not controlled by")]
    #[case::of_another_name(
        owned(object("Topology", "columns"), BINDING, NAME),
        "Topology rows does not exist"
    )]
    fn one_that_does_not(#[case] topology: Value, #[case] wanted: &str) {
        let story = Story::on(Target::KAI).added(binding(&[("kai-scheduler", true, "")], "False"));
        let history = story.added(topology).end();
        let said = message(follow(&history, &history.end(), NAME));
        assert!(said.starts_with(wanted), "{said}");
    }

    #[rstest]
    #[case::told(binding(&[("kai-scheduler", false, "differs")], "True"), "holds")]
    #[case::not_found(binding(&[("kai-scheduler", false, "not found")], "Unknown"), "holds")]
    #[case::said_to_follow(
        binding(&[("kai-scheduler", true, "")], "False"),
        "inSync is not false although the topology resource does not match its binding"
    )]
    #[case::no_reason(binding(&[("kai-scheduler", false, "")], "True"), "the message does not report why")]
    #[case::condition(
        binding(&[("kai-scheduler", false, "differs")], "False"),
        "the drift condition is False"
    )]
    fn drift_is_told(#[case] binding: Value, #[case] wanted: &str) {
        let history = Story::on(Target::KAI).added(binding).end();
        let said = message(says_out_of_sync(&history, &history.end(), NAME));
        assert!(said.starts_with(wanted), "{said}");
    }

    #[rstest]
    #[case::named("Topology \"site\" not found", "holds")]
    #[case::unnamed("not found", "the message does not name site")]
    fn the_reference_is_named(#[case] said: &str, #[case] wanted: &str) {
        let mut found = binding(&[("volcano", false, "site"), ("kai-scheduler", false, said)], "Unknown");
        found["spec"]["schedulerTopologyBindings"] = json!([
            {"schedulerName": "volcano", "topologyReference": "root"},
            {"schedulerName": "kai-scheduler", "topologyReference": "site"},
        ]);
        let history = Story::on(Target::KAI).added(found).end();
        let said = message(names_reference(&history, &history.end(), NAME));
        assert!(said.starts_with(wanted), "{said}");
    }

    #[test]
    fn what_is_somebody_elses_stays_his() {
        let uid = "uid-of-Topology-rows";
        let story = || Story::on(Target::KAI).added(binding(&[], "True")).added(topology(names::HOST));
        let mut seen = topology(names::HOST);
        seen["status"] = json!({"seen": true});
        let kept = story().modified(seen).end();
        assert_eq!(message(untouched(&kept, uid, 9)), "holds");
        assert_eq!(message(never_became(&kept, NAME)), "holds");
        for touched in [
            story().modified(topology(names::RACK)).end(),
            story().modified(owned(topology(names::HOST), BINDING, NAME)).end(),
            story().deleted(topology(names::HOST)).end(),
        ] {
            assert_eq!(
                message(untouched(&touched, uid, 9)),
                "Topology rows of another owner was changed or deleted"
            );
            assert_eq!(message(untouched(&touched, uid, 2)), "holds", "that was later");
        }
        let made = story().added(owned(object("Topology", "x"), BINDING, NAME)).end();
        assert_eq!(
            message(never_became(&made, NAME)),
            "Topology x was created for ClusterTopologyBinding rows, want none"
        );
        assert_eq!(
            message(never_became(&made, "others")),
            "not reached: ClusterTopologyBinding others never existed"
        );
    }

    #[test]
    fn topology_resources_live_as_long_as_their_binding() {
        let its = || owned(topology(names::RACK), BINDING, NAME);
        let story = || Story::on(Target::KAI).added(binding(&[], "False")).added(its());
        let gone = story().deleted(its()).end();
        assert_eq!(message(outlived(&gone, 2, 2)), "holds");
        assert_eq!(message(outlived(&gone, 2, 3)), "Topology \"rows\" was deleted before its binding");
        assert_eq!(message(outlived(&gone, 1, 3)), "not reached: no Topology existed before the deletion");
        assert_eq!(message(went_with(&gone, NAME, 3)), "holds");
        assert_eq!(
            message(went_with(&gone, NAME, 2)),
            "Topology \"rows\" still exists after its binding was deleted"
        );
        assert_eq!(
            message(went_with(&gone, "others", 3)),
            "not reached: ClusterTopologyBinding others never had a Topology"
        );
    }
}
