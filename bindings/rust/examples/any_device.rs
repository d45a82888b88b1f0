//! Tensors stay in the memory where the model runs, and the program names neither provider nor vendor: the policy
//! prefers a GPU, the session says which memory its input wants; one upload, 100 runs, one download.
//!
//!     cargo run --features load-dynamic --example any_device -- digits.onnx [PROVIDER_LIBRARY]

use onnx::{Allocator, DevicePolicy, GraphOptimizationLevel, MemoryInfo, Result, Session, Value};

/// The digit 2, with shades from 0 to 16.
const TWO: [u8; 64] = [
    0, 0, 6, 16, 12, 1, 0, 0, 0, 0, 5, 16, 13, 10, 0, 0, 0, 0, 0, 5, 5, 15, 0, 0, 0, 0, 0, 0, 8, 15, 0, 0, //
    0, 0, 0, 0, 13, 13, 0, 0, 0, 0, 0, 6, 16, 9, 4, 1, 0, 0, 3, 16, 16, 16, 16, 10, 0, 0, 5, 16, 11, 9, 6, 2,
];

/// A tensor of a session in the memory that it wants; on the host, of the host.
fn tensor_in(session: &Session, memory: &MemoryInfo, shape: &[usize]) -> Result<Value> {
    if memory.describe()?.is_host_accessible() {
        Value::zeros::<f32>(shape)
    } else {
        Value::new_in::<f32>(&Allocator::of_session(session, memory)?, shape)
    }
}

fn run(model: &str, library: Option<String>) -> Result<()> {
    let environment = onnx::init()?;
    if let Some(library) = library {
        environment.register_provider_library("provider", library)?;
    }
    let builder = onnx::session_builder().with_optimization_level(GraphOptimizationLevel::All);
    let session = builder.with_device_policy(DevicePolicy::PreferGpu).commit_from_file(model)?;
    let (reads, writes) = (session.input_memory()?.remove(0), session.output_memory()?.remove(0));
    let on_host = reads.describe()?.is_host_accessible();
    match session.input_devices()?[0] {
        Some(device) if !on_host => println!("vendor {:#06x} runs the model", device.hardware()?.vendor_id),
        _ => println!("no device with a provider here: the processor runs the model"),
    }
    let image = Value::from_vec(&[1, 1, 8, 8], TWO.map(|shade| f32::from(shade) / 16.0).to_vec())?;
    let mut result = Value::zeros::<f32>(&[1, 10])?;
    let mut binding = session.io_binding()?;
    if on_host {
        binding.bind_input("image", image)?;
    } else {
        let mut device_image = tensor_in(&session, &reads, &[1, 1, 8, 8])?;
        onnx::copy_tensors(&[&image], &mut [&mut device_image])?; // one upload
        binding.bind_input("image", device_image)?; // there already: no run copies anything
    }
    binding.bind_output("probabilities", tensor_in(&session, &writes, &[1, 10])?)?;
    for _ in 0..100 {
        binding.run()?;
    }
    let found = binding.output("probabilities")?;
    if on_host {
        result = found.try_clone()?;
    } else {
        onnx::copy_tensors(&[found], &mut [&mut result])?; // one download
    }
    let row = result.extract_tensor::<f32>()?;
    let best = (0..row.len()).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap_or(0);
    println!("100 runs: a {best} ({:.1} %)", 100.0 * row[best]);
    Ok(())
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(model) = arguments.next() else { return eprintln!("usage: any_device MODEL [PROVIDER_LIBRARY]") };
    if let Err(error) = run(&model, arguments.next()) {
        eprintln!("any_device: {error}");
        std::process::exit(1);
    }
}
