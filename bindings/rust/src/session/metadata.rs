//! What a model says of itself.

use std::collections::BTreeMap;

/// What the file of a model says about it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ModelMetadata {
    /// The program that wrote it.
    pub producer: String,
    /// The name of its graph.
    pub graph_name: String,
    /// Where it comes from, as a reversed domain name.
    pub domain: String,
    /// What it is for.
    pub description: String,
    /// What its graph does.
    pub graph_description: String,
    /// Its version, as its makers count.
    pub version: i64,
    /// Whatever else its makers wrote into it.
    pub custom: BTreeMap<String, String>,
}
