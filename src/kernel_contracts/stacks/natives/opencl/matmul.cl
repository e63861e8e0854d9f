// kc: formats = fp64, fp32
// kc: global = N, M
__kernel void matmul(__global const A_t *A, __global const B_t *B, __global C_t *C, long M, long K, long N) {
  size_t j = get_global_id(0), i = get_global_id(1);
  C_t total = 0;
  for (long k = 0; k < K; k++) total += A[i * K + k] * B[k * N + j];
  C[i * N + j] = total;
}
