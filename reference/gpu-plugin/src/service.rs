//! The kubelet chooses the devices of a container; this service only refuses unknown and unhealthy ones.

use std::collections::HashMap;

use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::sync::watch;
use tokio_stream::wrappers::WatchStream;
use tonic::{Request, Response, Status};

use super::devices::{Devices, Refusal};
use super::faults::Faults;
use super::v1beta1::device_plugin_server::DevicePlugin;
use super::v1beta1::{
    AllocateRequest, AllocateResponse, ContainerAllocateRequest, ContainerAllocateResponse, Device,
    DevicePluginOptions, Empty, ListAndWatchResponse, PreStartContainerRequest, PreStartContainerResponse,
    PreferredAllocationRequest, PreferredAllocationResponse,
};
use crate::shutdown::stop_requested;

pub(crate) const DEVICES_VARIABLE: &str = "FAKE_GPU_DEVICES";

pub(crate) struct FakeGpus {
    devices: watch::Receiver<Devices>,
    end: watch::Receiver<bool>,
    faults: Faults,
}

impl FakeGpus {
    /// Streams end once `end` is true, because a gRPC server waits for open streams before it shuts down.
    pub(crate) fn new(devices: watch::Receiver<Devices>, end: watch::Receiver<bool>, faults: Faults) -> Self {
        Self { devices, end, faults }
    }
}

pub(crate) fn plugin_options() -> DevicePluginOptions {
    DevicePluginOptions { pre_start_required: false, get_preferred_allocation_available: false }
}

#[tonic::async_trait]
impl DevicePlugin for FakeGpus {
    type ListAndWatchStream = BoxStream<'static, Result<ListAndWatchResponse, Status>>;

    async fn get_device_plugin_options(
        &self,
        _: Request<Empty>,
    ) -> Result<Response<DevicePluginOptions>, Status> {
        Ok(Response::new(plugin_options()))
    }

    async fn list_and_watch(&self, _: Request<Empty>) -> Result<Response<Self::ListAndWatchStream>, Status> {
        let lists = WatchStream::new(self.devices.clone()).map(|devices| Ok(list(&devices)));
        Ok(Response::new(lists.take_until(stop_requested(self.end.clone())).boxed()))
    }

    async fn get_preferred_allocation(
        &self,
        _: Request<PreferredAllocationRequest>,
    ) -> Result<Response<PreferredAllocationResponse>, Status> {
        Err(Status::unimplemented("the plugin prefers no device"))
    }

    async fn allocate(
        &self,
        request: Request<AllocateRequest>,
    ) -> Result<Response<AllocateResponse>, Status> {
        let containers = request.into_inner().container_requests;
        let devices = self.devices.borrow().clone();
        let answers = containers.into_iter().map(|container| allocate(&devices, container, self.faults));
        let answers: Result<Vec<ContainerAllocateResponse>, Refusal> = answers.collect();
        let container_responses = answers.inspect_err(|refusal| {
            tracing::warn!(%refusal, "the plugin refused an allocation");
        })?;
        Ok(Response::new(AllocateResponse { container_responses }))
    }

    async fn pre_start_container(
        &self,
        _: Request<PreStartContainerRequest>,
    ) -> Result<Response<PreStartContainerResponse>, Status> {
        Ok(Response::new(PreStartContainerResponse {}))
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unknown(_) => Self::invalid_argument(refusal.to_string()),
            Refusal::Unhealthy(_) => Self::failed_precondition(refusal.to_string()),
        }
    }
}

fn list(devices: &Devices) -> ListAndWatchResponse {
    let device = |(id, health): (String, &str)| Device { id, health: health.to_owned(), topology: None };
    ListAndWatchResponse { devices: devices.list().map(device).collect() }
}

fn allocate(
    devices: &Devices,
    container: ContainerAllocateRequest,
    faults: Faults,
) -> Result<ContainerAllocateResponse, Refusal> {
    for id in &container.devices_ids {
        devices.check(id)?;
    }
    let mut ids = container.devices_ids;
    if faults.same_gpus {
        ids = devices.list().map(|(id, _)| id).take(ids.len()).collect();
    }
    let ids = ids.join(",");
    tracing::info!(%ids, "devices allocated to a container");
    let envs = HashMap::from([(DEVICES_VARIABLE.to_owned(), ids)]);
    Ok(ContainerAllocateResponse { envs, ..ContainerAllocateResponse::default() })
}
