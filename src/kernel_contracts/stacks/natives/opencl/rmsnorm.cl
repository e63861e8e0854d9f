// kc: formats = fp64, fp32
// kc: global = R
__kernel void rmsnorm(__global const x_t *x, __global const weight_t *weight, __global y_t *y, long R, long N,
                      x_t eps) {
  size_t start = get_global_id(0) * N;
  x_t squares = 0;
  for (long i = 0; i < N; i++) squares += x[start + i] * x[start + i];
  x_t scale = 1 / sqrt(squares / N + eps);
  for (long i = 0; i < N; i++) y[start + i] = x[start + i] * scale * weight[i];
}
