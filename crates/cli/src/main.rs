//! `milena`: Kafka's wire protocol on the command line.
//!
//! Each command is a module of [`command`]; what they share is how bytes come in ([`input`]), how data goes out
//! ([`output`], [`table`]) and how they fail ([`failure`]).

mod batches;
mod brief;
mod cli;
mod command;
mod conversation;
mod escape;
mod example;
mod exchange;
mod failure;
mod field;
mod history;
mod input;
#[cfg(test)]
mod laws;
mod mention;
mod network;
mod output;
mod record;
mod security;
mod sheet;
mod table;
mod time;
mod value;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match cli::Cli::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
