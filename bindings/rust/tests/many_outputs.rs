//! Tests of bindings with more outputs than fit in the preallocated list of results.

mod common;

use onnx::MemoryInfo;

/// Builds a model that splits its input into that many parts of one element.
fn split(parts: usize) -> onnx::Session {
    let names: Vec<String> = (0..parts).map(|at| format!("part{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let length = parts.to_string();
    let mut model = common::Model::new().input("x", common::FLOAT, &[&length]);
    for name in &names {
        model = model.output(name, common::FLOAT, &["1"]);
    }
    model
        .constant("sizes", common::INT64, &[parts as u64], &1i64.to_le_bytes().repeat(parts))
        .node("Split", &["x", "sizes"], &names, &[])
        .session()
}

#[test]
fn results_of_many_outputs_are_distinguished() {
    let memory = MemoryInfo::cpu().unwrap();
    for parts in [1u8, 2, 7, 8, 9, 40] {
        let session = split(parts.into());
        let data: Vec<f32> = (0..parts).map(f32::from).collect();
        let mut binding = session.io_binding().unwrap();
        binding.bind_input_slice("x", &[parts.into()], &data).unwrap();
        for at in 0..parts {
            binding.bind_output_to(&format!("part{at}"), &memory).unwrap();
        }
        for _ in 0..3 {
            binding.run().unwrap();
            for at in 0..parts {
                let found = binding.output(&format!("part{at}")).unwrap();
                assert_eq!(found.extract_tensor::<f32>().unwrap(), [f32::from(at)], "part {at} of {parts}");
            }
        }
        let kept = binding.take_output("part0").unwrap();
        binding.run().unwrap();
        assert_eq!(kept.extract_tensor::<f32>().unwrap(), [0.0]);
    }
}
