// kc: global = N, M
@group(0) @binding(0) var<storage, read> A: array<A_t>;
@group(0) @binding(1) var<storage, read> B: array<B_t>;
@group(0) @binding(2) var<storage, read_write> C: array<C_t>;
@group(0) @binding(3) var<uniform> size: Sizes;

struct Sizes { M: i32, K: i32, N: i32 }

@compute @workgroup_size(8, 8)
fn matmul(@builtin(global_invocation_id) at: vec3<u32>) {
  let j = i32(at.x);
  let i = i32(at.y);
  if (i >= size.M || j >= size.N) { return; }
  var total = 0.0;
  for (var k = 0; k < size.K; k++) { total += A[i * size.K + k] * B[k * size.N + j]; }
  C[i * size.N + j] = total;
}
