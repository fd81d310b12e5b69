use std::fmt::Write;

use conformance_expect::schedulers;
use conformance_history::{Live, Pod, event_about, event_note};

const LINES: usize = 8;

pub fn describe(live: &Live) -> String {
    let mut text = String::new();
    let pods: Vec<Pod<'_>> = live.pods().collect();
    let bound = pods.iter().filter(|pod| pod.node().is_some()).count();
    let gated = pods.iter().filter(|pod| !pod.gates().is_empty()).count();
    let _ = writeln!(text, "  pods: {}, {bound} bound, {gated} gated", pods.len());
    for pod in pods.iter().filter(|pod| pod.node().is_none()).take(LINES) {
        let reason = pod.condition("PodScheduled").map_or(String::new(), |condition| {
            let part = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
            format!("{}: {}", part("reason"), part("message"))
        });
        let _ = writeln!(text, "  pod {}: {reason}", pod.name());
    }
    for kind in std::iter::once("PodGang").chain(schedulers::kinds().into_iter().map(|(kind, _)| kind)) {
        for object in live.of(kind).take(LINES) {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let conditions: Vec<String> = object["status"]["conditions"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|condition| {
                    let part = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
                    format!("{}={} {} {}", part("type"), part("status"), part("reason"), part("message"))
                })
                .collect();
            let _ = writeln!(text, "  {kind} {name}: {}", conditions.join("; "));
        }
    }
    let mut events: Vec<_> = live.of("Event").collect();
    events.sort_by_key(|event| conformance_history::revision(event));
    for event in events.iter().rev().take(LINES).rev() {
        let part = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let _ = writeln!(
            text,
            "  event {} {}/{}: {} {}",
            part(&event["type"]),
            part(&event_about(event)["kind"]),
            part(&event_about(event)["name"]),
            part(&event["reason"]),
            event_note(event)
        );
    }
    text.trim_end().to_owned()
}
