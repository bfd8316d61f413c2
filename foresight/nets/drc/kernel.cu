// The recurrent core of DRC(D, N) on a Hopper GPU: a whole unroll in one kernel, one block per trajectory.
//
// Data flow. A block keeps everything that recurs on chip. A board of H x W cells is laid out in slots, row by row,
// with one empty slot after each row: slot = y * (W + 1) + x. A hidden state lies in shared memory as four planes of
// eight channels, 16 bytes a slot, with a margin of zeros before and after. Then a 3x3 convolution is nine products of
// the same buffer, each starting at another slot, and that is how the tensor cores' own instruction (wgmma) takes an
// operand: no im2col, no copies. A module-tick is one such product, 128 gates by (9 taps * 64 channels) by 112 slots:
// two teams of four warps, 64 gates each. The weights of all modules do not fit on chip. They stream from L2 through a
// ring in shared memory, packed beforehand as the tensor cores read them, one copy of 12 kB at a time, several under way.
// Rows of the product are ordered so that the lanes `l` and `l ^ 16` hold the four gates of the same channel; they swap
// halves, and every thread then owns one channel at 14 slots, with the cell state, float32, in a place of its own.
//
// `forward` also stores gates, cells and hidden states when it is told to; a block takes one trajectory after another.
// `backward` has two kinds of blocks. The first walk through a trajectory in reverse and make the gradient of every
// gate's pre-activation, dz. The convolution's input gradient is again one product, from planes of dz: 64 channels (the
// module below, the module's own) by (9 taps * 128 gates) by 112 slots; each team sums half of the 1,152 terms for all
// slots, and the teams swap halves of the sums. The other blocks follow in their tracks: for each trajectory, module and
// row of taps they gather from all ticks the gradient of the convolution's weights, and of what the observation adds.
// What is needed from global memory is asked for a product ahead, a few loads at a time, so that they never hold up the
// tensor cores; what can wait (pooling, storing) is done while those work. Hidden states and dz are stored as they lie,
// plane by plane.
//
// A board that has more than 112 slots is cut into strips of whole rows, a block each, which are on neighbouring
// multiprocessors (a cluster) and write into each other's shared memory: first and last rows go into a neighbour's
// margin, and what pooling and its gradient need of a strip goes to all.
//
// H and W are compile-time constants; D, N, T are not. 32 channels.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

#include <algorithm>
#include <type_traits>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using bf16 = __nv_bfloat16;
using bf162 = __nv_bfloat162;

namespace {

constexpr int kH = GRID_H, kW = GRID_W, kCells = kH * kW;
constexpr int kF = 32, kGates = 4 * kF, kThreads = 256;
constexpr int kSlots = 112;                      // of the tensor cores' instruction; a strip's are y * kAcross + x
constexpr int kAcross = kW + 1;
constexpr int kStrips = (kH + kSlots / kAcross - 1) / (kSlots / kAcross);  // of a board, one block each
constexpr int kTall = (kH + kStrips - 1) / kStrips;  // rows of a strip; the last may have fewer
constexpr int kMargin = kAcross + 1;             // slots before and after: zeros, or the next row of a neighbour
constexpr int kRows = (kSlots + 2 * kMargin) | 1;  // odd: planes differ in banks
constexpr int kPlane = kRows * 16;               // bytes: eight channels of every slot
constexpr int kHidden = kF / 8 * kPlane;         // bytes of a hidden state
constexpr int kMine = 14;                        // slots of a thread, for one channel
constexpr int kGroup = 3, kGroups = 12;          // a team's product goes by 36 steps of 16 terms, in groups
constexpr int kHalf = 6, kGroupBytes = 12288;    // groups of half a product, and the bytes of weights of each
constexpr int kMost = 3;                         // modules whose cells are on chip
constexpr int kPending = 2;                      // groups under way while the next is issued
constexpr int kStates = kStrips == 1 ? 1 : 2;    // buffers of a hidden state
constexpr int kForwardHalves = kStrips == 1 ? 2 : 1;  // of products, whose weights are on chip
constexpr bool kHelped = kStrips == 1;           // four more warps help: one asks for weights, three do what can wait
constexpr int kHelpers = 96, kBlock = kThreads + (kHelped ? 128 : 0);  // threads of a block: workers, and those four warps
static_assert((kStrips - 1) * kTall < kH && kTall * kAcross <= kSlots, "strips cover the board and fit");

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

// An instruction's list of accumulators has to be written out: their numbers, and where they are kept.
#define NUMBERS_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define NUMBERS_32 NUMBERS_16 ", " \
                   "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NUMBERS_56 NUMBERS_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, " \
                   "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55"
#define NUMBERS_64 NUMBERS_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define KEPT_8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define KEPT_16 KEPT_8(0), KEPT_8(8)
#define KEPT_32 KEPT_16, KEPT_8(16), KEPT_8(24)
#define KEPT_56 KEPT_32, KEPT_8(32), KEPT_8(40), KEPT_8(48)
#define KEPT_64 KEPT_56, KEPT_8(56)
// Operands are described by 64 bits, of which the upper 32 are the same for all of a kind.
#define WGMMA(count, width, a_number, b_number, add_number, upper_number, upper, turned) \
  asm volatile("{\n.reg .pred add;\n.reg .b64 a, b;\nsetp.ne.b32 add, %" #add_number ", 0;\nmov.b64 a, {%" #a_number ", %" #upper_number "};\nmov.b64 b, {%" #b_number ", %" #upper_number "};\n" \
               "wgmma.mma_async.sync.aligned.m64n" #width "k16.f32.bf16.bf16 {" NUMBERS_##count "}, a, b, add, 1, 1, " turned ";\n}" \
               : KEPT_##count : "r"(a), "r"(b), "r"((int)add), "n"(upper))

// d (64 rows by 112 slots, spread over four warps) gets a (64 x 16) times b (16 x 112, in shared memory), added or not.
__device__ __forceinline__ void multiply(float (&d)[kSlots / 2], uint32_t a, uint32_t b, bool add) { WGMMA(56, 112, 56, 57, 58, 59, 128 / 16, "0, 0"); }
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kMore>
__device__ __forceinline__ void await_products() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kMore) : "memory"); }
// What threads have written to shared memory, here and in other strips, becomes visible to the tensor cores; then meet.
__device__ __forceinline__ void publish() {
  if (kStrips == 1) asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); else asm volatile("fence.proxy.async;" ::: "memory");
}
// Workers and helpers: barriers by number, for so many threads; `pass` says that a thread has come, and does not wait.
template <int kNumber, int kCount>
__device__ __forceinline__ void gather_at() { asm volatile("bar.sync %0, %1;" ::"n"(kNumber), "n"(kCount) : "memory"); }
template <int kNumber, int kCount>
__device__ __forceinline__ void pass() { asm volatile("bar.arrive %0, %1;" ::"n"(kNumber), "n"(kCount) : "memory"); }
constexpr int kWorking = 1, kStateThere = 2, kPooledThere = 3, kHelping = 4, kBoth = kThreads + kHelpers;
constexpr int kDzThere = 2, kDzRead = 3, kStorers = 64, kAll = kThreads + kStorers;  // of backward
// A block's workers, all of them.
__device__ __forceinline__ void workers_meet() {
  if (kHelped) gather_at<kWorking, kThreads>(); else __syncthreads();
}
// Those of all strips of the board.
__device__ __forceinline__ void meet() {
  if (kStrips == 1) workers_meet();
  else asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// Accumulators of products under way stay where they are.
__device__ __forceinline__ void hold(float (&d)[kSlots / 2]) {
#pragma unroll
  for (int i = 0; i < kSlots / 2; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// Loads that stay where they are written: before the products under which they travel.
__device__ __forceinline__ uint4 ask(const uint4* p) {
  uint4 v;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
  return v;
}
__device__ __forceinline__ uint2 ask(const uint2* p) {
  uint2 v;
  asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p));
  return v;
}
__device__ __forceinline__ uint32_t ask(const uint32_t* p) {
  uint32_t v;
  asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(p));
  return v;
}

__device__ __forceinline__ float ask_again(const float* p) {  // of what the thread itself has written
  float v;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(p) : "memory");
  return v;
}

__device__ __forceinline__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
// An address as an operand's description has it: without the number of the block, which a cluster's addresses begin with.
__device__ __forceinline__ uint32_t described(uint32_t address) { return (address & 0x3ffff) >> 4; }

// The same place in the shared memory of another strip, and stores to it.
__device__ __forceinline__ int strip_of_block() {
  uint32_t rank = 0;
  if (kStrips > 1) asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ uint32_t there(uint32_t address, int strip) {
  uint32_t mapped;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(strip));
  return mapped;
}
__device__ __forceinline__ void put(uint32_t address, bf16 v) {
  asm volatile("st.shared::cluster.u16 [%0], %1;" ::"r"(address), "h"(*reinterpret_cast<uint16_t*>(&v)) : "memory");
}
__device__ __forceinline__ void put(uint32_t address, uint32_t v) { asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory"); }
__device__ __forceinline__ void put(uint32_t address, uint2 v) {
  asm volatile("st.shared::cluster.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(v.x), "r"(v.y) : "memory");
}
__device__ __forceinline__ void put(uint32_t address, float4 v) {
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
}

// Barriers in shared memory, on which copies report their bytes and threads their arrival.
__device__ __forceinline__ void prepare_barrier(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void expect_bytes(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void load_bulk(uint32_t to, const void* from, int bytes, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}
__device__ __forceinline__ void wait(uint32_t barrier, int parity) {
  asm volatile(
      "{\n.reg .pred done;\nWAIT_%=:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra WAIT_%=;\n}" ::"r"(barrier), "r"(parity) : "memory");
}

// The order in which a block uses weights: stretches of groups, one after another; of many trajectories, or of one.
struct Stream {
  const unsigned char *first, *from;             // where a trajectory's weights begin; the group that is next
  int stretch, left, jump, stretches;            // groups of a stretch, those left of it, bytes from its end to the next; stretches left
  __device__ __forceinline__ bool over() const { return !stretches; }
  __device__ __forceinline__ const unsigned char* next() {
    const unsigned char* group = from;
    from += kGroupBytes;
    if (!--left) left = stretch, from += jump, --stretches;
    return group;
  }
};

// Weights on their way from L2: a ring of groups of steps, in the order of use. One thread fills it, nearly a whole ring
// ahead; each warp says when it is done with a group. Halves of products are counted: `half`, and six groups of each.
template <int kHalves>
struct Ring {
  static constexpr int kPlaces = kHalves * kHalf, kBytes = kPlaces * (kGroupBytes + 16);
  uint32_t data, full, empty;                    // addresses in shared memory
  uint32_t place = 0, round = 0;                 // that are filled next
  __device__ __forceinline__ Ring(unsigned char* memory) : data(shared_address(memory)), full(data + kPlaces * kGroupBytes), empty(full + kPlaces * 8) {}
  static __device__ __forceinline__ int place_of(int half, int group) { return half % kHalves * kHalf + group; }
  __device__ __forceinline__ void prepare() const {
    for (int place = 0; place < kPlaces; ++place) {
      prepare_barrier(full + place * 8, 1);
      prepare_barrier(empty + place * 8, kThreads / 32);
    }
  }
  __device__ __forceinline__ void fill(const unsigned char* from) {
    if (round) wait(empty + place * 8, (round - 1) & 1);
    expect_bytes(full + place * 8, kGroupBytes);
    load_bulk(data + place * kGroupBytes, from, kGroupBytes, full + place * 8);
    if (++place == kPlaces) place = 0, ++round;
  }
  __device__ __forceinline__ void await(int half, int group) const { wait(full + place_of(half, group) * 8, half / kHalves & 1); }
  __device__ __forceinline__ void release(int half, int group) const {
    if (threadIdx.x % 32 == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(empty + place_of(half, group) * 8) : "memory");
  }
  // All warps have released the group; known to a warp until it releases that place again.
  __device__ __forceinline__ void await_release(int half, int group) const { wait(empty + place_of(half, group) * 8, half / kHalves & 1); }
  // 64 rows by 16 terms: tiles of 8 rows follow each other, eight terms on is 1,024 bytes on
  __device__ __forceinline__ uint32_t operand(int half, int group, int step) const {
    return (1024 / 16 << 16) + described(data) + (place_of(half, group) * kGroupBytes + step * 4096) / 16;
  }
};

// A stretch of shared memory to global memory, by one thread, while others go on; then: it has been read; all is there.
__device__ __forceinline__ void store_bulk(void* to, const void* from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ __forceinline__ void await_reading() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
template <int kMore = 0>
__device__ __forceinline__ void await_storing() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kMore) : "memory"); }

// Word from one block to another that bulk stores are done.
__device__ __forceinline__ void tell(uint32_t* counter, uint32_t value) {
  asm volatile("fence.proxy.async;\nst.release.gpu.global.u32 [%0], %1;" ::"l"(counter), "r"(value) : "memory");
}
__device__ __forceinline__ void await_word(const uint32_t* counter, uint32_t value) {
  uint32_t seen;
  do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory"); while (seen < value);
  asm volatile("fence.proxy.async;" ::: "memory");
}

// How wgmma finds an operand: 8 slots * 16 bytes are a tile, tiles follow each other, eight channels on is a plane on.
__device__ __forceinline__ uint32_t operand(uint32_t address) { return (kPlane / 16 << 16) + described(address); }
__host__ __device__ constexpr int tap_offset(int tap) { return (tap / 3 - 1) * kAcross + tap % 3 - 1; }

// Which channel and slots a thread owns. `half`: slots 0-55 or 56-111; `quad`: which two of every eight.
struct Place {
  int channel, half, quad, strip, rows;          // rows of the strip
  uint32_t valid;                                // bit i: slot(i) is a cell of the strip
  __device__ __forceinline__ Place(int channel, int half)
      : channel(channel), half(half), quad(threadIdx.x % 4), strip(strip_of_block()), rows(kStrips == 1 ? kH : min(kTall, kH - strip * kTall)), valid(0) {
#pragma unroll
    for (int i = 0; i < kMine; ++i) valid |= (uint32_t)(slot(i) % kAcross < kW && slot(i) < rows * kAcross) << i;
  }
  __device__ __forceinline__ int slot(int i) const { return half * 56 + i / 2 * 8 + quad * 2 + i % 2; }
  __device__ __forceinline__ bool is_cell(int i) const { return valid >> i & 1; }
  __device__ __forceinline__ int first() const { return strip * kTall * kW; }                  // the strip's first cell
  __device__ __forceinline__ int cell(int i) const { return is_cell(i) ? first() + slot(i) - slot(i) / kAcross : 0; }
  __device__ __forceinline__ int granule() const { return (half * kF + channel) * 4 + quad; }  // place in stored arrays
};

// Neighbouring strips see the first and last rows of this one: `base` is the address of slot(0), slots are 16 bytes apart.
struct Neighbours {
  uint32_t above, below;
  __device__ __forceinline__ Neighbours(const Place& at, uint32_t base)
      : above(there(base, max(at.strip - 1, 0)) + kTall * kAcross * 16), below(there(base, min(at.strip + 1, kStrips - 1)) - kTall * kAcross * 16) {}
  template <class T>
  __device__ __forceinline__ void see(const Place& at, int i, T v) const {
    const int offset = i / 2 * 128 + i % 2 * 16;
    if (at.strip > 0 && at.slot(i) < kAcross) put(above + offset, v);
    if (at.strip + 1 < kStrips && at.slot(i) >= (kTall - 1) * kAcross) put(below + offset, v);
  }
};

struct ForwardArgs {
  const unsigned char* weights;  // [S, D, 36 steps, 2 teams, 2, 64 rows, 8] in bfloat16
  const bf16* pool;        // [S, D, 64, 128], columns (channel, gate)
  const float* c_initial;  // [S, D, cells, F]
  const bf16* h_initial;
  const float* c_memory;   // [B, D, cells, F]
  const bf16* h_memory;
  const bf16* inputs;      // [B, T, cells, D, 128], what the convolutions add for the observation
  const uint8_t* starts;   // [B, T]
  bf16* top;               // [B, T, cells, F]
  float* c_last;           // [B, D, cells, F]
  bf16* h_last;
  uint2* gates;            // [B, strips, T, N, D, 14, 256] x 4 gates
  float* cells;            // [B, strips, T, N, D, 14, 256], before each tick
  unsigned char* hiddens;  // [B, strips, T, N + 1, D, planes], before the first tick and after each; the top's last is not wanted
  uint32_t* peaks;         // [B, strips, T, N + 1, D, 256]: which of a thread's slots hold the channel's maximum; from bit 16, how many there are
  float* pooled;           // [B, T, N + 1, D, max 32 and mean 32]
  int batch, batch_per_weights, D, N, T;
};

struct ForwardShared {
  unsigned char* hidden;   // [kStates][D][planes]: with neighbours a tick reads one and writes the other
  float* cell;             // [D][14][threads], where there is room
  float4* injected;        // [D][32] x 4 gates
  float* pooled;           // [2][max 32, mean 32]: of modules by turns
  float4* parts;           // [2][strips][32]: maximum, sum and number of maxima of a strip; turn by turn
  float* shares;           // [3][max 32, sum 32], of the helpers' warps
  int D;
  __device__ __forceinline__ unsigned char* state(int which, int d) const { return hidden + (kStates == 1 ? d : which * D + d) * kHidden; }
};

// Where a thread's channel at slot(0) lies in a hidden state.
__device__ __forceinline__ unsigned char* mine_of(const Place& at, unsigned char* planes) {
  return planes + at.channel / 8 * kPlane + (kMargin + at.slot(0)) * 16 + at.channel % 8 * 2;
}
__device__ __forceinline__ void put_hidden(const Place& at, unsigned char* mine, int i, bf16 h) {
  if (!at.is_cell(i)) return;
  *reinterpret_cast<bf16*>(mine + i / 2 * 128 + i % 2 * 16) = h;
  if (kStrips > 1) Neighbours(at, shared_address(mine)).see(at, i, h);
}

// Maximum and mean of a new hidden state over the strip, and which of a thread's slots hold the maximum.
__device__ __forceinline__ uint32_t pool_strip(const Place& at, const ForwardShared& s, const bf16 (&h)[kMine], int d, int turn) {
  float top = -1e30f, sum = 0;
#pragma unroll
  for (int i = 0; i < kMine; ++i) {
    if (!at.is_cell(i)) continue;
    float v = __bfloat162float(h[i]);
    top = fmaxf(top, v), sum += v;
  }
#pragma unroll
  for (int step = 1; step < 32; step = step == 2 ? 16 : step * 2)  // the lanes of a channel: 1, 2 and 16
    top = fmaxf(top, __shfl_xor_sync(~0u, top, step)), sum += __shfl_xor_sync(~0u, sum, step);
  uint32_t peaks = 0;
#pragma unroll
  for (int i = 0; i < kMine; ++i) peaks |= (uint32_t)(at.is_cell(i) && __bfloat162float(h[i]) == top) << i;
  uint32_t count = __popc(peaks);
#pragma unroll
  for (int step = 1; step < 32; step = step == 2 ? 16 : step * 2) count += __shfl_xor_sync(~0u, count, step);
  if (threadIdx.x % 4 == 0 && !at.half) {
    float* pooled = s.pooled + d % 2 * 64;
    if (kStrips == 1) pooled[at.channel] = top, pooled[kF + at.channel] = sum * (1.0f / kCells);
    for (int strip = 0; kStrips > 1 && strip < kStrips; ++strip)
      put(there(shared_address(s.parts + (turn * kStrips + at.strip) * kF + at.channel), strip), make_float4(top, sum, count, 0));
  }
  return peaks | count << 16;
}

// Once all strips have been pooled: what they found is put together. Each thread makes what it alone needs later.
__device__ __forceinline__ void unite(const Place& at, const ForwardShared& s, uint32_t& peaks, int d, int turn) {
  if (kStrips == 1) return;
  const float4* parts = s.parts + turn * kStrips * kF;
  const auto united = [&](int channel) {
    float4 all = parts[channel];
#pragma unroll
    for (int strip = 1; strip < kStrips; ++strip) {
      const float4 one = parts[strip * kF + channel];
      all.z = (all.x >= one.x ? all.z : 0) + (one.x >= all.x ? one.z : 0), all.x = fmaxf(all.x, one.x), all.y += one.y;
    }
    return all;
  };
  const float4 all = united(at.channel);
  peaks = (parts[at.strip * kF + at.channel].x == all.x ? peaks & 0xffff : 0) | (uint32_t)all.z << 16;
  if (threadIdx.x >= 64) return;
  const float4 kept = united(threadIdx.x % kF);
  s.pooled[d % 2 * 64 + threadIdx.x] = threadIdx.x < kF ? kept.x : kept.y * (1.0f / kCells);
}

// A thread's share of a module's pool weights: two columns of every fourth row.
struct PoolWeights {
  uint32_t pairs[16];
  __device__ __forceinline__ void fetch(const bf16* pool, int d) {
    const bf16* mine = pool + (d * 64 + threadIdx.x % 4) * kGates + threadIdx.x / 4 * 2;
#pragma unroll
    for (int k = 0; k < 16; ++k) pairs[k] = ask(reinterpret_cast<const uint32_t*>(mine + k * 4 * kGates));
  }
};

// injected[d] = pool weights^T (max, mean); a barrier before and after.
__device__ __forceinline__ void inject(const ForwardShared& s, int d, int turn, const PoolWeights& weights) {
  const int pair = threadIdx.x / 4, part = threadIdx.x % 4;  // of columns, of rows
  float2 total = {0, 0};
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    const int row = k * 4 + part;
    float v;
    if (kStrips == 1) v = s.pooled[d % 2 * 64 + row];
    else {
      const float4* parts = s.parts + turn * kStrips * kF + row % kF;
      v = k < 8 ? parts[0].x : parts[0].y;
#pragma unroll
      for (int strip = 1; strip < kStrips; ++strip) v = k < 8 ? fmaxf(v, parts[strip * kF].x) : v + parts[strip * kF].y;
      if (k >= 8) v *= 1.0f / kCells;
    }
    v = __bfloat162float(__float2bfloat16(v));
    const float2 w = unpack(weights.pairs[k]);
    total.x = fmaf(v, w.x, total.x), total.y = fmaf(v, w.y, total.y);
  }
#pragma unroll
  for (int step = 1; step < 4; step *= 2) total.x += __shfl_xor_sync(~0u, total.x, step), total.y += __shfl_xor_sync(~0u, total.y, step);
  if (!part) reinterpret_cast<float2*>(s.injected + d * kF)[pair] = total;
}

// A strip of a hidden state from its planes to [cells, F].
__device__ __forceinline__ void copy_hidden(const Place& at, const unsigned char* planes, bf16* to) {
  for (int i = threadIdx.x; i < at.rows * kW * 4; i += kThreads) {
    int cell = i / 4, plane = i % 4;
    reinterpret_cast<uint4*>(to)[at.first() * 4 + i] =
        *reinterpret_cast<const uint4*>(planes + plane * kPlane + (kMargin + cell + cell / kW) * 16);
  }
}

// What the backward pass wants to know of a hidden state; `place` counts states, `united` those of whole boards.
__device__ __forceinline__ void save_hidden(const ForwardArgs& args, const Place& at, const ForwardShared& s, int which, int d, uint32_t peaks, size_t place, size_t united) {
  if (!threadIdx.x) store_bulk(args.hiddens + place * kHidden, s.state(which, d), kHidden);
  args.peaks[place * kThreads + at.granule()] = peaks;
  if (threadIdx.x < 64 && !at.strip) args.pooled[united * 64 + threadIdx.x] = s.pooled[d % 2 * 64 + threadIdx.x];
}

// How a network of D modules goes through the kernel: a single one finds nothing below it, its product has one half;
// the cells of a few are on chip, those of many in global memory.
enum class Form { one, few, many };

// What a module-tick leaves to do under the next one's products.
struct Tick {
  int d, which;            // the module, and the buffer of its new state
  float* cells;            // where it is stored, of this thread
  uint2* gates;
};

// A thread's cells of module d in global memory, where the last of them are wanted.
__device__ __forceinline__ float* cells_of(const ForwardArgs& args, const Place& at, int b, int d) {
  return args.c_last + ((size_t)b * args.D + d) * kCells * kF + at.channel;
}

// From sums of products to the new cell and output, of slots 2 j and 2 j + 1 of the thread.
template <bool kSave, Form kForm>
__device__ __forceinline__ void update_slots(const ForwardArgs& args, const Place& at, const ForwardShared& s, const int j, const float (&sums)[kSlots / 2],
                                             const uint2 (&inputs)[kMine], const float (&cells)[kMine], const float4 inj, const Tick& tick, unsigned char* mine, int b,
                                             bf16 (&h)[kMine]) {
  const bool upper = at.half;
  float kept[4], got[4];
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    float low = sums[j * 4 + e], high = sums[(j + 7) * 4 + e];
    kept[e] = upper ? high : low;
    got[e] = __shfl_xor_sync(~0u, upper ? low : high, 16);
  }
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    const int i = j * 2 + e;
    float2 fi = unpack(inputs[i].x), og = unpack(inputs[i].y);
    float f = sigmoid_of((upper ? got[e] : kept[e]) + inj.x + fi.x), in = sigmoid_of((upper ? got[2 + e] : kept[2 + e]) + inj.y + fi.y);
    float o = sigmoid_of((upper ? kept[e] : got[e]) + inj.z + og.x), g = tanh_of((upper ? kept[2 + e] : got[2 + e]) + inj.w + og.y);
    float* slot = s.cell + (tick.d * kMine + i) * kThreads + threadIdx.x;
    float before = kForm == Form::many ? cells[i] : *slot, after = fmaf(f, before, in * g);
    if (kForm != Form::many) *slot = after;
    else if (at.is_cell(i)) cells_of(args, at, b, tick.d)[at.cell(i) * kF] = after;
    h[i] = __float2bfloat16(o * tanh_of(after));
    put_hidden(at, mine, i, h[i]);
    if (kSave) tick.cells[i * kThreads] = before, tick.gates[i * kThreads] = make_uint2(pack_gates(f, in), pack_gates(o, g));
  }
}

// States of all modules, from memory or fresh; what they inject; and where it is wanted, what backward needs of them.
template <bool kSave, Form kForm>
__device__ __forceinline__ void load_state(const ForwardArgs& args, const Place& at, const ForwardShared& s, int which, const float* c, const bf16* h,
                                           const bf16* pool, int b, int t, int& turn) {
  constexpr int kAtOnce = kForm == Form::one ? 1 : kForm == Form::few ? kMost : 1;
  const size_t strip = (size_t)b * kStrips + at.strip;
  for (int first = 0; first < s.D; first += kAtOnce) {
    bf16 hidden[kAtOnce][kMine];
    float cell[kAtOnce][kMine];
#pragma unroll
    for (int d = 0; d < kAtOnce; ++d)            // all loads at once
#pragma unroll
      for (int i = 0; i < kMine; ++i) {
        const int where = ((first + d < s.D ? first + d : 0) * kCells + at.cell(i)) * kF + at.channel;
        hidden[d][i] = h[where], cell[d][i] = c[where];
      }
    if (!first && kSave && !threadIdx.x) await_reading();
    if (!first) meet();  // nobody reads the old state any more
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int d = first + k;
      if (d == s.D) break;
      PoolWeights weights;
      weights.fetch(pool, d);
#pragma unroll
      for (int i = 0; i < kMine; ++i) {
        if (kForm != Form::many) s.cell[(d * kMine + i) * kThreads + threadIdx.x] = cell[k][i];
        else if (at.is_cell(i)) cells_of(args, at, b, d)[at.cell(i) * kF] = cell[k][i];
        put_hidden(at, mine_of(at, s.state(which, d)), i, hidden[k][i]);
      }
      turn = 1 - turn;
      uint32_t peaks = pool_strip(at, s, hidden[k], d, turn);
      publish();
      meet();
      unite(at, s, peaks, d, turn);
      inject(s, d, turn, weights);
      if (kSave) save_hidden(args, at, s, which, d, peaks, (strip * args.T + t) * (args.N + 1) * s.D + d, ((size_t)b * args.T + t) * (args.N + 1) * s.D + d);
    }
  }
  workers_meet();
}

// The helpers' part of a tick: maxima and means of a new hidden state; then where the maxima are, and what is stored of it.
template <bool kSave, Form kForm>
__device__ __forceinline__ void help(const ForwardArgs& args, const ForwardShared& s) {
  const int D = args.D, N = args.N, T = args.T, helper = threadIdx.x - kThreads - 32, warp = helper / 32, lane = helper % 32;
  const auto is_cell = [](int slot) { return slot < kH * kAcross && slot % kAcross < kW; };
  const int half = lane / 4 % 2, quad = lane % 4;
  uint32_t valid = 0;
#pragma unroll
  for (int i = 0; i < kMine; ++i) valid |= (uint32_t)is_cell(half * 56 + i / 2 * 8 + quad * 2 + i % 2) << i;
  for (int b = blockIdx.x; b < args.batch; b += gridDim.x)
    for (int tick = 0; tick < T * N * D; ++tick) {
      const int d = tick % D, n = tick / D % N, t = tick / D / N;
      const size_t step = (size_t)b * T + t;
      const bool ends = n == N - 1, whole = ends && d == D - 1, goes_on = t + 1 < T && !args.starts[step + 1];
      const bool at_once = kForm == Form::one || (whole && !goes_on);  // the state is soon replaced
      const unsigned char* planes = s.state(0, d);
      gather_at<kStateThere, kBoth>();
      bf162 tops[4];
      float sums[8];
#pragma unroll
      for (int k = 0; k < 4; ++k) tops[k] = __float2bfloat162_rn(-1e30f), sums[2 * k] = sums[2 * k + 1] = 0;
#pragma unroll
      for (int i = 0; i < (kSlots + 23) / 24; ++i) {
        const int slot = (i * 3 + warp) * 8 + lane % 8;
        if (!is_cell(slot)) continue;
        const uint4 v = *reinterpret_cast<const uint4*>(planes + lane / 8 * kPlane + (kMargin + slot) * 16);
        const uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const float2 two = unpack(words[k]);
          tops[k] = __hmax2(tops[k], *reinterpret_cast<const bf162*>(&words[k])), sums[2 * k] += two.x, sums[2 * k + 1] += two.y;
        }
      }
#pragma unroll
      for (int apart = 1; apart < 8; apart *= 2)
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          tops[k] = __hmax2(tops[k], __shfl_xor_sync(~0u, tops[k], apart));
          sums[2 * k] += __shfl_xor_sync(~0u, sums[2 * k], apart), sums[2 * k + 1] += __shfl_xor_sync(~0u, sums[2 * k + 1], apart);
        }
      if (lane % 8 == 0)
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          float* mine = s.shares + warp * 64 + lane + 2 * k;
          mine[0] = __low2float(tops[k]), mine[1] = __high2float(tops[k]), mine[kF] = sums[2 * k], mine[kF + 1] = sums[2 * k + 1];
        }
      gather_at<kHelping, kHelpers>();
      const auto top_of = [&](int channel) { return fmaxf(fmaxf(s.shares[channel], s.shares[64 + channel]), s.shares[128 + channel]); };
      float pooled = 0;
      if (helper < 64) {
        pooled = helper < kF ? top_of(helper) : (s.shares[helper] + s.shares[64 + helper] + s.shares[128 + helper]) * (1.0f / kCells);
        s.pooled[d % 2 * 64 + helper] = pooled;
      }
      if (!at_once) {
        if (kSave && !helper) await_reading();   // of the state before
        pass<kPooledThere, kBoth>();
      }
      const size_t one = (size_t)(N + 1) * D, place = step * one + (n + 1) * D + d, again = (step + 1) * one + d;
      const bool after = !whole, before = ends && goes_on;  // wanted as what comes after this tick, as what the next time-step begins with
      if (kSave) {
        for (int entry = helper; entry < kThreads; entry += kHelpers) {  // a worker's slots: see Place
          const int channel = entry / 8, granule = (half * kF + channel) * 4 + quad;
          const unsigned char* mine = planes + channel / 8 * kPlane + (kMargin + half * 56 + quad * 2) * 16 + channel % 8 * 2;
          const float top = top_of(channel);
          uint32_t peaks = 0;
#pragma unroll
          for (int i = 0; i < kMine; ++i) peaks |= (uint32_t)(__bfloat162float(*reinterpret_cast<const bf16*>(mine + i / 2 * 128 + i % 2 * 16)) == top) << i;
          peaks &= valid;
          uint32_t count = __popc(peaks);
#pragma unroll
          for (int apart = 1; apart < 8; apart *= 2) count += __shfl_xor_sync(~0u, count, apart);
          peaks |= count << 16;
          if (after) args.peaks[place * kThreads + granule] = peaks;
          if (before) args.peaks[again * kThreads + granule] = peaks;
        }
        if (helper < 64 && after) args.pooled[place * 64 + helper] = pooled;
        if (helper < 64 && before) args.pooled[again * 64 + helper] = pooled;
        if (!helper && after) store_bulk(args.hiddens + place * kHidden, planes, kHidden);
        if (!helper && before) store_bulk(args.hiddens + again * kHidden, planes, kHidden);
      }
      if (whole)
        for (int i = helper; i < kCells * 4; i += kHelpers) {
          const int cell = i / 4, plane = i % 4;
          reinterpret_cast<uint4*>(args.top + step * kCells * kF)[i] = *reinterpret_cast<const uint4*>(planes + plane * kPlane + (kMargin + cell + cell / kW) * 16);
        }
      if (at_once) {
        if (kSave && !helper) await_reading();
        pass<kPooledThere, kBoth>();
      }
    }
  if (kSave && !helper) await_storing();
}

// The products of a module-tick with the module's own state need nothing of the tick before, so they run while the gates
// of that are made of its sums; those with the state below follow when it is there, and under them goes what can wait.
template <bool kSave, Form kForm>
__global__ void __launch_bounds__(kBlock, 1) forward(ForwardArgs args) {
  extern __shared__ __align__(128) unsigned char memory[];
  constexpr bool kTwo = kForm != Form::one;
  constexpr int kFirst = kTwo ? 0 : kHalf;       // groups of a module-tick: six for its own state, six for the one below, or the last six
  const int D = args.D, N = args.N, T = args.T, warp = threadIdx.x / 32, lane = threadIdx.x % 32, team = __shfl_sync(~0u, warp / 4, 0);
  const size_t state = (size_t)D * kCells * kF;
  Ring<kForwardHalves> ring(memory);
  ForwardShared s;
  s.D = D;
  s.hidden = memory + ring.kBytes;
  s.injected = reinterpret_cast<float4*>(s.hidden + kStates * D * kHidden);
  s.pooled = reinterpret_cast<float*>(s.injected + D * kF);
  s.parts = reinterpret_cast<float4*>(s.pooled + 2 * 64);
  s.shares = reinterpret_cast<float*>(s.parts + (kStrips > 1 ? 2 * kStrips * kF : 0));
  s.cell = s.shares + (kHelped ? 3 * 64 : 0);
  if (!threadIdx.x) ring.prepare();
  const Place at(warp * 4 + lane / 4 % 4, lane / 16);
  for (int i = threadIdx.x; i < kStates * D * kHidden / 16; i += kBlock) reinterpret_cast<uint4*>(s.hidden)[i] = make_uint4(0, 0, 0, 0);
  __syncthreads();
  if (kHelped && threadIdx.x >= kThreads) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x >= kThreads + 32) help<kSave, kForm>(args, s);
    else if (threadIdx.x == kThreads)
      for (int b = blockIdx.x; b < args.batch; b += gridDim.x) {
        const unsigned char* weights = args.weights + (size_t)(b / args.batch_per_weights) * D * kGroups * kGroupBytes;
        for (int pass = 0; pass < T * N; ++pass)
          for (int group = 0; group < (kTwo ? D * kGroups : kHalf); ++group) ring.fill(weights + group * kGroupBytes);
      }
    return;
  }
  if (kHelped) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  const int clusters = gridDim.x / kStrips, first = blockIdx.x / kStrips;
  int weights_for = first;                       // the trajectory whose weights are asked for
  Stream stream{};
  const auto begin_stream = [&] {
    stream.first = stream.from = args.weights + (size_t)(weights_for / args.batch_per_weights) * D * kGroups * kGroupBytes;
    stream.stretch = stream.left = kTwo ? D * kGroups : kHalf;
    stream.jump = -stream.stretch * kGroupBytes, stream.stretches = T * N;
  };
  const auto fill = [&] {
    if (kHelped || threadIdx.x || weights_for >= args.batch) return;
    ring.fill(stream.next());
    if (stream.over() && (weights_for += clusters) < args.batch) begin_stream();
  };
  begin_stream();
  for (int place = 1; place < ring.kPlaces; ++place) fill();
  const uint32_t hidden = operand(shared_address(s.hidden) + kMargin * 16);
  const auto state_operand = [&](int which, int d) { return hidden + (kStates == 1 ? d : which * D + d) * (kHidden / 16); };
  const bf16* inputs_here = args.inputs + at.channel * 4;

  int which = 0, turn = 0, half = 0;             // buffer of the states before a tick; of strips' parts; halves of products so far
  float acc[kSlots / 2], sums[kSlots / 2], cells[kMine];
  uint2 inputs[kMine];
  bf16 h[kMine];
  Tick tick{};
  for (int b = first; b < args.batch; b += clusters) {
    const size_t net = b / args.batch_per_weights, strip = (size_t)b * kStrips + at.strip;
    const bf16* pool = args.pool + net * D * 64 * kGates;
    bool start = args.starts[(size_t)b * T], next_start = false, pending = false;  // sums of a tick wait for its gates
    const auto gates_begin = [&] {               // all are done with the products that read the state which is now replaced
      if (kStates == 1) ring.await_release(kTwo ? half - 2 : half - 1, kHalf - 1);
      return s.injected[tick.d * kF + at.channel];
    };
    for (int t = 0;; ++t) {
      const size_t step = (size_t)b * T + t;     // the same in arrays that have strips: strip * T + t
      if (!t || t == T || start) {
        if (pending) {
          const float4 inj = gates_begin();
          unsigned char* mine = mine_of(at, s.state(tick.which, tick.d));
#pragma unroll
          for (int j = 0; j < kMine / 2; ++j) update_slots<kSave, kForm>(args, at, s, j, sums, inputs, cells, inj, tick, mine, b, h);
          publish();
          if (kHelped) pass<kStateThere, kBoth>();
          meet();
          if (kHelped) gather_at<kPooledThere, kBoth>();
          else copy_hidden(at, s.state(tick.which, D - 1), args.top + (step - 1) * kCells * kF);
          pending = false;
        }
        if (t == T) break;
        load_state<kSave, kForm>(args, at, s, which, start ? args.c_initial + net * state : args.c_memory + b * state,
                                 start ? args.h_initial + net * state : args.h_memory + b * state, pool, b, t, turn);
#pragma unroll
        for (int i = 0; i < kSlots / 2; ++i) acc[i] = sums[i] = 0;  // nothing of them is kept meanwhile
#pragma unroll
        for (int i = 0; i < kMine; ++i) inputs[i] = make_uint2(0, 0), cells[i] = 0, h[i] = __float2bfloat16(0);
      }
      for (int n = 0; n < N; ++n, which = 1 - which) {
        for (int d = 0; d < D; ++d) {
          const uint32_t own = state_operand(which, d), below = kTwo ? d ? state_operand(1 - which, d - 1) : state_operand(which, D - 1) : own;
          const bf16* inputs_now = inputs_here + (step * kCells * D + d) * kGates;
          const float* cells_now = cells_of(args, at, b, d);
          const auto issue = [&](const int group) {
            ring.await(half + (group - kFirst) / kHalf, group % kHalf);
            hold(acc);
            begin_products();
#pragma unroll
            for (int i = 0; i < kGroup; ++i) {
              const int k = group * kGroup + i, tap = k % 18 / 2, quarter = k % 2;
              multiply(acc, ring.operand(half + (group - kFirst) / kHalf, group % kHalf, i) + team * 2048 / 16,
                       (k < 18 ? own : below) + tap_offset(tap) + quarter * 2 * kPlane / 16, k > kFirst * kGroup);
            }
            commit_products();
            hold(acc);
          };
          const auto release = [&](const int group) {
            ring.release(half + (group - kFirst) / kHalf, group % kHalf);
            fill();
          };
          if (kTwo) issue(0), issue(1);
          float4 inj;
          unsigned char* mine = mine_of(at, s.state(tick.which, tick.d));
          if (pending) inj = gates_begin();
#pragma unroll
          for (int part = 0; part < 4; ++part) {
            if (pending)
#pragma unroll
              for (int j = part * 2; j < part * 2 + 2 && j < kMine / 2; ++j) update_slots<kSave, kForm>(args, at, s, j, sums, inputs, cells, inj, tick, mine, b, h);
            if (!kTwo || part == 3) continue;
            issue(part + 2);
            if (part == 0) continue;
            if (part == 2) issue(5);
            await_products<kPending + 1>();
            if (part == 2) release(1);
            release(part == 1 ? 0 : 2);
          }
          uint32_t peaks = 0;
          if (kStrips > 1 && pending) turn = 1 - turn, peaks = pool_strip(at, s, h, tick.d, turn);
          if (kSave && !threadIdx.x) await_reading();  // states that were stored may be replaced after this
          publish();
          if (kHelped && pending) pass<kStateThere, kBoth>();
          meet();  // the state below is there
          PoolWeights pooling;
#pragma unroll
          for (int group = kHalf; group < kGroups; ++group) {
            issue(group);
            if (group == kHalf) {                // while the tensor cores work: what the last module-tick left to do
              if (pending) pooling.fetch(pool, tick.d);
              if (!n && !d && t + 1 < T) next_start = args.starts[step + 1];
            }
            if (kHelped && group == kHalf + 3 && pending) {
              gather_at<kPooledThere, kBoth>();
              inject(s, tick.d, turn, pooling);
            }
            if (!kHelped && group == kHalf + 2 && pending) {
              const bool last = d == 0, whole = last && n == 0;  // of a tick, of a time-step
              unite(at, s, peaks, tick.d, turn);
              inject(s, tick.d, turn, pooling);
              if (whole) copy_hidden(at, s.state(tick.which, D - 1), args.top + (step - 1) * kCells * kF);
              if (kSave) {                       // as what comes after tick n of this time-step, and as what the next begins with
                const size_t to = ((last ? n : n + 1) * D + tick.d), one = (size_t)(N + 1) * D;
                save_hidden(args, at, s, tick.which, tick.d, peaks, (strip * T + t) * one + to, step * one + to);
                if (!last && n == N - 1 && t + 1 < T && !next_start)
                  save_hidden(args, at, s, tick.which, tick.d, peaks, (strip * T + t + 1) * one + tick.d, (step + 1) * one + tick.d);
              }
            }
            if (group > kHalf)                   // what the observation adds, and cells that are not on chip
#pragma unroll
              for (int i = (group - kHalf - 1) * 3; i < kMine && i < (group - kHalf) * 3; ++i) {
                inputs[i] = ask(reinterpret_cast<const uint2*>(inputs_now + at.cell(i) * D * kGates));
                if (kForm == Form::many) cells[i] = ask_again(cells_now + at.cell(i) * kF);
              }
            if (group + 1 < kGroups) await_products<kPending>(); else await_products<0>();
#pragma unroll
            for (int done = group - kPending; done <= (group + 1 < kGroups ? group - kPending : group); ++done)
              if (done >= kFirst) {
                if (kTwo && done == kHalf - kPending) release(done - 1);
                release(done);
              }
          }
          hold(acc);
          half += kTwo ? 2 : 1;
#pragma unroll
          for (int i = 0; i < kSlots / 2; ++i) sums[i] = acc[i];
          tick.d = d, tick.which = 1 - which;
          if (kSave) {
            const size_t kept = (((strip * T + t) * N + n) * D + d) * kMine * kThreads + at.granule();
            tick.cells = args.cells + kept, tick.gates = args.gates + kept;
          }
          pending = true;
          if (!kTwo) {                           // its own state and what it injects are wanted at once
            if (kSave && !threadIdx.x) await_reading();
            workers_meet();
          }
        }
      }
      start = next_start, next_start = false;
    }
    for (int d = 0; d < D; ++d) {
      copy_hidden(at, s.state(which, d), args.h_last + b * state + (size_t)d * kCells * kF);
#pragma unroll
      for (int i = 0; i < kMine; ++i)
        if (kForm != Form::many && at.is_cell(i)) cells_of(args, at, b, d)[at.cell(i) * kF] = s.cell[(d * kMine + i) * kThreads + threadIdx.x];
    }
  }
  if (kSave && !threadIdx.x) await_storing();
}

struct BackwardArgs {
  const unsigned char* weights;  // [S, D, 72 steps, 2, 64 rows, 8] in bfloat16
  const bf16* pool;        // [S, D, 64, 128]
  const uint2* gates;      // as the forward pass left them
  const float* cells;
  const uint32_t* peaks;
  const uint8_t* starts;
  const bf16* d_top;       // [B, T, cells, F]
  const float* d_c_last;   // [B, D, cells, F]
  const float* d_h_last;
  unsigned char* dz;       // [B, strips, T, N, D, 16 planes], columns (channel, gate)
  float* dz_sums;          // [B, T, N, D, 128], over the board
  float* d_c_memory;       // [B, D, cells, F]
  float* d_h_memory;
  float* d_c_initial;      // [B, D, cells, F], per trajectory
  float* d_h_initial;
  const unsigned char* hiddens;  // [B, strips, T, N + 1, D, planes]
  float* gradient;         // [B, strips, D, 9, 64, 128], of the convolutions' weights
  uint4* d_inputs;         // [B, T, cells, D, 128] in bfloat16
  uint32_t* progress;      // [B, strips, 2]: time-steps done; the first has the counter of blocks beside it
  int batch, batch_per_weights, D, N, T;
  int gatherers;           // blocks, or clusters, that follow the walk
};

struct BackwardShared {
  unsigned char* dz;       // [16 planes]
  float* exchange;         // [28][threads]
  float* d_cell;           // [D][14][threads], where there is room
  float* d_hidden;
  float* sums;             // [strips][2 halves][128], of dz over slots
  float* d_pooled;         // [64]
};

// What the derivative of a module-tick needs besides d_h and d_c, of one thread: made under the products before it.
struct Factors {
  float of_cell[kMine], of_output[kMine];        // o (1 - tanh^2 c'), tanh c' o (1 - o): how d_h reaches c' and o
  float f[kMine], df[kMine], di[kMine], dg[kMine];  // f, c f (1 - f), g i (1 - i), i (1 - g^2): how d_c' reaches c, f, i and g
  __device__ __forceinline__ void make(int i, uint2 gates, float before, uint32_t unread) {
    const float2 fi = unpack_gates(gates.x), og = unpack_gates(gates.y);
    const float squashed = tanh_of(fmaf(fi.x, before, fi.y * og.y));
    of_cell[i] = og.x * (1 - squashed * squashed), of_output[i] = squashed * og.x * (1 - og.x);
    f[i] = fi.x, df[i] = before * fi.x * (1 - fi.x), di[i] = og.y * fi.y * (1 - fi.y), dg[i] = fi.y * (1 - og.y * og.y);
    // The assembler would put this off until it is used, when nothing hides it: a word that nobody reads depends on it.
    const uint32_t mixed = __float_as_uint(of_cell[i]) ^ __float_as_uint(of_output[i]) ^ __float_as_uint(df[i]) ^ __float_as_uint(di[i]) ^ __float_as_uint(dg[i]);
    asm volatile("{\n.reg .pred never;\nsetp.eq.b32 never, %0, 0x7fbadbad;\n@never st.shared.u32 [%1], %0;\n}" ::"r"(mixed), "r"(unread) : "memory");
  }
};

// d_h and d_c of one module-tick -> dz, in shared memory; d_c becomes that of the cell before the tick.
__device__ __forceinline__ void through_gates(const Place& at, const BackwardShared& s, const Factors& of, const float (&d_hidden)[kMine], float (&d_cell)[kMine]) {
  float4 columns = {0, 0, 0, 0};
  unsigned char* mine = s.dz + at.channel / 2 * kPlane + (kMargin + at.slot(0)) * 16 + at.channel % 2 * 8;
  const Neighbours neighbours(at, shared_address(mine));
#pragma unroll
  for (int i = 0; i < kMine; ++i) {
    const float dh = d_hidden[i], dc = fmaf(dh, of.of_cell[i], d_cell[i]);
    const float df = dc * of.df[i], di = dc * of.di[i], d_o = dh * of.of_output[i], dg = dc * of.dg[i];
    d_cell[i] = dc * of.f[i];
    if (!at.is_cell(i)) continue;
    uint2 packed = make_uint2(pack(df, di), pack(d_o, dg));
    *reinterpret_cast<uint2*>(mine + i / 2 * 128 + i % 2 * 16) = packed;
    if (kStrips > 1) neighbours.see(at, i, packed);
    columns.x += df, columns.y += di, columns.z += d_o, columns.w += dg;
  }
#pragma unroll
  for (int step = 1; step < 4; step *= 2) {
    columns.x += __shfl_xor_sync(~0u, columns.x, step), columns.y += __shfl_xor_sync(~0u, columns.y, step);
    columns.z += __shfl_xor_sync(~0u, columns.z, step), columns.w += __shfl_xor_sync(~0u, columns.w, step);
  }
  if (threadIdx.x % 4) return;
  float4* sums = reinterpret_cast<float4*>(s.sums) + (at.strip * 2 + at.half) * kF + at.channel;
  if (kStrips == 1) *sums = columns;
  for (int strip = 0; kStrips > 1 && strip < kStrips; ++strip) put(there(shared_address(sums), strip), columns);
}

// What all halves of all strips have summed up.
__device__ __forceinline__ float2 total_of(const BackwardShared& s, int pair) {
  float2 total = {0, 0};
#pragma unroll
  for (int half = 0; half < 2 * kStrips; ++half) {
    const float2 one = reinterpret_cast<const float2*>(s.sums)[half * kGates / 2 + pair];
    total.x += one.x, total.y += one.y;
  }
  return total;
}

// d_pooled = pool weights . column sums of dz; a thread has a quarter of a row of the weights.
__device__ __forceinline__ void gradient_of_pooled(const BackwardShared& s, const uint4 (&row)[4]) {
  const int part = threadIdx.x % 4;
  float total = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t words[4] = {row[i].x, row[i].y, row[i].z, row[i].w};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int pair = (i * 4 + part) * 4 + k;
      const float2 sum = total_of(s, pair), w = unpack(words[k]);
      total = fmaf(sum.x, w.x, fmaf(sum.y, w.y, total));
    }
  }
  total += __shfl_xor_sync(~0u, total, 1);
  total += __shfl_xor_sync(~0u, total, 2);
  if (!part) s.d_pooled[threadIdx.x / 4] = total;
}

// Each team keeps its sums for its own slots, in acc from `kFirst` on, and hands those for the other half to the other.
template <int kFirst>
__device__ __forceinline__ void hand_over(const BackwardShared& s, const float (&acc)[kSlots / 2]) {
#pragma unroll
  for (int i = 0; i < 28; ++i) s.exchange[i * kThreads + (threadIdx.x ^ 128)] = acc[28 - kFirst + i];
}

// Gradients of cells and outputs of all modules, of one thread's slots: on chip, or where those of the memory are wanted.
template <Form kForm>
struct Gradients {
  float *cell, *hidden;                          // [D][14][threads], or of module 0 at this thread's channel
  __device__ __forceinline__ int where(const Place& at, int d, int i) const {
    return kForm == Form::many ? (d * kCells + at.cell(i)) * kF : (d * kMine + i) * kThreads;
  }
  __device__ __forceinline__ bool has(const Place& at, int i) const { return kForm != Form::many || at.is_cell(i); }
  __device__ __forceinline__ float load(const float* of, const Place& at, int d, int i) const {
    return kForm == Form::many ? at.is_cell(i) ? ask_again(of + where(at, d, i)) : 0 : of[where(at, d, i)];
  }
  __device__ __forceinline__ void store(float* to, const Place& at, int d, int i, float v) const {
    if (has(at, i)) to[where(at, d, i)] = v;
  }
};

// Both teams' sums and the gradient of the pooled values: d_h of the module itself, which is kept, and of the module
// below, whose turn is next; d_hidden has what is known of that already.
template <int kFirst, Form kForm>
__device__ __forceinline__ void pass_on(const Place& at, const BackwardShared& s, const Gradients<kForm>& kept, const float (&acc)[kSlots / 2], int d, bool alone,
                                        uint32_t peaks, float (&d_hidden)[kMine]) {
  const float to_top = s.d_pooled[at.channel] / (float)(peaks >> 16), to_all = s.d_pooled[kF + at.channel] * (1.0f / kCells);
#pragma unroll
  for (int i = 0; i < kMine; ++i) {
    const int e = i / 2 * 4 + i % 2;             // rows of the product: the module below; 8 further on, its own
    float lower = acc[kFirst + e] + s.exchange[e * kThreads + threadIdx.x];
    float own = acc[kFirst + e + 2] + s.exchange[(e + 2) * kThreads + threadIdx.x];
    own += to_all + (peaks >> i & 1 ? to_top : 0);
    d_hidden[i] = lower + (alone ? own : d_hidden[i]);
    kept.store(kept.hidden, at, d, i, own);
  }
}

template <Form kForm>
constexpr int kBackwardHalves = kForm == Form::many && kStrips == 1 ? 2 : 1;

// The helpers' part of a walk: weights are asked for, dz and its column sums are stored, and word is given of it, a
// time-step late, so that nobody waits.
template <Form kForm>
__device__ __forceinline__ void help_back(const BackwardArgs& args, unsigned char* memory, const size_t b) {
  const int D = args.D, N = args.N, T = args.T, helper = threadIdx.x - kThreads - 32;
  Ring<kBackwardHalves<kForm>> ring(memory);
  const unsigned char* dz = memory + ring.kBytes;
  const float2* sums = reinterpret_cast<const float2*>(dz + 16 * kPlane + 28 * kThreads * 4);
  if (helper == -32) {
    const unsigned char* weights = args.weights + b / args.batch_per_weights * D * kGroups * kGroupBytes;
    for (int pass = 0; pass < T * N; ++pass)
      for (int d = D - 1; d >= 0; --d)
        for (int group = 0; group < kGroups; ++group) ring.fill(weights + (d * kGroups + group) * kGroupBytes);
  }
  if (helper < 0 || helper >= kStorers) return;
  for (int t = T - 1; t >= 0; --t)
    for (int tick = N * D - 1; tick >= 0; --tick) {
      const size_t where = (b * T + t) * N * D + tick;
      gather_at<kDzThere, kAll>();
      if (!helper) store_bulk(args.dz + where * 16 * kPlane, dz, 16 * kPlane);
      const float2 one = sums[helper], other = sums[kGates / 2 + helper];
      reinterpret_cast<float2*>(args.dz_sums + where * kGates)[helper] = {one.x + other.x, one.y + other.y};
      if (!helper) await_reading();
      pass<kDzRead, kAll>();
      if (!helper && tick == N * D - 1 && t < T - 1) await_storing<1>(), tell(args.progress + b * 2, T - 1 - t);
    }
  if (!helper) await_storing(), tell(args.progress + b * 2, T);
}

// dz of one strip of a trajectory, from its last time-step to its first.
template <Form kForm>
__device__ __forceinline__ void walk_back(const BackwardArgs& args, unsigned char* memory, const size_t b) {
  const int D = args.D, N = args.N, T = args.T, warp = threadIdx.x / 32, lane = threadIdx.x % 32, team = __shfl_sync(~0u, warp / 4, 0);
  const size_t which_net = b / args.batch_per_weights, state = (size_t)D * kCells * kF;
  Ring<kBackwardHalves<kForm>> ring(memory);
  BackwardShared s;
  s.dz = memory + ring.kBytes;
  s.exchange = reinterpret_cast<float*>(s.dz + 16 * kPlane);
  s.sums = s.exchange + 28 * kThreads;
  s.d_pooled = s.sums + kStrips * 2 * kGates;
  s.d_cell = s.d_pooled + 64 + 4;
  s.d_hidden = s.d_cell + D * kMine * kThreads;
  const Place at(warp % 4 * 8 + lane / 4, team);
  const size_t strip = b * kStrips + at.strip, of_thread = b * state + at.channel;
  Gradients<kForm> kept{kForm == Form::many ? args.d_c_memory + of_thread : s.d_cell + threadIdx.x, kForm == Form::many ? args.d_h_memory + of_thread : s.d_hidden + threadIdx.x};
  for (int i = threadIdx.x; i < 16 * kPlane / 16; i += kThreads) reinterpret_cast<uint4*>(s.dz)[i] = make_uint4(0, 0, 0, 0);
  meet();
  const unsigned char* weights = args.weights + which_net * D * kGroups * kGroupBytes;
  Stream stream{weights, weights + (D - 1) * kGroups * kGroupBytes, kGroups, kGroups, -2 * kGroups * kGroupBytes, T * N * D};
  const auto fill = [&] {
    if (kHelped || threadIdx.x || stream.over()) return;
    ring.fill(stream.next());
    if (stream.from < weights) stream.from = weights + (D - 1) * kGroups * kGroupBytes;
  };
  for (int place = 1; place < ring.kPlaces; ++place) fill();
  const uint4* pool = reinterpret_cast<const uint4*>(args.pool + (which_net * D * 64 + threadIdx.x / 4) * kGates) + threadIdx.x % 4;
  for (int d = 0; d < D; ++d)
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      const size_t where = of_thread + ((size_t)d * kCells + at.cell(i)) * kF;
      kept.store(kept.cell, at, d, i, at.is_cell(i) ? args.d_c_last[where] : 0);
      kept.store(kept.hidden, at, d, i, at.is_cell(i) ? args.d_h_last[where] : 0);
      if (at.is_cell(i)) args.d_c_initial[where] = args.d_h_initial[where] = 0;
    }
  const uint32_t dz = operand(shared_address(s.dz) + kMargin * 16 + team * 2 * kPlane);
  Factors factors;
  const uint32_t unread = shared_address(s.d_pooled + 64);
  float d_hidden[kMine], d_cell[kMine];          // of the module whose turn is next
  bf16 d_top[kMine];                             // of the time-step that is next
  const uint2* gates = args.gates + (strip * T * N * D + T * N * D - 1) * kMine * kThreads + threadIdx.x;
  const float* cells = args.cells + (strip * T * N * D + T * N * D - 1) * kMine * kThreads + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kMine; ++i) {
    factors.make(i, gates[i * kThreads], cells[i * kThreads], unread);
    d_hidden[i] = kept.load(kept.hidden, at, D - 1, i), d_cell[i] = kept.load(kept.cell, at, D - 1, i);
    d_top[i] = args.d_top[((b * T + T - 1) * kCells + at.cell(i)) * kF + at.channel];
  }

  int half = 0;                                  // of products so far
  for (int t = T - 1; t >= 0; --t) {
    const size_t step = b * T + t;
    uint8_t start = 0;
#pragma unroll
    for (int i = 0; i < kMine; ++i)              // the output of this time-step is the top module's h
      if (at.is_cell(i)) d_hidden[i] += __bfloat162float(d_top[i]);
    for (int n = N - 1; n >= 0; --n) {
      for (int d = D - 1; d >= 0; --d) {
        const size_t tick = ((strip * T + t) * N + n) * D + d;
        const int below = d ? d - 1 : D - 1;
        if (kForm != Form::many)
#pragma unroll
          for (int i = 0; i < kMine; ++i) d_cell[i] = kept.load(kept.cell, at, d, i);
        through_gates(at, s, factors, d_hidden, d_cell);
        if (kForm != Form::many)
#pragma unroll
          for (int i = 0; i < kMine; ++i) kept.store(kept.cell, at, d, i, d_cell[i]);
        publish();
        if (kHelped) pass<kDzThere, kAll>();
        meet();  // dz and its column sums are there
        float acc[kSlots / 2], cells_next[2];
        uint2 gates_next[2];
        uint4 row[4];
        uint32_t peaks;                          // of h_d before the tick
        if (t || n || d) gates -= kMine * kThreads, cells -= kMine * kThreads;  // the module-tick that comes next is the one stored before
#pragma unroll
        for (int group = 0; group < kGroups; ++group) {
          ring.await(half + group / kHalf, group % kHalf);
          hold(acc);
          begin_products();
#pragma unroll
          for (int i = 0; i < kGroup; ++i) {
            const int k = group * kGroup + i, tap = k / 4, columns = k % 4;
            multiply(acc, ring.operand(half + group / kHalf, group % kHalf, i) + team * 2048 / 16, dz + columns * 4 * kPlane / 16 - tap_offset(tap), k > 0);
          }
          commit_products();
          hold(acc);
          if (group == 0) {                      // what can wait until the tensor cores have work
            if (!kHelped && !threadIdx.x) store_bulk(args.dz + tick * 16 * kPlane, s.dz, 16 * kPlane);
            peaks = ask(args.peaks + (((strip * T + t) * (N + 1) + n) * D + d) * kThreads + threadIdx.x);
#pragma unroll
            for (int i = 0; i < 4; ++i) row[i] = ask(pool + d * 64 * 16 + i * 4);
            if (!kHelped && threadIdx.x < kGates / 2 && !at.strip)
              reinterpret_cast<float2*>(args.dz_sums + ((step * N + n) * D + d) * kGates)[threadIdx.x] = total_of(s, threadIdx.x);
#pragma unroll
            for (int i = 0; i < kMine; ++i)
              if (kForm == Form::many) kept.store(kept.cell, at, d, i, d_cell[i]);
          }
          if (group == 1 && n == N - 1 && d == D - 1) {
            start = args.starts[step];
            if (!kHelped && !threadIdx.x && t < T - 1) await_storing<1>(), tell(args.progress + strip * 2, T - 1 - t);  // the step before is stored
          }
          if (group == 2) gradient_of_pooled(s, row);
#pragma unroll
          for (int i = group * 2 - 8; i < group * 2 - 6; ++i)  // what was asked for under the last group
            if (i >= 0 && i < kMine) factors.make(i, gates_next[i % 2], cells_next[i % 2], unread);
#pragma unroll
          for (int i = group * 2 - 6; i < group * 2 - 4; ++i)
            if (i >= 0 && i < kMine) gates_next[i % 2] = ask(gates + i * kThreads), cells_next[i % 2] = __uint_as_float(ask(reinterpret_cast<const uint32_t*>(cells) + i * kThreads));
          if (group == 9 && !n && !d && t)
#pragma unroll
            for (int i = 0; i < kMine; ++i) d_top[i] = args.d_top[((step - 1) * kCells + at.cell(i)) * kF + at.channel];
          if (group == 10)
#pragma unroll
            for (int i = 0; i < kMine; ++i) {
              d_hidden[i] = kept.load(kept.hidden, at, below, i);
              if (kForm == Form::many) d_cell[i] = kept.load(kept.cell, at, below, i);
            }
          if (group + 1 < kGroups) await_products<kPending>(); else await_products<0>();
#pragma unroll
          for (int done = group - kPending; done >= 0 && done <= (group + 1 < kGroups ? group - kPending : group); ++done) {
            ring.release(half + done / kHalf, done % kHalf);
            fill();
          }
        }
        half += 2;
        hold(acc);
        if (team) hand_over<28>(s, acc); else hand_over<0>(s, acc);
        if (!kHelped && !threadIdx.x) await_reading();
        if (kHelped) gather_at<kDzRead, kAll>(); else meet();  // the halves are swapped, every warp is done with dz, d_pooled is there
        if (team) pass_on<28>(at, s, kept, acc, d, below == d, peaks, d_hidden); else pass_on<0>(at, s, kept, acc, d, below == d, peaks, d_hidden);
      }
    }
    if (start) {
      for (int d = 0; d < D; ++d)
#pragma unroll
        for (int i = 0; i < kMine; ++i) {
          const size_t where = of_thread + ((size_t)d * kCells + at.cell(i)) * kF;
          const float of_hidden = d == D - 1 ? d_hidden[i] : kept.load(kept.hidden, at, d, i);
          if (at.is_cell(i)) args.d_c_initial[where] += kept.load(kept.cell, at, d, i), args.d_h_initial[where] += of_hidden;
          kept.store(kept.cell, at, d, i, 0), kept.store(kept.hidden, at, d, i, 0);
        }
#pragma unroll
      for (int i = 0; i < kMine; ++i) d_hidden[i] = d_cell[i] = 0;
    }
  }
  if (!kHelped && !threadIdx.x) await_storing(), tell(args.progress + strip * 2, T);
  for (int d = 0; d < D; ++d)
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      const size_t where = of_thread + ((size_t)d * kCells + at.cell(i)) * kF;
      if (!at.is_cell(i)) continue;
      if (kForm != Form::many) args.d_c_memory[where] = kept.load(kept.cell, at, d, i);
      if (d == D - 1) args.d_h_memory[where] = d_hidden[i];
      else if (kForm != Form::many) args.d_h_memory[where] = kept.load(kept.hidden, at, d, i);
    }
}

// The gradient of one module's weights from one strip of a trajectory, half of its taps: sum over ticks and slots of
// (h below, h own)[slot + tap] x dz[slot]; slots are the inner dimension of the product. Two blocks share the taps: each
// team takes two, and a quarter of the gates of the one in the middle. Ticks come in stages, asked for ahead, in the
// order in which another block makes them. On the way half of the columns of dz are summed over the ticks of a time-step:
// the gradient of the inputs. While there are fewer blocks than tasks, a block does several by turns, some time-steps of each, and
// keeps the sums of the others in global memory: so all of them follow the walk.
constexpr int kParts = 2;
constexpr int kSeen = 8 * kPlane, kStage = kSeen + 16 * kPlane;  // bytes: h below and own, then dz
constexpr int kStages = kRows < 151 ? 4 : 3;                     // as many as there is room for
constexpr int kGranules = (16 / kParts * kSlots + kThreads - 1) / kThreads;  // of eight columns of dz, of a thread

// Where a block is in its tasks: `low` to `high` are the time-steps of this turn.
struct Turn {
  int first, every, tasks, N;
  int task, high, low, t, n;
  int taken;               // ticks so far
  __device__ __forceinline__ void begin(int first_task, int gatherers, const BackwardArgs& args) {
    first = first_task, every = gatherers, tasks = args.batch * args.D * kParts, N = args.N, taken = 0;
    take(args.T);
  }
  __device__ __forceinline__ void take(int steps) {  // of those that are left; fewer towards the end
    task = first, high = t = steps - 1, n = N - 1, low = every >= tasks ? 0 : steps - (2 * steps + 4) / 5;
  }
  __device__ __forceinline__ bool over() const { return high < 0; }
  __device__ __forceinline__ bool begins() const { return t == high && n == N - 1; }
  __device__ __forceinline__ bool ends() const { return t == low && !n; }
  __device__ __forceinline__ void next() {
    ++taken;
    if (n--) return;
    n = N - 1;
    if (--t >= low) return;
    t = high, task += every;
    if (task >= tasks) take(low);
  }
};

__device__ __forceinline__ void ask_tick(const BackwardArgs& args, const Place& at, const Turn& turn, uint32_t stage, uint32_t barrier) {
  const int D = args.D, d = turn.task / kParts % D;
  const size_t strip = (size_t)(turn.task / kParts / D) * kStrips + at.strip, step = strip * args.T + turn.t;
  const unsigned char* before = args.hiddens + (step * (args.N + 1) + turn.n) * D * kHidden;
  const unsigned char* dz = args.dz + ((step * args.N + turn.n) * D + d) * 16 * kPlane;
  const int own = at.rows * kAcross * 16;        // bytes of a plane without its margins
  if (turn.n == args.N - 1) await_word(args.progress + strip * 2, args.T - turn.t);
  expect_bytes(barrier, kSeen + 16 * (kStrips == 1 ? kPlane : own));
  load_bulk(stage, before + (size_t)(d ? D + d - 1 : D - 1) * kHidden, kHidden, barrier);  // below: after its tick, or the top's before
  load_bulk(stage + kHidden, before + (size_t)d * kHidden, kHidden, barrier);
  if (kStrips == 1) load_bulk(stage + kSeen, dz, 16 * kPlane, barrier);
  for (int plane = 0; kStrips > 1 && plane < 16; ++plane)  // without what neighbours have put there: it is theirs to count
    load_bulk(stage + kSeen + plane * kPlane + kMargin * 16, dz + plane * kPlane + kMargin * 16, own, barrier);
}

// Operands whose inner dimension is the slots: eight slots on is a tile on, eight channels on is a plane on.
__device__ __forceinline__ uint32_t turned_operand(uint32_t address) { return (128 / 16 << 16) + described(address); }
// d (64 channels by 128 or 32 gates) gets a (channels by 16 slots) times b (16 slots by gates), both in shared memory.
__device__ __forceinline__ void multiply_turned(float (&d)[64], uint32_t a, uint32_t b, bool add) { WGMMA(64, 128, 64, 65, 66, 67, kPlane / 16, "1, 1"); }
__device__ __forceinline__ void multiply_turned(float (&d)[16], uint32_t a, uint32_t b, bool add) { WGMMA(16, 32, 16, 17, 18, 19, kPlane / 16, "1, 1"); }
// A team's sums to where they are wanted, or back: `gradient` begins at the tap, and at the first gate.
template <bool kStore, int kCount>
__device__ __forceinline__ void move_gradient(float* gradient, float (&acc)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    const int channel = threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8, gate = i / 4 * 8 + threadIdx.x % 4 * 2;
    float2* two = reinterpret_cast<float2*>(gradient + channel * kGates + gate);
    if (kStore) *two = {acc[i], acc[i + 1]};
    else acc[i] = two->x, acc[i + 1] = two->y;
  }
}

__device__ __forceinline__ void gather(const BackwardArgs& args, unsigned char* memory, const int mine) {
  const Place at(0, 0);
  const uint32_t base = shared_address(memory), barriers = base + kStages * kStage;
  const int team = threadIdx.x / 128;
  __shared__ Turn asked;                         // one thread's
  Turn turn;
  turn.begin(mine, args.gatherers, args);
  const auto ask = [&] {
    if (asked.over()) return;
    ask_tick(args, at, asked, base + asked.taken % kStages * kStage, barriers + asked.taken % kStages * 8);
    asked.next();
  };
  if (kStrips > 1) {                             // slots that are not loaded count nothing
    for (int i = threadIdx.x; i < kStages * kStage / 16; i += kThreads) reinterpret_cast<uint4*>(memory)[i] = make_uint4(0, 0, 0, 0);
    publish();
    workers_meet();
  }
  if (!threadIdx.x) {
    for (int stage = 0; stage < kStages; ++stage) prepare_barrier(barriers + stage * 8, 1);
    asked.begin(mine, args.gatherers, args);
    for (int ahead = 0; ahead < kStages - 2; ++ahead) ask();
  }
  float first[64], second[64], quarter[16], sums[kGranules][8];
  while (!turn.over()) {
    const int d = turn.task / kParts % args.D, part = turn.task % kParts;
    const size_t b = turn.task / kParts / args.D, strip = b * kStrips + at.strip;
    const int tap = part * 5 + team * 2, gate = (part * 2 + team) * 32;  // of this team: two from `tap` on, 32 gates of the one in the middle
    float* gradient = args.gradient + (strip * args.D + d) * 9 * 64 * kGates;
    const auto move = [&](auto store) {
      move_gradient<decltype(store)::value>(gradient + tap * 64 * kGates, first), move_gradient<decltype(store)::value>(gradient + (tap + 1) * 64 * kGates, second);
      move_gradient<decltype(store)::value>(gradient + 4 * 64 * kGates + gate, quarter);
    };
    bool add = turn.high < args.T - 1;
    if (add) move(std::false_type());
    for (bool ends = false; !ends; turn.next(), add = true) {
      workers_meet();  // everyone is done with the last tick but one
      if (!threadIdx.x) ask();
      const int t = turn.t, n = turn.n, stage = turn.taken % kStages;
      ends = turn.ends();
      wait(barriers + stage * 8, turn.taken / kStages & 1);
      const uint32_t margin = base + stage * kStage + kMargin * 16, seen = turned_operand(margin), dz = turned_operand(margin + kSeen);
      begin_products();
#pragma unroll
      for (int step = 0; step < kSlots / 16; ++step) {
        multiply_turned(first, seen + tap_offset(tap) + step * 16, dz + step * 16, add || step);
        multiply_turned(second, seen + tap_offset(tap + 1) + step * 16, dz + step * 16, add || step);
        multiply_turned(quarter, seen + tap_offset(4) + step * 16, dz + gate / 8 * (kPlane / 16) + step * 16, add || step);
      }
      commit_products();
#pragma unroll
      for (int i = 0; i < kGranules; ++i) {      // meanwhile
        const int granule = i * kThreads + threadIdx.x, slot = granule / 8, plane = part * 8 + granule % 8;
        if (slot >= kSlots) continue;
        const uint4 v = *reinterpret_cast<const uint4*>(memory + stage * kStage + kSeen + plane * kPlane + (kMargin + slot) * 16);
        const uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const float2 two = unpack(words[k]);
          sums[i][2 * k] = (n == args.N - 1 ? 0 : sums[i][2 * k]) + two.x, sums[i][2 * k + 1] = (n == args.N - 1 ? 0 : sums[i][2 * k + 1]) + two.y;
        }
        if (!n && slot < at.rows * kAcross && slot % kAcross < kW)
          args.d_inputs[(((b * args.T + t) * kCells + at.first() + slot - slot / kAcross) * args.D + d) * 16 + plane] =
              make_uint4(pack(sums[i][0], sums[i][1]), pack(sums[i][2], sums[i][3]), pack(sums[i][4], sums[i][5]), pack(sums[i][6], sums[i][7]));
      }
      await_products<1>();
    }
    await_products<0>();
    move(std::true_type());
  }
}

// First the boards' blocks, which make dz; then, on multiprocessors that are free, blocks that gather what the weights
// and the inputs learn from it. Boards are numbered as their blocks start: whom one waits for has started before it.
template <Form kForm>
__global__ void __launch_bounds__(kBlock, 1) backward(BackwardArgs args) {
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ uint32_t number;
  const auto all_meet = [] { if (kHelped) __syncthreads(); else meet(); };
  all_meet();
  if (!threadIdx.x && !strip_of_block()) {
    const uint32_t mine = atomicAdd(args.progress + 1, 1);
    if (kStrips == 1) number = mine;
    for (int strip = 0; kStrips > 1 && strip < kStrips; ++strip) put(there(shared_address(&number), strip), mine);
  }
  all_meet();
  const int mine = number, task = mine - args.batch;
  if (task < 0) {                                // before helpers go their own way
    if (!threadIdx.x) Ring<kBackwardHalves<kForm>>(memory).prepare();
    __syncthreads();
  }
  if (kHelped && threadIdx.x >= kThreads) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (task < 0) help_back<kForm>(args, memory, mine);
    return;
  }
  if (kHelped) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  if (task < 0) walk_back<kForm>(args, memory, mine);
  else gather(args, memory, task);
}

template <class T>
T* at(ffi::AnyBuffer buffer) { return reinterpret_cast<T*>(buffer.untyped_data()); }
template <class T>
T* at(ffi::Result<ffi::AnyBuffer>& buffer) { return reinterpret_cast<T*>(buffer->untyped_data()); }

// How blocks are launched: a board's strips are a cluster.
struct Launch {
  const void* kernel;
  cudaLaunchAttribute cluster{};
  cudaLaunchConfig_t config{};
  bool fits;
  Launch(const void* kernel, int threads, size_t shared, cudaStream_t stream) : kernel(kernel) {
    fits = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared) == cudaSuccess;
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = kStrips, cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    config.gridDim = dim3(kStrips), config.blockDim = dim3(threads), config.dynamicSmemBytes = shared, config.stream = stream;
    config.attrs = &cluster, config.numAttrs = 1;
  }
  Launch(const Launch&) = delete;
  int room() const {                             // boards that the GPU has room for at a time
    int boards = 0;
    return cudaOccupancyMaxActiveClusters(&boards, kernel, &config) == cudaSuccess ? boards : 0;
  }
  ffi::Error go(int boards, void* args) {
    if (!fits) return ffi::Error::Internal("the DRC kernel needs more shared memory than this GPU has");
    config.gridDim.x = boards * kStrips;
    void* arguments[] = {args};
    cudaLaunchKernelExC(&config, kernel, arguments);
    cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) return ffi::Error::Internal(cudaGetErrorString(error));
    return ffi::Error::Success();
  }
};

// Leading axes of `inputs` [..., T, H, W, D, 128] count trajectories, those of `weights` [..., D, ...] count networks.
struct Sizes {
  int batch, networks, D, T;
  Sizes(ffi::AnyBuffer per_frame, int frame_axes, ffi::AnyBuffer weights, int weight_axes) {
    auto p = per_frame.dimensions();
    auto w = weights.dimensions();
    batch = networks = 1;
    for (size_t i = 0; i + frame_axes < p.size(); ++i) batch *= p[i];
    for (size_t i = 0; i + weight_axes < w.size(); ++i) networks *= w[i];
    T = p[p.size() - frame_axes];
    D = w[w.size() - weight_axes];
  }
};

template <bool kSave>
ffi::Error start(ForwardArgs args, cudaStream_t stream) {
  const bool on_chip = args.D <= kMost;
  size_t shared = Ring<kForwardHalves>::kBytes + (size_t)args.D * (kStates * kHidden + (on_chip ? kMine * kThreads * 4 : 0) + kGates * 4) + 2 * 64 * 4 +
                  (kHelped ? 3 * 64 * 4 : 0) + (kStrips > 1 ? 2 * kStrips * kF * 16 : 0);
  const void* kernel = args.D == 1 ? (const void*)forward<kSave, Form::one> : on_chip ? (const void*)forward<kSave, Form::few> : (const void*)forward<kSave, Form::many>;
  Launch launch(kernel, kBlock, shared, stream);
  const int room = launch.room();
  return launch.go(room ? std::min(args.batch, room) : args.batch, &args);
}

template <bool kSave>
ffi::Error run_forward(cudaStream_t stream, int64_t ticks, ffi::AnyBuffer weights, ffi::AnyBuffer pool, ffi::AnyBuffer c0,
                       ffi::AnyBuffer h0, ffi::AnyBuffer c, ffi::AnyBuffer h, ffi::AnyBuffer inputs, ffi::AnyBuffer starts,
                       bf16* top, float* c_last, bf16* h_last, uint2* gates, float* cells, unsigned char* hiddens, uint32_t* peaks, float* pooled) {
  Sizes sizes(inputs, 5, weights, 6);
  ForwardArgs args{at<unsigned char>(weights), at<bf16>(pool), at<float>(c0), at<bf16>(h0), at<float>(c), at<bf16>(h),
                   at<bf16>(inputs), at<uint8_t>(starts), top, c_last, h_last, gates, cells, hiddens, peaks, pooled,
                   sizes.batch, sizes.batch / sizes.networks, sizes.D, (int)ticks, sizes.T};
  return start<kSave>(args, stream);
}

ffi::Error Infer(cudaStream_t stream, int64_t ticks, ffi::AnyBuffer weights, ffi::AnyBuffer pool, ffi::AnyBuffer c0, ffi::AnyBuffer h0,
                 ffi::AnyBuffer c, ffi::AnyBuffer h, ffi::AnyBuffer inputs, ffi::AnyBuffer starts, ffi::Result<ffi::AnyBuffer> top,
                 ffi::Result<ffi::AnyBuffer> c_last, ffi::Result<ffi::AnyBuffer> h_last) {
  return run_forward<false>(stream, ticks, weights, pool, c0, h0, c, h, inputs, starts, at<bf16>(top), at<float>(c_last),
                            at<bf16>(h_last), nullptr, nullptr, nullptr, nullptr, nullptr);
}

ffi::Error Forward(cudaStream_t stream, int64_t ticks, ffi::AnyBuffer weights, ffi::AnyBuffer pool, ffi::AnyBuffer c0, ffi::AnyBuffer h0,
                   ffi::AnyBuffer c, ffi::AnyBuffer h, ffi::AnyBuffer inputs, ffi::AnyBuffer starts, ffi::Result<ffi::AnyBuffer> top,
                   ffi::Result<ffi::AnyBuffer> c_last, ffi::Result<ffi::AnyBuffer> h_last, ffi::Result<ffi::AnyBuffer> gates,
                   ffi::Result<ffi::AnyBuffer> cells, ffi::Result<ffi::AnyBuffer> hiddens, ffi::Result<ffi::AnyBuffer> peaks,
                   ffi::Result<ffi::AnyBuffer> pooled) {
  return run_forward<true>(stream, ticks, weights, pool, c0, h0, c, h, inputs, starts, at<bf16>(top), at<float>(c_last),
                           at<bf16>(h_last), at<uint2>(gates), at<float>(cells), at<unsigned char>(hiddens), at<uint32_t>(peaks), at<float>(pooled));
}

ffi::Error start(BackwardArgs args, cudaStream_t stream) {
  const bool on_chip = args.D <= kMost;
  size_t walking = Ring<kBackwardHalves<Form::few>>::kBytes + 16 * kPlane + 28 * kThreads * 4 + (on_chip ? (size_t)args.D * 2 * kMine * kThreads * 4 : 0) + (kStrips * 2 * kGates + 64 + 4) * 4;
  if (!on_chip) walking += Ring<kBackwardHalves<Form::many>>::kBytes - Ring<kBackwardHalves<Form::few>>::kBytes;
  size_t gathering = kStages * (kStage + 8);
  cudaMemsetAsync(args.progress, 0, (size_t)args.batch * kStrips * 8, stream);
  Launch launch(on_chip ? (const void*)backward<Form::few> : (const void*)backward<Form::many>, kBlock, std::max(walking, gathering), stream);
  const int tasks = args.batch * args.D * kParts, free = launch.room() - args.batch;  // beside the walk
  args.gatherers = free * 8 < tasks ? tasks : (tasks + (tasks + free - 1) / free - 1) / ((tasks + free - 1) / free);
  return launch.go(args.batch + args.gatherers, &args);
}

ffi::Error Backward(cudaStream_t stream, int64_t ticks, ffi::AnyBuffer weights, ffi::AnyBuffer pool, ffi::AnyBuffer gates,
                    ffi::AnyBuffer cells, ffi::AnyBuffer peaks, ffi::AnyBuffer hiddens, ffi::AnyBuffer starts, ffi::AnyBuffer d_top,
                    ffi::AnyBuffer d_c_last, ffi::AnyBuffer d_h_last, ffi::Result<ffi::AnyBuffer> gradient, ffi::Result<ffi::AnyBuffer> d_inputs,
                    ffi::Result<ffi::AnyBuffer> dz_sums, ffi::Result<ffi::AnyBuffer> d_c_memory, ffi::Result<ffi::AnyBuffer> d_h_memory,
                    ffi::Result<ffi::AnyBuffer> d_c_initial, ffi::Result<ffi::AnyBuffer> d_h_initial, ffi::Result<ffi::AnyBuffer> dz,
                    ffi::Result<ffi::AnyBuffer> progress) {
  Sizes sizes(d_top, 4, weights, 5);
  BackwardArgs args{at<unsigned char>(weights), at<bf16>(pool), at<uint2>(gates), at<float>(cells), at<uint32_t>(peaks), at<uint8_t>(starts),
                    at<bf16>(d_top), at<float>(d_c_last), at<float>(d_h_last), at<unsigned char>(dz), at<float>(dz_sums), at<float>(d_c_memory),
                    at<float>(d_h_memory), at<float>(d_c_initial), at<float>(d_h_initial), at<unsigned char>(hiddens), at<float>(gradient),
                    at<uint4>(d_inputs), at<uint32_t>(progress), sizes.batch, sizes.batch / sizes.networks, sizes.D, (int)ticks, sizes.T};
  return start(args, stream);
}

}  // namespace

#define EIGHT_ARGS .Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>()
#define THREE_RESULTS .Ret<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>()
#define BIND ffi::Ffi::Bind().Ctx<ffi::PlatformStream<cudaStream_t>>().Attr<int64_t>("ticks")

XLA_FFI_DEFINE_HANDLER_SYMBOL(DrcInfer, Infer, BIND EIGHT_ARGS THREE_RESULTS, {ffi::Traits::kCmdBufferCompatible});
XLA_FFI_DEFINE_HANDLER_SYMBOL(DrcForward, Forward, BIND EIGHT_ARGS THREE_RESULTS THREE_RESULTS.Ret<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>(), {ffi::Traits::kCmdBufferCompatible});
XLA_FFI_DEFINE_HANDLER_SYMBOL(DrcBackward, Backward,
                              BIND EIGHT_ARGS.Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>() THREE_RESULTS THREE_RESULTS THREE_RESULTS,
                              {ffi::Traits::kCmdBufferCompatible});
