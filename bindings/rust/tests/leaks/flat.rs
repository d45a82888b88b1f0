//! Checks that memory does not grow.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::ffi::blocks;

const CYCLES: usize = 100_000;
/// The number of windows. After a quarter of the cycles to warm up, memory is read after each window of cycles. A leak
/// grows in all windows; a thread of the test harness or a pool of the library grows in one or two.
const WINDOWS: usize = 5;
const WINDOW: usize = CYCLES * 3 / 4 / WINDOWS;
/// If memory grew in these windows, more windows follow, until it stops growing or until there were this many.
const AT_MOST: usize = 3 * WINDOWS;
/// Resident bytes by which a window may grow: the smallest block of malloc for a twentieth of its cycles. Without a
/// leak, the window with the least growth does not grow at all.
const RESIDENT: i64 = 24_000;

/// Blocks are counted for the whole process, so only one test may run at a time.
static TURN: Mutex<()> = Mutex::new(());

/// Returns the resident memory in bytes, as Linux counts it; `None` if it is not available.
fn resident() -> Option<i64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|l| l.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<i64>().ok().map(|kib| kib * 1024)
}

/// Returns the number of blocks after threads of the library have freed theirs, which happens shortly after a run is
/// over.
fn settled(before: i64) -> i64 {
    for _ in 0..200 {
        if blocks() <= before {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    blocks()
}

/// The growth of each window.
struct Growth {
    blocks: Vec<i64>,
    resident: Vec<i64>,
}

impl Growth {
    /// The median window counts, because the harness may allocate or free a block at any time.
    fn keeps_blocks(&self) -> bool {
        let mut sorted = self.blocks.clone();
        sorted.sort_unstable();
        sorted[sorted.len() / 2] == 0
    }

    fn keeps_resident(&self) -> bool {
        self.resident.iter().min().is_none_or(|least| *least <= RESIDENT)
    }
}

/// Runs cycles, each with its number. Neither blocks nor resident memory may grow in every window.
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
    println!("{what}: {time:?} per cycle; in windows of {WINDOW}: blocks {blocks:?}, resident bytes {resident:?}");
    assert!(growth.keeps_blocks(), "{what}: growth in blocks of Rust's allocator by window of {WINDOW} cycles: {blocks:?}");
    assert!(growth.keeps_resident(), "{what}: growth in bytes by window of {WINDOW} cycles: {resident:?}");
}
