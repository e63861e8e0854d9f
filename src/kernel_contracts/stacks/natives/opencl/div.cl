// kc: formats = fp64, fp32
__kernel void div(__global const a_t *a, __global const b_t *b, __global y_t *y, long R, long N) {
  size_t i = get_global_id(0);
  y[i] = a[i] / b[i];
}
