//! Heddle's own format: a pool with its partitions, tenants, reservations and calendar, in TOML that a person writes by hand.
//!
//! `examples/pool.toml` has every key with what it means. Names of nodes are host lists: `gpu[01-16]` is sixteen nodes.

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use serde::Deserialize;
use toml::Spanned;

use super::place::Place;
use super::{Site, hosts};
use crate::FormatError;
use crate::calendar::{Calendar, Days, Window};
use crate::catalog::MigCatalog;
use crate::gpu::Attachment;
use crate::index::GpuIndex;
use crate::node::{Gpu, Health, Node, Pool, State};
use crate::reservations::{Reservation, Reservations};
use crate::slices::Slices;
use crate::tenants::{self, Limits, Resource, Tenants, Wanted};

/// What the first line that is no comment begins with.
pub const MARK: &str = "heddle-pool";
const KEYS: &str = "the keys are those of examples/pool.toml: heddle-pool, model, node, gpu, partition, tenant, reservation and \
                    calendar";
/// More than any machine has: bounds on what one line can ask for.
const MAX_GPUS_OF_NODE: u16 = 1024;
const MAX_NUMA: usize = 64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    heddle_pool: Spanned<u32>,
    #[serde(default)]
    model: Vec<Model>,
    #[serde(default)]
    node: Vec<Spanned<Nodes>>,
    #[serde(default)]
    gpu: Vec<Spanned<GpuState>>,
    #[serde(default)]
    partition: Vec<Spanned<PartitionOf>>,
    #[serde(default)]
    tenant: Vec<Spanned<Tenant>>,
    #[serde(default)]
    reservation: Vec<Spanned<Reserved>>,
    calendar: Option<Spanned<CalendarOf>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Model {
    name: String,
    memory_mib: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Nodes {
    name: String,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    gpus: u16,
    /// Cores of each NUMA node.
    cpus: Vec<f64>,
    memory_mib: u64,
    nvlink: Option<String>,
    numa: Option<Vec<u16>>,
    /// Memory of each NUMA node; an even split where it is left out.
    numa_memory_mib: Option<Vec<u64>>,
    adapters: Option<Vec<String>>,
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct GpuState {
    node: String,
    gpu: u32,
    state: String,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PartitionOf {
    node: String,
    gpus: Vec<u32>,
    mig: Option<Vec<String>>,
    #[serde(default)]
    fractions: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Tenant {
    name: String,
    parent: Option<String>,
    quota: f64,
    borrowing_limit: Option<f64>,
    lending_limit: Option<f64>,
    cpu_quota: Option<f64>,
    cpu_borrowing_limit: Option<f64>,
    cpu_lending_limit: Option<f64>,
    memory_quota_mib: Option<u64>,
    memory_borrowing_limit_mib: Option<u64>,
    memory_lending_limit_mib: Option<u64>,
    #[serde(default = "one")]
    weight: u32,
}

const fn one() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Reserved {
    name: String,
    tenant: String,
    gpus: f64,
    from: String,
    until: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct CalendarOf {
    zone: String,
    #[serde(default)]
    otherwise_inference_percent: u8,
    #[serde(default)]
    drain_minutes: u16,
    #[serde(default)]
    holidays: Vec<Spanned<String>>,
    #[serde(default)]
    window: Vec<Spanned<WindowOf>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WindowOf {
    name: String,
    days: Vec<String>,
    from: String,
    until: String,
    inference_percent: u8,
}

/// Reads Heddle's own format.
///
/// # Errors
/// File, line and column, what is wrong and what would mend it.
pub fn read(name: &str, text: &str, catalog: MigCatalog) -> Result<Site, FormatError> {
    let place = Place::new(name, text);
    let file: File = place.parse(KEYS)?;
    if *file.heddle_pool.get_ref() != 1 {
        let what = format!("version {} of the format", file.heddle_pool.get_ref());
        return Err(place.error(file.heddle_pool.span().start, what, "this Heddle reads version 1"));
    }
    let mut pool = Pool::new();
    for model in &file.model {
        pool.model_named(&model.name, model.memory_mib);
    }
    let mut domains = Domains::default();
    for nodes in &file.node {
        add_nodes(place, &mut pool, &catalog, &mut domains, nodes)?;
    }
    for entry in &file.gpu {
        let (at, entry) = (entry.span().start, entry.get_ref());
        let gpu = gpu_named(place, at, &pool, &entry.node, entry.gpu)?;
        pool.set_gpu_health(gpu, health(place, at, Some(&entry.state), &entry.reason)?);
    }
    let mut slices = Slices::new(&pool, catalog);
    for entry in &file.partition {
        partition(place, &pool, &mut slices, entry)?;
    }
    let tenants = tenants_of(place, &file.tenant)?;
    let reservations = reservations_of(place, &pool, &tenants, &file.reservation)?;
    let calendar = file.calendar.as_ref().map(|calendar| calendar_of(place, calendar)).transpose()?;
    Ok(Site { pool, slices, tenants, reservations, calendar })
}

/// NVLink domains by name.
#[derive(Default)]
struct Domains {
    count: u32,
    by_name: rustc_hash::FxHashMap<String, u32>,
}

impl Domains {
    fn fresh(&mut self) -> u32 {
        self.count += 1;
        self.count - 1
    }

    /// `node`: one for each node; `none`: none; any other word: one for all nodes of that word.
    fn of(&mut self, word: &str) -> Option<u32> {
        match word {
            "none" => None,
            "node" => Some(self.fresh()),
            _ => {
                if let Some(&domain) = self.by_name.get(word) {
                    return Some(domain);
                }
                let domain = self.fresh();
                self.by_name.insert(word.to_owned(), domain);
                Some(domain)
            }
        }
    }
}

fn add_nodes(
    place: Place<'_>,
    pool: &mut Pool,
    catalog: &MigCatalog,
    domains: &mut Domains,
    entry: &Spanned<Nodes>,
) -> Result<(), FormatError> {
    let (at, nodes) = (entry.span().start, entry.get_ref());
    let error = |what: String, mend: &str| Err(place.error(at, what, mend));
    let names =
        hosts::expand(&nodes.name).map_err(|what| place.error(at, what, "write names as gpu[01-16]"))?;
    if nodes.gpus > MAX_GPUS_OF_NODE || nodes.cpus.is_empty() || nodes.cpus.len() > MAX_NUMA {
        let what = format!("{} GPUs and {} NUMA nodes", nodes.gpus, nodes.cpus.len());
        return error(
            what,
            "a node has up to 1024 GPUs, and in cpus the cores of each of 1 to 64 NUMA nodes",
        );
    }
    let mut cpu_milli = Vec::with_capacity(nodes.cpus.len());
    for cores in &nodes.cpus {
        cpu_milli.push(milli(*cores).and_then(|cores| u32::try_from(cores).ok()).ok_or_else(|| {
            place.error(
                at,
                format!("{cores} cores"),
                "cores are a number from 0 on, with up to three decimals",
            )
        })?);
    }
    let count = usize::from(nodes.gpus);
    for (key, length) in
        [("numa", nodes.numa.as_ref().map(Vec::len)), ("adapters", nodes.adapters.as_ref().map(Vec::len))]
    {
        if length.is_some_and(|length| length != count) {
            let what = format!("{key} has {} entries for {count} GPUs", length.unwrap_or(0));
            return error(what, "give one for each GPU");
        }
    }
    let model = match &nodes.model {
        Some(name) => {
            let known = catalog.model(name).map_or(0, |model| model.memory_mib);
            Some(pool.model_named(name, known))
        }
        None if count == 0 => None,
        None => return error("GPUs without a model".to_owned(), "name it as model = \"H100-80GB\""),
    };
    let health = health(place, at, nodes.state.as_deref(), &nodes.reason)?;
    for name in names {
        let nvlink = if count == 0 { None } else { domains.of(nodes.nvlink.as_deref().unwrap_or("node")) };
        let gpus = model.map_or_else(Vec::new, |model| {
            let gpu = |gpu: usize| Gpu {
                model,
                nvlink,
                numa: nodes.numa.as_ref().map_or((gpu * nodes.cpus.len() / count) as u16, |numa| numa[gpu]),
                attachment: nodes
                    .adapters
                    .as_ref()
                    .map(|adapters| Attachment::Adapter(adapters[gpu].clone())),
                health: Health::default(),
            };
            (0..count).map(gpu).collect()
        });
        let (cpu_milli, health, memory_mib) = (cpu_milli.clone(), health.clone(), nodes.memory_mib);
        let node = pool
            .add_node(Node { name, cpu_milli, memory_mib, health, gpus })
            .map_err(|problem| place.error(at, problem.to_string(), "give every node once, as it is"))?;
        if let Some(memory_mib) = &nodes.numa_memory_mib {
            pool.set_numa_memory_mib(node, memory_mib.clone())
                .map_err(|problem| place.error(at, problem.to_string(), "give one for each entry of cpus"))?;
        }
    }
    Ok(())
}

/// Thousandths of a number that has no more than three decimals.
fn milli(number: f64) -> Option<u64> {
    let milli = (number * 1000.0).round();
    ((0.0..1e15).contains(&milli) && (milli - number * 1000.0).abs() < 1e-6).then_some(milli as u64)
}

fn health(place: Place<'_>, at: usize, state: Option<&str>, reason: &str) -> Result<Health, FormatError> {
    let state = state.map_or(Some(State::Healthy), State::from_name).ok_or_else(|| {
        let what = format!("\"{}\" is no state", state.unwrap_or_default());
        place.error(at, what, "write healthy, draining, cordoned or failed")
    })?;
    Ok(Health { state, reason: reason.to_owned() })
}

fn gpu_named(
    place: Place<'_>,
    at: usize,
    pool: &Pool,
    node: &str,
    gpu: u32,
) -> Result<GpuIndex, FormatError> {
    let index = pool
        .node_named(node)
        .ok_or_else(|| place.error(at, format!("there is no node \"{node}\""), "name a node of this file"))?;
    pool.gpus_of(index).nth(gpu as usize).ok_or_else(|| {
        let what = format!("{node} has {} GPUs, and no number {gpu}", pool.gpus_of(index).len());
        place.error(at, what, "GPUs of a node are counted from 0")
    })
}

fn partition(
    place: Place<'_>,
    pool: &Pool,
    slices: &mut Slices,
    entry: &Spanned<PartitionOf>,
) -> Result<(), FormatError> {
    let (at, entry) = (entry.span().start, entry.get_ref());
    let nodes =
        hosts::expand(&entry.node).map_err(|what| place.error(at, what, "write names as gpu[01-16]"))?;
    for node in &nodes {
        for &number in &entry.gpus {
            let gpu = gpu_named(place, at, pool, node, number)?;
            let cut = match (&entry.mig, entry.fractions) {
                (Some(profiles), false) => {
                    let profiles: Vec<&str> = profiles.iter().map(String::as_str).collect();
                    slices.cut(pool, gpu, &profiles)
                }
                (None, true) => slices.share(pool, gpu),
                _ => {
                    let what = "a partition of no kind or of two".to_owned();
                    return Err(place.error(
                        at,
                        what,
                        "give either mig = [\"3g.40gb\", …] or fractions = true",
                    ));
                }
            };
            cut.map_err(|problem| {
                place.error(at, problem.to_string(), "see catalog/mig.toml for what a model can be cut into")
            })?;
        }
    }
    Ok(())
}

fn amount(place: Place<'_>, at: usize, key: &str, gpus: f64) -> Result<u64, FormatError> {
    milli(gpus).filter(|&amount| amount <= tenants::MAX_AMOUNT).ok_or_else(|| {
        place.error(at, format!("{key} = {gpus}"), "GPUs are a number from 0 on, to the thousandth")
    })
}

fn tenants_of(place: Place<'_>, list: &[Spanned<Tenant>]) -> Result<Tenants, FormatError> {
    let mut wanted = Vec::with_capacity(list.len());
    let (mut cpu, mut memory) = (Vec::with_capacity(list.len()), Vec::with_capacity(list.len()));
    for entry in list {
        let (at, tenant) = (entry.span().start, entry.get_ref());
        let limit = |key: &str, gpus: Option<f64>| gpus.map(|gpus| amount(place, at, key, gpus)).transpose();
        wanted.push(Wanted {
            name: tenant.name.clone(),
            parent: tenant.parent.clone(),
            quota: amount(place, at, "quota", tenant.quota)?,
            borrowing_limit: limit("borrowing-limit", tenant.borrowing_limit)?,
            lending_limit: limit("lending-limit", tenant.lending_limit)?,
            weight: tenant.weight,
        });
        let cores = |key: &str, cores: Option<f64>| {
            let amount = |cores: f64| {
                milli(cores).filter(|&amount| amount <= tenants::MAX_AMOUNT).ok_or_else(|| {
                    let mend = "cores are a number from 0 on, with up to three decimals";
                    place.error(at, format!("{key} = {cores}"), mend)
                })
            };
            cores.map(amount).transpose()
        };
        cpu.push(Limits {
            quota: cores("cpu-quota", tenant.cpu_quota)?,
            borrowing: cores("cpu-borrowing-limit", tenant.cpu_borrowing_limit)?,
            lending: cores("cpu-lending-limit", tenant.cpu_lending_limit)?,
        });
        memory.push(Limits {
            quota: tenant.memory_quota_mib,
            borrowing: tenant.memory_borrowing_limit_mib,
            lending: tenant.memory_lending_limit_mib,
        });
    }
    let error = |error: tenants::TreeError| {
        let at = list.get(error.tenant).map_or(0, |entry| entry.span().start);
        place.error(at, error.what, error.mend)
    };
    let mut tree = Tenants::new(wanted).map_err(error)?;
    for (resource, limits) in [(Resource::Cpu, cpu), (Resource::Memory, memory)] {
        if limits.iter().any(|limits| *limits != Limits::default()) {
            tree = tree.with_limits(resource, limits).map_err(error)?;
        }
    }
    Ok(tree)
}

fn reservations_of(
    place: Place<'_>,
    pool: &Pool,
    tenants: &Tenants,
    list: &[Spanned<Reserved>],
) -> Result<Reservations, FormatError> {
    let mut reservations = Reservations::new(pool.gpu_count() as u64 * tenants::GPU);
    for entry in list {
        let (at, entry) = (entry.span().start, entry.get_ref());
        let tenant = tenants.named(&entry.tenant).ok_or_else(|| {
            place.error(at, format!("there is no tenant \"{}\"", entry.tenant), "name a tenant of this file")
        })?;
        let time = |text: &str| {
            text.parse::<Timestamp>().map(Timestamp::as_second).map_err(|_| {
                let mend = "write times with their offset: 2026-12-24T18:00:00+01:00";
                place.error(at, format!("\"{text}\" is no time"), mend)
            })
        };
        reservations
            .add(Reservation {
                name: entry.name.clone(),
                tenant,
                amount: amount(place, at, "gpus", entry.gpus)?,
                from: time(&entry.from)?,
                until: time(&entry.until)?,
            })
            .map_err(|problem| place.error(at, problem.to_string(), ""))?;
    }
    Ok(reservations)
}

fn calendar_of(place: Place<'_>, entry: &Spanned<CalendarOf>) -> Result<Calendar, FormatError> {
    let (at, calendar) = (entry.span().start, entry.get_ref());
    let mut holidays: Vec<Date> = Vec::with_capacity(calendar.holidays.len());
    for day in &calendar.holidays {
        holidays.push(day.get_ref().parse().map_err(|_| {
            let what = format!("\"{}\" is no date", day.get_ref());
            place.error(day.span().start, what, "write dates as 2026-12-25")
        })?);
    }
    let mut windows = Vec::with_capacity(calendar.window.len());
    for entry in &calendar.window {
        let (at, window) = (entry.span().start, entry.get_ref());
        let time = |text: &str| {
            text.parse::<Time>()
                .map_err(|_| place.error(at, format!("\"{text}\" is no time of day"), "write times as 09:00"))
        };
        let mut days = Days::none();
        for word in &window.days {
            days = days.and(Days::named(word).ok_or_else(|| {
                let mend = "write weekdays, weekend, daily, or mon, tue, wed, thu, fri, sat, sun";
                place.error(at, format!("\"{word}\" is no day"), mend)
            })?);
        }
        windows.push(Window {
            name: window.name.clone(),
            days,
            from: time(&window.from)?,
            until: time(&window.until)?,
            inference_percent: window.inference_percent,
        });
    }
    let drain_s = u32::from(calendar.drain_minutes) * 60;
    Calendar::new(&calendar.zone, windows, holidays, calendar.otherwise_inference_percent, drain_s).map_err(
        |error| {
            let at = error
                .window
                .and_then(|window| calendar.window.get(window))
                .map_or(at, |window| window.span().start);
            place.error(at, error.what, error.mend)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = include_str!("../../../../examples/pool.toml");

    fn read_text(text: &str) -> Result<Site, FormatError> {
        read("pool.toml", text, MigCatalog::shipped().unwrap())
    }

    #[test]
    fn the_example_is_read() {
        let site = read_text(EXAMPLE).unwrap();
        site.pool.check_invariants();
        site.slices.check_invariants(&site.pool);
        site.tenants.check_invariants();
        assert_eq!((site.pool.node_count(), site.pool.gpu_count()), (23, 160));
        let rack = site.pool.node_named("rack1-n01").unwrap();
        let other = site.pool.node_named("rack1-n04").unwrap();
        let domain = |node| site.pool.nvlink(site.pool.gpus_of(node).next().unwrap());
        assert_eq!(domain(rack), domain(other));
        assert!(site.calendar.is_some() && !site.reservations.all().is_empty());
    }

    #[test]
    fn wrong_keys_and_values_are_named_by_line() {
        let swap = |from: &str, to: &str| {
            assert!(EXAMPLE.contains(from), "{from}");
            read_text(&EXAMPLE.replacen(from, to, 1)).unwrap_err().to_string()
        };
        let error = swap("borrowing-limit", "borowing-limit");
        assert!(error.contains("borowing-limit") && error.starts_with("pool.toml:"), "{error}");
        assert!(!error.starts_with("pool.toml:1:"), "{error}");
        assert!(swap("zone = \"Europe/Berlin\"", "zone = \"Europe/Bern\"").contains("no time zone"));
        assert!(swap("quota = 96", "quota = 9600").contains("lower a child's quota"));
        assert!(swap("parent = \"site\"", "parent = \"cite\"").contains("\"cite\", which is not there"));
        assert!(swap("state = \"failed\"", "state = \"broken\"").contains("\"broken\" is no state"));
        assert!(swap("mig = [\"3g.40gb\"", "mig = [\"7g.80gb\", \"3g.40gb\"").contains("do not fit"));
        assert!(swap("from = \"09:00\"", "from = \"9 o'clock\"").contains("no time of day"));
        assert!(swap("heddle-pool = 1", "heddle-pool = 7").contains("version 1"));
        assert!(swap("cpus = [56, 56]", "cpus = [56, -1]").contains("-1 cores"));
        assert!(swap("gpu = 5", "gpu = 50").contains("no number 50"));
        assert!(read_text("heddle-pool = 1\n[[node]]\nname = \"a\"\n").is_err());
    }
}
