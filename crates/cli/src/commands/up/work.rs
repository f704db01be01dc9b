//! What `heddle up` is to host of jobs.

use std::path::PathBuf;
use std::sync::Arc;

use controller::work::{Config, Source};
use pool::formats::Beside;

use super::options::{Jobs, Up};
use crate::failure::Failure;
use crate::files;

/// What is to be hosted, and the folder that goes with the last of it.
pub struct Work {
    /// What is to be hosted.
    pub config: Config,
    /// Where runs have their folders, if they go at the end.
    pub temporary: Option<tempfile::TempDir>,
}

impl Up {
    /// What is to be hosted of jobs, if anything.
    pub fn work(&self) -> Result<Option<Work>, Failure> {
        if self.once || self.jobs == Jobs::Off {
            return Ok(None);
        }
        let source = match &self.pool {
            None => Source::Fabric { gpus_per_host: self.gpus_per_host, model: self.gpu_model.clone() },
            Some(path) => {
                let bytes = files::read(path)?;
                let (site, _) = pool::formats::read(path, &bytes, &Beside::default())?;
                Source::Pool {
                    pool: Arc::new(site.pool),
                    tenants: Box::new(site.tenants),
                    calendar: site.calendar.map(Box::new),
                }
            }
        };
        let failed = |error: std::io::Error| Failure::file("make a folder for jobs", "--job-folder", &error);
        let (folder, temporary) = match (&self.job_folder, &self.store) {
            (Some(folder), _) => (folder.clone(), None),
            (None, Some(store)) => {
                let mut name = store.clone().into_os_string();
                name.push(".jobs");
                (PathBuf::from(name), None)
            }
            (None, None) => {
                let folder = tempfile::tempdir().map_err(failed)?;
                (folder.path().to_owned(), Some(folder))
            }
        };
        let own = std::env::current_exe().map_err(failed)?;
        let config = Config {
            source,
            queue: scheduler::schedule::Config::default(),
            folder,
            supervisor: vec![own.display().to_string(), "supervise".to_owned()],
            // Without a store the next controller would know of none of them.
            outlives: self.store.is_some(),
        };
        Ok(Some(Work { config, temporary }))
    }
}
