// kc: formats = fp64, fp32
#include <stdint.h>

void transpose(const x_t *x, y_t *y, int64_t R, int64_t N) {
  for (int64_t r = 0; r < R; r++)
    for (int64_t i = 0; i < N; i++) y[i * R + r] = x[r * N + i];
}
