//! Runs with named inputs, and bound runs.

use std::hint::black_box;

use onnx::{MemoryInfo, Value};
use ort::environment::Environment;
use ort::memory::{AllocationDevice, Allocator, AllocatorType, MemoryType};
use ort::session::Session;
use ort::value::{Tensor, TensorRef};

use crate::common::{FLOAT, Model};
use crate::{Case, Failure};

const NAMES: [&str; 3] = ["x", "y", "z"];

/// Builds a model of one node, which negates its input or adds its three inputs.
fn model(inputs: usize, length: usize) -> Vec<u8> {
    let (length, names) = (length.to_string(), &NAMES[..inputs]);
    let mut model = Model::new();
    for name in names {
        model = model.input(name, FLOAT, &[&length]);
    }
    let operator = if inputs == 1 { "Neg" } else { "Sum" };
    model.output("out", FLOAT, &[&length]).node(operator, names, &["out"], &[]).bytes()
}

fn sessions(environment: &Environment, inputs: usize, length: usize) -> Result<(onnx::Session, Session), Failure> {
    let model = model(inputs, length);
    let ours = onnx::session_builder().with_intra_threads(1).commit_from_memory(&model)?;
    let theirs = Session::builder(environment)?.with_intra_threads(1).map_err(|e| e.to_string())?.commit_from_memory(&model)?;
    Ok((ours, theirs))
}

/// Returns the elements of an input.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn data(input: usize, length: usize) -> Vec<f32> {
    (0..length).map(|at| (at * (input + 1)) as f32 / 8.0).collect()
}

fn values(inputs: usize, length: usize) -> Result<(Vec<Value>, Vec<Tensor<f32>>), Failure> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for input in 0..inputs {
        ours.push(Value::from_slice(&[length], &data(input, length))?);
        theirs.push(Tensor::from_array(([length], data(input, length)))?);
    }
    Ok((ours, theirs))
}

fn same(ours: &[f32], theirs: &[f32]) -> Result<(), Failure> {
    if ours == theirs { Ok(()) } else { Err(format!("the crates differ: {:?}, {:?}", &ours[..4], &theirs[..4]).into()) }
}

fn name(what: &str, inputs: usize, length: usize) -> String {
    format!("{what}, {inputs} input{} of {length}", if inputs == 1 { "" } else { "s" })
}

/// Measures a run by name. The outputs are not read.
pub(crate) fn run(environment: &Environment, inputs: usize, length: usize) -> Result<Case, Failure> {
    let (ours, mut theirs) = sessions(environment, inputs, length)?;
    let (x, y) = values(inputs, length)?;
    let name = name("run", inputs, length);
    if inputs == 1 {
        same(
            ours.run(&[("x", &x[0])], &["out"])?[0].extract_tensor()?,
            theirs.run(ort::inputs![&y[0]])?[0].try_extract_tensor::<f32>()?.1,
        )?;
        return Ok(Case::new(
            name,
            move || drop(black_box(ours.run(&[("x", &x[0])], &["out"]).unwrap())),
            move || drop(black_box(theirs.run(ort::inputs![&y[0]]).unwrap())),
        ));
    }
    same(
        ours.run(&[("x", &x[0]), ("y", &x[1]), ("z", &x[2])], &["out"])?[0].extract_tensor()?,
        theirs.run(ort::inputs![&y[0], &y[1], &y[2]])?[0].try_extract_tensor::<f32>()?.1,
    )?;
    Ok(Case::new(
        name,
        move || drop(black_box(ours.run(&[("x", &x[0]), ("y", &x[1]), ("z", &x[2])], &["out"]).unwrap())),
        move || drop(black_box(theirs.run(ort::inputs![&y[0], &y[1], &y[2]]).unwrap())),
    ))
}

/// Measures what a typical program does: create a view of its data, run, and read the output.
pub(crate) fn step(environment: &Environment, length: usize) -> Result<Case, Failure> {
    let (ours, mut theirs) = sessions(environment, 1, length)?;
    let (a, b) = (data(0, length), data(0, length));
    let (one, other) = ([length], [length]);
    Ok(Case::new(
        format!("view, run and extract, 1 input of {length}"),
        move || {
            let x = Value::view(&one, &a).unwrap();
            let outputs = ours.run(&[("x", &x)], &["out"]).unwrap();
            black_box(outputs[0].extract_tensor::<f32>().unwrap()[1]);
        },
        move || {
            let x = TensorRef::from_array_view((other, &b[..])).unwrap();
            let outputs = theirs.run(ort::inputs![x]).unwrap();
            black_box(outputs[0].try_extract_tensor::<f32>().unwrap().1[1]);
        },
    ))
}

/// Measures a bound run with a preallocated output.
pub(crate) fn bound(environment: &Environment, inputs: usize, length: usize) -> Result<Case, Failure> {
    let (ours, mut theirs) = sessions(environment, inputs, length)?;
    let (x, y) = values(inputs, length)?;
    let mut one = ours.io_binding()?;
    let mut other = theirs.create_binding()?;
    for (at, (x, y)) in x.into_iter().zip(y).enumerate() {
        one.bind_input(NAMES[at], x)?;
        other.bind_input(NAMES[at], &y)?;
    }
    one.bind_output("out", Value::zeros::<f32>(&[length])?)?;
    other.bind_output("out", Tensor::<f32>::new(&Allocator::default(), [length])?)?;
    one.run()?;
    same(one.output("out")?.extract_tensor()?, theirs.run_binding(&other)?[0].try_extract_tensor::<f32>()?.1)?;
    Ok(Case::new(
        name("bound run", inputs, length),
        move || one.run().unwrap(),
        move || drop(black_box(theirs.run_binding(&other).unwrap())),
    ))
}

/// Measures a bound run whose output the library allocates, and reading it.
pub(crate) fn bound_to_memory(environment: &Environment, length: usize) -> Result<Case, Failure> {
    let (ours, mut theirs) = sessions(environment, 1, length)?;
    let (mut x, mut y) = values(1, length)?;
    let mut one = ours.io_binding()?;
    let mut other = theirs.create_binding()?;
    one.bind_input("x", x.remove(0))?;
    other.bind_input("x", &y.remove(0))?;
    one.bind_output_to("out", &MemoryInfo::cpu()?)?;
    other.bind_output_to_device(
        "out",
        &ort::memory::MemoryInfo::new(AllocationDevice::CPU, 0, AllocatorType::Device, MemoryType::Default)?,
    )?;
    Ok(Case::new(
        format!("bound run to a place in memory and extract, 1 input of {length}"),
        move || {
            one.run().unwrap();
            black_box(one.output("out").unwrap().extract_tensor::<f32>().unwrap()[1]);
        },
        move || {
            let outputs = theirs.run_binding(&other).unwrap();
            black_box(outputs[0].try_extract_tensor::<f32>().unwrap().1[1]);
        },
    ))
}
