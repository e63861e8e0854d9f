// kc: global = N, R
@group(0) @binding(0) var<storage, read> x: array<x_t>;
@group(0) @binding(1) var<storage, read_write> y: array<y_t>;
@group(0) @binding(2) var<uniform> size: Sizes;

struct Sizes { R: i32, N: i32 }

@compute @workgroup_size(8, 8)
fn transpose(@builtin(global_invocation_id) at: vec3<u32>) {
  let i = i32(at.x);
  let r = i32(at.y);
  if (r >= size.R || i >= size.N) { return; }
  y[i * size.R + r] = x[r * size.N + i];
}
