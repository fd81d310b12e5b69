use conformance_contract::names::GPU;
use fastrand::Rng;
use serde_json::{Map, Value, json};

/// Amounts are thousandths of a CPU, MiB, or devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resource {
    Cpu,
    Memory,
    Gpu,
    Nic,
    Fpga,
}

pub(super) type Request = (Resource, u64);

impl Resource {
    /// Resources that a node has only if it lists them.
    pub(super) const EXTENDED: [Self; 3] = [Self::Gpu, Self::Nic, Self::Fpga];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Gpu => GPU,
            Self::Nic => "rdma/ib",
            Self::Fpga => "example.com/fpga",
        }
    }

    fn drawn(self, rng: &mut Rng) -> u64 {
        match self {
            Self::Cpu => 50 * rng.u64(1..=60),
            Self::Memory => rng.u64(64..=8192),
            Self::Gpu | Self::Nic | Self::Fpga => rng.u64(1..=8),
        }
    }

    pub(super) fn quantity(self, rng: &mut Rng, amount: u64) -> String {
        let is_short = rng.bool();
        match self {
            Self::Cpu if is_short && amount.is_multiple_of(1000) => (amount / 1000).to_string(),
            Self::Cpu => format!("{amount}m"),
            Self::Memory if is_short && amount.is_multiple_of(1024) => format!("{}Gi", amount / 1024),
            Self::Memory if is_short => format!("{}Ki", amount * 1024),
            Self::Memory => format!("{amount}Mi"),
            Self::Gpu | Self::Nic | Self::Fpga => amount.to_string(),
        }
    }
}

pub(super) fn amounts(rng: &mut Rng, resources: &[Resource]) -> Vec<Request> {
    resources.iter().map(|resource| (*resource, resource.drawn(rng))).collect()
}

pub(super) fn some_resources(rng: &mut Rng) -> Vec<Resource> {
    let mut all = vec![Resource::Cpu, Resource::Memory, Resource::Gpu, Resource::Nic];
    rng.shuffle(&mut all);
    all.truncate(rng.usize(1..=3));
    all
}

pub(super) fn pod(rng: &mut Rng, requests: &[Request]) -> Value {
    json!({"containers": [container(rng, "main", requests)]})
}

/// A pod whose init containers request these resources, and the requests of the whole pod. With
/// `has_sidecars`, at least one init container keeps running.
pub(super) fn starting_pod(
    rng: &mut Rng,
    resources: &[Resource],
    has_sidecars: bool,
) -> (Value, Vec<Request>) {
    let main = amounts(rng, resources);
    // The requests of the sidecars, and the maximum of an init container with the sidecars before it.
    let (mut sidecars, mut starting) = (vec![0_u64; resources.len()], vec![0_u64; resources.len()]);
    let count = rng.usize(1..=3);
    let always = rng.usize(0..count);
    let mut init = Vec::new();
    for index in 0..count {
        let requests = amounts(rng, resources);
        let mut started = container(rng, &format!("init-{index}"), &requests);
        let is_sidecar = has_sidecars && (index == always || rng.bool());
        if is_sidecar {
            started["restartPolicy"] = "Always".into();
        }
        for (at, (_, requested)) in requests.iter().enumerate() {
            if is_sidecar {
                sidecars[at] += *requested;
            } else {
                let together = sidecars[at] + *requested;
                starting[at] = together.max(starting[at]);
            }
        }
        init.push(started);
    }
    let pod = json!({"initContainers": init, "containers": [container(rng, "main", &main)]});
    let total = main.iter().enumerate().map(|(at, (resource, requested))| {
        let running = *requested + sidecars[at];
        (*resource, running.max(starting[at]))
    });
    (pod, total.collect())
}

fn container(rng: &mut Rng, name: &str, requests: &[Request]) -> Value {
    let (mut requested, mut limits) = (Map::new(), Map::new());
    for (resource, amount) in requests {
        let quantity = resource.quantity(rng, *amount);
        // The API server rejects an extended resource without a limit, and adds a request to every limit.
        let is_limit = Resource::EXTENDED.contains(resource) || rng.bool();
        let part = if is_limit { &mut limits } else { &mut requested };
        part.insert(resource.name().to_owned(), quantity.into());
    }
    json!({
        "name": name, "image": "registry.k8s.io/pause:3.10",
        "resources": {"requests": requested, "limits": limits},
    })
}
