//! `observe`: asks schedulers the questions of the observations, and writes a table, `behaviour.json` and a
//! page. The exit code changes only if `--fail-on-change` finds another answer than an earlier one.

mod page;
mod table;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use conformance_contract::target::Target;
use conformance_driver::case::Isolation;
use conformance_history::History;
use conformance_observe::{
    Answered, Asked, Behaviour, Cell, Evidence, NoAnswer, Observation, Outcome, Question,
    contradicted_decisions, differences,
};
use conformance_page::{PAGE, answered};
use conformance_programs::blocking::in_place;
use conformance_programs::components::digest;
use conformance_programs::home;
use conformance_report::Exit;
use conformance_run::environment::Environment;
use conformance_run::interruption::Interruption;
use jiff::Timestamp;
use tokio::task::JoinSet;

use crate::args::ObserveArgs;
use crate::output::{self, Console};
use crate::report_files::command;
use crate::request::Request;
use crate::{Failure, run, unknown};

const DOCUMENT: &str = "behaviour.json";
const HISTORIES: &str = "histories";

struct Questions {
    chosen: Vec<&'static Observation>,
    targets: Vec<Target>,
    rounds: u32,
}

type Round = (u32, Answered, Option<Evidence>);

/// Keyed by the position of the question, and the target.
type Rounds = BTreeMap<(usize, Target), Vec<Round>>;

pub(crate) async fn observe(args: ObserveArgs, interruption: &Arc<Interruption>) -> Result<Exit, Failure> {
    let chosen = chosen(&args.names, args.slow, args.load)?;
    let old = args.against.as_deref().map(read).transpose()?;
    let (rounds, fails_on_change) = (args.repeat, args.fail_on_change);
    let request = Request::of_observe(args)?;
    let kubernetes = request.subject.versions.first().copied().unwrap_or_default();
    let mut plan = run::plan(kubernetes, &request)?;
    let console = Console::quiet_if(request.output.quiet);
    let environment = run::environment(kubernetes, &mut plan, &request, interruption, &console).await?;
    let environment = Arc::new(environment);
    let accepting = interruption.accept_requests();
    let questions = Questions { chosen, targets: plan.targets, rounds };
    console.now("starting a control plane");
    let folder = &request.output.folder;
    let answers = ask(&environment, &questions, folder, &console).await;
    let document = document(&environment, &questions, answers).await;
    console.end();
    run::close(&environment).await;
    drop(accepting);
    output::data(&table::table(&document));
    let contradicted = contradicted_decisions(&document).map_err(|error| unexpected(&error))?;
    contradicted.iter().for_each(|line| output::data(line));
    // Write the document before the page: a page that cannot be rendered then loses no answer.
    write(&folder.join(DOCUMENT), document.write().map_err(|error| unexpected(&error))?)?;
    let page = in_place(|| answered(&page::answers(&document, contradicted), folder));
    write(&folder.join(PAGE), page.map_err(|error| unexpected(&error))?)?;
    let compared = old.map_or(Exit::Conformant, |old| compare(&old, &document, fails_on_change));
    let is_answered = |cell: &Cell| matches!(cell.outcome, Outcome::Answered | Outcome::Varies);
    if interruption.is_requested() || !document.cells().any(|(_, cell)| is_answered(cell)) {
        return Ok(compared.max(Exit::Inconclusive));
    }
    Ok(compared)
}

fn write(path: &Path, content: String) -> Result<(), Failure> {
    home::write(path, content)?;
    output::say(&format!("wrote {}", path.display()));
    Ok(())
}

fn unexpected(error: &dyn std::fmt::Display) -> Failure {
    Failure::Infrastructure(error.to_string())
}

/// Without names, all observations except slow ones and those about load, which need their option or id.
fn chosen(names: &[String], slow: bool, load: bool) -> Result<Vec<&'static Observation>, Failure> {
    for name in names {
        if !conformance_observe::all().any(|observation| observation.case.is_called(name)) {
            let known: Vec<_> = conformance_observe::all()
                .flat_map(|observation| [observation.id(), observation.case.group()])
                .collect();
            return Err(unknown::name("observation", name, &known, "docs/observe.md lists them"));
        }
    }
    let is_chosen = |observation: &&Observation| {
        let is_asked = match observation.asked {
            Asked::Always => !load,
            Asked::Slow => slow,
            Asked::Load => load,
        };
        let is_named = names.is_empty() || names.iter().any(|name| observation.case.is_called(name));
        (is_asked && is_named) || names.iter().any(|name| name == observation.id())
    };
    let mut found: Vec<_> = conformance_observe::all().filter(is_chosen).collect();
    found.sort_by_key(|observation| observation.id());
    let of_load = found.iter().filter(|observation| observation.asked == Asked::Load).count();
    if found.is_empty() {
        let reason = "no question is selected: docs/observe.md lists those that need --slow or --load";
        return Err(Failure::Usage(reason.into()));
    }
    if of_load > 0 && of_load < found.len() {
        let reason =
            "questions about load are asked alone: pass --load without --slow and without other questions";
        return Err(Failure::Usage(reason.into()));
    }
    Ok(found)
}

fn read(path: &Path) -> Result<Behaviour, Failure> {
    let failed =
        |reason: &dyn std::fmt::Display| Failure::Usage(format!("--against {}: {reason}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    Behaviour::read(&text).map_err(|error| failed(&error))
}

async fn ask(
    environment: &Arc<Environment>,
    questions: &Questions,
    folder: &Path,
    console: &Console,
) -> Rounds {
    let mut background = environment.grow_in_background();
    let mut asked = Vec::new();
    for round in 0..questions.rounds {
        for (index, observation) in questions.chosen.iter().copied().enumerate() {
            let targets = questions.targets.iter().copied();
            asked.extend(
                targets
                    .filter(|target| observation.why_not(*target).is_none())
                    .map(|target| (index, target, round, observation)),
            );
        }
    }
    // Exclusive questions go first: each would otherwise wait for the running ones, and block the others.
    asked.sort_by_key(|(.., observation)| observation.case.isolation != Isolation::Exclusive);
    let mut running = JoinSet::new();
    for (index, target, round, observation) in asked {
        let environment = environment.clone();
        running.spawn(async move {
            let observed = Box::pin(environment.observe(&observation.case, target)).await;
            (index, target, round, observed)
        });
    }
    let total = running.len();
    let mut rounds = Rounds::new();
    let mut done = 0;
    while let Some(ended) = running.join_next().await {
        done += 1;
        let (index, target, round, observed) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                output::say(&format!("an observation was aborted: {error}"));
                continue;
            }
        };
        let observation = questions.chosen[index];
        let (answered, evidence) = match observed {
            Ok(observed) => {
                let history = &observed.history;
                in_place(|| (observation.answer(history), keep(folder, observation, target, round, history)))
            }
            Err(reason) => (Err(NoAnswer::Because(reason)), None),
        };
        let word = answered.as_ref().map_or("no answer", |answer| answer.word);
        console.now(&format!("[{done}/{total}] {:<40} {} {word}", observation.id(), target.backend()));
        rounds.entry((index, target)).or_default().push((round, answered, evidence));
    }
    background.shutdown().await;
    rounds
}

/// Prints a failure, which changes no answer.
fn keep(
    folder: &Path,
    observation: &Observation,
    target: Target,
    round: u32,
    history: &History,
) -> Option<Evidence> {
    let name = format!("{}-{}.jsonl", observation.id().replace('/', "-"), round + 1);
    let file = Path::new(HISTORIES).join(target.backend()).join(name);
    match write_history(&folder.join(&file), history) {
        Ok(sha256) => Some(Evidence { file: file.display().to_string(), sha256, excerpt_of: None }),
        Err(failure) => {
            output::say(&format!("{} cannot be written: {failure}", file.display()));
            None
        }
    }
}

/// Returns the digest.
pub(crate) fn write_history(path: &Path, history: &History) -> Result<String, Failure> {
    let mut text = Vec::new();
    history.write(&mut text).map_err(|error| Failure::Infrastructure(error.to_string()))?;
    home::write(path, text)?;
    Ok(digest(path)?)
}

async fn document(environment: &Environment, questions: &Questions, mut answers: Rounds) -> Behaviour {
    let mut versions = BTreeMap::new();
    for target in &questions.targets {
        versions.insert(*target, environment.versions(*target).await);
    }
    let version = |target: Target| versions.get(&target).map_or("unknown", |(_, version)| version.as_str());
    let mut all = Vec::new();
    for (index, observation) in questions.chosen.iter().enumerate() {
        let mut cells = Vec::new();
        for target in questions.targets.iter().copied() {
            let mut rounds = answers.remove(&(index, target)).unwrap_or_default();
            rounds.sort_by_key(|(round, ..)| *round);
            let rounds = rounds.into_iter().map(|(_, answered, evidence)| (answered, evidence)).collect();
            let mut cell = conformance_observe::cell(target.backend(), version(target), rounds);
            if let Some(reason) = observation.why_not(target) {
                cell.outcome = Outcome::DoesNotApply;
                cell.reason = Some(reason.to_owned());
            }
            cells.push(cell);
        }
        all.push(Question {
            id: observation.id().to_owned(),
            question: observation.question().to_owned(),
            answers: observation.answers.iter().map(|answer| (*answer).to_owned()).collect(),
            cells,
        });
    }
    let kubernetes = versions.values().next().map(|(kubernetes, _)| kubernetes.clone());
    Behaviour {
        api_version: Behaviour::API_VERSION.into(),
        kind: Behaviour::KIND.into(),
        date: Timestamp::now().to_string(),
        suite: env!("CARGO_PKG_VERSION").into(),
        command: command(),
        kubernetes: kubernetes.unwrap_or_default(),
        rounds: questions.rounds,
        questions: all,
    }
}

fn compare(old: &Behaviour, new: &Behaviour, fails_on_change: bool) -> Exit {
    let found = differences(old, new);
    for line in &found.changed {
        output::data(&format!("changed: {line}"));
    }
    for loss in &found.lost {
        output::data(&format!("no longer answered: {}: {}", loss.place, loss.reason));
    }
    if found.changed.is_empty() && found.lost.is_empty() {
        output::data("no answer changed");
    }
    match (fails_on_change, found.changed.is_empty(), found.lost.is_empty()) {
        (true, false, _) => Exit::NotConformant,
        (true, true, false) => Exit::Inconclusive,
        (true, true, true) | (false, ..) => Exit::Conformant,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids_with(names: &[&str], slow: bool, load: bool) -> Result<Vec<&'static str>, String> {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let chosen = chosen(&names, slow, load).map_err(|failure| failure.to_string())?;
        Ok(chosen.into_iter().map(Observation::id).collect())
    }

    fn ids(names: &[&str]) -> Result<Vec<&'static str>, String> {
        ids_with(names, false, false)
    }

    const SLOW: &str = "waits/room-after-a-minute";
    const LOAD: &str = "load/many-waiting-gangs";

    #[test]
    fn slow_questions_and_those_about_load_need_an_option_or_their_id() {
        let (usual, slow) = (ids(&[]).unwrap(), ids_with(&[], true, false).unwrap());
        assert!(!usual.contains(&SLOW) && slow.contains(&SLOW) && slow.len() > usual.len());
        assert!(!ids(&["waits"]).unwrap().contains(&SLOW));
        assert_eq!((ids(&[SLOW]).unwrap(), ids(&[LOAD]).unwrap()), (vec![SLOW], vec![LOAD]));
        assert_eq!(ids_with(&[], false, true).unwrap(), [LOAD]);
        assert!(ids(&["load"]).unwrap_err().contains("need --slow or --load"));
        assert!(ids_with(&[], true, true).unwrap_err().contains("are asked alone"));
    }

    #[test]
    fn names_are_ids_or_groups() {
        let usual = conformance_observe::all().filter(|observation| observation.asked == Asked::Always);
        assert_eq!(ids(&[]).unwrap().len(), usual.count());
        assert_eq!(ids(&["bound/lost-pod-replaced"]).unwrap(), ["bound/lost-pod-replaced"]);
        let group = ids(&["surplus", "members"]).unwrap();
        assert!(group.iter().all(|id| id.starts_with("surplus/") || id.starts_with("members/")), "{group:?}");
        let failure = ids(&["bound/lost-pod"]).unwrap_err();
        assert!(failure.contains("did you mean \"bound/lost-pod-replaced\"?"), "{failure}");
    }

    fn document(outcome: Outcome, answer: &str) -> Behaviour {
        let cell = conformance_observe::cell("volcano", "v1.15.1", Vec::new());
        let cell = Cell { outcome, answer: Some(answer.to_owned()), ..cell };
        let question = Question { cells: vec![cell], ..Question::default() };
        Behaviour { questions: vec![question], ..Behaviour::default() }
    }

    #[rstest::rstest]
    #[case::changed(Outcome::Answered, "waits", true, Exit::NotConformant)]
    #[case::changed_without_the_option(Outcome::Answered, "waits", false, Exit::Conformant)]
    #[case::same(Outcome::Answered, "bound", true, Exit::Conformant)]
    #[case::lost(Outcome::NoAnswer, "", true, Exit::Inconclusive)]
    #[case::lost_without_the_option(Outcome::NoAnswer, "", false, Exit::Conformant)]
    fn a_change_fails_only_with_the_option(
        #[case] outcome: Outcome,
        #[case] answer: &str,
        #[case] fails: bool,
        #[case] exit: Exit,
    ) {
        let old = document(Outcome::Answered, "bound");
        assert_eq!(compare(&old, &document(outcome, answer), fails), exit);
    }
}
