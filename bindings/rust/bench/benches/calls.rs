//! Measures each call through `onnx` and through `ort` with criterion, which shows distributions, and changes since the
//! previous run. Use the program `ratios` to compare the two crates: here, their measurements are seconds apart.

use criterion::{Criterion, criterion_group, criterion_main};

fn calls(criterion: &mut Criterion) {
    for mut case in onnx_bench::cases().unwrap() {
        let mut group = criterion.benchmark_group(&case.name);
        group.bench_function("onnx", |b| b.iter(&mut case.onnx));
        group.bench_function("ort", |b| b.iter(&mut case.ort));
        group.finish();
    }
}

criterion_group!(benches, calls);
criterion_main!(benches);
