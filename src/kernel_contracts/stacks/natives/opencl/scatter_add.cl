// kc: formats = fp64, fp32
// kc: global = D, V
// One work item an element, which looks for its updates: no two of them write to one place.
__kernel void scatter_add(__global const base_t *base, __global const updates_t *updates,
                          __global const index_t *index, __global y_t *y, long V, long D, long N) {
  size_t d = get_global_id(0), row = get_global_id(1);
  y_t total = base[row * D + d];
  for (long i = 0; i < N; i++)
    if (index[i] == (long)row) total += updates[i * D + d];
  y[row * D + d] = total;
}
