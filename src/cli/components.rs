//! `dev components`: lists, builds, verifies or copies the programs of clusters.

use std::path::Path;

use conformance_install::catalogue::{self, catalogue, components_for, module_files};
use conformance_install::schedulers;
use conformance_install::versions::of_preview;
use conformance_programs::components::{Overrides, Program, Replacement, Source, Toolbox, fetch};
use conformance_report::Exit;

use super::args::{ComponentsArgs, ComponentsVerb};
use super::options::Versions;
use super::output::{self, Console};
use super::request::ProgramRequest;
use super::{Failure, given};

pub(crate) async fn components(args: &ComponentsArgs) -> Result<Exit, Failure> {
    let programs = ProgramRequest::of(&args.programs)?;
    if let Some(word) = programs.config_words().first() {
        return Err(Failure::Usage(format!(
            "--scheduler-config {word}: components are built without a configuration; omit it"
        )));
    }
    let files = programs.files.iter().cloned();
    let overrides: Overrides = files.map(|(name, path)| (name, Replacement::File(path))).collect();
    let mut others = programs.versions.clone();
    others.extend(args.kubernetes.all().into_iter().flat_map(of_preview));
    others.retain(|selected| !selected.is_pinned());
    let console = Console::default();
    let sources = given::opened(&programs).await?;
    match &args.verb {
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
            for selected in &others {
                let component = selected.component().await?;
                let (name, version, module) = (component.name, component.version, component.module_path());
                let state = if Toolbox::is_built(component).await { "built" } else { "not built" };
                output::data(&format!("{name:<28}{version:<14}{module:<29}{state}"));
            }
            for source in &sources {
                for (name, is_built) in source.programs_built().await? {
                    let (version, dir) = (source.version(), source.dir().display());
                    let state = if is_built { "built" } else { "not built" };
                    output::data(&format!("{name:<28}{version:<14} {dir} {state}"));
                }
            }
        }
        ComponentsVerb::Fetch { to } => {
            if let Some((name, source)) = args.programs.given.first() {
                return Err(Failure::Usage(format!(
                    "--component {name}={source}: dev components fetch copies pinned programs; omit it"
                )));
            }
            if !others.is_empty() {
                return Err(Failure::Usage(
                    "dev components fetch copies pinned programs, not previews; pass another --kubernetes"
                        .into(),
                ));
            }
            copy(args.kubernetes, to, &console).await?;
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
            for selected in &others {
                let program = selected.program(&console).await?;
                console.end();
                if args.verb == ComponentsVerb::Verify {
                    program.verify()?;
                }
                print(&program);
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

async fn copy(versions: Versions, to: &Path, console: &Console) -> Result<(), Failure> {
    if std::fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::Usage(format!(
            "--to {}: the folder is not empty: pass a new or empty folder",
            to.display()
        )));
    }
    let wanted = schedulers::all().collect();
    let mut programs = Vec::new();
    for version in versions.all() {
        let components: Vec<_> = components_for(version, &wanted, true).collect();
        let toolbox = Toolbox::prepare_only(components.iter().copied(), &Overrides::new(), console).await?;
        console.end();
        for component in components {
            programs.push((component, toolbox.get(component.name)?.clone()));
        }
    }
    let fetched = fetch(to, &programs, &module_files(&wanted, true)).await?;
    let megabytes = fetched.bytes as f64 / 1e6;
    output::data(&format!("{}: {} files, {megabytes:.0} MB", to.display(), fetched.files));
    Ok(())
}

fn print(program: &Program) {
    let source = match (&program.source, program.built_in) {
        (Source::Given, _) => "given".to_owned(),
        (Source::Built | Source::Version, Some(seconds)) => format!("built now, {seconds:.0} s"),
        (Source::Built | Source::Version, None) => "cached".to_owned(),
    };
    output::data(&format!(
        "{:<28}{:<14}{source:<20}sha256:{} {}",
        program.name,
        program.version,
        program.sha256,
        program.path.display()
    ));
}
