//! `heddle completions` and `heddle man`: what a shell and `man` want to know of the commands, made from their options.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man as Page;

use crate::Answer;
use crate::failure::Failure;
use crate::files;

/// Options of `heddle completions`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  heddle completions bash > /usr/share/bash-completion/completions/heddle\n  \
    heddle completions zsh > ~/.zfunc/_heddle\n  heddle completions fish > ~/.config/fish/completions/heddle.fish"
)]
pub struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    /// Prints them.
    pub fn run(self, mut command: Command) -> Result<Answer, Failure> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut command, "heddle", &mut text);
        files::write("-", &text)?;
        Ok(Answer::Yes)
    }
}

/// Options of `heddle man`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  heddle man /usr/local/share/man/man1\n  heddle man . && man ./heddle-up.1"
)]
pub struct Man {
    /// The folder that they are written into; it is made where it is missing
    folder: PathBuf,
}

/// The page of a command and of each below it, by file name.
fn pages(command: Command, name: &str, into: &mut Vec<(String, Command)>) {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
    {
        pages(below.clone(), &format!("{name}-{}", below.get_name()), into);
    }
    into.push((format!("{name}.1"), command.name(name.to_owned())));
}

impl Man {
    /// Writes them.
    pub fn run(self, mut command: Command) -> Result<Answer, Failure> {
        let place = self.folder.display().to_string();
        std::fs::create_dir_all(&self.folder)
            .map_err(|error| Failure::file("make the folder", &place, &error))?;
        command.build();
        let mut all = Vec::new();
        pages(command, "heddle", &mut all);
        for (file, command) in all {
            let mut text = Vec::new();
            let path = self.folder.join(&file).display().to_string();
            Page::new(command).render(&mut text).map_err(|error| Failure::file("write", &path, &error))?;
            files::write(&path, &text)?;
        }
        Ok(Answer::Yes)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::Heddle;

    #[test]
    fn every_command_has_its_page() {
        let mut command = Heddle::command();
        command.build();
        let mut all = Vec::new();
        pages(command, "heddle", &mut all);
        let names: Vec<&str> = all.iter().map(|(file, _)| file.as_str()).collect();
        for name in ["heddle.1", "heddle-up.1", "heddle-link-list.1", "heddle-trace-study.1"] {
            assert!(names.contains(&name), "{name} is not among {names:?}");
        }
        for (file, command) in all {
            let mut text = Vec::new();
            Page::new(command).render(&mut text).unwrap();
            assert!(String::from_utf8(text).unwrap().contains(".SH DESCRIPTION"), "{file}");
        }
    }
}
