//! The complete configuration, argv and objects of a scheduler are tested in its own file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target;
use conformance_programs::components::Purpose;
use serde_json::{Value, json};

use super::install::{Crds, ProgramSource};
use super::*;
use crate::catalogue::catalogue;
use crate::cluster_spec::ClusterSpec;

pub(super) fn home(program: &str) -> ProcessHome {
    ProcessHome {
        kubeconfig: format!("DIR/pki/{program}.kubeconfig").into(),
        folder: format!("DIR/{program}").into(),
        health: 1001,
        other: 1002,
    }
}

#[tokio::test]
async fn kai_has_crds_even_if_it_is_not_given() {
    let crds = installation(kai::SCHEDULER).crds(None).await.expect("the built-in CRDs");
    let names: Vec<_> = crds.iter().map(|crd| &crd["metadata"]["name"]).collect();
    assert_eq!(names.len(), 4, "{names:?}");
}

#[test]
fn the_module_of_a_scheduler_is_not_read_if_it_is_given_with_crds() {
    let read = |crds: Vec<Value>| {
        let given = GivenScheduler { programs: Vec::new(), crds, unknown_flags: BTreeMap::new() };
        let mut spec = ClusterSpec::with([volcano::SCHEDULER]);
        spec.given.insert(volcano::SCHEDULER, Arc::new(given));
        spec.module_files().len()
    };
    assert_eq!(read(Vec::new()), 1, "the CRDs of the pinned version");
    assert_eq!(read(vec![json!({"kind": "CustomResourceDefinition"})]), 0);
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

#[test]
fn a_scheduler_may_read_the_kinds_of_its_crds() {
    for install in ALL {
        let kinds: Vec<(String, String)> = match &install.crds {
            Crds::None => Vec::new(),
            Crds::Module(crds) => {
                let names = crds.files.iter().map(|file| file.trim_end_matches(".yaml").split_once('_'));
                let kind = |name: Option<(&str, &str)>| {
                    let (group, resource) = name.expect("group_resource.yaml");
                    (group.to_owned(), resource.to_owned())
                };
                names.map(kind).collect()
            }
            Crds::Written(_) => {
                let kind = |crd: &Value| {
                    let (group, resource) = (&crd["spec"]["group"], &crd["spec"]["names"]["plural"]);
                    let word = |value: &Value| value.as_str().expect("a name").to_owned();
                    (word(group), word(resource))
                };
                install.own_crds().expect("its own CRDs").iter().map(kind).collect()
            }
        };
        // The first process is the scheduler itself, which reads the CRDs that were written for this suite.
        let readers = match &install.crds {
            Crds::Written(_) => &install.processes[..1],
            Crds::None | Crds::Module(_) => install.processes,
        };
        for (group, resource) in kinds {
            assert!(may_read(readers, &group, &resource), "{:?}: {group} {resource}", install.scheduler);
        }
    }
}

fn may_read(processes: &[SchedulerProcess], group: &str, resource: &str) -> bool {
    let mut rights = processes.iter().flat_map(|process| process.rights).copied().flatten();
    rights.any(|right| right.reads(group, resource))
}

#[test]
fn only_local_schedulers_may_delete_pods() {
    let deletes = |right: &rbac::Right| right.resources.contains(&"pods") && right.verbs.contains(&"delete");
    for scheduler in [kai::SCHEDULER, volcano::SCHEDULER] {
        let processes = installation(scheduler).processes;
        assert!(processes[0].local_rights.iter().any(deletes), "{scheduler:?}");
        for process in processes {
            assert!(!process.rights.iter().copied().flatten().any(deletes), "{}", process.name);
        }
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
        let is_bound_by_kube = install.scheduler == Scheduler::KUEUE && install.user == kube_scheduler::USER;
        assert!(
            own.contains(install.user) || is_bound_by_kube,
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
    for target in target::every() {
        assert!(all().any(|scheduler| scheduler == target.scheduler()), "{target}");
    }
}

#[test]
fn only_schedulers_whose_programs_the_user_gives_are_missing_without_them() {
    for install in ALL {
        let spec = ClusterSpec::with([install.scheduler]);
        assert_eq!(install.given(&spec).count(), 0);
        let (missing, missing_in_kind) = (install.missing(&spec), install.missing_in_kind(&spec));
        if let ProgramSource::Given(given) = &install.programs {
            assert_eq!((missing, missing_in_kind), (Some(given.missing), Some(given.missing_in_kind)));
        } else {
            let is_in_kind = install.is_deployable() || install.scheduler == Scheduler::KUBE;
            assert_eq!((missing, missing_in_kind.is_none()), (None, is_in_kind));
        }
    }
    let kai = installation(kai::SCHEDULER).missing(&ClusterSpec::with([kai::SCHEDULER]));
    assert!(kai.unwrap().starts_with("KAI binaries not found (--component kai-scheduler=DIR"));
}
