use k8s_openapi::api::core::v1::PodSpec;

use super::*;

const CASE: &str = "gang/shape";

fn manifest() -> Value {
    let clique = |name: &str| {
        let container = json!({"name": "worker", "image": IMAGE});
        json!({"name": name, "spec": {"replicas": 1, "podSpec": {"containers": [container]}}})
    };
    json!({"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {"name": "w"},
        "spec": {"replicas": 1, "template": {"cliques": [clique("a"), clique("b")]}}})
}

fn enriched(case: &str, features: &[Enrichment], on_kubelets: bool) -> Value {
    let mut pcs = manifest();
    enrich_with(&mut pcs, case, on_kubelets, |_| features.to_vec());
    pcs
}

fn pod(pcs: &Value, clique: usize) -> &Value {
    &pcs["spec"]["template"]["cliques"][clique]["spec"]["podSpec"]
}

#[test]
fn a_case_submits_the_same_manifest_in_each_run() {
    let all = Enrichment::ALL;
    assert_eq!(enriched(CASE, &all, false), enriched(CASE, &all, false));
    assert_eq!(
        seed(&["a", "b"]),
        0x8197_7b96,
        "a manifest also stays the same in later versions of the suite"
    );
    assert_ne!(seed(&["a", "b"]), seed(&["ab", ""]));
}

#[test]
fn two_cliques_and_two_cases_have_different_values() {
    let [this, other] = [CASE, "aon/pod-lost"].map(|case| enriched(case, &Enrichment::ALL, false));
    let cliques = &this["spec"]["template"]["cliques"];
    assert_ne!(cliques[0]["labels"], cliques[1]["labels"]);
    assert_ne!(cliques[0]["annotations"], cliques[1]["annotations"]);
    assert_ne!(pod(&this, 0)["containers"][1], pod(&this, 1)["containers"][1]);
    assert_ne!(pod(&this, 0)["containers"][1], pod(&other, 0)["containers"][1]);
    assert_ne!(this["metadata"]["labels"], other["metadata"]["labels"]);
}

/// A path that exists only with this feature.
fn path_of(enrichment: Enrichment) -> &'static str {
    match enrichment {
        Enrichment::Container => "/spec/podSpec/containers/1/env/2",
        Enrichment::Probe => "/spec/podSpec/containers/1/livenessProbe/tcpSocket",
        Enrichment::InitContainers => "/spec/podSpec/initContainers/0/restartPolicy",
        Enrichment::Volumes => "/spec/podSpec/volumes/2/configMap/optional",
        Enrichment::Labels => "/labels/example.com~1seed",
        Enrichment::Annotations => "/annotations/example.com~1seed",
        Enrichment::Tolerations => "/spec/podSpec/tolerations/1/tolerationSeconds",
        Enrichment::NodeAffinity => "/spec/podSpec/affinity/nodeAffinity",
        Enrichment::SecurityContext => "/spec/podSpec/securityContext/supplementalGroups/1",
        Enrichment::HostAliases => "/spec/podSpec/hostAliases/0/hostnames/1",
        Enrichment::DnsConfig => "/spec/podSpec/dnsConfig/options/1",
    }
}

#[test]
fn each_feature_is_present_unless_it_is_left_out() {
    let nothing: &[(Enrichment, &str)] = &[];
    for enrichment in Enrichment::ALL {
        let one = [(enrichment, "a reason")];
        for (left_out, is_present) in [(nothing, true), (one.as_slice(), false)] {
            let mut pcs = manifest();
            enrich(&mut pcs, WITH_ALL, left_out, true);
            for clique in pcs["spec"]["template"]["cliques"].as_array().unwrap() {
                let found = clique.pointer(path_of(enrichment));
                assert_eq!(found.is_some(), is_present, "{enrichment:?}: {clique}");
            }
            if enrichment == Enrichment::Labels {
                assert_eq!(pcs["metadata"]["labels"].is_object(), is_present);
            }
        }
    }
}

fn clique(name: &str, replicas: usize) -> Value {
    json!({"name": name, "spec": {"replicas": replicas}})
}

#[test]
fn each_clique_has_one_small_feature_and_few_have_large_ones() {
    let mut large = 0;
    for number in 0..300 {
        let clique = clique(&format!("c{number}"), 1);
        let features = selected(CASE, &clique, &[]);
        assert_eq!(features.iter().filter(|feature| SMALL.contains(feature)).count(), 1, "{features:?}");
        large += usize::from(features.len() > 1);
        let without = SMALL.map(|feature| (feature, "a reason"));
        assert!(selected(CASE, &clique, &without).iter().all(|feature| !SMALL.contains(feature)));
        assert!(selected(CASE, &clique, &without[1..]).contains(&Enrichment::Labels));
    }
    assert!((25..=55).contains(&large), "{large}");
}

#[test]
fn a_clique_with_many_replicas_has_no_large_feature() {
    let mut names = (0..).map(|number| format!("c{number}"));
    let name = names.find(|name| selected(CASE, &clique(name, 3), &[]).len() > 1).unwrap();
    assert_eq!(selected(CASE, &clique(&name, 4), &[]).len(), 1);
}

#[test]
fn the_second_container_has_the_revision_of_the_first() {
    for (env, wanted) in [(json!([{"name": REVISION, "value": "7"}]), Some("7")), (json!([]), None)] {
        let mut pod = json!({"containers": [{"name": "worker", "env": env}]});
        add_pod_fields(&mut pod, 1, &[Enrichment::Container], true);
        let variables = pod["containers"][1]["env"].as_array().unwrap();
        let found = variables.iter().find(|variable| variable["name"] == REVISION);
        assert_eq!(found.and_then(|found| found["value"].as_str()), wanted);
    }
}

#[test]
fn the_fields_of_the_manifest_stay() {
    let mut given = manifest();
    let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "own", "operator": "Exists"}]}]}}});
    let own = &mut given["spec"]["template"]["cliques"][0];
    own["labels"] = json!({"own": "label"});
    own["spec"]["podSpec"]["affinity"] = affinity.clone();
    own["spec"]["podSpec"]["tolerations"] = json!([{"key": "own", "operator": "Exists"}]);
    enrich(&mut given, WITH_ALL, &[], false);
    let pod = pod(&given, 0);
    assert_eq!(pod["containers"][0], json!({"name": "worker", "image": IMAGE}));
    assert_eq!((&pod["affinity"], &pod["tolerations"][0]["key"]), (&affinity, &json!("own")));
    assert_eq!(given["spec"]["template"]["cliques"][0]["labels"]["own"], "label");
}

#[rstest::rstest]
#[case::kubelets(true, &["enriched-sidecar"])]
#[case::simulated(false, &["enriched-first", "enriched-sidecar"])]
fn init_containers_end_only_on_simulated_nodes(#[case] on_kubelets: bool, #[case] wanted: &[&str]) {
    let mut found: Vec<String> =
        (0..20).map(|seed| init_container(seed, on_kubelets)["name"].as_str().unwrap().to_owned()).collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, wanted);
}

/// The API server would drop a field that it does not know, without an error.
#[rstest::rstest]
#[case::kubelets(true)]
#[case::simulated(false)]
fn the_pod_template_has_only_fields_of_the_api(#[case] on_kubelets: bool) {
    for case in ["a/b", "a/c", "a/d"] {
        let pcs = enriched(case, &Enrichment::ALL, on_kubelets);
        let given = pod(&pcs, 0);
        let typed: PodSpec = serde_json::from_value(given.clone()).unwrap();
        assert_eq!(serde_json::to_value(typed).unwrap(), *given);
    }
}

#[test]
fn other_kinds_stay_as_they_are() {
    let mut gang = json!({"kind": "PodGang", "metadata": {"name": "g"}, "spec": {"podgroups": []}});
    let given = gang.clone();
    enrich(&mut gang, WITH_ALL, &[], false);
    assert_eq!(gang, given);
}
