// kc: formats = fp64, fp32
#include <stdint.h>

void sum(const x_t *x, y_t *y, int64_t R, int64_t N) {
  for (int64_t r = 0; r < R; r++) {
    x_t total = 0;
    for (int64_t i = 0; i < N; i++) total += x[r * N + i];
    y[r] = total;
  }
}
