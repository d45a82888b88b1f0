//! Tests of bindings.

mod common;

use std::sync::Arc;

use common::{BOOL, FLOAT, Model, add, cache, floats, unary};
use onnx::{MemoryInfo, OrtErrorCode, Value};

#[test]
fn bound_by_value() {
    let session = add(&["2"]);
    let mut binding = session.io_binding().unwrap();
    binding.bind_input("x", floats(&[2], &[1.0, 2.0])).unwrap();
    binding.bind_input_shared("y", Arc::new(floats(&[2], &[10.0, 20.0]))).unwrap();
    binding.bind_output("sum", Value::zeros::<f32>(&[2]).unwrap()).unwrap();
    for step in 0..3u8 {
        binding.input_mut::<f32>("x").unwrap()[0] = f32::from(step);
        binding.run().unwrap();
        assert_eq!(binding.output("sum").unwrap().extract_tensor::<f32>().unwrap(), [10.0 + f32::from(step), 22.0]);
    }
    assert!(binding.input_mut::<f32>("y").unwrap_err().message.contains("'y' is shared"));
    let sum = binding.take_output("sum").unwrap();
    drop(binding);
    assert_eq!(sum.extract_tensor::<f32>().unwrap(), [12.0, 22.0]);
}

#[test]
fn bound_by_slice() {
    let session = add(&["n"]);
    let (x, y, mut sum) = ([1f32, 2.0, 3.0], vec![1f32; 3], [0f32; 3]);
    let address = sum.as_ptr();
    {
        let mut binding = session.io_binding().unwrap();
        binding.bind_input_slice("x", &[3], &x).unwrap();
        binding.bind_input_slice("y", &[3], &y).unwrap();
        binding.bind_output_slice("sum", &[3], &mut sum).unwrap();
        binding.run().unwrap();
        let read = binding.output("sum").unwrap().extract_tensor::<f32>().unwrap();
        assert_eq!((read.as_ptr(), read), (address, &[2f32, 3.0, 4.0][..]));
        assert!(binding.input_mut::<f32>("x").is_err());
        assert!(binding.take_output("sum").is_err());
    }
    assert_eq!(sum, [2.0, 3.0, 4.0]);
}

#[test]
fn results_of_unknown_shape() {
    let model = Model::new().input("x", FLOAT, &["n"]).output("y", common::INT64, &["1", "found"]);
    let session = model.node("NonZero", &["x"], &["y"], &[]).session();
    let mut binding = session.io_binding().unwrap();
    binding.bind_input("x", floats(&[4], &[0.0, 1.0, 0.0, 2.0])).unwrap();
    binding.bind_output_to("y", &MemoryInfo::cpu().unwrap()).unwrap();
    binding.run().unwrap();
    let y = binding.output("y").unwrap();
    assert_eq!((y.shape().unwrap(), y.extract_tensor::<i64>().unwrap()), (vec![1, 2], &[1i64, 3][..]));
}

#[test]
fn shapes_that_change() {
    let session = unary("Neg", FLOAT, &["n"]);
    let memory = MemoryInfo::cpu().unwrap();
    let mut binding = session.io_binding().unwrap();
    for count in [3usize, 1, 5] {
        binding.bind_input("x", Value::zeros::<f32>(&[count]).unwrap()).unwrap();
        binding.bind_output_to("y", &memory).unwrap();
        assert_eq!(binding.output("y").unwrap_err().code, OrtErrorCode::Fail);
        binding.run().unwrap();
        assert_eq!(binding.output("y").unwrap().shape().unwrap(), [count]);
    }
}

#[test]
fn a_taken_result_is_not_overwritten() {
    let session = unary("Neg", FLOAT, &["n"]);
    let mut binding = session.io_binding().unwrap();
    binding.bind_input("x", floats(&[2], &[1.0, 2.0])).unwrap();
    binding.bind_output_to("y", &MemoryInfo::cpu().unwrap()).unwrap();
    binding.run().unwrap();
    let first = binding.take_output("y").unwrap();
    binding.output("y").unwrap_err();
    binding.input_mut::<f32>("x").unwrap().fill(9.0);
    binding.run().unwrap();
    assert_eq!(first.extract_tensor::<f32>().unwrap(), [-1.0, -2.0]);
    assert_eq!(binding.output("y").unwrap().extract_tensor::<f32>().unwrap(), [-9.0, -9.0]);
    drop(binding);
    drop(session);
    assert_eq!(first.extract_tensor::<f32>().unwrap(), [-1.0, -2.0]);
}

#[test]
fn a_cache_is_fed_back() {
    let session = cache();
    let mut binding = session.io_binding().unwrap();
    binding.bind_input("past", Value::zeros::<f32>(&[0, 2]).unwrap()).unwrap();
    binding.bind_input("row", floats(&[1, 2], &[0.0, 0.0])).unwrap();
    binding.bind_output_to("present", &MemoryInfo::cpu().unwrap()).unwrap();
    for step in 0..40u8 {
        binding.input_mut::<f32>("row").unwrap().fill(f32::from(step));
        binding.run().unwrap();
        binding.feed_back("present", "past").unwrap();
        // Read from time to time, because reading changes where a library keeps the cache.
        if step % 7 == 3 {
            let past = binding.input_mut::<f32>("past").unwrap();
            assert_eq!(past.len(), 2 * (usize::from(step) + 1));
            assert_eq!(past[past.len() - 2..], [f32::from(step); 2]);
        }
    }
    let past = binding.input("past").unwrap();
    assert_eq!(past.shape().unwrap(), [40, 2]);
    let expected: Vec<f32> = (0..40u8).flat_map(|s| [f32::from(s); 2]).collect();
    assert_eq!(past.extract_tensor::<f32>().unwrap(), expected);
}

#[test]
fn two_buffers_are_swapped() {
    let session = add(&["2"]);
    let mut binding = session.io_binding().unwrap();
    binding.bind_input("x", floats(&[2], &[0.0, 0.0])).unwrap();
    binding.bind_input("y", floats(&[2], &[1.0, 2.0])).unwrap();
    binding.bind_output("sum", Value::zeros::<f32>(&[2]).unwrap()).unwrap();
    for _ in 0..5 {
        binding.run().unwrap();
        binding.feed_back("sum", "x").unwrap();
    }
    assert_eq!(binding.input("x").unwrap().extract_tensor::<f32>().unwrap(), [5.0, 10.0]);
}

#[test]
fn one_memory_is_read_and_written() {
    let session = add(&["2"]);
    let mut binding = session.io_binding().unwrap();
    binding.bind_input("y", floats(&[2], &[1.0, 2.0])).unwrap();
    binding.bind_in_place("x", "sum", Value::from_vec(&[2], vec![0f32, 0.0]).unwrap()).unwrap();
    for _ in 0..3 {
        binding.run().unwrap();
    }
    assert_eq!(binding.output("sum").unwrap().extract_tensor::<f32>().unwrap(), [3.0, 6.0]);
    // The input must not lose its memory, since the output is written to it.
    assert!(binding.bind_input("x", floats(&[2], &[0.0; 2])).unwrap_err().message.contains("'sum' is written to"));
    assert!(binding.clear_inputs().is_err());
    binding.bind_in_place("x", "sum", floats(&[2], &[7.0, 7.0])).unwrap();
    binding.run().unwrap();
    assert_eq!(binding.output("sum").unwrap().extract_tensor::<f32>().unwrap(), [8.0, 9.0]);
    binding.clear_outputs().unwrap();
    binding.clear_inputs().unwrap();
}

#[test]
fn mistakes_are_reported() {
    let session = add(&["2"]);
    let mut binding = session.io_binding().unwrap();
    let error = binding.bind_input("z", floats(&[2], &[0.0; 2])).unwrap_err();
    assert!(error.message.contains("'z'") && error.message.contains("'x', 'y'"), "{error}");
    assert!(binding.bind_output_to("total", &MemoryInfo::cpu().unwrap()).unwrap_err().message.contains("'sum'"));
    let error = binding.bind_output("sum", Value::zeros::<i64>(&[2]).unwrap()).unwrap_err();
    assert!(error.message.contains("'sum'") && error.message.contains("Int64") && error.message.contains("Float32"), "{error}");
    assert!(binding.output("sum").unwrap_err().message.contains("'sum' is not bound"));
    assert!(binding.input("x").unwrap_err().message.contains("'x' is not bound"));
    binding.run().unwrap_err();
    let mut short = [0f32; 1];
    assert!(binding.bind_output_slice("sum", &[2], &mut short).unwrap_err().message.contains("2 elements, but the data has 1"));
    // After all these errors, the binding still works.
    binding.bind_input("x", floats(&[2], &[1.0, 2.0])).unwrap();
    binding.bind_input("y", floats(&[2], &[1.0, 2.0])).unwrap();
    binding.bind_output("sum", Value::zeros::<f32>(&[3]).unwrap()).unwrap();
    binding.run().unwrap_err();
    binding.bind_output("sum", Value::zeros::<f32>(&[2]).unwrap()).unwrap();
    binding.run().unwrap();
    assert_eq!(binding.output("sum").unwrap().extract_tensor::<f32>().unwrap(), [2.0, 4.0]);
}

#[test]
fn an_output_that_is_an_input_outlives_it() {
    let model = Model::new().input("x", FLOAT, &["n"]).output("x", FLOAT, &["n"]).output("z", FLOAT, &["n"]);
    let session = model.node("Neg", &["x"], &["z"], &[]).session();
    let mut binding = session.io_binding().unwrap();
    binding.bind_input("x", Value::from_vec(&[2], vec![1f32, 2.0]).unwrap()).unwrap();
    binding.bind_output_to("x", &MemoryInfo::cpu().unwrap()).unwrap();
    binding.run().unwrap();
    binding.bind_input("x", floats(&[2], &[5.0, 5.0])).unwrap();
    assert_eq!(binding.output("x").unwrap().extract_tensor::<f32>().unwrap(), [1.0, 2.0]);
    let mut taken = binding.take_output("x").unwrap();
    taken.extract_tensor_mut::<f32>().unwrap()[0] = 8.0;
    drop(binding);
    assert_eq!(taken.extract_tensor::<f32>().unwrap(), [8.0, 2.0]);
}

#[test]
fn unbinding_an_output_keeps_the_others() {
    let model = Model::new().input("x", FLOAT, &["n"]).output("a", FLOAT, &["n"]).output("b", FLOAT, &["n"]);
    let session = model.node("Neg", &["x"], &["a"], &[]).node("Abs", &["x"], &["b"], &[]).session();
    let mut binding = session.io_binding().unwrap();
    binding.bind_input("x", floats(&[1], &[-3.0])).unwrap();
    binding.bind_output("a", Value::zeros::<f32>(&[1]).unwrap()).unwrap();
    binding.bind_output_to("b", &MemoryInfo::cpu().unwrap()).unwrap();
    binding.run().unwrap();
    assert_eq!(binding.output("b").unwrap().extract_tensor::<f32>().unwrap(), [3.0]);
    binding.take_output("a").unwrap();
    binding.run().unwrap();
    assert_eq!(binding.output("b").unwrap().extract_tensor::<f32>().unwrap(), [3.0]);
    assert!(binding.output("a").is_err());
}

#[test]
fn bindings_keep_their_session_and_go_to_other_threads() {
    let session = unary("Not", BOOL, &["n"]);
    let mut binding = session.io_binding().unwrap();
    drop(session);
    binding.bind_input("x", Value::from_slice(&[2], &[true, false]).unwrap()).unwrap();
    binding.bind_output("y", Value::from_vec(&[2], vec![true; 2]).unwrap()).unwrap();
    std::thread::spawn(move || {
        binding.run().unwrap();
        assert_eq!(binding.output("y").unwrap().extract_tensor::<bool>().unwrap(), [false, true]);
    })
    .join()
    .unwrap();
}

#[test]
fn an_output_that_is_an_input() {
    // ONNX Runtime would accept a tensor for such an output without writing it.
    let model = Model::new().input("x", FLOAT, &["2"]).output("x", FLOAT, &["2"]).output("y", FLOAT, &["2"]);
    let session = model.node("Relu", &["x"], &["y"], &[]).session();
    let mut binding = session.io_binding().unwrap();
    binding.bind_input("x", floats(&[2], &[1.0, 2.0])).unwrap();
    let error = binding.bind_output("x", Value::zeros::<f32>(&[2]).unwrap()).unwrap_err();
    assert!(error.message.contains("output 'x' is an input"), "{error}");
    binding.bind_output_to("x", &MemoryInfo::cpu().unwrap()).unwrap();
    binding.run().unwrap();
    assert_eq!(binding.output("x").unwrap().extract_tensor::<f32>().unwrap(), [1.0, 2.0]);
}
