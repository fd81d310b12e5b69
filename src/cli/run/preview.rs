//! `run --plan`: prints what a run would do in the user's cluster, without creating anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use conformance_cluster::examination::Examination;
use conformance_contract::names;
use conformance_report::Exit;
use conformance_run::environment::Preview;
use conformance_run::interruption::Interruption;

use super::{Run, plan};
use crate::options::ProviderName;
use crate::output::{self, Console};
use crate::request::Request;
use crate::{Failure, remaining};

/// The exit code is 0, or 3 if the cluster would refuse the run.
pub(crate) async fn preview(request: &Request, interruption: &Arc<Interruption>) -> Result<Exit, Failure> {
    if request.cluster.provider != ProviderName::Existing {
        return Err(Failure::Usage(
            "--plan describes a run in your own cluster: pass --provider existing".into(),
        ));
    }
    let kubernetes = request.subject.versions[0];
    let mut plan = plan(kubernetes, request)?;
    let run = Run { request, interruption, first_failure: None };
    let folder = &request.output.folder;
    let (environment, _) = run.prepare(kubernetes, &mut plan, folder, &Console::default()).await?;
    let preview = environment.preview(&plan).await?;
    output::data(&text(&preview, request.cluster.nodes_where.as_deref()));
    let Examination { missing_rights, problems, .. } = &preview.examination;
    let is_refused = !missing_rights.is_empty() || !problems.is_empty();
    Ok(if is_refused { Exit::Inconclusive } else { Exit::Conformant })
}

fn text(preview: &Preview, nodes_where: Option<&str>) -> String {
    let Preview { examination, cases, at_once, .. } = preview;
    let mut text =
        String::from("Nothing was created. A run with these options would do this in the cluster:\n");
    let left = remaining::describe(preview.length).replace(" left", "");
    let _ = writeln!(text, "\nCases\n  {cases} run, at most {at_once} at once: {left} on an idle cluster");
    for (reason, count) in &preview.left_out {
        let _ = writeln!(text, "  {count} do not run: {reason}");
    }
    let _ = writeln!(text, "\nObjects, each with the label {}", names::RUN);
    let _ = writeln!(text, "  a namespace for each case on each target, deleted when the case ends");
    for (verb, what) in [("create", "created"), ("patch", "changed"), ("delete", "deleted")] {
        let _ = writeln!(text, "  {what}: {}", resources(examination, verb).join(", "));
    }
    let _ = writeln!(text, "\nNodes and taints");
    nodes(&mut text, preview, nodes_where);
    let _ = writeln!(text, "\nRights");
    for (verb, resources) in rights(examination) {
        let _ = writeln!(text, "  {verb}: {}", resources.into_iter().collect::<Vec<_>>().join(", "));
    }
    match examination.missing_rights.as_slice() {
        [] => text.push_str("  The user has all of them.\n"),
        missing => {
            let _ = writeln!(text, "  MISSING: {}", missing.join(", "));
        }
    }
    for problem in &examination.problems {
        let _ = writeln!(text, "\nThe run would stop: {problem}");
    }
    text
}

fn nodes(text: &mut String, preview: &Preview, nodes_where: Option<&str>) {
    let Preview { examination, most_nodes, most_gpus, .. } = preview;
    let (pool, canary) = (names::POOL, names::CANARY);
    let Some(label) = nodes_where else {
        let _ = writeln!(
            text,
            "  simulated by your KWOK: up to {most_nodes} for each case, with up to {most_gpus} GPUs, deleted when \
             the case ends;\n  each with the taint {pool}=NAMESPACE:NoSchedule\n  one for canaries, with the taint \
             {canary}=true:NoSchedule\n  no node of the cluster is changed"
        );
        return;
    };
    let _ = writeln!(
        text,
        "  lent, with {label}: a case needs up to {most_nodes}, with up to {most_gpus} GPUs. While a case has a \
         node,\n  its taints are replaced by {pool}=NAMESPACE:NoSchedule; they are restored when the case ends.\n  The \
         free node with the fewest GPUs gets {canary}=true:NoSchedule until the run ends."
    );
    for node in &examination.nodes {
        let state =
            if node.is_free { "free" } else { "not used: not Ready, cordoned, or lent to another run" };
        let taints = if node.taints.is_empty() { "no taints".to_owned() } else { node.taints.join(", ") };
        let gpus = if node.gpus == 1 { "GPU" } else { "GPUs" };
        let _ = writeln!(text, "  {}: {} {gpus}, {taints}, {state}", node.name, node.gpus);
    }
    if examination.nodes.is_empty() {
        let _ = writeln!(text, "  no node has the label");
    }
}

fn resources(examination: &Examination, verb: &str) -> Vec<String> {
    let mut found: Vec<_> = examination
        .rights
        .iter()
        .filter(|right| right.verb == verb)
        .map(|right| right.to_string().replacen(&format!("{verb} "), "", 1))
        .collect();
    found.dedup();
    found
}

/// Returns the rights by verb. Kinds to list are only described, because there are too many.
fn rights(examination: &Examination) -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut all: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
    for right in &examination.rights {
        let resource = match right.verb {
            "list" => "every namespaced kind, to find leftovers, and the kinds that are recorded".to_owned(),
            verb => right.to_string().replacen(&format!("{verb} "), "", 1),
        };
        all.entry(right.verb).or_default().insert(resource);
    }
    all
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use conformance_cluster::examination::FoundNode;
    use conformance_cluster::existing::Right;

    use super::*;

    fn preview() -> Preview {
        let right = |verb: &'static str, resource: &str| Right {
            verb,
            group: String::new(),
            resource: resource.into(),
            served_in: Vec::new(),
        };
        let rights =
            vec![right("create", "namespaces"), right("list", "pods"), right("patch", "nodes/status")];
        let node =
            FoundNode { name: "gpu-1".into(), gpus: 8, is_free: true, taints: vec!["a=b:NoSchedule".into()] };
        let examination =
            Examination { rights, missing_rights: Vec::new(), problems: Vec::new(), nodes: vec![node] };
        let left_out = [("the case needs kubelets".to_owned(), 3)].into();
        let length = Duration::from_secs(500);
        Preview { examination, cases: 40, at_once: 10, left_out, most_nodes: 5, most_gpus: 8, length }
    }

    #[test]
    fn the_plan_names_objects_rights_nodes_taints_and_minutes() {
        let text = text(&preview(), Some("pool=lent"));
        for expected in [
            "40 run, at most 10 at once: about 9 min on an idle cluster",
            "3 do not run: the case needs kubelets",
            "created: namespaces",
            "changed: nodes/status",
            "lent, with pool=lent: a case needs up to 5, with up to 8 GPUs",
            "conformance.grove.io/pool=NAMESPACE:NoSchedule",
            "gpu-1: 8 GPUs, a=b:NoSchedule, free",
            "list: every namespaced kind",
            "The user has all of them.",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }

    #[test]
    fn the_plan_names_what_is_missing() {
        let mut preview = preview();
        preview.examination.missing_rights = vec!["create namespaces".into()];
        preview.examination.problems = vec!["the cluster runs PodCliqueSets".into()];
        let text = text(&preview, None);
        for expected in [
            "MISSING: create namespaces",
            "The run would stop: the cluster runs PodCliqueSets",
            "no node of the cluster",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }
}
