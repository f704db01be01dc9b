//! Feeding a recording to the same core again.

use ib::{Packet, Time};
use subnet::{Event, Input, SubnetManager, Task};

use super::{Digest, Drained, ReadError, Reader, Record};

/// Where the outputs differ from the recorded ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The record's number, from 1.
    pub record: u64,
    /// When it was.
    pub time: Time,
    /// What came out then.
    pub recorded: Drained,
    /// What comes out now.
    pub replayed: Drained,
    /// The first packet of now, for people.
    pub first_packet: Option<String>,
}

/// What a replay did.
pub struct Replayed {
    /// The manager as it stood at the end.
    pub manager: SubnetManager,
    /// Records read.
    pub records: u64,
    /// The time of the last one.
    pub time: Time,
    /// Bytes at the end that are no whole record.
    pub left_over: usize,
    /// Whether the session had ended in order.
    pub ended: bool,
    /// The first difference; the replay stops there.
    pub difference: Option<Difference>,
}

/// Feeds a recording to a new manager and compares what comes out. Every event is shown to `watch`.
pub fn replay(mut reader: Reader<'_>, mut watch: impl FnMut(Time, &Event)) -> Result<Replayed, ReadError> {
    let header = reader.header();
    let mut manager = SubnetManager::new(header.config.clone(), header.began);
    let mut time = header.began;
    let (mut ended, mut difference) = (false, None);
    let mut packets: Vec<Packet> = Vec::new();
    let mut solution = None;
    while let Some((at, record)) = reader.next_record()? {
        time = at;
        match record {
            Record::Packet(packet) => manager.input(at, Input::Packet(&packet)),
            Record::Tick => manager.input(at, Input::Tick),
            Record::Sweep => manager.input(at, Input::Sweep),
            Record::Work => manager.do_work(at),
            Record::Task => solution = manager.poll_task().map(Task::compute),
            Record::Solved => {
                if let Some(solution) = solution.take() {
                    manager.solved(at, solution);
                }
            }
            Record::Drain(recorded) => {
                packets.clear();
                manager.poll_send(at, &mut packets);
                let mut digest = Digest::default();
                packets.iter().for_each(|packet| digest.packet(packet));
                while let Some(event) = manager.poll_event() {
                    digest.event(&event);
                    watch(at, &event);
                }
                let replayed = digest.finish();
                if replayed != recorded {
                    let first_packet = packets.first().map(|packet| format!("{:?}", packet.mad));
                    difference = Some(Difference {
                        record: reader.number(),
                        time: at,
                        recorded,
                        replayed,
                        first_packet,
                    });
                    break;
                }
            }
            Record::End => {
                ended = true;
                break;
            }
        }
    }
    Ok(Replayed { manager, records: reader.number(), time, left_over: reader.left_over(), ended, difference })
}
