//! Jobs as processes: they run, end, are ended, and outlive the executor that started them.
//!
//! The supervisor is this very test program, called for the one test that supervises.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use executor::{Config, Embedded, Executor, Found, Order, Outcome, Place, RunId, Tasks, supervisor};

/// Set by [`executor`] for what it starts: the folder is the last argument.
const SUPERVISES: &str = "supervises_when_it_is_asked_to";

#[test]
fn supervises_when_it_is_asked_to() {
    let folder = std::env::args().next_back().unwrap_or_default();
    if Path::new(&folder).is_absolute() && Path::new(&folder).is_dir() {
        supervisor::supervise(Path::new(&folder)).unwrap();
    }
}

fn executor(base: &Path) -> Embedded {
    let own = std::env::current_exe().unwrap().display().to_string();
    let supervisor = vec![own, "--exact".to_owned(), SUPERVISES.to_owned()];
    Embedded::new(Config { base: base.to_owned(), supervisor }).unwrap()
}

fn order(job: u64, script: &str) -> Order {
    Order {
        run: RunId { job, attempt: 1 },
        name: format!("job-{job}"),
        script: None,
        command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        directory: None,
        environment: BTreeMap::from([("GREETING".to_owned(), "hello".to_owned())]),
        output: None,
        places: [("node-1", vec![0, 1]), ("node-2", vec![4, 5])]
            .map(|(node, gpus)| Place { node: node.to_owned(), gpus, parts: 2 })
            .to_vec(),
        tasks: Tasks::One,
        limit_ms: None,
        memory_mib: None,
        grace_ms: 60_000,
    }
}

fn end_of(executor: &mut Embedded, run: RunId) -> Outcome {
    let began = Instant::now();
    loop {
        if let Some((_, outcome)) = executor.poll().into_iter().find(|(ended, _)| *ended == run) {
            return outcome;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "run {run} does not end");
        thread::sleep(Duration::from_millis(5));
    }
}

fn output(executor: &Embedded, run: RunId) -> String {
    std::fs::read_to_string(executor.output(run).unwrap()).unwrap()
}

fn until_written(executor: &Embedded, run: RunId, word: &str) {
    let began = Instant::now();
    while !executor
        .output(run)
        .is_some_and(|path| std::fs::read_to_string(path).is_ok_and(|text| text.contains(word)))
    {
        assert!(began.elapsed() < Duration::from_secs(60), "run {run} does not write {word}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_job_is_told_its_places_and_its_output_and_exit_code_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut executor = executor(folder.path());
    let script = "echo $GREETING $HEDDLE_JOB_ID $HEDDLE_NODES $HEDDLE_GPUS $CUDA_VISIBLE_DEVICES; exit 7";
    let order = order(1, script);
    executor.start(&order).unwrap();
    assert_eq!(end_of(&mut executor, order.run), Outcome::Exited { code: 7 });
    assert_eq!(output(&executor, order.run), "hello 1 node-1,node-2 4 0,1\n");
    executor.forget(order.run);
    assert_eq!(executor.adopt(order.run).unwrap(), Found::Nothing);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_script_is_run_by_the_interpreter_that_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let mut executor = executor(folder.path());
    let script = Some("#!/bin/sed 2q\nsecond line\nthird line\n".to_owned());
    let order = Order { script, command: Vec::new(), ..order(1, "") };
    executor.start(&order).unwrap();
    assert_eq!(
        end_of(&mut executor, order.run),
        Outcome::Exited { code: 0 },
        "{}",
        output(&executor, order.run)
    );
    assert!(output(&executor, order.run).ends_with("second line\n"));
}

#[test]
fn processes_are_one_a_node_or_one_a_part_with_ranks_and_their_share_of_gpus() {
    let folder = tempfile::tempdir().unwrap();
    let mut executor = executor(folder.path());
    let script = "echo $HEDDLE_RANK/$HEDDLE_RANKS $HEDDLE_NODE $HEDDLE_LOCAL_RANK $CUDA_VISIBLE_DEVICES";
    for (job, tasks, lines) in [
        (1, Tasks::PerNode, vec!["0/2 node-1 0 0,1", "1/2 node-2 0 4,5"]),
        (2, Tasks::PerPart, vec!["0/4 node-1 0 0", "1/4 node-1 1 1", "2/4 node-2 0 4", "3/4 node-2 1 5"]),
    ] {
        let order = Order { tasks, ..order(job, script) };
        executor.start(&order).unwrap();
        assert_eq!(end_of(&mut executor, order.run), Outcome::Exited { code: 0 });
        let output = output(&executor, order.run);
        let mut said: Vec<&str> = output.lines().collect();
        said.sort_unstable();
        assert_eq!(said, lines);
    }
}

#[test]
fn a_gang_that_has_lost_a_rank_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let mut executor = executor(folder.path());
    let script = "if [ $HEDDLE_RANK = 1 ]; then exit 3; fi; sleep 600";
    let order = Order { tasks: Tasks::PerNode, ..order(1, script) };
    executor.start(&order).unwrap();
    assert_eq!(end_of(&mut executor, order.run), Outcome::Exited { code: 3 });
}

#[test]
fn who_does_not_end_when_asked_is_ended_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let mut executor = executor(folder.path());
    let polite = order(1, "trap 'echo saved; exit 0' TERM; echo up; sleep 600 & wait");
    let stubborn = order(2, "trap '' TERM; echo up; sleep 600 & echo $!; wait");
    for order in [&polite, &stubborn] {
        executor.start(order).unwrap();
        until_written(&executor, order.run, "up");
    }
    executor.cancel(polite.run, Duration::from_secs(60)).unwrap();
    assert_eq!(end_of(&mut executor, polite.run), Outcome::Cancelled);
    assert!(output(&executor, polite.run).contains("saved"));
    executor.cancel(stubborn.run, Duration::from_millis(50)).unwrap();
    assert_eq!(end_of(&mut executor, stubborn.run), Outcome::Cancelled);
    let text = output(&executor, stubborn.run);
    let sleeper = text.lines().find(|line| line.parse::<u32>().is_ok()).unwrap();
    let state = std::fs::read_to_string(format!("/proc/{sleeper}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
}

#[test]
fn limits_of_time_and_memory_hold() {
    let folder = tempfile::tempdir().unwrap();
    let mut executor = executor(folder.path());
    let long = Order { limit_ms: Some(100), ..order(1, "sleep 600") };
    // What has no line's end is kept whole by `tail`.
    let text = "head -c 100000000 /dev/zero | tail >/dev/null";
    let small = Order { memory_mib: Some(2_000), ..order(2, text) };
    let large = Order { memory_mib: Some(64), ..order(3, text) };
    let mut end = |order: &Order| {
        executor.start(order).unwrap();
        end_of(&mut executor, order.run)
    };
    assert_eq!(end(&long), Outcome::TimedOut);
    assert_eq!(end(&small), Outcome::Exited { code: 0 });
    assert_eq!(end(&large), Outcome::Exited { code: 1 });
}

#[test]
fn what_cannot_be_started_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let mut executor = executor(folder.path());
    let missing = Order { command: vec!["/no/such/program".to_owned()], ..order(1, "") };
    let nowhere = Order { directory: Some("/no/such/folder".into()), ..order(2, "") };
    for order in [missing, nowhere] {
        executor.start(&order).unwrap();
        let Outcome::NotStarted { why } = end_of(&mut executor, order.run) else { panic!("it started") };
        assert!(why.contains("/no/such/"), "{why}");
    }
}

#[test]
fn a_run_goes_on_without_its_executor_and_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let go = folder.path().join("go");
    let script = format!("echo up; until [ -e {} ]; do sleep 0.01; done; exit 5", go.display());
    let order = order(1, &script);
    let base = folder.path().join("runs");
    {
        let mut first = executor(&base);
        first.start(&order).unwrap();
        until_written(&first, order.run, "up");
    }
    let mut second = executor(&base);
    assert_eq!(second.adopt(order.run).unwrap(), Found::Running);
    // To start it again starts nothing.
    let mut third = executor(&base);
    third.start(&order).unwrap();
    std::fs::write(&go, "").unwrap();
    assert_eq!(end_of(&mut second, order.run), Outcome::Exited { code: 5 });
    assert_eq!(end_of(&mut third, order.run), Outcome::Exited { code: 5 });
    assert_eq!(output(&second, order.run), "up\n");
    let mut fourth = executor(&base);
    assert_eq!(fourth.adopt(order.run).unwrap(), Found::Over(Outcome::Exited { code: 5 }));
    assert_eq!(fourth.adopt(RunId { attempt: 2, ..order.run }).unwrap(), Found::Nothing);
}

#[test]
fn a_run_whose_supervisor_was_killed_is_lost_and_nothing_of_it_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut executor = executor(folder.path());
    let order = order(1, "echo $$; exec sleep 600");
    executor.start(&order).unwrap();
    until_written(&executor, order.run, "\n");
    let claim = std::fs::read_to_string(folder.path().join("1/1/claim")).unwrap();
    let pid: String =
        claim.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    assert!(std::process::Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    assert_eq!(end_of(&mut executor, order.run), Outcome::Lost);
    let sleeper = output(&executor, order.run).trim().to_owned();
    let began = Instant::now();
    loop {
        let state = std::fs::read_to_string(format!("/proc/{sleeper}/stat")).unwrap_or_default();
        if state.is_empty() || state.contains(") Z ") {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{state}");
        thread::sleep(Duration::from_millis(5));
    }
}
