// kc: formats = fp64, fp32
// kc: returns = status
#include <stdint.h>
#include <string.h>

int embedding(const table_t *table, const index_t *index, rows_t *rows, int64_t V, int64_t D, int64_t N) {
  for (int64_t i = 0; i < N; i++) {
    if (index[i] < 0 || index[i] >= V) return 1;
    memcpy(rows + i * D, table + index[i] * D, D * sizeof *rows);
  }
  return 0;
}
