use clap::Parser;
use clap::builder::Styles;
use clap::builder::styling::AnsiColor;

use crate::command::Command;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Yellow.on_default().bold())
    .usage(AnsiColor::Yellow.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const MORE: &str = "\
Start here:
  milena demo                                      see a client and a broker talk, frame by frame
  milena describe Fetch                            the layout of a message, at every version
  milena decode 0000000a0012000000000001ffff       what each byte of a frame means
  milena apis --bootstrap localhost:9092           which APIs and versions a broker has

Exit codes:
  0  done
  1  something failed, or bytes could not be understood
  2  the command line is wrong

Data is written to stdout, everything else to stderr. `milena COMMAND --help` has examples for each command.";

/// Kafka's wire protocol, every API and every version: look at bytes, talk to brokers, be a broker.
#[derive(Debug, Parser)]
#[command(name = "milena", version, styles = STYLES, after_help = MORE, max_term_width = 100)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}
