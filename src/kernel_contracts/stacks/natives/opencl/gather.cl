// kc: formats = fp64, fp32
// kc: global = D, N
__kernel void gather(__global const table_t *table, __global const index_t *index, __global rows_t *rows, long V,
                     long D, long N) {
  size_t d = get_global_id(0), i = get_global_id(1);
  rows[i * D + d] = table[index[i] * D + d];
}
