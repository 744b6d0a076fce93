//! Open files, of which each connection takes two: one to the client and one to the broker.

/// Open files that are for something else: listeners, files to write, the runtime.
const OTHERS: u64 = 128;
/// Connections that memory is enough for in any case.
const MOST: u64 = 1_000_000;
/// Connections where nothing limits open files.
#[cfg(not(unix))]
const UNKNOWN: usize = 4_096;

/// Raises the process's limit of open files as far as the system allows, and gives the limit. `None` where there is no such
/// limit, or none that can be read.
#[cfg(unix)]
pub fn raise_open_file_limit() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        // Some systems state a higher limit than they grant; then the old one stays.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
    getrlimit(Resource::Nofile).current
}

/// Raises the process's limit of open files as far as the system allows, and gives the limit. `None` where there is no such
/// limit, or none that can be read.
#[cfg(not(unix))]
pub fn raise_open_file_limit() -> Option<u64> {
    None
}

/// Connections at the same time that the limit of open files has room for.
#[cfg(unix)]
pub(crate) fn connections() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    connections_for(limit.unwrap_or(u64::MAX))
}

#[cfg(not(unix))]
pub(crate) fn connections() -> usize {
    UNKNOWN
}

#[cfg_attr(not(unix), allow(dead_code, reason = "there is no limit to derive it from"))]
fn connections_for(open_files: u64) -> usize {
    (open_files.saturating_sub(OTHERS) / 2).clamp(1, MOST) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_takes_two_open_files() {
        assert_eq!(connections_for(1_024), 448);
        assert_eq!(connections_for(1_048_576), 524_224);
        assert_eq!((connections_for(0), connections_for(130), connections_for(u64::MAX)), (1, 1, 1_000_000));
    }

    #[test]
    #[cfg(unix)]
    fn the_limit_can_be_raised_to_the_highest_that_the_system_allows() {
        use rustix::process::{Resource, getrlimit};
        let raised = raise_open_file_limit();
        assert_eq!(raised, getrlimit(Resource::Nofile).current);
        assert!(raised.is_none_or(|raised| raised >= 256));
        assert_eq!(connections(), connections_for(raised.unwrap_or(u64::MAX)));
    }
}
