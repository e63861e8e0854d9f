// kc: formats = fp64, fp32
// kc: returns = status
#include <stdint.h>
#include <string.h>

int scatter_add(const base_t *base, const updates_t *updates, const index_t *index, y_t *y, int64_t V, int64_t D,
                int64_t N) {
  memcpy(y, base, V * D * sizeof *y);
  for (int64_t i = 0; i < N; i++) {
    if (index[i] < 0 || index[i] >= V) return 1;
    for (int64_t d = 0; d < D; d++) y[index[i] * D + d] += updates[i * D + d];
  }
  return 0;
}
