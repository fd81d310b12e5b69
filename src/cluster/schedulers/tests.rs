//! Complete configuration, argv and objects of every scheduler; kube-scheduler's are with the control plane's.

use super::installation;
use std::path::Path;

use rstest::rstest;

use super::*;

fn place(program: &str) -> Place {
    Place {
        kubeconfig: format!("DIR/pki/{program}.kubeconfig").into(),
        folder: format!("DIR/{program}").into(),
        health: 1001,
        other: 1002,
    }
}

#[test]
fn volcano() {
    let place = place("vc-scheduler");
    insta::assert_yaml_snapshot!((
        volcano::args(&place, Path::new("DIR/vc-scheduler/scheduler.conf")),
        volcano::environment(&place),
        volcano::configuration(&[]),
        (volcano::INSTALL.objects)(),
    ));
}

#[test]
fn koord_scheduler() {
    let place = place("koord-scheduler");
    insta::assert_yaml_snapshot!((
        koord_scheduler::args(&place, Path::new("DIR/koord-scheduler/scheduler.yaml")),
        koord_scheduler::configuration(&place.kubeconfig, &[]),
        (koord_scheduler::INSTALL.objects)(),
    ));
}

#[test]
fn kai() {
    let place = place("kai-scheduler");
    insta::assert_yaml_snapshot!((
        kai::scheduler_args(&place, Path::new("DIR/kai-scheduler/scheduler.yaml")),
        kai::binder_args(&place),
        kai::pod_grouper_args(&place),
        kai::environment(&place),
        kai::configuration(),
        (kai::INSTALL.objects)(),
    ));
}

#[rstest]
#[case(volcano::GANG)]
#[case(volcano::NETWORK_TOPOLOGY)]
fn volcano_without_a_plugin(#[case] off: &str) {
    let all = volcano::configuration(&[]).to_string();
    let without = volcano::configuration(&[off]).to_string();
    assert!(all.contains(off) && !without.contains(off), "{without}");
    assert!(without.contains("predicates"), "{without}");
}

#[test]
fn koordinator_without_gangs_or_topology() {
    let without = |off| koord_scheduler::configuration(Path::new("K"), &[off]);
    let no_gangs = without(koord_scheduler::COSCHEDULING).to_string();
    assert!(!no_gangs.contains("Coscheduling") && no_gangs.contains("DefaultPreBind"), "{no_gangs}");
    let no_topology = without(koord_scheduler::NETWORK_TOPOLOGY);
    let arguments = &no_topology["profiles"][0]["pluginConfig"][0]["args"];
    assert_eq!(arguments["awareNetworkTopology"], false, "{arguments}");
}

#[tokio::test]
async fn kai_has_an_api_without_its_folder() {
    let crds = installation(Scheduler::Kai).crds(None).await.expect("the built-in CRDs");
    let names: Vec<_> = crds.iter().map(|crd| &crd["metadata"]["name"]).collect();
    assert_eq!(names.len(), 4, "{names:?}");
}

#[rstest]
fn a_scheduler_writes_its_own_groups_and_pods_only(
    #[values(Scheduler::Volcano, Scheduler::Koordinator, Scheduler::Kai)] scheduler: Scheduler,
) {
    let roles = installation(scheduler).roles();
    let [role, binding] = &roles[..] else { panic!("{roles:?}") };
    assert_eq!(role["kind"], "ClusterRole");
    assert!(binding["subjects"].to_string().contains(installation(scheduler).user), "{binding}");
    let writes = role["rules"].as_array().into_iter().flatten().filter(|rule| rule["verbs"][0] != "get");
    let groups: Vec<_> = writes.flat_map(|rule| rule["apiGroups"].as_array().expect("groups")).collect();
    assert!(groups.iter().all(|group| *group != "*" && *group != "grove.io"), "{groups:?}");
    for other in Scheduler::ALL.into_iter().filter(|other| *other != scheduler) {
        let theirs = (installation(other).objects)();
        let group = |object: &Value| {
            object["apiVersion"].as_str().and_then(|v| v.split('/').next()).map(str::to_owned)
        };
        assert!(
            theirs.iter().filter_map(group).all(|group| groups.iter().all(|own| **own != *group)),
            "{other:?}"
        );
    }
}

/// An informer that may not list never syncs. The CRDs are those whose informers a scheduler waits for.
#[rstest]
#[case(Scheduler::Volcano, &volcano::CRDS)]
#[case(Scheduler::Koordinator, &koord_scheduler::CRDS)]
fn a_scheduler_reads_the_kinds_that_it_waits_for(#[case] scheduler: Scheduler, #[case] crds: &ModuleCrds) {
    for file in crds.files {
        let (group, resource) = file.trim_end_matches(".yaml").split_once('_').expect("group_resource.yaml");
        let mut rights = installation(scheduler).rights.iter().copied().flatten();
        assert!(rights.any(|right| right.reads(group, resource)), "{group} {resource}");
    }
}

#[test]
fn schedulers_are_told_apart_by_name_and_user() {
    use std::collections::BTreeSet;
    let names: BTreeSet<_> = Scheduler::ALL.map(Scheduler::name).into();
    let users: BTreeSet<_> = Scheduler::ALL.map(|scheduler| installation(scheduler).user).into();
    assert_eq!((names.len(), users.len()), (4, 4));
}
