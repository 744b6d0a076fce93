//! `cargo xtask interop`.

mod options;
mod parts;

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        println!("{}", options::usage());
        return ExitCode::SUCCESS;
    }
    let options = match options::parse(&args) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("error: {error}\n\n{}", options::usage());
            return ExitCode::from(2);
        }
    };
    match parts::run(&options).await {
        Ok(report) => {
            println!("\n{report}");
            if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
