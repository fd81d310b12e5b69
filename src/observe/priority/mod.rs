//! Priorities that differ inside a gang. The pods and the gang resource can name a priority class.

use conformance_driver::context::{Stop, TestContext};
use conformance_history::History;
use serde_json::Value;

use crate::answer::Answered;
use crate::plain_gang::PlainGang;
use crate::{reports, steps};

pub(crate) mod between_pods;
pub(crate) mod on_gang_resource_only;
pub(crate) mod on_pods_only;

const ANSWERS: &[&str] = &["bound", "waits"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Named {
    on_resource: bool,
    /// On the first pods of the gang, up to this number.
    on_pods: usize,
}

async fn drive_with(test: &mut TestContext, gang: &PlainGang, named: Named) -> Result<(), Stop> {
    let class = steps::priority_class(test).await?;
    let name_if = |is_named: bool, object: &mut Value| {
        if is_named {
            object["spec"]["priorityClassName"] = class.as_str().into();
        }
    };
    steps::changed(test);
    steps::create_resource(test, gang, |resource| name_if(named.on_resource, resource)).await?;
    for index in 0..gang.minimum {
        steps::create_pod(test, gang, index, |pod| name_if(index < named.on_pods, pod)).await?;
    }
    steps::observe_bound(test, gang, 0..gang.minimum).await
}

fn answer_for(history: &History, gang: &PlainGang) -> Answered {
    reports::by_binding(history, gang, 0..gang.minimum, ["bound", "waits"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Observation;
    use crate::testing::prelude::*;

    #[rstest::rstest]
    #[case::on_pods(on_pods_only::OBSERVATION, on_pods_only::GANG)]
    #[case::on_gang_resource(on_gang_resource_only::OBSERVATION, on_gang_resource_only::GANG)]
    #[case::between_pods(between_pods::OBSERVATION, between_pods::GANG)]
    fn the_bindings_are_the_answer(#[case] observation: Observation, #[case] gang: PlainGang) {
        let observed = |bound: usize| {
            let mut group = resource(&gang, Value::Null);
            group["spec"]["priorityClassName"] = "high".into();
            let created = story().mark(CHANGED, Value::Null).added(group).all_added(waiting(&gang, 2));
            bind(created, &gang, 0..bound).mark(OBSERVED, Value::Null)
        };
        assert_eq!(word(&observation, observed(2)), Ok("bound"));
        assert_eq!(word(&observation, observed(1)), Ok("waits"));
    }
}
