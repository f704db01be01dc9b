//! How many MADs a second a door carries: NodeInfo of the own node, with a window of requests in flight.
//!
//! `cargo run --release -p transport --example rate -- ibsim|umad WINDOW COUNT`

#![allow(clippy::print_stdout)]

use std::time::Duration;

use ib::{AttributeId, DirectedRoute, Mad, Method, Packet};
use transport::{Ibsim, Umad, Wire, ibsim, umad};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [door, window, count] = &arguments[..] else {
        return Err("usage: rate ibsim|umad WINDOW COUNT".into());
    };
    let (window, count): (u64, u64) = (window.parse()?, count.parse()?);
    let mut wire: Box<dyn Wire> = match door.as_str() {
        "umad" => Box::new(Umad::open_as_manager(&umad::Config::default())?),
        _ => Box::new(Ibsim::open_as_manager(&ibsim::Config::from_environment())?),
    };
    let request = |tid| {
        Packet::directed(Mad::directed(Method::GET, AttributeId::NODE_INFO, 0, &DirectedRoute::LOCAL, tid, 0))
    };
    let start = wire.now();
    let (mut sent, mut answered, mut given_back) = (0, 0, 0);
    let (mut out, mut back) = (Vec::new(), Vec::new());
    while answered + given_back < count {
        out.clear();
        while sent < count && sent < answered + given_back + window {
            out.push(request(sent));
            sent += 1;
        }
        wire.send(&out)?;
        back.clear();
        let until = wire.now() + Duration::from_secs(1);
        if wire.receive(&mut back, Some(until))? >= until {
            println!("{} of {sent} lost", sent - answered - given_back);
            break;
        }
        given_back += back.iter().filter(|packet| packet.status != 0).count() as u64;
        answered += back.iter().filter(|packet| packet.status == 0).count() as u64;
    }
    let seconds = wire.now().since(start).as_secs_f64();
    println!(
        "{answered} answered, {given_back} given back in {seconds:.3} s: {:.0} a second",
        answered as f64 / seconds
    );
    Ok(())
}
