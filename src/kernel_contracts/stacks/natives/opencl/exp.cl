// kc: formats = fp64, fp32
// kc: kernel = exp_each
__kernel void exp_each(__global const x_t *x, __global y_t *y, long R, long N) {
  size_t i = get_global_id(0);
  y[i] = exp(x[i]);
}
