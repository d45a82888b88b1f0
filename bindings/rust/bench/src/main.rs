//! The table of ratios: blocks of calls through `onnx` and through `ort` take turns.
//!
//! `ratios [MILLISECONDS [NAME]]`: how long each case is measured, a second where not given; only cases with NAME in theirs.
#![allow(clippy::cast_precision_loss)]

use std::time::{Duration, Instant};

use onnx_bench::{Case, Failure};

/// How long a block takes: short beside what else happens on the machine, long beside the clock.
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
    println!("\n{}, library {}", rounds_told(length), onnx::version()?);
    if slower.is_empty() { Ok(()) } else { Err(format!("slower than ort: {}", slower.join("; ")).into()) }
}

fn rounds_told(length: u64) -> String {
    format!("medians of blocks of {} µs that take turns, {length} ms a call", BLOCK.as_micros())
}

/// The medians of both sides in nanoseconds a call, and their ratio.
fn measure(case: &mut Case, length: Duration) -> (f64, f64, f64) {
    let calls = calls_per_block(&mut case.ort).min(calls_per_block(&mut case.onnx));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let begun = Instant::now();
    while begun.elapsed() < length || ours.len() < 9 {
        // Who goes first changes from round to round.
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

/// Warms up, too.
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

/// Nanoseconds a call.
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
