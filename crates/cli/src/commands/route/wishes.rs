//! What a user may ask of any engine, as options and files of names.

use std::collections::BTreeMap;

use clap::Args;
use fabric::{Fabric, NodeId, PortId};
use routing::Options;

use crate::failure::Failure;
use crate::files;

/// Options for engines. A node is named by its description or by the GUID of itself or a port (`0x…`), in files one a
/// line, `#` begins a comment.
#[derive(Args)]
#[command(next_help_heading = "Wishes (nodes by name or GUID; files have one a line)")]
pub struct Wishes {
    /// A switch at the top of the order that up-down and fat-tree climb, and at which down-up's paths may end; may be
    /// given several times
    #[arg(long, value_name = "NODE")]
    root: Vec<String>,
    /// A file of such switches, as OpenSM's root_guid_file
    #[arg(long, value_name = "FILE")]
    roots: Option<String>,
    /// A file of hosts whose traffic is spread evenly, as OpenSM's cn_guid_file; all others are reached by any path
    #[arg(long, value_name = "FILE")]
    compute_nodes: Option<String>,
    /// A file of hosts that are reached by any path, as OpenSM's io_guid_file; with a weight they count as that says
    #[arg(long, value_name = "FILE")]
    io_nodes: Option<String>,
    /// A host that sends and receives as much as so many others; may be given several times
    #[arg(long, value_name = "NAME=W")]
    weight: Vec<String>,
    /// A file of such hosts
    #[arg(long, value_name = "FILE")]
    weights: Option<String>,
    /// A port that paths keep away from wherever another way is left; may be given several times
    #[arg(long, value_name = "NODE:PORT")]
    avoid: Vec<String>,
    /// Choose among equal ports by chance, from this seed, instead of evening out: auto, fat-tree,
    /// min-hop, up-down and down-up do
    #[arg(long, value_name = "SEED")]
    scatter: Option<u64>,
    /// Most data lanes that paths may take [default: 8, and 1 for auto]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=15))]
    lanes: Option<u8>,
    /// Give every adapter's port 2^N LIDs, each with a way of its own where there are several
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=7))]
    pub lmc: Option<u8>,
}

/// A name and where it stands.
struct Name {
    text: String,
    place: String,
}

impl Wishes {
    /// What they mean on a fabric.
    pub fn options(&self, fabric: &Fabric, engine: &str) -> Result<Options, Failure> {
        let book = Book::of(fabric);
        let mut options = Options { scatter: self.scatter, ..Options::default() };
        let usual = if engine == "auto" { 1 } else { options.most_lanes };
        options.most_lanes = self.lanes.unwrap_or(usual);
        for name in names(&self.root, "--root", self.roots.as_deref())? {
            options.roots.push(book.switch(fabric, &name)?);
        }
        for name in names(&[], "", self.compute_nodes.as_deref())? {
            options.compute_nodes.extend(book.host_ports(fabric, &name)?);
        }
        for name in names(&[], "", self.io_nodes.as_deref())? {
            options.io_nodes.extend(book.host_ports(fabric, &name)?);
        }
        for name in names(&self.weight, "--weight", self.weights.as_deref())? {
            let Some((node, weight)) = split(&name.text, '=') else {
                return Err(Failure::new(
                    format!("\"{}\" is no weight", name.text),
                    name.place,
                    "write NAME=W, W from 1 to 1000",
                ));
            };
            let Some(weight) = weight.parse().ok().filter(|weight| (1..=1000).contains(weight)) else {
                return Err(Failure::new(
                    format!("\"{weight}\" is no weight"),
                    name.place,
                    "give a number from 1 to 1000",
                ));
            };
            let node = Name { text: node.to_owned(), place: name.place };
            options.weights.extend(book.host_ports(fabric, &node)?.into_iter().map(|port| (port, weight)));
        }
        for name in names(&self.avoid, "--avoid", None)? {
            options.avoid.push(book.port(fabric, &name)?);
        }
        Ok(options)
    }
}

/// The names that an option was given, and those in a file.
fn names(given: &[String], option: &str, file: Option<&str>) -> Result<Vec<Name>, Failure> {
    let mut names: Vec<Name> =
        given.iter().map(|text| Name { text: text.trim().to_owned(), place: option.to_owned() }).collect();
    if let Some(file) = file {
        let text = String::from_utf8_lossy(&files::read(file)?).into_owned();
        let lines = text.lines().enumerate().map(|(number, line)| {
            let text = line.split('#').next().unwrap_or_default().trim().to_owned();
            Name { text, place: format!("{file}:{}", number + 1) }
        });
        let before = names.len();
        names.extend(lines.filter(|name| !name.text.is_empty()));
        if names.len() == before {
            return Err(Failure::new("the file names nobody", file, "write a node's name or GUID a line"));
        }
    }
    Ok(names)
}

/// The two sides of the last `mark`.
fn split(text: &str, mark: char) -> Option<(&str, &str)> {
    let (left, right) = text.rsplit_once(mark)?;
    Some((left.trim(), right.trim()))
}

/// Nodes and ports by what they are called.
struct Book<'a> {
    nodes: BTreeMap<&'a str, Vec<NodeId>>,
    node_guids: BTreeMap<u64, NodeId>,
    port_guids: BTreeMap<u64, Vec<PortId>>,
}

impl<'a> Book<'a> {
    fn of(fabric: &'a Fabric) -> Self {
        let (mut nodes, mut port_guids) =
            (BTreeMap::<&str, Vec<NodeId>>::new(), BTreeMap::<u64, Vec<PortId>>::new());
        for node in fabric.nodes() {
            nodes.entry(fabric.name(node)).or_default().push(node);
        }
        for port in fabric.end_ports() {
            port_guids.entry(fabric.port_guid(port).0).or_default().push(port);
        }
        let node_guids = fabric.nodes().map(|node| (fabric.guid(node).0, node)).collect();
        Self { nodes, node_guids, port_guids }
    }

    fn guid(text: &str) -> Option<u64> {
        text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok())
    }

    /// The node of a name, and which of its ports is meant where the name is that of one.
    fn find(&self, fabric: &Fabric, name: &Name) -> Result<(NodeId, Option<PortId>), Failure> {
        if let Some(nodes) = self.nodes.get(&*name.text).filter(|_| !name.text.is_empty()) {
            return match nodes[..] {
                [node] => Ok((node, None)),
                _ => Err(Failure::new(
                    format!("{} nodes are called \"{}\"", nodes.len(), name.text),
                    &*name.place,
                    "give the GUID of the one that is meant",
                )),
            };
        }
        let guid = Self::guid(&name.text);
        if let Some(&[port]) = guid.and_then(|guid| self.port_guids.get(&guid)).map(Vec::as_slice) {
            return Ok((fabric.node_of(port), Some(port)));
        }
        let node = guid.and_then(|guid| self.node_guids.get(&guid));
        node.map(|&node| (node, None)).ok_or_else(|| {
            let what = format!("the fabric has no node \"{}\"", name.text);
            Failure::new(
                what,
                &*name.place,
                "give a name that heddle fabric show or ibnetdiscover prints, or a GUID",
            )
        })
    }

    fn switch(&self, fabric: &Fabric, name: &Name) -> Result<NodeId, Failure> {
        let (node, _) = self.find(fabric, name)?;
        if fabric.is_switch(node) {
            return Ok(node);
        }
        Err(Failure::new(format!("\"{}\" is no switch", name.text), &*name.place, "name a switch"))
    }

    /// The ports of an adapter that are cabled.
    fn host_ports(&self, fabric: &Fabric, name: &Name) -> Result<Vec<PortId>, Failure> {
        let (node, port) = self.find(fabric, name)?;
        if fabric.is_switch(node) {
            return Err(Failure::new(format!("\"{}\" is a switch", name.text), &*name.place, "name a host"));
        }
        Ok(port.map_or_else(|| fabric.neighbors(node).map(|(port, _)| port).collect(), |port| vec![port]))
    }

    /// A switch's port that leads to another switch.
    fn port(&self, fabric: &Fabric, name: &Name) -> Result<PortId, Failure> {
        let parsed = split(&name.text, ':').and_then(|(node, port)| Some((node, port.parse().ok()?)));
        let Some((node, number)) = parsed else {
            let what = format!("\"{}\" names no port", name.text);
            return Err(Failure::new(what, &*name.place, "write NODE:PORT, as in leaf-1:40"));
        };
        let node = self.switch(fabric, &Name { text: node.to_owned(), place: name.place.clone() })?;
        let port = fabric
            .port(node, number)
            .filter(|&port| fabric.peer(port).is_some_and(|peer| fabric.is_switch(fabric.node_of(peer))));
        port.ok_or_else(|| {
            let what = format!("no cable leads from \"{}\" to a switch", name.text);
            Failure::new(what, &*name.place, "only links between switches can be avoided")
        })
    }
}
