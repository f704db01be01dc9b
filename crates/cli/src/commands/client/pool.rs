//! `heddle pool status`: the running controller's pool.

use clap::Args;
use serde_json::Value;

use super::server::{Server, number, word};
use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::table::{Side, Table};

/// Options of `heddle pool status`.
#[derive(Args)]
#[command(after_help = "Example:\n  heddle pool status --server http://127.0.0.1:7981")]
pub struct Status {
    #[command(flatten)]
    server: Server,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Status {
    /// Asks and prints.
    pub fn run(self) -> Result<Answer, Failure> {
        let pool = self.server.get("/pool")?;
        if self.json {
            files::print_json(&pool)?;
        } else {
            files::write("-", render(&pool).as_bytes())?;
        }
        Ok(Answer::Yes)
    }
}

fn gpus(value: &Value, key: &str) -> String {
    let amount = value[key].as_f64().unwrap_or_default();
    if amount.fract() == 0.0 { format!("{amount:.0}") } else { format!("{amount:.2}") }
}

fn render(pool: &Value) -> String {
    let nodes = &pool["nodes"];
    let mut table = Table::new([Side::Left, Side::Left]);
    let count = |key: &str| number(nodes, key);
    table.row([
        "nodes".to_owned(),
        format!(
            "{}: {} open, {} of them idle, {} closed, {} degraded, {} failed, {} reserved",
            count("all"),
            count("open"),
            count("idle"),
            count("closed"),
            count("degraded"),
            count("failed"),
            count("reserved")
        ),
    ]);
    table.row([
        "GPUs".to_owned(),
        format!(
            "{}: {} given out, {} free, {} of those beside others in use",
            number(pool, "gpus"),
            gpus(pool, "allocated_gpus"),
            gpus(pool, "free_gpus"),
            gpus(pool, "fragmented_gpus")
        ),
    ]);
    let mut text = table.render(0);
    let mut table = Table::new([Side::Left, Side::Right, Side::Right, Side::Right]);
    table.row(["model", "GPUs", "given out", "free"]);
    for model in pool["models"].as_array().into_iter().flatten() {
        table.row([
            word(model, "name").to_owned(),
            number(model, "gpus").to_string(),
            gpus(model, "allocated_gpus"),
            gpus(model, "free_gpus"),
        ]);
    }
    text.push('\n');
    text.push_str(&table.render(0));
    let tenants = pool["tenants"].as_array().map_or(&[][..], |tenants| &tenants[..]);
    if !tenants.is_empty() {
        let mut table = Table::new([Side::Left, Side::Right, Side::Right, Side::Right]);
        table.row(["tenant", "quota", "holds", "borrowed"]);
        for tenant in tenants {
            table.row([
                word(tenant, "name").to_owned(),
                gpus(tenant, "quota"),
                gpus(tenant, "held"),
                gpus(tenant, "borrowed"),
            ]);
        }
        text.push('\n');
        text.push_str(&table.render(0));
    }
    text
}
