//! Tests of sessions, runs by name, and mistakes.

mod common;

use std::sync::{Arc, Barrier};

use common::{FLOAT, INT64, Model, STRING, add, floats, unary};
use onnx::{ElementType, OnnxError, OrtErrorCode, Session, Value, ValueType};

#[test]
fn versions_are_reported() {
    let version = onnx::version().unwrap();
    assert!(version.starts_with("1."), "{version}");
    let minor: u32 = version.split('.').nth(1).unwrap().parse().unwrap();
    assert_eq!(onnx::api_version().unwrap(), minor.min(32));
    assert!(!onnx::build_info().unwrap().is_empty());
}

#[test]
fn the_environment_is_made_once_from_many_threads() {
    let addresses: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| std::ptr::from_ref(onnx::init().unwrap()) as usize)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(addresses.windows(2).all(|pair| pair[0] == pair[1]));
    assert!(onnx::init().unwrap().providers().unwrap().iter().any(|p| p == "CPUExecutionProvider"));
}

#[test]
fn runs_by_name() {
    let session = add(&["2"]);
    let (x, y) = (floats(&[2], &[1.0, 2.0]), floats(&[2], &[10.0, 20.0]));
    let outputs = session.run(&[("y", &y), ("x", &x)], &["sum"]).unwrap();
    assert_eq!(outputs[0].extract_tensor::<f32>().unwrap(), [11.0, 22.0]);
    assert_eq!(outputs[0].shape().unwrap(), [2]);
}

#[test]
fn inputs_are_read_in_place() {
    let session = add(&["n"]);
    let data = [1f32, 2.0, 3.0];
    let view = Value::view(&[3], &data).unwrap();
    let own = Value::from_vec(&[3], vec![1f32, 1.0, 1.0]).unwrap();
    let outputs = session.run(&[("x", &view), ("y", &own)], &["sum"]).unwrap();
    drop((view, own));
    assert_eq!(outputs[0].extract_tensor::<f32>().unwrap(), [2.0, 3.0, 4.0]);
}

#[test]
fn models_have_metadata() {
    let session = add(&["batch", "3"]);
    let names: Vec<_> = session.inputs().iter().map(|i| i.name.clone()).collect();
    assert_eq!(names, ["x", "y"]);
    let expected = ValueType::Tensor { element: ElementType::Float32, shape: vec![-1, 3], names: vec!["batch".into(), String::new()] };
    assert_eq!(session.outputs()[0].value_type, expected);
    let metadata = session.metadata().unwrap();
    assert_eq!((metadata.producer.as_str(), metadata.graph_name.as_str(), metadata.version), ("tests", "graph", 3));
    assert_eq!(metadata.custom.get("colour").map(String::as_str), Some("green"));
    assert_eq!((metadata.domain.as_str(), metadata.description.as_str()), ("org.example", "a model of tests"));
}

fn says(error: &OnnxError, parts: &[&str]) {
    for part in parts {
        assert!(error.message.contains(part), "'{part}' is not in: {error}");
    }
}

#[test]
fn mistakes_are_reported() {
    let session = add(&["2"]);
    let (x, y) = (floats(&[2], &[1.0, 2.0]), floats(&[3], &[1.0, 2.0, 3.0]));
    let integers = Value::from_slice(&[2], &[1i64, 2]).unwrap();
    let run = |x: &Value, y: &Value| session.run(&[("x", x), ("y", y)], &["sum"]).unwrap_err();
    assert_eq!(run(&x, &y).code, OrtErrorCode::InvalidArgument);
    assert_eq!(run(&x, &integers).code, OrtErrorCode::InvalidArgument);
    says(&session.run(&[("z", &x)], &["sum"]).unwrap_err(), &["'z'", "'x', 'y'"]);
    says(&session.run(&[("x", &x), ("y", &x)], &["total"]).unwrap_err(), &["'total'", "'sum'"]);
    says(&session.run(&[("x", &x), ("x", &x)], &["sum"]).unwrap_err(), &["'x' is given twice"]);
    says(&session.run(&[("x", &x), ("y", &x)], &["sum", "sum"]).unwrap_err(), &["'sum' is given twice"]);
    assert_eq!(session.run(&[("x", &x), ("y", &x)], &[]).unwrap_err().code, OrtErrorCode::InvalidArgument);
    session.run(&[("x", &x)], &["sum"]).unwrap_err();
    // The session is still usable.
    session.run(&[("x", &x), ("y", &x)], &["sum"]).unwrap();
}

#[test]
fn models_that_cannot_be_loaded() {
    let builder = onnx::session_builder;
    assert_eq!(builder().commit_from_file("does/not/exist.onnx").unwrap_err().code, OrtErrorCode::NoSuchFile);
    assert_eq!(builder().commit_from_memory(b"no model").unwrap_err().code, OrtErrorCode::InvalidProtobuf);
    assert_eq!(builder().commit_from_memory(b"").unwrap_err().code, OrtErrorCode::InvalidProtobuf);
    assert_eq!(builder().commit_from_file("a\0b").unwrap_err().code, OrtErrorCode::InvalidArgument);
    says(&builder().with_provider("NoSuchProvider", &[]).commit_from_memory(b"no model").unwrap_err(), &["NoSuchProvider"]);
}

#[test]
fn options_are_taken() {
    let model = Model::new().input("x", FLOAT, &["n"]).output("y", FLOAT, &["n"]).node("Neg", &["x"], &["y"], &[]).bytes();
    let folder = std::env::temp_dir().join(format!("onnx-tests-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("model.onnx");
    std::fs::write(&file, model).unwrap();
    let builder = onnx::session_builder().with_cpu().with_intra_threads(1).with_inter_threads(1);
    let builder = builder.with_optimization_level(onnx::GraphOptimizationLevel::Layout).with_parallel_execution(false);
    let builder = builder.with_config_entry("session.disable_prepacking", "1").with_dimension("n", 2);
    let builder = builder.with_deterministic_compute(true).with_memory_pattern(false).with_log_id("tests");
    let session = builder.with_log_level(onnx::LogLevel::Error).commit_from_file(&file).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let y = session.run(&[("x", &floats(&[2], &[1.0, -2.0]))], &["y"]).unwrap();
    assert_eq!(y[0].extract_tensor::<f32>().unwrap(), [-1.0, 2.0]);
}

#[test]
fn initializers_are_replaced_and_kept() {
    let zero = 0f32.to_le_bytes();
    let model = Model::new().input("x", FLOAT, &["1"]).output("y", FLOAT, &["1"]).constant("w", FLOAT, &[1], &zero);
    let model = model.node("Add", &["x", "w"], &["y"], &[]).bytes();
    let builder = onnx::session_builder().with_initializer("w", Value::from_vec(&[1], vec![5f32]).unwrap());
    let session = builder.commit_from_memory(&model).unwrap();
    let y = session.run(&[("x", &floats(&[1], &[1.0]))], &["y"]).unwrap();
    assert_eq!(y[0].extract_tensor::<f32>().unwrap(), [6.0]);
}

#[test]
fn bytes_of_a_model_may_be_dropped_even_if_they_are_read_in_place() {
    let model = Model::new().input("x", FLOAT, &["1"]).output("y", FLOAT, &["1"]).node("Neg", &["x"], &["y"], &[]);
    let builder = onnx::session_builder().with_config_entry("session.use_ort_model_bytes_directly", "1");
    let session = builder.commit_from_memory(&model.bytes()).unwrap();
    assert_eq!(session.run(&[("x", &floats(&[1], &[1.0]))], &["y"]).unwrap()[0].extract_tensor::<f32>().unwrap(), [-1.0]);
}

#[test]
fn many_threads_run_one_session() {
    fn shared<T: Send + Sync>(value: T) -> Arc<T> {
        Arc::new(value)
    }
    let (session, bias, barrier) = (shared::<Session>(add(&["n"])), shared(floats(&[64], &[1.0; 64])), Barrier::new(4));
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let (session, bias, barrier) = (&session, &bias, &barrier);
            scope.spawn(move || {
                barrier.wait();
                for step in 0..200u8 {
                    let x = f32::from(thread) * 1000.0 + f32::from(step);
                    let outputs = session.run(&[("x", &floats(&[64], &[x; 64])), ("y", bias)], &["sum"]).unwrap();
                    assert_eq!(outputs[0].extract_tensor::<f32>().unwrap(), [x + 1.0; 64]);
                }
            });
        }
    });
}

#[test]
fn results_share_nothing_with_inputs() {
    // The outputs are inputs, passed on by name or by operators. Changing an output must not change the input.
    for model in [
        Model::new().input("x", FLOAT, &["n"]).output("y", FLOAT, &["n"]).node("Identity", &["x"], &["y"], &[]),
        Model::new().input("x", FLOAT, &["n"]).output("x", FLOAT, &["n"]).output("z", FLOAT, &["n"]).node("Neg", &["x"], &["z"], &[]),
    ] {
        let session = model.session();
        let name = session.outputs()[0].name.clone();
        let mut data = vec![1f32, 2.0, 3.0];
        let view = Value::view(&[3], &data).unwrap();
        let mut outputs = session.run(&[("x", &view)], &[&name]).unwrap();
        drop(view);
        data.fill(7.0);
        drop(data);
        assert_eq!(outputs[0].extract_tensor::<f32>().unwrap(), [1.0, 2.0, 3.0]);
        outputs[0].extract_tensor_mut::<f32>().unwrap()[0] = 9.0;
    }
}

#[test]
fn changing_a_constant_result_does_not_change_the_model() {
    let constant: Vec<u8> = [1f32, 2.0].iter().flat_map(|f| f.to_le_bytes()).collect();
    let model =
        Model::new().input("x", FLOAT, &["n"]).output("c", FLOAT, &["2"]).output("y", FLOAT, &["n"]).constant("c", FLOAT, &[2], &constant);
    let session = model.node("Neg", &["x"], &["y"], &[]).session();
    let x = floats(&[1], &[1.0]);
    for _ in 0..2 {
        let mut outputs = session.run(&[("x", &x)], &["c"]).unwrap();
        assert_eq!(outputs[0].extract_tensor::<f32>().unwrap(), [1.0, 2.0]);
        outputs[0].extract_tensor_mut::<f32>().unwrap().fill(7.0);
    }
}

#[test]
fn sequences_share_nothing_with_inputs() {
    let session = Model::new().input("x", FLOAT, &["n"]).sequence(12, "s").node("SequenceConstruct", &["x", "x"], &["s"], &[]).session();
    let s = {
        let data = vec![1f32, 2.0];
        let view = Value::view(&[2], &data).unwrap();
        session.run(&[("x", &view)], &["s"]).unwrap().remove(0)
    };
    assert_eq!(s.len().unwrap(), 2);
    assert_eq!(s.get(1).unwrap().extract_tensor::<f32>().unwrap(), [1.0, 2.0]);
    // Taken out of the sequence again: changing the element must not change the sequence.
    let zero = 0i64.to_le_bytes();
    let model = Model::new().sequence(11, "s").output("y", FLOAT, &["n"]).constant("zero", INT64, &[], &zero);
    let session = model.node("SequenceAt", &["s", "zero"], &["y"], &[]).session();
    let mut y = session.run(&[("s", &s)], &["y"]).unwrap().remove(0);
    y.extract_tensor_mut::<f32>().unwrap().fill(9.0);
    assert_eq!(s.get(0).unwrap().extract_tensor::<f32>().unwrap(), [1.0, 2.0]);
    assert_eq!(y.extract_tensor::<f32>().unwrap(), [9.0, 9.0]);
}

#[test]
fn elements_that_a_model_takes_out_of_a_sequence_are_not_its_inputs() {
    let zero = 0i64.to_le_bytes();
    let model = Model::new().input("x", FLOAT, &["n"]).output("y", FLOAT, &["n"]).constant("zero", INT64, &[], &zero);
    let session = model.node("SequenceConstruct", &["x"], &["s"], &[]).node("SequenceAt", &["s", "zero"], &["y"], &[]).session();
    let mut x = floats(&[2], &[1.0, 2.0]);
    let mut y = session.run(&[("x", &x)], &["y"]).unwrap().remove(0);
    let read = x.extract_tensor::<f32>().unwrap().as_ptr();
    assert_ne!(read, y.extract_tensor::<f32>().unwrap().as_ptr());
    y.extract_tensor_mut::<f32>().unwrap().fill(5.0);
    x.extract_tensor_mut::<f32>().unwrap()[0] = 3.0;
    assert_eq!(y.extract_tensor::<f32>().unwrap(), [5.0, 5.0]);
}

#[test]
fn strings_are_passed_on() {
    let session = unary("Identity", STRING, &["n"]);
    let x = Value::from_strings(&[3], &["one", "", "zwölf"]).unwrap();
    let y = session.run(&[("x", &x)], &["y"]).unwrap();
    assert_eq!(y[0].extract_strings().unwrap(), ["one", "", "zwölf"]);
}

#[test]
fn a_terminated_run_is_an_error() {
    let session = add(&["n"]);
    let x = floats(&[1], &[1.0]);
    let options = onnx::RunOptions::new().unwrap();
    let run = || session.run_with_options(&options, &[("x", &x), ("y", &x)], &["sum"]);
    options.terminate().unwrap();
    run().unwrap_err();
    options.reset().unwrap();
    run().unwrap();
}

#[test]
fn options_with_addresses_are_refused() {
    let builder = onnx::session_builder().with_provider("CUDA", &[("user_compute_stream", "4096")]);
    let error = builder.commit_from_file("no/such/model").unwrap_err();
    says(&error, &["user_compute_stream", "address"]);
}

#[test]
fn options_change_while_the_session_exists() {
    let session = common::unary("Neg", FLOAT, &["n"]);
    let negative = || session.run(&[("x", &floats(&[1], &[2.0]))], &["y"]).unwrap()[0].extract_tensor::<f32>().unwrap()[0];
    if onnx::api_version().unwrap() < 20 {
        let error = session.set_dynamic_options(&[("ep.dynamic.workload_type", "Efficient")]).unwrap_err();
        assert_eq!(error.code, OrtErrorCode::NotSupported);
        return;
    }
    for value in ["Efficient", "Default"] {
        session.set_dynamic_options(&[("ep.dynamic.workload_type", value)]).unwrap();
        assert_eq!(negative(), -2.0);
    }
    says(&session.set_dynamic_options(&[]).unwrap_err(), &["no option is given"]);
    says(&session.set_dynamic_options(&[("user_compute_stream", "1")]).unwrap_err(), &["is an address"]);
    says(&session.set_dynamic_options(&[("a\0b", "1")]).unwrap_err(), &["zero byte"]);
}

/// The allocator of a session counts what the session allocated.
#[test]
fn a_session_counts_its_memory() {
    let session = common::unary("Neg", FLOAT, &["n"]);
    session.run(&[("x", &floats(&[1], &[2.0]))], &["y"]).unwrap();
    let allocator = onnx::Allocator::of_session(&session, &onnx::MemoryInfo::cpu().unwrap()).unwrap();
    match allocator.statistics() {
        Ok(statistics) => assert!(statistics.contains_key("InUse") && statistics.contains_key("MaxInUse"), "{statistics:?}"),
        Err(error) => assert!(onnx::api_version().unwrap() < 23, "{error}"),
    }
}

#[test]
fn sessions_share_an_arena_of_the_environment() {
    let environment = onnx::init().unwrap();
    assert!(environment.create_and_register_allocator(&[("no_such_setting", 1)]).is_err());
    let shared = || onnx::Allocator::shared(&onnx::MemoryInfo::cpu().unwrap());
    let before = shared();
    if before.is_ok() {
        environment.create_and_register_allocator(&[]).unwrap(); // an older library refuses a second one
    }
    environment.create_and_register_allocator(&[("max_mem", 300_000)]).unwrap();
    let model = common::add_model(&["n"]).bytes();
    let builder = || onnx::session_builder().with_config_entry("session.use_env_allocators", "1");
    let sessions = [builder().commit_from_memory(&model).unwrap(), builder().commit_from_memory(&model).unwrap()];
    let (few, many) = (floats(&[1_000], &[1.0; 1_000]), floats(&[100_000], &vec![1.0; 100_000]));
    for session in &sessions {
        assert!(session.run(&[("x", &few), ("y", &few)], &["sum"]).is_ok());
        assert!(session.run(&[("x", &many), ("y", &many)], &["sum"]).is_err());
        assert!(session.run(&[("x", &few), ("y", &few)], &["sum"]).is_ok());
    }
    assert!(add(&["n"]).run(&[("x", &many), ("y", &many)], &["sum"]).is_ok());
    for allocator in [before, shared()].into_iter().flatten().flatten() {
        assert!(Value::new_in::<f32>(&allocator, &[100_000]).is_ok());
    }
}
