// What both kernels compute with: the sizes of a module, what its memory is, and pairs of values of 16 bits.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

using bf16 = __nv_bfloat16;
using bf162 = __nv_bfloat162;

namespace {

constexpr int kH = GRID_H, kW = GRID_W, kCells = kH * kW;
constexpr int kF = 32, kGates = 4 * kF, kThreads = 256;
enum class Memory { ConvLSTM, GatedConvRNN, SimpleConvRNN };
constexpr bool kCell = Memory::MEMORY == Memory::ConvLSTM;         // there is a cell, with two gates
constexpr bool kOpens = Memory::MEMORY != Memory::SimpleConvRNN;   // there is an output gate

__device__ __forceinline__ float tanh_of(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float sigmoid_of(float x) { return fmaf(0.5f, tanh_of(0.5f * x), 0.5f); }

__device__ __forceinline__ uint32_t pack(float a, float b) {
  bf162 v = __floats2bfloat162_rn(a, b);
  return *reinterpret_cast<uint32_t*>(&v);
}
__device__ __forceinline__ float2 unpack(uint32_t v) {
  return __bfloat1622float2(*reinterpret_cast<bf162*>(&v));
}

// Gates are stored as half floats: near 1 they are eight times finer than bfloat16, and 1 - f matters.
__device__ __forceinline__ uint32_t pack_gates(float a, float b) {
  __half2 v = __floats2half2_rn(a, b);
  return *reinterpret_cast<uint32_t*>(&v);
}
__device__ __forceinline__ float2 unpack_gates(uint32_t v) { return __half22float2(*reinterpret_cast<__half2*>(&v)); }

}  // namespace
