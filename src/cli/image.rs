//! `dev image`: builds the suite's image, one static program on `scratch`, for pods of a cluster.

use conformance_programs::images::{self, NOBODY};
use conformance_programs::own_program::SUITE;
use conformance_report::Exit;

use super::args::ImageArgs;
use super::built_programs::this_program;
use super::{Failure, output};

/// Needs a container engine, and a program that can be linked statically.
pub(crate) async fn image(args: &ImageArgs) -> Result<Exit, Failure> {
    let program = images::static_program(SUITE, Some(&this_program()?)).await?;
    let image = match &args.tag {
        Some(tag) => images::named(SUITE, &program, Some(NOBODY), tag).await?,
        None => images::of_program(SUITE, &program, Some(NOBODY)).await?,
    };
    output::say(&format!("image {} {:.1} MB", image.reference, image.bytes as f64 / 1e6));
    output::data(&image.reference);
    Ok(Exit::Conformant)
}
