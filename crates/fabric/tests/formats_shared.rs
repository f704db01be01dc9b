//! The shared files: real cabling as tools and sites wrote it, read with the counts that their owners know.

mod shared;

use fabric::check::{Finding, FindingKind, Severity, check};
use fabric::compare::{Properties, compare};
use fabric::formats::{Format, Loaded, NoteKind, read, write};
use fabric::summary::{Shape, summarize};
use fabric::{NodeKind, levels::Levels};

use shared::shared;

fn load(name: &str) -> Option<Loaded> {
    let loaded = read(name, &shared(name)?).unwrap_or_else(|error| panic!("{error}"));
    loaded.fabric.check_invariants();
    Some(loaded)
}

/// Switches, hosts, aggregation nodes, links.
fn counts(loaded: &Loaded) -> (usize, usize, usize, usize) {
    let fabric = &loaded.fabric;
    let aggregation = fabric.nodes().filter(|&node| fabric.kind(node) == NodeKind::AggregationNode).count();
    (fabric.switch_count(), fabric.hosts().count(), aggregation, fabric.link_count())
}

fn of_kind(findings: &[Finding], kind: FindingKind) -> usize {
    findings.iter().filter(|finding| finding.kind == kind).count()
}

#[test]
fn edr_96_has_one_slow_link_and_nothing_else() {
    let Some(loaded) = load("edr-96.ibnetdiscover") else { return };
    assert_eq!(counts(&loaded), (6, 96, 0, 144));
    assert_eq!(loaded.notes, []);
    let findings = check(&loaded);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    let finding = &findings[0];
    assert_eq!((finding.kind, finding.severity), (FindingKind::SlowLink, Severity::Warning));
    assert!(finding.message.contains("4xDDR") && finding.message.contains("4xEDR"), "{finding}");
    assert_eq!(finding.ends.len(), 2);
    assert!(finding.ends.iter().all(|end| end.contains("0xec0d9a0300e00") && end.ends_with("[11]")));
    let summary = summarize(&loaded.fabric);
    assert_eq!(summary.shape, Shape::FatTree { levels: 2 });
    assert!((summary.levels[0].taper.unwrap() - 2.0).abs() < 0.05, "{summary}");
}

#[test]
fn hdr_160_lacks_eight_cables() {
    let Some(loaded) = load("hdr-160-storage.ibnetdiscover") else { return };
    assert_eq!(counts(&loaded), (160, 1247, 0, 3286));
    let findings = check(&loaded);
    assert_eq!(of_kind(&findings, FindingKind::UnequalUplinks), findings.len(), "{findings:#?}");
    assert_eq!(findings.len(), 7);
    let summary = summarize(&loaded.fabric);
    assert_eq!(summary.shape, Shape::FatTree { levels: 3 });
    let switches: Vec<usize> = summary.levels.iter().map(|level| level.switches).collect();
    assert_eq!(switches, [64, 64, 32]);
}

#[test]
fn ndr_40_shows_its_rails_and_aggregation_nodes() {
    let Some(loaded) = load("ndr-40-rail.ibnetdiscover") else { return };
    assert_eq!(counts(&loaded), (40, 542, 40, 1114));
    let findings = check(&loaded);
    assert_eq!(of_kind(&findings, FindingKind::UnequalUplinks), findings.len(), "{findings:#?}");
    let levels = Levels::of(&loaded.fabric);
    let leaves = loaded.fabric.switches().filter(|&node| levels.rank(node) == Some(1)).count();
    assert_eq!((leaves, levels.highest()), (31, 2));
    assert!(summarize(&loaded.fabric).rails.unwrap().optimised);
}

#[test]
fn tabs_that_a_terminal_ate_are_not_missed() {
    let Some(loaded) = load("hdr-400-tabs-lost.ibnetdiscover") else { return };
    assert_eq!(counts(&loaded), (400, 2328, 0, 8723));
    let kinds: Vec<NoteKind> = loaded.notes.iter().map(|note| note.kind).collect();
    assert_eq!(kinds, [NoteKind::Skipped, NoteKind::NoLid]);
    let findings = check(&loaded);
    assert_eq!((findings.len(), of_kind(&findings, FindingKind::UnequalUplinks)), (5, 5), "{findings:#?}");
    let summary = summarize(&loaded.fabric);
    let switches: Vec<usize> = summary.levels.iter().map(|level| level.switches).collect();
    assert_eq!(switches, [160, 160, 80]);
}

#[test]
fn four_generations_on_one_fabric_are_no_fault() {
    let Some(loaded) = load("fdr10-edr-2.ibnetdiscover") else { return };
    assert_eq!(counts(&loaded), (2, 12, 1, 16));
    let findings = check(&loaded);
    assert_eq!((findings.len(), of_kind(&findings, FindingKind::SelfLoop)), (2, 2), "{findings:#?}");
}

#[test]
fn a_tool_s_error_message_and_cables_to_itself_are_taken() {
    let Some(loaded) = load("forms/ibnet-edr-stderr-line-selfloops.txt") else { return };
    assert_eq!(counts(&loaded), (2, 6, 0, 10));
    let findings = check(&loaded);
    assert_eq!(of_kind(&findings, FindingKind::SelfLoop), 3);
    // A ConnectX-4 adapter at SDR on a switch that runs FDR elsewhere.
    assert_eq!((findings.len(), of_kind(&findings, FindingKind::SlowLink)), (4, 1), "{findings:#?}");
    let port = loaded.fabric.hosts().find(|&node| loaded.fabric.name(node) == "r-host111 HCA-1").unwrap();
    assert_eq!(loaded.fabric.port_guid(loaded.fabric.port(port, 2).unwrap()).0, 0x0002_c903_0034_21b2);
}

#[test]
fn a_fabric_of_2014_has_hosts_on_its_spine() {
    let Some(loaded) = load("forms/ibnet-qdr-fdr10-8sw-144ca.txt") else { return };
    assert_eq!(counts(&loaded), (8, 144, 0, 192));
    let findings = check(&loaded);
    assert_eq!(of_kind(&findings, FindingKind::HostOnSpine), 3);
    assert_eq!((findings.len(), of_kind(&findings, FindingKind::UnequalUplinks)), (4, 1), "{findings:#?}");
}

#[test]
fn opensm_s_list_is_read() {
    let Some(loaded) = load("forms/opensm-subnet-62sw.lst") else { return };
    assert_eq!(loaded.format, Format::SubnetList);
    assert_eq!(counts(&loaded), (62, 3, 0, 172));
    assert_eq!(check(&loaded), []);
}

#[test]
fn a_list_of_ports_is_read_where_it_does_not_contradict_itself() {
    let name = "forms/ibnet-p-portlist-odd-names.txt";
    let Some(bytes) = shared(name) else { return };
    // Put together from two sites, it cables one adapter to two switches.
    let error = read(name, &bytes).unwrap_err();
    assert_eq!((error.line, error.column), (15, 1), "{error}");
    assert!(error.what.contains("line 11"), "{error}");
    let text = String::from_utf8(bytes).unwrap();
    let rest: String = text
        .lines()
        .filter(|line| !line.contains("SW     9 81"))
        .fold(String::new(), |all, line| all + line + "\n");
    let loaded = read(name, rest.as_bytes()).unwrap();
    let names: Vec<&str> = loaded.fabric.nodes().map(|node| loaded.fabric.name(node)).collect();
    assert!(names.contains(&"5RK0405-leaf-IB01 ") && names.contains(&" 5RK0406-spine-IB02 "), "{names:?}");
    assert!(names.contains(&"Infiniscale-IV Mellanox Technologies"), "{names:?}");
    assert_eq!(counts(&loaded).2, 1);
}

#[test]
fn what_is_no_topology_is_refused_in_words() {
    for name in [
        "forms/opensm-fdbs-62sw.fdbs",
        "forms/partitions-examples.conf",
        "forms/perfquery-x-edr-ports.txt",
        "forms/qos-policy-full-and-ulps.conf",
        "forms/smpquery-sl2vl-pi-vlarb-2settings.txt",
        "README.md",
    ] {
        let Some(bytes) = shared(name) else { return };
        let error = read(name, &bytes).unwrap_err();
        assert!(error.to_string().contains("no topology that Heddle knows"), "{error}");
    }
}

#[test]
fn real_fabrics_survive_every_format_that_holds_them() {
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
        let Some(loaded) = load(name) else { return };
        for format in [Format::Native, Format::IbsimNet, Format::Ibnetdiscover, Format::SubnetList] {
            let text = write(&loaded.fabric, format).unwrap();
            let back =
                read("back", text.as_bytes()).unwrap_or_else(|error| panic!("{name} {format}: {error}"));
            assert_eq!(back.format, format, "{name}");
            let known = match format {
                Format::SubnetList => Properties { ports: false, ..Properties::ALL },
                // ibsim counts out the GUIDs of ports that have no cable, so no line.
                Format::IbsimNet => Properties { port_guids: false, ..Properties::ALL },
                _ => Properties::ALL,
            };
            let differences = compare(&loaded.fabric, &back.fabric, known);
            assert!(differences.is_empty(), "{name} {format}: {}", differences[0]);
        }
        for format in [Format::Dot, Format::SlurmConf, Format::SlurmYaml] {
            assert!(!write(&loaded.fabric, format).unwrap().is_empty());
        }
    }
}
