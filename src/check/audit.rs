//! The operator's write requests in the audit log, including those that were rejected or changed nothing.
//! Without an audit log, these checks pass.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Code;
use conformance_expect::schedulers;
use conformance_history::{History, KINDS, SharedMark, list, owners, text};
use serde_json::Value;

use super::coexistence::scheduler_of;
use super::{none, violation};

const REQUESTED_WHILE_IDLE: Code = Code::new("requested-while-idle");
const REQUESTED_TOO_OFTEN: Code = Code::new("requested-too-often");
const GANG_RESOURCE_REQUESTED: Code = Code::new("gang-resource-requested");
const WRITES_FOREIGN_OBJECT: Code = Code::new("writes-foreign-object");

struct Request<'a>(&'a Value);

impl<'a> Request<'a> {
    fn field(&self, key: &str) -> &'a str {
        text(&self.0[key])
    }

    fn kind(&self) -> Option<&'static str> {
        let plural = self.field("resource").split('/').next().unwrap_or_default();
        let group = |api_version: &'static str| api_version.split_once('/').map_or("", |(group, _)| group);
        let mut known = KINDS.iter().filter(|kind| kind.plural == plural);
        known.find(|kind| group(kind.api_version) == self.field("group")).map(|kind| kind.name)
    }

    fn described(&self) -> String {
        let code = &self.0["code"];
        format!("{} {} {} ({code})", self.field("verb"), self.field("resource"), self.field("name"))
    }
}

fn requests(history: &History, part: Range<usize>) -> impl Iterator<Item = Request<'_>> {
    let marks = history.marks(SharedMark::OperatorWrites).filter(move |(index, _)| part.contains(index));
    marks.flat_map(|(_, mark)| list(&mark.detail["writes"]).iter().map(Request))
}

fn gang_resources() -> BTreeSet<&'static str> {
    schedulers::kinds().into_iter().map(|(kind, _)| kind).collect()
}

/// A subresource such as the status is a separate resource.
fn by_object(history: &History, part: Range<usize>) -> BTreeMap<(&str, &str), Vec<Request<'_>>> {
    let mut by_object: BTreeMap<(&str, &str), Vec<Request<'_>>> = BTreeMap::new();
    for request in requests(history, part) {
        by_object.entry((request.field("resource"), request.field("name"))).or_default().push(request);
    }
    by_object
}

pub fn nothing_requested(history: &History, part: Range<usize>) -> Ruling {
    none(by_object(history, part).values().map(|all| {
        let last = all.last().map(Request::described).unwrap_or_default();
        let message = format!(
            "the idle operator sent {} write requests for one object, want 0; the last: {last}",
            all.len()
        );
        violation(REQUESTED_WHILE_IDLE, message)
    }))
}

/// Requires that the writes to each object are within its limit. Names without a limit are not checked.
pub fn writes_within_limit(
    history: &History,
    part: Range<usize>,
    limit: impl Fn(&str) -> Option<usize>,
) -> Ruling {
    none(by_object(history, part).into_iter().filter_map(|((_, name), all)| {
        let most = limit(name).filter(|most| all.len() > *most)?;
        let last = all.last().map(Request::described).unwrap_or_default();
        let message = format!(
            "the operator sent {} write requests for one object, want at most {most}; the last: {last}",
            all.len()
        );
        Some(violation(REQUESTED_TOO_OFTEN, message))
    }))
}

pub fn no_gang_resource_requests(history: &History, pod_gang: &str, part: Range<usize>) -> Ruling {
    let kinds = gang_resources();
    let concerns_gang = |request: &Request<'_>| {
        let Some(kind) = request.kind().filter(|kind| kinds.contains(kind)) else { return false };
        let mut versions = history.named(kind, request.field("name"));
        versions.any(|version| owners(version.object).iter().any(|owner| owner["name"] == pod_gang))
    };
    none(requests(history, part).filter(concerns_gang).map(|request| {
        let message = format!(
            "the operator sent {}, want no request for gang resources of PodGang {pod_gang}",
            request.described()
        );
        violation(GANG_RESOURCE_REQUESTED, message)
    }))
}

/// Requires that the operator wrote only to gang resources that existed, or whose kind the backend of their
/// PodCliqueSet uses (COEX-02). Other checks read the history, which lacks a rejected create.
pub fn only_existing_gang_resources_written(history: &History) -> Ruling {
    let kinds = gang_resources();
    let is_of_its_backend = |kind: &str, name: &str| {
        let mut sets = history.header.submitted.iter();
        sets.any(|(set, pcs)| name.contains(set.as_str()) && schedulers::may_have(scheduler_of(pcs), kind))
    };
    let is_unknown = |request: &Request<'_>| {
        let name = request.field("name");
        let kind = request.kind().filter(|kind| kinds.contains(kind) && !name.is_empty());
        kind.is_some_and(|kind| history.named(kind, name).next().is_none() && !is_of_its_backend(kind, name))
    };
    let unknown = requests(history, 0..history.entries.len()).filter(is_unknown);
    none(unknown.map(|request| {
        let message = format!("the operator sent {} for an object that never existed", request.described());
        violation(WRITES_FOREIGN_OBJECT, message)
    }))
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, object, one_clique, owned};
    use serde_json::json;

    use super::*;
    use crate::messages;

    fn recorded(writes: &[Value]) -> History {
        let group = owned(object("PodGroup", "w-0-a"), "PodGang", "w-0");
        let detail = json!({"since": "", "writes": writes});
        Story::flat().added(group).mark(SharedMark::OperatorWrites, detail).end()
    }

    #[rstest::rstest]
    #[case::within_the_limit(Some(2), true)]
    #[case::above_the_limit(Some(1), false)]
    #[case::no_limit_for_the_name(None, true)]
    fn writes_above_the_limit_are_a_violation(#[case] limit: Option<usize>, #[case] fine: bool) {
        let write = |code| patch("grove.io", "podcliques/status", "w-0-a", code);
        let history = recorded(&[write(200), write(409)]);
        let ruling = writes_within_limit(&history, 0..history.entries.len(), |_| limit);
        assert_eq!(ruling.is_ok(), fine);
    }

    #[test]
    fn each_object_has_its_own_limit() {
        let write = |name: &str| patch("grove.io", "podcliques/status", name, 200);
        let history = recorded(&[write("w-0-a"), write("w-0-b"), write("w-0-b")]);
        let within = |part, most_of_b| {
            writes_within_limit(&history, part, |name| Some(if name == "w-0-b" { most_of_b } else { 1 }))
        };
        assert_eq!(within(0..2, 2), Ok(()));
        assert_eq!(messages(within(0..2, 1)).len(), 1);
        assert_eq!(within(0..1, 1), Ok(()), "the mark is not in this part");
    }

    fn patch(group: &str, resource: &str, name: &str, code: u16) -> Value {
        json!({"verb": "patch", "group": group, "resource": resource, "name": name, "code": code})
    }

    #[test]
    fn a_write_without_effect_is_counted() {
        let idle = patch("grove.io", "podcliques/status", "w-0-a", 200);
        let history = recorded(&[idle.clone(), idle]);
        let found = messages(nothing_requested(&history, 0..history.entries.len()));
        assert_eq!(
            found,
            ["the idle operator sent 2 write requests for one object, want 0; the last: patch \
                 podcliques/status w-0-a (200)",]
        );
        assert_eq!(nothing_requested(&history, 0..1), Ok(()), "the mark is not in this part");
        assert_eq!(nothing_requested(&recorded(&[]), 0..9), Ok(()));
    }

    #[test]
    fn only_requests_for_gang_resources_of_the_gang_count() {
        let writes = [
            patch("scheduling.k8s.io", "podgroups", "w-0-a", 200),
            patch("grove.io", "podcliques", "w-0-a", 200),
            patch("scheduling.volcano.sh", "podgroups", "w-0-a", 403),
        ];
        let history = recorded(&writes);
        let all = || 0..history.entries.len();
        let found = messages(no_gang_resource_requests(&history, "w-0", all()));
        assert_eq!(
            found,
            ["the operator sent patch podgroups w-0-a (200), want no request for gang resources of \
                 PodGang w-0",]
        );
        assert_eq!(no_gang_resource_requests(&history, "v-0", all()), Ok(()));
        assert_eq!(no_gang_resource_requests(&history, "w-0", 0..1), Ok(()), "the mark is not in this part");
        let found = messages(only_existing_gang_resources_written(&history));
        let wanted = "the operator sent patch podgroups w-0-a (403) for an object that never existed";
        assert_eq!(found, [wanted]);
    }

    #[rstest::rstest]
    #[case::of_its_backend("volcano", true)]
    #[case::of_another_backend("default-scheduler", false)]
    fn a_rejected_create_for_another_backend_is_a_violation(#[case] scheduler: &str, #[case] fine: bool) {
        let mut pcs = one_clique("w", 1);
        pcs["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["schedulerName"] = scheduler.into();
        let rejected = patch("scheduling.volcano.sh", "podgroups", "w-0", 422);
        let detail = json!({"since": "", "writes": [rejected]});
        let history = Story::flat().submitted(pcs).mark(SharedMark::OperatorWrites, detail).end();
        assert_eq!(only_existing_gang_resources_written(&history).is_ok(), fine);
    }
}
