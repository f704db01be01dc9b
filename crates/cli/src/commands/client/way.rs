//! `heddle subnet path`: the way that the programmed tables give from one node to another.

use clap::{Args, Subcommand};

use super::server::{Server, number, with_query, word};
use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::table::{Side, Table};

/// Verbs of `heddle subnet`.
#[derive(Subcommand)]
pub enum SubnetCommand {
    /// Show the way from one node to another by the tables that are programmed
    Path(Path),
}

impl SubnetCommand {
    /// Carries the command out.
    pub fn run(self) -> Result<Answer, Failure> {
        match self {
            Self::Path(path) => path.run(),
        }
    }
}

/// Options of `heddle subnet path`.
#[derive(Args)]
#[command(
    after_help = "Example:\n  heddle subnet path node-1 node-900\n\nExit codes: 0 there is a way, 1 there is none, 2 the request was wrong."
)]
pub struct Path {
    /// A node, by name or GUID
    from: String,
    /// Another
    to: String,
    #[command(flatten)]
    server: Server,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Path {
    fn run(self) -> Result<Answer, Failure> {
        let query = [("from", Some(self.from)), ("to", Some(self.to))];
        let way = self.server.get(&with_query("/paths", &query))?;
        let arrives = way["arrives"].as_bool() == Some(true);
        if self.json {
            files::print_json(&way)?;
        } else {
            let mut table = Table::new([Side::Left, Side::Left, Side::Left, Side::Right]);
            for hop in way["hops"].as_array().into_iter().flatten() {
                let end = |side: &str| {
                    let (name, port) = (format!("{side}_name"), format!("{side}_port"));
                    format!("{}[{}]", word(hop, &name), number(hop, &port))
                };
                let gbps = hop["gbps"].as_f64().map_or_else(String::new, |gbps| format!("{gbps:.0} Gbit/s"));
                table.row([end("from"), "to".to_owned(), end("to"), gbps]);
            }
            let level = way["service_level"]
                .as_u64()
                .map_or_else(String::new, |level| format!(", service level {level}"));
            let verdict = if arrives { "it arrives" } else { "it ends there: no way" };
            let lids = format!(
                "LID {} to LID {}{level}: {verdict}\n",
                number(&way, "from_lid"),
                number(&way, "to_lid")
            );
            files::write("-", (table.render(0) + &lids).as_bytes())?;
        }
        Ok(if arrives { Answer::Yes } else { Answer::No })
    }
}
