//! What is wrong with a pool that can be read: promises that it cannot keep, and what a scheduler would miss.

use std::collections::{BTreeMap, BTreeSet};

pub use fabric::check::Severity;
use fabric::summary::machine;
use fabric::{Fabric, NodeKind};
use serde::Serialize;

use crate::formats::Site;
use crate::gpu::Attachment;
use crate::index::ModelIndex;
use crate::node::State;
use crate::tenants::{GPU, Resource};

/// What a finding is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Quotas at the top of the tree sum to more GPUs, CPU or memory than the pool has.
    QuotaAbovePool,
    /// So much takes no work that those quotas cannot all be used.
    QuotaAboveHealthy,
    /// A node is no host of the fabric.
    NotInFabric,
    /// A GPU sits beside a port that the fabric has not, or that has no cable.
    NoSuchPort,
    /// Some GPUs of a node have a port, and others have none.
    PortsMissing,
    /// GPUs of several models are in one NVLink domain.
    MixedDomain,
    /// Takes no work, and no reason is given.
    NoReason,
    /// How much memory a model has is not known.
    NoMemory,
}

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Finding {
    /// Critical: the pool cannot keep what it promises. Warning: work will be placed worse than it could be. Info:
    /// something to know.
    pub severity: Severity,
    /// What it is about.
    pub kind: Kind,
    /// Node, GPU, model or tenant.
    pub place: String,
    /// It in words.
    pub message: String,
    /// What would mend it.
    pub mend: &'static str,
}

/// All that is wrong, worst first. With a fabric, nodes and ports are looked up in it too.
pub fn check(site: &Site, fabric: Option<&Fabric>) -> Vec<Finding> {
    let mut findings = Vec::new();
    quotas(site, &mut findings);
    other_quotas(site, &mut findings);
    nodes(site, &mut findings);
    if let Some(fabric) = fabric {
        ports(site, fabric, &mut findings);
    }
    findings.sort();
    findings
}

fn quotas(site: &Site, findings: &mut Vec<Finding>) {
    let (pool, tenants) = (&site.pool, &site.tenants);
    let tops = tenants.all().filter(|&tenant| tenants.parent(tenant).is_none());
    let (names, quotas): (Vec<_>, Vec<_>) = tops.map(|top| (tenants.name(top), tenants.quota(top))).unzip();
    let promised = quotas.iter().sum::<u64>();
    let healthy = pool.gpus().filter(|&gpu| pool.takes_work(gpu)).count();
    let as_quota = |gpus: usize| gpus as u64 * GPU;
    let (severity, kind, has, mend) = if promised > as_quota(pool.gpu_count()) {
        let mend = "lower the quotas at the top of the tree";
        (Severity::Critical, Kind::QuotaAbovePool, format!("the pool has {}", pool.gpu_count()), mend)
    } else if promised > as_quota(healthy) {
        let mend = "mend what takes no work, or lower the quotas for the time";
        (Severity::Warning, Kind::QuotaAboveHealthy, format!("{healthy} GPUs take work"), mend)
    } else {
        return;
    };
    let message = format!("quotas sum to {} GPUs, and {has}", promised as f64 / GPU as f64);
    findings.push(Finding { severity, kind, place: names.join(", "), message, mend });
}

/// The same of CPU and memory, where there are limits of them.
fn other_quotas(site: &Site, findings: &mut Vec<Finding>) {
    let (pool, tenants) = (&site.pool, &site.tenants);
    for resource in [Resource::Cpu, Resource::Memory] {
        let tops = tenants.all().filter(|&tenant| tenants.parent(tenant).is_none());
        let quotas = tops.filter_map(|top| Some((tenants.name(top), tenants.limits(resource, top)?.quota?)));
        let (names, quotas): (Vec<_>, Vec<_>) = quotas.unzip();
        let of_node = |node| match resource {
            Resource::Memory => pool.node_memory_mib(node),
            _ => pool.numa_cpu_milli(node).iter().map(|&cpu| u64::from(cpu)).sum(),
        };
        let has = pool.nodes().map(of_node).fold(0, u64::saturating_add);
        let promised = quotas.iter().sum::<u64>();
        if promised > has {
            findings.push(Finding {
                severity: Severity::Critical,
                kind: Kind::QuotaAbovePool,
                place: names.join(", "),
                message: format!(
                    "quotas sum to {}, and the pool has {}",
                    resource.show(promised),
                    resource.show(has)
                ),
                mend: "lower the quotas at the top of the tree",
            });
        }
    }
}

fn nodes(site: &Site, findings: &mut Vec<Finding>) {
    let pool = &site.pool;
    let mut domains: BTreeMap<u32, BTreeSet<ModelIndex>> = BTreeMap::new();
    for node in pool.nodes() {
        let name = pool.node_name(node);
        let silent = |place: String, state: State| Finding {
            severity: Severity::Info,
            kind: Kind::NoReason,
            message: format!("{place} is {state}, and no reason is given"),
            place,
            mend: "write down why, for whoever comes next",
        };
        let health = pool.node_health(node);
        if health.state != State::Healthy && health.reason.is_empty() {
            findings.push(silent(name.to_owned(), health.state));
        }
        for gpu in pool.gpus_of(node) {
            let own = pool.health(gpu);
            if own.state > health.state && own.reason.is_empty() {
                findings.push(silent(pool.gpu_label(gpu), own.state));
            }
            if let Some(domain) = pool.nvlink(gpu) {
                domains.entry(domain).or_default().insert(pool.model_of(gpu));
            }
        }
        let gpus = pool.gpus_of(node).len();
        let with_port = pool.gpus_of(node).filter(|&gpu| pool.attachment(gpu).is_some()).count();
        if with_port > 0 && with_port < gpus {
            findings.push(Finding {
                severity: Severity::Warning,
                kind: Kind::PortsMissing,
                place: name.to_owned(),
                message: format!("{} of {gpus} GPUs of {name} sit beside no known port", gpus - with_port),
                mend: "name an adapter for each GPU",
            });
        }
    }
    for models in domains.values().filter(|models| models.len() > 1) {
        let names: Vec<_> = models.iter().map(|model| pool.models()[model.index()].name.as_str()).collect();
        let place = names.join(", ");
        findings.push(Finding {
            severity: Severity::Warning,
            kind: Kind::MixedDomain,
            message: format!("one NVLink domain has GPUs of several models: {place}"),
            place,
            mend: "give each model a domain of its own",
        });
    }
    let used: BTreeSet<_> = pool.gpus().map(|gpu| pool.model_of(gpu)).collect();
    for model in used.iter().map(|model| &pool.models()[model.index()]).filter(|model| model.memory_mib == 0)
    {
        findings.push(Finding {
            severity: Severity::Info,
            kind: Kind::NoMemory,
            place: model.name.clone(),
            message: format!(
                "how much memory a {} has is not known: fractions of it are not bounded by it",
                model.name
            ),
            mend: "write [[model]] with its memory-mib",
        });
    }
}

fn ports(site: &Site, fabric: &Fabric, findings: &mut Vec<Finding>) {
    let pool = &site.pool;
    let (mut hosts, mut adapters, mut cabled) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for node in fabric.nodes().filter(|&node| fabric.kind(node) == NodeKind::ChannelAdapter) {
        for (port, _) in fabric.neighbors(node) {
            cabled.insert((fabric.guid(node), fabric.port_number(port)));
        }
        if let Some(host) = machine(fabric, node) {
            hosts.insert(host);
            let mut words = fabric.name(node).split_whitespace().skip(1);
            adapters.extend(words.next().map(|adapter| (host, adapter)));
        }
    }
    for node in pool.nodes().filter(|&node| pool.gpus_of(node).len() > 0) {
        let name = pool.node_name(node);
        let mut wrong = Vec::new();
        let mut by_name = false;
        for gpu in pool.gpus_of(node) {
            match pool.attachment(gpu) {
                Some(Attachment::Port { guid, port }) if !cabled.contains(&(*guid, *port)) => {
                    wrong.push(format!("port {port} of {guid}"));
                }
                Some(Attachment::Adapter(adapter)) => {
                    by_name = true;
                    if hosts.contains(name) && !adapters.contains(&(name, adapter.as_str())) {
                        wrong.push(adapter.clone());
                    }
                }
                Some(Attachment::Port { .. }) | None => by_name |= pool.attachment(gpu).is_none(),
            }
        }
        if by_name && !hosts.contains(name) {
            findings.push(Finding {
                severity: Severity::Warning,
                kind: Kind::NotInFabric,
                place: name.to_owned(),
                message: format!("no adapter of the fabric is named after {name}"),
                mend: "let both use the host's name, or take the node out",
            });
        }
        if !wrong.is_empty() {
            wrong.dedup();
            findings.push(Finding {
                severity: Severity::Warning,
                kind: Kind::NoSuchPort,
                place: name.to_owned(),
                message: format!("GPUs of {name} sit beside what the fabric has not: {}", wrong.join(", ")),
                mend: "see `ibstat` on the host for its adapters",
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use ib::Guid;

    use super::*;
    use crate::formats::{Beside, read};

    fn kinds(text: &str, fabric: Option<&Fabric>) -> Vec<(Kind, String)> {
        let (site, _) = read("pool.toml", text.as_bytes(), &Beside::default()).unwrap();
        check(&site, fabric).into_iter().map(|finding| (finding.kind, finding.place)).collect()
    }

    const NODE: &str = "heddle-pool = 1\n[[node]]\nname = \"n[1-2]\"\nmodel = \"A30\"\ngpus = 2\ncpus = [8]\nmemory-mib = 1\n";

    #[test]
    fn nothing_is_wrong_with_what_is_right() {
        assert_eq!(kinds(NODE, None), []);
        let tenant = "[[tenant]]\nname = \"all\"\nquota = 4\n";
        assert_eq!(kinds(&format!("{NODE}{tenant}"), None), []);
    }

    #[test]
    fn promises_that_cannot_be_kept_are_found() {
        let tenant = "[[tenant]]\nname = \"all\"\nquota = 4.001\n";
        assert_eq!(kinds(&format!("{NODE}{tenant}"), None), [(Kind::QuotaAbovePool, "all".to_owned())]);
        let cores = "[[tenant]]\nname = \"all\"\nquota = 4\ncpu-quota = 16.5\nmemory-quota-mib = 2\n";
        assert_eq!(kinds(&format!("{NODE}{cores}"), None), [(Kind::QuotaAbovePool, "all".to_owned())]);
        let failed =
            "[[gpu]]\nnode = \"n2\"\ngpu = 1\nstate = \"failed\"\n[[tenant]]\nname = \"all\"\nquota = 4\n";
        let found = kinds(&format!("{NODE}{failed}"), None);
        assert_eq!(found, [(Kind::QuotaAboveHealthy, "all".into()), (Kind::NoReason, "n2[1]".into())]);
    }

    #[test]
    fn what_a_scheduler_would_miss_is_found() {
        let rack = NODE.replace("memory-mib", "nvlink = \"r\"\nmemory-mib");
        let other =
            "[[node]]\nname = \"m\"\nmodel = \"X9\"\ngpus = 1\ncpus = [8]\nmemory-mib = 1\nnvlink = \"r\"\n";
        let found = kinds(&format!("{rack}{other}"), None);
        assert_eq!(found, [(Kind::MixedDomain, "A30, X9".into()), (Kind::NoMemory, "X9".into())]);
    }

    #[test]
    fn nodes_and_adapters_are_looked_up_in_the_fabric() {
        let mut fabric = Fabric::new();
        let leaf = fabric.add_node(NodeKind::Switch, Guid(1), 4, "leaf");
        for adapter in 0..2u8 {
            let guid = Guid(0x10 + u64::from(adapter));
            let node = fabric.add_node(NodeKind::ChannelAdapter, guid, 1, &format!("n1 mlx5_{adapter}"));
            fabric.connect((leaf, adapter + 1), (node, 1), None).unwrap();
        }
        let with =
            |adapters: &str| NODE.replace("memory-mib", &format!("adapters = [{adapters}]\nmemory-mib"));
        let found = kinds(&with("\"mlx5_0\", \"mlx5_1\""), Some(&fabric));
        assert_eq!(found, [(Kind::NotInFabric, "n2".to_owned())]);
        let found = kinds(&with("\"mlx5_0\", \"mlx5_9\"").replace("n[1-2]", "n1"), Some(&fabric));
        assert_eq!(found, [(Kind::NoSuchPort, "n1".to_owned())]);
    }
}
