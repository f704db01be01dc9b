//! The controller that commands talk to.

use std::io::Read;
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use crate::commands::up::DEFAULT_LISTEN;
use crate::failure::Failure;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Which controller.
#[derive(Args)]
pub struct Server {
    /// The running controller's address [default: http://127.0.0.1:7980]
    #[arg(long, value_name = "URL", env = "HEDDLE_SERVER")]
    server: Option<String>,
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
    fn base(&self) -> String {
        let server = self.server.clone().unwrap_or_else(|| format!("http://{DEFAULT_LISTEN}"));
        let server = if server.contains("://") { server } else { format!("http://{server}") };
        server.trim_end_matches('/').to_owned()
    }

    fn agent(patience: Option<Duration>) -> ureq::Agent {
        ureq::Agent::config_builder().http_status_as_error(false).timeout_global(patience).build().new_agent()
    }

    fn unreachable(&self, error: &ureq::Error) -> Failure {
        Failure::new(
            format!("no controller answers: {error}"),
            self.base(),
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
                    self.base(),
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
        Err(Failure::new(what, self.base(), word("mend")))
    }

    /// What is at a path, as in `/fabric`.
    pub fn get(&self, path: &str) -> Result<Value, Failure> {
        let url = format!("{}/api/v1{path}", self.base());
        let answer = Self::agent(Some(PATIENCE)).get(&url).call();
        self.body(answer.map_err(|error| self.unreachable(&error))?)
    }

    /// Asks for something to be done.
    pub fn post(&self, path: &str) -> Result<Value, Failure> {
        let url = format!("{}/api/v1{path}", self.base());
        let answer = Self::agent(Some(PATIENCE)).post(&url).send_empty();
        self.body(answer.map_err(|error| self.unreachable(&error))?)
    }

    /// A stream that lasts as long as the controller.
    pub fn stream(&self, path: &str) -> Result<impl Read + use<>, Failure> {
        let url = format!("{}/api/v1{path}", self.base());
        let answer = Self::agent(None).get(&url).call().map_err(|error| self.unreachable(&error))?;
        if !answer.status().is_success() {
            return Err(self.body(answer).err().unwrap_or_else(|| Failure::new("no stream", url, "")));
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
        let base = |server: Option<&str>| Server { server: server.map(str::to_owned) }.base();
        assert_eq!(base(None), "http://127.0.0.1:7980");
        assert_eq!(base(Some("localhost:80")), "http://localhost:80");
        assert_eq!(base(Some("https://x/")), "https://x");
    }
}
