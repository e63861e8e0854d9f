// kc: global = D, N
@group(0) @binding(0) var<storage, read> table: array<table_t>;
@group(0) @binding(1) var<storage, read> index: array<index_t>;
@group(0) @binding(2) var<storage, read_write> rows: array<rows_t>;
@group(0) @binding(3) var<uniform> size: Sizes;

struct Sizes { V: i32, D: i32, N: i32 }

@compute @workgroup_size(8, 8)
fn gather(@builtin(global_invocation_id) at: vec3<u32>) {
  let d = i32(at.x);
  let i = i32(at.y);
  if (i >= size.N || d >= size.D) { return; }
  // The low word of a 64-bit index.
  rows[i * size.D + d] = table[index[i].x * size.D + d];
}
