//! The node list of Alibaba's openb trace: `sn,cpu_milli,memory_mib,gpu,model`, a node a line.

use crate::FormatError;
use crate::node::{Gpu, Health, Node, Pool};

/// What the first line is.
pub const HEAD: &str = "sn,cpu_milli,memory_mib,gpu,model";

/// Reads a node list. The trace says nothing of GPU memory, NUMA nodes or NVLink: memory is not known, every node is one NUMA
/// node, and no GPU is in an NVLink domain.
///
/// # Errors
/// Where a line has not those five cells, or a name stands twice: with file and line.
pub fn read(name: &str, text: &str) -> Result<Pool, FormatError> {
    let error =
        |line: usize, what: String, mend: &str| Err(FormatError::at(name, line as u32, 1, what, mend));
    let mut pool = Pool::new();
    let mut lines = text.lines().enumerate();
    let head = lines.next().map_or("", |(_, line)| line.trim_end());
    if head != HEAD {
        return error(
            1,
            format!("the first line is \"{head}\""),
            "a node list begins with sn,cpu_milli,memory_mib,gpu,model",
        );
    }
    for (at, line) in lines {
        let number = at + 1;
        if line.trim().is_empty() {
            continue;
        }
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let [host, cpu_milli, memory_mib, gpus, model] = cells[..] else {
            return error(
                number,
                format!("{} cells", cells.len()),
                "a line has sn, cpu_milli, memory_mib, gpu and model",
            );
        };
        let (Ok(cpu_milli), Ok(memory_mib), Ok(gpus)) =
            (cpu_milli.parse(), memory_mib.parse(), gpus.parse::<u8>())
        else {
            return error(
                number,
                format!(
                    "cpu_milli \"{cpu_milli}\", memory_mib \"{memory_mib}\" or gpu \"{gpus}\" is no number"
                ),
                "write whole numbers from 0 on; a node has up to 255 GPUs",
            );
        };
        if gpus > 0 && model.is_empty() {
            return error(number, format!("{host} has GPUs of no model"), "write the model in the last cell");
        }
        let mut all = Vec::new();
        if gpus > 0 {
            let model = pool.model_named(model, 0);
            let gpu = Gpu { model, nvlink: None, numa: 0, attachment: None, health: Health::default() };
            all = vec![gpu; usize::from(gpus)];
        }
        let node = Node {
            name: host.to_owned(),
            cpu_milli: vec![cpu_milli],
            memory_mib,
            health: Health::default(),
            gpus: all,
        };
        if let Err(problem) = pool.add_node(node) {
            return error(number, problem.to_string(), "a node has a line of its own");
        }
    }
    Ok(pool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_with_and_without_gpus() {
        let text = format!("{HEAD}\nopenb-node-0000,64000,262144,2,P100\nopenb-node-0001,96000,524288,0,\n");
        let pool = read("nodes.csv", &text).unwrap();
        assert_eq!((pool.node_count(), pool.gpu_count(), pool.models()[0].name.as_str()), (2, 2, "P100"));
        pool.check_invariants();
    }

    #[test]
    fn wrong_lines_are_named() {
        let refused = |line: &str| read("nodes.csv", &format!("{HEAD}\n{line}\n")).unwrap_err().to_string();
        assert!(refused("a,1,2").starts_with("nodes.csv:2:1: 3 cells"));
        assert!(refused("a,-1,2,3,T4").contains("is no number"));
        assert!(refused("a,1,2,3,").contains("no model"));
        assert!(refused("a,1,2,3,T4\na,1,2,3,T4").contains("nodes.csv:3:1: a second node"));
        assert!(read("nodes.csv", "").is_err());
    }
}
