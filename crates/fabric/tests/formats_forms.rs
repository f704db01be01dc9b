//! The many ways in which tools and sites write one fabric, and what is wrong with files that are refused.

use fabric::compare::{Properties, compare};
use fabric::formats::{Format, FormatError, Loaded, NoteKind, read, write};
use fabric::{Fabric, NodeKind};
use ib::{Guid, Lid, LinkRate, LinkSpeed};

const TIDY: &str = "#
# Topology file: generated on Mon Dec 18 12:34:08 2023
#
# Initiated from node 0002c90300000010 port 0002c90300000011

vendid=0x2c9
devid=0xd2f0
sysimgguid=0x2c90300000001
switchguid=0x2c90300000001(2c90300000001)
Switch\t36 \"S-0002c90300000001\"\t\t# \"MF0;leaf-1:MQM8700/U1\" enhanced port 0 lid 3 lmc 0
[1]\t\"H-0002c90300000010\"[1](2c90300000011) \t\t# \"host-1 mlx5_0\" lid 17 4xHDR
[2]\t\"H-0002c90300000010\"[2](2c90300000012) \t\t# \"host-1 mlx5_0\" lid 18 2xHDR
[36]\t\"R-0002c90300000020\"[1](2c90300000020) \t\t# \"door \\ 'x' - \"y\"\" lid 19 4xXDR

vendid=0x2c9
devid=0x101b
sysimgguid=0x2c90300000010
caguid=0x2c90300000010
Ca\t2 \"H-0002c90300000010\"\t\t# \"host-1 mlx5_0\"
[1](2c90300000011) \t\"S-0002c90300000001\"[1]\t\t# lid 17 lmc 0 \"MF0;leaf-1:MQM8700/U1\" lid 3 4xHDR
[2](2c90300000012) \t\"S-0002c90300000001\"[2]\t\t# lid 18 lmc 0 \"MF0;leaf-1:MQM8700/U1\" lid 3 2xHDR

vendid=0x119f
devid=0x1
sysimgguid=0x2c90300000020
rtguid=0x2c90300000020
Rt\t2 \"R-0002c90300000020\"\t\t# \"door \\ 'x' - \"y\"\"
[1](2c90300000020) \t\"S-0002c90300000001\"[36]\t\t# lid 19 lmc 0 \"MF0;leaf-1:MQM8700/U1\" lid 3 4xXDR
";

fn load(text: &str) -> Loaded {
    read("form", text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn refused(text: &str) -> FormatError {
    read("form", text.as_bytes()).expect_err(text)
}

fn same(a: &Fabric, b: &Fabric, properties: Properties) {
    let differences = compare(a, b, properties);
    assert!(differences.is_empty(), "{}", differences[0]);
}

#[test]
fn the_tidy_form_is_read_whole_and_written_back() {
    let loaded = load(TIDY);
    assert_eq!((loaded.format, loaded.notes.len()), (Format::Ibnetdiscover, 0));
    let fabric = &loaded.fabric;
    let [leaf, host, door] = [0, 1, 2].map(|index| fabric.nodes().nth(index).unwrap());
    assert_eq!(fabric.kind(door), NodeKind::Router);
    assert_eq!(fabric.name(door), "door \\ 'x' - \"y\"");
    assert!(fabric.has_enhanced_port_zero(leaf));
    assert_eq!(fabric.lid(fabric.port(leaf, 0).unwrap()), Lid(3));
    let second = fabric.port(host, 2).unwrap();
    assert_eq!((fabric.port_guid(second), fabric.lid(second)), (Guid(0x2_c903_0000_0012), Lid(18)));
    assert_eq!(fabric.rate(fabric.port(leaf, 36).unwrap()), Some(LinkRate::x4(LinkSpeed::Xdr)));
    let lines = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    };
    assert_eq!(lines(&write(fabric, Format::Ibnetdiscover).unwrap()), lines(TIDY));
}

#[test]
fn what_terminals_and_tools_do_to_it_makes_no_difference() {
    let fabric = load(TIDY).fabric;
    let lines = || TIDY.lines();
    let join = |lines: Vec<String>| lines.join("\n");
    let forms = [
        ("no blank lines", join(lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())),
        ("a blank line after each", TIDY.replace('\n', "\n\n")),
        ("carriage returns", TIDY.replace('\n', "\r\n")),
        ("blanks for tabs", TIDY.replace('\t', " ")),
        ("tabs lost", TIDY.replace('\t', "")),
        ("short GUIDs", TIDY.replace("-0002c9", "-2c9")),
        ("GUIDs with 0x", TIDY.replace("-0002c9", "-0x2c9").replace("(2c9", "(0x2c9")),
        ("capital digits", TIDY.replace("2c903", "2C903")),
        (
            "no comment lines",
            join(lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()),
        ),
        ("a banner and a prompt", format!("=~=~ log =~=~\r\nibwarn: [1] timeout\n{TIDY}\n\rhost [ ha ] # ")),
        (
            "groups",
            TIDY.replace(
                "\nvendid=0x2c9\ndevid=0xd2f0",
                "\nChassis 1 (guid 0x1)\n\n# Spine Nodes\nvendid=0x2c9\ndevid=0xd2f0",
            )
            .replace("[2]\t", "[2][ext 14]\t"),
        ),
        ("full information", TIDY.replace("HDR\n", "HDR s=4 w=2 v=4\n")),
        ("a byte order mark", format!("\u{feff}{TIDY}")),
        ("blanks at line ends", TIDY.replace('\n', " \t\n")),
    ];
    for (what, text) in forms {
        let loaded = load(&text);
        assert_eq!(loaded.format, Format::Ibnetdiscover, "{what}");
        let differences = compare(&fabric, &loaded.fabric, Properties::ALL);
        assert!(differences.is_empty(), "{what}: {}", differences[0]);
    }
    // Without quotes a name has no bounds of its own, so the odd one is left out here.
    let bare =
        TIDY.replace("# \"", "# ").replace("\" ", " ").replace("\"\n", "\n").replace("0 \"MF0", "0 MF0");
    let bare = bare.replace("H-0002c90300000010 ", "H-0002c90300000010\" ");
    let bare = bare.replace("Switch\t36 \"S-0002c90300000001\t", "Switch\t36 \"S-0002c90300000001\"\t");
    same(&fabric, &load(&bare).fabric, Properties { names: false, ..Properties::ALL });
}

#[test]
fn missing_comments_lose_no_cable() {
    let bare: String = TIDY
        .lines()
        .map(|line| line.split_once('#').map_or(line, |(before, _)| before).trim_end().to_owned() + "\n")
        .collect();
    let loaded = load(&bare);
    same(&load(TIDY).fabric, &loaded.fabric, Properties { port_guids: true, ..Properties::NONE });
    assert!(loaded.fabric.nodes().all(|node| loaded.fabric.name(node).is_empty()));
}

#[test]
fn every_speed_and_width_is_taken_and_what_is_unknown_stays_so() {
    for (written, wanted) in [
        ("1xSDR", Some("1xSDR")),
        ("4xDDR", Some("4xDDR")),
        ("8xQDR", Some("8xQDR")),
        ("4xFDR10", Some("4xFDR10")),
        ("12xFDR", Some("12xFDR")),
        ("2xNDR", Some("2xNDR")),
        ("4x XDR", Some("4xXDR")),
        ("4x???", None),
        ("4x ???", None),
        ("??EDR", None),
        ("", None),
    ] {
        let loaded = load(&TIDY.replace("4xHDR", written));
        let port = loaded.fabric.ports(loaded.fabric.nodes().next().unwrap()).next().unwrap();
        assert_eq!(loaded.fabric.rate(port).map(|rate| rate.to_string()).as_deref(), wanted, "{written}");
    }
}

#[test]
fn aggregation_nodes_are_known_by_number_name_or_place() {
    let of = |device: &str, name: &str, port: &str, system: &str| {
        let text = TIDY
            .replace("devid=0x1\n", &format!("devid={device}\n"))
            .replace("door \\ 'x' - \"y\"", name)
            .replace("[36]", port)
            .replace("Switch\t36", "Switch\t41")
            .replace("sysimgguid=0x2c90300000020", &format!("sysimgguid={system}"))
            .replace("R-", "H-")
            .replace("Rt\t2", "Ca\t1")
            .replace("rtguid", "caguid")
            .replace("0x119f", "0x2c9");
        let loaded = load(&text);
        loaded.fabric.kind(loaded.fabric.nodes().nth(2).unwrap())
    };
    let own = "0x2c90300000020";
    assert_eq!(of("0x101b", "host-2", "[36]", own), NodeKind::ChannelAdapter);
    assert_eq!(of("0xcf09", "", "[36]", own), NodeKind::AggregationNode);
    assert_eq!(of("0x0", "Mellanox Technologies Aggregation Node", "[36]", own), NodeKind::AggregationNode);
    assert_eq!(of("0x0", "renamed", "[41]", "0x2c90300000001"), NodeKind::AggregationNode);
    assert_eq!(of("0x0", "renamed", "[40]", "0x2c90300000001"), NodeKind::ChannelAdapter);
}

#[test]
fn cut_off_files_are_refused_at_any_place_or_told_about() {
    for end in 0..TIDY.len() - 1 {
        let text = &TIDY[..end];
        match read("cut", text.as_bytes()) {
            Err(error) => assert!(!error.mend.is_empty() && error.file == "cut", "{error}"),
            Ok(loaded) => {
                loaded.fabric.check_invariants();
                let whole = compare(&load(TIDY).fabric, &loaded.fabric, Properties::NONE).is_empty();
                assert!(whole || !loaded.notes.is_empty(), "{text}");
            }
        }
    }
}

#[test]
fn a_file_that_lacks_most_records_is_cut_off() {
    let mut text = String::from(
        "switchguid=0x1(1)\nSwitch 36 \"S-0000000000000001\" # \"leaf\" base port 0 lid 1 lmc 0\n",
    );
    for port in 1..=30 {
        text += &format!(
            "[{port}] \"H-{:016x}\"[1]({:x}) # \"n{port}\" lid {port} 4xEDR\n",
            64 + port,
            64 + port
        );
    }
    let error = refused(&text);
    assert!(error.what.contains("30 of 31 nodes") && error.what.contains("cut off"), "{error}");
}

#[test]
fn contradictions_name_both_lines() {
    let error = refused(&TIDY.replace(
        "[2](2c90300000012) \t\"S-0002c90300000001\"[2]",
        "[2](2c90300000012) \t\"S-0002c90300000001\"[1]",
    ));
    assert!(error.line > 0 && error.what.contains("line "), "{error}");
    let error = refused(&TIDY.replace("[2]\t\"H", "[1]\t\"H"));
    assert_eq!(error.line, 12);
    assert!(error.what.contains("in line 11"), "{error}");
    let error = refused(&TIDY.replace("[36]\t", "[37]\t"));
    assert!(error.to_string().starts_with("form:13:1: port 37 of"), "{error}");
    let error = refused(&TIDY.replace(
        "caguid=0x2c90300000010\n",
        "caguid=0x2c90300000010\nCa\t3 \"H-0002c90300000010\"\t# \"other\"\n",
    ));
    assert!(error.what.contains("was described otherwise"), "{error}");
    let error = refused(&TIDY.replace("Ca\t2", "Ca\t255"));
    assert!(error.mend.contains("254"), "{error}");
    let error = refused(&TIDY.replace("sysimgguid=0x2c90300000010", "sysimgguid=0x2c9030000001g"));
    assert!(error.what.contains("no GUID"), "{error}");
}

#[test]
fn one_sided_cables_and_rates_that_disagree_are_told() {
    let loaded =
        load(&TIDY.replace(
            "[2]\t\"H-0002c90300000010\"[2](2c90300000012) \t\t# \"host-1 mlx5_0\" lid 18 2xHDR\n",
            "",
        ));
    assert_eq!(loaded.notes.len(), 1);
    assert_eq!(loaded.notes[0].kind, NoteKind::OneSided);
    let findings = fabric::check::check(&loaded);
    assert_eq!(findings[0].kind, fabric::check::FindingKind::OneSided);
    assert_eq!(findings[0].ends, ["host-1 mlx5_0[2]", "MF0;leaf-1:MQM8700/U1[2]"]);
    let loaded = load(&TIDY.replace("lid 17 4xHDR", "lid 17 4xEDR"));
    assert_eq!(loaded.notes[0].kind, NoteKind::RateDisagrees);
    let first = loaded.fabric.links().next().unwrap().0;
    assert_eq!(loaded.fabric.rate(first), Some(LinkRate::x4(LinkSpeed::Edr)));
}

#[test]
fn ibsim_files_get_the_guids_that_ibsim_gives() {
    let text = "module \"a\"\nwidth=8\nSwitch 4 \"s\"\n[1] \"h\"[2]\n[2] \"b#t\" [1] s=7\n\nHca 2 \"h\"\n[2] \"s\"[1] s=3\n\nmodule \"b\"\nSwitch 4 \"t\"\n[1] \"a#s\"[2]\n";
    let loaded = load(text);
    assert_eq!(loaded.format, Format::IbsimNet);
    let fabric = &loaded.fabric;
    let names: Vec<_> = fabric.nodes().map(|node| (fabric.name(node), fabric.guid(node).0)).collect();
    assert_eq!(names, [("a#s", 0x20_0000), ("a#h", 0x10_0000), ("b#t", 0x20_0001)]);
    let host = fabric.hosts().next().unwrap();
    let port = fabric.port(host, 2).unwrap();
    assert_eq!(fabric.port_guid(port), Guid(0x10_0002));
    assert_eq!(fabric.rate(port).unwrap().to_string(), "12xSDR");
    assert!(refused("Switch 4 \"s\"\n[1] \"gone\"[1]\n").what.contains("no record describes it"));
    assert!(refused("include \"other\"\nSwitch 4 \"s\"\n").mend.contains("one file"));
}

#[test]
fn the_native_form_can_be_written_by_hand() {
    let text = "# mine\nheddle-fabric = 1\nnodes = [\n  { kind = \"switch\", name = \"leaf\", ports = 4 },\n  { kind = \"host\", name = \"n1\", ports = 1 },\n]\nlinks = [\"leaf[1] n1[1] 4xNDR\"]\n";
    let loaded = load(text);
    assert_eq!((loaded.format, loaded.fabric.link_count()), (Format::Native, 1));
    for (from, to, wanted) in [
        ("4xNDR", "5xNDR", "form:7:10: \"5xNDR\" is no link rate"),
        ("n1[1] 4", "n2[1] 4", "form:7:10: no node has the id or the name \"n2\""),
        ("leaf[1]", "leaf[9]", "form:7:10: leaf has ports 1 to 4, not 9"),
        ("leaf[1] n1[1] 4xNDR", "leaf", "form:7:10: \"leaf\" is no link"),
        ("ports = 1 ", "prots = 1 ", "form:5:"),
        ("ports = 1 ", "ports = 300 ", "form:5:3: \"n1\" has 300 ports"),
        ("fabric = 1", "fabric = 2", "form:2:17: version 2"),
        ("\"n1\"", "\"leaf\"", "form:7:10: several nodes are named \"leaf\""),
        ("ports = 1 }", "ports = 1, lid = 3, lids = [3] }", "form:5:3: both lid and lids"),
        ("nodes = [", "nodes = ", "form:4:3: "),
    ] {
        let error = refused(&text.replace(from, to));
        assert!(error.to_string().starts_with(wanted), "{error} is not {wanted}");
        assert!(!error.mend.is_empty());
    }
}

#[test]
fn formats_that_are_only_written_are_known() {
    for text in ["SwitchName=s Nodes=n[1-2]\n", "graph fabric {\n}\n", "---\n- topology: tree\n"] {
        assert!(refused(text).what.contains("writes but does not read"), "{text}");
    }
    let fabric = load(TIDY).fabric;
    assert!(write(&fabric, Format::PortList).unwrap_err().mend.contains("toml"));
    assert!(write(&fabric, Format::SlurmConf).unwrap().contains("SwitchName=leaf-1 Nodes=host-1"));
    assert!(
        write(&fabric, Format::Dot).unwrap().contains("2 x 4xHDR")
            || write(&fabric, Format::Dot).unwrap().contains("4xHDR")
    );
}
