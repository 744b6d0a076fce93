use std::path::PathBuf;

use clap::{Args, CommandFactory as _};

use crate::cli::Cli;
use crate::failure::{Failure, Result};
use crate::output;

const EXAMPLES: &str = "Examples:
  milena man | man -l -                            read the page of milena itself
  milena man topics create | man -l -              the page of a command
  milena man --dir ~/.local/share/man/man1         store all pages where man finds them";

/// Print manual pages for milena and its commands
///
/// Pages are in roff, as man reads them, and say what --help says. Names a command for its page; with --dir, all pages are
/// written there, one file each.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Man {
    /// The command, none for milena itself
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,

    /// Write all pages into this directory
    #[arg(long, value_name = "PATH", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self) -> Result {
        let mut root = Cli::command();
        if let Some(dir) = self.dir {
            return std::fs::create_dir_all(&dir)
                .and_then(|()| clap_mangen::generate_to(root, &dir))
                .map_err(|error| Failure::failed(format!("cannot write to {}: {error}", dir.display())));
        }
        root.build();
        let mut command = &root;
        for name in &self.command {
            command = command
                .find_subcommand(name)
                .ok_or_else(|| Failure::usage(format!("no command `{name}`")).hint("`milena --help` lists them"))?;
        }
        let mut page = Vec::new();
        clap_mangen::Man::new(command.clone()).render(&mut page)?;
        output::print(&String::from_utf8_lossy(&page))
    }
}
