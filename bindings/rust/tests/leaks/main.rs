//! Tests that memory does not grow over a hundred thousand cycles of plain runs with values of each kind, of bindings,
//! of mistakes, and of asynchronous runs.

#[path = "../common/mod.rs"]
mod common;
#[allow(unsafe_code, unreachable_pub)]
mod ffi;
mod flat;
mod mistakes;

use std::sync::Arc;

use common::{BOOL, FLOAT, FLOAT16, INT64, Model, STRING, add, floats, unary};
use flat::stays_flat;
use onnx::{Allocator, ElementType, IoBinding, MemoryInfo, RunOptions, Session, Value};

#[global_allocator]
static COUNTING: ffi::Counting = ffi::Counting;

const FOUR: [f32; 4] = [1.0, 2.0, 3.0, 4.0];
const TEXTS: [&str; 3] = ["a", "", "a text that is too long for a small string of the library"];

/// Slow operations run once in this many cycles.
const RARELY: usize = 250;

fn four() -> Value {
    floats(&[4], &FOUR)
}

struct Sessions {
    add: Session,
    texts: Session,
    truth: Session,
    half: Session,
    same: Session,
    pack: Session,
    unpack: Session,
}

impl Sessions {
    fn new() -> Self {
        let zero = 0i64.to_le_bytes();
        let pack = Model::new().input("x", FLOAT, &["n"]).sequence(12, "s").node("SequenceConstruct", &["x", "x"], &["s"], &[]);
        let unpack = Model::new().sequence(11, "s").output("y", FLOAT, &["n"]).constant("zero", INT64, &[], &zero);
        let same = Model::new().input("x", FLOAT, &["n"]).output("x", FLOAT, &["n"]).output("z", FLOAT, &["n"]);
        Sessions {
            add: add(&["n"]),
            texts: unary("Identity", STRING, &["n"]),
            truth: unary("Not", BOOL, &["n"]),
            half: unary("Neg", FLOAT16, &["n"]),
            same: same.node("Neg", &["x"], &["z"], &[]).session(),
            pack: pack.session(),
            unpack: unpack.node("SequenceAt", &["s", "zero"], &["y"], &[]).session(),
        }
    }

    fn sum(&self, x: &Value, y: &Value) {
        let sum = self.add.run(&[("x", x), ("y", y)], &["sum"]).unwrap().remove(0);
        assert_eq!(sum.extract_tensor::<f32>().unwrap(), [2.0, 4.0, 6.0, 8.0]);
    }
}

fn strings(session: &Session) {
    let x = Value::from_strings(&[3], &TEXTS).unwrap();
    let y = session.run(&[("x", &x)], &["y"]).unwrap().remove(0);
    assert_eq!(y.try_clone().unwrap().extract_strings().unwrap(), TEXTS);
}

fn sequences(sessions: &Sessions) {
    let s = sessions.pack.run(&[("x", &four())], &["s"]).unwrap().remove(0);
    assert_eq!(s.extract_sequence().unwrap().len(), 2);
    let own = Value::sequence(vec![Value::from_vec(&[4], FOUR.to_vec()).unwrap(), four()]).unwrap();
    for sequence in [&s, &own] {
        let mut y = sessions.unpack.run(&[("s", sequence)], &["y"]).unwrap().remove(0);
        y.extract_tensor_mut::<f32>().unwrap()[0] = 5.0;
    }
}

fn maps() {
    let map = Value::map(Value::from_strings(&[3], &TEXTS).unwrap(), Value::from_vec(&[3], vec![1f32; 3]).unwrap()).unwrap();
    let (keys, values) = map.try_clone().unwrap().extract_map().unwrap();
    assert_eq!((keys.len().unwrap(), values.len().unwrap()), (3, 3));
}

fn other_elements(sessions: &Sessions) {
    let truth = Value::from_slice(&[2], &[true, false]).unwrap();
    let y = sessions.truth.run(&[("x", &truth)], &["y"]).unwrap();
    assert_eq!(y[0].extract_tensor::<bool>().unwrap(), [false, true]);
    let half = Value::from_bytes(ElementType::Float16, &[1], &[0, 0x3c]).unwrap();
    let y = sessions.half.run(&[("x", &half)], &["y"]).unwrap();
    assert_eq!(y[0].extract_bytes().unwrap(), [0, 0xbc]);
}

fn memory(sessions: &Sessions) {
    let allocator = Allocator::of_session(&sessions.add, &MemoryInfo::cpu().unwrap()).unwrap();
    let mut copy = Value::new_in::<f32>(&allocator, &[4]).unwrap();
    drop(allocator);
    onnx::copy_tensors(&[&four()], &mut [&mut copy]).unwrap();
    sessions.sum(&copy, &copy);
    let description = format!("{copy:?} {:?}", copy.memory().unwrap());
    assert!(description.contains("[4]"), "{description}");
}

fn with_options(sessions: &Sessions) {
    let mut options = RunOptions::new().unwrap();
    options.set_tag("cycle").unwrap();
    options.set_config_entry("some.key", "1").unwrap();
    let x = four();
    sessions.add.run_with_options(&options, &[("x", &x), ("y", &x)], &["sum"]).unwrap();
}

/// Creates a session, reads all its properties, and runs it on another thread.
fn session() {
    let session = add(&["n"]);
    assert_eq!((session.inputs().len(), session.metadata().unwrap().version), (2, 3));
    let value = Value::from_vec(&[1], vec![5f32]).unwrap();
    let model = Model::new().input("x", FLOAT, &["1"]).output("y", FLOAT, &["1"]).constant("w", FLOAT, &[1], &[0; 4]);
    let builder = onnx::session_builder().with_initializer("w", value).with_intra_threads(1);
    let other = builder.commit_from_memory(&model.node("Add", &["x", "w"], &["y"], &[]).bytes()).unwrap();
    std::thread::spawn(move || other.run(&[("x", &floats(&[1], &[1.0]))], &["y"]).unwrap().len()).join().unwrap();
}

#[test]
fn values_of_each_kind() {
    let (sessions, data) = (Sessions::new(), FOUR);
    stays_flat("values of each kind", |i| {
        match i % 10 {
            0 => sessions.sum(&four(), &Value::view(&[4], &data).unwrap()),
            1 => sessions.sum(&Value::from_vec(&[4], FOUR.to_vec()).unwrap(), &four()),
            2 => strings(&sessions.texts),
            3 => sequences(&sessions),
            4 => maps(),
            5 => other_elements(&sessions),
            6 => memory(&sessions),
            7 => with_options(&sessions),
            8 => {
                let outputs = sessions.same.run(&[("x", &four())], &["x", "z"]).unwrap();
                assert_eq!(outputs[0].extract_tensor::<f32>().unwrap(), FOUR);
            }
            _ => sessions.sum(&Value::zeros::<f32>(&[4]).map(filled).unwrap(), &four()),
        }
        if i % RARELY == 0 {
            session();
        }
    });
}

fn filled(mut value: Value) -> Value {
    value.extract_tensor_mut::<f32>().unwrap().copy_from_slice(&FOUR);
    value
}

#[test]
fn repeated_runs() {
    let (session, x) = (add(&["n"]), four());
    stays_flat("one run", |_| {
        session.run(&[("x", &x), ("y", &x)], &["sum"]).unwrap();
    });
    let mut binding = session.io_binding().unwrap();
    bind(&mut binding, &FOUR);
    stays_flat("one bound run", |i| {
        if i % 2 == 0 {
            binding.bind_output_to("sum", &MemoryInfo::cpu().unwrap()).unwrap();
        }
        binding.run().unwrap();
        assert_eq!(binding.output("sum").unwrap().extract_tensor::<f32>().unwrap()[3], 8.0);
    });
}

fn bind<'a>(binding: &mut IoBinding<'a>, data: &'a [f32]) {
    binding.bind_input_slice("x", &[4], data).unwrap();
    binding.bind_input("y", Value::from_vec(&[4], FOUR.to_vec()).unwrap()).unwrap();
    binding.bind_output("sum", Value::zeros::<f32>(&[4]).unwrap()).unwrap();
}

/// Uses a binding in one of several ways, after it was bound and run.
fn used(i: usize, binding: &mut IoBinding<'_>, shared: &Arc<Value>) {
    match i % 8 {
        0 => drop(binding.take_output("sum").unwrap()),
        1 => {
            binding.bind_output_to("sum", &MemoryInfo::cpu().unwrap()).unwrap();
            binding.run().unwrap();
            drop(binding.take_output("sum").unwrap());
        }
        2 => binding.feed_back("sum", "y").unwrap(),
        3 => {
            binding.bind_output_to("sum", &MemoryInfo::cpu().unwrap()).unwrap();
            binding.run().unwrap();
            binding.feed_back("sum", "y").unwrap();
            binding.run().unwrap();
        }
        4 => {
            binding.clear_outputs().unwrap();
            binding.clear_inputs().unwrap();
        }
        5 => {
            binding.bind_in_place("y", "sum", four()).unwrap();
            binding.run().unwrap();
            // Replaces a value that is bound in place by another.
            binding.bind_in_place("y", "sum", four()).unwrap();
        }
        6 => {
            binding.bind_input_shared("y", Arc::clone(shared)).unwrap();
            binding.refresh_input("y").unwrap();
            binding.run_with_options(&RunOptions::new().unwrap()).unwrap();
        }
        _ => {
            binding.input_mut::<f32>("y").unwrap()[0] = 2.0;
            binding.run().unwrap();
        }
    }
}

#[test]
fn bindings_made_and_dropped() {
    let (session, data, shared) = (add(&["n"]), FOUR, Arc::new(four()));
    stays_flat("bindings", |i| {
        let mut written = FOUR;
        let mut binding = session.io_binding().unwrap();
        bind(&mut binding, &data);
        binding.run().unwrap();
        used(i, &mut binding, &shared);
        binding.bind_input_shared("y", Arc::clone(&shared)).err();
        binding.bind_output_slice("sum", &[4], &mut written).unwrap();
        if i % 8 != 4 {
            binding.run().unwrap();
        }
    });
    assert_eq!(Arc::strong_count(&shared), 1);
}

#[test]
fn asynchronous_runs() {
    // Threads that wait by spinning would take processor time from those that work.
    let builder = onnx::session_builder().with_intra_threads(2);
    let builder = builder.with_config_entry("session.intra_op.allow_spinning", "0");
    let model = Model::new().input("x", FLOAT, &["n"]).output("y", FLOAT, &["n"]).node("Neg", &["x"], &["y"], &[]);
    let (session, x) = (builder.commit_from_memory(&model.bytes()).unwrap(), Arc::new(four()));
    stays_flat("runs whose results are dropped", |i| {
        let future = session.run_async(&[("x", x.clone())], &["y"]).unwrap();
        match i % 4 {
            0 => drop(future.wait().unwrap()),
            1 => {
                future.cancel().unwrap();
                future.wait().ok();
            }
            _ => drop(future),
        }
    });
    assert_eq!(Arc::strong_count(&x), 1);
}
