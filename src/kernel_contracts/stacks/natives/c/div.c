// kc: formats = fp64, fp32
#include <stdint.h>

void div(const a_t *a, const b_t *b, y_t *y, int64_t R, int64_t N) {
  for (int64_t i = 0; i < R * N; i++) y[i] = a[i] / b[i];
}
