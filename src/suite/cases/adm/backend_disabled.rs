//! `outside`, 2 + 2 pods, is a scheduler's that the harness enables and that does not exist: its pods are released and
//! wait. Then the controller is started without that scheduler's profile. `inside`, 2 pods of the default scheduler, is
//! whole when the controller has worked for a while.

use serde_json::{Value, json};

use crate::cluster::local::EXTERNAL_SCHEDULER;
use crate::suite::alone;
use crate::suite::case::{Case, Lane, nodes};
use crate::suite::history::History;
use crate::suite::judge::admission::{Attempt, answers, refused};
use crate::suite::judge::gang_resources::{is_warning, told};
use crate::suite::judge::{Finding, backends, cleanup, finding};
use crate::suite::limits::REACTION;
use crate::suite::trial::{Stop, Trial};

/// ADM-11.
pub const CASE: Case = Case {
    id: "adm/backend-disabled",
    title: "A backend disabled under a live PodCliqueSet takes nothing away, and says so",
    clauses: &["ADM-11"],
    nodes: &[nodes(1)],
    manifest: include_str!("backend_disabled.yaml"),
    lane: Lane::Alone,
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const SET: &str = "outside";
const POD_GANG: &str = "outside-0";
const BESIDE: &str = "inside";

/// Mark: from here on the controller's configuration lacks the scheduler.
const DISABLED: &str = "backend disabled";
/// Mark: nothing was asked for yet that would change what is there.
const STILL_LIVE: &str = "still live";

const NEW: &[Attempt] =
    &[refused("a new one for a backend that is disabled", &[EXTERNAL_SCHEDULER, "not enabled"], |_| {})];

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    let gangs = trial.submit(SET).await?;
    trial.until_released(&gangs[0]).await?;
    alone::restored(trial, |trial| Box::pin(without_the_profile(trial))).await
}

async fn without_the_profile(trial: &mut Trial) -> Result<(), Stop> {
    let without = trial.local()?.spec().controller.without_profile(EXTERNAL_SCHEDULER);
    trial.mark(DISABLED, json!({"profile": EXTERNAL_SCHEDULER}));
    trial.restart_controller(without).await?;
    trial
        .until("an event that the backend is not enabled", REACTION, |live| {
            live.of("Event").any(|event| is_warning(event, POD_GANG, SET, EXTERNAL_SCHEDULER))
        })
        .await?;
    trial.creates(&trial.manifest(SET)?, NEW).await?;
    trial.submit(BESIDE).await?;
    trial.until_bound(2).await?;
    trial.mark(STILL_LIVE, Value::Null);
    for name in [SET, BESIDE] {
        trial.delete("PodCliqueSet", name).await?;
    }
    trial.until_nothing_left().await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("ADM-11", || {
        let (disabled, _) = history.reached(DISABLED)?;
        told(history, disabled, POD_GANG, SET, EXTERNAL_SCHEDULER)?;
        answers(history, NEW)?;
        let (still, _) = history.reached(STILL_LIVE)?;
        backends::left_alone(history, SET, disabled..still)?;
        cleanup::nothing_left(history)
    })]
}
