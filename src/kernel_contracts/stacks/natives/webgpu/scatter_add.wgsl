// kc: global = D, V
@group(0) @binding(0) var<storage, read> base: array<base_t>;
@group(0) @binding(1) var<storage, read> updates: array<updates_t>;
@group(0) @binding(2) var<storage, read> index: array<index_t>;
@group(0) @binding(3) var<storage, read_write> y: array<y_t>;
@group(0) @binding(4) var<uniform> size: Sizes;

struct Sizes { V: i32, D: i32, N: i32 }

@compute @workgroup_size(8, 8)
fn scatter_add(@builtin(global_invocation_id) at: vec3<u32>) {
  let d = i32(at.x);
  let row = i32(at.y);
  if (row >= size.V || d >= size.D) { return; }
  // One invocation an element, which looks for its updates: no two of them write to one place.
  var total = base[row * size.D + d];
  for (var i = 0; i < size.N; i++) {
    if (index[i].x == row) { total += updates[i * size.D + d]; }
  }
  y[row * size.D + d] = total;
}
