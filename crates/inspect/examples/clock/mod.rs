use std::time::Instant;

/// Time of this thread where the system tells it, so that other work on the machine does not count.
pub(crate) enum Clock {
    Core(u64),
    Wall(Instant),
}

impl Clock {
    pub(crate) fn start() -> Self {
        core_nanos().map_or_else(|| Self::Wall(Instant::now()), Self::Core)
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Core(_) => "by the time of one core",
            Self::Wall(_) => "by the clock on the wall",
        }
    }

    pub(crate) fn seconds(&self) -> f64 {
        match self {
            Self::Core(begun) => core_nanos().unwrap_or_default().saturating_sub(*begun) as f64 / 1e9,
            Self::Wall(begun) => begun.elapsed().as_secs_f64(),
        }
    }
}

fn core_nanos() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}
