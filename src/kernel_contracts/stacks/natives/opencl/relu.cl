// kc: formats = fp64, fp32
__kernel void relu(__global const x_t *x, __global y_t *y, long R, long N) {
  size_t i = get_global_id(0);
  y[i] = fmax(x[i], (x_t)0);
}
