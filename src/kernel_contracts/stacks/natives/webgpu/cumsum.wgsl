// kc: global = R
@group(0) @binding(0) var<storage, read> x: array<x_t>;
@group(0) @binding(1) var<storage, read_write> y: array<y_t>;
@group(0) @binding(2) var<uniform> size: Sizes;

struct Sizes { R: i32, N: i32 }

@compute @workgroup_size(64)
fn cumsum(@builtin(global_invocation_id) at: vec3<u32>) {
  let r = i32(at.x);
  if (r >= size.R) { return; }
  var total = 0.0;
  for (var i = 0; i < size.N; i++) {
    total += x[r * size.N + i];
    y[r * size.N + i] = total;
  }
}
