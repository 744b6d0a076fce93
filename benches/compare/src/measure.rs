//! Time, allocations, and rounds that take turns.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::time::Duration;

/// The system's allocator, which counts on each thread what it is asked for.
pub struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

fn count(bytes: usize) {
    // A thread that is ending has no counter any more.
    ALLOCATIONS.try_with(|counter| counter.set((counter.get().0 + 1, counter.get().1 + bytes as u64))).ok();
}

// SAFETY: every method hands its arguments to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size);
        unsafe { System.realloc(ptr, layout, new_size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        unsafe { System.dealloc(ptr, layout) }
    }
}

/// CPU time of this thread: what other programs do on the machine is not in it.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` lives longer than the call, which writes nothing else.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0, "this system has no clock for threads");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// One side of a comparison: does its work as often as requested.
pub struct Subject<'a> {
    pub name: &'static str,
    run: Box<dyn FnMut(u64) + 'a>,
}

/// The result of `work` is dropped inside of the measured time.
pub fn subject<'a, T>(name: &'static str, mut work: impl FnMut() -> T + 'a) -> Subject<'a> {
    Subject {
        name,
        run: Box::new(move |times| {
            for _ in 0..times {
                black_box(work());
            }
        }),
    }
}

/// What one side costs per operation.
#[derive(Clone, Copy)]
pub struct Cost {
    pub allocations: u64,
    pub bytes: u64,
}

/// Milena and one peer, measured in turns.
pub struct Pairing {
    pub peer: &'static str,
    pub milena_ns: f64,
    pub peer_ns: f64,
    /// Median of the ratios of neighbouring rounds, which a change of the clock rate between rounds does not move.
    pub ratio: f64,
    pub milena: Cost,
    pub other: Cost,
}

/// How long one round should take, and how many there are.
#[derive(Clone, Copy)]
pub struct Effort {
    pub round: Duration,
    pub rounds: usize,
}

impl Subject<'_> {
    fn time(&mut self, times: u64) -> Duration {
        let start = cpu_time();
        (self.run)(times);
        cpu_time() - start
    }

    fn cost(&mut self) -> Cost {
        (self.run)(1);
        let before = ALLOCATIONS.get();
        (self.run)(1);
        let after = ALLOCATIONS.get();
        Cost { allocations: after.0 - before.0, bytes: after.1 - before.1 }
    }

    /// Operations that fill one round.
    fn calibrate(&mut self, round: Duration) -> u64 {
        let mut times = 1;
        loop {
            let took = self.time(times);
            if took >= round / 4 || times > 1 << 30 {
                return (times as f64 * round.as_secs_f64() / took.as_secs_f64()).ceil().max(1.0) as u64;
            }
            times *= 4;
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Milena, peer, milena, peer, … for each peer in turn.
pub fn compare(milena: &mut Subject<'_>, peers: &mut [Subject<'_>], effort: Effort) -> Vec<Pairing> {
    let milena_cost = milena.cost();
    let milena_times = milena.calibrate(effort.round);
    let mut pairings = Vec::new();
    for peer in peers {
        let cost = peer.cost();
        let peer_times = peer.calibrate(effort.round);
        let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..effort.rounds {
            let our = milena.time(milena_times).as_nanos() as f64 / milena_times as f64;
            let their = peer.time(peer_times).as_nanos() as f64 / peer_times as f64;
            ours.push(our);
            theirs.push(their);
            ratios.push(our / their);
        }
        pairings.push(Pairing {
            peer: peer.name,
            milena_ns: median(ours),
            peer_ns: median(theirs),
            ratio: median(ratios),
            milena: milena_cost,
            other: cost,
        });
    }
    pairings
}
