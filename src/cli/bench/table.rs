//! The layout of `bench --throughput`: a row per mapping and version, with figures without topology and with
//! a required rack.

use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::target::Target;

use super::workload::{self, Size};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Figures {
    /// From the request to the last bound pod.
    pub seconds: f64,
    /// Pods per second, from the first pod released to the scheduler to the last one bound.
    pub bound_rate: f64,
    /// The same, to the last pod released.
    pub released_rate: f64,
}

/// One mapping on one Kubernetes version.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub kubernetes: Kubernetes,
    /// The gate that is turned off, if any.
    pub gate_off: Option<&'static str>,
    pub target: Target,
    /// Without topology, and with a required rack; `None` until measured.
    pub cells: [Option<Figures>; 2],
    /// Resident memory of API server and scheduler at the end of the row, in bytes.
    pub resident: [Option<u64>; 2],
}

impl Row {
    pub(super) fn new(kubernetes: Kubernetes, gate_off: Option<&'static str>, target: Target) -> Self {
        Self { kubernetes, gate_off, target, cells: [None; 2], resident: [None; 2] }
    }
}

const LEGEND: &str = "\
seconds:     from the PodCliqueSet's request to the last pod bound
pods/s:      from the first pod released to the scheduler (its scheduling gates are removed) to the last one bound
released/s:  from the first pod released to the last one; if pods/s is the same, the controller is the bottleneck
resident MB: at the end of the row; PodGroup and PodGang of a version share a control plane, one after the other";

const WIDTHS: [usize; 8] = [9, 8, 12, 9, 8, 12, 15, 12];

/// The legend, the table, and a line per row that describes its mapping.
pub(super) fn table(size: Size, rows: &[Row]) -> String {
    let cell = ["seconds", "pods/s", "released/s"].map(str::to_owned);
    let resident = ["API server", "scheduler"].map(str::to_owned);
    let mut lines = vec![
        size.to_string(),
        LEGEND.to_owned(),
        String::new(),
        format!("{:<22}{:>29}{:>29}{:>27}", "", "without topology", "required rack", "resident MB"),
        line("Kubernetes", "mapping", &[&cell[..], &cell, &resident].concat()),
    ];
    lines.extend(rows.iter().map(|row| {
        let figures = row.cells.iter().flat_map(|cell| match cell {
            Some(Figures { seconds, bound_rate, released_rate }) => {
                [format!("{seconds:.1}"), format!("{bound_rate:.0}"), format!("{released_rate:.0}")]
            }
            None => ["-"; 3].map(str::to_owned),
        });
        let resident = row.resident.iter().map(|bytes| match bytes {
            Some(bytes) => (bytes / 1_000_000).to_string(),
            None => "-".to_owned(),
        });
        line(row.kubernetes.version(), name(row), &figures.chain(resident).collect::<Vec<_>>())
    }));
    lines.push(String::new());
    lines.extend(rows.iter().map(|row| {
        let gate = row.gate_off.map(|gate| format!(", gate {gate} off")).unwrap_or_default();
        format!("{} {}{gate}: {}", row.kubernetes.version(), name(row), workload::mapping(row.target))
    }));
    lines.join("\n")
}

fn name(row: &Row) -> &'static str {
    row.target.scope().unwrap_or_else(|| row.target.name())
}

fn line(kubernetes: &str, mapping: &str, figures: &[String]) -> String {
    let figures: String =
        figures.iter().zip(WIDTHS).map(|(figure, width)| format!("{figure:>width$}")).collect();
    format!("{kubernetes:<12}{mapping:<10}{figures}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_what_was_not_measured_is_a_dash() {
        let figures = |seconds, bound_rate, released_rate| Figures { seconds, bound_rate, released_rate };
        let whole = Row {
            cells: [Some(figures(15.04, 133.4, 310.0)), Some(figures(30.9, 64.7, 1305.5))],
            resident: [Some(466_900_000), Some(125_000_000)],
            ..Row::new(Kubernetes::V1_36, None, Target::KUBE_POD_GROUP)
        };
        let broken = Row {
            cells: [Some(figures(9.96, 201.0, 250.0)), None],
            ..Row::new(Kubernetes::V1_37, Some("CompositePodGroup"), Target::KUBE_POD_GANG)
        };
        let text = table(Size { gangs: 200, nodes: 1000, gpus: 8 }, &[whole, broken]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines[0],
            "2000 pods of 200 gangs (2 cliques of 5 pods of 1 GPU) on 1000 simulated nodes of 8 GPUs, 40 to a rack"
        );
        assert_eq!(
            lines[6..],
            [
                "                                   without topology                required rack                resident MB",
                "Kubernetes  mapping     seconds  pods/s  released/s  seconds  pods/s  released/s     API server   scheduler",
                "v1.36.5     PodGroup       15.0     133         310     30.9      65        1306            466         125",
                "v1.37.2     PodGang        10.0     201         250        -       -           -              -           -",
                "",
                "v1.36.5 PodGroup: a PodGroup per podgroup; each clique must be in one rack",
                "v1.37.2 PodGang, gate CompositePodGroup off: a PodGroup per PodGang; the PodCliqueSet must be in one rack",
            ]
        );
    }
}
