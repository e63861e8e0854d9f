// kc: formats = fp64, fp32
// kc: global = N, R
__kernel void transpose(__global const x_t *x, __global y_t *y, long R, long N) {
  size_t i = get_global_id(0), r = get_global_id(1);
  y[i * R + r] = x[r * N + i];
}
