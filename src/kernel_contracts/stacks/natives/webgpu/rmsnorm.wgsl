// kc: global = R
@group(0) @binding(0) var<storage, read> x: array<x_t>;
@group(0) @binding(1) var<storage, read> weight: array<weight_t>;
@group(0) @binding(2) var<storage, read_write> y: array<y_t>;
@group(0) @binding(3) var<uniform> size: Sizes;

struct Sizes { R: i32, N: i32, eps: f32 }

@compute @workgroup_size(64)
fn rmsnorm(@builtin(global_invocation_id) at: vec3<u32>) {
  let r = i32(at.x);
  if (r >= size.R) { return; }
  let start = r * size.N;
  var squares = 0.0;
  for (var i = 0; i < size.N; i++) { squares += x[start + i] * x[start + i]; }
  let scale = 1.0 / sqrt(squares / f32(size.N) + size.eps);
  for (var i = 0; i < size.N; i++) { y[start + i] = x[start + i] * scale * weight[i]; }
}
