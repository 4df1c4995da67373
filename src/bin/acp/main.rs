//! The command `acp`: checks, shows, packs and unpacks Agent Content Protocol messages.

mod args;
mod bench;
mod body;
mod check;
mod excerpt;
mod http;
mod inspect;
mod output;
mod pack;
mod report;
mod run;
mod serve;
mod summary;
mod unpack;

use std::{io, io::Write as _, process::ExitCode};

use clap::{CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;

use self::run::Outcome;

/// Checks, shows, packs and unpacks Agent Content Protocol (ACP) messages.
///
/// A message is read from a saved HTTP/1.1 request or response, or from a bare body with
/// --content-type. Exit status: 0 all valid, 1 a message is refused, 2 wrong usage or unreadable
/// input.
#[derive(Debug, Parser)]
#[command(name = "acp", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Say whether messages are valid, and if not, what is wrong, where, and what to change
    Check(args::Messages),
    /// Show what messages hold: parts, types, sizes, digests, references, warnings
    Inspect(args::Messages),
    /// Write a message made of a control document and files
    Pack(pack::Pack),
    /// Write a message's control document and parts to files
    Unpack(unpack::Unpack),
    /// Take messages over HTTP, and answer what is in them or forward them
    Serve(Box<serve::Serve>),
    /// Measure what one core decodes, and how far that is from what the machine can do
    Bench(Box<bench::Bench>),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page (of a subcommand, if one is named)
    Man {
        /// The subcommand
        subcommand: Option<String>,
    },
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Check(messages) => check::run(&messages),
        Command::Inspect(messages) => inspect::run(&messages),
        Command::Pack(pack) => pack::run(&pack),
        Command::Unpack(unpack) => unpack::run(&unpack),
        Command::Serve(serve) => serve::run(&serve),
        Command::Bench(bench) => bench::run(&bench),
        Command::Completions { shell } => completions(shell),
        Command::Man { subcommand } => man(subcommand.as_deref()),
    };
    match outcome {
        Ok(outcome) => outcome.into(),
        // Who reads our output has had enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("acp: {error}");
            Outcome::Unreadable.into()
        }
    }
}

fn completions(shell: Shell) -> io::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "acp", &mut script);
    io::stdout().write_all(&script)?;
    Ok(Outcome::Valid)
}

fn man(subcommand: Option<&str>) -> io::Result<Outcome> {
    let mut command = Cli::command();
    command.build();
    let page = match subcommand {
        None => command,
        Some(name) => command
            .find_subcommand(name)
            .cloned()
            .ok_or_else(|| io::Error::other(format!("no subcommand {name:?}")))?,
    };
    clap_mangen::Man::new(page).render(&mut io::stdout())?;
    Ok(Outcome::Valid)
}
