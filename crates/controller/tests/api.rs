//! The controller as a client meets it: an emulated fabric is up behind it, a cable is pulled, heals, and comes back.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::io::{BufRead, BufReader};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use controller::api::Doors;
use controller::daemon::{Config, Daemon};
use controller::{Session, Stop, Until};
use emulator::Emulator;
use fabric::generate::SuperpodSpec;
use serde_json::Value;
use transport::Memory;

const PATIENCE: Duration = Duration::from_secs(60);

/// A controller around an emulated SuperPOD of 256 GPUs.
struct Running {
    address: String,
    stop: Stop,
    thread: Option<thread::JoinHandle<()>>,
}

impl Running {
    fn start(store: Option<std::path::PathBuf>) -> Self {
        let stop = Stop::default();
        let asked = stop.clone();
        let (tell, told) = channel();
        let thread = thread::spawn(move || {
            let config = Config {
                doors: Doors::local("127.0.0.1:0".parse().unwrap()),
                store,
                place: "a test".to_owned(),
                is_emulated: true,
                pull_every: None,
                seed: 1,
                work: None,
            };
            let (daemon, mut feed, calls) = Daemon::start(&config).unwrap();
            tell.send(daemon.address().to_string()).unwrap();
            let cabling = SuperpodSpec { units: 1, ..SuperpodSpec::default() }.build().unwrap();
            let (node, port) = Memory::seat(&cabling).unwrap();
            let emulator = Emulator::new(&cabling, emulator::Config::default());
            let wire = Memory::new_as_manager(emulator, node, port).unwrap();
            let mut session = Session::new(wire, subnet::Config::default(), asked);
            session.hear(calls);
            session.pace();
            session.run(Until::Stopped, &mut feed).unwrap();
            drop(feed);
            daemon.end().unwrap();
        });
        let address = told.recv().unwrap();
        let running = Self { address, stop, thread: Some(thread) };
        running.until("/api/v1/fabric", |fabric| fabric["state"] == "up" && fabric["links"]["active"] != 0);
        running
    }

    fn agent() -> ureq::Agent {
        ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .build()
            .new_agent()
    }

    fn get(&self, path: &str) -> (u16, String, String) {
        let mut answer = Self::agent().get(format!("http://{}{path}", self.address)).call().unwrap();
        let form = answer.headers().get("content-type").map_or("", |form| form.to_str().unwrap()).to_owned();
        (answer.status().as_u16(), form, answer.body_mut().read_to_string().unwrap())
    }

    fn json(&self, path: &str) -> Value {
        let (status, _, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    fn post(&self, path: &str) -> (u16, String) {
        let mut answer = Self::agent().post(format!("http://{}{path}", self.address)).send_empty().unwrap();
        (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
    }

    fn until(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let value = self.json(path);
            if is_so(&value) {
                return value;
            }
            assert!(began.elapsed() < PATIENCE, "{path} stays at {value:#}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// An uplink of a leaf, as its `id` has it: node and port.
    fn uplink(&self) -> (String, String) {
        let spines = self.json("/api/v1/nodes?kind=switch&level=2&limit=1");
        let guid = spines["items"][0]["guid"].as_str().unwrap().to_owned();
        let node = self.json(&format!("/api/v1/nodes/{guid}"));
        (guid, node["cabled"][0]["port"].to_string())
    }

    fn end(&mut self) {
        self.stop.ask();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.ask();
    }
}

#[test]
fn a_pulled_cable_is_seen_healed_and_seen_again() {
    let mut running = Running::start(None);
    let (node, port) = running.uplink();
    let stream =
        Running::agent().get(format!("http://{}/api/v1/events/stream", running.address)).call().unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    assert_eq!(running.post(&format!("/api/v1/emulator/links/{node}/{port}/pull")).0, 202);
    let link = format!("/api/v1/links/{node}/{port}");
    let lost = running.until(&link, |link| link["state"] == "down");
    assert_eq!(lost["losses"], 1);
    let fabric = running.until("/api/v1/fabric", |fabric| fabric["heals"]["count"] == 1);
    assert_eq!(fabric["links"]["down"], 1);
    assert!(fabric["heals"]["last_ms"].as_f64().unwrap() > 0.0);
    let down = running.json("/api/v1/links?state=down");
    assert_eq!((&down["items"][0]["id"], &down["next"]), (&lost["id"], &Value::Null));
    assert_eq!(running.post(&format!("/api/v1/emulator/links/{node}/{port}/mend")).0, 202);
    running.until(&link, |link| link["state"] == "active");
    // The stream has told of all of it, in order.
    let mut kinds = Vec::new();
    let mut last = 0;
    for line in BufReader::new(stream.into_body().into_reader()).lines() {
        let line = line.unwrap();
        if let Some(id) = line.strip_prefix("id:") {
            let id: u64 = id.trim().parse().unwrap();
            assert!(last == 0 || id == last + 1, "{last}, then {id}");
            last = id;
        } else if let Some(data) = line.strip_prefix("data:") {
            let event: Value = serde_json::from_str(data.trim()).unwrap();
            kinds.push(event["kind"].as_str().unwrap().to_owned());
            if kinds.last().unwrap() == "link-back" {
                break;
            }
        }
    }
    let told: Vec<_> = kinds.iter().filter(|kind| kind.starts_with("link") || *kind == "healed").collect();
    assert_eq!(told, ["healed", "link-lost", "healed", "link-back"], "{kinds:?}");
    // One that was cut off is taken up again where it was.
    let request = Running::agent().get(format!("http://{}/api/v1/events/stream", running.address));
    let again = request.header("Last-Event-ID", (last - 1).to_string()).call().unwrap();
    let first = BufReader::new(again.into_body().into_reader()).lines().next().unwrap().unwrap();
    let id = first.strip_prefix("id:").or_else(|| first.strip_prefix("data:")).unwrap().trim();
    assert!(id == last.to_string() || id.contains(r#""kind":"link-back""#), "{first}");
    running.end();
}

#[test]
fn pages_hold_everything_once_and_a_way_leads_through_the_tables() {
    let mut running = Running::start(None);
    let fabric = running.json("/api/v1/fabric");
    for (list, whole) in [
        ("/api/v1/links?limit=100", fabric["links"]["active"].as_u64().unwrap()),
        ("/api/v1/nodes?kind=channel-adapter&limit=100", fabric["hosts"].as_u64().unwrap()),
        ("/api/v1/nodes?kind=switch&limit=5", fabric["switches"].as_u64().unwrap()),
    ] {
        let (mut ids, mut after) = (Vec::new(), None::<String>);
        loop {
            let path = after.map_or_else(|| list.to_owned(), |after| format!("{list}&after={after}"));
            let page = running.json(&path);
            for item in page["items"].as_array().unwrap() {
                ids.push(item["id"].as_str().or(item["guid"].as_str()).unwrap().to_owned());
            }
            after = page["next"].as_str().map(str::to_owned);
            if after.is_none() {
                break;
            }
        }
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!((ids.len(), count as u64), (count, whole), "{list}");
    }
    let hosts = running.json("/api/v1/nodes?kind=channel-adapter&limit=1000");
    let guid = |at: usize| hosts["items"][at]["guid"].as_str().unwrap().to_owned();
    let last = hosts["items"].as_array().unwrap().len() - 1;
    let way = running.json(&format!("/api/v1/paths?from={}&to={}", guid(0), guid(last)));
    let hops = way["hops"].as_array().unwrap();
    assert_eq!(way["arrives"], true, "{way:#}");
    assert_eq!(
        (&hops[0]["from_guid"], &hops.last().unwrap()["to_guid"]),
        (&guid(0).into(), &guid(last).into())
    );
    assert!(hops.windows(2).all(|two| two[0]["to_guid"] == two[1]["from_guid"]));
    running.end();
}

#[test]
fn wrong_requests_are_answered_with_what_would_mend_them() {
    let mut running = Running::start(None);
    for (path, status, kind) in [
        ("/api/v1/nodes/nobody", 404, "no-such-node"),
        ("/api/v1/links/nobody/1", 404, "no-such-node"),
        ("/api/v1/links/0x1/300", 400, "wrong-request"),
        ("/api/v1/links?state=odd", 400, "wrong-request"),
        ("/api/v1/links?limit=0", 400, "wrong-page-size"),
        ("/api/v1/links?after=x", 400, "wrong-cursor"),
        ("/api/v1/nodes?after=x", 400, "wrong-cursor"),
        ("/api/v1/nodes?limit=1001", 400, "wrong-page-size"),
        ("/api/v1/events?after=1&before=2", 400, "wrong-request"),
        ("/api/v1/events?limit=-1", 400, "wrong-request"),
        ("/api/v1/paths?from=a", 400, "wrong-request"),
        ("/api/v1/nothing", 404, "no-such-page"),
    ] {
        let (found, form, body) = running.get(path);
        let problem: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{path}: {body}"));
        assert_eq!((found, form.as_str()), (status, "application/problem+json"), "{path}: {body}");
        assert_eq!(problem["type"], format!("urn:heddle:problem:{kind}"), "{path}");
        assert_eq!(problem["status"], status);
        assert!(!problem["mend"].as_str().unwrap().is_empty(), "{path}");
    }
    assert_eq!(running.post("/api/v1/fabric").0, 405);
    let (status, form, text) = running.get("/metrics");
    assert!(status == 200 && form.starts_with("text/plain; version=0.0.4"));
    for line in ["heddle_fabric_up 1", "heddle_links{state=\"down\"} 0", "heddle_heal_seconds_count 0"] {
        assert!(text.lines().any(|has| has.starts_with(line)), "no {line} in {text}");
    }
    assert_eq!(running.get("/healthz").0, 200);
    running.end();
}

#[test]
fn the_topology_in_arrays_tells_by_place_what_is_out_of_service() {
    let mut running = Running::start(None);
    let (node, port) = running.uplink();
    let stream =
        Running::agent().get(format!("http://{}/api/v1/topology/stream", running.address)).call().unwrap();
    assert_eq!(running.post(&format!("/api/v1/emulator/links/{node}/{port}/pull")).0, 202);
    let lost = BufReader::new(stream.into_body().into_reader()).lines().find_map(|line| {
        let states: Value = serde_json::from_str(line.unwrap().strip_prefix("data:")?.trim()).unwrap();
        states["down"][0].as_u64().map(|at| (at as usize, states))
    });
    let (at, states) = lost.unwrap();
    let topology = running.json("/api/v1/topology");
    assert_eq!(topology["states"], states);
    let links = &topology["links"];
    let ends = ["a", "b"].map(|end| {
        let node = &topology["nodes"]["guid"][links[end][at].as_u64().unwrap() as usize];
        (node.as_str().unwrap().to_owned(), links[format!("{end}_port")][at].to_string())
    });
    assert!(ends.contains(&(node, port)), "{ends:?}");
    running.end();
}

#[test]
fn what_if_tells_what_would_be_lost_and_changes_nothing() {
    let mut running = Running::start(None);
    let ask = |question: Value| {
        let request = Running::agent().post(format!("http://{}/api/v1/what-if", running.address));
        let mut answer = request.send_json(question).unwrap();
        let body: Value = answer.body_mut().read_json().unwrap();
        (answer.status().as_u16(), body)
    };
    let (node, port) = running.uplink();
    let port: u64 = port.parse().unwrap();
    let (status, one) = ask(serde_json::json!({ "pull": [{ "node": node, "port": port }] }));
    assert_eq!(status, 200, "{one:#}");
    let hosts = running.json("/api/v1/fabric")["hosts"].as_u64().unwrap();
    assert_eq!((&one["pairs"], &one["pairs_lost"]), (&(hosts * (hosts - 1)).into(), &0.into()), "{one:#}");
    assert_eq!(one["repaired"], true);
    assert!(one["after"]["max"].as_u64() > one["before"]["max"].as_u64() && one["entries"] != 0, "{one:#}");
    // A leaf takes its hosts with it; between the others nothing is lost.
    let leaves = running.json("/api/v1/nodes?kind=switch&level=1&limit=1");
    let leaf = &leaves["items"][0]["guid"];
    let (status, cut) = ask(serde_json::json!({ "drain": [leaf] }));
    let lost = cut["hosts_cut"].as_u64().unwrap();
    assert!(status == 200 && lost == 32, "{cut:#}");
    assert_eq!(cut["pairs_lost"], hosts * (hosts - 1) - (hosts - lost) * (hosts - lost - 1), "{cut:#}");
    for answer in [&one, &cut] {
        for nothing in ["unreachable", "loops", "credit_loops"] {
            assert_eq!(answer[nothing], 0, "{nothing}: {answer:#}");
        }
    }
    let fabric = running.json("/api/v1/fabric");
    assert_eq!((&fabric["heals"]["count"], &fabric["links"]["down"]), (&0.into(), &0.into()));
    for (question, status) in [
        (serde_json::json!({}), 400),
        (serde_json::json!({ "drain": ["nobody"] }), 404),
        (serde_json::json!({ "cut": [] }), 422),
        (serde_json::json!({ "pull": [{ "node": node, "port": 250 }] }), 404),
    ] {
        let (found, problem) = ask(question);
        assert!(found == status && problem["mend"] != "", "{found}: {problem:#}");
    }
    running.end();
}

#[test]
fn the_page_is_there_or_says_how_to_have_it() {
    let mut running = Running::start(None);
    let (status, form, text) = running.get("/");
    match status {
        200 => assert!(form.starts_with("text/html") && text.contains("assets/"), "{form}: {text}"),
        status => assert!(status == 501 && text.contains("make web"), "{status}: {text}"),
    }
    running.end();
}

#[test]
fn events_outlive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    Running::start(Some(store.clone())).end();
    let mut running = Running::start(Some(store));
    let events = running.json("/api/v1/events?after=0&limit=1000");
    let items = events["items"].as_array().unwrap();
    let kinds: Vec<_> = items.iter().filter_map(|event| event["kind"].as_str()).collect();
    let controller: Vec<_> = kinds.iter().filter(|kind| kind.starts_with("controller")).collect();
    assert_eq!(
        controller,
        [&"controller-started", &"controller-stopped", &"controller-started"],
        "{kinds:?}"
    );
    assert_eq!(kinds.iter().filter(|kind| **kind == "fabric-up").count(), 2);
    assert!(items.iter().zip(1..).all(|(event, number)| event["number"] == number));
    running.end();
}

#[test]
fn the_document_that_is_checked_in_is_the_one_that_the_code_makes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let made = controller::api::document();
    if std::env::var_os("HEDDLE_WRITE_DOCUMENTS").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        kept == made,
        "docs/openapi.json is not what the code makes: run this test with HEDDLE_WRITE_DOCUMENTS=1"
    );
}
