//! Requires that each version of a pod has all fields of its template (GANG-16), and otherwise only
//! documented fields (GANG-27). An operator may apply a template change late, so earlier templates count too.

mod added;
mod changed;
mod documented;
mod lost;

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_expect::scaling::index_in;
use conformance_expect::scopes::clique_template;
use conformance_history::{Change, History, SharedMark, Version, list};
use serde_json::Value;

use super::course::{Course, is_groves_pod};
use crate::{Shown, none, violation};

const TEMPLATE_LOST: Code = Code::new("template-lost");
const UNDOCUMENTED_ADDITION: Code = Code::new("undocumented-addition");

struct Difference<'a> {
    version: Version<'a>,
    is_created: bool,
    /// The first path that differs from the current template.
    path: String,
}

pub(super) fn is_kept(course: &Course<'_>) -> Ruling {
    let found = differences(course, |_| false, |_, clique, pod, _| lost::path(clique, pod));
    none(found.into_iter().map(|Difference { version, is_created, path }| {
        let name = version.name();
        let (message, role) = if is_created {
            (format!("Pod {name} was created with a difference from its template: {path}"), "created")
        } else {
            (format!("Pod {name} was changed and now differs from its template: {path}"), "changed")
        };
        violation(TEMPLATE_LOST, message).shown_by(role, version)
    }))
}

pub(super) fn adds_nothing(course: &Course<'_>) -> Ruling {
    if course.history.marks(SharedMark::ForeignAdmission).next().is_some() {
        return Err(Broken::NotAsked("admission of the cluster may add fields to pods".into()));
    }
    let declaration = course.history.header.target.declaration();
    let declared = declaration.map(|declaration| declaration.pod_additions.as_slice()).unwrap_or_default();
    // The API server admits no template without containers, so such a history lacks a part of the template.
    let is_abridged = |clique: &Value| list(&clique["spec"]["podSpec"]["containers"]).is_empty();
    let found = differences(course, is_abridged, |template, clique, pod, is_created| {
        added::path(template, clique, pod, is_created, declared)
    });
    none(found.into_iter().map(|Difference { version, is_created, path }| {
        let name = version.name();
        let (message, role) = if is_created {
            (format!("Pod {name} was created with {path}, which its template lacks"), "created")
        } else {
            (format!("Pod {name} was changed and has {path}, which its template lacks"), "changed")
        };
        violation(UNDOCUMENTED_ADDITION, message).shown_by(role, version)
    }))
}

/// A pod that fits a template, and the index of this template among those that were in force.
type Fitting<'a> = (&'a Value, usize);

/// Returns the first version of each pod that differs from every template in force. The last argument of
/// `find` is true if the pod was just created. A version is first compared with an earlier fitting version of
/// the pod or its PodClique. Only fields that differ are then compared with the template.
fn differences<'a>(
    course: &Course<'a>,
    fits_all: impl Fn(&Value) -> bool,
    find: impl Fn(&Value, &Value, &Value, bool) -> Option<String>,
) -> Vec<Difference<'a>> {
    let mut templates = Templates::submitted(course.history);
    let mut last: BTreeMap<&str, &Value> = BTreeMap::new();
    let mut fitting_pods: BTreeMap<(&str, &str), Fitting<'a>> = BTreeMap::new();
    let mut fitting_when_created: BTreeMap<(&str, &str), Fitting<'a>> = BTreeMap::new();
    let mut reported = BTreeSet::new();
    let mut found = Vec::new();
    for version in &course.versions {
        templates.store(version);
        if !is_groves_pod(version) || version.change == Change::Deleted {
            continue;
        }
        let (uid, pod) = (version.uid(), version.object);
        let known = last.insert(uid, pod);
        let is_created = known.is_none();
        let is_unchanged = known.is_some_and(|known| fields(known) == fields(pod));
        // A compact history contains the fields of a pod only at its creation.
        let is_compact = !is_created && pod["spec"]["containers"].is_null();
        if is_unchanged || is_compact || reported.contains(uid) {
            continue;
        }
        let pod_clique = version.pod().pod_clique().unwrap_or_default();
        let sets = templates.by_set.iter().filter(|(set, _)| index_in(set, pod_clique).is_some());
        for (set, in_force) in sets {
            let compare = |template: &Value, whole: &Value, part: &Value, pod: &Value| {
                if fits_all(whole) { None } else { find(template, part, pod, is_created) }
            };
            let fits_as_before = |(reference, place): &Fitting<'a>| {
                let template = in_force[*place];
                let clique = clique_template(template, set, pod_clique)?;
                let (part, changed) = changed::parts(reference, pod, clique)?;
                compare(template, clique, &part, &changed).is_none().then_some(*place)
            };
            let reference = if is_created {
                fitting_when_created.get(&(*set, pod_clique))
            } else {
                fitting_pods.get(&(*set, uid))
            };
            let mut place = reference.and_then(fits_as_before);
            let mut path = None;
            if place.is_none() {
                for (index, template) in in_force.iter().enumerate() {
                    let Some(clique) = clique_template(template, set, pod_clique) else { continue };
                    // The last path is the difference from the current template.
                    path = compare(template, clique, clique, pod);
                    if path.is_none() {
                        place = Some(index);
                        break;
                    }
                }
            }
            match (place, path) {
                (Some(place), _) => {
                    fitting_pods.insert((*set, uid), (pod, place));
                    if is_created {
                        fitting_when_created.insert((*set, pod_clique), (pod, place));
                    }
                }
                (None, Some(path)) => {
                    reported.insert(uid);
                    found.push(Difference { version: *version, is_created, path });
                }
                (None, None) => {}
            }
        }
    }
    found
}

fn fields(pod: &Value) -> [&Value; 3] {
    [&pod["spec"], &pod["metadata"]["labels"], &pod["metadata"]["annotations"]]
}

pub(super) struct Templates<'a> {
    pub(super) by_set: BTreeMap<&'a str, Vec<&'a Value>>,
    /// The PodCliqueSets whose first stored template is the submitted one with defaults.
    as_submitted: BTreeSet<&'a str>,
}

impl<'a> Templates<'a> {
    /// If several PodCliqueSets were submitted with one name, all stored templates count.
    pub(super) fn submitted(history: &'a History) -> Self {
        let submitted = &history.header.submitted;
        let times = |set: &str| {
            history.marks(SharedMark::Submitted).filter(|(_, mark)| mark.detail["name"] == set).count()
        };
        Self {
            by_set: submitted
                .iter()
                .map(|(set, pcs)| (set.as_str(), vec![&pcs["spec"]["template"]]))
                .collect(),
            as_submitted: submitted.keys().map(String::as_str).filter(|set| times(set) == 1).collect(),
        }
    }

    pub(super) fn store(&mut self, version: &Version<'a>) {
        if version.kind() != "PodCliqueSet" || version.change == Change::Deleted {
            return;
        }
        let Some(known) = self.by_set.get_mut(version.name()) else { return };
        let template = &version.object["spec"]["template"];
        if !self.as_submitted.remove(version.name()) && !known.contains(&template) {
            known.push(template);
        }
    }
}

#[cfg(test)]
mod tests;
