// kc: formats = fp64, fp32
// kc: global = R
__kernel void softmax(__global const x_t *x, __global y_t *y, long R, long N) {
  size_t start = get_global_id(0) * N;
  x_t top = x[start], total = 0;
  for (long i = 1; i < N; i++) top = fmax(top, x[start + i]);
  for (long i = 0; i < N; i++) {
    x_t e = exp(x[start + i] - top);
    y[start + i] = e;
    total += e;
  }
  for (long i = 0; i < N; i++) y[start + i] /= total;
}
