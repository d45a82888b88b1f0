//! Tests of values, memory and devices.

mod common;

use common::floats;
use onnx::{Allocator, DeviceType, ElementType, MemoryDescription, MemoryInfo, MemoryKind, OrtErrorCode, Value, ValueKind};

#[test]
fn data_goes_in_and_out() {
    let mut value = Value::from_vec(&[2, 2], vec![1i32, 2, 3, 4]).unwrap();
    assert_eq!((value.kind().unwrap(), value.element_type().unwrap()), (ValueKind::Tensor, ElementType::Int32));
    value.extract_tensor_mut::<i32>().unwrap()[3] = 9;
    assert_eq!(value.extract_tensor::<i32>().unwrap(), [1, 2, 3, 9]);
    let copy = value.try_clone().unwrap();
    value.extract_tensor_mut::<i32>().unwrap().fill(0);
    assert_eq!(copy.extract_tensor::<i32>().unwrap(), [1, 2, 3, 9]);
    assert_eq!(copy.extract_bytes().unwrap().len(), 16);
    assert_eq!(Value::from_slice::<u8>(&[], &[7]).unwrap().shape().unwrap(), [0usize; 0]);
}

#[test]
fn values_without_elements() {
    for value in [Value::from_slice::<f64>(&[0, 3], &[]), Value::from_vec::<f64>(&[0, 3], Vec::new()), Value::zeros::<f64>(&[0, 3])] {
        let value = value.unwrap();
        assert!(value.extract_tensor::<f64>().unwrap().is_empty() && value.is_empty().unwrap());
        assert_eq!(value.try_clone().unwrap().shape().unwrap(), [0, 3]);
    }
    assert!(Value::from_strings::<&str>(&[0], &[]).unwrap().extract_strings().unwrap().is_empty());
}

#[test]
fn mistakes_are_reported() {
    let error = Value::from_slice(&[2, 3], &[0f32; 5]).unwrap_err();
    assert_eq!(error.code, OrtErrorCode::InvalidArgument);
    assert!(error.message.contains("[2, 3] has 6 elements, but the data has 5"), "{error}");
    assert!(Value::from_vec(&[usize::MAX, 2], vec![0f32]).unwrap_err().message.contains("too many elements"));
    assert!(Value::from_vec(&[0, usize::MAX], Vec::<f32>::new()).unwrap_err().message.contains("is too large"));
    let value = floats(&[1], &[1.0]);
    let error = value.extract_tensor::<f64>().unwrap_err();
    assert!(error.message.contains("Float32") && error.message.contains("Float64"), "{error}");
    assert!(value.extract_strings().is_err() && value.extract_sequence().is_err() && value.extract_map().is_err() && value.get(0).is_err());
    assert!(Value::from_bytes(ElementType::Int4, &[3], &[0]).unwrap_err().message.contains("takes 2 bytes"));
    assert!(Value::sequence(Vec::new()).is_err());
    assert!(Value::zeros::<f32>(&[usize::MAX, 2]).is_err());
    assert!(Value::zeros::<f32>(&[usize::MAX, 0]).unwrap_err().message.contains("in the shape [18446744073709551615, 0] is too large"));
    assert!(Value::from_strings(&[1], &["a"]).unwrap().extract_bytes().is_err());
}

#[test]
fn other_values_than_tensors_have_no_elements() {
    let sequence = Value::sequence(vec![floats(&[1], &[1.0])]).unwrap();
    let map = Value::map(Value::from_slice(&[1], &[1i64]).unwrap(), floats(&[1], &[1.0])).unwrap();
    for (mut value, kind) in [(sequence, ValueKind::Sequence), (map, ValueKind::Map)] {
        assert_eq!(value.kind().unwrap(), kind);
        let errors = [value.shape().map(drop), value.element_type().map(drop), value.memory().map(drop), value.extract_strings().map(drop)];
        let elements =
            [value.extract_tensor::<f32>().map(drop), value.extract_bytes().map(drop), value.extract_tensor_mut::<f32>().map(drop)];
        for error in errors.into_iter().chain(elements) {
            let advice = format!("of kind {kind:?}, not a tensor: use extract_{}", format!("{kind:?}").to_lowercase());
            assert!(error.as_ref().unwrap_err().message.contains(&advice), "{error:?}");
        }
        let mut other = Value::zeros::<f32>(&[1]).unwrap();
        assert!(onnx::copy_tensors(&[&value], &mut [&mut other]).unwrap_err().message.contains("only tensors"));
        assert!(format!("{value:?}").contains(&format!("{kind:?}")));
    }
    assert_eq!(Value::from_strings(&[2], &["", ""]).unwrap().try_clone().unwrap().extract_strings().unwrap(), ["", ""]);
}

#[test]
fn bytes_other_than_0_and_1_are_not_bool() {
    let value = Value::from_bytes(ElementType::Bool, &[3], &[0, 1, 2]).unwrap();
    let error = value.extract_tensor::<bool>().unwrap_err();
    assert!(error.message.contains("element 2") && error.message.contains("is 2"), "{error}");
    assert_eq!(value.extract_bytes().unwrap(), [0, 1, 2]);
    let good = Value::from_bytes(ElementType::Bool, &[2], &[0, 1]).unwrap();
    assert_eq!(good.extract_tensor::<bool>().unwrap(), [false, true]);
}

#[test]
fn elements_of_a_sequence_keep_their_memory() {
    let sequence = Value::sequence(vec![Value::from_vec(&[2], vec![1f32, 2.0]).unwrap(), floats(&[0], &[])]).unwrap();
    let copy = sequence.try_clone().unwrap();
    drop(sequence);
    let elements = copy.extract_sequence().unwrap();
    assert_eq!(elements[0].extract_tensor::<f32>().unwrap(), [1.0, 2.0]);
    assert!(copy.get(2).unwrap_err().message.contains("element 2 does not exist"));
    let keys = Value::from_slice(&[2], &[4i64, 5]).unwrap();
    let map = Value::map(keys, Value::from_vec(&[2], vec![1f32, 2.0]).unwrap()).unwrap().try_clone().unwrap();
    let (keys, values) = map.extract_map().unwrap();
    assert_eq!((keys.extract_tensor::<i64>().unwrap(), values.extract_tensor::<f32>().unwrap()), (&[4i64, 5][..], &[1f32, 2.0][..]));
}

#[test]
fn values_go_to_other_threads() {
    fn check<T: Send + Sync>(value: T) -> T {
        value
    }
    let value = check(floats(&[1000], &[1.0; 1000]));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert!(value.extract_tensor::<f32>().unwrap().iter().sum::<f32>() > 999.0));
        }
    });
    std::thread::spawn(move || drop(value)).join().unwrap();
}

#[test]
fn memory_is_described() {
    let memory = MemoryInfo::cpu().unwrap();
    assert_eq!(memory, MemoryInfo::named("Cpu", 0).unwrap());
    assert_eq!(memory.describe().unwrap().device_type, DeviceType::Cpu);
    assert!(MemoryInfo::named("NoSuchMemory", 0).is_err());
    let gpu =
        MemoryDescription { name: "mine".into(), device_type: DeviceType::Gpu, device_id: 1, vendor_id: 0x10de, kind: MemoryKind::Device };
    match MemoryInfo::new(&gpu) {
        Ok(info) => assert_eq!(info.describe().unwrap(), gpu),
        Err(error) => assert_eq!((error.code, onnx::api_version().unwrap() < 23), (OrtErrorCode::NotSupported, true)),
    }
    assert_eq!(floats(&[1], &[0.0]).memory().unwrap().device_type, DeviceType::Cpu);
}

#[test]
fn allocators_outlive_their_tensors() {
    let session = common::add(&["2"]);
    let allocator = Allocator::of_session(&session, &MemoryInfo::cpu().unwrap()).unwrap();
    let mut value = Value::new_in::<f32>(&allocator, &[2]).unwrap();
    drop((allocator, session));
    assert_eq!(value.extract_tensor::<f32>().unwrap(), [0.0, 0.0]);
    value.extract_tensor_mut::<f32>().unwrap()[1] = 1.0;
    assert_eq!(Allocator::cpu().unwrap().describe().unwrap().device_type, DeviceType::Cpu);
}

#[test]
fn tensors_are_copied() {
    let (from, mut to) = (floats(&[2], &[1.0, 2.0]), Value::zeros::<f32>(&[2]).unwrap());
    onnx::copy_tensors(&[&from], &mut [&mut to]).unwrap();
    assert_eq!(to.extract_tensor::<f32>().unwrap(), [1.0, 2.0]);
    let mut small = Value::zeros::<f32>(&[1]).unwrap();
    assert!(onnx::copy_tensors(&[&from], &mut [&mut small]).unwrap_err().message.contains("[2]"));
    assert!(onnx::copy_tensors(&[&from], &mut []).is_err());
    let mut other = Value::zeros::<i32>(&[2]).unwrap();
    assert!(onnx::copy_tensors(&[&from], &mut [&mut other]).is_err());
}

#[test]
fn devices_are_listed() {
    let devices = match onnx::init().unwrap().devices() {
        Ok(devices) => devices,
        Err(error) => {
            assert!(error.code == OrtErrorCode::NotSupported && onnx::api_version().unwrap() < 22, "{error}");
            assert!(error.message.contains("GetEpDevices came with version 1.22"), "{error}");
            return;
        }
    };
    let cpu = devices.iter().find(|d| d.provider().unwrap() == "CPUExecutionProvider").unwrap();
    assert_eq!(cpu.hardware().unwrap().hardware_type, onnx::HardwareType::Cpu);
    assert!(!cpu.provider_vendor().unwrap().is_empty());
    let builder = onnx::session_builder().with_devices(&[*cpu], &[]);
    let model = common::Model::new().input("x", common::FLOAT, &["n"]).output("y", common::FLOAT, &["n"]);
    let model = model.node("Neg", &["x"], &["y"], &[]).bytes();
    let session = builder.commit_from_memory(&model).unwrap();
    assert_eq!(session.input_memory().unwrap()[0].describe().unwrap().device_type, DeviceType::Cpu);
    assert_eq!(session.output_memory().unwrap().len(), 1);
    assert_eq!(session.input_devices().unwrap(), [Some(*cpu)]);
    onnx::session_builder().with_devices(&[], &[]).commit_from_memory(&model).unwrap_err();
    onnx::session_builder().with_device_policy(onnx::DevicePolicy::PreferCpu).commit_from_memory(&model).unwrap();
    assert!(onnx::init().unwrap().register_provider_library("none", "no/such/library.so").is_err());
}

#[cfg(feature = "half")]
#[test]
fn half_floats() {
    let one = half::f16::from_f32(1.5);
    let session = common::unary("Neg", common::FLOAT16, &["n"]);
    let outputs = session.run(&[("x", &Value::from_slice(&[1], &[one]).unwrap())], &["y"]).unwrap();
    assert_eq!(outputs[0].extract_tensor::<half::f16>().unwrap(), [-one]);
    let value = Value::from_vec(&[1], vec![half::bf16::from_f32(2.0)]).unwrap();
    assert_eq!(value.element_type().unwrap(), ElementType::Bfloat16);
}

#[cfg(feature = "ndarray")]
#[test]
fn arrays() {
    use ndarray::{Array2, arr2, s};
    let array = arr2(&[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let mut value = Value::from_array(array.clone()).unwrap();
    assert_eq!(value.extract_array::<f32>().unwrap(), array.view().into_dyn());
    value.extract_array_mut::<f32>().unwrap()[[1, 2]] = 9.0;
    assert_eq!(value.extract_array::<f32>().unwrap()[[1, 2]], 9.0);
    let columns = Value::from_array(array.slice(s![.., 1..]).to_owned()).unwrap();
    assert_eq!(columns.extract_tensor::<f32>().unwrap(), [2.0, 3.0, 5.0, 6.0]);
    let part = Value::from_array(array.clone().slice_move(s![1.., ..])).unwrap();
    assert_eq!(part.extract_tensor::<f32>().unwrap(), [4.0, 5.0, 6.0]);
    let view = Value::view_array(&array).unwrap();
    assert_eq!(view.shape().unwrap(), [2, 3]);
    assert!(Value::view_array(&array.t()).is_err());
    assert!(Value::from_array(Array2::<i64>::zeros((0, 4))).unwrap().is_empty().unwrap());
}
