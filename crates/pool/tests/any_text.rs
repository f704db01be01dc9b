//! No text makes a reader panic, and what is read holds together.

use pool::formats::{self, Beside};
use proptest::prelude::*;

const TEXTS: [&str; 4] = [
    include_str!("../../../examples/pool.toml"),
    "NodeName=n1 CPUTot=112 Gres=gpu:h100:8(S:0-1),shard:4\n   RealMemory=20 Sockets=2 State=MIXED+DRAIN\n   Reason=fan\n\
     NodeName=n2 Gres=gpu:2\n",
    "AutoDetect=off\nNodeName=n[1-4,07] Name=gpu Type=h100 File=/dev/nvidia[0-7] Cores=0-55\n",
    "sn,cpu_milli,memory_mib,gpu,model\nopenb-node-0000,64000,262144,2,P100\nopenb-node-0001,96000,52,0,\n",
];
/// What is put in: words and letters that mean something to some reader.
const WORDS: [&str; 18] = [
    "[",
    "]",
    "(",
    ")",
    ",",
    "-",
    "=",
    "\"",
    "\n",
    "0",
    "99999999999",
    "-1",
    "1e308",
    "é",
    "[[tenant]]\n",
    "NodeName=",
    "Name=gpu",
    "nan",
];

proptest! {

    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_text_that_was_changed_is_read_or_refused(
        text in 0..TEXTS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..WORDS.len(), 0..12usize), 1..6),
        gres in any::<bool>(),
    ) {
        let mut text = TEXTS[text].to_owned();
        for (at, word, cut) in changes {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let from = at.index(places.len());
            let to = (from + cut).min(places.len() - 1);
            text.replace_range(places[from]..places[to], WORDS[word]);
        }
        let beside = Beside { gres: gres.then_some(("gres.conf", TEXTS[2])), ..Beside::default() };
        match formats::read("file", text.as_bytes(), &beside) {
            Err(error) => prop_assert!(!error.what.is_empty()),
            Ok((site, _)) => {
                site.pool.check_invariants();
                site.slices.check_invariants(&site.pool);
                site.tenants.check_invariants();
                let _ = pool::Stock::of(&site.pool);
                let _ = pool::check::check(&site, None);
                let _ = pool::summary::summarize(&site);
            }
        }
    }
}
