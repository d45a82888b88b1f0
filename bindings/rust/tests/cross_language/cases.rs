//! The models and their inputs, which come from a seeded generator.

use std::path::Path;

use onnx::{ElementType, Value};

use super::common::decoder::{HIDDEN, Random, TOKENS, WIDTH, growing, with_room};
use super::common::{FLOAT, FLOAT16, INT64, Model, STRING};

/// How an input changes from step to step; the names are those in `case.tsv`.
pub(crate) enum Mode {
    /// The input has a different tensor in each step.
    Each,
    /// The first step has a tensor; later steps get the previous value of this output.
    Back(&'static str),
    /// One tensor, to whose memory this output is written.
    Over(&'static str),
}

pub(crate) struct Input {
    pub(crate) name: &'static str,
    pub(crate) element: ElementType,
    pub(crate) shape: Vec<usize>,
    pub(crate) mode: Mode,
    /// The data of all steps. Strings end with a NUL.
    pub(crate) data: Vec<u8>,
}

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) model: Vec<u8>,
    pub(crate) steps: usize,
    pub(crate) inputs: Vec<Input>,
    /// Whether past and present must be one buffer, which only bindings support.
    pub(crate) only_bound: bool,
}

impl Input {
    /// Returns the tensor of a step.
    pub(crate) fn value(&self, step: usize) -> Value {
        let step = if matches!(self.mode, Mode::Each) { step } else { 0 };
        let count = self.shape.iter().product::<usize>();
        if self.element == ElementType::String {
            let texts: Vec<&str> = std::str::from_utf8(&self.data).unwrap().split_terminator('\0').collect();
            return Value::from_strings(&self.shape, &texts[step * count..(step + 1) * count]).unwrap();
        }
        let bytes = count * self.element.bits() / 8;
        Value::from_bytes(self.element, &self.shape, &self.data[step * bytes..(step + 1) * bytes]).unwrap()
    }
}

fn input(name: &'static str, element: ElementType, shape: &[usize], mode: Mode, data: Vec<u8>) -> Input {
    Input { name, element, shape: shape.to_vec(), mode, data }
}

/// Returns floats, different ones in each step.
fn floats(random: &mut Random, name: &'static str, steps: usize, shape: &[usize]) -> Input {
    let count = shape.iter().product::<usize>();
    input(name, ElementType::Float32, shape, Mode::Each, random.floats(steps * count))
}

/// Returns a cache that is empty or zero at first.
fn cache(name: &'static str, shape: &[usize], mode: Mode) -> Input {
    let count = shape.iter().product::<usize>();
    input(name, ElementType::Float32, shape, mode, vec![0; 4 * count])
}

fn numbers<const N: usize>(values: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
    values.flatten().collect()
}

fn file(name: &str) -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// Two layers followed by a softmax, with free extents.
fn layers(random: &mut Random) -> Case {
    let model = Model::new().input("x", FLOAT, &["n", "24"]).output("y", FLOAT, &["n", "10"]);
    let model = model.constant("a", FLOAT, &[24, 40], &random.floats(960)).constant("b", FLOAT, &[40], &random.floats(40));
    let model = model.constant("c", FLOAT, &[40, 10], &random.floats(400)).node("MatMul", &["x", "a"], &["xa"], &[]);
    let model = model.node("Add", &["xa", "b"], &["sum"], &[]).node("Relu", &["sum"], &["r"], &[]);
    let model = model.node("MatMul", &["r", "c"], &["rc"], &[]).node("Softmax", &["rc"], &["y"], &[("axis", 1)]);
    Case { name: "layers", model: model.bytes(), steps: 3, inputs: vec![floats(random, "x", 3, &[5, 24])], only_bound: false }
}

/// Returns the bytes of 16-bit floats of both signs, with magnitudes from a quarter to one.
fn halves(random: &mut Random, count: usize) -> Vec<u8> {
    let one = |bits: u64| u16::try_from(0x3400 + bits % 0x800 + (bits >> 12) % 2 * 0x8000).unwrap();
    numbers((0..count).map(|_| one(random.bits()).to_le_bytes()))
}

fn half(random: &mut Random) -> Case {
    let model = Model::new().input("x", FLOAT16, &["n", "16"]).output("y", FLOAT16, &["n", "12"]);
    let model = model.constant("w", FLOAT16, &[16, 12], &halves(random, 192)).node("MatMul", &["x", "w"], &["xw"], &[]);
    let x = input("x", ElementType::Float16, &[4, 16], Mode::Each, halves(random, 2 * 64));
    Case { name: "half", model: model.node("Tanh", &["xw"], &["y"], &[]).bytes(), steps: 2, inputs: vec![x], only_bound: false }
}

/// A product in 8-bit arithmetic, with all intermediate values as outputs.
fn quantised(random: &mut Random) -> Case {
    const INT8: u64 = 3;
    let weights: Vec<u8> = (0..320).map(|_| random.bits().to_le_bytes()[0]).collect();
    let model = Model::new().input("x", FLOAT, &["n", "32"]).output("y", FLOAT, &["n", "10"]).output("q", 2, &["n", "32"]);
    let model = model.constant("w", INT8, &[32, 10], &weights).constant("by", FLOAT, &[], &0.01f32.to_le_bytes());
    let model = model.node("DynamicQuantizeLinear", &["x"], &["q", "scale", "zero"], &[]);
    let model = model.node("MatMulInteger", &["q", "w", "zero"], &["sums"], &[]).node("Cast", &["sums"], &["f"], &[("to", 1)]);
    let model = model.node("Mul", &["scale", "by"], &["s"], &[]).node("Mul", &["f", "s"], &["y"], &[]);
    Case { name: "quantised", model: model.bytes(), steps: 2, inputs: vec![floats(random, "x", 2, &[3, 32])], only_bound: false }
}

/// Strings, some of which occur several times, so that only the run determines the number of results.
fn texts() -> Case {
    let model =
        Model::new().input("x", STRING, &["n"]).output("u", STRING, &["m"]).output("at", INT64, &["m"]).output("twice", STRING, &["k"]);
    let model = model.node("Unique", &["x"], &["u", "at"], &[("sorted", 1)]).node("Concat", &["x", "u"], &["twice"], &[("axis", 0)]);
    let data = "one\0two\0\0zwölf\0two\0a text that is too long for a small string\0\0x\0x\0x\0y\0one\0";
    let x = input("x", ElementType::String, &[6], Mode::Each, data.as_bytes().to_vec());
    Case { name: "texts", model: model.bytes(), steps: 2, inputs: vec![x], only_bound: false }
}

/// Outputs whose extent depends on the data, and differs in each step.
fn places(random: &mut Random) -> Case {
    let model = Model::new().input("x", FLOAT, &["n", "6"]).output("y", INT64, &["2", "found"]);
    let model = model.node("Relu", &["x"], &["r"], &[]).node("NonZero", &["r"], &["y"], &[]);
    Case { name: "places", model: model.bytes(), steps: 3, inputs: vec![floats(random, "x", 3, &[7, 6])], only_bound: false }
}

fn tokens(random: &mut Random, steps: usize) -> Input {
    let data = numbers((0..steps).map(|_| (random.bits() % TOKENS as u64).to_le_bytes()));
    input("token", ElementType::Int64, &[1], Mode::Each, data)
}

/// A decoder whose cache grows.
fn grown(random: &mut Random) -> Case {
    let past = cache("past", &[0, WIDTH], Mode::Back("present"));
    Case { name: "grown", model: growing().bytes(), steps: 24, inputs: vec![tokens(random, 24), past], only_bound: false }
}

/// A decoder whose cache stays in one place.
fn one_buffer(random: &mut Random) -> Case {
    const ROOM: usize = 32;
    let place = input("place", ElementType::Int64, &[1, 1], Mode::Each, numbers((0..24i64).map(i64::to_le_bytes)));
    let shown = (0..24).flat_map(|step| (0..ROOM).map(move |at| if at <= step { 0f32 } else { HIDDEN }));
    let mask = input("mask", ElementType::Float32, &[1, ROOM], Mode::Each, numbers(shown.map(f32::to_le_bytes)));
    let past = cache("past", &[ROOM, WIDTH], Mode::Over("present"));
    Case {
        name: "one_buffer",
        model: with_room().bytes(),
        steps: 24,
        inputs: vec![tokens(random, 24), place, mask, past],
        only_bound: false,
    }
}

/// A decoder with `GroupQueryAttention`, which updates the caches in place.
fn attention(random: &mut Random) -> Case {
    let count = |name, first: i32| input(name, ElementType::Int32, &[1], Mode::Each, numbers((first..first + 12).map(i32::to_le_bytes)));
    let mut inputs = vec![floats(random, "x", 12, &[1, 1, 16]), count("last", 0), count("total", 1)];
    for (past, present) in [("past_key", "present_key"), ("past_value", "present_value")] {
        inputs.push(cache(past, &[1, 2, 16, 8], Mode::Over(present)));
    }
    Case { name: "attention", model: file("examples/io_binding/decoder.onnx"), steps: 12, inputs, only_bound: true }
}

/// Returns all cases; those with operators that the library does not have are left out.
pub(crate) fn all() -> Vec<Case> {
    let mut random = Random(20);
    let mut cases = vec![layers(&mut random), half(&mut random), quantised(&mut random), texts(), places(&mut random)];
    let digits = vec![floats(&mut random, "image", 2, &[3, 1, 8, 8])];
    cases.push(Case { name: "digits", model: file("examples/digits/digits.onnx"), steps: 2, inputs: digits, only_bound: false });
    let maps = vec![floats(&mut random, "x", 2, &[4, 3])];
    cases.push(Case { name: "maps", model: file("tests/clients/data/zipmap.onnx"), steps: 2, inputs: maps, only_bound: false });
    cases.extend([grown(&mut random), one_buffer(&mut random)]);
    if onnx::api_version().unwrap() >= 20 {
        cases.push(attention(&mut random));
    }
    cases
}
