//! Runs a model on an NVIDIA GPU, where the results stay until they are copied. Without a GPU, it says why in one
//! sentence.
//!
//!     cargo run --features load-dynamic,cuda --example gpu -- digits.onnx

use onnx::{MemoryInfo, OrtErrorCode, Result, Session, Value};

fn run(session: &Session) -> Result<()> {
    let memory = MemoryInfo::named("Cuda", 0)?;
    let mut binding = session.io_binding()?;
    binding.bind_input("image", Value::from_slice(&[1, 1, 8, 8], &[0.5f32; 64])?)?; // copied to the GPU, once
    binding.bind_output_to("probabilities", &memory)?;
    for _ in 0..100 {
        binding.run()?;
    }
    let there = binding.output("probabilities")?;
    let place = there.memory()?;
    println!("the results of 100 runs stay on {} {}", place.name, place.device_id);
    let mut here = Value::zeros::<f32>(&there.shape()?)?;
    onnx::copy_tensors(&[there], &mut [&mut here])?; // one download
    let sum: f32 = here.extract_tensor::<f32>()?.iter().sum();
    println!("the probabilities sum up to {sum:.3}");
    Ok(())
}

/// Errors of the model or of the installation, which do not tell whether there is a GPU.
const OF_THE_CALLER: [OrtErrorCode; 5] =
    [OrtErrorCode::NoSuchFile, OrtErrorCode::NoModel, OrtErrorCode::InvalidProtobuf, OrtErrorCode::InvalidGraph, OrtErrorCode::NoLibrary];

fn main() -> Result<()> {
    let Some(model) = std::env::args().nth(1) else {
        eprintln!("usage: gpu MODEL");
        return Ok(());
    };
    match onnx::session_builder().with_cuda(0).commit_from_file(model) {
        Ok(session) => run(&session),
        Err(error) if OF_THE_CALLER.contains(&error.code) => Err(error),
        Err(error) => {
            println!("no GPU is used, because the library says: {}", error.message.lines().next().unwrap_or_default());
            Ok(())
        }
    }
}
