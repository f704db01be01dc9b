//! Every reader of traces on its sample, on times that cannot be, and on damaged bytes.
// A test's own door to its data.
#![allow(clippy::disallowed_methods)]

use proptest::prelude::*;
use scheduler::trace::{BadLines, Format, ReadOptions, Trace, read};

const SKIP: ReadOptions = ReadOptions { bad_lines: BadLines::Skip, times_wanted: true, gpus_a_part: 8 };

const PHILLY: &str = include_str!("../../../examples/philly.json");
const TABLES: &str = include_str!("../../../examples/jobs.toml");

/// What the fuzz target `read_trace` starts from, in the order of the names.
fn seeds() -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/read_trace");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn every_seed_is_told_and_read() {
    let told: Vec<_> = seeds()
        .iter()
        .map(|seed| {
            let format = Format::detect(seed);
            assert!(!read("seed", seed, format, SKIP).unwrap().jobs.is_empty(), "{format:?}");
            format
        })
        .collect();
    assert!(Format::ALL.iter().all(|(format, _)| told.contains(format)), "{told:?}");
}

#[test]
fn where_on_a_node_is_read_written_and_refused_by_line() {
    let text = "submit_s,run_s,gpus,gpu_milli,mig,numa,gpu_memory_mib\n0,1,2,,1g.10gb,,\n1,1,,,3g.40gb,prefer-one,\n\
                2,1,4,,,one,\n3,1,1,500,,,9000\n";
    let trace = read("x.csv", text.as_bytes(), Format::Native, SKIP).unwrap();
    assert_eq!(trace.bad, []);
    assert_eq!(trace.profiles, ["1g.10gb", "3g.40gb"]);
    let wanted: Vec<_> =
        trace.jobs.iter().map(|job| (job.gpus, job.gpu_milli, job.terms.numa.name())).collect();
    let expected = [(2, 125, "anywhere"), (1, 500, "prefer-one"), (4, 1000, "one"), (1, 500, "anywhere")];
    assert_eq!(wanted, expected);
    assert_eq!(trace.jobs[3].terms.gpu_memory_mib, 9000);
    let again = scheduler::trace::native::write(&trace);
    assert_eq!(read("x.csv", again.as_bytes(), Format::Native, SKIP).unwrap(), trace);
    let table = "[[job]]\nsubmit_s = 0.0\nrun_s = 1.0\nmig = \"1g.10gb\"\ngpus = 2\n";
    let read_table = read("x.toml", table.as_bytes(), Format::Tables, SKIP).unwrap();
    assert_eq!((read_table.jobs[0].gpus, read_table.jobs[0].terms.mig), (2, 1));
    for (row, what) in [
        ("8,,1g.10gb,", "line 3: 8 MIG instances"),
        ("1,500,1g.10gb,", "line 3: both mig and gpu_milli"),
        ("1,,9g.1gb,", "line 3: mig is \"9g.1gb\", which no model"),
        ("1,,,half", "line 3: numa is \"half\", which is none of anywhere, one, prefer-one"),
    ] {
        let text = format!("submit_s,run_s,gpus,gpu_milli,mig,numa\n0,1,1,,,\n1,1,{row}\n");
        let bad = read("x.csv", text.as_bytes(), Format::Native, SKIP).unwrap().bad;
        let found = format!("line {}: {}", bad[0].line, bad[0].what);
        assert!(found.starts_with(what), "{found}");
    }
}

/// A format; jobs of it, the second without a time, the third with a negative one; the lines of both.
const TIMES: [(Format, &str, [usize; 2]); 7] = [
    (Format::Native, "submit_s,run_s,gpus\n0,5,1\n4,,1\n-3,5,1\n", [3, 4]),
    (
        Format::Openb,
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n\
         a,1,1,1,1000,,,,0,5,0\nb,1,1,1,1000,,,,0,,0\nc,1,1,1,1000,,,,-9,5,0\n",
        [3, 4],
    ),
    (
        Format::Swf,
        "; head\n1 0 1 5 1 -1 -1 1 9 -1 1 1 1 -1 1 -1 -1 -1\n2 0 1 -1 1 -1 -1 1 9 -1 1 1 1 -1 1 -1 -1 -1\n\
         3 -7 1 5 1 -1 -1 1 9 -1 1 1 1 -1 1 -1 -1 -1\n",
        [3, 4],
    ),
    (
        Format::Sacct,
        "JobID|User|Submit|Start|End|Timelimit|NNodes|ReqTRES\n\
         1|a|2024-05-01T10:00:00|2024-05-01T10:01:00|2024-05-01T11:01:00||1|gres/gpu=1\n\
         2|a|2024-05-01T10:00:00|2024-05-01T10:01:00|Unknown||1|gres/gpu=1\n\
         3|a|2024-05-01T10:00:00|2024-05-01T11:01:00|2024-05-01T10:01:00||1|gres/gpu=1\n",
        [3, 4],
    ),
    (
        Format::Helios,
        "job_id,user,gpu_num,cpu_num,node_num,submit_time,duration\n\
         1,u,1,1,1,2020-06-09 18:41:01,5\n2,u,1,1,1,None,5\n3,u,1,1,1,2020-06-09 18:41:01,-5\n",
        [3, 4],
    ),
    (
        Format::Philly,
        r#"[{"jobid":"1","submitted_time":"2017-10-07 01:00:00","attempts":[{"start_time":"2017-10-07 01:00:00",
"end_time":"2017-10-07 02:00:00","detail":[{"ip":"m","gpus":["gpu0"]}]}]},
{"jobid":"2","submitted_time":"None","attempts":[{"start_time":"2017-10-07 01:00:00",
"end_time":"2017-10-07 02:00:00","detail":[{"ip":"m","gpus":["gpu0"]}]}]},
{"jobid":"3","submitted_time":"2017-10-07 01:00:00","attempts":[{"start_time":"2017-10-07 02:00:00",
"end_time":"2017-10-07 01:00:00","detail":[{"ip":"m","gpus":["gpu0"]}]}]}]"#,
        [3, 5],
    ),
    (
        Format::Tables,
        "[[job]]\nsubmit_s = 0\nrun_s = 5\n[[job]]\nsubmit_s = 1\n[[job]]\nsubmit_s = -1\nrun_s = 5\n",
        [4, 6],
    ),
];

#[test]
fn absent_and_negative_times_are_counted_named_by_line_skipped_or_refused() {
    for (format, text, lines) in TIMES {
        assert_eq!(Format::detect(text.as_bytes()), format);
        let trace = read("jobs", text.as_bytes(), format, SKIP).unwrap();
        let named: Vec<_> = trace.bad.iter().map(|bad| bad.line).collect();
        assert_eq!(
            (trace.jobs.len(), trace.bad_count, &named[..]),
            (1, 2, &lines[..]),
            "{format:?}: {:?}",
            trace.bad
        );
        let refused = read("jobs", text.as_bytes(), format, ReadOptions::default()).unwrap_err();
        assert_eq!((&*refused.file, refused.line as usize), ("jobs", lines[0]), "{format:?}: {refused}");
    }
}

#[test]
fn sacct_counts_gpus_by_type_where_it_has_no_other_count() {
    let head = "JobID|User|Submit|Start|End|Timelimit|NNodes|ReqTRES|Priority";
    let line = |resources: &str| {
        format!("7|a|2024-05-01T10:00:00|2024-05-01T10:01:00|2024-05-01T11:01:00||2|{resources}|4294967294")
    };
    for (resources, gpus) in [
        ("cpu=8,gres/gpu:a100=4,gres/gpu:h100=8,node=2", 6),
        ("cpu=8,gres/gpu=8,gres/gpu:h100=8,node=2", 4),
        ("cpu=8,node=2", 0),
    ] {
        let text = format!("\u{feff}{head}\n{}\n", line(resources));
        let trace = read("sacct", text.as_bytes(), Format::detect(text.as_bytes()), ReadOptions::default());
        let job = &trace.unwrap().jobs[0];
        assert_eq!((job.gpus, job.parts, job.priority), (gpus, 2, i32::MAX), "{resources}");
    }
}

#[test]
fn a_mark_of_byte_order_is_no_part_of_any_format() {
    for (format, text, _) in TIMES {
        let marked = format!("\u{feff}{text}");
        assert_eq!(Format::detect(marked.as_bytes()), format);
        let trace = read("jobs", marked.as_bytes(), format, SKIP);
        assert_eq!(trace.map(|trace| trace.jobs.len()).ok(), Some(1), "{format:?}");
    }
}

#[test]
fn a_job_of_philly_wants_what_its_last_attempt_had() {
    let trace =
        read("philly.json", PHILLY.as_bytes(), Format::detect(PHILLY.as_bytes()), ReadOptions::default());
    let trace = trace.unwrap();
    let job = &trace.jobs[0];
    assert_eq!((&*job.name, job.parts, job.gpus, job.run_ms), ("application_1", 2, 2, Some(3_600_000)));
    assert_eq!(trace.jobs.iter().map(|job| job.submit_ms).collect::<Vec<_>>(), [0, 125_000]);
}

#[test]
fn a_list_that_breaks_off_is_refused_with_its_line() {
    let cut = &PHILLY[..PHILLY.len() - 40];
    let error = read("philly.json", cut.as_bytes(), Format::Philly, SKIP).unwrap_err();
    assert_eq!((error.line, error.what.contains("ends within a job")), (11, true), "{error}");
}

#[test]
fn tables_are_read_as_the_columns_are() {
    let trace = read("jobs.toml", TABLES.as_bytes(), Format::Tables, ReadOptions::default()).unwrap();
    let again = scheduler::trace::native::write(&trace);
    let again = read("jobs.csv", again.as_bytes(), Format::Native, ReadOptions::default()).unwrap();
    assert_eq!(trace, again);
    let unknown = read("jobs.toml", b"[[job]]\nsubmit_s = 1\nnodes = 2\n", Format::Tables, SKIP).unwrap_err();
    assert_eq!((unknown.line, unknown.what.contains("nodes")), (3, true), "{unknown}");
}

fn names_of(trace: &Trace) -> Vec<&str> {
    trace.jobs.iter().map(|job| &*job.name).collect()
}

/// Each link as who waits and for whom.
fn links_of(trace: &Trace) -> Vec<(&str, &str)> {
    let name = |job: u32| &*trace.jobs[job as usize].name;
    trace.after.iter().map(|link| (name(link.job), name(link.other))).collect()
}

#[test]
fn jobs_name_others_that_stand_anywhere_in_the_file() {
    let text = "name,submit_s,run_s,gpus,after\nlast,0,5,1,middle|first\nmiddle,0,5,1,first\nother,0,5,1,\nfirst,7,5,1,\n";
    let trace = read("jobs.csv", text.as_bytes(), Format::Native, ReadOptions::default()).unwrap();
    // Who waits counts as submitted no earlier than those it waits for, and stands behind them.
    assert_eq!(names_of(&trace), ["other", "first", "middle", "last"]);
    assert_eq!(trace.jobs.iter().map(|job| job.submit_ms).collect::<Vec<_>>(), [0, 7000, 7000, 7000]);
    assert_eq!(links_of(&trace), [("middle", "first"), ("last", "first"), ("last", "middle")]);
    let tables = "[[job]]\nname = \"b\"\nsubmit_s = 0\nrun_s = 5\nafter = [\"a\"]\n[[job]]\nname = \"a\"\nsubmit_s = 0\nrun_s = 5\n";
    let read_tables = read("jobs.toml", tables.as_bytes(), Format::Tables, ReadOptions::default()).unwrap();
    assert_eq!(links_of(&read_tables), [("b", "a")]);
    for trace in [trace, read_tables] {
        let again = scheduler::trace::native::write(&trace);
        let again = read("jobs.csv", again.as_bytes(), Format::Native, ReadOptions::default()).unwrap();
        assert_eq!((&trace.jobs, &trace.after), (&again.jobs, &again.after));
    }
}

#[test]
fn names_that_nobody_or_several_have_and_circles_are_refused_or_left_out() {
    let text = "name,submit_s,run_s,gpus,after\n\
        a,0,5,1,c\nb,0,5,1,a\nc,0,5,1,b\nself,0,5,1,self\nlost,0,5,1,nobody\nbehind,0,5,1,lost\n\
        twin,0,5,1,\ntwin,0,5,1,\nof-twins,0,5,1,twin\ncircling,0,5,1,b\nfine,0,5,1,\nwell,0,5,1,fine\n";
    let refused = |text: &str| {
        let error = read("jobs.csv", text.as_bytes(), Format::Native, ReadOptions::default()).unwrap_err();
        (error.line, error.what)
    };
    assert_eq!(
        refused(text),
        (
            2,
            "jobs wait for each other in a circle: \"a\" (line 2) after \"c\" (line 4) after \"b\" (line 3) after \"a\""
                .to_owned()
        )
    );
    let trace = read("jobs.csv", text.as_bytes(), Format::Native, SKIP).unwrap();
    assert_eq!(names_of(&trace), ["twin", "twin", "fine", "well"]);
    assert_eq!((links_of(&trace), trace.bad_count), (vec![("well", "fine")], 8));
    let what = |line: usize| &*trace.bad.iter().find(|bad| bad.line == line).unwrap().what;
    assert_eq!(what(5), "\"self\" is to come after itself");
    assert_eq!(what(6), "it is to come after \"nobody\", and no job is called so");
    assert_eq!(what(7), "it is to come after \"lost\", which is left out");
    assert_eq!(what(10), "it is to come after \"twin\", and 2 jobs are called so");
    assert_eq!(what(11), "it is to come after \"b\", which is left out");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn whoever_is_kept_stands_behind_all_that_it_waits_for(
        ahead in prop::collection::vec((0u64..4, prop::collection::vec(0usize..13, 0..3)), 1..12),
    ) {
        let mut text = "name,submit_s,run_s,gpus,after\n".to_owned();
        for (at, (submit, ahead)) in ahead.iter().enumerate() {
            let names: Vec<String> = ahead.iter().map(|other| format!("j{other}")).collect();
            text += &format!("j{at},{submit},1,1,{}\n", names.join("|"));
        }
        // By a plain search: whoever waits, directly or not, for itself or for nobody's name is left out.
        let count = ahead.len();
        let mut kept = vec![false; count];
        for _ in 0..count {
            for at in 0..count {
                kept[at] = ahead[at].1.iter().all(|&other| other < count && kept[other]);
            }
        }
        let Ok(trace) = read("jobs.csv", text.as_bytes(), Format::Native, SKIP) else {
            prop_assert!(!kept.contains(&true));
            return Ok(());
        };
        let mut names = names_of(&trace);
        names.sort_unstable();
        let mut expected: Vec<String> = (0..count).filter(|&at| kept[at]).map(|at| format!("j{at}")).collect();
        expected.sort_unstable();
        prop_assert_eq!(names, expected);
        prop_assert_eq!(trace.bad_count, kept.iter().filter(|kept| !**kept).count());
        for link in &trace.after {
            prop_assert!(link.other < link.job);
        }
        let links: usize = (0..count)
            .filter(|&at| kept[at])
            .map(|at| ahead[at].1.iter().collect::<std::collections::BTreeSet<_>>().len())
            .sum();
        prop_assert_eq!(trace.after.len(), links);
    }

    #[test]
    fn damaged_traces_are_read_or_refused(
        sample in prop::sample::select(seeds()),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 0..8),
        skip in any::<bool>(),
    ) {
        let mut bytes = sample;
        for (at, byte, cut) in damage {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] = byte }
        }
        let bad_lines = if skip { BadLines::Skip } else { BadLines::Refuse };
        for (format, _) in Format::ALL {
            if let Ok(trace) = read("damaged", &bytes, format, ReadOptions { bad_lines, ..SKIP }) {
                prop_assert!(!trace.jobs.is_empty() && trace.bad.len() <= trace.bad_count);
                prop_assert!(trace.jobs.is_sorted_by_key(|job| job.submit_ms));
            }
        }
    }
}
