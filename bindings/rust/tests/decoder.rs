//! Runs a decoder's loop with its cache bound in all ways that bindings offer. All must find the same tokens.

mod common;

use std::sync::Arc;

use common::decoder::{HIDDEN, TOKENS, WIDTH, best, growing, with_room};
use onnx::{IoBinding, MemoryInfo, Session, Value};

const STEPS: usize = 40;
const ROOM: usize = 48;

/// A token and the logits from which it was chosen.
type Step = (i64, Vec<f32>);

fn step(logits: &Value) -> Step {
    let logits = logits.extract_tensor::<f32>().unwrap();
    assert_eq!(logits.len(), TOKENS);
    (best(logits), logits.to_vec())
}

fn empty_cache() -> Value {
    Value::zeros::<f32>(&[0, WIDTH]).unwrap()
}

/// Runs without a binding: the cache is an input and an output by name.
fn by_name(session: &Session) -> (Vec<Step>, Value) {
    let (mut steps, mut past, mut token) = (Vec::new(), empty_cache(), 1);
    for _ in 0..STEPS {
        let mut outputs = session.run(&[("token", &token_of(token)), ("past", &past)], &["logits", "present"]).unwrap();
        past = outputs.pop().unwrap();
        steps.push(step(&outputs[0]));
        token = steps.last().unwrap().0;
    }
    (steps, past)
}

fn token_of(token: i64) -> Value {
    Value::from_slice(&[1], &[token]).unwrap()
}

/// Runs the loop with a binding; `after` passes the cache to the next step.
fn bound<'a>(binding: &mut IoBinding<'a>, mut after: impl FnMut(&mut IoBinding<'a>, usize)) -> Vec<Step> {
    binding.bind_input("token", token_of(1)).unwrap();
    let mut steps = Vec::new();
    for at in 0..STEPS {
        binding.run().unwrap();
        let found = step(binding.output("logits").unwrap());
        binding.input_mut::<i64>("token").unwrap()[0] = found.0;
        steps.push(found);
        after(binding, at);
    }
    steps
}

/// Logits in memory of the binding, presents in memory that each run makes.
fn from_empty_cache<'a>(session: &Session) -> IoBinding<'a> {
    let mut binding = session.io_binding().unwrap();
    binding.bind_input("past", empty_cache()).unwrap();
    binding.bind_output("logits", Value::zeros::<f32>(&[1, TOKENS]).unwrap()).unwrap();
    binding.bind_output_to("present", &MemoryInfo::cpu().unwrap()).unwrap();
    binding
}

#[test]
fn tokens_differ() {
    // The comparisons in the other tests would mean little if all tokens were the same.
    let (steps, _) = by_name(&growing().session());
    let mut found: Vec<i64> = steps.iter().map(|s| s.0).collect();
    found.sort_unstable();
    found.dedup();
    assert!(found.len() > 5, "{found:?}");
}

#[test]
fn fed_back() {
    let session = growing().session();
    let (expected, cache) = by_name(&session);
    let mut binding = from_empty_cache(&session);
    let found = bound(&mut binding, |binding, at| {
        let made = binding.output("present").unwrap().extract_tensor::<f32>().unwrap().as_ptr();
        binding.feed_back("present", "past").unwrap();
        let past = binding.input("past").unwrap();
        assert_eq!(past.shape().unwrap(), [at + 1, WIDTH]);
        assert_eq!(past.extract_tensor::<f32>().unwrap().as_ptr(), made, "the cache was copied");
    });
    assert_eq!(found, expected);
    assert_eq!(binding.input("past").unwrap().extract_bytes().unwrap(), cache.extract_bytes().unwrap());
}

#[test]
fn all_outputs_of_unknown_shape() {
    let session = growing().session();
    let (expected, _) = by_name(&session);
    let memory = MemoryInfo::cpu().unwrap();
    let mut binding = session.io_binding().unwrap();
    binding.bind_input("past", empty_cache()).unwrap();
    binding.bind_output_to("present", &memory).unwrap();
    binding.bind_output_to("logits", &memory).unwrap();
    let found = bound(&mut binding, |binding, _| binding.feed_back("present", "past").unwrap());
    assert_eq!(found, expected);
}

#[test]
fn taken_out_and_shared() {
    let session = growing().session();
    let (expected, cache) = by_name(&session);
    let mut binding = from_empty_cache(&session);
    let mut kept = Vec::new();
    let found = bound(&mut binding, |binding, _| {
        let present = Arc::new(binding.take_output("present").unwrap());
        binding.bind_input_shared("past", Arc::clone(&present)).unwrap();
        kept.push(present);
    });
    assert_eq!(found, expected);
    drop(binding);
    // No step overwrote the cache of an earlier one.
    let whole = cache.extract_tensor::<f32>().unwrap();
    for (at, one) in kept.iter().enumerate() {
        assert_eq!(one.extract_tensor::<f32>().unwrap(), &whole[..(at + 1) * WIDTH]);
    }
}

#[test]
fn preallocated_for_each_step() {
    let session = growing().session();
    let (expected, _) = by_name(&session);
    let cache_of = |count: usize| Value::zeros::<f32>(&[count, WIDTH]).unwrap();
    let mut logits = [0f32; TOKENS];
    let mut binding = session.io_binding().unwrap();
    binding.bind_input("past", empty_cache()).unwrap();
    binding.bind_output_slice("logits", &[1, TOKENS], &mut logits).unwrap();
    binding.bind_output("present", cache_of(1)).unwrap();
    let found = bound(&mut binding, |binding, at| {
        let present = binding.take_output("present").unwrap();
        binding.bind_input("past", present).unwrap();
        binding.bind_output("present", cache_of(at + 2)).unwrap();
    });
    assert_eq!(found, expected);
    drop(binding);
    assert_eq!(logits[..], expected.last().unwrap().1);
}

/// Binds everything that a step with a cache of fixed size needs, except the cache. The closure gets the binding in
/// each step.
fn with_mask<'a>(binding: &mut IoBinding<'a>, mut each: impl FnMut(&mut IoBinding<'a>)) -> Vec<Step> {
    let mut mask = vec![HIDDEN; ROOM];
    mask[0] = 0.0;
    binding.bind_input("mask", Value::from_vec(&[1, ROOM], mask).unwrap()).unwrap();
    binding.bind_input("place", Value::from_slice(&[1, 1], &[0i64]).unwrap()).unwrap();
    binding.bind_output("logits", Value::zeros::<f32>(&[1, TOKENS]).unwrap()).unwrap();
    bound(binding, |binding, at| {
        binding.input_mut::<i64>("place").unwrap()[0] = i64::try_from(at + 1).unwrap();
        binding.input_mut::<f32>("mask").unwrap()[at + 1] = 0.0;
        each(binding);
    })
}

/// Checks that the tokens are the same and the logits almost the same: their sums have a different order.
fn alike(found: &[Step], expected: &[Step]) {
    for (at, (one, other)) in found.iter().zip(expected).enumerate() {
        assert_eq!(one.0, other.0, "step {at}: {one:?} {other:?}");
        assert!(one.1.iter().zip(&other.1).all(|(a, b)| (a - b).abs() < 1e-4), "step {at}: {one:?} {other:?}");
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn one_buffer() {
    let (expected, cache) = by_name(&growing().session());
    let session = with_room().session();
    let mut binding = session.io_binding().unwrap();
    let buffer = Value::zeros::<f32>(&[ROOM, WIDTH]).unwrap();
    let address = buffer.extract_tensor::<f32>().unwrap().as_ptr();
    binding.bind_in_place("past", "present", buffer).unwrap();
    let found = with_mask(&mut binding, |_| ());
    alike(&found, &expected);
    let present = binding.output("present").unwrap().extract_tensor::<f32>().unwrap();
    assert_eq!((present.as_ptr(), binding.input("past").unwrap().extract_tensor::<f32>().unwrap().as_ptr()), (address, address));
    let (written, free) = present.split_at(STEPS * WIDTH);
    for (a, b) in written.iter().zip(cache.extract_tensor::<f32>().unwrap()) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
    assert!(free.iter().all(|f| *f == 0.0), "an unexpected row was written");
}

#[test]
fn two_buffers() {
    let (expected, _) = by_name(&growing().session());
    let session = with_room().session();
    let mut binding = session.io_binding().unwrap();
    let buffer = || Value::zeros::<f32>(&[ROOM, WIDTH]).unwrap();
    binding.bind_input("past", buffer()).unwrap();
    binding.bind_output("present", buffer()).unwrap();
    let found = with_mask(&mut binding, |binding| binding.feed_back("present", "past").unwrap());
    alike(&found, &expected);
}

#[test]
fn loops_side_by_side() {
    let session = growing().session();
    let (expected, _) = by_name(&session);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut binding = session.io_binding().unwrap();
                binding.bind_input("past", empty_cache()).unwrap();
                binding.bind_output_to("logits", &MemoryInfo::cpu().unwrap()).unwrap();
                binding.bind_output_to("present", &MemoryInfo::cpu().unwrap()).unwrap();
                assert_eq!(bound(&mut binding, |binding, _| binding.feed_back("present", "past").unwrap()), expected);
            });
        }
    });
}

#[test]
fn models_of_the_documentation_match_the_tests() {
    for (name, model) in [("growing", growing()), ("with_room", with_room())] {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/{name}.onnx"));
        let made = model.bytes();
        if std::env::var_os("WRITE_MODELS").is_some() {
            std::fs::write(&file, &made).unwrap();
        }
        assert!(std::fs::read(&file).unwrap() == made, "{} differs: run this test with WRITE_MODELS=1", file.display());
    }
}
