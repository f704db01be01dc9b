//! The controller that commands talk to.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde_json::Value;
use ureq::unversioned::resolver::DefaultResolver;

use super::unix::ToSocket;
use crate::commands::up::DEFAULT_LISTEN;
use crate::failure::Failure;
use crate::files;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The socket of a controller that runs as a service of this machine.
const SERVICE_SOCKET: &str = "/run/heddle/heddle.sock";

/// Which controller.
#[derive(Args)]
pub struct Server {
    /// The running controller: http://…, https://… or unix:FILE [default: unix:/run/heddle/heddle.sock where that is, else
    /// http://127.0.0.1:7980]
    #[arg(long, value_name = "URL", env = "HEDDLE_SERVER")]
    server: Option<String>,
    /// The token that the controller asks for; better given as HEDDLE_TOKEN, which no list of processes shows
    #[arg(long, env = "HEDDLE_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Trust those who signed with this certificate, as PEM, instead of those that browsers trust
    #[arg(long, value_name = "FILE.pem", env = "HEDDLE_CA")]
    ca: Option<String>,
}

/// A word of a URL's path or query, with what has a meaning there written otherwise.
pub fn escape(word: &str) -> String {
    let mut text = String::new();
    for byte in word.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                text.push(char::from(byte))
            }
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// A path with a query of those that are given.
pub fn with_query(path: &str, query: &[(&str, Option<String>)]) -> String {
    let given: Vec<_> = query
        .iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", escape(value.as_ref()?))))
        .collect();
    if given.is_empty() { path.to_owned() } else { format!("{path}?{}", given.join("&")) }
}

impl Server {
    /// Where the controller is, as it is told to people.
    fn place(&self) -> String {
        let server = match &self.server {
            Some(server) => server.clone(),
            None if Path::new(SERVICE_SOCKET).exists() => format!("unix:{SERVICE_SOCKET}"),
            None => format!("http://{DEFAULT_LISTEN}"),
        };
        let is_whole = server.contains("://") || server.starts_with("unix:");
        let server = if is_whole { server } else { format!("http://{server}") };
        server.trim_end_matches('/').to_owned()
    }

    /// The client, and what paths are added to.
    fn client(&self, patience: Option<Duration>) -> Result<(ureq::Agent, String), Failure> {
        let mut config = ureq::Agent::config_builder().http_status_as_error(false).timeout_global(patience);
        if let Some(path) = &self.ca {
            let pem = files::read(path)?;
            let mut signers = Vec::new();
            for item in ureq::tls::parse_pem(&pem) {
                let wrong =
                    |error| Failure::new(format!("this is no certificate: {error}"), path, "give it as PEM");
                if let ureq::tls::PemItem::Certificate(signer) = item.map_err(wrong)? {
                    signers.push(signer);
                }
            }
            let tls =
                ureq::tls::TlsConfig::builder().root_certs(ureq::tls::RootCerts::new_with_certs(&signers));
            config = config.tls_config(tls.build());
        }
        let place = self.place();
        let config = config.build();
        Ok(match place.strip_prefix("unix:") {
            Some(path) => {
                let path = path.strip_prefix("//").unwrap_or(path);
                let way = ToSocket(path.into());
                // The host's name says nothing here, but HTTP wants one.
                (
                    ureq::Agent::with_parts(config, way, DefaultResolver::default()),
                    "http://127.0.0.1".to_owned(),
                )
            }
            None => (config.new_agent(), place),
        })
    }

    fn with_token<B>(&self, request: ureq::RequestBuilder<B>) -> ureq::RequestBuilder<B> {
        match &self.token {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    fn unreachable(&self, error: &ureq::Error) -> Failure {
        Failure::new(
            format!("no controller answers: {error}"),
            self.place(),
            "start one with `heddle up`, or name another with --server",
        )
    }

    /// The body of an answer; where it is a problem, that.
    fn body(&self, mut answer: ureq::http::Response<ureq::Body>) -> Result<Value, Failure> {
        let status = answer.status();
        let text = answer.body_mut().read_to_string().map_err(|error| self.unreachable(&error))?;
        let body: Value = if text.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(&text).map_err(|error| {
                Failure::new(
                    format!("the answer is no JSON: {error}"),
                    self.place(),
                    "is this a Heddle controller?",
                )
            })?
        };
        if status.is_success() {
            return Ok(body);
        }
        let word = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
        let what = if word("detail").is_empty() {
            format!("the controller answers {status}")
        } else {
            word("detail")
        };
        Err(Failure::new(what, self.place(), word("mend")))
    }

    /// What is at a path, as in `/fabric`.
    pub fn get(&self, path: &str) -> Result<Value, Failure> {
        let (client, base) = self.client(Some(PATIENCE))?;
        let answer = self.with_token(client.get(format!("{base}/api/v1{path}"))).call();
        self.body(answer.map_err(|error| self.unreachable(&error))?)
    }

    /// Asks for something to be done.
    pub fn post(&self, path: &str) -> Result<Value, Failure> {
        let (client, base) = self.client(Some(PATIENCE))?;
        let answer = self.with_token(client.post(format!("{base}/api/v1{path}"))).send_empty();
        self.body(answer.map_err(|error| self.unreachable(&error))?)
    }

    /// Hands something in.
    pub fn post_json(&self, path: &str, body: &impl serde::Serialize) -> Result<Value, Failure> {
        let (client, base) = self.client(Some(PATIENCE))?;
        let answer = self.with_token(client.post(format!("{base}/api/v1{path}"))).send_json(body);
        self.body(answer.map_err(|error| self.unreachable(&error))?)
    }

    /// Takes something away.
    pub fn delete(&self, path: &str) -> Result<Value, Failure> {
        let (client, base) = self.client(Some(PATIENCE))?;
        let answer = self.with_token(client.delete(format!("{base}/api/v1{path}"))).call();
        self.body(answer.map_err(|error| self.unreachable(&error))?)
    }

    /// The bytes at a path.
    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, Failure> {
        let (client, base) = self.client(Some(PATIENCE))?;
        let answer = self.with_token(client.get(format!("{base}/api/v1{path}"))).call();
        let mut answer = answer.map_err(|error| self.unreachable(&error))?;
        if !answer.status().is_success() {
            let failure = self.body(answer).err();
            return Err(failure.unwrap_or_else(|| Failure::new("there is nothing", self.place(), "")));
        }
        answer.body_mut().read_to_vec().map_err(|error| self.unreachable(&error))
    }

    /// A stream that lasts as long as the controller.
    pub fn stream(&self, path: &str) -> Result<impl Read + use<>, Failure> {
        let (client, base) = self.client(None)?;
        let answer = self.with_token(client.get(format!("{base}/api/v1{path}"))).call();
        let answer = answer.map_err(|error| self.unreachable(&error))?;
        if !answer.status().is_success() {
            let failure = self.body(answer).err();
            return Err(failure.unwrap_or_else(|| Failure::new("there is no stream", self.place(), "")));
        }
        Ok(answer.into_body().into_reader())
    }
}

/// A word of an answer.
pub fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// A number of an answer.
pub fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_escaped_and_what_is_not_given_is_left_out() {
        assert_eq!(escape("node-1 mlx5_0/a"), "node-1%20mlx5_0%2Fa");
        assert_eq!(with_query("/links", &[("state", None), ("node", None)]), "/links");
        let query = [("state", Some("down".to_owned())), ("after", None), ("node", Some("a b".to_owned()))];
        assert_eq!(with_query("/links", &query), "/links?state=down&node=a%20b");
    }

    #[test]
    fn an_address_without_a_scheme_is_taken() {
        let place = |server: &str| Server { server: Some(server.to_owned()), token: None, ca: None }.place();
        assert_eq!(place("localhost:80"), "http://localhost:80");
        assert_eq!(place("https://x/"), "https://x");
        assert_eq!(place("unix:/run/x.sock"), "unix:/run/x.sock");
    }
}
