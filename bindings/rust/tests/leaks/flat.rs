//! How a test tells that memory stays as it is.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::ffi::blocks;

const CYCLES: usize = 100_000;
/// After a quarter of the cycles to warm up, memory is looked at after each of some windows. What leaks does so in all of
/// them; what a thread of the test's harness or a pool of the library does, in one or two.
const WINDOWS: usize = 5;
const WINDOW: usize = CYCLES * 3 / 4 / WINDOWS;
/// Where memory grew in these windows there are more of them, until it does not or until there were so many.
const AT_MOST: usize = 3 * WINDOWS;
/// Resident bytes that each window may take: the smallest block of malloc for a twentieth of its cycles. Without a leak the
/// window that takes the least takes none.
const RESIDENT: i64 = 24_000;

/// Blocks are counted for the process, so that tests take turns.
static TURN: Mutex<()> = Mutex::new(());

/// Resident memory in bytes, as Linux counts it; none where it does not tell.
fn resident() -> Option<i64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|l| l.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<i64>().ok().map(|kib| kib * 1024)
}

/// Blocks when threads of the library have let go of what they still held: that takes moments after a run is over.
fn settled(before: i64) -> i64 {
    for _ in 0..200 {
        if blocks() <= before {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    blocks()
}

/// What each window took more.
struct Growth {
    blocks: Vec<i64>,
    resident: Vec<i64>,
}

impl Growth {
    /// The window in the middle counts: the harness may take or free a block at any time.
    fn keeps_blocks(&self) -> bool {
        let mut sorted = self.blocks.clone();
        sorted.sort_unstable();
        sorted[sorted.len() / 2] == 0
    }

    fn keeps_resident(&self) -> bool {
        self.resident.iter().min().is_none_or(|least| *least <= RESIDENT)
    }
}

/// Runs cycles, each with its number; neither blocks nor resident memory may grow window after window.
pub(crate) fn stays_flat(what: &str, mut cycle: impl FnMut(usize)) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let warm = CYCLES - WINDOWS * WINDOW;
    (0..warm).for_each(&mut cycle);
    let mut growth = Growth { blocks: Vec::with_capacity(AT_MOST), resident: Vec::with_capacity(AT_MOST) };
    let (mut last_blocks, mut last_resident) = (blocks(), resident());
    let begin = std::time::Instant::now();
    for window in 0..AT_MOST {
        if window >= WINDOWS && growth.keeps_blocks() && growth.keeps_resident() {
            break;
        }
        let first = warm + window * WINDOW;
        (first..first + WINDOW).for_each(&mut cycle);
        let (now_blocks, now_resident) = (settled(last_blocks), resident());
        growth.blocks.push(now_blocks - last_blocks);
        growth.resident.extend(now_resident.zip(last_resident).map(|(now, last)| now - last));
        (last_blocks, last_resident) = (now_blocks, now_resident);
    }
    let time = begin.elapsed() / u32::try_from(growth.blocks.len() * WINDOW).unwrap();
    let Growth { blocks, resident } = &growth;
    println!("{what}: {time:?} for a cycle; in windows of {WINDOW}: blocks {blocks:?}, resident bytes {resident:?}");
    assert!(growth.keeps_blocks(), "{what}: blocks of Rust that {WINDOW} cycles took more, by window: {blocks:?}");
    assert!(growth.keeps_resident(), "{what}: bytes that each {WINDOW} cycles took more: {resident:?}");
}
