//! `heddle token`: makes a token, and the entry by which a controller knows it.

use clap::{Args, ValueEnum};
use controller::access::{Fingerprint, Role, new_token};
use serde::Serialize;

use crate::Answer;
use crate::failure::Failure;
use crate::files;

/// What a caller may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum RoleName {
    /// Read
    Viewer,
    /// Read, and submit and cancel jobs of one tenant
    Submitter,
    /// Work on the fabric, and on everybody's jobs
    Operator,
    /// Everything
    Admin,
}

impl RoleName {
    fn role(self) -> Role {
        match self {
            Self::Viewer => Role::Viewer,
            Self::Submitter => Role::Submitter,
            Self::Operator => Role::Operator,
            Self::Admin => Role::Admin,
        }
    }
}

/// Options of `heddle token`.
#[derive(Args)]
#[command(after_help = "Examples:\n  heddle token prometheus --role viewer\n  \
    heddle token vision --role submitter --tenant vision >> /etc/heddle/heddle.toml\n\n\
    The entry goes to standard output and into the controller's configuration file, which is read again on SIGHUP\n\
    (systemctl reload heddle); the token goes to standard error, once, and to whoever is to have it, as HEDDLE_TOKEN.")]
pub struct TokenCommand {
    /// Whose it is, as events will name them
    name: String,
    /// What it allows
    #[arg(long, value_enum)]
    role: RoleName,
    /// The tenant that a submitter's jobs belong to
    #[arg(long)]
    tenant: Option<String>,
    /// Print JSON: the token too
    #[arg(long)]
    json: bool,
}

/// A new token, for programs.
#[derive(Serialize)]
struct Made<'a> {
    name: &'a str,
    role: &'static str,
    tenant: Option<&'a str>,
    token: &'a str,
    sha256: String,
}

/// A string as TOML has it.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

impl TokenCommand {
    /// Makes it.
    pub fn run(self) -> Result<Answer, Failure> {
        let role = self.role.role();
        if role == Role::Submitter && self.tenant.is_none() {
            return Err(Failure::new(
                "a submitter belongs to a tenant",
                "--role submitter",
                "name the tenant with --tenant",
            ));
        }
        let token = new_token()
            .map_err(|error| Failure::new(format!("the system gives no random numbers: {error}"), "", ""))?;
        let sha256 = Fingerprint::of(&token).to_string();
        if self.json {
            let tenant = self.tenant.as_deref();
            files::print_json(&Made { name: &self.name, role: role.word(), tenant, token: &token, sha256 })?;
            return Ok(Answer::Yes);
        }
        let mut entry =
            format!("\n[[token]]\nname = {}\nrole = \"{role}\"\nsha256 = \"{sha256}\"\n", quoted(&self.name));
        if let Some(tenant) = &self.tenant {
            entry.push_str(&format!("tenant = {}\n", quoted(tenant)));
        }
        files::write("-", entry.as_bytes())?;
        eprintln!("{token}");
        Ok(Answer::Yes)
    }
}
