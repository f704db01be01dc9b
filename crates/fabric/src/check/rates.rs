//! Links that carry less than their siblings.
//!
//! A link between switches is expected to carry what a quarter of the switch links at each of its ends carry, the
//! lesser of the two ends. A host's link is expected to carry what three quarters of the hosts of its kind (same
//! model, same name but for digits) carry, and no more than its switch's fastest port. Beyond that, a link at DDR or
//! below is slow wherever both models run at FDR or faster elsewhere in the fabric: training fell back.

use std::collections::BTreeMap;

use ib::{LinkRate, LinkSpeed};

use super::{Context, FindingKind, Severity};
use crate::{Fabric, NodeId, NodeKind, PortId};

/// One of several links between two switches: its first end, its rate, whether it is reported as slow.
type Parallel = (PortId, LinkRate, bool);

/// Slow, narrow and differing links.
pub(super) fn rates(context: &mut Context<'_>) {
    let fabric = context.fabric;
    let expected = Expected::of(fabric);
    let mut bundles: BTreeMap<(NodeId, NodeId), Vec<Parallel>> = BTreeMap::new();
    for (one, other) in fabric.links() {
        let Some(rate) = fabric.rate(one) else { continue };
        let nodes = [one, other].map(|port| fabric.node_of(port));
        if nodes[0] == nodes[1] {
            continue;
        }
        let slower = expected.of_link(fabric, one, other, rate);
        if let Some((wanted, why)) = &slower {
            report(context, one, other, rate, *wanted, why);
        }
        if nodes.iter().all(|&node| fabric.is_switch(node)) {
            bundles.entry((nodes[0], nodes[1])).or_default().push((one, rate, slower.is_some()));
        }
    }
    for links in bundles.values().filter(|links| links.iter().all(|&(_, _, reported)| !reported)) {
        differing(context, links);
    }
}

fn report(
    context: &mut Context<'_>,
    one: PortId,
    other: PortId,
    rate: LinkRate,
    wanted: LinkRate,
    why: &str,
) {
    let narrow = rate.speed >= wanted.speed;
    let kind = if narrow { FindingKind::NarrowLink } else { FindingKind::SlowLink };
    let message =
        format!("{} - {} runs at {rate}, {why} at {wanted}", context.port(one), context.port(other));
    let mend = if narrow {
        "reseat the cable, then replace it: a lane does not train"
    } else {
        "reseat the cable, then replace it; look at the speeds that both ports enable"
    };
    let ends = vec![context.port(one), context.port(other)];
    context.found(kind, Severity::Warning, ends, message, mend);
}

fn differing(context: &mut Context<'_>, links: &[Parallel]) {
    let by_gbps = |link: &&Parallel| link.1.gbps() as u64;
    let (Some(slow), Some(fast)) = (links.iter().min_by_key(by_gbps), links.iter().max_by_key(by_gbps))
    else {
        return;
    };
    let fabric = context.fabric;
    let (Some(slow_peer), true) = (fabric.peer(slow.0), slow.1 != fast.1) else { return };
    let message = format!(
        "parallel links differ: {} - {} runs at {}, {} beside it at {}",
        context.port(slow.0),
        context.port(slow_peer),
        slow.1,
        context.port(fast.0),
        fast.1
    );
    let mend = "routes load parallel links alike: give them the same cables and enabled speeds";
    let ends = vec![context.port(slow.0), context.port(slow_peer)];
    context.found(FindingKind::ParallelLinksDiffer, Severity::Warning, ends, message, mend);
}

/// A host's model and its name without digits, in order: those that were bought and cabled together.
type HostKind = (u16, String);

struct Expected {
    /// Of each switch's links to other switches.
    among_switches: Vec<Option<LinkRate>>,
    /// The fastest link of each node.
    fastest: Vec<Option<LinkRate>>,
    /// The fastest link of each model.
    fastest_of_model: BTreeMap<(bool, u16), LinkRate>,
    of_hosts: BTreeMap<HostKind, LinkRate>,
}

fn host_kind(fabric: &Fabric, node: NodeId) -> HostKind {
    let name = fabric.name(node).chars().filter(|c| !c.is_ascii_digit()).collect();
    (fabric.device_id(node), name)
}

/// The rate that at least `share` of `of` of the rates carry; sorts them.
fn carried_by(rates: &mut [LinkRate], share: usize, of: usize) -> Option<LinkRate> {
    rates.sort_by(|a, b| b.gbps().total_cmp(&a.gbps()));
    let needed = (rates.len() * share).div_ceil(of).max(1);
    rates.get(needed - 1).copied()
}

fn faster(a: Option<LinkRate>, b: LinkRate) -> Option<LinkRate> {
    Some(a.filter(|a| a.gbps() >= b.gbps()).unwrap_or(b))
}

impl Expected {
    fn of(fabric: &Fabric) -> Self {
        let mut among_switches = vec![None; fabric.node_count()];
        let mut fastest = vec![None; fabric.node_count()];
        let mut fastest_of_model: BTreeMap<(bool, u16), LinkRate> = BTreeMap::new();
        let mut of_kind: BTreeMap<HostKind, Vec<LinkRate>> = BTreeMap::new();
        for node in fabric.nodes() {
            let mut rates = Vec::new();
            let switch = fabric.is_switch(node);
            for (port, peer) in fabric.neighbors(node) {
                let Some(rate) = fabric.rate(port) else { continue };
                let other = fabric.node_of(peer);
                if other == node {
                    continue;
                }
                fastest[node.index()] = faster(fastest[node.index()], rate);
                if switch && fabric.is_switch(other) {
                    rates.push(rate);
                } else if fabric.kind(node) == NodeKind::ChannelAdapter {
                    of_kind.entry(host_kind(fabric, node)).or_default().push(rate);
                }
            }
            if let (Some(rate), true) = (fastest[node.index()], fabric.device_id(node) != 0) {
                let model = fastest_of_model.entry((switch, fabric.device_id(node))).or_insert(rate);
                if rate.gbps() > model.gbps() {
                    *model = rate;
                }
            }
            among_switches[node.index()] = carried_by(&mut rates, 1, 4);
        }
        let of_hosts = of_kind
            .into_iter()
            .filter(|(_, rates)| rates.len() >= 4)
            .filter_map(|(kind, mut rates)| Some((kind, carried_by(&mut rates, 3, 4)?)))
            .collect();
        Self { among_switches, fastest, fastest_of_model, of_hosts }
    }

    /// What the link should carry and why, where that is more than it does.
    fn of_link(
        &self,
        fabric: &Fabric,
        one: PortId,
        other: PortId,
        rate: LinkRate,
    ) -> Option<(LinkRate, &'static str)> {
        let nodes = [one, other].map(|port| fabric.node_of(port));
        let lesser = |a: LinkRate, b: LinkRate| if a.gbps() <= b.gbps() { a } else { b };
        let host = nodes.iter().position(|&node| fabric.kind(node) == NodeKind::ChannelAdapter);
        let siblings = match host {
            None if nodes.iter().all(|&node| fabric.is_switch(node)) => {
                let expected = nodes.map(|node| self.among_switches[node.index()]);
                expected[0].zip(expected[1]).map(|(a, b)| lesser(a, b))
            }
            None => None,
            Some(host) => {
                let kind = self.of_hosts.get(&host_kind(fabric, nodes[host])).copied();
                kind.zip(self.fastest[nodes[1 - host].index()]).map(|(a, b)| lesser(a, b))
            }
        };
        if let Some(wanted) = siblings.filter(|wanted| wanted.gbps() > rate.gbps()) {
            return Some((wanted, "its siblings"));
        }
        if rate.speed > LinkSpeed::Ddr {
            return None;
        }
        let model = nodes.map(|node| {
            self.fastest_of_model.get(&(fabric.is_switch(node), fabric.device_id(node))).copied()
        });
        let both = model[0].zip(model[1]).map(|(a, b)| lesser(a, b))?;
        (both.speed >= LinkSpeed::Fdr).then_some((both, "the same models elsewhere"))
    }
}
