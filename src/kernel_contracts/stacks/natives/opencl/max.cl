// kc: formats = fp64, fp32
// kc: global = R
// kc: kernel = largest
__kernel void largest(__global const x_t *x, __global y_t *y, long R, long N) {
  size_t r = get_global_id(0);
  x_t best = x[r * N];
  for (long i = 1; i < N; i++) best = fmax(best, x[r * N + i]);
  y[r] = best;
}
