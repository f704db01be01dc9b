//! A store outlives `kill -9` at any moment: what was said to be written is there, and no batch is there by half.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use controller::store::{Batch, Embedded, Order, Space, Store};

const PLACE: &str = "HEDDLE_TEST_STORE";
const KILLS: u64 = 200;
/// Keys that a batch sets in each of two spaces.
const WIDTH: u64 = 5;

fn batch(number: u64) -> Batch {
    let mut batch = Batch::default();
    for at in 0..WIDTH {
        let key = (number * WIDTH + at).to_be_bytes();
        batch.put(Space::Events, &key, number.to_le_bytes().repeat(40));
        // The same few keys again and again, so that pages are used anew.
        batch.put(Space::Jobs, &[at as u8], number.to_le_bytes().to_vec());
        if number >= 100 {
            batch.remove(Space::Events, &((number - 100) * WIDTH + at).to_be_bytes());
        }
    }
    batch
}

/// The number of the last batch that is there; every batch that should be is, and is whole.
fn last(store: &Embedded) -> Option<u64> {
    let mut keys = Vec::new();
    store
        .scan(Space::Events, None, Order::Up, &mut |key, value| {
            let key = u64::from_be_bytes(key.try_into().unwrap());
            assert_eq!(value, (key / WIDTH).to_le_bytes().repeat(40));
            keys.push(key);
            true
        })
        .unwrap();
    let &end = keys.last()?;
    assert_eq!(end % WIDTH, WIDTH - 1, "a batch is there by half");
    let number = end / WIDTH;
    let first = number.saturating_sub(99) * WIDTH;
    assert_eq!(keys, (first..=end).collect::<Vec<_>>());
    for at in 0..WIDTH {
        assert_eq!(store.get(Space::Jobs, &[at as u8]).unwrap(), Some(number.to_le_bytes().to_vec()));
    }
    Some(number)
}

#[test]
fn a_store_outlives_kills_in_the_middle_of_a_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let (mut known, mut in_mid_write) = (None, 0);
    for kill in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writes_until_it_is_killed", "--ignored", "--nocapture"])
            .env(PLACE, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        // Killed after a number of batches and a part of one more, both other ones every time.
        let mut heard = None;
        for line in said
            .by_ref()
            .filter_map(|line| line.strip_prefix("wrote ")?.parse().ok())
            .take(1 + kill as usize % 7)
        {
            heard = Some(line);
        }
        thread::sleep(Duration::from_micros(kill * 37 % 1_500));
        child.kill().unwrap();
        child.wait().unwrap();
        heard = said.filter_map(|line| line.strip_prefix("wrote ")?.parse::<u64>().ok()).last().or(heard);
        let heard = heard.expect("it wrote something");
        let found = last(&Embedded::open(&path).unwrap()).expect("something is there");
        assert!(
            found == heard || found == heard + 1,
            "it said that {heard} was written, and {found} is there"
        );
        in_mid_write += u64::from(found == heard + 1);
        assert!(known.is_none_or(|known| known < found));
        known = Some(found);
    }
    println!("{KILLS} kills, {in_mid_write} of them between a commit and the word of it");
}

#[test]
#[ignore = "a part of the test above, in a process of its own"]
fn writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(PLACE) else { return };
    let store = Embedded::open(path.as_ref()).unwrap();
    let first = last(&store).map_or(0, |last| last + 1);
    for number in first.. {
        store.commit(&batch(number)).unwrap();
        println!("wrote {number}");
    }
}
