mod apis;
mod broker;
mod codec;
mod completions;
mod consume;
mod decode;
mod demo;
mod describe;
mod docs;
mod encode;
mod errors;
mod man;
mod metadata;
mod offsets;
mod position;
mod produce;
mod subject;
mod tap;
mod topic;
mod topics;

use clap::Subcommand;

use crate::failure::Result;

/// All commands, in the order of `milena --help`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(demo::Demo),
    Apis(apis::Apis),
    Describe(describe::Describe),
    Errors(errors::Errors),
    Docs(docs::Docs),
    Decode(decode::Decode),
    Encode(encode::Encode),
    Codec(codec::Codec),
    Metadata(metadata::Metadata),
    Topics(topics::Topics),
    Produce(produce::Produce),
    Consume(consume::Consume),
    Offsets(offsets::Offsets),
    Broker(broker::Broker),
    Tap(tap::Tap),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    pub(crate) fn run(self) -> Result {
        match self {
            Self::Demo(command) => command.run(),
            Self::Apis(command) => command.run(),
            Self::Describe(command) => command.run(),
            Self::Errors(command) => command.run(),
            Self::Docs(command) => command.run(),
            Self::Decode(command) => command.run(),
            Self::Encode(command) => command.run(),
            Self::Codec(command) => command.run(),
            Self::Metadata(command) => command.run(),
            Self::Topics(command) => command.run(),
            Self::Produce(command) => command.run(),
            Self::Consume(command) => command.run(),
            Self::Offsets(command) => command.run(),
            Self::Broker(command) => command.run(),
            Self::Tap(command) => command.run(),
            Self::Completions(command) => command.run(),
            Self::Man(command) => command.run(),
        }
    }
}
