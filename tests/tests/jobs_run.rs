//! Jobs on a running controller as a user has them: handed in, run, read, ended; through `kill -9`, and away from a host whose
//! cables are pulled.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::path::Path;
use std::process::Command;

use end_to_end::heddle;
use end_to_end::up::{Up, until};
use serde_json::Value;

/// A call of `heddle` that asks this controller.
fn ask(up: &Up, words: &[&str]) -> Command {
    let mut command = heddle::command(words);
    command.env("HEDDLE_SERVER", &up.url);
    command
}

fn wait_for_pool(up: &Up) {
    until("the pool is open", || heddle::output(&mut ask(up, &["pool", "status"])).status.success());
}

fn job(up: &Up, number: u64) -> Value {
    heddle::json(&mut ask(up, &["job", "show", &number.to_string(), "--json"]))
}

fn submit(up: &Up, words: &[&str]) -> u64 {
    let words: Vec<&str> = ["job", "submit", "--json"].iter().chain(words).copied().collect();
    heddle::json(&mut ask(up, &words))["items"][0]["number"].as_u64().expect("a number")
}

fn until_state(up: &Up, number: u64, state: &str) {
    until(&format!("job {number} is {state}"), || job(up, number)["state"] == state);
}

fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).unwrap_or_default().lines().count()
}

#[test]
fn a_script_runs_with_its_places_and_its_end_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("train.sh");
    let text = "#!/bin/sh\n#SBATCH -N2 --gpus-per-node=8 -t 10\necho on $HEDDLE_NODES with $HEDDLE_GPUS GPUs\nexit 3\n";
    std::fs::write(&script, text).unwrap();
    let up = Up::start(&["--jobs", "embedded"]);
    wait_for_pool(&up);
    let number = submit(&up, &[script.to_str().unwrap()]);
    let watched = heddle::output(&mut ask(&up, &["job", "watch", &number.to_string()]));
    assert_eq!(watched.status.code(), Some(1), "{}", heddle::describe(&watched));
    let ended = job(&up, number);
    assert_eq!((&ended["state"], &ended["end"]["exit_code"]), (&Value::from("failed"), &Value::from(3)));
    let nodes: Vec<&str> =
        ended["nodes"].as_array().unwrap().iter().map(|node| node["name"].as_str().unwrap()).collect();
    assert_eq!(nodes.len(), 2);
    let said = format!("on {} with 16 GPUs\n", nodes.join(","));
    assert_eq!(heddle::text(&mut ask(&up, &["job", "output", &number.to_string()])), said);
    // What waits for its success will never come.
    let refused =
        heddle::output(&mut ask(&up, &["job", "submit", "--after", &number.to_string(), "--", "true"]));
    assert_eq!(refused.status.code(), Some(2), "{}", heddle::describe(&refused));
    // More than there is can never be had, and the answer says so.
    let refused =
        heddle::output(&mut ask(&up, &["job", "submit", "--parts", "999", "--gpus", "8", "--", "true"]));
    assert_eq!(refused.status.code(), Some(2), "{}", heddle::describe(&refused));
    assert!(up.end());
}

#[test]
fn jobs_outlive_kill_9_and_each_runs_once() {
    let folder = tempfile::tempdir().unwrap();
    let (store, go) = (folder.path().join("store"), folder.path().join("go"));
    let store = store.to_str().unwrap();
    let ran = |number: &str| folder.path().join(format!("ran-{number}"));
    let script = format!(
        "echo ran >> {}; until [ -e {} ]; do sleep 0.02; done",
        ran("$HEDDLE_JOB_ID").display(),
        go.display()
    );
    let all = ["--parts", "128", "--gpus", "8", "--", "/bin/sh", "-c", &script];
    let up = Up::start(&["--jobs", "embedded", "--store", store]);
    wait_for_pool(&up);
    let (running, waiting) = (submit(&up, &all), submit(&up, &all));
    until("the first runs", || lines(&ran(&running.to_string())) == 1);
    let why = heddle::json(&mut ask(&up, &["job", "why", &waiting.to_string(), "--json"]));
    assert_eq!((&why["state"], &why["waits_for"]), (&Value::from("waiting"), &Value::from("room")), "{why}");
    up.signal(libc::SIGKILL);
    drop(up);

    let up = Up::start(&["--jobs", "embedded", "--store", store]);
    wait_for_pool(&up);
    assert_eq!(job(&up, running)["state"], "running");
    assert_eq!(job(&up, waiting)["state"], "waiting");
    std::fs::write(&go, "").unwrap();
    for number in [running, waiting] {
        until_state(&up, number, "done");
        assert_eq!(lines(&ran(&number.to_string())), 1);
        assert_eq!(job(&up, number)["attempt"], 1);
    }
    // One that does not want to end is ended.
    let long = submit(&up, &["--gpus", "1", "--", "sleep", "600"]);
    until_state(&up, long, "running");
    heddle::text(&mut ask(&up, &["job", "cancel", &long.to_string()]));
    until_state(&up, long, "cancelled");
    assert!(up.end());
}

#[test]
fn a_job_goes_on_elsewhere_when_its_host_is_lost() {
    let up = Up::start(&["--jobs", "embedded"]);
    wait_for_pool(&up);
    // The first host is where the subnet manager sits: its own cable is not the one to pull.
    submit(&up, &["--gpus", "8", "--", "sleep", "600"]);
    let number = submit(&up, &["--gpus", "8", "--time", "1h", "--", "sleep", "600"]);
    until_state(&up, number, "running");
    let node = job(&up, number)["nodes"][0]["name"].as_str().unwrap().to_owned();
    let listed = heddle::json(&mut ask(&up, &["link", "list", "--json"]));
    let of_node = listed.as_array().unwrap().iter().flat_map(|link| link["ends"].as_array().unwrap());
    let ends: Vec<(String, u64)> = of_node
        .filter(|end| end["name"].as_str().is_some_and(|name| name.split(' ').next() == Some(&node)))
        .map(|end| (end["name"].as_str().unwrap().to_owned(), end["port"].as_u64().unwrap()))
        .collect();
    assert_eq!(ends.len(), 8, "{node}");
    for (name, port) in &ends {
        heddle::text(&mut ask(&up, &["link", "pull", name, &port.to_string()]));
    }
    until("it runs elsewhere", || {
        let job = job(&up, number);
        job["state"] == "running" && job["attempt"] == 2 && job["nodes"][0]["name"] != node.as_str()
    });
    until("the pool shows that the node has failed", || {
        heddle::json(&mut ask(&up, &["pool", "status", "--json"]))["nodes"]["failed"] == 1
    });
    assert!(up.end());
}

#[test]
fn who_is_bound_to_a_tenant_sees_and_ends_its_jobs_alone() {
    let folder = tempfile::tempdir().unwrap();
    let token = |name: &str| {
        let words = ["token", name, "--role", "submitter", "--tenant", name, "--json"];
        let made = heddle::json(&mut heddle::command(words));
        let word = |key: &str| made[key].as_str().unwrap().to_owned();
        let entry = format!(
            "[[token]]\nname = \"{name}\"\nrole = \"submitter\"\ntenant = \"{name}\"\nsha256 = \"{}\"\n",
            word("sha256")
        );
        (word("token"), entry)
    };
    let ((vision, one), (speech, other)) = (token("vision"), token("speech"));
    let config = folder.path().join("heddle.toml");
    std::fs::write(&config, one + &other).unwrap();
    let up = Up::start(&["--jobs", "embedded", "--config", config.to_str().unwrap()]);
    let call = |token: &str, words: &[&str]| heddle::output(ask(&up, words).env("HEDDLE_TOKEN", token));
    until("the pool is open", || call(&vision, &["pool", "status"]).status.success());
    let submitted = call(&vision, &["job", "submit", "--", "echo", "secret"]);
    assert!(submitted.status.success(), "{}", heddle::describe(&submitted));
    let watched = call(&vision, &["job", "watch", "1"]);
    assert_eq!(watched.stdout, b"secret\n", "{}", heddle::describe(&watched));
    for verb in ["show", "why", "output", "watch", "cancel"] {
        let refused = call(&speech, &["job", verb, "1"]);
        assert_eq!(refused.status.code(), Some(2), "{verb}: {}", heddle::describe(&refused));
        assert!(!String::from_utf8_lossy(&refused.stdout).contains("secret"), "{verb}");
    }
    let listed = |token: &str| {
        let output = call(token, &["job", "list", "--json"]);
        serde_json::from_slice::<Value>(&output.stdout).unwrap().as_array().unwrap().len()
    };
    assert_eq!((listed(&vision), listed(&speech)), (1, 0));
    assert!(up.end());
}
