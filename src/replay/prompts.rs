//! `--prompt` and `--prompt-file`, in the order in which they were given.

use std::io::Read;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::error::{Context, Result};

/// Prompts, in order.
#[derive(Debug, Default)]
pub(super) struct Prompts(Vec<Source>);

#[derive(Debug)]
enum Source {
    Text(String),
    File(PathBuf),
}

impl Prompts {
    /// Whether none was given.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their texts; `-` is standard input.
    pub(super) fn read(&self) -> Result<Vec<String>> {
        self.0
            .iter()
            .map(|source| match source {
                Source::Text(text) => Ok(text.clone()),
                Source::File(path) => {
                    let mut bytes = Vec::new();
                    let read = match path.as_os_str() == "-" {
                        true => std::io::stdin().lock().read_to_end(&mut bytes),
                        false => {
                            std::fs::File::open(path).and_then(|mut f| f.read_to_end(&mut bytes))
                        }
                    };
                    read.with_context(|| format!("cannot read the prompt '{}'", path.display()))?;
                    String::from_utf8(bytes)
                        .with_context(|| format!("the prompt '{}' is not UTF-8", path.display()))
                }
            })
            .collect()
    }
}

impl Args for Prompts {
    fn augment_args(command: Command) -> Command {
        command
            .arg(
                Arg::new("prompt")
                    .long("prompt")
                    .value_name("text")
                    .action(ArgAction::Append)
                    .allow_hyphen_values(true)
                    .help("The prompt of the next turn"),
            )
            .arg(
                Arg::new("prompt_file")
                    .long("prompt-file")
                    .value_name("file")
                    .action(ArgAction::Append)
                    .value_parser(clap::value_parser!(PathBuf))
                    .help("The same, from a file ('-' is standard input)"),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Prompts {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let mut found: Vec<(usize, Source)> = Vec::new();
        let texts = matches.get_many::<String>("prompt").into_iter().flatten();
        let places = matches.indices_of("prompt").into_iter().flatten();
        found.extend(places.zip(texts.map(|text| Source::Text(text.clone()))));
        let files = matches
            .get_many::<PathBuf>("prompt_file")
            .into_iter()
            .flatten();
        let places = matches.indices_of("prompt_file").into_iter().flatten();
        found.extend(places.zip(files.map(|path| Source::File(path.clone()))));
        found.sort_by_key(|(place, _)| *place);
        Ok(Prompts(
            found.into_iter().map(|(_, source)| source).collect(),
        ))
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
