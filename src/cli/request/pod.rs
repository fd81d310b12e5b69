use conformance_cluster::suite::run_of_share;
use conformance_report::Shard;

use crate::Failure;
use crate::options::PodOptions;

/// The Job controller sets this variable, from 0.
const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";
/// The run id with which a pod labels its objects.
const RUN_VARIABLE: &str = "GROVE_CONFORMANCE_RUN";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pod {
    /// The id that distinguishes the objects of this pod from those of other pods.
    pub run_id: Option<String>,
    /// The index, from 0, and the number of shares. Only pods of an Indexed Job have them.
    pub share: Option<(usize, usize)>,
    pub store_results: bool,
}

impl Pod {
    pub(super) fn of(options: &PodOptions) -> Result<Self, Failure> {
        let share = match options.shards {
            Some(shards) => Some((index()?, shards.get())),
            None => None,
        };
        let run = std::env::var(RUN_VARIABLE).ok().filter(|run| !run.is_empty());
        let run_id = run.map(|run| run_of_share(&run, share.map_or(0, |(index, _)| index)));
        Ok(Self { run_id, share, store_results: options.store_results.unwrap_or_default() })
    }

    pub(super) fn shard(&self) -> Result<Option<Shard>, Failure> {
        let Some((index, shards)) = self.share else { return Ok(None) };
        let none = || {
            Failure::Usage(format!(
                "{INDEX_VARIABLE} is {index}, and pod.shards is {shards}: set pod.shards to the completions of the Job"
            ))
        };
        Shard::at(index, shards).map(Some).ok_or_else(none)
    }
}

fn index() -> Result<usize, Failure> {
    let index = std::env::var(INDEX_VARIABLE).ok().and_then(|index| index.parse().ok());
    index.ok_or_else(|| {
        Failure::Usage(format!(
            "pod.shards needs a pod of an Indexed Job, which has {INDEX_VARIABLE}; otherwise pass --shard \
             I/N, or let `job --shards N` create the Job"
        ))
    })
}
