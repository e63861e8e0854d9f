// kc: formats = fp64, fp32
#include <stdint.h>

// The function of the C library by this name is hidden behind ours; its wider sister is not.
long double expl(long double);

void exp(const x_t *x, y_t *y, int64_t R, int64_t N) {
  for (int64_t i = 0; i < R * N; i++) y[i] = expl(x[i]);
}
