//! The controller's doors as clients, systemd and Prometheus meet them.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use end_to_end::heddle::{self, describe};
use end_to_end::shared::project;
use end_to_end::tools;
use end_to_end::up::{PATIENCE, Up, until};
use serde_json::Value;

fn small() -> String {
    project().join("examples/small-tree.toml").display().to_string()
}

/// A new token, and its entry for the configuration.
fn token(name: &str, role: &str, more: &[&str]) -> (String, String) {
    let output = heddle::output(heddle::command(["token", name, "--role", role]).args(more));
    assert!(output.status.success(), "{}", describe(&output));
    let word = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (word(output.stderr).trim().to_owned(), word(output.stdout))
}

/// The status of a request with a token, and the whole answer.
fn ask(method: &str, url: &str, headers: &[(&str, &str)]) -> (u16, ureq::http::Response<ureq::Body>) {
    let config = ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE));
    let mut request = ureq::http::Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = config.build().new_agent().run(request.body(()).unwrap()).unwrap();
    (answer.status().as_u16(), answer)
}

fn status(method: &str, url: &str, token: Option<&str>) -> u16 {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let headers: Vec<_> = bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
    ask(method, url, &headers).0
}

#[test]
fn callers_may_do_what_their_tokens_say() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("heddle.toml");
    let socket = folder.path().join("heddle.sock");
    let (viewer, viewers) = token("ann", "viewer", &[]);
    let (submitter, submitters) = token("ben", "submitter", &["--tenant", "vision"]);
    let (operator, operators) = token("eve \"the\" operator", "operator", &[]);
    fs::write(&config, format!("[fabric]\nfile = \"{}\"\n{viewers}{submitters}{operators}", small()))
        .unwrap();
    let up = Up::start(&["--config", config.to_str().unwrap(), "--socket", socket.to_str().unwrap()]);
    let fabric = format!("{}/api/v1/fabric", up.url);
    let pull = format!("{}/api/v1/emulator/links/leaf-1/3/pull", up.url);
    let link = heddle::json(
        heddle::command(["link", "list", "--json", "--server"]).arg(format!("unix:{}", socket.display())),
    );
    let end = &link[0]["ends"][0];
    let pull = pull.replace("leaf-1/3", &format!("{}/{}", end["guid"].as_str().unwrap(), end["port"]));

    assert_eq!(status("GET", &fabric, None), 401);
    assert_eq!(status("GET", &fabric, Some("heddle_00")), 401);
    assert_eq!(status("GET", &format!("{}/metrics", up.url), None), 401);
    assert_eq!(status("GET", &format!("{}/healthz", up.url), None), 200);
    for token in [&viewer, &submitter, &operator] {
        assert_eq!(status("GET", &fabric, Some(token)), 200);
    }
    assert_eq!(status("POST", &pull, None), 401);
    assert_eq!(status("POST", &pull, Some(&viewer)), 403);
    assert_eq!(status("POST", &pull, Some(&submitter)), 403);
    assert_eq!(status("POST", &pull, Some(&operator)), 202);

    // A browser: the token goes into a cookie, which a page of another site cannot use.
    let session = format!("{}/api/v1/session", up.url);
    let client = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let entered = client.post(&session).send_json(serde_json::json!({ "token": operator })).unwrap();
    assert_eq!(entered.status(), 200);
    let cookie = entered.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(ask("GET", &fabric, &[("cookie", cookie)]).0, 200);
    assert_eq!(ask("POST", &pull, &[("cookie", cookie), ("origin", "https://evil.example")]).0, 403);
    assert_eq!(client.post(&session).send_json(serde_json::json!({ "token": "x" })).unwrap().status(), 401);

    // The command with a token, without one, and over the socket.
    let command = |more: &[&str], token: Option<&str>| -> Output {
        let mut command = heddle::command(["fabric", "status", "--json"]);
        command.args(more);
        if let Some(token) = token {
            command.env("HEDDLE_TOKEN", token);
        }
        heddle::output(&mut command)
    };
    assert!(command(&["--server", &up.url], Some(&viewer)).status.success());
    let refused = command(&["--server", &up.url], None);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("a token is asked for"),
        "{}",
        describe(&refused)
    );
    assert!(command(&["--server", &format!("unix:{}", socket.display())], None).status.success());
    assert!(up.end());
    assert!(!socket.exists());
}

#[test]
fn others_than_this_machine_call_over_tls_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let issue = || {
        tools::run(
            Command::new("openssl")
                .args([
                    "req",
                    "-x509",
                    "-newkey",
                    "ec",
                    "-pkeyopt",
                    "ec_paramgen_curve:prime256v1",
                    "-nodes",
                    "-days",
                    "2",
                    "-subj",
                    "/CN=heddle",
                    "-addext",
                    "subjectAltName=IP:127.0.0.1",
                    "-addext",
                    "basicConstraints=critical,CA:FALSE",
                    "-keyout",
                    &at("key.pem"),
                    "-out",
                    &at("cert.pem"),
                ])
                .stderr(Stdio::null()),
        );
    };
    issue();
    let (admin, admins) = token("root", "admin", &[]);
    fs::write(at("heddle.toml"), format!("[fabric]\nfile = \"{}\"\n{admins}", small())).unwrap();
    let tls = ["--certificate", &at("cert.pem"), "--key", &at("key.pem")];

    // Without tokens or a certificate nobody else may call.
    for (arguments, help) in
        [(vec![small()], "heddle token"), (vec!["--config".to_owned(), at("heddle.toml")], "--certificate")]
    {
        let output = heddle::output(heddle::command(["up", "--listen", "0.0.0.0:0"]).args(&arguments));
        assert_eq!(output.status.code(), Some(2), "{}", describe(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains(help), "{}", describe(&output));
    }
    let mut command =
        heddle::command(["up", "--json", "--listen", "0.0.0.0:0", "--config", &at("heddle.toml")]);
    let up = Up::start_by(command.args(tls));
    let url = up.url.replace("0.0.0.0", "127.0.0.1");
    assert!(url.starts_with("https://"), "{url}");
    let fabric = |ca: &str| {
        let mut command = heddle::command(["fabric", "status", "--json", "--server", &url, "--ca", ca]);
        heddle::output(command.env("HEDDLE_TOKEN", &admin))
    };
    let output = fabric(&at("cert.pem"));
    assert!(output.status.success(), "{}", describe(&output));
    // A certificate that nobody trusts is refused by the client; one that is renewed is taken up.
    fs::copy(at("cert.pem"), at("former.pem")).unwrap();
    issue();
    assert_eq!(fabric(&at("cert.pem")).status.code(), Some(2));
    up.signal(libc::SIGHUP);
    until("the certificate is renewed", || fabric(&at("cert.pem")).status.success());
    assert_eq!(fabric(&at("former.pem")).status.code(), Some(2));
    assert!(up.end());
}

#[test]
fn a_configuration_is_read_again_and_a_wrong_one_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("heddle.toml");
    let (first, firsts) = token("first", "viewer", &[]);
    let (second, seconds) = token("second", "viewer", &[]);
    let file = format!("[fabric]\nfile = \"{}\"\n", small());
    fs::write(&config, format!("{file}{firsts}")).unwrap();
    let up = Up::start(&["--config", config.to_str().unwrap()]);
    let fabric = format!("{}/api/v1/fabric", up.url);
    assert_eq!((status("GET", &fabric, Some(&first)), status("GET", &fabric, Some(&second))), (200, 401));

    fs::write(&config, format!("{file}{seconds}[subnet]\nsweeps = \"3s\"\n")).unwrap();
    up.signal(libc::SIGHUP);
    let events = || {
        let (_, mut answer) = ask(
            "GET",
            &format!("{}/api/v1/events?after=0&limit=1000", up.url),
            &[(
                "authorization",
                &format!(
                    "Bearer {}",
                    if status("GET", &fabric, Some(&first)) == 200 { &first } else { &second }
                ),
            )],
        );
        let events: Value = answer.body_mut().read_json().unwrap();
        events["items"].as_array().unwrap().clone()
    };
    let said = |kind: &str| events().into_iter().find(|event| event["kind"] == kind);
    until("it is refused", || said("configuration-refused").is_some());
    let text = said("configuration-refused").unwrap()["text"].to_string();
    assert!(text.contains("`sweeps` is no key of [subnet]") && text.contains("heddle.toml:"), "{text}");
    assert_eq!((status("GET", &fabric, Some(&first)), status("GET", &fabric, Some(&second))), (200, 401));

    fs::write(
        &config,
        format!("{file}[controller]\nrequests-per-second = 5\n[subnet]\nsweep = \"3s\"\n{seconds}"),
    )
    .unwrap();
    up.signal(libc::SIGHUP);
    until("it is taken up", || status("GET", &fabric, Some(&second)) == 200);
    assert_eq!(status("GET", &fabric, Some(&first)), 401);
    let mut last = 0;
    for _ in 0..50 {
        last = status("GET", &fabric, Some(&second));
        if last == 429 {
            break;
        }
    }
    assert_eq!(last, 429);
    let (_, limited) = ask("GET", &fabric, &[("authorization", &format!("Bearer {second}"))]);
    assert!(limited.status() != 429 || limited.headers().contains_key("retry-after"));
    until("the event tells what waits", || {
        let bearer = format!("Bearer {second}");
        let (status, mut answer) = ask(
            "GET",
            &format!("{}/api/v1/events?after=0&limit=1000", up.url),
            &[("authorization", &bearer)],
        );
        let text = answer.body_mut().read_to_string().unwrap();
        std::thread::sleep(Duration::from_millis(200));
        status == 200 && text.contains("these wait for a restart: sweep")
    });
    assert!(up.end());
}

#[test]
fn systemd_hears_when_it_is_ready_alive_reloading_and_ending() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let systemd = UnixDatagram::bind(&path).unwrap();
    systemd.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut command = heddle::command(["up", "--json", "--listen", "127.0.0.1:0", &small()]);
    let up = Up::start_by(command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "600000"));
    let heard = || {
        let mut bytes = [0; 4096];
        let length = systemd.recv(&mut bytes).expect("heddle tells systemd");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    let hear = |word: &str| while !heard().lines().any(|line| line == word) {};
    hear("READY=1");
    for _ in 0..3 {
        hear("WATCHDOG=1");
    }
    up.signal(libc::SIGHUP);
    hear("RELOADING=1");
    hear("READY=1");
    assert!(up.end());
    hear("STOPPING=1");
}

#[test]
fn the_unit_is_one_that_systemd_takes() {
    let folder = tempfile::tempdir().unwrap();
    let unit = fs::read_to_string(project().join("packaging/systemd/heddle.service")).unwrap();
    // The tool looks whether the program is there.
    let unit = unit.replace("/usr/bin/heddle", &heddle::binary().display().to_string());
    let path = folder.path().join("heddle.service");
    fs::write(&path, unit).unwrap();
    let output = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(&path)
        .output()
        .expect("systemd-analyze");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.lines().any(|line| line.contains("heddle.service")), "{said}");
}

/// A running Prometheus; ended by its process id.
struct Prometheus(Child);

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It is ours, and nothing of it is kept.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Names of our metrics in a text.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !is_part(c)).filter(|word| word.starts_with("heddle_")).map(str::to_owned).collect()
}

#[test]
fn prometheus_takes_the_metrics_and_the_dashboard_and_alerts_name_none_that_is_not_there() {
    let up = Up::start(&[&small()]);
    let (_, mut answer) = ask("GET", &format!("{}/metrics", up.url), &[]);
    let text = answer.body_mut().read_to_string().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("metrics");
    fs::write(&path, &text).unwrap();
    let lint = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(fs::File::open(&path).unwrap())
        .output()
        .expect("promtool");
    assert!(lint.status.success() && lint.stderr.is_empty(), "{}", describe(&lint));

    let alerts = project().join("packaging/prometheus/heddle-alerts.yml");
    let checked = Command::new("promtool").args(["check", "rules"]).arg(&alerts).output().expect("promtool");
    assert!(checked.status.success(), "{}", describe(&checked));
    let ours = metrics_in(&text);
    let dashboard = fs::read_to_string(project().join("packaging/grafana/heddle-fabric.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let expressions: Vec<_> = dashboard["panels"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|panel| panel["targets"].as_array().unwrap())
        .map(|target| target["expr"].as_str().unwrap().to_owned())
        .collect();
    assert!(expressions.len() >= 10);
    let rules = fs::read_to_string(&alerts).unwrap();
    let rules: String = rules.lines().filter(|line| line.contains("expr:")).collect();
    for text in expressions.iter().map(String::as_str).chain([rules.as_str()]) {
        for name in metrics_in(text) {
            assert!(ours.contains(&name), "{name} is in no answer of /metrics");
        }
    }

    // A real Prometheus reads them, with the alerts loaded.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let target = up.url.trim_start_matches("http://");
    let config = folder.path().join("prometheus.yml");
    let settings = format!(
        "global: {{scrape_interval: 1s}}\nrule_files: ['{}']\nscrape_configs: [{{job_name: heddle, static_configs: [{{targets: ['{target}']}}]}}]\n",
        alerts.display()
    );
    fs::write(&config, settings).unwrap();
    check_config(&config);
    let child = Command::new("prometheus")
        .arg(format!("--config.file={}", config.display()))
        .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
        .arg(format!("--web.listen-address={free}"))
        .stderr(Stdio::null())
        .spawn()
        .expect("prometheus starts");
    let _prometheus = Prometheus(child);
    let query = format!("http://{free}/api/v1/query?query=heddle_fabric_up");
    until("Prometheus has the fabric", || {
        let Ok(mut answer) = ureq::get(&query).call() else { return false };
        let found: Value = answer.body_mut().read_json().unwrap();
        found["data"]["result"][0]["value"][1] == "1"
    });
    assert!(up.end());
}

fn check_config(config: &Path) {
    let checked = Command::new("promtool").args(["check", "config"]).arg(config).output().expect("promtool");
    assert!(checked.status.success(), "{}", describe(&checked));
}
