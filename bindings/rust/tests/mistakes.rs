//! Makes the same mistakes with each way to run a model. The errors must name the mistake, and the session must remain
//! usable.

mod common;

use std::sync::Arc;

use common::{add, floats, unary};
use onnx::{OnnxError, OrtErrorCode, RunFuture, Session, Value};

fn says(error: &OnnxError, parts: &[&str]) {
    for part in parts {
        assert!(error.message.contains(part), "'{part}' is not in: {error}");
    }
}

type Run = fn(&Session, Value) -> Result<Vec<f32>, OnnxError>;

fn x() -> Value {
    floats(&[2], &[1.0, 2.0])
}

fn elements(outputs: &[Value]) -> Vec<f32> {
    outputs[0].extract_tensor::<f32>().unwrap().to_vec()
}

/// The ways to run `sum` = `x` + `y` with a given `y`.
const WAYS: [(&str, Run); 3] = [
    ("by name", |session, y| Ok(elements(&session.run(&[("x", &x()), ("y", &y)], &["sum"])?))),
    ("on another thread", |session, y| {
        let inputs = [("x", Arc::new(x())), ("y", Arc::new(y))];
        Ok(elements(&session.run_async(&inputs, &["sum"]).and_then(RunFuture::wait)?))
    }),
    ("bound", |session, y| {
        let mut binding = session.io_binding()?;
        binding.bind_input("x", x())?;
        binding.bind_input("y", y)?;
        binding.bind_output("sum", Value::zeros::<f32>(&[2])?)?;
        binding.run()?;
        Ok(binding.output("sum")?.extract_tensor::<f32>()?.to_vec())
    }),
];

/// Fails with a value and then succeeds with a correct one, in each way.
fn fails(make: fn() -> Value, parts: &[&str]) {
    let session = add(&["2"]);
    for (way, run) in WAYS {
        let error = run(&session, make()).unwrap_err();
        assert_eq!(error.code, OrtErrorCode::InvalidArgument, "{way}: {error}");
        says(&error, parts);
        assert_eq!(run(&session, floats(&[2], &[10.0, 20.0])).unwrap(), [11.0, 22.0], "{way}");
    }
}

#[test]
fn an_input_that_is_not_given() {
    let session = add(&["2"]);
    let by_name = session.run(&[("x", &x())], &["sum"]).unwrap_err();
    let later = session.run_async(&[("x", Arc::new(x()))], &["sum"]).and_then(RunFuture::wait).unwrap_err();
    let mut binding = session.io_binding().unwrap();
    binding.bind_input("x", x()).unwrap();
    binding.bind_output("sum", Value::zeros::<f32>(&[2]).unwrap()).unwrap();
    for error in [by_name, later, binding.run().unwrap_err()] {
        says(&error, &["input 'y' was not given"]);
    }
    binding.bind_input("y", x()).unwrap();
    binding.run().unwrap();
    assert_eq!(binding.output("sum").unwrap().extract_tensor::<f32>().unwrap(), [2.0, 4.0]);
}

/// Of two mistakes, the error tells one: it does not explain that of one input by that of the other.
#[test]
fn two_mistakes_at_once() {
    let session = add(&["n"]);
    let (whole, texts) = (Value::from_slice(&[2], &[1i64, 2]).unwrap(), Value::from_strings(&[2], &["1", "2"]).unwrap());
    let tall = floats(&[1, 2], &[1.0, 2.0]);
    let cases = [
        (vec![("x", &whole)], "x", "y"),
        (vec![("y", &whole)], "y", "x"),
        (vec![("x", &tall)], "x", "y"),
        (vec![("x", &whole), ("y", &texts)], "x", "y"),
        (vec![("x", &tall), ("y", &texts)], "x", "y"),
    ];
    for (inputs, told, other) in cases {
        let by_name = session.run(&inputs, &["sum"]).unwrap_err();
        let mut binding = session.io_binding().unwrap();
        for (name, value) in inputs {
            binding.bind_input(name, value.try_clone().unwrap()).unwrap();
        }
        binding.bind_output("sum", Value::zeros::<f32>(&[2]).unwrap()).unwrap();
        for error in [by_name, binding.run().unwrap_err()] {
            assert_eq!(error.code, OrtErrorCode::InvalidArgument, "{error}");
            assert!(error.message.contains(&format!("input '{told}'")) || error.message.contains(&format!("input: {told}")), "{error}");
            assert!(!error.message.contains(&format!("input '{other}'")), "{error}");
        }
    }
}

#[test]
fn no_output_is_named_or_bound() {
    let session = add(&["2"]);
    let y = Arc::new(x());
    for error in [
        session.run(&[("x", &x()), ("y", &y)], &[]).unwrap_err(),
        session.run_async(&[("x", y.clone()), ("y", y.clone())], &[]).unwrap_err(),
        session.io_binding().unwrap().run().unwrap_err(),
    ] {
        assert_eq!(error.code, OrtErrorCode::InvalidArgument);
        says(&error, &["no output is ", "at least one of 'sum'"]);
    }
}

#[test]
fn numbers_out_of_range() {
    let commit = |builder: onnx::SessionBuilder| builder.commit_from_memory(b"no model").unwrap_err();
    says(&commit(onnx::session_builder().with_dimension("n", -1)), &["dimension 'n' cannot be -1"]);
    says(&commit(onnx::session_builder().with_inter_threads(1 << 40)), &["1099511627776 threads are out of range"]);
}

#[test]
fn another_type_of_elements() {
    // Each library names both types, with its own words. If the library does not name the input, this crate does.
    fails(|| Value::from_slice(&[2], &[1i64, 2]).unwrap(), &["'y'", "int64", "float"]);
    fails(|| Value::from_slice(&[2], &[1f64, 2.0]).unwrap(), &["'y'", "float"]);
    fails(|| Value::from_strings(&[2], &["1", "2"]).unwrap(), &["'y'", "string"]);
}

#[test]
fn another_shape() {
    fails(|| floats(&[3], &[0.0; 3]), &["y", "2", "3"]);
    fails(|| floats(&[1, 2], &[0.0; 2]), &["y"]);
    fails(|| floats(&[], &[0.0]), &["y"]);
}

#[test]
fn another_kind_of_value() {
    fails(|| Value::sequence(vec![x()]).unwrap(), &["'y'"]);
    fails(|| Value::map(Value::from_slice(&[1], &[1i64]).unwrap(), floats(&[1], &[1.0])).unwrap(), &["'y'"]);
}

#[test]
fn a_name_that_the_model_does_not_have() {
    let (session, y) = (add(&["2"]), Arc::new(x()));
    let wrong = |error: OnnxError| {
        assert_eq!(error.code, OrtErrorCode::InvalidArgument);
        says(&error, &["'Y'", "'x', 'y'"]);
    };
    wrong(session.run(&[("x", &x()), ("Y", &y)], &["sum"]).unwrap_err());
    wrong(session.run_async(&[("x", y.clone()), ("Y", y.clone())], &["sum"]).unwrap_err());
    let mut binding = session.io_binding().unwrap();
    wrong(binding.bind_input("Y", x()).unwrap_err());
    wrong(binding.bind_input_shared("Y", y.clone()).unwrap_err());
    wrong(binding.input("Y").unwrap_err());
    wrong(binding.input_mut::<f32>("Y").unwrap_err());
    wrong(binding.bind_in_place("Y", "sum", x()).unwrap_err());
    wrong(binding.feed_back("sum", "Y").unwrap_err());
    let memory = onnx::MemoryInfo::cpu().unwrap();
    let mut place = [0f32; 2];
    for error in [
        session.run(&[("x", &x()), ("y", &y)], &["sums"]).unwrap_err(),
        binding.bind_output_to("sums", &memory).unwrap_err(),
        binding.bind_output_slice("sums", &[2], &mut place).unwrap_err(),
        binding.output("sums").unwrap_err(),
        binding.take_output("sums").unwrap_err(),
    ] {
        assert_eq!(error.code, OrtErrorCode::InvalidArgument);
        says(&error, &["'sums'", "'sum'"]);
    }
}

#[test]
fn names_that_are_not_c_strings() {
    let session = add(&["2"]);
    assert_eq!(session.run(&[("x\0", &x())], &["sum"]).unwrap_err().code, OrtErrorCode::InvalidArgument);
    let error = onnx::session_builder().with_log_id("a\0b").commit_from_file("no/such/model").unwrap_err();
    assert_eq!(error.code, OrtErrorCode::InvalidArgument);
}

#[test]
fn a_buffer_that_is_too_short() {
    let session = add(&["n"]);
    let (data, mut place) = ([1f32, 2.0], [0f32; 3]);
    let wrong = |error: OnnxError, found: &str| {
        assert_eq!(error.code, OrtErrorCode::InvalidArgument);
        says(&error, &["[2, 2]", "4 elements", found]);
    };
    wrong(Value::from_slice(&[2, 2], &data).unwrap_err(), "but the data has 2");
    wrong(Value::from_vec(&[2, 2], data.to_vec()).unwrap_err(), "but the data has 2");
    wrong(Value::view(&[2, 2], &data).unwrap_err(), "but the data has 2");
    wrong(Value::from_strings(&[2, 2], &["a"]).unwrap_err(), "but the data has 1");
    let mut binding = session.io_binding().unwrap();
    wrong(binding.bind_input_slice("x", &[2, 2], &data).unwrap_err(), "but the data has 2");
    wrong(binding.bind_output_slice("sum", &[2, 2], &mut place).unwrap_err(), "but the data has 3");
    // The buffer matches the bound shape, but the result is larger: nothing may be written beyond the end.
    let mut guarded = [7f32; 4];
    {
        let mut binding = session.io_binding().unwrap();
        binding.bind_input("x", floats(&[4], &[1.0; 4])).unwrap();
        binding.bind_input("y", floats(&[4], &[1.0; 4])).unwrap();
        let (short, _) = guarded.split_at_mut(2);
        binding.bind_output_slice("sum", &[2], short).unwrap();
        binding.run().unwrap_err();
    }
    assert_eq!(guarded[2..], [7.0; 2]);
}

#[test]
fn elements_taken_for_another_type() {
    let session = unary("Neg", common::INT64, &["n"]);
    let mut y = session.run(&[("x", &Value::from_slice(&[1], &[5i64]).unwrap())], &["y"]).unwrap().remove(0);
    says(&y.extract_tensor::<f32>().unwrap_err(), &["Int64", "Float32"]);
    says(&y.extract_tensor_mut::<i32>().unwrap_err(), &["Int64", "Int32"]);
    says(&y.extract_strings().unwrap_err(), &["Int64", "String"]);
    says(&y.extract_sequence().unwrap_err(), &["Tensor", "Sequence"]);
    says(&y.extract_map().unwrap_err(), &["Tensor", "Map"]);
    assert_eq!(y.extract_tensor::<i64>().unwrap(), [-5]);
}

#[test]
fn no_model() {
    let builder = onnx::session_builder;
    let error = builder().commit_from_file("no/such/folder/model.onnx").unwrap_err();
    assert_eq!(error.code, OrtErrorCode::NoSuchFile);
    says(&error, &["no/such/folder/model.onnx"]);
    builder().commit_from_file(std::env::temp_dir()).unwrap_err();
    let good = common::Model::new().input("x", common::FLOAT, &["n"]).output("y", common::FLOAT, &["n"]);
    let good = good.node("Neg", &["x"], &["y"], &[]).bytes();
    for length in [1, good.len() / 2, good.len() - 1] {
        builder().commit_from_memory(&good[..length]).unwrap_err();
    }
    let unknown = common::Model::new().input("x", common::FLOAT, &["n"]).output("y", common::FLOAT, &["n"]);
    says(&builder().commit_from_memory(&unknown.node("NoSuchOperator", &["x"], &["y"], &[]).bytes()).unwrap_err(), &["NoSuchOperator"]);
    builder().commit_from_memory(&good).unwrap();
}

#[test]
fn init_twice() {
    let first = onnx::init().unwrap();
    // Only the arguments of the first call have an effect.
    assert!(std::ptr::eq(first, onnx::init_with(onnx::LogLevel::Fatal, "another").unwrap()));
    assert!(std::ptr::eq(first, onnx::init().unwrap()));
    assert_eq!(onnx::version().unwrap(), onnx::version().unwrap());
}

#[test]
fn threads_make_sessions_and_mistakes_at_once() {
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for _ in 0..10 {
                    let session = add(&["2"]);
                    for (at, (_, run)) in WAYS.iter().enumerate() {
                        if (thread + at) % 2 == 0 {
                            run(&session, Value::from_slice(&[2], &[1i64, 2]).unwrap()).unwrap_err();
                        }
                        assert_eq!(run(&session, x()).unwrap(), [2.0, 4.0]);
                    }
                    onnx::session_builder().commit_from_file("no/such/model").unwrap_err();
                }
            });
        }
    });
}
