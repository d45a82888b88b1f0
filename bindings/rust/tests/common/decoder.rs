//! A decoder with one layer and one head, in two forms with the same weights: one has a cache that grows, the other a
//! cache of fixed size, of which each step writes one row. A step takes a token and gives the logits of the next one.

use super::{FLOAT, INT64, Model};

/// The number of tokens.
pub const TOKENS: usize = 12;
/// The number of elements in a row of the cache.
pub const WIDTH: usize = 8;
/// The value of the mask of [`with_room`] for rows that have not been written.
pub const HIDDEN: f32 = -1e9;

/// Pseudo-random numbers, the same each time.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        // Constants of Knuth's MMIX generator, whose upper bits are the most random.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Returns a number between -1 and 1.
    #[allow(clippy::cast_precision_loss)]
    pub fn float(&mut self) -> f32 {
        (self.bits() >> 7) as f32 / (1u64 << 23) as f32 - 1.0
    }

    /// Returns the bytes of that many floats.
    pub fn floats(&mut self, count: usize) -> Vec<u8> {
        (0..count).flat_map(|_| self.float().to_le_bytes()).collect()
    }
}

fn weights(model: Model) -> Model {
    // With this seed, the best token is always far ahead of the second, and not always the same.
    let (mut random, tokens, width) = (Random(286), TOKENS as u64, WIDTH as u64);
    let mut table = |name: &str, model: Model, rows: u64, columns: u64| {
        model.constant(name, FLOAT, &[rows, columns], &random.floats((rows * columns) as usize))
    };
    let model = table("embedding", model, tokens, width);
    let model = table("to_row", model, width, width);
    let model = table("to_query", model, width, width);
    table("to_logits", model, width, tokens)
}

/// Adds nodes from `token` to the new `row` and the `query`.
fn begin(model: Model) -> Model {
    let model = model.input("token", INT64, &["1"]).node("Gather", &["embedding", "token"], &["x"], &[]);
    model.node("MatMul", &["x", "to_row"], &["row"], &[]).node("MatMul", &["x", "to_query"], &["query"], &[])
}

/// Adds nodes from the `scores` of the rows in `present` to the logits.
fn end(model: Model, scores: &str) -> Model {
    let model = model.node("Softmax", &[scores], &["part"], &[("axis", 1)]).node("MatMul", &["part", "present"], &["seen"], &[]);
    model.node("Add", &["seen", "x"], &["y"], &[]).node("MatMul", &["y", "to_logits"], &["logits"], &[])
}

fn score(model: Model) -> Model {
    model.node("Transpose", &["present"], &["turned"], &[]).node("MatMul", &["query", "turned"], &["scores"], &[])
}

/// Builds a model with the inputs `token` int64\[1\] and `past` float\[n, 8\], and the outputs `logits` float\[1, 12\]
/// and `present` float\[n + 1, 8\].
pub fn growing() -> Model {
    let model = begin(weights(Model::new())).input("past", FLOAT, &["n", "8"]);
    let model = score(model.node("Concat", &["past", "row"], &["present"], &[("axis", 0)]));
    end(model, "scores").output("logits", FLOAT, &["1", "12"]).output("present", FLOAT, &["m", "8"])
}

/// Builds a model with the inputs `token` int64\[1\], `place` int64\[1, 1\], `mask` float\[1, room\] ([`HIDDEN`] for
/// rows that have not been written) and `past` float\[room, 8\], and the outputs `logits` float\[1, 12\] and `present`,
/// which is `past` with a new row at `place`.
pub fn with_room() -> Model {
    let model = begin(weights(Model::new())).input("place", INT64, &["1", "1"]).input("mask", FLOAT, &["1", "room"]);
    let model = model.input("past", FLOAT, &["room", "8"]).node("ScatterND", &["past", "place", "row"], &["present"], &[]);
    let model = score(model).node("Add", &["scores", "mask"], &["masked"], &[]);
    end(model, "masked").output("logits", FLOAT, &["1", "12"]).output("present", FLOAT, &["room", "8"])
}

/// Returns the most likely token.
#[allow(clippy::cast_possible_wrap)]
pub fn best(logits: &[f32]) -> i64 {
    logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(token, _)| token as i64)
}
