// kc: formats = fp64, fp32
#include <stdint.h>
#include <tgmath.h>

void layernorm(const x_t *x, const gamma_t *gamma, const beta_t *beta, y_t *y, int64_t R, int64_t N, double eps) {
  for (int64_t r = 0; r < R; r++, x += N, y += N) {
    x_t mean = 0, squares = 0;
    for (int64_t i = 0; i < N; i++) mean += x[i];
    mean /= N;
    for (int64_t i = 0; i < N; i++) squares += (x[i] - mean) * (x[i] - mean);
    x_t scale = 1 / sqrt(squares / N + (x_t)eps);
    for (int64_t i = 0; i < N; i++) y[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
  }
}
