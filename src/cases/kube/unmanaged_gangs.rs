use crate::prelude::*;

const CREATED_UNASKED: Code = Code::new("created-without-request");
const NOT_LEFT_ALONE: Code = Code::new("not-left-alone");
const NOT_LABELLED_EXTERNAL: Code = Code::new("not-labelled-external");

/// No gang resource except these PodGroups may be created. `NotReached` if no PodGang was created.
pub(crate) fn no_gang_resources(history: &History, except: &[&str]) -> Ruling {
    if history.of("PodGang").next().is_none() {
        return Err(Broken::NotReached("no PodGang was created".into()));
    }
    let found = schedulers::kinds().into_iter().flat_map(|(kind, _)| {
        let foreign = move |name: &&str| !(kind == "PodGroup" && except.contains(name));
        history.names(kind).into_iter().filter(foreign).map(move |name| (kind, name))
    });
    none(found.map(|(kind, name)| {
        violation(CREATED_UNASKED, format!("{kind} {name} was created, want no gang resources"))
    }))
}

/// Every pod must name this PodGroup; `None` means no scheduling group. `NotReached` if no pod was created.
pub(crate) fn pods_are_in(history: &History, group: Option<&str>) -> Ruling {
    if history.pods().next().is_none() {
        return Err(Broken::NotReached("no pod was created".into()));
    }
    let scheduler = Scheduler::KUBE.name();
    let wanted = group.map_or(Value::Null, |group| json!({"podGroupName": group}));
    none(history.pods().filter_map(|version| {
        let spec = &version.object["spec"];
        let wrong = [("schedulingGroup", &wanted), ("schedulerName", &scheduler.into())]
            .into_iter()
            .find(|(field, wanted)| spec[*field] != **wanted)
            .map(|(field, wanted)| {
                format!("Pod {}: {field} is {}, want {wanted}", version.name(), spec[field])
            });
        Some(violation(NOT_LEFT_ALONE, wrong?).shown_by("pod", version))
    }))
}

/// Every PodGang must have the label of external workloads. `NotReached` if no PodGang exists at the end.
pub(crate) fn marked_external(history: &History) -> Ruling {
    let end = history.end();
    let mut pod_gangs = end.of("PodGang").peekable();
    if pod_gangs.peek().is_none() {
        return Err(Broken::NotReached("no PodGang exists".into()));
    }
    pod_gangs.try_for_each(|gang| {
        ensure(gang["metadata"]["labels"][names::EXTERNAL_WORKLOAD] == "true", || {
            violation(
                NOT_LABELLED_EXTERNAL,
                format!("PodGang: label {}=true is missing", names::EXTERNAL_WORKLOAD),
            )
            .shown_by_object("at the end", gang)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(group: Value, scheduler: &str) -> Value {
        let mut pod = object("Pod", "pod");
        pod["spec"] = json!({"schedulerName": scheduler});
        if !group.is_null() {
            pod["spec"]["schedulingGroup"] = json!({"podGroupName": group});
        }
        pod
    }

    #[rstest]
    #[case::in_none(Value::Null, "default-scheduler", None, true)]
    #[case::in_the_users(json!("mine"), "default-scheduler", Some("mine"), true)]
    #[case::in_one_too_many(json!("made"), "default-scheduler", None, false)]
    #[case::in_another(json!("made"), "default-scheduler", Some("mine"), false)]
    #[case::group_removed(Value::Null, "default-scheduler", Some("mine"), false)]
    #[case::with_another_scheduler(Value::Null, "kai-scheduler", None, false)]
    fn pods(
        #[case] group: Value,
        #[case] scheduler: &str,
        #[case] wanted: Option<&str>,
        #[case] passes: bool,
    ) {
        let ruling = pods_are_in(&Story::flat().added(pod(group, scheduler)).end(), wanted);
        assert_eq!(ruling.is_ok(), passes, "{ruling:?}");
        assert!(matches!(pods_are_in(&Story::flat().end(), wanted), Err(Broken::NotReached(_))));
    }

    #[test]
    fn any_other_gang_resource_is_a_violation() {
        let quiet = || Story::flat().added(object("PodGang", "set-0")).added(object("PodGroup", "mine"));
        let broken =
            |story: Story| matches!(no_gang_resources(&story.end(), &["mine"]), Err(Broken::Violated(_)));
        assert_eq!(no_gang_resources(&quiet().end(), &["mine"]), Ok(()));
        assert!(broken(quiet().added(object("PodGroup", "set-0")).deleted(object("PodGroup", "set-0"))));
        assert!(broken(quiet().added(object("Workload", "mine"))));
        assert!(matches!(no_gang_resources(&Story::flat().end(), &[]), Err(Broken::NotReached(_))));
    }

    #[test]
    fn a_missing_external_label_is_a_violation() {
        let plain = object("PodGang", "set-0");
        let mut marked = plain.clone();
        marked["metadata"]["labels"][names::EXTERNAL_WORKLOAD] = "true".into();
        let story = Story::flat().added(plain.clone());
        assert!(matches!(marked_external(&story.end()), Err(Broken::Violated(_))));
        assert_eq!(marked_external(&Story::flat().added(plain).modified(marked).end()), Ok(()));
        assert!(matches!(marked_external(&Story::flat().end()), Err(Broken::NotReached(_))));
    }
}
