//! The file that a pool is read from, and what the file itself does not say.

use clap::Args;
use pool::catalog::MigCatalog;
use pool::formats::{self, Beside, Equipment, Format, Site};

use crate::failure::Failure;
use crate::files;

/// Where a pool is.
#[derive(Args)]
pub struct Source {
    /// A pool as TOML, `scontrol show nodes`, gres.conf, an openb node list, or a topology file whose hosts
    /// are the nodes; - is standard input
    file: String,
    /// The gres.conf that goes with `scontrol show nodes`: it says which socket each GPU sits at
    #[arg(long, value_name = "FILE")]
    gres: Option<String>,
    /// GPUs of each host of a topology file
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    gpus_per_node: u16,
    /// Their model, as catalog/mig.toml or the site calls it
    #[arg(long, value_name = "NAME", default_value = "gpu")]
    model: String,
    /// NUMA nodes of each host of a topology file
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    numa: u16,
}

impl Source {
    /// Reads the pool.
    pub fn read(&self) -> Result<(Site, Format), Failure> {
        let name = if self.file == "-" { "standard input" } else { &self.file };
        let bytes = files::read(&self.file)?;
        let gres = match &self.gres {
            Some(path) => Some((path.as_str(), String::from_utf8_lossy(&files::read(path)?).into_owned())),
            None => None,
        };
        let catalog = MigCatalog::shipped()?;
        let equipment = Equipment {
            gpus_per_node: self.gpus_per_node,
            model: self.model.clone(),
            memory_mib: catalog.model(&self.model).map_or(0, |model| model.memory_mib),
            numa: self.numa,
        };
        let beside = Beside { gres: gres.as_ref().map(|(name, text)| (*name, text.as_str())), equipment };
        let (site, format) = formats::read(name, &bytes, &beside)?;
        if self.gres.is_some() && format != Format::Scontrol {
            let help = "give --gres only with the output of `scontrol show nodes`";
            return Err(Failure::new("--gres with what is no `scontrol show nodes`", name, help));
        }
        Ok((site, format))
    }
}
