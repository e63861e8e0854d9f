// kc: formats = fp64, fp32
#include <stdint.h>
#include <tgmath.h>

void softmax(const x_t *x, y_t *y, int64_t R, int64_t N) {
  for (int64_t r = 0; r < R; r++, x += N, y += N) {
    x_t top = x[0], total = 0;
    for (int64_t i = 1; i < N; i++)
      if (x[i] > top || x[i] != x[i]) top = x[i];
    for (int64_t i = 0; i < N; i++) total += y[i] = exp(x[i] - top);
    for (int64_t i = 0; i < N; i++) y[i] /= total;
  }
}
