//! Builds the models of the tests byte by byte; they are the same each time.
#![allow(dead_code, unreachable_pub, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

pub mod decoder;

use onnx::{Session, Value};

pub const FLOAT: u64 = 1;
pub const INT64: u64 = 7;
pub const STRING: u64 = 8;
pub const BOOL: u64 = 9;
pub const FLOAT16: u64 = 10;

/// A protobuf message.
#[derive(Default, Clone)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    fn text(self, field: u64, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    fn message(self, field: u64, value: &Message) -> Self {
        self.bytes(field, &value.0)
    }
}

/// A model under construction.
#[derive(Default, Clone)]
pub struct Model {
    graph: Message,
}

fn tensor_type(element: u64, dims: &[&str]) -> Message {
    let mut shape = Message::default();
    for dim in dims {
        let one = Message::default();
        let one = match dim.parse::<u64>() {
            Ok(number) => one.number(1, number),
            Err(_) => one.text(2, dim),
        };
        shape = shape.message(1, &one);
    }
    Message::default().message(1, &Message::default().number(1, element).message(2, &shape))
}

impl Model {
    pub fn new() -> Self {
        Model { graph: Message::default().text(2, "graph") }
    }

    fn port(mut self, field: u64, name: &str, kind: &Message) -> Self {
        self.graph = self.graph.message(field, &Message::default().text(1, name).message(2, kind));
        self
    }

    pub fn input(self, name: &str, element: u64, dims: &[&str]) -> Self {
        self.port(11, name, &tensor_type(element, dims))
    }

    pub fn output(self, name: &str, element: u64, dims: &[&str]) -> Self {
        self.port(12, name, &tensor_type(element, dims))
    }

    /// Adds a sequence of float tensors, as an input (field 11) or output (field 12).
    pub fn sequence(self, field: u64, name: &str) -> Self {
        let element = tensor_type(FLOAT, &["n"]);
        self.port(field, name, &Message::default().message(4, &Message::default().message(1, &element)))
    }

    pub fn node(mut self, operator: &str, inputs: &[&str], outputs: &[&str], attributes: &[(&str, i64)]) -> Self {
        let mut node = Message::default();
        for input in inputs {
            node = node.text(1, input);
        }
        for output in outputs {
            node = node.text(2, output);
        }
        node = node.text(4, operator);
        for (name, value) in attributes {
            node = node.message(5, &Message::default().text(1, name).number(3, *value as u64).number(20, 2));
        }
        self.graph = self.graph.message(1, &node);
        self
    }

    /// Adds an initializer with raw bytes.
    pub fn constant(mut self, name: &str, element: u64, dims: &[u64], bytes: &[u8]) -> Self {
        let mut tensor = Message::default();
        for dim in dims {
            tensor = tensor.number(1, *dim);
        }
        tensor = tensor.number(2, element).text(8, name).bytes(9, bytes);
        self.graph = self.graph.message(5, &tensor);
        self
    }

    pub fn bytes(self) -> Vec<u8> {
        let opset = Message::default().text(1, "").number(2, 17);
        let custom = Message::default().text(1, "colour").text(2, "green");
        let model = Message::default().number(1, 8).text(2, "tests").text(4, "org.example").number(5, 3).text(6, "a model of tests");
        model.message(7, &self.graph).message(8, &opset).message(14, &custom).0
    }

    pub fn session(self) -> Session {
        onnx::session_builder().with_intra_threads(2).commit_from_memory(&self.bytes()).unwrap()
    }
}

/// Builds `sum` = `x` + `y`, with these extents.
pub fn add(dims: &[&str]) -> Session {
    add_model(dims).session()
}

/// Builds the model of `add`.
pub fn add_model(dims: &[&str]) -> Model {
    let model = Model::new().input("x", FLOAT, dims).input("y", FLOAT, dims).output("sum", FLOAT, dims);
    model.node("Add", &["x", "y"], &["sum"], &[])
}

/// Builds a model with the output `x`, which is the input itself, and with outputs by operators that change nothing.
pub fn unary(operator: &str, element: u64, dims: &[&str]) -> Session {
    Model::new().input("x", element, dims).output("y", element, dims).node(operator, &["x"], &["y"], &[]).session()
}

/// Builds a cache: `present` is `past` with `row` appended.
pub fn cache() -> Session {
    let model = Model::new().input("past", FLOAT, &["n", "2"]).input("row", FLOAT, &["1", "2"]);
    model.output("present", FLOAT, &["m", "2"]).node("Concat", &["past", "row"], &["present"], &[("axis", 0)]).session()
}

/// Builds a slow model: products of a large square matrix, one after the other.
pub fn slow(products: usize) -> Session {
    let mut model = Model::new().input("x", FLOAT, &["n", "n"]).output("y", FLOAT, &["n", "n"]);
    let mut last = "x".to_owned();
    for at in 0..products {
        let next = if at + 1 == products { "y".to_owned() } else { format!("t{at}") };
        model = model.node("MatMul", &[&last, "x"], &[&next], &[]);
        last = next;
    }
    model.session()
}

pub fn floats(shape: &[usize], data: &[f32]) -> Value {
    Value::from_slice(shape, data).unwrap()
}
