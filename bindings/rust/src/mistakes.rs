//! Completes the messages of failed runs.

use crate::error::{OnnxError, OrtErrorCode};
use crate::ports::{Ports, ValueType};
use crate::value::{Value, ValueKind};

/// Adds the name of an input that was not given, or that was given a value of the wrong type: ONNX Runtime names only
/// the types, or the operator that lacks an input. A message that names an input stays as it is, because a second name
/// would belong to another mistake. `inputs` are those of the run, each with its index in the session.
#[cold]
pub(crate) fn named<'v>(ports: &Ports, inputs: impl Iterator<Item = (usize, &'v Value)>, error: OnnxError) -> OnnxError {
    if ports.inputs.iter().any(|info| names(&error.message, &info.name)) {
        return error;
    }
    let inputs: Vec<(usize, &Value)> = inputs.collect();
    // The library looks for inputs of wrong types first, and has a code of its own for them.
    if error.code == OrtErrorCode::InvalidArgument {
        let mut wrong = inputs.iter().filter_map(|(at, value)| {
            let info = &ports.inputs[*at];
            mismatch(&info.value_type, value).map(|(wanted, found)| (&info.name, wanted, found))
        });
        if let Some((name, wanted, found)) = wrong.next() {
            let message = format!("input '{name}' needs a value of type {wanted}, but {found} was given: {}", error.message);
            return OnnxError::new(error.code, message);
        }
    }
    let Some(missing) = missing(ports, &inputs) else { return error };
    OnnxError::new(error.code, format!("input '{missing}' was not given: {}", error.message))
}

/// Returns whether a message names an input of the model, as Retort (`input 'x'`) or as ONNX Runtime (`input: x Got`).
fn names(message: &str, input: &str) -> bool {
    message.contains(&format!("input '{input}'")) || message.contains(&format!("input: {input} "))
}

/// Says how to make a session with enough threads for asynchronous runs. ONNX Runtime's message names its own function.
#[cold]
pub(crate) fn too_few_threads(error: OnnxError) -> OnnxError {
    if !error.message.contains("RunAsync") && !error.message.contains("asynchronous run") {
        return error;
    }
    let message = format!("run_async needs a session with two or more threads, see SessionBuilder::with_intra_threads: {}", error.message);
    OnnxError::new(error.code, message)
}

/// Returns the first required input that was not given.
fn missing<'s>(ports: &'s Ports, inputs: &[(usize, &Value)]) -> Option<&'s str> {
    let needed = ports.inputs[..ports.required].iter().enumerate();
    let mut open =
        needed.filter(|(at, info)| !matches!(info.value_type, ValueType::Optional(_)) && inputs.iter().all(|(given, _)| given != at));
    open.next().map(|(_, info)| info.name.as_str())
}

/// Returns the wanted type and the type of the value; `None` if they agree, as far as the interface shows.
fn mismatch(wanted: &ValueType, value: &Value) -> Option<(String, String)> {
    let kind = value.kind().ok()?;
    match (wanted, kind) {
        (ValueType::Tensor { element, .. }, ValueKind::Tensor) => {
            let found = value.element_type().ok()?;
            (*element != found).then(|| (format!("{element:?}"), format!("{found:?}")))
        }
        (ValueType::Tensor { element, .. }, found) => Some((format!("{element:?}"), format!("{found:?}"))),
        (ValueType::Sequence(_), ValueKind::Tensor | ValueKind::Map) => Some(("Sequence".to_owned(), format!("{kind:?}"))),
        (ValueType::Map { .. }, ValueKind::Tensor | ValueKind::Sequence) => Some(("Map".to_owned(), format!("{kind:?}"))),
        _ => None,
    }
}
