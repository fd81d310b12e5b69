//! Checks of topology resources and of the status of a ClusterTopologyBinding. Only the target's entry in the
//! status is checked. The condition is checked only if this entry alone determines it.

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::target::Target;
use conformance_contract::violation::Code;
use conformance_expect::schedulers;
use conformance_facts::topology::{BINDING, entry};
use conformance_history::{Change, History, Live, Version, condition, owners};
use serde_json::Value;

use super::{Shown, ensure, none, precondition, violation};

const TOPOLOGY_DIFFERS_FROM_BINDING: Code = Code::new("topology-differs-from-binding");
const IN_SYNC_NOT_REPORTED: Code = Code::new("in-sync-not-reported");
const DRIFT_NOT_REPORTED: Code = Code::new("drift-not-reported");
const DRIFT_NOT_EXPLAINED: Code = Code::new("drift-not-explained");
const REFERENCE_NOT_NAMED: Code = Code::new("reference-not-named");
const SILENT_ABOUT_SCHEDULER: Code = Code::new("silent-about-scheduler");
const CREATED_WITHOUT_REQUEST: Code = Code::new("created-without-request");
const FOREIGN_OBJECT_TOUCHED: Code = Code::new("foreign-object-touched");
const DELETED_BEFORE_BINDING: Code = Code::new("deleted-before-binding");
const OUTLIVED_BINDING: Code = Code::new("outlived-binding");

/// Returns the kind of topology resources, or `NotReached` if the target has none.
pub fn kind(target: Target) -> Result<&'static str, Broken> {
    let none = || Broken::NotReached(format!("{target} has no topology resources"));
    schedulers::of(target).topology_kind().ok_or_else(none)
}

/// Requires that the topology resources match the binding (TOPO-09), whose status reports them in sync.
pub fn match_binding(history: &History, live: &Live, binding: &str) -> Ruling {
    let target = history.header.target;
    kind(target)?;
    let found = existing_binding(live, binding)?;
    let faults = schedulers::of(target).topology_faults(found, live, &history.header.namespace);
    none(
        faults.into_iter().map(|fault| {
            violation(TOPOLOGY_DIFFERS_FROM_BINDING, fault).shown_by_object("the binding", found)
        }),
    )?;
    reports_in_sync(history, live, binding)
}

/// Requires that the target's entry is in sync. If all entries are in sync, the condition must be False.
pub fn reports_in_sync(history: &History, live: &Live, binding: &str) -> Ruling {
    let (found, entry) = (existing_binding(live, binding)?, entry_of_target(history, live, binding)?);
    let entries = found["status"]["schedulerTopologyStatuses"].as_array().into_iter().flatten();
    let all = entries.into_iter().all(|entry| entry["inSync"] == true);
    let wrong = |what: &str| {
        violation(IN_SYNC_NOT_REPORTED, format!("{what}: {entry}")).shown_by_object("the binding", found)
    };
    ensure(entry["inSync"] == true, || {
        wrong("inSync is not true although the topology resource matches its binding")
    })?;
    let drift = condition(found, names::TOPOLOGY_DRIFT).map_or(&Value::Null, |drift| &drift["status"]);
    ensure(!all || drift == "False", || {
        wrong("the drift condition is not False although all topology resources match the binding")
    })
}

pub fn reports_out_of_sync(history: &History, live: &Live, binding: &str) -> Ruling {
    let (found, entry) = (existing_binding(live, binding)?, entry_of_target(history, live, binding)?);
    let wrong = |what: &str| {
        violation(DRIFT_NOT_REPORTED, format!("{what}: {entry}")).shown_by_object("the binding", found)
    };
    ensure(entry["inSync"] == false, || {
        wrong("inSync is not false although the topology resource does not match its binding")
    })?;
    let drift = condition(found, names::TOPOLOGY_DRIFT);
    let is_reported = drift.is_some_and(|drift| drift["status"] != "False");
    ensure(is_reported, || {
        wrong("the drift condition is False although a topology resource does not match the binding")
    })
}

/// Requires a message in the entry of a topology resource that is out of sync (TOPO-19).
pub fn explains_drift(history: &History, live: &Live, binding: &str) -> Ruling {
    precondition("TOPO-15", reports_out_of_sync(history, live, binding))?;
    let (found, entry) = (existing_binding(live, binding)?, entry_of_target(history, live, binding)?);
    let has_reason = entry["message"].as_str().is_some_and(|message| !message.is_empty());
    ensure(has_reason, || {
        let message = format!("the status entry does not say why the topology resource differs: {entry}");
        violation(DRIFT_NOT_EXPLAINED, message).shown_by_object("the binding", found)
    })
}

pub fn names_reference(history: &History, live: &Live, binding: &str) -> Ruling {
    let (found, entry) = (existing_binding(live, binding)?, entry_of_target(history, live, binding)?);
    let Some(reference) = reference(history, found) else {
        return Err(Broken::NotReached(format!("{BINDING} {binding} has no topologyReference")));
    };
    let is_named = entry["message"].as_str().is_some_and(|message| message.contains(reference));
    ensure(is_named, || {
        violation(
            REFERENCE_NOT_NAMED,
            format!("the message of the status entry does not name {reference}: {entry}"),
        )
        .shown_by_object("the binding", found)
    })
}

fn existing_binding<'a>(live: &'a Live, binding: &str) -> Result<&'a Value, Broken> {
    live.get(BINDING, binding)
        .ok_or_else(|| Broken::NotReached(format!("{BINDING} {binding} does not exist")))
}

fn entry_of_target<'a>(history: &History, live: &'a Live, binding: &str) -> Result<&'a Value, Broken> {
    let (found, scheduler) = (existing_binding(live, binding)?, history.header.target.backend());
    entry(found, scheduler).ok_or_else(|| {
        let message = format!("the status of {BINDING} {binding} has no entry for {scheduler}");
        violation(SILENT_ABOUT_SCHEDULER, message).shown_by_object("the binding", found).into()
    })
}

fn reference<'a>(history: &History, binding: &'a Value) -> Option<&'a str> {
    let references = binding["spec"]["schedulerTopologyBindings"].as_array().into_iter().flatten();
    let mut references =
        references.filter(|reference| reference["schedulerName"] == history.header.target.backend());
    references.find_map(|reference| reference["topologyReference"].as_str())
}

/// Requires that no topology resource is created for a binding that refers to one (TOPO-17). The owner or the
/// name shows this. A third party creates the resource of the referenced name after the entry `until`.
pub fn never_created_for(history: &History, binding: &str, until: usize) -> Ruling {
    let kind = kind(history.header.target)?;
    let Some(referring) = history.named(BINDING, binding).next() else {
        return Err(Broken::NotReached(format!("{BINDING} {binding} never existed")));
    };
    let reference = reference(history, referring.object);
    let created = history.of(kind).filter(|version| version.change == Change::Added);
    let of_binding = created.filter(|version| {
        let has_owner = |owner: &Value| owner["kind"] == BINDING && owner["name"] == binding;
        let has_referenced_name = version.index < until && Some(version.name()) == reference;
        has_referenced_name || version.name() == binding || owners(version.object).iter().any(has_owner)
    });
    none(of_binding.map(|version| {
        violation(
            CREATED_WITHOUT_REQUEST,
            format!("{kind} {} was created for {BINDING} {binding}, want none", version.name()),
        )
        .shown_by("observed", version)
    }))
}

/// Requires that a resource of another owner is unchanged until the entry `until` (TOPO-17).
pub fn untouched(history: &History, uid: &str, until: usize) -> Ruling {
    let kind = kind(history.header.target)?;
    let mut versions = history.of(kind).filter(|version| version.uid() == uid && version.index < until);
    let Some(first) = versions.next() else {
        return Err(Broken::NotReached(format!("the {kind} of another owner never existed")));
    };
    let owned_fields = |version: &Version<'_>| {
        let metadata = &version.object["metadata"];
        (version.object["spec"].clone(), metadata["ownerReferences"].clone(), metadata["labels"].clone())
    };
    let touched = versions
        .filter(|version| version.change == Change::Deleted || owned_fields(version) != owned_fields(&first));
    none(touched.map(|version| {
        violation(
            FOREIGN_OBJECT_TOUCHED,
            format!("{kind} {} of another owner was changed or deleted", version.name()),
        )
        .shown_by("as created", first)
        .shown_by("changed", version)
    }))
}

pub fn outlived(history: &History, from: usize, to: usize) -> Ruling {
    let kind = kind(history.header.target)?;
    let (before, after) = (history.before(from), history.before(to));
    if before.of(kind).next().is_none() {
        return Err(Broken::NotReached(format!("no {kind} existed before the deletion")));
    }
    let uid = |object: &Value| object["metadata"]["uid"].clone();
    let still_exists = |object: &Value| after.of(kind).any(|later| uid(later) == uid(object));
    none(before.of(kind).filter(|object| !still_exists(object)).map(|object| {
        violation(
            DELETED_BEFORE_BINDING,
            format!("{kind} {} was deleted before its binding", object["metadata"]["name"]),
        )
        .shown_by_object("observed", object)
    }))
}

/// Requires that no topology resource exists at `until`, after the only binding was deleted (DEL-09).
pub fn deleted_with_binding(history: &History, until: usize) -> Ruling {
    let kind = kind(history.header.target)?;
    if history.of(kind).next().is_none() {
        return Err(Broken::NotReached(format!("no {kind} ever existed")));
    }
    let live = history.before(until);
    none(live.of(kind).map(|object| {
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
    use serde_json::json;

    use super::*;
    use crate::{codes, described as message};

    const NAME: &str = "rows";

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

    #[rstest::rstest]
    #[case::all_in_sync(binding(&[("kai-scheduler", true, "")], "False"), "satisfied")]
    #[case::another_scheduler_drifted(
        binding(&[("kai-scheduler", true, ""), ("volcano", false, "held")], "True"), "satisfied"
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
    fn a_status_that_does_not_report_in_sync_is_a_violation(#[case] binding: Value, #[case] wanted: &str) {
        let story = Story::on(Target::KAI).added(binding);
        let history = story.added(owned(topology(names::RACK), BINDING, NAME)).end();
        let ruling = message(match_binding(&history, &history.end(), NAME));
        assert!(ruling.starts_with(wanted), "{ruling}");
    }

    #[rstest::rstest]
    #[case::other_levels(
        owned(topology(names::HOST), BINDING, NAME),
        "levels is [\"kubernetes.io/hostname\"], want"
    )]
    #[case::of_another_name(
        owned(object("Topology", "columns"), BINDING, NAME),
        "Topology rows does not exist"
    )]
    fn a_topology_resource_that_differs_from_its_binding_is_a_violation(
        #[case] topology: Value,
        #[case] wanted: &str,
    ) {
        let story = Story::on(Target::KAI).added(binding(&[("kai-scheduler", true, "")], "False"));
        let history = story.added(topology).end();
        let ruling = message(match_binding(&history, &history.end(), NAME));
        assert!(ruling.starts_with(wanted), "{ruling}");
    }

    #[test]
    fn a_topology_resource_needs_no_owner_reference() {
        let binding = binding(&[("kai-scheduler", true, "")], "False");
        let history = Story::on(Target::KAI).added(binding).added(topology(names::RACK)).end();
        assert_eq!(match_binding(&history, &history.end(), NAME), Ok(()));
    }

    #[rstest::rstest]
    #[case::reported(binding(&[("kai-scheduler", false, "differs")], "True"), "satisfied")]
    #[case::not_found(binding(&[("kai-scheduler", false, "not found")], "Unknown"), "satisfied")]
    #[case::reported_as_in_sync(
        binding(&[("kai-scheduler", true, "")], "False"),
        "inSync is not false although the topology resource does not match its binding"
    )]
    #[case::without_a_reason(binding(&[("kai-scheduler", false, "")], "True"), "satisfied")]
    #[case::condition(
        binding(&[("kai-scheduler", false, "differs")], "False"),
        "the drift condition is False"
    )]
    fn a_status_that_does_not_report_drift_is_a_violation(#[case] binding: Value, #[case] wanted: &str) {
        let history = Story::on(Target::KAI).added(binding).end();
        let ruling = message(reports_out_of_sync(&history, &history.end(), NAME));
        assert!(ruling.starts_with(wanted), "{ruling}");
    }

    #[test]
    fn an_entry_that_is_out_of_sync_without_a_message_is_a_violation() {
        let ruling = |in_sync: bool, message: &str| {
            let drift = if in_sync { "False" } else { "True" };
            let found = binding(&[("kai-scheduler", in_sync, message)], drift);
            let history = Story::on(Target::KAI).added(found).end();
            explains_drift(&history, &history.end(), NAME)
        };
        assert_eq!(ruling(false, "the levels differ"), Ok(()));
        assert_eq!(codes(ruling(false, "")), ["drift-not-explained"]);
        let in_sync = ruling(true, "");
        assert!(matches!(in_sync, Err(Broken::Precondition { clause: "TOPO-15", .. })), "{in_sync:?}");
    }

    #[rstest::rstest]
    #[case::named("Topology \"site\" not found", "satisfied")]
    #[case::unnamed("not found", "the message of the status entry does not name site")]
    fn a_message_that_does_not_name_the_reference_is_a_violation(
        #[case] reported: &str,
        #[case] wanted: &str,
    ) {
        let entries = [("volcano", false, "site"), ("kai-scheduler", false, reported)];
        let mut found = binding(&entries, "Unknown");
        found["spec"]["schedulerTopologyBindings"] = json!([
            {"schedulerName": "volcano", "topologyReference": "root"},
            {"schedulerName": "kai-scheduler", "topologyReference": "site"},
        ]);
        let history = Story::on(Target::KAI).added(found).end();
        let ruling = message(names_reference(&history, &history.end(), NAME));
        assert!(ruling.starts_with(wanted), "{ruling}");
    }

    #[test]
    fn a_changed_topology_resource_of_another_owner_is_a_violation() {
        let uid = "uid-of-Topology-rows";
        let story = || Story::on(Target::KAI).added(binding(&[], "True")).added(topology(names::HOST));
        let mut seen = topology(names::HOST);
        seen["status"] = json!({"seen": true});
        let kept = story().modified(seen).end();
        assert_eq!(message(untouched(&kept, uid, 9)), "satisfied");
        for touched in [
            story().modified(topology(names::RACK)).end(),
            story().modified(owned(topology(names::HOST), BINDING, NAME)).end(),
            story().deleted(topology(names::HOST)).end(),
        ] {
            assert_eq!(
                message(untouched(&touched, uid, 9)),
                "Topology rows of another owner was changed or deleted"
            );
            assert_eq!(message(untouched(&touched, uid, 2)), "satisfied", "it was changed later");
        }
    }

    #[rstest::rstest]
    #[case::owned_by_the_binding(owned(object("Topology", "x"), BINDING, NAME), Some("x"))]
    #[case::with_the_name_of_the_binding(object("Topology", NAME), Some(NAME))]
    #[case::with_the_referenced_name(object("Topology", "site"), Some("site"))]
    #[case::of_another_binding(owned(object("Topology", "others"), BINDING, "others"), None)]
    fn a_topology_resource_for_a_binding_with_a_reference_is_a_violation(
        #[case] topology: Value,
        #[case] created: Option<&str>,
    ) {
        let mut referring = binding(&[], "Unknown");
        referring["spec"]["schedulerTopologyBindings"] =
            json!([{"schedulerName": "kai-scheduler", "topologyReference": "site"}]);
        let history = Story::on(Target::KAI).added(referring).added(topology).end();
        let wanted = created.map_or_else(
            || "satisfied".to_owned(),
            |name| format!("Topology {name} was created for ClusterTopologyBinding rows, want none"),
        );
        assert_eq!(message(never_created_for(&history, NAME, 2)), wanted);
        if created == Some("site") {
            assert_eq!(
                message(never_created_for(&history, NAME, 1)),
                "satisfied",
                "a third party created it"
            );
        }
        assert_eq!(
            message(never_created_for(&history, "absent", 2)),
            "not reached: ClusterTopologyBinding absent never existed"
        );
    }

    #[test]
    fn a_topology_resource_must_be_deleted_after_its_binding() {
        let of_binding = || owned(topology(names::RACK), BINDING, NAME);
        let story = || Story::on(Target::KAI).added(binding(&[], "False")).added(of_binding());
        let deleted = story().deleted(of_binding()).end();
        assert_eq!(message(outlived(&deleted, 2, 2)), "satisfied");
        assert_eq!(message(outlived(&deleted, 2, 3)), "Topology \"rows\" was deleted before its binding");
        assert_eq!(message(outlived(&deleted, 1, 3)), "not reached: no Topology existed before the deletion");
        assert_eq!(message(deleted_with_binding(&deleted, 3)), "satisfied");
        assert_eq!(
            message(deleted_with_binding(&deleted, 2)),
            "Topology \"rows\" still exists after its binding was deleted"
        );
        let unowned = Story::on(Target::KAI).added(topology(names::RACK)).end();
        assert_eq!(codes(deleted_with_binding(&unowned, 1)), ["outlived-binding"]);
        let without = Story::on(Target::KAI).added(binding(&[], "False")).end();
        assert_eq!(message(deleted_with_binding(&without, 1)), "not reached: no Topology ever existed");
    }
}
