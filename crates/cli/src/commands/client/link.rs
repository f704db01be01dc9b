//! `heddle link`: the running fabric's links.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;

use super::server::{Server, escape, number, with_query, word};
use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::Style;
use crate::table::{Side, Table};

/// Verbs of `heddle link`.
#[derive(Subcommand)]
pub enum LinkCommand {
    /// List links, all or those in a state or of a node
    List(List),
    /// Show the link at a port
    Show(At),
    /// Pull the cable at a port, where the fabric is emulated
    Pull(At),
    /// Put the cable that was at a port back, where the fabric is emulated
    Mend(At),
}

/// What a link is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum State {
    /// In service
    Active,
    /// Lost
    Down,
    /// Flapping, and left down for a while
    HeldDown,
}

/// Options of `heddle link list`.
#[derive(Args)]
#[command(after_help = "Examples:\n  heddle link list --state down\n  heddle link list --node leaf-1 --json")]
pub struct List {
    /// Links in this state alone
    #[arg(long, value_enum)]
    state: Option<State>,
    /// Links of this node alone, by name or GUID
    #[arg(long)]
    node: Option<String>,
    #[command(flatten)]
    server: Server,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A port.
#[derive(Args)]
#[command(after_help = "Example:\n  heddle link show leaf-1 40")]
pub struct At {
    /// A node, by name or GUID
    node: String,
    /// Its port
    port: u8,
    #[command(flatten)]
    server: Server,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl LinkCommand {
    /// Carries the command out.
    pub fn run(self) -> Result<Answer, Failure> {
        match self {
            Self::List(list) => list.run(),
            Self::Show(at) => at.show(),
            Self::Pull(at) => at.break_or_mend("pull"),
            Self::Mend(at) => at.break_or_mend("mend"),
        }
    }
}

fn end(link: &Value, at: usize) -> String {
    let end = &link["ends"][at];
    format!("{}[{}]", word(end, "name"), number(end, "port"))
}

fn state(link: &Value, style: &Style) -> String {
    match word(link, "state") {
        "active" => style.green("active"),
        other => style.red_bold(other),
    }
}

fn row(link: &Value, style: &Style) -> [String; 5] {
    let since = word(link, "since");
    let rate = link["rate"].as_str().unwrap_or("-").to_owned();
    [
        end(link, 0),
        end(link, 1),
        state(link, style),
        rate,
        format!("since {}", since.get(..19).unwrap_or(since)),
    ]
}

impl List {
    fn run(self) -> Result<Answer, Failure> {
        let state = self.state.and_then(|state| Some(state.to_possible_value()?.get_name().to_owned()));
        let mut links: Vec<Value> = Vec::new();
        let mut after = None;
        loop {
            let query = [
                ("state", state.clone()),
                ("node", self.node.clone()),
                ("limit", Some("1000".to_owned())),
                ("after", after),
            ];
            let page = self.server.get(&with_query("/links", &query))?;
            links.extend(page["items"].as_array().into_iter().flatten().cloned());
            after = page["next"].as_str().map(str::to_owned);
            if after.is_none() {
                break;
            }
        }
        if self.json {
            files::print_json(&links)?;
            return Ok(Answer::Yes);
        }
        let style = Style::stdout();
        let mut table = Table::new([Side::Left; 5]);
        for link in &links {
            table.row(row(link, &style));
        }
        let text = if links.is_empty() { "no link is so\n".to_owned() } else { table.render(0) };
        files::write("-", text.as_bytes())?;
        Ok(Answer::Yes)
    }
}

impl At {
    fn show(self) -> Result<Answer, Failure> {
        let link = self.server.get(&format!("/links/{}/{}", escape(&self.node), self.port))?;
        if self.json {
            files::print_json(&link)?;
        } else {
            let style = Style::stdout();
            let mut table = Table::new([Side::Left; 5]);
            table.row(row(&link, &style));
            let lost = format!("lost {} times since the controller started\n", number(&link, "losses"));
            files::write("-", (table.render(0) + &lost).as_bytes())?;
        }
        Ok(if word(&link, "state") == "active" { Answer::Yes } else { Answer::No })
    }

    fn break_or_mend(self, verb: &str) -> Result<Answer, Failure> {
        let (node, port) = (escape(&self.node), self.port);
        self.server.post(&format!("/emulator/links/{node}/{port}/{verb}"))?;
        if self.json {
            files::print_json(&serde_json::json!({ "node": self.node, "port": port, "done": verb }))?;
        } else {
            let done = if verb == "pull" { "pulled" } else { "back" };
            files::write("-", format!("{}[{port}]: the cable is {done}\n", self.node).as_bytes())?;
        }
        Ok(Answer::Yes)
    }
}
