//! `dev components`: lists, builds or verifies the programs of clusters.

use conformance_install::catalogue::{self, catalogue};
use conformance_programs::components::{Overrides, Program, Source, Toolbox};
use conformance_report::Exit;

use super::args::{ComponentsArgs, ComponentsVerb};
use super::output::{self, Console};
use super::request::ProgramRequest;
use super::{Failure, given};

pub(crate) async fn components(args: &ComponentsArgs) -> Result<Exit, Failure> {
    let programs = ProgramRequest::of(&args.programs)?;
    if let Some(word) = programs.config_words().first() {
        return Err(Failure::Usage(format!("--scheduler-config {word}: components are built without one")));
    }
    let overrides: Overrides = programs.files.iter().cloned().collect();
    let console = Console::default();
    let sources = given::opened(&programs).await?;
    match args.verb {
        ComponentsVerb::List => {
            let mut listed = Vec::new();
            for component in args.kubernetes.all().iter().flat_map(|version| catalogue(*version)) {
                if listed.contains(&component) {
                    continue;
                }
                listed.push(component);
                let (name, version, module) = (component.name, component.version, component.module.name);
                let state = if Toolbox::is_built(component).await { "built" } else { "not built" };
                output::data(&format!("{name:<28}{version:<14}components/{module:<18}{state}"));
            }
            for source in &sources {
                for (name, is_built) in source.programs_built().await? {
                    let (version, dir) = (source.version(), source.dir().display());
                    let state = if is_built { "built" } else { "not built" };
                    output::data(&format!("{name:<28}{version:<14} {dir} {state}"));
                }
            }
        }
        ComponentsVerb::Build | ComponentsVerb::Verify => {
            // Build the user's own source first: if it does not compile, the user need not wait for the rest.
            for source in sources {
                let scheduler = source.build(&console).await?;
                console.end();
                if args.verb == ComponentsVerb::Verify {
                    scheduler.programs.iter().try_for_each(Program::verify)?;
                }
                scheduler.programs.iter().for_each(print);
            }
            for version in args.kubernetes.all() {
                let toolbox = catalogue::prepare(version, &overrides, &console).await?;
                console.end();
                if args.verb == ComponentsVerb::Verify {
                    toolbox.verify().await?;
                }
                toolbox.programs().for_each(print);
            }
        }
    }
    Ok(Exit::Conformant)
}

fn print(program: &Program) {
    let source = match (&program.source, program.built_in) {
        (Source::Given, _) => "given".to_owned(),
        (Source::Built, Some(seconds)) => format!("built now, {seconds:.0} s"),
        (Source::Built, None) => "cached".to_owned(),
    };
    output::data(&format!(
        "{:<28}{:<14}{source:<20}sha256:{} {}",
        program.name,
        program.version,
        program.sha256,
        program.path.display()
    ));
}
