//! Tests with a device whose memory the host cannot read: the example provider, whose library `RETORT_LOOPBACK` names.

mod common;

use common::{FLOAT, Model, floats};
use onnx::{Allocator, EpDevice, MemoryKind, Session, Value};

fn device() -> Option<EpDevice> {
    static REGISTERED: std::sync::Once = std::sync::Once::new();
    let Some(library) = std::env::var_os("RETORT_LOOPBACK") else {
        println!("skipped: build examples/providers/loopback and set RETORT_LOOPBACK to its library");
        return None;
    };
    let environment = onnx::init().unwrap();
    REGISTERED.call_once(|| environment.register_provider_library("loopback", library).unwrap());
    environment.devices().unwrap().into_iter().find(|d| d.provider().unwrap() == "loopback")
}

fn session(device: EpDevice) -> Session {
    let model = Model::new().input("x", FLOAT, &["4"]).input("y", FLOAT, &["4"]).output("z", FLOAT, &["4"]);
    let model = model.node("Add", &["x", "y"], &["z"], &[]).bytes();
    onnx::session_builder().with_devices(&[device], &[]).commit_from_memory(&model).unwrap()
}

#[test]
fn inputs_and_outputs_stay_on_the_device() {
    let Some(device) = device() else { return };
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
    let Some(device) = device() else { return };
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
    let Some(device) = device() else { return };
    let first = device.allocator(MemoryKind::Device).unwrap();
    let value = Value::new_in::<f32>(&first, &[4]).unwrap();
    let second = device.allocator(MemoryKind::Device).unwrap();
    assert_eq!(first.describe().unwrap(), second.describe().unwrap());
    assert!(Allocator::shared(&device.memory(MemoryKind::Device).unwrap().unwrap()).unwrap().is_some());
    drop((first, second));
    drop(value);
}

/// The provider keeps its tensors in memory of the host.
#[test]
fn the_capacity_of_its_memory() {
    let Some(device) = device() else { return };
    let environment = onnx::init().unwrap();
    let processor = environment.devices().unwrap().into_iter().find(|d| d.provider().unwrap() == "CPUExecutionProvider").unwrap();
    let told = device.memory_capacity(MemoryKind::Device);
    if let Err(older) = &told {
        assert!(older.message.contains("32"), "{older}");
        return;
    }
    for capacity in [told.unwrap(), device.memory_capacity(MemoryKind::HostAccessible).unwrap()] {
        assert!(0 < capacity.available && capacity.available <= capacity.total, "{capacity:?}");
    }
    assert!(processor.memory_capacity(MemoryKind::Device).is_err());
}
