use conformance_expect::Gang;
use conformance_history::{Live, event_about, event_note, list, text};
use serde_json::Value;

pub fn is_warning(event: &Value, pod_gang: &str, set: &str, about: &str) -> bool {
    let on = event_about(event);
    let on_them = on["kind"] == "PodGang" && on["name"] == pod_gang
        || on["kind"] == "PodCliqueSet" && on["name"] == set;
    event["type"] == "Warning" && on_them && event_note(event).contains(about)
}

pub fn has_warning(live: &Live, gang: &Gang, about: &str) -> bool {
    live.of("Event").any(|event| is_warning(event, &gang.name, &gang.set, about))
}

pub fn is_in_conditions(live: &Live, words: &str) -> bool {
    let all = live.of("PodGang").chain(live.of("PodCliqueSet"));
    all.flat_map(|object| list(&object["status"]["conditions"]))
        .any(|found| text(&found["message"]).contains(words))
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::Story;
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case::on_the_pod_gang("Warning", "PodGang", "w-0", true)]
    #[case::on_the_set("Warning", "PodCliqueSet", "w", true)]
    #[case::on_another("Warning", "PodGang", "w-1", false)]
    #[case::no_warning("Normal", "PodGang", "w-0", false)]
    fn only_a_warning_on_the_gang_or_its_pod_clique_set_counts(
        #[case] of_type: &str,
        #[case] kind: &str,
        #[case] name: &str,
        #[case] counts: bool,
    ) {
        let event = json!({"kind": "Event", "metadata": {"name": "e"}, "type": of_type,
            "message": "no layer for zone", "involvedObject": {"kind": kind, "name": name}});
        let live = Story::flat().added(event).end().end();
        let gang = Gang { set: "w".into(), ..Gang::named_only("w-0") };
        assert_eq!(has_warning(&live, &gang, "zone"), counts);
        assert!(!has_warning(&live, &gang, "rack"));
    }

    #[rstest::rstest]
    #[case::of_a_pod_gang("PodGang", "no layer for zone", true)]
    #[case::of_a_set("PodCliqueSet", "no layer for zone", true)]
    #[case::of_another_kind("PodClique", "no layer for zone", false)]
    #[case::with_other_words("PodGang", "no layer", false)]
    fn conditions_of_pod_gangs_and_pod_clique_sets_count(
        #[case] kind: &str,
        #[case] message: &str,
        #[case] counts: bool,
    ) {
        let status = json!({"conditions": [{"type": "Refused", "message": message}]});
        let object = json!({"kind": kind, "metadata": {"name": "w"}, "status": status});
        assert_eq!(is_in_conditions(&Story::flat().added(object).end().end(), "zone"), counts);
    }
}
