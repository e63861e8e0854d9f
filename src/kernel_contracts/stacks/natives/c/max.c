// kc: formats = fp64, fp32
#include <stdint.h>

// A NaN stays once it is found: nothing compares as larger, and it differs from itself.
void max(const x_t *x, y_t *y, int64_t R, int64_t N) {
  for (int64_t r = 0; r < R; r++) {
    x_t best = x[r * N];
    for (int64_t i = 1; i < N; i++) {
      x_t v = x[r * N + i];
      if (v > best || v != v) best = v;
      if (best != best) break;
    }
    y[r] = best;
  }
}
