// kc: global = R
// kc: kernel = largest
@group(0) @binding(0) var<storage, read> x: array<x_t>;
@group(0) @binding(1) var<storage, read_write> y: array<y_t>;
@group(0) @binding(2) var<uniform> size: Sizes;

struct Sizes { R: i32, N: i32 }

@compute @workgroup_size(64)
fn largest(@builtin(global_invocation_id) at: vec3<u32>) {
  let r = i32(at.x);
  if (r >= size.R) { return; }
  var best = x[r * size.N];
  for (var i = 1; i < size.N; i++) { best = max(best, x[r * size.N + i]); }
  y[r] = best;
}
