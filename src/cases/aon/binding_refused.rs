//! 4 nodes x 32 GPUs; four gangs of 4 pods x 8 GPUs, submitted one after the other: all fit.

use conformance_proxy::{Action, Rule};

use crate::prelude::*;

marks! { REFUSED = "a binding refused"; }

/// A proxy refuses the k-th binding of the k-th gang with the k-th status code.
const CODES: [u16; 4] = [409, 500, 409, 500];

pub(crate) const CASE: Case = case!("A gang is bound whole although one binding is refused once", restored)
    .clauses(&[AON_18])
    .nodes(&[nodes(4).gpus(32)])
    .isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let (proxy, ()) = test.proxy(test.binder()?, |_| Ok(())).await?;
    for (k, code) in (1..).zip(CODES) {
        let action = Action::Refuse { code, retry_after_seconds: None };
        let rule = Rule::new(format!("binding {k} refused"), test.bindings(), action).nth(k);
        let rule = proxy.add(rule)?;
        let name = format!("refused-{k}");
        let mut pcs = test.manifest("refused")?;
        pcs["metadata"]["name"] = name.as_str().into();
        test.submit_value(pcs).await?;
        test.until_applied(&proxy, rule, 1, &format!("binding {k} refused"), limits::SCHEDULING).await?;
        test.mark(REFUSED, json!({"set": name, "binding": k, "code": code}));
        test.until_bound(4 * usize::try_from(k).unwrap_or(usize::MAX)).await?;
        proxy.release(rule);
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    let history = &history.before_restore();
    vec![finding(AON_18, || {
        let refused: Vec<_> = history.marks(REFUSED).collect();
        for (_, mark) in &refused {
            let set = mark.detail["set"].as_str().unwrap_or_default();
            binding::whole(&history.end(), &history.units(set)?)?;
        }
        if refused.len() == CODES.len() {
            Ok(())
        } else {
            Err(Broken::NotReached("not every binding was refused once".into()))
        }
    })]
}
