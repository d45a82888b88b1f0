//! Tests with a device whose memory the host cannot read: the example provider, whose library `RETORT_LOOPBACK` names, and
//! the CUDA provider, if `RETORT_CUDA` names its library.

mod common;

use common::decoder::{TOKENS, WIDTH, best};
use common::{FLOAT, Model, floats};
use onnx::{Allocator, EpDevice, MemoryInfo, MemoryKind, Session, Value};

/// The variables that name a library of a provider, and the provider.
const LIBRARIES: [(&str, &str); 2] = [("RETORT_LOOPBACK", "loopback"), ("RETORT_CUDA", "CUDAExecutionProvider")];

/// The first device of each library that is there. A GPU may be simulated.
fn devices() -> Vec<EpDevice> {
    static REGISTERED: std::sync::Once = std::sync::Once::new();
    let given = |variable| std::env::var_os(variable);
    if given("RETORT_LOOPBACK").is_none() {
        println!("skipped: build examples/providers/loopback and set RETORT_LOOPBACK to its library");
        return Vec::new();
    }
    let environment = onnx::init().unwrap();
    REGISTERED.call_once(|| {
        for (variable, provider) in LIBRARIES {
            let Some(library) = given(variable) else { continue };
            environment.register_provider_library(provider, library).unwrap();
        }
    });
    let all = environment.devices().unwrap();
    let first = |provider: &str| all.iter().find(|d| d.provider().unwrap() == provider).copied();
    let found: Vec<_> = LIBRARIES.iter().filter_map(|(_, provider)| first(provider)).collect();
    if found.len() < 2 {
        println!("skipped on CUDA: RETORT_CUDA is not set, or there is neither a GPU nor the software CUDA (RETORT_CUDA_LIBRARIES)");
    }
    found
}

fn session(device: EpDevice) -> Session {
    let model = Model::new().input("x", FLOAT, &["4"]).input("y", FLOAT, &["4"]).output("z", FLOAT, &["4"]);
    let model = model.node("Add", &["x", "y"], &["z"], &[]).bytes();
    onnx::session_builder().with_devices(&[device], &[]).commit_from_memory(&model).unwrap()
}

#[test]
fn inputs_and_outputs_stay_on_the_device() {
    for device in devices() {
        inputs_and_outputs_stay_on_the_device_of(device);
    }
}

fn inputs_and_outputs_stay_on_the_device_of(device: EpDevice) {
    let (session, memory) = (session(device), device.memory(MemoryKind::Device).unwrap().unwrap());
    assert_eq!(session.input_devices().unwrap(), [Some(device), Some(device)]);
    assert_eq!(session.output_memory().unwrap()[0], memory);
    let allocator = device.allocator(MemoryKind::Device).unwrap();
    let mut x = Value::new_in::<f32>(&allocator, &[4]).unwrap();
    onnx::copy_tensors(&[&floats(&[4], &[1.0, 2.0, 3.0, 4.0])], &mut [&mut x]).unwrap();
    let error = x.extract_tensor::<f32>().unwrap_err();
    assert!(error.message.contains("cannot read"), "{error}");
    assert!(x.try_clone().is_err());
    let mut binding = session.io_binding().unwrap();
    binding.bind_input("x", x).unwrap();
    // The data is copied to the device now, and dropped before the run.
    let data = vec![10f32; 4];
    binding.bind_input("y", Value::from_vec(&[4], data).unwrap()).unwrap();
    binding.bind_output_to("z", &memory).unwrap();
    binding.run().unwrap();
    let mut z = Value::zeros::<f32>(&[4]).unwrap();
    onnx::copy_tensors(&[binding.output("z").unwrap()], &mut [&mut z]).unwrap();
    assert_eq!(z.extract_tensor::<f32>().unwrap(), [11.0, 12.0, 13.0, 14.0]);
    binding.input_mut::<f32>("y").unwrap().fill(20.0);
    binding.refresh_input("y").unwrap();
    binding.run().unwrap();
    onnx::copy_tensors(&[binding.output("z").unwrap()], &mut [&mut z]).unwrap();
    assert_eq!(z.extract_tensor::<f32>().unwrap(), [21.0, 22.0, 23.0, 24.0]);
}

#[test]
fn results_are_copied_to_memory_of_the_program() {
    for device in devices() {
        results_are_copied_to_memory_of_the_program_of(device);
    }
}

fn results_are_copied_to_memory_of_the_program_of(device: EpDevice) {
    let session = session(device);
    let x = floats(&[4], &[1.0, 2.0, 3.0, 4.0]);
    let outputs = session.run(&[("x", &x), ("y", &x)], &["z"]).unwrap();
    assert_eq!(outputs[0].extract_tensor::<f32>().unwrap(), [2.0, 4.0, 6.0, 8.0]);
    let mut z = [0f32; 4];
    {
        let mut binding = session.io_binding().unwrap();
        binding.bind_input("x", floats(&[4], &[1.0; 4])).unwrap();
        binding.bind_input("y", floats(&[4], &[2.0; 4])).unwrap();
        binding.bind_output_slice("z", &[4], &mut z).unwrap();
        binding.run().unwrap();
    }
    assert_eq!(z, [3.0; 4]);
}

#[test]
fn a_device_has_one_shared_allocator() {
    for device in devices() {
        a_device_has_one_shared_allocator_of(device);
    }
}

fn a_device_has_one_shared_allocator_of(device: EpDevice) {
    let first = device.allocator(MemoryKind::Device).unwrap();
    let value = Value::new_in::<f32>(&first, &[4]).unwrap();
    let second = device.allocator(MemoryKind::Device).unwrap();
    assert_eq!(first.describe().unwrap(), second.describe().unwrap());
    assert!(Allocator::shared(&device.memory(MemoryKind::Device).unwrap().unwrap()).unwrap().is_some());
    drop((first, second));
    drop(value);
}

#[test]
fn the_capacity_of_its_memory() {
    for device in devices() {
        the_capacity_of_its_memory_of(device);
    }
}

fn the_capacity_of_its_memory_of(device: EpDevice) {
    let environment = onnx::init().unwrap();
    let processor = environment.devices().unwrap().into_iter().find(|d| d.provider().unwrap() == "CPUExecutionProvider").unwrap();
    let told = device.memory_capacity(MemoryKind::Device);
    if let Err(older) = &told {
        assert!(older.message.contains("32"), "{older}");
        return;
    }
    let pinned = device.provider().unwrap() == "loopback"; // a GPU's driver does not say how much it may pin
    for capacity in std::iter::once(told.unwrap()).chain(pinned.then(|| device.memory_capacity(MemoryKind::HostAccessible).unwrap())) {
        assert!(0 < capacity.available && capacity.available <= capacity.total, "{capacity:?}");
    }
    assert!(processor.memory_capacity(MemoryKind::Device).is_err());
}

/// A decoder whose cache stays on the device: only tokens and logits are copied.
#[test]
fn a_cache_stays_on_the_device() {
    let expected = decoded(&common::decoder::growing().session(), None);
    for device in devices() {
        let builder = onnx::session_builder().with_devices(&[device], &[]);
        let session = builder.commit_from_memory(&common::decoder::growing().bytes()).unwrap();
        assert_eq!(decoded(&session, device.memory(MemoryKind::Device).unwrap()), expected, "{}", device.provider().unwrap());
    }
}

/// The tokens that a loop finds whose cache is in that memory.
fn decoded(session: &Session, memory: Option<MemoryInfo>) -> Vec<i64> {
    let memory = memory.unwrap_or_else(|| MemoryInfo::cpu().unwrap());
    let (mut token, mut found) = (1i64, Vec::new());
    let mut binding = session.io_binding().unwrap();
    binding.bind_input("past", Value::zeros::<f32>(&[0, WIDTH]).unwrap()).unwrap();
    for _ in 0..12 {
        binding.bind_input("token", Value::from_slice(&[1], &[token]).unwrap()).unwrap();
        binding.bind_output("logits", Value::zeros::<f32>(&[1, TOKENS]).unwrap()).unwrap();
        binding.bind_output_to("present", &memory).unwrap();
        binding.run().unwrap();
        token = best(binding.output("logits").unwrap().extract_tensor::<f32>().unwrap());
        found.push(token);
        binding.feed_back("present", "past").unwrap();
    }
    found
}
