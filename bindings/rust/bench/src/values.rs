//! Creating values and reading their elements.

use std::hint::black_box;

use onnx::Value;
use ort::memory::Allocator;
use ort::value::{Tensor, TensorRef};

use crate::calls::data;
use crate::{Case, Failure};

/// Measures four calls: creating a tensor by copy, from a vector, and over borrowed memory, and reading the elements of
/// one.
pub(crate) fn all(length: usize) -> Result<[Case; 4], Failure> {
    let shape = [length];
    Ok([copied(shape, length), taken_over(shape, length), viewed(shape, length), extracted(shape, length)?])
}

fn copied(shape: [usize; 1], length: usize) -> Case {
    let (a, b, allocator) = (data(0, length), data(0, length), Allocator::default());
    Case::new(
        format!("value by copy, {length}"),
        move || drop(black_box(Value::from_slice(&shape, &a).unwrap())),
        move || {
            let mut made = Tensor::<f32>::new(&allocator, shape).unwrap();
            made.extract_tensor_mut().1.copy_from_slice(&b);
            drop(black_box(made));
        },
    )
}

fn taken_over(shape: [usize; 1], length: usize) -> Case {
    let (a, b) = (data(0, length), data(0, length));
    Case::new(
        format!("value of a vector, {length}"),
        move || drop(black_box(Value::from_vec(&shape, a.clone()).unwrap())),
        move || drop(black_box(Tensor::from_array((shape, b.clone())).unwrap())),
    )
}

fn viewed(shape: [usize; 1], length: usize) -> Case {
    let (a, b) = (data(0, length), data(0, length));
    Case::new(
        format!("value over borrowed memory, {length}"),
        move || drop(black_box(Value::view(&shape, &a).unwrap())),
        move || drop(black_box(TensorRef::from_array_view((shape, &b[..])).unwrap())),
    )
}

fn extracted(shape: [usize; 1], length: usize) -> Result<Case, Failure> {
    let ours = Value::from_slice(&shape, &data(0, length))?;
    let theirs = Tensor::from_array((shape, data(0, length)))?.into_dyn();
    Ok(Case::new(
        format!("extract of {length}"),
        move || {
            black_box(black_box(&ours).extract_tensor::<f32>().unwrap());
        },
        move || {
            black_box(black_box(&theirs).try_extract_tensor::<f32>().unwrap());
        },
    ))
}
