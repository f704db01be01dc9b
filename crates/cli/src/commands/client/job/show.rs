//! `heddle job list`, `show`, `why`, `cancel`, `watch`, `output`.

use std::io::Write;
use std::thread;
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use super::super::server::{Server, number, with_query, word};
use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::Style;
use crate::table::{Side, Table};

/// A job that is watched is looked at so often.
const LOOK: Duration = Duration::from_millis(200);

/// Options of `heddle job list`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  heddle job list --state waiting\n  heddle job list --tenant vision --json"
)]
pub struct List {
    /// Those in this state: held, waiting, starting, running, stopping, done, failed, cancelled
    #[arg(long)]
    state: Option<String>,
    /// Those of this tenant
    #[arg(long)]
    tenant: Option<String>,
    /// The newest so many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    most: u32,
    #[command(flatten)]
    server: Server,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Options of verbs that are about one job.
#[derive(Args)]
#[command(
    after_help = "Example:\n  heddle job why 12\n\nExit codes of watch: 0 the job did its work, 1 it did not. Of the \
    others: 0 done, 2 there is no such job."
)]
pub struct One {
    /// The job's number
    number: u64,
    #[command(flatten)]
    server: Server,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn state(job: &Value, style: &Style) -> String {
    match word(job, "state") {
        state @ ("running" | "done") => style.green(state),
        state @ "failed" => style.red_bold(state),
        state => style.yellow(state),
    }
}

fn time(job: &Value, key: &str) -> String {
    job[key].as_str().map_or("-", |time| time.get(..19).unwrap_or(time)).to_owned()
}

fn nodes(job: &Value) -> String {
    let names: Vec<&str> =
        job["nodes"].as_array().into_iter().flatten().map(|node| word(node, "name")).collect();
    match &names[..] {
        [] => "-".to_owned(),
        [one] => (*one).to_owned(),
        [first, .., last] => format!("{first} … {last} ({})", names.len()),
    }
}

impl List {
    /// Asks and prints.
    pub fn run(self) -> Result<Answer, Failure> {
        let mut jobs: Vec<Value> = Vec::new();
        let mut before: Option<u64> = None;
        while jobs.len() < self.most as usize {
            let query = [
                ("state", self.state.clone()),
                ("tenant", self.tenant.clone()),
                ("limit", Some((self.most as usize - jobs.len()).min(1000).to_string())),
                ("before", before.map(|before| before.to_string())),
            ];
            let page = self.server.get(&with_query("/jobs", &query))?;
            jobs.extend(page["items"].as_array().into_iter().flatten().cloned());
            before = page["next"].as_u64();
            if before.is_none() {
                break;
            }
        }
        if self.json {
            files::print_json(&jobs)?;
            return Ok(Answer::Yes);
        }
        let style = Style::stdout();
        let mut table = Table::new([
            Side::Right,
            Side::Left,
            Side::Left,
            Side::Left,
            Side::Right,
            Side::Left,
            Side::Left,
        ]);
        table.row(["job", "name", "tenant", "state", "GPUs", "since", "nodes"]);
        for job in &jobs {
            let since = ["ended", "started", "submitted"].into_iter().find(|key| !job[*key].is_null());
            table.row([
                number(job, "number").to_string(),
                word(job, "name").to_owned(),
                job["tenant"].as_str().unwrap_or("-").to_owned(),
                state(job, &style),
                job["gpus"].to_string(),
                time(job, since.unwrap_or("submitted")),
                nodes(job),
            ]);
        }
        let text = if jobs.is_empty() { "no job is so\n".to_owned() } else { table.render(0) };
        files::write("-", text.as_bytes())?;
        Ok(Answer::Yes)
    }
}

fn render(job: &Value) -> String {
    let mut table = Table::new([Side::Left, Side::Left]);
    let name = format!("{} \"{}\"", number(job, "number"), word(job, "name"));
    table.row(["job", &name]);
    let cause = job["cause"].as_str().map_or_else(String::new, |cause| format!(": {cause}"));
    table.row(["state".to_owned(), format!("{}{cause}", state(job, &Style::stdout()))]);
    if let Some(tenant) = job["tenant"].as_str() {
        table.row(["tenant", tenant]);
    }
    for key in ["submitted", "started", "ended"] {
        table.row([key.to_owned(), time(job, key)]);
    }
    let spec = &job["spec"];
    table.row(["wants".to_owned(), format!("{} parts with {} GPUs each", spec["parts"], spec["gpus"])]);
    for node in job["nodes"].as_array().into_iter().flatten() {
        let gpus: Vec<String> =
            node["gpus"].as_array().into_iter().flatten().map(ToString::to_string).collect();
        table.row(["on".to_owned(), format!("{}, GPUs {}", word(node, "name"), gpus.join(","))]);
    }
    if !job["end"].is_null() {
        table.row(["end", word(&job["end"], "text")]);
    }
    let (attempt, stops) = (number(job, "attempt"), number(job, "stops"));
    if stops > 0 {
        table.row(["runs".to_owned(), format!("{attempt}; stopped for others or moved {stops} times")]);
    }
    table.render(0)
}

impl One {
    fn print(&self, value: &Value, text: impl FnOnce(&Value) -> String) -> Result<Answer, Failure> {
        if self.json {
            files::print_json(value)?;
        } else {
            files::write("-", text(value).as_bytes())?;
        }
        Ok(Answer::Yes)
    }

    /// Shows it.
    pub fn show(self) -> Result<Answer, Failure> {
        let job = self.server.get(&format!("/jobs/{}", self.number))?;
        self.print(&job, render)
    }

    /// Says why.
    pub fn why(self) -> Result<Answer, Failure> {
        let why = self.server.get(&format!("/jobs/{}/why", self.number))?;
        self.print(&why, |why| {
            let mut text = format!(
                "job {} \"{}\" is {}\n",
                number(why, "number"),
                word(why, "name"),
                word(why, "state")
            );
            for line in why["text"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                text.push_str(&format!("  {line}\n"));
            }
            text
        })
    }

    /// Ends it.
    pub fn cancel(self) -> Result<Answer, Failure> {
        let job = self.server.delete(&format!("/jobs/{}", self.number))?;
        self.print(&job, |job| format!("job {} is {}\n", number(job, "number"), word(job, "state")))
    }

    /// Prints what it has written from a byte on, and says where that ends.
    fn more(&self, mut offset: u64) -> Result<u64, Failure> {
        loop {
            let bytes = self.server.bytes(&format!("/jobs/{}/output?offset={offset}", self.number))?;
            if bytes.is_empty() {
                return Ok(offset);
            }
            offset += bytes.len() as u64;
            let mut out = std::io::stdout().lock();
            let written = out.write_all(&bytes).and_then(|()| out.flush());
            written.map_err(|error| Failure::file("write", "standard output", &error))?;
        }
    }

    /// Prints what it has written.
    pub fn output(self) -> Result<Answer, Failure> {
        self.server.get(&format!("/jobs/{}", self.number))?;
        self.more(0)?;
        Ok(Answer::Yes)
    }

    /// Waits until it is over.
    pub fn watch(self) -> Result<Answer, Failure> {
        let mut offset = 0;
        loop {
            let job = self.server.get(&format!("/jobs/{}", self.number))?;
            let is_over = matches!(word(&job, "state"), "done" | "failed" | "cancelled");
            if !self.json {
                offset = self.more(offset)?;
            }
            if is_over {
                if self.json {
                    files::print_json(&job)?;
                } else {
                    let how = job["end"]["text"].as_str().or(job["cause"].as_str()).unwrap_or_default();
                    eprintln!("job {} is {}: {how}", self.number, word(&job, "state"));
                }
                return Ok(if word(&job, "state") == "done" { Answer::Yes } else { Answer::No });
            }
            thread::sleep(LOOK);
        }
    }
}
