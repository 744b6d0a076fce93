//! Laws that hold for every command, tested over the table that clap makes of them.

use std::collections::BTreeMap;

use clap::{Command, CommandFactory as _, Parser as _};

use crate::cli::Cli;

/// Every command that does something, with the words that call it.
fn commands() -> Vec<(String, Command)> {
    fn walk(path: &str, command: &Command, all: &mut Vec<(String, Command)>) {
        if !command.has_subcommands() {
            all.push((path.to_owned(), command.clone()));
        }
        // `help` is clap's own, and repeats all others.
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            walk(&format!("{path} {}", inner.get_name()), inner, all);
        }
    }
    let mut all = Vec::new();
    let mut root = Cli::command();
    root.build();
    walk("milena", &root, &mut all);
    all
}

#[test]
fn the_table_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_has_a_line_a_paragraph_and_three_examples() {
    for (path, command) in commands() {
        let line = command.get_about().expect(&path).to_string();
        assert!((20..=90).contains(&line.len()), "{path}: one line says what it does: {line}");
        assert!(!line.ends_with('.'), "{path}: the line is a title: {line}");
        let paragraph = command.get_long_about().expect(&path).to_string();
        assert!(paragraph.len() > line.len() + 80, "{path}: a paragraph teaches");
        let help = command.get_after_help().expect(&path).to_string();
        assert!(help.starts_with("Examples:\n"), "{path}");
        let examples = help.lines().filter(|line| line.starts_with("  ") && line.contains(&path));
        assert!(examples.count() >= 3, "{path}: three examples at least");
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{path}: too long for a page: {line}");
        }
    }
}

#[test]
fn every_example_is_a_call_that_parses() {
    let mut examples = 0;
    for (path, command) in commands() {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in help.lines().skip(1).take_while(|line| line.starts_with("  ")) {
            for call in calls(line) {
                examples += 1;
                if let Err(error) = Cli::try_parse_from(&call) {
                    panic!("{path}: {call:?}: {error}");
                }
            }
        }
    }
    assert!(examples >= 3 * commands().len());
}

/// The calls of milena in a line of shell.
fn calls(line: &str) -> Vec<Vec<String>> {
    let mut words = vec![Vec::new()];
    let mut word = String::new();
    let mut quote = None;
    // A comment is what comes after two spaces.
    let line = line.trim();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.push(c),
            (None, '\'' | '"') => quote = Some(c),
            (None, ' ') if chars.peek() == Some(&' ') => break,
            (None, ' ') => words.last_mut().unwrap().push(std::mem::take(&mut word)),
            (None, '|') => words.push(Vec::new()),
            (None, c) => word.push(c),
        }
    }
    words.last_mut().unwrap().push(word);
    let mut calls = Vec::new();
    for mut call in words {
        call.retain(|word| !word.is_empty());
        // Redirections are the shell's.
        if let Some(end) = call.iter().position(|word| word.starts_with(['<', '>', '&'])) {
            call.truncate(end);
        }
        if call.first().is_some_and(|word| word == "milena") {
            calls.push(call);
        }
    }
    calls
}

#[test]
fn one_name_means_one_thing() {
    let mut seen: BTreeMap<String, (String, String)> = BTreeMap::new();
    for (path, command) in commands() {
        for arg in command.get_arguments() {
            let help = arg.get_help().unwrap_or_else(|| panic!("{path}: {} has no help", arg.get_id())).to_string();
            assert!(!help.ends_with('.') || help.matches(". ").count() > 0, "{path}: {help}");
            let values: Vec<&str> =
                arg.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect();
            let values = if arg.get_action().takes_values() { values.join(" ") } else { String::new() };
            let names =
                [arg.get_long().map(|long| format!("--{long}")), arg.get_short().map(|short| format!("-{short}"))];
            for name in names.into_iter().flatten() {
                let meaning = format!("{} {values}", arg.get_long().unwrap_or_default());
                let (before, at) = seen.entry(name.clone()).or_insert((meaning.clone(), path.clone()));
                assert_eq!(*before, meaning, "{name} of {at} and of {path}");
            }
        }
    }
    for alias in ["--bootstrap-server", "--brokers", "--broker-list", "--output", "--topics"] {
        assert!(!seen.contains_key(alias), "{alias} has a name already");
    }
}

#[test]
fn a_negative_number_is_the_value_of_its_option() {
    for (path, command) in commands() {
        for arg in command.get_arguments() {
            let values = arg.get_value_names().unwrap_or_default();
            if arg.get_long().is_some() && values.iter().any(|name| matches!(name.as_str(), "N" | "PORT")) {
                let taken = arg.is_allow_negative_numbers_set() || arg.is_allow_hyphen_values_set();
                assert!(taken, "{path}: the error about --{} -1 has to name the option", arg.get_id());
            }
        }
    }
}
