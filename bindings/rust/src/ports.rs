//! Inputs, outputs and metadata of models.

use std::collections::BTreeMap;

use crate::element::ElementType;
use crate::error::{OnnxError, Result};
use crate::ffi::{self, ONNXType};

/// The type of an input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueType {
    /// A tensor.
    Tensor {
        /// The type of the elements.
        element: ElementType,
        /// The extents, outermost first; -1 for an unknown extent.
        shape: Vec<i64>,
        /// The names of the extents, `""` for an extent without a name; as many as there are extents.
        names: Vec<String>,
    },
    /// A sequence of values of one type.
    Sequence(Box<ValueType>),
    /// A map.
    Map {
        /// The type of the keys.
        key: ElementType,
        /// The type of the values.
        value: Box<ValueType>,
    },
    /// A value that may be absent.
    Optional(Box<ValueType>),
    /// A sparse tensor.
    SparseTensor,
    /// A type that a custom operator defines, or that this crate does not know.
    Other,
}

/// An input or output of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueInfo {
    /// The name.
    pub name: String,
    /// The type.
    pub value_type: ValueType,
}

impl ValueInfo {
    /// Returns the type of the elements of a tensor; `None` for other types.
    #[must_use]
    pub fn element_type(&self) -> Option<ElementType> {
        match self.value_type {
            ValueType::Tensor { element, .. } => Some(element),
            _ => None,
        }
    }
}

impl ValueType {
    fn of(info: &ffi::TypeInfo) -> Result<Self> {
        Ok(match info.kind()? {
            ONNXType::ONNX_TYPE_TENSOR => {
                let (element, shape, names) = info.tensor()?;
                ValueType::Tensor { element: ElementType::from_raw(element), shape, names }
            }
            ONNXType::ONNX_TYPE_SEQUENCE => ValueType::Sequence(Box::new(Self::of(&info.sequence()?)?)),
            ONNXType::ONNX_TYPE_OPTIONAL => ValueType::Optional(Box::new(Self::of(&info.optional()?)?)),
            ONNXType::ONNX_TYPE_MAP => {
                let (key, value) = info.map()?;
                ValueType::Map { key: ElementType::from_raw(key), value: Box::new(Self::of(&value)?) }
            }
            ONNXType::ONNX_TYPE_SPARSETENSOR => ValueType::SparseTensor,
            _ => ValueType::Other,
        })
    }
}

/// An output of a model.
pub(crate) struct Output {
    pub(crate) info: ValueInfo,
    /// Whether the library may return the memory of an input as this output. This happens if an output of the model is
    /// also an input of it, or is a sequence of tensors that were inputs.
    pub(crate) may_share: bool,
}

/// The inputs and outputs of a session, in its order.
pub(crate) struct Ports {
    /// The inputs, followed by the initializers that an input may replace.
    pub(crate) inputs: Vec<ValueInfo>,
    pub(crate) outputs: Vec<Output>,
    /// The number of `inputs` that are not initializers.
    pub(crate) required: usize,
}

impl Ports {
    pub(crate) fn of(session: &ffi::Session) -> Result<Self> {
        let info =
            |port: &ffi::Port| Ok(ValueInfo { name: port.name.to_string_lossy().into_owned(), value_type: ValueType::of(&port.info)? });
        let inputs = session.inputs.iter().map(info).collect::<Result<Vec<_>>>()?;
        let outputs = session.outputs.iter().map(info).collect::<Result<Vec<_>>>()?;
        let outputs = outputs.into_iter().map(|info| {
            let named_twice = inputs.iter().any(|i| i.name == info.name);
            Output { may_share: named_twice || !matches!(info.value_type, ValueType::Tensor { .. }), info }
        });
        Ok(Ports { outputs: outputs.collect(), required: session.required, inputs })
    }

    /// Returns the index of an input.
    pub(crate) fn input(&self, name: &str) -> Result<usize> {
        find(&self.inputs, |i| &i.name, name, "input")
    }

    /// Returns the index of an output.
    pub(crate) fn output(&self, name: &str) -> Result<usize> {
        find(&self.outputs, |o| &o.info.name, name, "output")
    }

    /// Returns the error of a run without outputs; `what` says how they are given: "named: name".
    #[cold]
    pub(crate) fn no_output(&self, what: &str) -> OnnxError {
        let names: Vec<&str> = self.outputs.iter().map(|o| o.info.name.as_str()).collect();
        OnnxError::invalid(format!("no output is {what} at least one of '{}'", names.join("', '")))
    }
}

fn find<P>(ports: &[P], name_of: impl Fn(&P) -> &str, name: &str, what: &str) -> Result<usize> {
    ports.iter().position(|p| name_of(p) == name).ok_or_else(|| {
        let names: Vec<&str> = ports.iter().map(name_of).collect();
        OnnxError::invalid(format!("the model has no {what} '{name}'; it has '{}'", names.join("', '")))
    })
}

/// The metadata of a model.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ModelMetadata {
    /// The program that wrote the model.
    pub producer: String,
    /// The name of the graph.
    pub graph_name: String,
    /// The domain of the model, as a reversed domain name.
    pub domain: String,
    /// A description of the model.
    pub description: String,
    /// A description of the graph.
    pub graph_description: String,
    /// The version of the model, as its author numbers it.
    pub version: i64,
    /// Further entries that the author added.
    pub custom: BTreeMap<String, String>,
}

impl ModelMetadata {
    pub(crate) fn of(session: &ffi::Session) -> Result<Self> {
        let raw = session.metadata()?;
        Ok(ModelMetadata {
            producer: raw.producer()?,
            graph_name: raw.graph_name()?,
            domain: raw.domain()?,
            description: raw.description()?,
            graph_description: raw.graph_description()?,
            version: raw.version()?,
            custom: raw.custom()?,
        })
    }
}
