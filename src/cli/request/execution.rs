use conformance_driver::test_cluster::DEFAULT_SEED;

use crate::Failure;
use crate::options::{Depth, ExecutionOptions};

#[derive(Debug, Clone)]
pub(crate) struct Execution {
    pub depth: Depth,
    pub seed: Option<u64>,
    pub retries: u32,
    pub fail_fast: bool,
    pub strict: bool,
    pub timeout_scale: f64,
    pub concurrency: Option<usize>,
}

impl Execution {
    pub(super) fn of(options: &ExecutionOptions) -> Result<Self, Failure> {
        let timeout_scale = options.timeout_scale.unwrap_or(1.0);
        if !(0.01..=100.0).contains(&timeout_scale) {
            return Err(Failure::Usage(format!(
                "--timeout-scale {timeout_scale}: expected a number between 0.01 and 100"
            )));
        }
        Ok(Self {
            depth: options.depth.unwrap_or_default(),
            seed: options.seed,
            retries: options.retries.unwrap_or_default(),
            fail_fast: options.fail_fast.unwrap_or_default(),
            strict: options.strict.unwrap_or_default(),
            timeout_scale,
            concurrency: options.concurrency,
        })
    }

    pub(crate) fn is_quick(&self) -> bool {
        self.depth == Depth::Quick
    }

    pub(crate) fn is_full(&self) -> bool {
        self.depth == Depth::Full
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(DEFAULT_SEED)
    }
}
