//! 4 nodes x 8 GPUs; a gang of 4 pods x 8 GPUs, which fits. The scheduler is killed after 2 of its 4 bindings
//! have reached the API server. The restarted scheduler finds a half-bound gang and room for the rest.

use conformance_proxy::{Action, Rule, When};

use crate::prelude::*;

marks! { KILLED = "scheduler killed"; }

const PASSING: usize = 2;

pub(crate) const CASE: Case =
    case!("A restarted scheduler binds the rest of a gang that is half bound", restored)
        .clauses(&[AON_12])
        .nodes(&[nodes(4).gpus(8)])
        .isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let hold = Rule {
        when: When { from: PASSING as u64 + 1, ..When::default() },
        ..Rule::new("bindings held", test.bindings(), Action::Hold)
    };
    let (proxy, held) = test.proxy(test.binder()?, |proxy| proxy.add(hold)).await?;
    test.submit("half").await?;
    let rest = 4 - PASSING;
    test.until_applied(&proxy, held, rest, &format!("{rest} bindings held"), limits::SCHEDULING).await?;
    test.until_bound(PASSING).await?;
    test.kill_scheduler().await?;
    proxy.abandon(held);
    test.mark(KILLED, Value::Null);
    test.start_scheduler().await?;
    test.until_bound(4).await
}

fn check(history: &History) -> Vec<Finding> {
    let history = &history.before_restore();
    vec![finding(AON_12, || {
        let (killed, _) = history.reached(KILLED)?;
        binding::exactly(&history.before(killed), "half-0-worker", PASSING).map_err(|_| {
            Broken::NotReached(format!("the scheduler was not killed with exactly {PASSING} pods bound"))
        })?;
        binding::whole(&history.end(), &history.units("half")?)
    })]
}
