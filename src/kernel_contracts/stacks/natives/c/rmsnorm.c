// kc: formats = fp64, fp32
#include <stdint.h>
#include <tgmath.h>

void rmsnorm(const x_t *x, const weight_t *weight, y_t *y, int64_t R, int64_t N, double eps) {
  for (int64_t r = 0; r < R; r++, x += N, y += N) {
    x_t squares = 0;
    for (int64_t i = 0; i < N; i++) squares += x[i] * x[i];
    x_t scale = 1 / sqrt(squares / N + (x_t)eps);
    for (int64_t i = 0; i < N; i++) y[i] = x[i] * scale * weight[i];
  }
}
