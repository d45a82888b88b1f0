//! Tests that a bound run allocates nothing in this crate.

#[path = "../common/mod.rs"]
mod common;
#[allow(unsafe_code, unreachable_pub)]
mod ffi;

use onnx::{MemoryInfo, Value};

#[global_allocator]
static COUNTING: ffi::Counting = ffi::Counting;

#[test]
fn bound_runs_allocate_nothing() {
    let session = common::add(&["2"]);
    let mut binding = session.io_binding().unwrap();
    binding.bind_input("x", common::floats(&[2], &[1.0, 2.0])).unwrap();
    binding.bind_input("y", common::floats(&[2], &[1.0, 2.0])).unwrap();
    binding.bind_output("sum", Value::zeros::<f32>(&[2]).unwrap()).unwrap();
    let runs = |binding: &mut onnx::IoBinding<'_>| {
        let before = ffi::count();
        for step in 0..100u8 {
            binding.input_mut::<f32>("x").unwrap()[0] = f32::from(step);
            binding.run().unwrap();
            assert_eq!(binding.output("sum").unwrap().extract_tensor::<f32>().unwrap()[0], f32::from(step) + 1.0);
        }
        ffi::count() - before
    };
    assert_eq!(runs(&mut binding), 0);
    binding.bind_output_to("sum", &MemoryInfo::cpu().unwrap()).unwrap();
    let before = ffi::count();
    (0..100).for_each(|_| binding.run().unwrap());
    assert_eq!(ffi::count(), before);
    assert_eq!(runs(&mut binding), 0);
    // Check that the counter works: a run by name returns a list of its outputs.
    let x = common::floats(&[2], &[1.0, 2.0]);
    (0..100).for_each(|_| drop(session.run(&[("x", &x), ("y", &x)], &["sum"]).unwrap()));
    assert!(ffi::count() >= before + 100);
}
