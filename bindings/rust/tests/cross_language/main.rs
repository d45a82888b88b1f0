//! Tests that the same models on the same inputs give the same bytes in Rust and in C++. The C++ program is
//! `run_cases.cc`, which `test.sh` builds; `RETORT_CPP` names it.

mod cases;
#[path = "../common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};

use cases::{Case, Mode, all};
use onnx::{ElementType, IoBinding, MemoryInfo, Session, Value, ValueKind};

/// A folder that is removed even after a failure.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn raw(element: ElementType) -> i64 {
    match element {
        ElementType::Float32 => 1,
        ElementType::Uint8 => 2,
        ElementType::Int8 => 3,
        ElementType::Int32 => 6,
        ElementType::Int64 => 7,
        ElementType::String => 8,
        ElementType::Bool => 9,
        ElementType::Float16 => 10,
        other => panic!("no case has elements of type {other:?}"),
    }
}

/// Writes the files that `run_cases.cc` reads, with the model and the data.
fn write(case: &Case, folder: &Path) {
    std::fs::create_dir(folder).unwrap();
    std::fs::write(folder.join("model.onnx"), &case.model).unwrap();
    let mut lines = vec![format!("steps {}", case.steps)];
    for (at, input) in case.inputs.iter().enumerate() {
        let extents: Vec<String> = input.shape.iter().map(usize::to_string).collect();
        let (mode, output) = match input.mode {
            Mode::Each => ("each", "-"),
            Mode::Back(output) => ("back", output),
            Mode::Over(output) => ("over", output),
        };
        lines.push(format!("{}\t{}\t{}\t{mode}\t{output}", input.name, raw(input.element), extents.join(",")));
        std::fs::write(folder.join(format!("{at}.bin")), &input.data).unwrap();
    }
    std::fs::write(folder.join("case.tsv"), lines.join("\n") + "\n").unwrap();
}

fn number(to: &mut Vec<u8>, value: impl TryInto<i64, Error: std::fmt::Debug>) {
    to.extend(value.try_into().unwrap().to_ne_bytes());
}

/// The same as `write` in `run_cases.cc`.
fn append(to: &mut Vec<u8>, value: &Value) {
    let kind = value.kind().unwrap();
    number(to, [ValueKind::Tensor, ValueKind::Sequence, ValueKind::Map].iter().position(|k| *k == kind).unwrap() + 1);
    if kind != ValueKind::Tensor {
        let count = value.len().unwrap();
        number(to, count);
        (0..count).for_each(|at| append(to, &value.get(at).unwrap()));
        return;
    }
    let (element, shape) = (value.element_type().unwrap(), value.shape().unwrap());
    number(to, raw(element));
    number(to, shape.len());
    for extent in shape {
        number(to, extent);
    }
    if element == ElementType::String {
        for text in value.extract_strings().unwrap() {
            number(to, text.len());
            to.extend(text.as_bytes());
        }
    } else {
        to.extend(value.extract_bytes().unwrap());
    }
}

fn names(session: &Session) -> Vec<String> {
    session.outputs().iter().map(|o| o.name.clone()).collect()
}

/// Runs all steps with named inputs and outputs.
fn by_name(case: &Case, session: &Session) -> Vec<u8> {
    let (outputs, mut all) = (names(session), Vec::new());
    let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
    let mut values: Vec<Value> = case.inputs.iter().map(|i| i.value(0)).collect();
    for step in 0..case.steps {
        for (value, input) in values.iter_mut().zip(&case.inputs).filter(|(_, i)| matches!(i.mode, Mode::Each)) {
            *value = input.value(step);
        }
        let given: Vec<(&str, &Value)> = case.inputs.iter().map(|i| i.name).zip(&values).collect();
        let results = session.run(&given, &outputs).unwrap();
        for result in &results {
            append(&mut all, result);
        }
        for (name, result) in outputs.iter().zip(results) {
            if let Some(at) = case.inputs.iter().position(|i| matches!(i.mode, Mode::Back(o) | Mode::Over(o) if o == *name)) {
                values[at] = result;
            }
        }
    }
    all
}

fn bind(case: &Case, binding: &mut IoBinding<'_>, outputs: &[String], step: usize) {
    for input in case.inputs.iter().filter(|i| step == 0 || matches!(i.mode, Mode::Each)) {
        match input.mode {
            Mode::Over(output) => binding.bind_in_place(input.name, output, input.value(0)).unwrap(),
            _ => binding.bind_input(input.name, input.value(step)).unwrap(),
        }
    }
    let over = |name: &str| case.inputs.iter().any(|i| matches!(i.mode, Mode::Over(o) if o == name));
    for name in outputs.iter().filter(|name| !over(name)) {
        binding.bind_output_to(name, &MemoryInfo::cpu().unwrap()).unwrap();
    }
}

fn by_binding(case: &Case, session: &Session) -> Vec<u8> {
    let (outputs, mut all) = (names(session), Vec::new());
    let mut binding = session.io_binding().unwrap();
    for step in 0..case.steps {
        bind(case, &mut binding, &outputs, step);
        binding.run().unwrap();
        for name in &outputs {
            append(&mut all, binding.output(name).unwrap());
        }
        for input in &case.inputs {
            if let Mode::Back(output) = input.mode {
                binding.feed_back(output, input.name).unwrap();
            }
        }
    }
    all
}

fn same(name: &str, how: &str, found: &[u8], expected: &[u8]) {
    let differs = found.iter().zip(expected).position(|(a, b)| a != b);
    let lengths = (found.len(), expected.len());
    assert!(differs.is_none() && lengths.0 == lengths.1, "{name} {how}: lengths {lengths:?}, first byte that differs: {differs:?}");
}

#[test]
fn the_same_bytes() {
    let Some(program) = std::env::var_os("RETORT_CPP") else {
        println!("skipped: build tests/cross_language/run_cases.cc and set RETORT_CPP to the program");
        return;
    };
    let library = ["RETORT_LIBRARY", "ORT_DYLIB_PATH"].into_iter().find_map(std::env::var_os).expect("RETORT_LIBRARY names the library");
    let folder = Folder(std::env::temp_dir().join(format!("onnx-cross-language-{}", std::process::id())));
    std::fs::create_dir(&folder.0).unwrap();
    let cases = all();
    for case in &cases {
        write(case, &folder.0.join(case.name));
    }
    let mut command = std::process::Command::new(program);
    let done = command.arg(library).args(cases.iter().map(|case| folder.0.join(case.name))).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for case in &cases {
        let expected = std::fs::read(folder.0.join(case.name).join("cpp.bin")).unwrap();
        assert!(expected.len() > 8 * case.steps, "{}: the program in C++ wrote nothing", case.name);
        let builder = onnx::session_builder().with_intra_threads(1);
        let session = builder.commit_from_file(folder.0.join(case.name).join("model.onnx")).unwrap();
        same(case.name, "bound", &by_binding(case, &session), &expected);
        if !case.only_bound {
            same(case.name, "by name", &by_name(case, &session), &expected);
        }
        println!("{}: {} bytes", case.name, expected.len());
    }
}
