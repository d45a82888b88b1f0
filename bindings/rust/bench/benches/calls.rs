//! Each call through `onnx` and through `ort`, measured by criterion: distributions, and changes since the run before.
//! For how the two compare, see the program `ratios`: here they are seconds apart.

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
