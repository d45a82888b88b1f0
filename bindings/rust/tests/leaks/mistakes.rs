//! Repeats mistakes in each step. Each must be an error and must not leak.

use std::sync::Arc;

use onnx::{
    Allocator, ElementType, IoBinding, LogLevel, MemoryInfo, ModelCompiler, OnnxError, RunFuture, RunOptions, Session, SessionBuilder,
    Value,
};

use super::common::{FLOAT, INT64, Model, STRING, floats};
use super::flat::stays_flat;

struct Scene {
    session: Session,
    gather: Session,
    single: Session,
    x: Arc<Value>,
    long: Arc<Value>,
    integers: Value,
    texts: Value,
    place: Value,
    terminated: RunOptions,
    broken: Vec<u8>,
}

type Mistake = fn(&Scene) -> Result<(), OnnxError>;

fn bound(scene: &Scene) -> IoBinding<'static> {
    let mut binding = scene.session.io_binding().unwrap();
    binding.bind_input_shared("x", scene.x.clone()).unwrap();
    binding.bind_input("y", floats(&[2], &[1.0, 2.0])).unwrap();
    binding.bind_output("sum", Value::zeros::<f32>(&[2]).unwrap()).unwrap();
    binding
}

fn run(scene: &Scene, name: &str, y: &Value) -> Result<(), OnnxError> {
    scene.session.run(&[("x", &scene.x), (name, y)], &["sum"]).map(drop)
}

const OF_RUNS: [Mistake; 10] = [
    |s| run(s, "z", &s.x),
    |s| run(s, "x", &s.x),
    |s| run(s, "y", &s.long),
    |s| run(s, "y", &s.integers),
    |s| run(s, "y", &s.texts),
    |s| s.session.run(&[("x", &s.x)], &["sum"]).map(drop),
    |s| s.session.run(&[("x", &s.x), ("y", &s.x)], &["total"]).map(drop),
    |s| s.session.run(&[("x", &s.x), ("y", &s.x)], &["sum", "sum"]).map(drop),
    |s| s.session.run_with_options(&s.terminated, &[("x", &s.x), ("y", &s.x)], &["sum"]).map(drop),
    // This fails in the middle of a run, when one output already exists.
    |s| s.gather.run(&[("table", &s.x), ("place", &s.place)], &["copy", "g"]).map(drop),
];

const OF_BINDINGS: [Mistake; 11] = [
    |s| bound(s).bind_input("z", floats(&[1], &[1.0])),
    |s| bound(s).bind_output("sum", Value::zeros::<i64>(&[2])?),
    |s| bound(s).bind_output_to("total", &MemoryInfo::cpu()?),
    |s| bound(s).bind_output_slice("sum", &[2], &mut [0f32; 0]),
    |s| bound(s).input_mut::<f32>("x").map(drop),
    |s| bound(s).feed_back("sum", "x"),
    |s| bound(s).run_with_options(&s.terminated),
    |s| s.session.io_binding()?.run(),
    |s| {
        let mut binding = bound(s);
        binding.bind_input("y", floats(&[3], &[0.0; 3])).and_then(|()| binding.run())
    },
    |s| {
        let mut binding = bound(s);
        binding.bind_output("sum", Value::zeros::<f32>(&[3])?).and_then(|()| binding.run())
    },
    |s| {
        let mut binding = bound(s);
        binding.bind_input("y", Value::from_slice(&[2], &[1i64, 2])?).and_then(|()| binding.run())
    },
];

const OF_VALUES: [Mistake; 11] = [
    |_| Value::from_slice(&[3], &[0f32; 2]).map(drop),
    |_| Value::from_vec(&[3], vec![0f32; 2]).map(drop),
    |_| Value::view(&[usize::MAX], &[0f32; 2]).map(drop),
    |_| Value::from_strings(&[3], &["a text that is too long for a small string"]).map(drop),
    |_| Value::from_bytes(ElementType::Bool, &[3], &[1]).map(drop),
    |_| Value::zeros::<f32>(&[usize::MAX, 2]).map(drop),
    |_| Value::sequence(vec![floats(&[1], &[1.0]), Value::from_slice(&[1], &[1i64])?]).map(drop),
    |_| Value::map(floats(&[1], &[1.0]), floats(&[2], &[1.0, 2.0])).map(drop),
    |s| s.x.extract_tensor::<i64>().map(drop),
    |s| s.texts.extract_sequence().map(drop),
    |s| onnx::copy_tensors(&[&s.x], &mut [&mut Value::zeros::<f32>(&[3])?]),
];

/// Returns a builder of sessions without extra threads, because starting threads would take longer than the failure.
fn alone() -> SessionBuilder {
    onnx::session_builder().with_intra_threads(1)
}

const OF_THE_REST: [Mistake; 14] = [
    |_| alone().commit_from_file("no/such/file.onnx").map(drop),
    |_| alone().commit_from_memory(b"no model").map(drop),
    |s| alone().commit_from_memory(&s.broken).map(drop),
    |s| alone().with_provider("NoSuchProvider", &[("a", "b")]).commit_from_memory(&s.broken).map(drop),
    |s| alone().with_config_entry("user_compute_stream", "1").commit_from_memory(&s.broken).map(drop),
    |s| alone().with_operator_library("no/such/library.so").commit_from_memory(&s.broken).map(drop),
    |_| ModelCompiler::from_file(alone(), "no/such/file.onnx").compile_to_memory().map(drop),
    |s| ModelCompiler::from_memory(alone(), &s.broken[..]).compile_to_memory().map(drop),
    |_| MemoryInfo::named("NoSuchMemory", 0).map(drop),
    |_| Allocator::shared(&MemoryInfo::named("NoSuchMemory", 0)?).map(drop),
    |s| s.session.run_async(&[("z", s.x.clone())], &["sum"]).map(drop),
    // The call itself refuses this: a session of one thread has no thread for the run.
    |s| s.single.run_async(&[("table", s.x.clone())], &["copy"]).map(drop),
    |s| s.session.run_async(&[("x", s.x.clone()), ("y", s.x.clone())], &[]).and_then(RunFuture::wait).map(drop),
    |s| s.session.run_async(&[("x", s.x.clone()), ("y", s.long.clone())], &["sum"]).and_then(RunFuture::wait).map(drop),
];

/// Creates a session that only logs fatal errors, because official libraries log each failing run.
fn quiet(model: &Model, threads: usize) -> Session {
    let builder = onnx::session_builder().with_log_level(LogLevel::Fatal);
    builder.with_intra_threads(threads).commit_from_memory(&model.clone().bytes()).unwrap()
}

fn scene() -> Scene {
    onnx::init().unwrap().set_log_level(LogLevel::Fatal).unwrap();
    let gather = Model::new().input("table", FLOAT, &["n"]).input("place", INT64, &["m"]);
    let gather = gather.output("copy", FLOAT, &["n"]).output("g", FLOAT, &["m"]).node("Neg", &["table"], &["copy"], &[]);
    let gather = gather.node("Gather", &["table", "place"], &["g"], &[]);
    let sum = Model::new().input("x", FLOAT, &["2"]).input("y", FLOAT, &["2"]).output("sum", FLOAT, &["2"]);
    let broken = Model::new().input("x", STRING, &["2"]).output("y", FLOAT, &["2"]).node("Neg", &["nothing"], &["y"], &[]);
    let terminated = RunOptions::new().unwrap();
    terminated.terminate().unwrap();
    Scene {
        session: quiet(&sum.node("Add", &["x", "y"], &["sum"], &[]), 2),
        gather: quiet(&gather, 2),
        single: quiet(&gather, 1),
        x: Arc::new(floats(&[2], &[1.0, 2.0])),
        long: Arc::new(floats(&[3], &[0.0; 3])),
        integers: Value::from_slice(&[2], &[1i64, 2]).unwrap(),
        texts: Value::from_strings(&[2], &["a", "b"]).unwrap(),
        place: Value::from_slice(&[1], &[1000i64]).unwrap(),
        terminated,
        broken: broken.bytes(),
    }
}

#[test]
fn mistakes_do_not_leak() {
    let scene = scene();
    let all: Vec<Mistake> = OF_RUNS.into_iter().chain(OF_BINDINGS).chain(OF_VALUES).chain(OF_THE_REST).collect();
    stays_flat("mistakes", |i| {
        let which = i % all.len();
        assert!(all[which](&scene).is_err(), "mistake {which} of {} was none", all.len());
    });
}
