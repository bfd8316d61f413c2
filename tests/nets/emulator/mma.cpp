// kernel_mma.cu on a CPU: its functions with plain pointers. DEVICE_CODE is the file's part for the GPU, see emulate.py.
#include "simt.h"
#include DEVICE_CODE

extern "C" const char* forward_of(bool save, const void* weights, const void* pool, const float* c0, const void* h0, const float* c, const void* h, const void* inputs,
                           const uint8_t* starts, void* top, float* c_last, void* h_last, void* gates, float* cells, void* hiddens, uint32_t* peaks, float* pooled, int batch,
                           int batch_per_weights, int D, int N, int T, bool pool_on_chip) {
  ForwardArgs args{(const uint4*)weights, (const bf16*)pool, c0, (const bf16*)h0, c, (const bf16*)h, (const bf16*)inputs, starts, (bf16*)top, c_last,
                   (bf16*)h_last, (__half*)gates, cells, (bf16*)hiddens, pooled, batch_per_weights, D, N, T, pool_on_chip};
  const size_t shared = D * (kRows * kHiddenPitch + kMyTiles * kThreads * 16 + kGates * 4 + 64 * 4 + 64 * kGates * 2) + 128 * 4;
  return run(batch, kThreads, shared, [&] { if (save) forward<true>(args); else forward<false>(args); });
}

extern "C" const char* backward_of(const void* weights, const void* pool, const void* gates, const float* cells, const uint32_t* peaks, const void* hiddens, const uint8_t* starts,
                            const void* d_top, const float* d_c_last, const float* d_h_last, float* gradient, void* d_inputs, float* dz_sums, float* d_c_memory,
                            float* d_h_memory, float* d_c_initial, float* d_h_initial, void* dz, uint32_t* progress, int batch, int batch_per_weights, int D, int N, int T, bool on_chip) {
  BackwardArgs args{(const uint4*)weights, (const bf16*)pool, (const __half*)gates, cells, (const bf16*)hiddens, starts, (const bf16*)d_top, d_c_last, d_h_last,
                    (bf16*)dz, dz_sums, d_c_memory, d_h_memory, d_c_initial, d_h_initial, gradient, (uint4*)d_inputs, batch, batch_per_weights, D, N, T, on_chip, on_chip};
  const size_t shared = kRows * kGatePitch + (320 + 64 + 64) * 4 + D * 2 * kMyTiles * kThreads * 16 + D * 64 * kGates * 2;
  const char* wrong = run(batch, kThreads, shared, [&] { backward(args); });
  if (wrong) return wrong;
  WeightArgs weight_args{(const bf16*)hiddens, (const bf16*)dz, gradient, D, N, T, on_chip ? 2 : 1};
  wrong = run(batch * D * 3, kThreads, 2 * kStage, [&] { weight_gradient(weight_args); });
  if (wrong) return wrong;
  return run((batch * T * kCells * D * (kGates / 8) + kThreads - 1) / kThreads, kThreads, 16, [&] { input_gradient(args); });
}
