use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::Result;
use crate::output;

const EXAMPLES: &str = "Examples:
  milena completions bash > ~/.local/share/bash-completion/completions/milena
  milena completions zsh > ~/.zfunc/_milena
  milena completions fish > ~/.config/fish/completions/milena.fish";

/// Print the script that makes a shell complete commands and options
///
/// The script goes to stdout; where it has to be stored depends on the shell, and the examples show the usual places. A
/// new shell knows it.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Result {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "milena", &mut script);
        output::print(&String::from_utf8_lossy(&script))
    }
}
