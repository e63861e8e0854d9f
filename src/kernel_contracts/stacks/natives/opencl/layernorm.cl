// kc: formats = fp64, fp32
// kc: global = R
__kernel void layernorm(__global const x_t *x, __global const gamma_t *gamma, __global const beta_t *beta,
                        __global y_t *y, long R, long N, x_t eps) {
  size_t start = get_global_id(0) * N;
  x_t mean = 0, squares = 0;
  for (long i = 0; i < N; i++) mean += x[start + i];
  mean /= N;
  for (long i = 0; i < N; i++) {
    x_t d = x[start + i] - mean;
    squares += d * d;
  }
  x_t scale = 1 / sqrt(squares / N + eps);
  for (long i = 0; i < N; i++) y[start + i] = (x[start + i] - mean) * scale * gamma[i] + beta[i];
}
