// kc: formats = fp64, fp32
// kc: global = R
__kernel void sum(__global const x_t *x, __global y_t *y, long R, long N) {
  size_t r = get_global_id(0);
  x_t total = 0;
  for (long i = 0; i < N; i++) total += x[r * N + i];
  y[r] = total;
}
