//! Counters: what ports have counted, read and reset by performance management.

use fabric::PortId;
use ib::{AttributeId, ClassPortInfo, Mad, Method, PortCounters, PortCountersExtended, Status};

use super::Answer;
use crate::Emulator;

/// A MAD's packet on the link, in the 4 bytes that counters count: headers, 256 bytes, checks.
const MAD_WORDS: u64 = (8 + 12 + 8 + 256 + 4) / 4;
/// CapabilityMask of the class: 64-bit counters are there.
const EXTENDED_WIDTH: u16 = 1 << 9;

impl Emulator {
    /// What a port has counted, to change.
    pub fn counters(&mut self, port: PortId) -> &mut PortCountersExtended {
        self.state.counters.entry(port).or_default()
    }

    /// Counts data that crosses a link from a port to its neighbour, at both ends: what a model of traffic reports.
    pub fn count_data(&mut self, from: PortId, packets: u64, bytes: u64) {
        let peer = self.state.fabric.peer(from);
        sent(self.counters(from), packets, bytes / 4);
        if let Some(peer) = peer {
            received(self.counters(peer), packets, bytes / 4);
        }
    }

    /// Counts a management packet on a data lane that leaves by a port.
    pub(crate) fn count_sent(&mut self, port: PortId) {
        sent(self.counters(port), 1, MAD_WORDS);
    }

    /// Counts a management packet on a data lane that has come in by a port.
    pub(crate) fn count_received(&mut self, port: PortId) {
        received(self.counters(port), 1, MAD_WORDS);
    }

    pub(super) fn answer_performance(&mut self, port: PortId, mad: &mut Mad) -> bool {
        let set = mad.method() == Method::SET;
        let result = match mad.attribute_id() {
            _ if mad.base_version() != 1 || mad.class_version() != 1 => Err(Status::BAD_VERSION),
            _ if mad.method() != Method::GET && !set => Err(Status::UNSUPPORTED_METHOD),
            AttributeId::CLASS_PORT_INFO if !set => {
                mad.put(&ClassPortInfo {
                    base_version: 1,
                    class_version: 1,
                    capability_mask: EXTENDED_WIDTH,
                    response_time_value: 18,
                    ..ClassPortInfo::default()
                });
                Ok(())
            }
            AttributeId::PORT_COUNTERS => self.port_counters(port, mad, set),
            AttributeId::PORT_COUNTERS_EXTENDED => self.port_counters_extended(port, mad, set),
            _ => Err(Status::UNSUPPORTED_ATTRIBUTE),
        };
        mad.make_response();
        if let Err(status) = result {
            mad.set_status(status);
        }
        true
    }

    fn port_counters(&mut self, port: PortId, mad: &mut Mad, set: bool) -> Answer {
        let asked: PortCounters = mad.get();
        let port = self.port_of_modifier(port, u32::from(asked.port_select))?;
        let held = self.counters(port);
        if set {
            let select = u32::from(asked.counter_select) | u32::from(asked.counter_select2) << 16;
            write(held, select, &asked);
        }
        mad.put(&narrow(held, asked.port_select));
        Ok(())
    }

    fn port_counters_extended(&mut self, port: PortId, mad: &mut Mad, set: bool) -> Answer {
        let asked: PortCountersExtended = mad.get();
        let port = self.port_of_modifier(port, u32::from(asked.port_select))?;
        let held = self.counters(port);
        if set {
            let wide = [
                (&mut held.transmit_data, asked.transmit_data),
                (&mut held.receive_data, asked.receive_data),
                (&mut held.transmit_packets, asked.transmit_packets),
                (&mut held.receive_packets, asked.receive_packets),
                (&mut held.unicast_transmit_packets, asked.unicast_transmit_packets),
                (&mut held.unicast_receive_packets, asked.unicast_receive_packets),
                (&mut held.multicast_transmit_packets, asked.multicast_transmit_packets),
                (&mut held.multicast_receive_packets, asked.multicast_receive_packets),
            ];
            for (bit, (held, wanted)) in wide.into_iter().enumerate() {
                if asked.counter_select >> bit & 1 == 1 {
                    *held = wanted;
                }
            }
        }
        let mut out = *held;
        out.port_select = asked.port_select;
        mad.put(&out);
        Ok(())
    }
}

fn sent(counters: &mut PortCountersExtended, packets: u64, words: u64) {
    counters.transmit_packets = counters.transmit_packets.saturating_add(packets);
    counters.unicast_transmit_packets = counters.unicast_transmit_packets.saturating_add(packets);
    counters.transmit_data = counters.transmit_data.saturating_add(words);
}

fn received(counters: &mut PortCountersExtended, packets: u64, words: u64) {
    counters.receive_packets = counters.receive_packets.saturating_add(packets);
    counters.unicast_receive_packets = counters.unicast_receive_packets.saturating_add(packets);
    counters.receive_data = counters.receive_data.saturating_add(words);
}

/// Writes the selected counters. Bits in the order of the standard's table of PortCounters.
fn write(held: &mut PortCountersExtended, select: u32, wanted: &PortCounters) {
    let all = [
        (&mut held.symbol_errors, u64::from(wanted.symbol_errors)),
        (&mut held.link_error_recoveries, u64::from(wanted.link_error_recoveries)),
        (&mut held.link_downed, u64::from(wanted.link_downed)),
        (&mut held.receive_errors, u64::from(wanted.receive_errors)),
        (&mut held.receive_remote_physical_errors, u64::from(wanted.receive_remote_physical_errors)),
        (&mut held.receive_switch_relay_errors, u64::from(wanted.receive_switch_relay_errors)),
        (&mut held.transmit_discards, u64::from(wanted.transmit_discards)),
        (&mut held.transmit_constraint_errors, u64::from(wanted.transmit_constraint_errors)),
        (&mut held.receive_constraint_errors, u64::from(wanted.receive_constraint_errors)),
        (&mut held.local_link_integrity_errors, u64::from(wanted.local_link_integrity_errors)),
        (&mut held.excessive_buffer_overruns, u64::from(wanted.excessive_buffer_overruns)),
        (&mut held.vl15_dropped, u64::from(wanted.vl15_dropped)),
        (&mut held.transmit_data, u64::from(wanted.transmit_data)),
        (&mut held.receive_data, u64::from(wanted.receive_data)),
        (&mut held.transmit_packets, u64::from(wanted.transmit_packets)),
        (&mut held.receive_packets, u64::from(wanted.receive_packets)),
        (&mut held.transmit_wait, u64::from(wanted.transmit_wait)),
    ];
    for (bit, (held, wanted)) in all.into_iter().enumerate() {
        if select >> bit & 1 == 1 {
            *held = wanted;
        }
    }
}

/// The counters in their short form: each sticks at its largest value.
fn narrow(held: &PortCountersExtended, port_select: u8) -> PortCounters {
    let byte = |value: u64| value.min(0xff) as u8;
    let word = |value: u64| value.min(0xffff) as u16;
    let long = |value: u64| value.min(0xffff_ffff) as u32;
    PortCounters {
        port_select,
        counter_select: 0,
        counter_select2: 0,
        symbol_errors: word(held.symbol_errors),
        link_error_recoveries: byte(held.link_error_recoveries),
        link_downed: byte(held.link_downed),
        receive_errors: word(held.receive_errors),
        receive_remote_physical_errors: word(held.receive_remote_physical_errors),
        receive_switch_relay_errors: word(held.receive_switch_relay_errors),
        transmit_discards: word(held.transmit_discards),
        transmit_constraint_errors: byte(held.transmit_constraint_errors),
        receive_constraint_errors: byte(held.receive_constraint_errors),
        local_link_integrity_errors: held.local_link_integrity_errors.min(0xf) as u8,
        excessive_buffer_overruns: held.excessive_buffer_overruns.min(0xf) as u8,
        qp1_dropped: word(held.qp1_dropped),
        vl15_dropped: word(held.vl15_dropped),
        transmit_data: long(held.transmit_data),
        receive_data: long(held.receive_data),
        transmit_packets: long(held.transmit_packets),
        receive_packets: long(held.receive_packets),
        transmit_wait: long(held.transmit_wait),
    }
}
