// kc: formats = fp64, fp32
#include <stdint.h>

void matmul(const A_t *A, const B_t *B, C_t *C, int64_t M, int64_t K, int64_t N) {
  for (int64_t i = 0; i < M; i++)
    for (int64_t j = 0; j < N; j++) {
      C_t total = 0;
      for (int64_t k = 0; k < K; k++) total += A[i * K + k] * B[k * N + j];
      C[i * N + j] = total;
    }
}
