//! Slurm's `gres.conf`: which GPUs a node has and which cores lie beside them.

use super::hosts;
use crate::FormatError;
use crate::node::{Gpu, Health, Node, Pool};

/// One line about GPUs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Its number in the file.
    pub number: usize,
    /// The nodes that it is about; it has to name them.
    pub nodes: Vec<String>,
    /// The type; `gpu` where none is given.
    pub model: String,
    /// How many GPUs.
    pub count: usize,
    /// The first of the cores that lie beside them.
    pub first_core: Option<usize>,
}

/// How many nodes all lines may name, so that no small file asks for all memory: several lines for each node of the largest
/// cluster.
const MAX_NAMED: usize = 4 * hosts::MAX_HOSTS;

/// Reads the lines about GPUs, in their order.
///
/// # Errors
/// Where a line names no node, or no GPU of its own.
pub fn read(name: &str, text: &str) -> Result<Vec<Line>, FormatError> {
    let mut lines = Vec::new();
    let mut named = 0;
    for (at, whole) in text.lines().enumerate() {
        let error = |what: String, mend: &str| FormatError::at(name, at as u32 + 1, 1, what, mend);
        let line = whole.split('#').next().unwrap_or_default().trim();
        let value = |key: &str| {
            line.split_whitespace().find_map(|word| {
                let (found, value) = word.split_once('=')?;
                found.eq_ignore_ascii_case(key).then_some(value)
            })
        };
        if value("Name") != Some("gpu") {
            continue;
        }
        let Some(nodes) = value("NodeName") else {
            let mend = "write NodeName=… in the line: a file without it is one node's own";
            return Err(error("a line about GPUs of no node".to_owned(), mend));
        };
        let nodes = hosts::expand(nodes).map_err(|what| error(what, "write hosts as gpu[01-16]"))?;
        named += nodes.len();
        if named > MAX_NAMED {
            let mend = "write a line for many nodes at once, and each node in few lines";
            return Err(error(format!("lines that name more than {MAX_NAMED} nodes in all"), mend));
        }
        let count = match (value("Count"), value("File")) {
            (Some(count), _) => count.parse::<usize>().map_err(|_| format!("Count={count}")),
            (None, Some(files)) => hosts::expand(files).map(|files| files.len()),
            (None, None) => Err("neither File= nor Count=".to_owned()),
        };
        let count = count
            .and_then(|count| if count <= 1024 { Ok(count) } else { Err(format!("{count} GPUs")) })
            .map_err(|what| error(what, "name devices as File=/dev/nvidia[0-7]; a node has up to 1024"))?;
        let first_core = value("Cores")
            .and_then(|cores| cores.split([',', '-']).next().and_then(|core| core.parse::<usize>().ok()));
        let model = value("Type").unwrap_or("gpu").to_owned();
        lines.push(Line { number: at + 1, nodes, model, count, first_core });
    }
    Ok(lines)
}

/// A pool from `gres.conf` alone: CPUs, memory and states are not known.
///
/// # Errors
/// As [`read`].
pub fn read_pool(name: &str, text: &str) -> Result<Pool, FormatError> {
    let lines = read(name, text)?;
    let mut pool = Pool::new();
    let mut order: Vec<(&str, usize)> = Vec::new();
    let mut of_node: rustc_hash::FxHashMap<&str, Vec<&Line>> = rustc_hash::FxHashMap::default();
    for line in &lines {
        for node in &line.nodes {
            let found = of_node.entry(node).or_default();
            if found.is_empty() {
                order.push((node, line.number));
            }
            found.push(line);
        }
    }
    for (node, number) in order {
        let domain = pool.node_count() as u32;
        let mut gpus = Vec::new();
        for line in &of_node[node] {
            let model = pool.model_named(&line.model, 0);
            let (numa, health) = (0, Health::default());
            let gpu = Gpu { model, nvlink: Some(domain), numa, attachment: None, health };
            gpus.extend(std::iter::repeat_n(gpu, line.count));
        }
        let health = Health::default();
        pool.add_node(Node { name: node.to_owned(), cpu_milli: vec![0], memory_mib: 0, health, gpus })
            .map_err(|problem| {
                FormatError::at(name, number as u32, 1, problem.to_string(), "split the pool")
            })?;
    }
    Ok(pool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_alone_is_a_pool() {
        let text = "AutoDetect=off\nNodeName=n[1-4] Name=gpu Type=h100 File=/dev/nvidia[0-7] # all\n\
            NodeName=n5 Name=gpu Count=2\nNodeName=n5 Name=shard Count=8\n";
        let pool = read_pool("gres.conf", text).unwrap();
        pool.check_invariants();
        assert_eq!((pool.node_count(), pool.gpu_count()), (5, 34));
    }

    #[test]
    fn wrong_lines_are_named() {
        let refused = |text: &str| read("gres.conf", text).unwrap_err().to_string();
        assert!(
            refused("\nName=gpu File=/dev/nvidia0\n")
                .starts_with("gres.conf:2:1: a line about GPUs of no node")
        );
        assert!(refused("NodeName=a Name=gpu\n").contains("neither File="));
        assert!(refused("NodeName=a Name=gpu Count=many\n").contains("Count=many"));
        assert!(refused("NodeName=a[ Name=gpu Count=1\n").contains("bracket"));
    }
}
