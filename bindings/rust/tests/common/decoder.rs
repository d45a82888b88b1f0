//! A decoder of one layer and one head, in two forms with the same weights: with a cache that grows, and with a cache of
//! fixed size of which each step writes one row. A step takes a token and gives the logits of the next one.

use super::{FLOAT, INT64, Model};

/// How many tokens there are.
pub const TOKENS: usize = 12;
/// How many numbers a row of the cache has.
pub const WIDTH: usize = 8;
/// What the mask of [`with_room`] has where there is no row yet.
pub const HIDDEN: f32 = -1e9;

/// Numbers that look random, the same each time.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        // Constants of Knuth's MMIX generator; the upper bits are the good ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Between -1 and 1.
    #[allow(clippy::cast_precision_loss)]
    pub fn float(&mut self) -> f32 {
        (self.bits() >> 7) as f32 / (1u64 << 23) as f32 - 1.0
    }

    /// The bytes of so many floats.
    pub fn floats(&mut self, count: usize) -> Vec<u8> {
        (0..count).flat_map(|_| self.float().to_le_bytes()).collect()
    }
}

fn weights(model: Model) -> Model {
    // With this seed the best token is always far ahead of the second, and is not always the same.
    let (mut random, tokens, width) = (Random(286), TOKENS as u64, WIDTH as u64);
    let mut table = |name: &str, model: Model, rows: u64, columns: u64| {
        model.constant(name, FLOAT, &[rows, columns], &random.floats((rows * columns) as usize))
    };
    let model = table("embedding", model, tokens, width);
    let model = table("to_row", model, width, width);
    let model = table("to_query", model, width, width);
    table("to_logits", model, width, tokens)
}

/// From `token` to the new `row` and the `query`.
fn begin(model: Model) -> Model {
    let model = model.input("token", INT64, &["1"]).node("Gather", &["embedding", "token"], &["x"], &[]);
    model.node("MatMul", &["x", "to_row"], &["row"], &[]).node("MatMul", &["x", "to_query"], &["query"], &[])
}

/// From the `scores` of the rows in `present` to the logits.
fn end(model: Model, scores: &str) -> Model {
    let model = model.node("Softmax", &[scores], &["part"], &[("axis", 1)]).node("MatMul", &["part", "present"], &["seen"], &[]);
    model.node("Add", &["seen", "x"], &["y"], &[]).node("MatMul", &["y", "to_logits"], &["logits"], &[])
}

fn score(model: Model) -> Model {
    model.node("Transpose", &["present"], &["turned"], &[]).node("MatMul", &["query", "turned"], &["scores"], &[])
}

/// `token` int64\[1\], `past` float\[n, 8\] to `logits` float\[1, 12\], `present` float\[n + 1, 8\].
pub fn growing() -> Model {
    let model = begin(weights(Model::new())).input("past", FLOAT, &["n", "8"]);
    let model = score(model.node("Concat", &["past", "row"], &["present"], &[("axis", 0)]));
    end(model, "scores").output("logits", FLOAT, &["1", "12"]).output("present", FLOAT, &["m", "8"])
}

/// `token` int64\[1\], `place` int64\[1, 1\], `mask` float\[1, room\] ([`HIDDEN`] where there is no row yet), `past`
/// float\[room, 8\] to `logits` float\[1, 12\] and `present`, which is `past` with a new row in that place.
pub fn with_room() -> Model {
    let model = begin(weights(Model::new())).input("place", INT64, &["1", "1"]).input("mask", FLOAT, &["1", "room"]);
    let model = model.input("past", FLOAT, &["room", "8"]).node("ScatterND", &["past", "place", "row"], &["present"], &[]);
    let model = score(model).node("Add", &["scores", "mask"], &["masked"], &[]);
    end(model, "masked").output("logits", FLOAT, &["1", "12"]).output("present", FLOAT, &["room", "8"])
}

/// The likeliest token.
#[allow(clippy::cast_possible_wrap)]
pub fn best(logits: &[f32]) -> i64 {
    logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(token, _)| token as i64)
}
