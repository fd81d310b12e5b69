//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: one pod short.

use crate::causes::{self, GANG};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("How many pods of a gang that does not fit name the missing resource?")
        .answers(&["none", "one", "some", "every"])
        .nodes(&[nodes(2).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit(test, &GANG, GANG.minimum).await?;
    causes::until_reported(test).await
}

fn answer(history: &History) -> Answered {
    let live = seen::observed(history)?;
    let pods = seen::pods(&live, &GANG);
    let naming = pods.iter().filter(|pod| reports::names_gpus(**pod)).count();
    let word = match naming {
        0 => "none",
        1 => "one",
        _ if naming < pods.len() => "some",
        _ => "every",
    };
    Ok(Answer::new(word).count("pods", pods.len(), "pods").notes(reports::pod_messages(&live, &GANG)))
}
