//! PodCliqueSet `unasked` requests no gang scope. On Kubernetes 1.36, `asked` requests the target's scope. On
//! 1.37, `asked` requests `PodGang`, the scope for API servers without CompositePodGroup.

use conformance_contract::names::GANG_SCOPE;

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A PodGang is mapped by the served APIs, and the mapping never changes")
    .clauses(&[KUBE_09])
    .nodes(&[nodes(1)]);

fn sets(target: Target) -> &'static [(&'static str, Option<&'static str>)] {
    match target.scope() {
        Some("PodGang") => &[("asked", Some("PodGang"))],
        Some("Tree") => &[("unasked", None), ("asked", Some("PodGang"))],
        _ => &[("unasked", None), ("asked", Some("PodGroup"))],
    }
}

pub(super) fn set_scope(pcs: &mut Value, scope: Option<&str>) {
    match (scope, pcs["metadata"]["annotations"].as_object_mut()) {
        (Some(scope), _) => pcs["metadata"]["annotations"][GANG_SCOPE] = scope.into(),
        (None, Some(annotations)) => drop(annotations.remove(GANG_SCOPE)),
        (None, None) => {}
    }
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for (name, scope) in sets(test.target) {
        let mut pcs = test.manifest(name)?;
        set_scope(&mut pcs, *scope);
        test.submit_value(pcs).await?;
        test.until_converged(name).await?;
        // The second replica gets its own PodGang. The PodGang of the first replica must not change.
        test.scale("PodCliqueSet", name, 2).await?;
        test.until_converged(name).await?;
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KUBE_09, || {
        let sets = sets(history.header.target);
        history.waited_for(SharedMark::Converged)?;
        if history.marks(SharedMark::Converged).count() < 2 * sets.len() {
            return Err(Broken::NotReached("not every PodCliqueSet was scaled".into()));
        }
        for (name, _) in sets {
            let gangs = scaling::gangs(history, history.submitted(name)?, history.entries.len());
            gang_resources::match_pod_gangs(history, &history.end(), &gangs)?;
        }
        gang_resources::never_reshaped(history, history.entries.len())
    })]
}
