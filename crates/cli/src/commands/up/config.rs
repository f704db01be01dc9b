//! The configuration file of `heddle up`: its keys are the options of the command, in a table for each heading of the
//! help. An option on the command line comes before the file's.

use std::ffi::OsString;
use std::ops::Range;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, Args, Command, FromArgMatches};
use controller::access::{Access, Fingerprint, Role, Token};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::options::Up;
use crate::failure::Failure;
use crate::files;

/// Options that a file does not have: they are about one run.
const OF_ONE_RUN: [&str; 4] = ["config", "help", "json", "once"];
/// The table of options under no heading.
const PLAIN: &str = "fabric";

/// An option that the file gives.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Given {
    /// The option's id in the command.
    id: String,
    /// As it would stand on a command line.
    words: Vec<String>,
    /// Where the file has it.
    line: usize,
}

/// What a file says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Configuration {
    given: Vec<Given>,
    /// Who is let in.
    pub access: Access,
}

/// The command as a program of its own.
fn command() -> Command {
    Up::augment_args(Command::new("up"))
}

/// The table that an option belongs into.
fn table_of(option: &Arg) -> String {
    let heading = option.get_help_heading().unwrap_or(PLAIN);
    heading.split(' ').next().unwrap_or(PLAIN).to_lowercase()
}

/// The key of an option: its long name; the plan to compare with has none and is called as what it is.
fn key_of(option: &Arg) -> &str {
    option.get_long().unwrap_or(option.get_id().as_str())
}

/// Which doors there are: each is an option of its own, and one key in the file.
const DOORS: [&str; 3] = ["emulate", "ibsim", "umad"];

/// A file that is being read.
struct Reader<'a> {
    path: &'a str,
    text: &'a str,
    command: Command,
}

impl<'a> Reader<'a> {
    fn line(&self, span: &Range<usize>) -> usize {
        1 + self.text.as_bytes()[..span.start.min(self.text.len())]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count()
    }

    fn failure(&self, span: &Range<usize>, what: impl Into<String>, help: impl Into<String>) -> Failure {
        Failure::new(what, format!("{}:{}", self.path, self.line(span)), help)
    }

    fn options(&self, table: &str) -> Vec<&Arg> {
        let is_here = |option: &&Arg| {
            table_of(option) == table
                && !OF_ONE_RUN.contains(&key_of(option))
                && !DOORS.contains(&key_of(option))
        };
        self.command.get_arguments().filter(is_here).collect()
    }

    fn tables(&self) -> Vec<String> {
        let mut tables: Vec<String> = Vec::new();
        for option in self.command.get_arguments() {
            let table = table_of(option);
            if !tables.contains(&table) && !self.options(&table).is_empty() {
                tables.push(table);
            }
        }
        tables
    }

    /// A value as it would stand on a command line.
    fn word(&self, value: &Spanned<DeValue<'_>>) -> Result<String, Failure> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) => Ok(number.as_str().replace('_', "")),
            DeValue::Float(number) => Ok(number.as_str().replace('_', "")),
            DeValue::Boolean(is_so) => Ok(is_so.to_string()),
            _ => {
                Err(self.failure(&value.span(), "this is no string or number", "see the example that ships"))
            }
        }
    }

    fn option(&self, option: &Arg, value: &Spanned<DeValue<'_>>) -> Result<Option<Given>, Failure> {
        let values: Vec<String> = match (value.get_ref(), option.get_action()) {
            (DeValue::Array(values), ArgAction::Append) => {
                values.iter().map(|value| self.word(value)).collect::<Result<_, _>>()?
            }
            (DeValue::Boolean(true), ArgAction::SetTrue) => vec![String::new()],
            (DeValue::Boolean(false), ArgAction::SetTrue) => return Ok(None),
            (_, ArgAction::SetTrue) => {
                return Err(self.failure(
                    &value.span(),
                    format!("`{}` is either true or false", key_of(option)),
                    "write one of these, without quotes",
                ));
            }
            _ => vec![self.word(value)?],
        };
        let words: Vec<String> = values
            .into_iter()
            .map(|value| match (option.get_long(), option.get_action()) {
                (Some(long), ArgAction::SetTrue) => format!("--{long}"),
                (Some(long), _) => format!("--{long}={value}"),
                (None, _) => value,
            })
            .collect();
        let alone = std::iter::once("up").chain(words.iter().map(String::as_str));
        if let Err(error) = self.command.clone().try_get_matches_from(alone)
            && matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation)
        {
            let (what, help) = said(&error);
            return Err(self.failure(&value.span(), what, help));
        }
        let id = option.get_id().to_string();
        Ok(Some(Given { id, words, line: self.line(&value.span()) }))
    }

    fn door(&self, value: &Spanned<DeValue<'_>>) -> Result<Given, Failure> {
        let door = self.word(value)?;
        if !DOORS.contains(&door.as_str()) {
            let help = format!("give one of {}", DOORS.join(", "));
            return Err(self.failure(&value.span(), format!("there is no door \"{door}\""), help));
        }
        Ok(Given { words: vec![format!("--{door}")], id: door, line: self.line(&value.span()) })
    }

    fn table(&self, name: &str, table: &DeTable<'_>, into: &mut Vec<Given>) -> Result<(), Failure> {
        let options = self.options(name);
        for (key, value) in table {
            let word: &str = key.get_ref();
            if name == PLAIN && word == "door" {
                into.push(self.door(value)?);
                continue;
            }
            let Some(option) = options.iter().find(|option| key_of(option) == word) else {
                let mut known: Vec<&str> = options.iter().map(|option| key_of(option)).collect();
                if name == PLAIN {
                    known.insert(0, "door");
                }
                return Err(self.failure(
                    &key.span(),
                    format!("`{word}` is no key of [{name}]"),
                    format!("its keys are {}", known.join(", ")),
                ));
            };
            into.extend(self.option(option, value)?);
        }
        Ok(())
    }

    fn token(&self, entry: &Spanned<DeValue<'_>>) -> Result<Token, Failure> {
        let DeValue::Table(table) = entry.get_ref() else {
            return Err(self.failure(&entry.span(), "a token is a table", "write it as [[token]]"));
        };
        let (mut name, mut role, mut tenant, mut fingerprint) = (None, None, None, None);
        for (key, value) in table {
            let word = self.word(value)?;
            match &**key.get_ref() {
                "name" => name = Some(word),
                "tenant" => tenant = Some(word),
                "role" => {
                    let found = Role::ALL.into_iter().find(|role| role.word() == word);
                    role = Some(found.ok_or_else(|| {
                        let roles = Role::ALL.map(Role::word).join(", ");
                        self.failure(
                            &value.span(),
                            format!("there is no role \"{word}\""),
                            format!("give one of {roles}"),
                        )
                    })?);
                }
                "sha256" => {
                    fingerprint = Some(Fingerprint::parse(&word).ok_or_else(|| {
                        self.failure(
                            &value.span(),
                            "this is no SHA-256",
                            "give its 64 hexadecimal digits, as `heddle token` prints them",
                        )
                    })?);
                }
                other => {
                    let what = format!("`{other}` is no key of [[token]]");
                    return Err(self.failure(&key.span(), what, "its keys are name, role, sha256, tenant"));
                }
            }
        }
        match (name, role, fingerprint) {
            (Some(name), Some(role), Some(fingerprint)) => Ok(Token { name, role, tenant, fingerprint }),
            (name, role, _) => {
                let lacks = if name.is_none() {
                    "name"
                } else if role.is_none() {
                    "role"
                } else {
                    "sha256"
                };
                Err(self.failure(
                    &entry.span(),
                    format!("this token has no `{lacks}`"),
                    "`heddle token` prints a whole entry",
                ))
            }
        }
    }

    fn read(&self) -> Result<Configuration, Failure> {
        let document = DeTable::parse(self.text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            self.failure(&span, error.message().to_owned(), "see https://toml.io for how TOML is written")
        })?;
        let mut found = Configuration::default();
        for (key, value) in document.get_ref() {
            let name: &str = key.get_ref();
            match value.get_ref() {
                DeValue::Array(entries) if name == "token" => {
                    let tokens = entries.iter().map(|entry| self.token(entry)).collect::<Result<_, _>>()?;
                    found.access = Access::new(tokens).map_err(|error| {
                        self.failure(
                            &key.span(),
                            error.to_string(),
                            "give each token its own name, and submitters a tenant",
                        )
                    })?;
                }
                DeValue::Table(table) if self.tables().iter().any(|table| table == name) => {
                    self.table(name, table, &mut found.given)?;
                }
                _ => {
                    let tables = self.tables().join("], [");
                    return Err(self.failure(
                        &key.span(),
                        format!("there is no table [{name}]"),
                        format!("the tables are [{tables}] and [[token]]"),
                    ));
                }
            }
        }
        Ok(found)
    }
}

/// What clap says, in two parts: what is wrong, and what would mend it.
fn said(error: &clap::Error) -> (String, String) {
    let text = error.to_string();
    let text = text.trim_start_matches("error: ");
    let mut parts = text.split("\n\n");
    let what = parts.next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    (what, "see `heddle up --help` for what the key takes".to_owned())
}

impl Configuration {
    /// Reads a file.
    pub fn read(path: &str) -> Result<Self, Failure> {
        let text = String::from_utf8(files::read(path)?)
            .map_err(|error| Failure::new(format!("this is no text: {error}"), path, "write it as UTF-8"))?;
        Reader { path, text: &text, command: command() }.read()
    }

    /// The options of both: those of the command line, and of the file those that the command line says nothing against.
    pub fn with(&self, path: &str, words: Vec<OsString>) -> Result<Up, Failure> {
        let command = command();
        let up = || OsString::from("up");
        let said_there = command.clone().get_matches_from(std::iter::once(up()).chain(words.clone()));
        let is_said = |id: &str| said_there.value_source(id) == Some(ValueSource::CommandLine);
        let doors_said = DOORS.iter().any(|door| is_said(door));
        let stands = |given: &&Given| {
            let Some(option) = command.get_arguments().find(|option| option.get_id() == given.id.as_str())
            else {
                return false;
            };
            let conflicts = command.get_arg_conflicts_with(option);
            let is_door_s =
                DOORS.contains(&given.id.as_str()) || ["device", "port"].contains(&given.id.as_str());
            let is_overridden = is_said(&given.id) || (doors_said && is_door_s);
            !is_overridden && !conflicts.iter().any(|other| is_said(other.get_id().as_str()))
        };
        let all = std::iter::once(up())
            .chain(self.given.iter().filter(stands).flat_map(|given| given.words.iter().map(OsString::from)))
            .chain(words);
        let matches = command.clone().try_get_matches_from(all);
        matches.and_then(|matches| Up::from_arg_matches(&matches)).map_err(|error| {
            let (what, help) = said(&error);
            Failure::new(what, path, help)
        })
    }

    /// Keys that differ in another reading of the file.
    pub fn differing(&self, other: &Self) -> Vec<String> {
        let words = |of: &Self, id: &str| -> Vec<String> {
            of.given.iter().filter(|given| given.id == id).flat_map(|given| given.words.clone()).collect()
        };
        let mut ids: Vec<&String> = self.given.iter().chain(&other.given).map(|given| &given.id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter()
            .filter(|id| words(self, id) != words(other, id))
            .map(|id| id.replace('_', "-"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Configuration, Failure> {
        Reader { path: "heddle.toml", text, command: command() }.read()
    }

    fn with(text: &str, words: &[&str]) -> Up {
        read(text).unwrap().with("heddle.toml", words.iter().map(OsString::from).collect()).unwrap()
    }

    #[test]
    fn the_example_that_ships_is_read_and_has_every_key() {
        let text = include_str!("../../../../../examples/heddle.toml");
        let reader = Reader { path: "heddle.toml", text, command: command() };
        reader.read().unwrap();
        // Keys that are not set are there behind a `#`.
        let bare: String =
            text.lines().map(|line| line.strip_prefix('#').unwrap_or(line).to_owned() + "\n").collect();
        for table in reader.tables() {
            let section =
                bare.split(&format!("[{table}]\n")).nth(1).unwrap_or_else(|| panic!("no [{table}]"));
            let section = section.split("\n[").next().unwrap();
            for option in reader.options(&table) {
                let key = format!("{} = ", key_of(option));
                assert!(section.lines().any(|line| line.starts_with(&key)), "[{table}] has no {key}");
            }
        }
        // All of them are read, were they set.
        let all: String = bare
            .lines()
            .filter(|line| line.contains(" = ") || line.starts_with('['))
            .map(|line| line.to_owned() + "\n")
            .collect();
        Reader { path: "all", text: &all, command: command() }.read().unwrap();
    }

    #[test]
    fn the_command_line_comes_before_the_file() {
        let text = "[fabric]\ndoor = \"umad\"\ndevice = \"mlx5_1\"\nfile = \"plan.toml\"\n[subnet]\nsweep = \"3s\"\nqos = true\n\
            [controller]\nlisten = \"127.0.0.1:1\"\n[faults]\nloss = 0.5\n";
        let up = with(text, &[]);
        assert!(up.umad && up.qos && !up.emulate);
        assert_eq!((up.device.as_deref(), up.file.as_deref()), (Some("mlx5_1"), Some("plan.toml")));
        assert_eq!((up.sweep.as_secs(), up.listen.port(), up.loss), (3, 1, 0.5));
        let up = with(text, &["other.toml", "--emulate", "--sweep", "5s", "--loss", "0"]);
        assert!(up.emulate && !up.umad && up.device.is_none());
        assert_eq!((up.file.as_deref(), up.sweep.as_secs(), up.loss), (Some("other.toml"), 5, 0.0));
        // What has no sense in one run is left out there.
        assert!(with(text, &["--once"]).once);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, place, what) in [
            ("[subnet]\nsweeps = \"3s\"\n", 2, "`sweeps` is no key of [subnet]"),
            ("\n[subnets]\n", 2, "there is no table [subnets]"),
            ("sweep = 3\n", 1, "there is no table [sweep]"),
            ("[subnet]\n\nsweep = \"3 days\"\n", 3, "\"3 days\" is no time"),
            ("[subnet]\nlanes = 40\n", 2, "40 is not in 1..=15"),
            ("[subnet]\nqos = \"yes\"\n", 2, "either true or false"),
            ("[fabric]\ndoor = \"window\"\n", 2, "no door \"window\""),
            ("[fabric]\nonce = true\n", 2, "`once` is no key"),
            ("[subnet]\nsweep = [1]\n", 2, "no string or number"),
            ("[subnet\n", 1, ""),
            ("[[token]]\nname = \"a\"\nrole = \"king\"\n", 3, "no role \"king\""),
            ("[[token]]\nname = \"a\"\nrole = \"admin\"\n", 1, "no `sha256`"),
            ("[[token]]\nname = \"a\"\nsha256 = \"12\"\n", 3, "no SHA-256"),
            ("[[token]]\nname = \"a\"\nrole = \"viewer\"\ncolour = \"red\"\n", 4, "`colour` is no key"),
            ("token = [1]\n", 1, "a token is a table"),
        ] {
            let failure = read(text).unwrap_err();
            assert_eq!(failure.place, format!("heddle.toml:{place}"), "{text}: {failure}");
            assert!(failure.what.contains(what), "{text}: {failure}");
            assert!(!failure.help.is_empty(), "{text}");
        }
        let abc = Fingerprint::of("abc");
        let one = format!("[[token]]\nname = \"a\"\nrole = \"viewer\"\nsha256 = \"{abc}\"\n");
        assert!(read(&one).unwrap().access.who("abc").is_some());
        assert!(read(&(one.clone() + &one)).unwrap_err().what.contains("the same"));
        assert!(read(&one.replace("viewer", "submitter")).unwrap_err().what.contains("no tenant"));
    }

    #[test]
    fn options_that_do_not_go_together_are_refused() {
        let half = read("[controller]\ncertificate = \"a.pem\"\n").unwrap();
        assert!(half.with("heddle.toml", Vec::new()).is_err());
        let both = read("[fabric]\ndoor = \"ibsim\"\ndevice = \"mlx5_0\"\n").unwrap();
        assert!(
            both.with("heddle.toml", Vec::new()).err().is_some_and(|failure| failure.place == "heddle.toml")
        );
    }

    #[test]
    fn what_differs_is_known() {
        let one = read("[subnet]\nsweep = \"3s\"\nqos = true\n").unwrap();
        let other = read("[subnet]\nsweep = \"4s\"\nmax-wire-smps = 4\nqos = true\n").unwrap();
        assert_eq!(one.differing(&other), ["max-wire-smps", "sweep"]);
        assert!(one.differing(&one).is_empty());
    }
}
