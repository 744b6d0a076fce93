mod codec;

use clap::Subcommand;

use crate::failure::Result;

/// All commands, in the order of `milena --help`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Codec(codec::Codec),
}

impl Command {
    pub(crate) fn run(self) -> Result {
        match self {
            Self::Codec(command) => command.run(),
        }
    }
}
