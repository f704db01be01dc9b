//! Files that Heddle writes, judged by the programs that they are written for: ibsim loads the net files and serves
//! the very fabric, `ibnetdiscover` prints over it what Heddle's writer prints, ibsim's own examples are read as
//! ibsim reads them, and `ibdmchk` takes the list of links.

#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use std::fs;
use std::path::Path;
use std::process::Command;

use end_to_end::ibsim::Ibsim;
use end_to_end::shared::shared;
use end_to_end::tools::{run, sorted_topology};
use fabric::Fabric;
use fabric::compare::{Properties, compare};
use fabric::formats::{Format, read, write};
use fabric::generate::{FatTreeSpec, TorusSpec};
use ib::{LinkRate, LinkSpeed};

/// What ibsim tells of a node is its GUID, name and cables: maker, model and enclosure are its own.
const SERVED: Properties = Properties { names: true, ports: true, ..Properties::NONE };

fn discovered(ibsim: &Ibsim) -> (String, Fabric) {
    let text = run(&mut ibsim.tool("ibnetdiscover", &[]));
    let fabric = read("ibnetdiscover", text.as_bytes()).unwrap_or_else(|error| panic!("{error}")).fabric;
    (text, fabric)
}

fn ibsim_serves(fabric: &Fabric) {
    let ibsim = Ibsim::start_on(&write(fabric, Format::IbsimNet).unwrap());
    let (text, served) = discovered(&ibsim);
    let differences = compare(fabric, &served, SERVED);
    assert!(differences.is_empty(), "{} differences, the first: {}", differences.len(), differences[0]);
    let ours = write(&served, Format::Ibnetdiscover).unwrap();
    assert_eq!(sorted_topology(&ours), sorted_topology(&text));
}

#[test]
fn ibsim_serves_generated_fabrics() {
    let tree = FatTreeSpec {
        levels: Some(3),
        radix: 8,
        pods: None,
        hosts: None,
        taper: vec![],
        parallel: vec![],
        rate: LinkRate::x4(LinkSpeed::Ndr),
    };
    ibsim_serves(&tree.build().unwrap());
    let rate = LinkRate::x4(LinkSpeed::Qdr);
    ibsim_serves(&TorusSpec { dimensions: vec![3, 3, 4], hosts: 2, parallel: 1, rate }.build().unwrap());
}

#[test]
fn ibsim_serves_real_fabrics() {
    for name in [
        "edr-96.ibnetdiscover",
        "fdr10-edr-2.ibnetdiscover",
        "hdr-160-storage.ibnetdiscover",
        "hdr-400-tabs-lost.ibnetdiscover",
        "ndr-40-rail.ibnetdiscover",
        "forms/ibnet-edr-stderr-line-selfloops.txt",
        "forms/ibnet-qdr-fdr10-8sw-144ca.txt",
        "forms/opensm-subnet-62sw.lst",
    ] {
        let Some(file) = shared(&format!("fabrics/{name}")) else { continue };
        println!("{name}");
        ibsim_serves(&read(name, &fs::read(file).unwrap()).unwrap().fabric);
    }
}

#[test]
fn ibsim_s_own_examples_are_read_as_it_reads_them() {
    let folder = Path::new("/usr/share/doc/ibsim-utils/net-examples");
    for name in ["net", "net.1", "net.2sw2path", "net.2sw2path4hca", "net.2sw2path4hca2port"] {
        let file = folder.join(name);
        let ibsim = Ibsim::start(&file);
        let (_, served) = discovered(&ibsim);
        let loaded = read(name, &fs::read(&file).unwrap()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(loaded.format, Format::IbsimNet);
        // Ports without a cable are not seen by the tool, so their GUIDs are not compared.
        let differences = compare(&loaded.fabric, &served, SERVED);
        assert!(differences.is_empty(), "{name}: {}", differences[0]);
        for (one, _) in loaded.fabric.links() {
            let node = loaded.fabric.node_of(one);
            let twin = served.nodes().find(|&other| served.guid(other) == loaded.fabric.guid(node)).unwrap();
            let port = served.port(twin, loaded.fabric.port_number(one)).unwrap();
            assert_eq!(served.port_guid(port), loaded.fabric.port_guid(one), "{name}");
        }
    }
}

/// What `ibdmchk` says of a list of links with given tables, but for the lines that name files, or nodes: it numbers
/// those of one system in the order of the list.
fn ibdmchk(list: &str, tables: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("subnet.lst"), list).unwrap();
    fs::write(folder.path().join("none.mcfdbs"), "").unwrap();
    let arguments = ["-s", "subnet.lst", "-m", "none.mcfdbs", "-f"];
    let output = Command::new("ibdmchk").args(arguments).arg(tables).current_dir(&folder).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .filter(|line| !line.contains("File") && !line.contains("/U") && !line.contains("Plug:"))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn ibdmchk_finds_the_same_paths_in_our_list_as_in_opensm_s() {
    let list = shared("fabrics/forms/opensm-subnet-62sw.lst");
    let Some((list, tables)) = list.zip(shared("fabrics/forms/opensm-fdbs-62sw.fdbs")) else { return };
    let theirs = fs::read_to_string(list).unwrap();
    let mut fabric = read("opensm-subnet.lst", theirs.as_bytes()).unwrap().fabric;
    let judged = ibdmchk(&theirs, &tables);
    assert!(judged.contains("Defined 5/65 systems/nodes"), "{judged}");
    assert_eq!(ibdmchk(&write(&fabric, Format::SubnetList).unwrap(), &tables), judged);
    let ports: Vec<_> = fabric.links().map(|(one, _)| one).collect();
    for speed in LinkSpeed::ALL {
        for &port in &ports {
            fabric.set_rate(port, Some(LinkRate::x4(speed)));
        }
        let ours = ibdmchk(&write(&fabric, Format::SubnetList).unwrap(), &tables);
        assert_eq!(ours, judged, "{speed}");
    }
}
