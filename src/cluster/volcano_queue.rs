use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};

use crate::ClusterError;

/// Fails if Volcano's default queue is not Open. Without a controller, it has no state. Volcano's plugin
/// `proportion` then allocates nothing, and pods report `NotEnoughResources` (1.15.1).
pub(crate) async fn check_open(client: &Client) -> Result<(), ClusterError> {
    let kind = GroupVersionKind::gvk("scheduling.volcano.sh", "v1beta1", "Queue");
    let queues: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let found = queues.get_opt("default").await;
    let found = found.map_err(ClusterError::during("read Volcano's queue default"))?;
    // Without a queue, the scheduler does not run. A later check reports this.
    let Some(queue) = found else { return Ok(()) };
    let state = queue.data["status"]["state"].as_str().unwrap_or_default();
    if state == "Open" { Ok(()) } else { Err(ClusterError::QueueNotOpen { state: state.to_owned() }) }
}
