//! PodCliqueSet `read`, 2 + 3 pods, selects a scheduler that reads PodGangs itself and does not run.

use conformance_check::pods;

use crate::kube::unmanaged_gangs;
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Pods get the profile's scheduler name, gate and labels, and are released")
        .clauses(&[EXT_01, EXT_04]);

const SET: &str = "read";

marks! { RELEASED = "all pods released"; }

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit(SET).await? {
        test.until_released(&gang).await?;
    }
    test.mark(RELEASED, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(EXT_01, || {
            pods::created_as_specified(history, SET, &history.gangs(SET)?)?;
            history.reached(RELEASED).map(drop)
        }),
        finding(EXT_04, || {
            unmanaged_gangs::no_gang_resources(history, &[])?;
            history.reached(RELEASED).map(drop)
        }),
    ]
}
