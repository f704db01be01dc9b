//! `heddle fabric generate`: a fabric from its numbers.

use clap::{Args, Subcommand, ValueEnum};
use fabric::Fabric;
use fabric::formats::Format;
use fabric::generate::{
    DragonflyPlusSpec, FatTreeSpec, GenerateError, Generation, HypercubeSpec, RandomRegularSpec,
    SuperpodSpec, TorusSpec,
};
use ib::LinkRate;
use serde::Serialize;

use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::count;

const NDR: &str = "4xNDR";

/// Where the fabric goes.
#[derive(Args)]
pub struct Output {
    /// Write to this file; its ending tells the format. Without it, or with -: standard output
    #[arg(short, long, value_name = "FILE", default_value = "-", hide_default_value = true)]
    output: String,
    /// Format, whatever the ending: toml, net, ibnetdiscover, subnet-lst, dot, topology.conf, topology.yaml
    #[arg(long)]
    format: Option<Format>,
    /// Say what was written as JSON (needs --output)
    #[arg(long, requires = "output")]
    json: bool,
}

/// Kinds of fabrics.
#[derive(Subcommand)]
pub enum Generate {
    /// A fat tree: any levels, tapered, with parallel links, whole or in part
    #[command(
        after_help = "Examples:\n  heddle fabric generate fat-tree --levels 3 --radix 32 -o tree.net\n  \
        heddle fabric generate fat-tree --hosts 5000 --radix 64 --taper 2 -o tree.toml"
    )]
    FatTree(FatTree),
    /// A rail-optimised SuperPOD: scalable units of DGX servers with eight NICs each
    #[command(after_help = "Example:\n  heddle fabric generate superpod --units 4 -o superpod.toml")]
    Superpod(Superpod),
    /// A Dragonfly+: groups of leaves and spines, joined by links between spines
    #[command(after_help = "Example:\n  heddle fabric generate dragonfly-plus --groups 9 -o dragonfly.toml")]
    DragonflyPlus(DragonflyPlus),
    /// A torus of any dimensions
    #[command(
        after_help = "Example:\n  heddle fabric generate torus --dimensions 4x4x8 --hosts 2 -o torus.toml"
    )]
    Torus(Torus),
    /// A hypercube
    #[command(after_help = "Example:\n  heddle fabric generate hypercube --dimensions 6 -o cube.toml")]
    Hypercube(Hypercube),
    /// A random regular graph (Jellyfish), from a seed
    #[command(
        after_help = "Example:\n  heddle fabric generate random-regular --switches 200 --degree 12 -o random.toml"
    )]
    RandomRegular(RandomRegular),
}

/// Options of a fat tree.
#[derive(Args)]
pub struct FatTree {
    /// Levels of switches [default: as few as hold --hosts, else 2]
    #[arg(long)]
    levels: Option<u8>,
    /// Ports of every switch
    #[arg(long, default_value_t = 64)]
    radix: u8,
    /// Subtrees below the top switches [default: as many as there is need or room for]
    #[arg(long)]
    pods: Option<u32>,
    /// Hosts: the smallest tree that holds so many is built, and exactly so many are cabled
    #[arg(long)]
    hosts: Option<u32>,
    /// Ports down for each port up, from the leaves upwards, as in 2 or 1.5,1
    #[arg(long, value_delimiter = ',', default_value = "1")]
    taper: Vec<f64>,
    /// Parallel links to each parent, from the leaves upwards, as in 1,2 [default: chosen]
    #[arg(long, value_delimiter = ',')]
    parallel: Vec<u8>,
    /// What every link runs at
    #[arg(long, default_value = NDR)]
    rate: LinkRate,
    #[command(flatten)]
    output: Output,
}

/// Options of a SuperPOD.
#[derive(Args)]
pub struct Superpod {
    /// Scalable units: 32 servers of 8 GPUs each (ndr), 72 (xdr)
    #[arg(long, default_value_t = 4)]
    units: u32,
    /// Generation of servers and switches
    #[arg(long, value_enum, default_value_t = GenerationName::Ndr)]
    generation: GenerationName,
    #[command(flatten)]
    output: Output,
}

/// Generations by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum GenerationName {
    /// DGX H100 and B200, 400 Gbit/s
    Ndr,
    /// DGX B300, 800 Gbit/s
    Xdr,
}

/// Options of a Dragonfly+.
#[derive(Args)]
pub struct DragonflyPlus {
    /// Groups
    #[arg(long, default_value_t = 9)]
    groups: u32,
    /// Leaves of a group
    #[arg(long, default_value_t = 8)]
    leaves: u32,
    /// Spines of a group
    #[arg(long, default_value_t = 8)]
    spines: u32,
    /// Hosts of a leaf
    #[arg(long, default_value_t = 8)]
    hosts: u32,
    /// Links from each spine to other groups
    #[arg(long, default_value_t = 8)]
    global_links: u32,
    /// What every link runs at
    #[arg(long, default_value = NDR)]
    rate: LinkRate,
    #[command(flatten)]
    output: Output,
}

/// Options of a torus.
#[derive(Args)]
pub struct Torus {
    /// Switches along each dimension, as in 4x4x8
    #[arg(long, value_delimiter = 'x', default_value = "4x4x4")]
    dimensions: Vec<u32>,
    /// Hosts of each switch
    #[arg(long, default_value_t = 1)]
    hosts: u32,
    /// Parallel links to each neighbour
    #[arg(long, default_value_t = 1)]
    parallel: u32,
    /// What every link runs at
    #[arg(long, default_value = NDR)]
    rate: LinkRate,
    #[command(flatten)]
    output: Output,
}

/// Options of a hypercube.
#[derive(Args)]
pub struct Hypercube {
    /// Dimensions: two to this many switches
    #[arg(long, default_value_t = 5)]
    dimensions: u32,
    /// Hosts of each switch
    #[arg(long, default_value_t = 4)]
    hosts: u32,
    /// What every link runs at
    #[arg(long, default_value = NDR)]
    rate: LinkRate,
    #[command(flatten)]
    output: Output,
}

/// Options of a random regular graph.
#[derive(Args)]
pub struct RandomRegular {
    /// Switches
    #[arg(long, default_value_t = 64)]
    switches: u32,
    /// Neighbours of each switch
    #[arg(long, default_value_t = 8)]
    degree: u32,
    /// Hosts of each switch
    #[arg(long, default_value_t = 4)]
    hosts: u32,
    /// What the chance is drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// What every link runs at
    #[arg(long, default_value = NDR)]
    rate: LinkRate,
    #[command(flatten)]
    output: Output,
}

/// What was written, for programs.
#[derive(Serialize)]
struct Written<'a> {
    file: &'a str,
    format: Format,
    hosts: usize,
    switches: usize,
    links: usize,
}

impl Generate {
    /// Builds and writes the fabric.
    pub fn run(self) -> Result<Answer, Failure> {
        let (fabric, output) = self.build()?;
        let path = output.output.as_str();
        if output.json && path == "-" {
            return Err(Failure::new(
                "the fabric itself goes to standard output",
                "--json",
                "give --output FILE too",
            ));
        }
        let format = files::format_for(path, output.format)?;
        files::write_fabric(&fabric, path, format)?;
        if path == "-" {
            return Ok(Answer::Yes);
        }
        let (hosts, switches, links) = (fabric.hosts().count(), fabric.switch_count(), fabric.link_count());
        if output.json {
            files::print_json(&Written { file: path, format, hosts, switches, links })?;
        } else {
            eprintln!(
                "wrote {path} ({format}): {}, {}, {}",
                count(hosts as u64, "host"),
                count(switches as u64, "switch"),
                count(links as u64, "link")
            );
        }
        Ok(Answer::Yes)
    }

    fn build(self) -> Result<(Fabric, Output), GenerateError> {
        Ok(match self {
            Self::FatTree(FatTree { levels, radix, pods, hosts, taper, parallel, rate, output }) => {
                (FatTreeSpec { levels, radix, pods, hosts, taper, parallel, rate }.build()?, output)
            }
            Self::Superpod(Superpod { units, generation, output }) => {
                let generation = match generation {
                    GenerationName::Ndr => Generation::Ndr,
                    GenerationName::Xdr => Generation::Xdr,
                };
                (SuperpodSpec { units, generation }.build()?, output)
            }
            Self::DragonflyPlus(DragonflyPlus {
                groups,
                leaves,
                spines,
                hosts,
                global_links,
                rate,
                output,
            }) => (DragonflyPlusSpec { groups, leaves, spines, hosts, global_links, rate }.build()?, output),
            Self::Torus(Torus { dimensions, hosts, parallel, rate, output }) => {
                (TorusSpec { dimensions, hosts, parallel, rate }.build()?, output)
            }
            Self::Hypercube(Hypercube { dimensions, hosts, rate, output }) => {
                (HypercubeSpec { dimensions, hosts, rate }.build()?, output)
            }
            Self::RandomRegular(RandomRegular { switches, degree, hosts, seed, rate, output }) => {
                (RandomRegularSpec { switches, degree, hosts, seed, rate }.build()?, output)
            }
        })
    }
}
