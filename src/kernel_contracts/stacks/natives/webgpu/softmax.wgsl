// kc: global = R
@group(0) @binding(0) var<storage, read> x: array<x_t>;
@group(0) @binding(1) var<storage, read_write> y: array<y_t>;
@group(0) @binding(2) var<uniform> size: Sizes;

struct Sizes { R: i32, N: i32 }

@compute @workgroup_size(64)
fn softmax(@builtin(global_invocation_id) at: vec3<u32>) {
  let r = i32(at.x);
  if (r >= size.R) { return; }
  let start = r * size.N;
  var top = x[start];
  for (var i = 1; i < size.N; i++) { top = max(top, x[start + i]); }
  var total = 0.0;
  for (var i = 0; i < size.N; i++) {
    let e = exp(x[start + i] - top);
    y[start + i] = e;
    total += e;
  }
  for (var i = 0; i < size.N; i++) { y[start + i] /= total; }
}
