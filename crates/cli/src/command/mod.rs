mod apis;
mod codec;
mod completions;
mod decode;
mod describe;
mod encode;
mod errors;
mod man;
mod subject;

use clap::Subcommand;

use crate::failure::Result;

/// All commands, in the order of `milena --help`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Apis(apis::Apis),
    Describe(describe::Describe),
    Errors(errors::Errors),
    Decode(decode::Decode),
    Encode(encode::Encode),
    Codec(codec::Codec),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    pub(crate) fn run(self) -> Result {
        match self {
            Self::Apis(command) => command.run(),
            Self::Describe(command) => command.run(),
            Self::Errors(command) => command.run(),
            Self::Decode(command) => command.run(),
            Self::Encode(command) => command.run(),
            Self::Codec(command) => command.run(),
            Self::Completions(command) => command.run(),
            Self::Man(command) => command.run(),
        }
    }
}
