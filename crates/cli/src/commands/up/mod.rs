//! `heddle up`: brings a fabric up and keeps it up.

mod config;
mod door;
mod options;
mod output;
mod watch;
mod work;

use std::ffi::OsString;
use std::path::Path;

use controller::api::ServeError;
use controller::daemon::{self, StartError};
use controller::feed::Feed;
use controller::lids::{self, Lids, LidsError};
use controller::service::Reload;
use controller::{Daemon, End, Session, SessionError, Stop, Until};
use fabric::Fabric;
use fabric::compare::{self, Properties};
use transport::Wire;

use crate::Answer;
use crate::commands::route;
use crate::failure::Failure;
use crate::files;

pub use options::{DEFAULT_LISTEN, Up, duration};

use config::Configuration;

/// The words of this very command after `heddle up`.
fn own_words() -> Vec<OsString> {
    std::env::args_os().skip(2).collect()
}

/// Options of both: of the command line, and of the file that it names.
fn configured(path: &str) -> Result<(Up, Configuration), Failure> {
    let configuration = Configuration::read(path)?;
    let mut up = configuration.with(path, own_words())?;
    up.access = configuration.access.clone();
    Ok((up, configuration))
}

/// What to do when the configuration is to be read again.
fn reload(changing: daemon::Changing, path: Option<String>, former: Option<Configuration>) -> Reload {
    let mut former = former.unwrap_or_default();
    Box::new(move || {
        let Some(path) = &path else {
            return Ok("there is no configuration file to read again".to_owned());
        };
        let refused = |failure: Failure| format!("the configuration stays as it was: {failure}");
        let (up, now) = configured(path).map_err(refused)?;
        changing.take(&up.doors()).map_err(|error| refused(Failure::new(error.to_string(), "", "")))?;
        let mut others = former.differing(&now);
        others.retain(|key| !AT_ONCE.contains(&key.as_str()));
        former = now;
        Ok(match others.as_slice() {
            [] => format!("{path} was read again"),
            others => format!("{path} was read again; these wait for a restart: {}", others.join(", ")),
        })
    })
}

/// Keys of the configuration that are taken up while the controller runs; tokens are too.
const AT_ONCE: [&str; 1] = ["requests-per-second"];

impl Up {
    /// Brings the fabric up.
    pub fn run(self) -> Result<Answer, Failure> {
        match self.config.clone() {
            None => self.go(None),
            Some(path) => {
                let (up, configuration) = configured(&path)?;
                up.go(Some(configuration))
            }
        }
    }

    fn go(self, configuration: Option<Configuration>) -> Result<Answer, Failure> {
        let outputs = self.outputs()?;
        let door = self.door();
        let cabling = self.cabling(door)?;
        let mut config = self.config(door)?;
        let stop = Stop::on_signals()
            .map_err(|error| Failure::new(format!("cannot wait for signals: {error}"), "", ""))?;
        let door::Opened { wire, place, most_under_way } = self.open(door, cabling.as_ref())?;
        config.flow_controlled = door == options::Door::Ibsim;
        if let Some(most) = most_under_way {
            let asked = config.max_wire_smps;
            config.max_wire_smps = if asked == 0 { most } else { asked.min(most) };
        }
        let wire = self.sleeves(wire, door)?;
        let mut session = Session::new(wire, config, stop);
        if let Some(path) = &self.record {
            let file = door::create(path)?;
            session.record(&place, file).map_err(|error| Failure::file("write", path, &error))?;
        }
        if door == options::Door::Emulate {
            session.pace();
        }
        let work = self.work()?;
        let (work, _folder) = work.map_or((None, None), |work| (Some(work.config), work.temporary));
        let daemon = if self.once {
            None
        } else {
            Some(self.serve(&mut session, (&place, work), door, configuration)?)
        };
        let planned = cabling.filter(|_| door != options::Door::Emulate);
        let mut watcher = watch::Watcher::new(&self, place, planned.is_some());
        let daemon = daemon.map(|(daemon, feed)| {
            watcher.tell(feed, daemon.url());
            daemon
        });
        let answer = self.manage(&mut session, &mut watcher, planned.as_ref(), &outputs);
        watcher.end();
        // Who hears the session ends once nobody tells it anything any more.
        drop(watcher);
        session.finish().map_err(|error| self.broken(error))?;
        if let Some(daemon) = daemon {
            daemon.end().map_err(|error| Failure::new(error.to_string(), "--store", ""))?;
        }
        answer
    }

    /// Starts the controller around the session.
    fn serve(
        &self,
        session: &mut Session<Box<dyn Wire>>,
        (place, work): (&str, Option<controller::work::Config>),
        door: options::Door,
        configuration: Option<Configuration>,
    ) -> Result<(Daemon, Feed), Failure> {
        let config = daemon::Config {
            doors: self.doors(),
            store: self.store.clone(),
            place: place.to_owned(),
            is_emulated: door == options::Door::Emulate,
            pull_every: self.pull_every,
            seed: self.seed,
            work,
        };
        let (mut daemon, feed, calls) = Daemon::start(&config).map_err(cannot_start)?;
        daemon.serve(reload(daemon.changing(), self.config.clone(), configuration)).map_err(cannot_start)?;
        session.hear(calls);
        Ok((daemon, feed))
    }

    /// The bring-up, then, without `--once`, all that follows.
    fn manage(
        &self,
        session: &mut Session<Box<dyn Wire>>,
        watcher: &mut watch::Watcher,
        planned: Option<&Fabric>,
        outputs: &Outputs,
    ) -> Result<Answer, Failure> {
        let end = session.run(Until::Up, watcher).map_err(|error| self.broken(error))?;
        watcher.end();
        if end == End::Stopped {
            return Ok(Answer::No);
        }
        let report = session.manager().report();
        if let Some(reason) = &report.refused {
            if self.json {
                files::print_json(&watcher.outcome(&report, session.times(), &[]))?;
            }
            return Err(options::refusal(reason, watcher.place()));
        }
        let differences = planned.map_or_else(Vec::new, |planned| {
            let properties = Properties { rates: false, ..Properties::NONE };
            compare::compare(planned, session.manager().fabric(), properties)
        });
        let outcome = watcher.outcome(&report, session.times(), &differences);
        outputs.save(session)?;
        watcher.show(&outcome)?;
        let answer = if outcome.is_sound() { Answer::Yes } else { Answer::No };
        if self.once {
            return Ok(answer);
        }
        watcher.begin_watching(session.manager());
        let end = session.run(Until::Stopped, watcher).map_err(|error| self.broken(error))?;
        if end == End::Refused
            && let Some(reason) = session.manager().report().refused
        {
            return Err(options::refusal(&reason, watcher.place()));
        }
        outputs.save(session)?;
        Ok(Answer::Yes)
    }

    fn broken(&self, error: SessionError) -> Failure {
        match error {
            SessionError::Wire(error) => error.into(),
            SessionError::Recording(error) => {
                Failure::file("write the recording", self.record.as_deref().unwrap_or_default(), &error)
            }
        }
    }

    /// LIDs of former runs, by what the options say.
    fn known_lids(&self) -> Result<Lids, Failure> {
        let failed = |path: &str, error: LidsError| match error {
            LidsError::Io(error) => Failure::file("read LIDs", path, &error),
            LidsError::Line { line, expected } => Failure::new(
                format!("this is no {expected}"),
                format!("{path}:{line}"),
                "mend the line, or take it out",
            ),
        };
        let mut known = Lids::new();
        if let Some(path) = &self.opensm_guid2lid {
            known = lids::read_opensm(Path::new(path)).map_err(|error| failed(path, error))?;
        }
        if let Some(path) = &self.lids {
            known.extend(lids::read(Path::new(path)).map_err(|error| failed(path, error))?);
        }
        Ok(known)
    }
}

fn cannot_start(error: StartError) -> Failure {
    let (place, help) = match &error {
        StartError::Store(_) => ("--store", "give another file, or end the heddle that has it"),
        StartError::Serve(ServeError::Open(_)) => (
            "--listen",
            "give an address of this machine alone, as in 127.0.0.1:7980, or tokens: see `heddle token --help`",
        ),
        StartError::Serve(ServeError::Clear(_)) => ("--listen", "give --certificate and --key"),
        StartError::Serve(ServeError::Tls(_)) => {
            ("--certificate", "give a certificate and its key, both as PEM")
        }
        StartError::Work(_) => ("--job-folder", "give a folder that can be written"),
        StartError::Serve(ServeError::Socket { .. }) => ("--socket", "give another file"),
        StartError::Serve(_) => ("--listen", "give another address; port 0 is any free one"),
    };
    Failure::new(error.to_string(), place, help)
}

/// Files to write once the fabric is up.
pub struct Outputs {
    fabrics: Vec<(String, fabric::formats::Format)>,
    tables: Vec<String>,
}

impl Up {
    /// What is to be saved, so that an ending that tells no format is refused before anything is done.
    fn outputs(&self) -> Result<Outputs, Failure> {
        let with_format = |path: &String| Ok((path.clone(), files::format_for(path, None)?));
        Ok(Outputs {
            fabrics: self.save_fabric.iter().map(with_format).collect::<Result<_, Failure>>()?,
            tables: self.save_tables.clone(),
        })
    }
}

impl Outputs {
    fn save(&self, session: &Session<Box<dyn Wire>>) -> Result<(), Failure> {
        let manager = session.manager();
        for (path, format) in &self.fabrics {
            files::write_fabric(manager.fabric(), path, *format)?;
        }
        if let Some(tables) = manager.tables() {
            for path in &self.tables {
                files::write(path, route::write_tables(manager.fabric(), tables, path).as_bytes())?;
            }
        }
        Ok(())
    }
}
