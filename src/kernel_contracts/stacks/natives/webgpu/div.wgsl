@group(0) @binding(0) var<storage, read> a: array<a_t>;
@group(0) @binding(1) var<storage, read> b: array<b_t>;
@group(0) @binding(2) var<storage, read_write> y: array<y_t>;
@group(0) @binding(3) var<uniform> size: Sizes;

struct Sizes { R: i32, N: i32 }

@compute @workgroup_size(256)
fn div(@builtin(global_invocation_id) at: vec3<u32>) {
  let i = i32(at.x);
  if (i >= size.R * size.N) { return; }
  y[i] = a[i] / b[i];
}
