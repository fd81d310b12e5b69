//! Warning events on a PodGang or its PodCliqueSet.

use conformance_expect::Gang;
use conformance_history::{Live, event_about, event_note};
use serde_json::Value;

/// Whether an event is a warning on the PodGang or the PodCliqueSet that names `about`.
pub fn is_warning(event: &Value, pod_gang: &str, set: &str, about: &str) -> bool {
    let on = event_about(event);
    let on_them = on["kind"] == "PodGang" && on["name"] == pod_gang
        || on["kind"] == "PodCliqueSet" && on["name"] == set;
    event["type"] == "Warning" && on_them && event_note(event).contains(about)
}

/// Whether a Warning event on a PodGang or its PodCliqueSet names `about`.
pub fn is_told(live: &Live, gang: &Gang, about: &str) -> bool {
    live.of("Event").any(|event| is_warning(event, &gang.name, &gang.set, about))
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
    fn a_warning_names_what_it_is_about(
        #[case] of_type: &str,
        #[case] kind: &str,
        #[case] name: &str,
        #[case] is_right: bool,
    ) {
        let event = json!({"kind": "Event", "metadata": {"name": "e"}, "type": of_type,
            "message": "no layer for zone", "involvedObject": {"kind": kind, "name": name}});
        let live = Story::flat().added(event).end().end();
        let gang = Gang { set: "w".into(), ..Gang::made_by_hand("w-0") };
        assert_eq!(is_told(&live, &gang, "zone"), is_right);
        assert!(!is_told(&live, &gang, "rack"));
    }
}
