//! Requirements of the Kubernetes AI conformance program, in the words of its checklist for 1.36.

pub(super) struct Shown {
    pub section: &'static str,
    pub id: &'static str,
    pub description: &'static str,
    pub level: &'static str,
    pub clauses: &'static [&'static str],
    /// Whether `clauses` cover the whole requirement. If not, the status claims nothing.
    pub is_whole: bool,
    pub method: &'static str,
}

/// Requirement KAR-0053 of the program.
pub(super) const GANG_SCHEDULING: Shown = Shown {
    section: "schedulingOrchestration",
    id: "gang_scheduling",
    description: "The platform must allow for the installation and successful operation of at least one gang \
        scheduling solution that ensures all-or-nothing scheduling for distributed AI workloads (e.g. Kueue, Volcano, etc.) \
        To be conformant, the vendor must demonstrate that their platform can successfully run at least one such solution.",
    level: "MUST",
    clauses: &["AIC-01", "AIC-02", "AIC-03", "AIC-04"],
    is_whole: true,
    method: " The watch history shows that no pod of a gang without room is bound until two canary gangs, one after the \
        other, have passed through the same scheduler. The proof does not rely on a wait of fixed length. A running pod is \
        one that is Ready. Whether workloads complete is not checked.",
};

/// Requirement KAR-0063 of the program.
pub(super) const ROBUST_CONTROLLER: Shown = Shown {
    section: "operator",
    id: "robust_controller",
    description: "The platform must prove that at least one complex AI operator with a CRD (e.g., Ray, Kubeflow) can be \
        installed and functions reliably. This includes verifying that the operator's pods run correctly, its webhooks are \
        operational, and its custom resources can be reconciled.",
    level: "MUST",
    clauses: &["ADM-04", "GANG-01", "AON-01", "KLT-01", "DEL-01"],
    is_whole: true,
    method: " Admission rejects invalid PodCliqueSets and admits valid ones (ADM-04), the operator reconciles them \
        (GANG-01, AON-01), their containers run on kubelets (KLT-01), and nothing is left after deletion (DEL-01).",
};

/// Requirement KAR-0041 of the program. It demands that a model is served, which no case does.
pub(super) const DISAGGREGATED_INFERENCE: Shown = Shown {
    section: "networking",
    id: "disaggregated_inference",
    description: "Support the deployment and operation of disaggregated inference architectures. To be conformant, the \
        platform should demonstrate that it can successfully install and run a disaggregated inference solution (e.g., vLLM, \
        SGLang, llm-d, or Dynamo, with separate instances for distinct phases like prefill and decode). Disaggregated \
        serving splits phases such as prefill and decode into separately scalable components so each phase can match \
        different compute/memory/network needs, improving GPU utilization and tail latency while enabling higher throughput \
        under mixed and bursty LLM workloads.",
    level: "SHOULD",
    clauses: &["AON-01", "KLT-01", "AUTO-02", "AUTO-03", "AUTO-04"],
    is_whole: false,
    method: " Cliques such as prefill and decode are separate pods that run (AON-01, KLT-01) and are scaled apart from each \
        other (AUTO-02, AUTO-03, AUTO-04). No model was served, so a vendor must add that evidence.",
};
