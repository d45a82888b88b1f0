//! Prints the table of ratios. Blocks of calls through `onnx` and through `ort` alternate.
//!
//! `ratios [MILLISECONDS [NAME]]`: measures each case for that time (default: 1000), or only the cases whose names
//! contain NAME.
#![allow(clippy::cast_precision_loss)]

use std::time::{Duration, Instant};

use onnx_bench::{Case, Failure};

/// The duration of a block: short compared to disturbances on the machine, long compared to the resolution of the
/// clock.
const BLOCK: Duration = Duration::from_micros(500);

fn main() -> Result<(), Failure> {
    let length = std::env::args().nth(1).map_or(Ok(1000), |text| text.parse::<u64>())?;
    let wanted = std::env::args().nth(2).unwrap_or_default();
    println!("| call | `onnx` | `ort` | ratio |\n|---|---:|---:|---:|");
    let mut slower = Vec::new();
    for mut case in onnx_bench::cases()?.into_iter().filter(|c| c.name.contains(&wanted)) {
        let (ours, theirs, ratio) = measure(&mut case, Duration::from_millis(length));
        println!("| {} | {ours:.0} ns | {theirs:.0} ns | {ratio:.2} |", case.name);
        if ratio > 1.0 {
            slower.push(case.name);
        }
    }
    println!("\n{}, library {}", title(length), onnx::version()?);
    if slower.is_empty() { Ok(()) } else { Err(format!("slower than ort: {}", slower.join("; ")).into()) }
}

fn title(length: u64) -> String {
    format!("medians of blocks of {} µs that alternate, {length} ms per call", BLOCK.as_micros())
}

/// Returns the medians of both sides in nanoseconds per call, and their ratio.
fn measure(case: &mut Case, length: Duration) -> (f64, f64, f64) {
    let calls = calls_per_block(&mut case.ort).min(calls_per_block(&mut case.onnx));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let begun = Instant::now();
    while begun.elapsed() < length || ours.len() < 9 {
        // The order alternates from round to round.
        if ours.len() % 2 == 0 {
            ours.push(block(&mut case.onnx, calls));
            theirs.push(block(&mut case.ort, calls));
        } else {
            theirs.push(block(&mut case.ort, calls));
            ours.push(block(&mut case.onnx, calls));
        }
    }
    let (ours, theirs) = (median(ours), median(theirs));
    (ours, theirs, ours / theirs)
}

/// Returns how many calls fill a block. This warms up, too.
fn calls_per_block(call: &mut Box<dyn FnMut()>) -> u32 {
    let mut calls = 1;
    loop {
        let begun = Instant::now();
        (0..calls).for_each(|_| call());
        if begun.elapsed() >= BLOCK || calls >= 1 << 20 {
            return calls;
        }
        calls *= 2;
    }
}

/// Returns nanoseconds per call.
fn block(call: &mut Box<dyn FnMut()>, calls: u32) -> f64 {
    let begun = Instant::now();
    (0..calls).for_each(|_| call());
    begun.elapsed().as_nanos() as f64 / f64::from(calls)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    if times.len() % 2 == 1 { times[middle] } else { f64::midpoint(times[middle - 1], times[middle]) }
}
