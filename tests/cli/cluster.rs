use std::process::Command;
use std::time::{Duration, Instant};

use crate::{Cli, processes_of, stderr, stdout};

#[test]
fn no_process_outlives_a_killed_supervisor() {
    let cli = Cli::new();
    let up = cli.run(&["cluster", "create", "orphan"]);
    assert_eq!(up.status.code(), Some(0), "{}", stderr(&up));
    let state = cli.home.path().join("state");
    assert!(processes_of(&state) >= 6, "a control plane is at least six processes");
    let card =
        std::fs::read_to_string(state.join("clusters/orphan/cluster.json")).expect("the cluster has a card");
    let card: serde_json::Value = serde_json::from_str(&card).expect("it is JSON");
    let supervisor = card["supervisor"].to_string();
    let killed = Command::new("kill").args(["-9", &supervisor]).status().expect("kill runs");
    assert!(killed.success());
    let begin = Instant::now();
    while processes_of(&state) > 0 {
        assert!(begin.elapsed() < Duration::from_secs(10), "{} processes are left", processes_of(&state));
        std::thread::yield_now();
    }
    let clean = cli.run(&["clean"]);
    assert!(stdout(&clean).contains("orphan"), "{}", stdout(&clean));
    assert!(!state.join("clusters/orphan").exists());
}
