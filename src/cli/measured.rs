//! Measured time, memory and disk, for `doctor`, the start of a run, and `docs/requirements.md`.

use conformance_install::memory;
use conformance_programs::{available_memory, home};
use serde_json::Value;

const MEASURED: &str = include_str!("measured.json");

pub(crate) fn memory_of_run(schedulers: usize) -> Result<String, String> {
    let found = memory::check(schedulers).found?;
    Ok(match of_run(schedulers) {
        Some(measured) => format!("{found}; measured: {measured}"),
        None => found,
    })
}

/// The free disk of the cache folder, and what builds with empty caches used.
pub(crate) fn disk_of_builds() -> Option<String> {
    let cache = home::cache();
    let free = home::free_mib(&cache).ok()? as f64 / 1024.0;
    let measured: Value = serde_json::from_str(MEASURED).ok()?;
    let used = measured["builds"].as_array()?.iter().rev().find_map(|build| build["disk"].as_str())?;
    Some(format!("{free:.1} GiB free in {}; measured with empty caches: {used}", cache.display()))
}

/// The line before a run that has less memory than a measured run used. With even less, it does not start.
pub(crate) fn less_memory_than_measured(schedulers: usize) -> Option<String> {
    less_than_measured(schedulers, available_memory::in_mib()?)
}

fn less_than_measured(schedulers: usize, available_mib: u64) -> Option<String> {
    let available = available_mib as f64 * 1.048_576 / 1000.0;
    let (peak, measured) = (peak_gigabytes(&default_run(schedulers)?)?, of_run(schedulers)?);
    (available < peak).then(|| {
        format!(
            "{available:.1} GB of memory are available; a run like this was measured: {measured}; with less \
             memory, fewer control planes start"
        )
    })
}

fn default_run(schedulers: usize) -> Option<Value> {
    let measured: Value = serde_json::from_str(MEASURED).ok()?;
    let is_measured = |run: &&Value| run["isDefault"] == true && run["schedulers"] == schedulers;
    measured["runs"].as_array()?.iter().find(is_measured).cloned()
}

fn peak_gigabytes(run: &Value) -> Option<f64> {
    Some(run["peakMegabytes"].as_f64()? / 1000.0)
}

fn of_run(schedulers: usize) -> Option<String> {
    let run = default_run(schedulers)?;
    let (peak, seconds) = (peak_gigabytes(&run)?, run["seconds"].as_f64()?);
    let measured: Value = serde_json::from_str(MEASURED).ok()?;
    let machine = &measured["machines"][run["on"].as_str()?];
    Some(format!("{peak:.1} GB at the peak, {}, on {}", time(seconds), machine.as_str()?))
}

fn time(seconds: f64) -> String {
    if seconds < 90.0 { format!("{seconds:.0} s") } else { format!("{:.1} min", seconds / 60.0) }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use conformance_programs::preflight::BUILD_MEMORY_MIB;

    use super::*;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/requirements.md");
    const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");

    fn measured() -> Value {
        serde_json::from_str(MEASURED).unwrap()
    }

    fn rows<'a>(measured: &'a Value, table: &str) -> impl Iterator<Item = &'a Value> {
        measured[table].as_array().unwrap().iter()
    }

    #[test]
    fn doctor_shows_the_measured_run() {
        let wanted =
            "2.8 GB at the peak, 3.0 min, on two cores that need 6.6 s for `sha256sum` of 2 GB of zeros";
        assert_eq!(of_run(1).as_deref(), Some(wanted));
        assert!(of_run(3).is_some_and(|found| found.starts_with("5.3 GB at the peak, 10.5 min")));
        assert_eq!(of_run(2), None);
    }

    #[test]
    fn a_run_with_less_memory_than_measured_says_so() {
        let line = less_than_measured(1, 2200).unwrap();
        assert!(line.starts_with("2.3 GB of memory are available; a run like this was measured: 2.8 GB"));
        assert_eq!(less_than_measured(1, 2800), None);
        assert!(less_than_measured(3, 2800).is_some());
        assert_eq!(less_than_measured(2, 1), None, "it was not measured");
    }

    #[test]
    fn the_page_shows_the_measured_figures() {
        let page = page(&measured());
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(PAGE, &page).unwrap();
        }
        assert_eq!(std::fs::read_to_string(PAGE).unwrap_or_default(), page, "UPDATE_DOCS=1 writes it");
    }

    #[test]
    fn the_readme_has_the_measured_times() {
        let measured = measured();
        let seconds =
            |table: &str, row: usize| rows(&measured, table).nth(row).unwrap()["seconds"].as_f64().unwrap();
        let run = rows(&measured, "runs").find(|run| run["isDefault"] == true).unwrap()["seconds"]
            .as_f64()
            .unwrap();
        let first = (seconds("builds", 0) + seconds("builds", 1) + run) / 60.0;
        let wanted = format!("about {first:.0} minutes; the next run takes {:.0}.", run / 60.0);
        assert!(std::fs::read_to_string(README).unwrap().contains(&wanted), "README.md: {wanted}");
    }

    fn page(measured: &Value) -> String {
        let mut page = String::from(
            "<!-- Generated from src/cli/measured.json by src/cli/measured.rs: UPDATE_DOCS=1. -->\n\n\
             # Time, memory and disk\n\nAn empty cell was not measured. [`dev bench`](install.md#measure-a-machine) \
             measures another machine.\n\n## Builds\n\n\
             | step | time | CPU seconds | required memory | required disk | measured |\n|---|---|---|---|---|---|\n",
        );
        for row in rows(measured, "builds") {
            let disk = row["disk"].as_str().unwrap_or_default();
            writeln!(page, "| {} | {} | {disk} | {} |", start(row), gib(BUILD_MEMORY_MIB), when(row))
                .unwrap();
        }
        page.push_str(
            "\n## Runs\n\nA run starts only if the required memory is available. In a container, the container's memory limit counts. \
             `doctor`\nshows whether this machine has enough. A run of the whole suite prints a line if the machine has less than \
             the measured peak.\n\n\
             | run | time | CPU seconds | peak memory | required memory | measured |\n|---|---|---|---|---|---|\n",
        );
        for row in rows(measured, "runs") {
            let peak = row["peakMegabytes"].as_f64().map(|peak| format!("{:.1} GB", peak / 1000.0));
            let schedulers = row["schedulers"].as_u64().and_then(|number| usize::try_from(number).ok());
            let required = schedulers.map(|number| gib(memory::of_run(number))).unwrap_or_default();
            writeln!(page, "| {} | {} | {required} | {} |", start(row), peak.unwrap_or_default(), when(row))
                .unwrap();
        }
        page.push_str(
            "\n## Tests\n\n`cargo test` runs these test programs one after the other. The times do not include the builds of their \
             programs.\n\n\
             | test program | programs | time | measured |\n|---|---|---|---|\n",
        );
        for row in rows(measured, "tests") {
            let programs = row["programs"].as_str().unwrap();
            writeln!(page, "| {} | {programs} | {} | {} |", what(row), seconds(row), when(row)).unwrap();
        }
        page.push_str("\n## Machines\n\n");
        for (name, about) in measured["machines"].as_object().unwrap() {
            writeln!(page, "- {name}: {}", about.as_str().unwrap()).unwrap();
        }
        page
    }

    fn what(row: &Value) -> &str {
        row["what"].as_str().unwrap()
    }

    fn seconds(row: &Value) -> String {
        row["seconds"].as_f64().map(time).unwrap_or_default()
    }

    fn start(row: &Value) -> String {
        let processor = row["cpuSeconds"].as_u64().map(|number| number.to_string()).unwrap_or_default();
        format!("{} | {} | {processor}", what(row), seconds(row))
    }

    fn when(row: &Value) -> String {
        match (row["on"].as_str(), row["date"].as_str()) {
            (Some(on), Some(date)) => format!("{on}, {date}"),
            _ => String::new(),
        }
    }

    fn gib(mib: u64) -> String {
        format!("{:.1} GiB", mib as f64 / 1024.0)
    }
}
