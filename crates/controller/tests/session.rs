//! Whole sessions on an emulated fabric: up, recorded, replayed.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use controller::recording::{self, Reader};
use controller::{End, Observer, Session, Stop, Until};
use emulator::Emulator;
use fabric::generate::FatTreeSpec;
use ib::{Packet, Time};
use subnet::{Event, SubnetManager};
use transport::{Memory, Wire, WireError};

/// A file in memory that the test can read while the session writes it.
#[derive(Clone, Default)]
struct File(Arc<Mutex<Vec<u8>>>);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[derive(Default)]
struct Heard(Vec<String>);

impl Observer for Heard {
    fn event(&mut self, _: Time, event: &Event, _: &SubnetManager) {
        self.0.push(serde_json::to_string(event).unwrap());
    }

    fn progress(&mut self, _: &SubnetManager) {}
}

fn session_stopped_by(stop: Stop) -> Session<Box<dyn Wire>> {
    let fabric = FatTreeSpec { levels: Some(2), radix: 8, ..FatTreeSpec::default() }.build().unwrap();
    let (node, port) = Memory::seat(&fabric).unwrap();
    let emulator = Emulator::new(&fabric, emulator::Config::default());
    let wire = Memory::new_as_manager(emulator, node, port).unwrap();
    Session::new(Box::new(wire) as Box<dyn Wire>, subnet::Config::default(), stop)
}

fn recorded() -> (Vec<u8>, Vec<String>, subnet::Report) {
    let (mut session, file, mut heard) =
        (session_stopped_by(Stop::default()), File::default(), Heard::default());
    session.record("a test", Box::new(file.clone())).unwrap();
    assert_eq!(session.run(Until::Up, &mut heard).unwrap(), End::Up);
    session.finish().unwrap();
    let report = session.manager().report();
    let bytes = file.0.lock().unwrap().clone();
    (bytes, heard.0, report)
}

#[test]
fn a_fabric_comes_up() {
    let (_, heard, report) = recorded();
    assert_eq!((report.switches, report.hosts, report.links), (12, 32, 64));
    assert_eq!((report.verify.unreachable, report.verify.loops, report.verify.credit_loops), (0, 0, 0));
    assert!(heard.last().unwrap().contains("\"up\""), "{heard:?}");
}

#[test]
fn a_stopped_session_ends_in_order() {
    let stop = Stop::default();
    stop.ask();
    let mut session = session_stopped_by(stop);
    assert_eq!(session.run(Until::Stopped, &mut Heard::default()).unwrap(), End::Stopped);
}

#[test]
fn a_recording_gives_the_same_outputs_again() {
    let (bytes, heard, report) = recorded();
    let mut again = Vec::new();
    let reader = Reader::new(&bytes).unwrap();
    assert_eq!(reader.header().door, "a test");
    let replayed =
        recording::replay(reader, |_, event| again.push(serde_json::to_string(event).unwrap())).unwrap();
    assert_eq!(replayed.difference, None);
    assert!(replayed.ended && replayed.left_over == 0);
    assert_eq!(again, heard);
    assert_eq!(replayed.manager.report(), report);
}

/// Runs a session until it has spread its paths anew.
struct StopsWhenSpread(Heard, Stop);

impl Observer for StopsWhenSpread {
    fn event(&mut self, time: Time, event: &Event, manager: &SubnetManager) {
        self.0.event(time, event, manager);
        if matches!(event, Event::Rebalanced { .. }) {
            self.1.ask();
        }
    }

    fn progress(&mut self, _: &SubnetManager) {}
}

/// The recording of a session that loses a link and spreads its paths anew, computed on a thread where the clock counts as
/// real.
fn spread(real_clock: bool) -> (Vec<u8>, Vec<String>, subnet::Report) {
    let fabric = FatTreeSpec { levels: Some(2), radix: 8, ..FatTreeSpec::default() }.build().unwrap();
    let (node, port) = Memory::seat(&fabric).unwrap();
    let leaf = fabric.nodes().find(|&node| fabric.name(node) == "leaf-0003").unwrap();
    let leads_up = |&(_, peer): &(fabric::PortId, fabric::PortId)| fabric.is_switch(fabric.node_of(peer));
    let uplink = fabric.neighbors(leaf).find(leads_up).unwrap().0;
    let fault = emulator::Fault::Unlink { node: leaf, port: fabric.port_number(uplink) };
    let faults = vec![(Duration::from_secs(2), fault)];
    let emulator = Emulator::new(&fabric, emulator::Config { faults, ..emulator::Config::default() });
    let memory = Memory::new_as_manager(emulator, node, port).unwrap();
    let wire: Box<dyn Wire> = if real_clock { Box::new(Slow(memory)) } else { Box::new(memory) };
    let config = subnet::Config { rebalance_after: Duration::from_secs(1), ..subnet::Config::default() };
    let stop = Stop::default();
    let mut session = Session::new(wire, config, stop.clone());
    let file = File::default();
    session.record("a test", Box::new(file.clone())).unwrap();
    let mut heard = StopsWhenSpread(Heard::default(), stop);
    assert_eq!(session.run(Until::Stopped, &mut heard).unwrap(), End::Stopped);
    session.finish().unwrap();
    let report = session.manager().report();
    let bytes = file.0.lock().unwrap().clone();
    (bytes, heard.0.0, report)
}

/// An emulated fabric whose door says that its clock is real: computations beside the manager go to a thread.
struct Slow(Memory);

impl Wire for Slow {
    fn now(&mut self) -> Time {
        self.0.now()
    }

    fn has_virtual_clock(&self) -> bool {
        false
    }

    fn send(&mut self, packets: &[Packet]) -> Result<(), WireError> {
        self.0.send(packets)
    }

    fn receive(&mut self, packets: &mut Vec<Packet>, until: Option<Time>) -> Result<Time, WireError> {
        self.0.receive(packets, until)
    }
}

#[test]
fn paths_spread_anew_on_a_thread_are_replayed_too() {
    for real_clock in [false, true] {
        let (bytes, heard, report) = spread(real_clock);
        assert!(heard.iter().any(|event| event.contains("\"rebalanced\"")), "{heard:?}");
        let replayed = recording::replay(Reader::new(&bytes).unwrap(), |_, _| {}).unwrap();
        assert_eq!(replayed.difference, None);
        assert!(replayed.ended);
        assert_eq!(replayed.manager.report(), report);
    }
}

#[test]
fn a_cut_recording_is_replayed_as_far_as_it_is_whole() {
    let (bytes, ..) = recorded();
    for length in (0..bytes.len()).step_by(bytes.len() / 97) {
        let Ok(reader) = Reader::new(&bytes[..length]) else { continue };
        let replayed = recording::replay(reader, |_, _| {}).unwrap();
        assert_eq!(replayed.difference, None);
        assert!(!replayed.ended);
    }
}

#[test]
fn another_input_is_noticed() {
    let (mut bytes, ..) = recorded();
    // The type in the first NodeInfo: the manager's own adapter becomes a switch.
    let mut reader = Reader::new(&bytes).unwrap();
    while !matches!(reader.next_record().unwrap(), Some((_, recording::Record::Packet(_)))) {}
    let mad = bytes.len() - reader.left_over() - 256;
    assert_eq!(bytes[mad + 64 + 2], 1);
    bytes[mad + 64 + 2] = 2;
    let replayed = recording::replay(Reader::new(&bytes).unwrap(), |_, _| {}).unwrap();
    let difference = replayed.difference.expect("a switch is asked other things");
    assert!(difference.record > 0 && difference.recorded != difference.replayed);
}

#[test]
fn what_is_no_recording_is_refused() {
    assert!(Reader::new(b"").is_err());
    assert!(Reader::new(b"HEDDLE-RECORDING 1\n\xff\xff\xff\xff{}").is_err());
    let (bytes, ..) = recorded();
    let mut reader = Reader::new(&bytes).unwrap();
    reader.next_record().unwrap();
    let at = bytes.len() - reader.left_over();
    let mut wrong = bytes.clone();
    wrong[at] = 99;
    let error = recording::replay(Reader::new(&wrong).unwrap(), |_, _| {}).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("unknown kind 99"), "{error}");
}

#[test]
fn a_paced_session_lets_no_more_time_pass_than_there_is_even_where_it_is_taken_up_again() {
    let stop = Stop::default();
    let mut session = session_stopped_by(stop.clone());
    session.pace();
    assert_eq!(session.run(Until::Up, &mut Heard::default()).unwrap(), End::Up);
    let (began, from) = (std::time::Instant::now(), session.wire().now());
    let asker = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        stop.ask();
    });
    assert_eq!(session.run(Until::Stopped, &mut Heard::default()).unwrap(), End::Stopped);
    asker.join().unwrap();
    let passed = session.wire().now().since(from);
    assert!(passed <= began.elapsed() && passed > Duration::ZERO, "{passed:?}");
}
