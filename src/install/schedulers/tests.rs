//! The complete configuration, argv and objects of every scheduler, except kube-scheduler. The tests of the
//! local control plane have those of kube-scheduler.

use std::collections::BTreeSet;
use std::path::Path;

use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::{TARGETS, TRAIN_JOB_TARGETS};
use conformance_programs::components::Purpose;
use rstest::rstest;
use serde_json::Value;

use super::install::{ModuleCrds, ProgramSource};
use super::*;
use crate::catalogue::catalogue;
use crate::cluster_spec::ClusterSpec;

fn home(program: &str) -> ProcessHome {
    ProcessHome {
        kubeconfig: format!("DIR/pki/{program}.kubeconfig").into(),
        folder: format!("DIR/{program}").into(),
        health: 1001,
        other: 1002,
    }
}

#[test]
fn volcano() {
    let home = home("vc-scheduler");
    insta::assert_yaml_snapshot!((
        volcano::args(&home, Path::new("DIR/vc-scheduler/scheduler.conf")),
        volcano::environment(&home),
        volcano::configuration(&[]),
        (volcano::INSTALL.objects)(),
    ));
}

#[test]
fn koord_scheduler() {
    let home = home("koord-scheduler");
    insta::assert_yaml_snapshot!((
        koord_scheduler::args(&home, Path::new("DIR/koord-scheduler/scheduler.yaml")),
        koord_scheduler::configuration(&home.kubeconfig, &[]),
        (koord_scheduler::INSTALL.objects)(),
    ));
}

#[test]
fn scheduler_plugins() {
    let home = home("scheduler-plugins-scheduler");
    insta::assert_yaml_snapshot!((
        scheduler_plugins::args(Path::new("DIR/scheduler-plugins-scheduler/scheduler.yaml")),
        scheduler_plugins::configuration(&home.kubeconfig, &[]),
    ));
    let without = scheduler_plugins::configuration(&home.kubeconfig, &[scheduler_plugins::COSCHEDULING]);
    assert!(!without.to_string().contains(scheduler_plugins::COSCHEDULING), "{without}");
}

#[test]
fn kai() {
    let home = home("kai-scheduler");
    insta::assert_yaml_snapshot!((
        kai::scheduler_args(&home, Path::new("DIR/kai-scheduler/scheduler.yaml")),
        kai::binder_args(&home),
        kai::pod_grouper_args(&home),
        kai::environment(&home),
        kai::configuration(false),
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
async fn kai_has_crds_even_if_it_is_not_given() {
    let crds = installation(kai::SCHEDULER).crds(None).await.expect("the built-in CRDs");
    let names: Vec<_> = crds.iter().map(|crd| &crd["metadata"]["name"]).collect();
    assert_eq!(names.len(), 4, "{names:?}");
}

#[test]
fn a_scheduler_may_not_write_to_groups_of_other_schedulers() {
    for scheduler in all().filter(|scheduler| *scheduler != Scheduler::KUBE) {
        assert_writes_only_its_own(scheduler);
    }
}

fn assert_writes_only_its_own(scheduler: Scheduler) {
    let roles = installation(scheduler).roles();
    let (bindings, roles): (Vec<_>, Vec<_>) =
        roles.iter().partition(|object| object["kind"] == "ClusterRoleBinding");
    for (process, binding) in installation(scheduler).processes.iter().zip(bindings) {
        assert_eq!(binding["subjects"][0]["name"], process.user);
    }
    assert_eq!(roles.len(), installation(scheduler).processes.len());
    let rules = roles.iter().flat_map(|role| role["rules"].as_array().expect("rules"));
    let writes = rules.filter(|rule| rule["verbs"][0] != "get");
    let groups: Vec<_> = writes.flat_map(|rule| rule["apiGroups"].as_array().expect("groups")).collect();
    assert!(groups.iter().all(|group| *group != "*" && *group != "grove.io"), "{groups:?}");
    for other in all().filter(|other| *other != scheduler) {
        let of_other = (installation(other).objects)();
        let group = |object: &Value| {
            object["apiVersion"].as_str().and_then(|v| v.split('/').next()).map(str::to_owned)
        };
        assert!(
            of_other.iter().filter_map(group).all(|group| groups.iter().all(|own| **own != *group)),
            "{other:?}"
        );
    }
}

/// A scheduler waits for the informers of its CRDs. Without the right to list, they never sync.
#[rstest]
#[case(volcano::SCHEDULER, &volcano::CRDS)]
#[case(koord_scheduler::SCHEDULER, &koord_scheduler::CRDS)]
#[case(scheduler_plugins::SCHEDULER, &scheduler_plugins::CRDS)]
fn a_scheduler_may_read_the_kinds_of_its_crds(#[case] scheduler: Scheduler, #[case] crds: &ModuleCrds) {
    for file in crds.files {
        let (group, resource) = file.trim_end_matches(".yaml").split_once('_').expect("group_resource.yaml");
        assert!(may_read(installation(scheduler).processes, group, resource), "{group} {resource}");
    }
}

#[test]
fn kais_scheduler_may_read_the_kinds_of_its_crds() {
    let kai = installation(kai::SCHEDULER);
    for crd in kai.own_crds().expect("KAI's own") {
        let (group, resource) = (&crd["spec"]["group"], &crd["spec"]["names"]["plural"]);
        let (group, resource) = (group.as_str().expect("a group"), resource.as_str().expect("a name"));
        assert!(may_read(&kai.processes[..1], group, resource), "{group} {resource}");
    }
}

fn may_read(processes: &[SchedulerProcess], group: &str, resource: &str) -> bool {
    let mut rights = processes.iter().flat_map(|process| process.rights).copied().flatten();
    rights.any(|right| right.reads(group, resource))
}

#[test]
fn only_a_local_kai_may_delete_pods() {
    let deletes = |right: &rbac::Right| right.resources.contains(&"pods") && right.verbs.contains(&"delete");
    let scheduler = &installation(kai::SCHEDULER).processes[0];
    assert!(scheduler.local_rights.iter().any(deletes));
    for process in installation(kai::SCHEDULER).processes {
        assert!(!process.rights.iter().copied().flatten().any(deletes), "{}", process.name);
    }
}

#[test]
fn no_two_schedulers_have_the_same_name_or_user() {
    let names: BTreeSet<_> = all().collect();
    assert_eq!(names.len(), ALL.len());
    assert_eq!(all().next(), Some(Scheduler::KUBE), "the first is the scheduler that every cluster has");
    // COEX-01 identifies the scheduler that bound a pod by its user in the audit log.
    let mut users = BTreeSet::new();
    for install in ALL {
        let own: BTreeSet<_> = install.processes.iter().map(|process| process.user).collect();
        assert!(
            own.contains(install.user),
            "{:?}: none of its processes has the user that binds its pods",
            install.user
        );
        for process in install.processes {
            let has_rights = !process.rights.is_empty() || install.scheduler == Scheduler::KUBE;
            assert!(has_rights, "{} has no rights", process.user);
        }
        for user in &own {
            assert!(users.insert(*user), "{user} is the user of two schedulers");
        }
    }
}

#[test]
fn the_programs_of_a_scheduler_match_its_processes() {
    let known: Vec<_> =
        Kubernetes::ALL.into_iter().flat_map(catalogue).map(|one| (one.name, one.purpose)).collect();
    for install in ALL {
        assert!(!install.processes.is_empty(), "{:?}", install.scheduler);
        for process in install.processes {
            let is_component = known.contains(&(process.name, Purpose::Scheduler(install.scheduler)));
            let given = matches!(install.programs, ProgramSource::Given(_));
            assert_ne!(is_component, given, "{}", process.name);
        }
        for component in install.components() {
            assert!(
                install.processes.iter().any(|process| process.name == component.name),
                "{}",
                component.name
            );
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../components/");
            let go_mod = format!("{folder}{}/go.mod", component.module.name);
            assert!(Path::new(&go_mod).is_file(), "{go_mod}");
        }
        // Each process becomes a Deployment, or none does.
        let deployable = install.processes.iter().filter(|process| process.deployment.is_some());
        let names: Vec<_> = deployable.map(|process| install.name_of(process)).collect();
        if !names.is_empty() {
            assert_eq!((names.len(), &*names), (install.processes.len(), install.deployed.deployments));
        }
    }
}

#[test]
fn every_target_has_a_scheduler_with_a_description() {
    for target in TARGETS.into_iter().chain(TRAIN_JOB_TARGETS) {
        assert!(all().any(|scheduler| scheduler == target.scheduler()), "{target}");
    }
}

#[test]
fn without_given_programs_only_kai_is_missing() {
    let (install, spec) = (installation(kai::SCHEDULER), ClusterSpec::with([kai::SCHEDULER]));
    assert_eq!(install.given(&spec).count(), 0);
    for reason in [install.missing(&spec), install.missing_in_kind(&spec)] {
        assert!(reason.unwrap().starts_with("KAI binaries not found (--kai-dir or --kai-source)"));
    }
    for other in ALL.iter().filter(|other| other.scheduler != kai::SCHEDULER) {
        let is_in_kind = other.is_deployable() || other.scheduler == Scheduler::KUBE;
        assert_eq!((other.missing(&spec), other.missing_in_kind(&spec).is_none()), (None, is_in_kind));
    }
}
