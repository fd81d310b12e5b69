use std::collections::{BTreeMap, BTreeSet};

use conformance_expect::scopes::{Clique, ScalingGroup, Scope, SetReplica};
use conformance_facts::generations::{GangTermination, terminations};
use conformance_history::{Change, History, Version, controller};

use super::census::Census;

#[derive(Debug, Clone, Copy)]
pub struct Breach<'a> {
    pub since: Version<'a>,
    /// The first event after the breach, or the first deletion of a termination.
    pub until: Option<Version<'a>>,
}

/// The breaches for which the operator must terminate a PodCliqueSet replica, or a scaling-group replica.
#[derive(Debug, Default)]
pub struct Breaches<'a> {
    by_scope: BTreeMap<Scope, Vec<Breach<'a>>>,
}

impl<'a> Breaches<'a> {
    /// Finds the breaches of a PodCliqueSet replica and its scaling-group replicas. A scaling-group replica
    /// is breached alone if its group still has enough other replicas.
    pub fn of(history: &'a History, replica: &SetReplica) -> Self {
        Walk::new(history, replica).breaches(history)
    }

    pub fn of_scope(&self, scope: &Scope) -> &[Breach<'a>] {
        self.by_scope.get(scope).map(Vec::as_slice).unwrap_or_default()
    }

    fn set_breached(&mut self, scope: &Scope, is_breached: bool, version: Version<'a>) {
        let last = self.by_scope.get_mut(scope).and_then(|breaches| breaches.last_mut());
        match last.filter(|breach| breach.until.is_none()) {
            Some(breach) if !is_breached => breach.until = Some(version),
            None if is_breached => {
                let breach = Breach { since: version, until: None };
                self.by_scope.entry(scope.clone()).or_default().push(breach);
            }
            Some(_) | None => {}
        }
    }
}

struct Walk<'a, 'r> {
    replica: &'r SetReplica,
    new_generations: BTreeMap<usize, NewGeneration<'a>>,
    census: Census<'a>,
    /// Pods of former generations, by uid. They do not count, regardless of the order of their deletion.
    former: BTreeSet<&'a str>,
    was_bound: BTreeSet<String>,
    /// The cliques that were terminated, and whose new pods are not bound yet.
    recreated: BTreeSet<String>,
    /// The other cliques that were deleted and not created again.
    missing: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct NewGeneration<'a> {
    cliques: Vec<String>,
    old: BTreeSet<&'a str>,
}

impl<'a, 'r> Walk<'a, 'r> {
    /// Uses the largest size of each scaling group, because groups may have had more replicas before.
    fn new(history: &'a History, replica: &'r SetReplica) -> Self {
        let most_replicas = |group: &ScalingGroup| {
            let sizes = history.named("PodCliqueScalingGroup", &group.name);
            let sizes = sizes.filter_map(|version| version.object["spec"]["replicas"].as_u64());
            sizes.filter_map(|size| usize::try_from(size).ok()).max().unwrap_or(0).max(group.replicas)
        };
        let mut new_generations: BTreeMap<usize, NewGeneration<'a>> = BTreeMap::new();
        let mut add = |termination: GangTermination<'a>, cliques: &[String]| {
            let generation = new_generations.entry(termination.started.index).or_default();
            generation.cliques.extend_from_slice(cliques);
            generation.old.extend(termination.old);
        };
        let names =
            |cliques: &mut dyn Iterator<Item = Clique>| cliques.map(|clique| clique.name).collect::<Vec<_>>();
        let mut of_groups = Vec::new();
        for group in &replica.groups {
            for index in 0..most_replicas(group) {
                let cliques = names(&mut group.replica(index));
                let scope = Scope::GroupReplica { group: group.name.clone(), index };
                for termination in terminations(history, &scope) {
                    add(termination, &cliques);
                }
                of_groups.extend(cliques);
            }
        }
        let all: Vec<_> =
            names(&mut replica.standalone.iter().cloned()).into_iter().chain(of_groups).collect();
        for termination in terminations(history, &replica.scope()) {
            add(termination, &all);
        }
        Self {
            replica,
            new_generations,
            census: Census::default(),
            former: BTreeSet::new(),
            was_bound: BTreeSet::new(),
            recreated: BTreeSet::new(),
            missing: BTreeSet::new(),
        }
    }

    fn breaches(mut self, history: &'a History) -> Breaches<'a> {
        let mut found = Breaches::default();
        for version in history.versions() {
            let generation = self.new_generations.remove(&version.index);
            let belongs_to_former = generation.is_none() && self.former.contains(version.uid());
            let generation = generation.unwrap_or_default();
            for clique in generation.cliques {
                self.was_bound.remove(&clique);
                self.missing.remove(&clique);
                self.recreated.insert(clique);
            }
            generation.old.iter().for_each(|uid| self.census.forget(uid));
            self.former.extend(generation.old);
            if belongs_to_former || !self.census.apply(version) {
                continue;
            }
            if version.kind() == "PodClique" && version.change == Change::Deleted {
                self.delete(version);
            }
            if version.kind() == "PodClique" && version.change == Change::Added {
                self.missing.remove(version.name());
            }
            self.update(version, &mut found);
        }
        found
    }

    /// Ends the breach of a deleted clique, although its pods may still be running.
    fn delete(&mut self, clique: Version<'a>) {
        self.was_bound.remove(clique.name());
        if !self.recreated.contains(clique.name()) {
            self.missing.insert(clique.name().to_owned());
        }
        let is_owned =
            |pod: &Version<'_>| controller(pod.object).is_some_and(|owner| owner["uid"] == clique.uid());
        let pods: Vec<_> = self.census.pods().filter(is_owned).map(|pod| pod.uid()).collect();
        pods.iter().for_each(|uid| self.census.forget(uid));
        self.former.extend(pods);
    }

    fn update(&mut self, version: Version<'a>, found: &mut Breaches<'a>) {
        let mut is_breached = false;
        for clique in &self.replica.standalone {
            is_breached |= self.is_breached(clique);
        }
        for group in &self.replica.groups {
            let size = self.census.replicas("PodCliqueScalingGroup", &group.name).unwrap_or(group.replicas);
            let mut broken = Vec::new();
            for index in 0..size {
                let members: Vec<_> = group.replica(index).collect();
                // Do not use `any`: each call of `is_breached` updates `was_bound`.
                let breached = members.iter().filter(|member| self.is_breached(member)).count() > 0;
                if breached || members.iter().any(|member| self.missing.contains(&member.name)) {
                    broken.push(index);
                }
            }
            let is_group_breached = size - broken.len() < group.min && !broken.is_empty();
            is_breached |= is_group_breached;
            for index in 0..size {
                let scope = Scope::GroupReplica { group: group.name.clone(), index };
                found.set_breached(&scope, broken.contains(&index) && !is_group_breached, version);
            }
        }
        found.set_breached(&self.replica.scope(), is_breached, version);
    }

    /// Whether a clique that had its minimum bound now has too few healthy pods. Updates `was_bound`.
    fn is_breached(&mut self, clique: &Clique) -> bool {
        if self.census.bound(&clique.name) >= clique.min {
            self.was_bound.insert(clique.name.clone());
            self.missing.remove(&clique.name);
            self.recreated.remove(&clique.name);
        }
        self.was_bound.contains(&clique.name) && self.census.healthy(&clique.name) < clique.min
    }
}

#[cfg(test)]
mod tests {
    use conformance_contract::names;
    use conformance_expect::scopes::replicas;
    use conformance_facts::testing::{
        clique, pair, pod, pods_of, running, running_clique, scope, terminating_pod,
    };
    use conformance_history::SharedMark;
    use conformance_history::testing::{Story, object};
    use serde_json::{Value, json};

    use super::*;

    fn times(story: Story, replica: &SetReplica, scope: &Scope) -> Vec<(i64, Option<i64>)> {
        let history = story.end();
        let breaches = Breaches::of(&history, replica);
        let second = |version: &Version<'_>| version.at.as_second();
        let of_scope = breaches.of_scope(scope).iter();
        of_scope.map(|breach| (second(&breach.since), breach.until.as_ref().map(second))).collect()
    }

    #[test]
    fn a_breach_lasts_from_the_loss_to_the_replacement() {
        let lost = || {
            running().later(3).mark(SharedMark::PodLost, json!({"name": "a"})).deleted(pod("a", Some("n")))
        };
        assert_eq!(times(lost(), &pair(), &scope()), [(3, None)]);
        let healed = lost().later(4).added(pod("c", Some("n")));
        assert_eq!(times(healed, &pair(), &scope()), [(3, Some(7))]);
    }

    #[test]
    fn a_scope_that_was_never_bound_is_not_breached() {
        let half =
            Story::flat().added(pod("a", Some("n"))).added(pod("b", None)).deleted(pod("a", Some("n")));
        assert_eq!(times(half, &pair(), &scope()), []);
    }

    #[test]
    fn a_terminated_scope_is_not_breached_until_it_is_bound_again() {
        let terminated =
            running().modified(terminating_pod("a")).modified(terminating_pod("b")).added(pod("c", None));
        assert_eq!(times(terminated.later(9).added(pod("d", None)), &pair(), &scope()), []);
    }

    #[test]
    fn old_pods_deleted_after_a_new_generation_started_do_not_count() {
        let of_b = |mut pod: Value| {
            pod["metadata"]["labels"][names::POD_CLIQUE] = json!("w-0-b");
            pod
        };
        let cliques = json!([{"name": "a", "spec": {"replicas": 1}}, {"name": "b", "spec": {"replicas": 1}}]);
        let pcs =
            json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {"cliques": cliques}}});
        let pair = replicas(&pcs).remove(0);
        let story = Story::flat().added(pod("a", Some("n"))).added(of_b(pod("b", Some("n"))));
        let lost =
            story.later(3).mark(SharedMark::PodLost, json!({"name": "a"})).deleted(pod("a", Some("n")));
        let terminated = lost
            .added(pod("c", None))
            .later(4)
            .modified(terminating_pod("c"))
            .later(1)
            .modified(of_b(terminating_pod("b")));
        let again = terminated.added(pod("d", None)).added(of_b(pod("e", None)));
        assert_eq!(times(again, &pair, &scope()), [(3, Some(7))], "b belongs to the old generation");
    }

    /// A scaling group with one pod per replica needs `min` replicas. The bound pods of `lost` are deleted.
    fn group(size: usize, min: usize, lost: &[usize]) -> (Story, SetReplica) {
        let group = json!({"name": "sg", "replicas": size, "minAvailable": min, "cliqueNames": ["b"]});
        let pcs = json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
            "cliques": [{"name": "b", "spec": {}}], "podCliqueScalingGroups": [group],
        }}});
        let member = |index: usize| -> Value {
            let mut pod = pod(&format!("p{index}"), Some("n"));
            let labels = &mut pod["metadata"]["labels"];
            labels[names::POD_CLIQUE] = json!(format!("w-0-sg-{index}-b"));
            labels[names::SCALING_GROUP] = json!("w-0-sg");
            labels[names::SCALING_GROUP_REPLICA_INDEX] = json!(index.to_string());
            pod
        };
        let mut pcsg = object("PodCliqueScalingGroup", "w-0-sg");
        pcsg["spec"]["replicas"] = json!(size);
        let story = Story::flat().added(pcsg).all_added((0..size).map(member)).later(5);
        let taken = |story: Story, index: &usize| {
            let name = format!("p{index}");
            story.mark(SharedMark::PodLost, json!({"name": name})).deleted(member(*index))
        };
        (lost.iter().fold(story, taken), replicas(&pcs).remove(0))
    }

    #[test]
    fn a_breach_ends_when_the_deleted_pod_clique_is_created_again() {
        let clique = || object("PodClique", "w-0-sg-1-b");
        let (story, replica) = group(3, 2, &[1]);
        let again = story.added(clique()).later(2).deleted(clique()).later(3).added(clique());
        let scope = Scope::GroupReplica { group: "w-0-sg".into(), index: 1 };
        assert_eq!(times(again, &replica, &scope), [(5, Some(10))]);
    }

    #[test]
    fn a_breach_ends_when_the_pod_clique_is_deleted_although_its_pods_still_run() {
        let mut crashed = pods_of("first", &["a"], Some("n")).remove(0);
        crashed["status"]["containerStatuses"] = json!([{"lastState": {"terminated": {"exitCode": 1}}}]);
        let deleted = running_clique().later(3).modified(crashed).later(4).deleted(clique("first", 2));
        let gone =
            pods_of("first", &["a", "b"], Some("n")).into_iter().fold(deleted.later(5), Story::deleted);
        assert_eq!(times(gone, &pair(), &scope()), [(3, Some(7))]);
    }

    #[test]
    fn a_terminated_replica_is_not_breached_while_its_pod_clique_is_recreated() {
        let clique = || object("PodClique", "w-0-sg-1-b");
        let (story, replica) = group(3, 2, &[]);
        let member = |name: &str, node: Option<&str>| {
            let mut pod = pod(name, node);
            let labels = &mut pod["metadata"]["labels"];
            labels[names::POD_CLIQUE] = json!("w-0-sg-1-b");
            labels[names::SCALING_GROUP] = json!("w-0-sg");
            labels[names::SCALING_GROUP_REPLICA_INDEX] = json!("1");
            pod
        };
        let deleted = story.added(clique()).deleted(member("p1", Some("n"))).later(2).deleted(clique());
        let recreated = deleted.later(3).added(clique()).added(member("new", None));
        let scope = Scope::GroupReplica { group: "w-0-sg".into(), index: 1 };
        assert_eq!(times(recreated, &replica, &scope), []);
    }

    #[rstest::rstest]
    #[case::one_to_spare(3, 2, &[1], &[(5, None)], &[])]
    #[case::none_to_spare(3, 2, &[1, 2], &[(5, Some(5))], &[(5, None)])]
    #[case::none_at_all(1, 1, &[0], &[], &[(5, None)])]
    fn a_group_is_breached_when_too_few_of_its_replicas_are_unbreached(
        #[case] size: usize,
        #[case] min: usize,
        #[case] lost: &[usize],
        #[case] alone: &[(i64, Option<i64>)],
        #[case] whole: &[(i64, Option<i64>)],
    ) {
        let (story, replica) = group(size, min, lost);
        let scope = Scope::GroupReplica { group: "w-0-sg".into(), index: lost[0] };
        assert_eq!(times(story, &replica, &scope), alone);
        let (story, replica) = group(size, min, lost);
        assert_eq!(times(story, &replica, &replica.scope()), whole);
    }
}
