// What a CUDA source needs to run on a CPU, one cluster of blocks at a time: every thread is a fiber, and instructions of a
// warp wait until all its lanes have come. Slow and plain: for tests.
#pragma once
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#define __device__
#define __global__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
using std::max;
using std::min;

struct uint2 { uint32_t x, y; };
struct uint4 { uint32_t x, y, z, w; };
struct float2 { float x, y; };
struct float4 { float x, y, z, w; };
inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return {x, y, z, w}; }
inline uint2 make_uint2(uint32_t x, uint32_t y) { return {x, y}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

struct __nv_bfloat16 { uint16_t bits; };
struct __nv_bfloat162 { __nv_bfloat16 x, y; };
inline float __bfloat162float(__nv_bfloat16 v) {
  uint32_t wide = (uint32_t)v.bits << 16;
  float f;
  memcpy(&f, &wide, 4);
  return f;
}
inline __nv_bfloat16 __float2bfloat16(float f) {
  uint32_t wide;
  memcpy(&wide, &f, 4);
  return {(uint16_t)((wide + 0x7fff + (wide >> 16 & 1)) >> 16)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {__float2bfloat16(a), __float2bfloat16(b)}; }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {__bfloat162float(v.x), __bfloat162float(v.y)}; }

// Half floats as the kernels use them: gates between -1 and 1, in steps of 2^-11 and finer near 0.
struct __half { uint16_t bits; };
struct __half2 { __half x, y; };
inline __half to_half(float f) {
  const float a = std::fabs(f);
  const uint16_t sign = std::signbit(f) ? 0x8000 : 0;
  if (a < 0x1p-14f) return {(uint16_t)(sign | (uint16_t)std::nearbyint(a * 0x1p24f))};
  int exponent;
  const float fraction = std::frexp(a, &exponent);  // 0.5 to 1
  return {(uint16_t)(sign | (((exponent + 14 - 1) << 10) + (uint16_t)std::nearbyint(fraction * 2048)))};
}
inline float from_half(__half h) {
  const int exponent = h.bits >> 10 & 31, fraction = h.bits & 1023;
  const float a = exponent ? std::ldexp(1024.0f + fraction, exponent - 25) : std::ldexp((float)fraction, -24);
  return h.bits & 0x8000 ? -a : a;
}
inline __half2 __floats2half2_rn(float a, float b) { return {to_half(a), to_half(b)}; }
inline float2 __half22float2(__half2 v) { return {from_half(v.x), from_half(v.y)}; }
template <class T>
T __ldg(const T* p) { return *p; }
inline int __popc(uint32_t v) { return __builtin_popcount(v); }
inline float __uint_as_float(uint32_t v) {
  float f;
  memcpy(&f, &v, 4);
  return f;
}
inline uint32_t atomicAdd(uint32_t* p, uint32_t more) { return (*p += more) - more; }
inline void atomicAdd(unsigned long long* p, unsigned long long more) { *p += more; }

// Threads of a cluster, block after block. Shared memory begins with what is no part of the dynamic one.
struct Index { int x; };
static Index threadIdx, blockIdx, blockDim, gridDim;
static int running;                              // the fiber
static unsigned char *block_memory, *cluster_memory;
static size_t block_bytes;                       // from the memory of a block to that of the next
constexpr size_t kVariables = 128;
struct Deposit { uint64_t words[6]; };
struct Fiber {
  ucontext_t context;
  std::vector<char> stack;
  uint64_t meetings = 0, cluster_meetings = 0, instructions = 0;
  bool over = false;
  Deposit given[2];
};
static std::vector<Fiber> fibers;
static ucontext_t scheduler;
static std::function<void()> body;

static uint64_t waits_over;                      // how many: when no more end, all threads wait for each other
static const char* fault;                        // what a thread did that no GPU would forgive

template <class Condition>
void wait_until(Condition holds) {
  while (!holds()) swapcontext(&fibers[running].context, &scheduler);
  ++waits_over;
}
// Goes on once so many threads, from the first on, have come as often as this one.
inline void meet_threads(uint64_t Fiber::*times, int first, int count) {
  const uint64_t mine = ++(fibers[running].*times);
  wait_until([=] { return std::all_of(&fibers[first], &fibers[first] + count, [=](const Fiber& fiber) { return fiber.*times >= mine; }); });
}
inline void __syncthreads() { meet_threads(&Fiber::meetings, running / blockDim.x * blockDim.x, blockDim.x); }
inline void meet_cluster() { meet_threads(&Fiber::cluster_meetings, 0, fibers.size()); }
// What the lanes of the warp give to an instruction, once all have.
inline std::function<const Deposit&(int)> together(const Deposit& mine) {
  const int first = running / 32 * 32;
  const uint64_t number = fibers[running].instructions++;
  fibers[running].given[number % 2] = mine;
  wait_until([=] { return std::all_of(&fibers[first], &fibers[first] + 32, [number](const Fiber& fiber) { return fiber.instructions > number; }); });
  return [first, number](int lane) -> const Deposit& { return fibers[first + lane].given[number % 2]; };
}
template <class T>
T __shfl_xor_sync(unsigned, T v, int apart) {
  Deposit mine{};
  memcpy(&mine.words[0], &v, sizeof v);
  const auto of = together(mine);
  memcpy(&v, &of((threadIdx.x % 32) ^ apart).words[0], sizeof v);
  return v;
}
inline size_t __cvta_generic_to_shared(const void* p) { return (const unsigned char*)p - block_memory; }
inline uint16_t shared_half(uint64_t address) {
  uint16_t v;
  memcpy(&v, block_memory + address, 2);
  return v;
}
// ldmatrix.x4: eight lanes name the rows of each of four 8x8 matrices; turned round or not.
inline void load_matrices(uint32_t (&a)[4], uint32_t address, bool turned) {
  const auto of = together({{address}});
  const int lane = threadIdx.x % 32, row = lane / 4, column = lane % 4 * 2;
  for (int i = 0; i < 4; ++i) {
    const auto element = [&](int r, int c) { return (uint32_t)shared_half(of(i * 8 + r).words[0] + c * 2); };
    a[i] = turned ? element(column, row) | element(column + 1, row) << 16 : element(row, column) | element(row, column + 1) << 16;
  }
}
// mma.m16n8k16: rows lane / 4 and 8 on, columns 2 (lane % 4) and one on.
inline void multiply_matrices(float (&acc)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  const auto of = together({{a[0], a[1], a[2], a[3], b0, b1}});
  const auto half_of = [](uint64_t word, int k) { return __bfloat162float({(uint16_t)(word >> k % 2 * 16)}); };
  const int lane = threadIdx.x % 32;
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4, column = lane % 4 * 2 + i % 2;
    for (int k = 0; k < 16; ++k)
      acc[i] += half_of(of(row * 4 + k % 8 / 2).words[i / 2 + k / 8 * 2], k) * half_of(of(column * 4 + k % 8 / 2).words[4 + k / 8], k);
  }
}

// A thread goes on, of the cluster whose first block is `first`.
inline void go_on(int i, int first) {
  running = i, threadIdx.x = i % blockDim.x, blockIdx.x = first + i / blockDim.x;
  block_memory = cluster_memory + i / blockDim.x * block_bytes;
  swapcontext(&scheduler, &fibers[i].context);
}
// A kernel on so many blocks, one cluster after the other; what went wrong, or nothing. Warps go on unevenly: some, or all of
// a block, sleep until the others wait for them.
inline const char* run(int blocks, int threads, size_t shared, std::function<void()> kernel, int cluster = 1, std::function<void()> end_cluster = [] {}) {
  constexpr size_t guard = 1 << 17;             // bytes after it, to see what goes beyond
  block_bytes = (kVariables + shared + guard + 127) / 128 * 128;
  std::vector<unsigned char> memory(cluster * block_bytes + 128, 0xff);
  cluster_memory = memory.data() + (128 - (uintptr_t)memory.data() % 128) % 128;
  body = kernel, fault = nullptr, gridDim.x = blocks, blockDim.x = threads;
  uint32_t random = 1;                           // numbers of a congruential generator
  const auto some_warps = [&] {                  // a bit for each: all but those of one block; or of each a team, or any
    uint32_t warps = 0;
    const int alone = cluster > 1 ? (random >> 16) % (cluster + 1) : cluster;
    for (int block = 0; block < cluster; ++block) {
      random = random * 1664525 + 1013904223;
      const uint32_t some[] = {0x0f, 0xf0, random >> 24, 0};
      warps |= (alone == cluster ? some[random >> 20 & 3] : alone == block ? 0 : 0xff) << block * 8;
    }
    return warps;
  };
  for (int first = 0; first < blocks; first += cluster) {
    fibers = std::vector<Fiber>(cluster * threads);
    for (auto& fiber : fibers) {
      fiber.stack.resize(1 << 17);
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.data(), fiber.context.uc_stack.ss_size = fiber.stack.size(), fiber.context.uc_link = &scheduler;
      makecontext(&fiber.context, (void (*)())(+[] { ++waits_over, body(), fibers[running].over = true, fibers[running].meetings = fibers[running].cluster_meetings = ~0ull; }), 0);
    }
    uint32_t asleep = some_warps();
    for (bool all = false; !all;) {
      const uint64_t before = waits_over;
      all = true;
      for (int i = 0; i < cluster * threads; ++i) {
        if (asleep >> i / 32 & 1) { all = false; continue; }
        if (fibers[i].over) continue;
        go_on(i, first);
        all &= fibers[i].over;
      }
      if (fault) return fault;
      if (waits_over == before && !asleep && !all) return "all threads wait for each other";
      asleep = !asleep ? some_warps() : waits_over == before ? 0 : asleep;
    }
    for (int block = 0; block < cluster; ++block) {
      const unsigned char* end = cluster_memory + block * block_bytes + kVariables + shared;
      if (std::any_of(end, end + guard, [](unsigned char v) { return v != 0xff; })) fault = "more shared memory is written than there is";
    }
    end_cluster();
    if (fault) return fault;
  }
  return nullptr;
}
