// The recurrent core of DRC(D, N) on GPUs of compute capability 8.0 and above: a whole unroll in one kernel, one block per
// trajectory. The same tensors as kernel.cu's, which is faster and runs on Hopper only; what only the kernels themselves
// read (gates, cells, hidden states, dz, packed weights) lies in another order.
//
// Data flow. A block keeps everything that recurs on chip: the hidden states h_d in shared memory, with a border of
// zeros so that a 3x3 convolution is nine shifted reads of the same buffer (no im2col), and the cell states c_d in
// float32, each value owned by one thread. A module-tick is one matrix product, positions x (9 taps * 64 channels) by
// 128 gates, on the tensor cores (mma.sync): eight warps, four across the gates and two across the positions. The
// weights do not fit on chip and stream from L2, packed beforehand in the order in which the tensor cores' fragments want
// them, so that a warp reads them straight into registers. A channel's four gates are columns side by side: the thread
// that holds an accumulator holds all four gates of two channels, and reads or writes them as 16 bytes.
//
// `forward` also stores gates, cells and hidden states when it is told to; `backward` walks them in reverse and gives
// the gradient of every gate's pre-activation, dz. The convolution's input gradient is again one matrix product, from
// a bordered buffer of dz. Whatever a module-tick needs from global memory is asked for before the matrix product
// that precedes its use, so that the tensor cores work while it travels. `weight_gradient` then makes the gradient of
// the convolution's weights from all ticks at once, a block for each trajectory, module and row of taps, and
// `input_gradient` sums dz over the ticks of a time-step.
//
// Shared memory is 99 kB a block on some GPUs: pool weights, and backward the gradients of the state, stay in L2 there.
//
// H, W, the grid, and MEMORY (see kernel.cu) are compile-time constants; D, N, T are not. 32 channels.

#include "calls.cuh"
#include "values.cuh"

namespace {

constexpr int kRows = (kH + 2) * (kW + 2);       // with the border
constexpr int kTiles = (kCells + 15) / 16;       // of 16 positions
constexpr int kMyTiles = (kTiles + 1) / 2;       // at most, of one warp
constexpr int kHiddenPitch = kF * 2 + 16;        // bytes; the 16 spare bytes spread rows over the banks
constexpr int kGatePitch = kGates * 2 + 16;
constexpr int kForwardSteps = 36;                // k-steps of 16: 9 taps * 64 channels
constexpr int kBackwardSteps = 72;               // 9 taps * 128 gates

__device__ __forceinline__ void load_tile(uint32_t (&a)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(address));
}
__device__ __forceinline__ void multiply(float (&acc)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Which positions and channels a thread owns: two rows of each of its tiles, two channels.
struct Place {
  int lane, columns, first_tile, tiles, channel;
  __device__ Place() {
    int warp = threadIdx.x / 32;
    lane = threadIdx.x % 32;
    columns = warp % 4;                          // this warp's eight channels
    first_tile = (warp / 4) * kMyTiles;
    tiles = warp / 4 ? kTiles - kMyTiles : kMyTiles;
    channel = columns * 8 + (lane % 4) * 2;
  }
  __device__ int cell(int tile, int half) const { return (first_tile + tile) * 16 + half * 8 + lane / 4; }
  __device__ int clamped_cell(int tile, int half) const {
    int mine = cell(tile, half);
    return mine < kCells ? mine : kCells - 1;
  }
  __device__ static int row(int cell) { return (cell / kW + 1) * (kW + 2) + cell % kW + 1; }
  // the row whose address this lane gives to ldmatrix; positions beyond the board repeat the last
  __device__ uint32_t fragment_row(int tile) const {
    int cell = (first_tile + tile) * 16 + lane % 16;
    return row(cell < kCells ? cell : kCells - 1);
  }
};

// Sum (or maximum) over the eight lanes that own the same channels.
template <class Op>
__device__ __forceinline__ float over_rows(float v, Op op) {
  for (int step = 4; step < 32; step *= 2) v = op(v, __shfl_xor_sync(~0u, v, step));
  return v;
}
struct Add { __device__ float operator()(float a, float b) const { return a + b; } };
struct Max { __device__ float operator()(float a, float b) const { return fmaxf(a, b); } };

__device__ __forceinline__ int tap_offset(int tap) { return (tap / 3 - 1) * (kW + 2) + tap % 3 - 1; }

struct ForwardArgs {
  const uint4* weights;    // [S, D, 36, 4, 2, 32] x 16 bytes
  const bf16* pool;        // [S, D, 64, 128], columns in gate order
  const float* c_initial;  // [S, D, cells, F]
  const bf16* h_initial;
  const float* c_memory;   // [B, D, cells, F]
  const bf16* h_memory;
  const bf16* inputs;      // [B, T, cells, D, 128], what the convolutions add for the observation, in gate order
  const uint8_t* starts;   // [B, T]
  bf16* top;               // [B, T, cells, F]
  float* c_last;           // [B, D, cells, F]
  bf16* h_last;
  __half* gates;           // [B, T, N, D, cells, 128] or null
  float* cells;            // [B, T, N, D, cells, F], before each tick
  bf16* hiddens;           // [B, T, N + 1, D, cells, F], before the first tick and after each
  float* pooled;           // [B, T, N + 1, D, max 32 and mean 32]
  int batch_per_weights, D, N, T;
  bool pool_on_chip;
};

struct ForwardShared {
  unsigned char* hidden;   // [D][rows][pitch]
  float4* cell;            // [D][tiles][threads]
  float* injected;         // [D][128]
  float* pooled;           // [2 position groups][max 32, sum 32]
  float* united;           // [D][max 32, mean 32]
  const bf16* pool;        // [D][64][128]
};

__device__ void pool_hidden(const Place& at, const ForwardShared& s, float2 top, float2 sum) {
  top.x = over_rows(top.x, Max()), top.y = over_rows(top.y, Max());
  sum.x = over_rows(sum.x, Add()), sum.y = over_rows(sum.y, Add());
  if (at.lane < 4) {
    float* mine = s.pooled + (at.first_tile ? 64 : 0) + at.channel;
    mine[0] = top.x, mine[1] = top.y, mine[32] = sum.x, mine[33] = sum.y;
  }
}

// injected[d] = pool weights^T (max, mean); call between barriers, after pool_hidden.
__device__ void inject(const ForwardShared& s, int d) {
  int column = threadIdx.x / 2, part = threadIdx.x % 2;  // part 0: maxima, part 1: means
  const bf16* weights = s.pool + (d * 64 + part * 32) * kGates + column;
  float total = 0;
#pragma unroll 8
  for (int k = 0; k < 32; ++k) {
    float a = s.pooled[part * 32 + k], b = s.pooled[64 + part * 32 + k];
    float v = part ? (a + b) * (1.0f / kCells) : fmaxf(a, b);
    if (k == column) s.united[d * 64 + part * 32 + k] = v;
    total = fmaf(__bfloat162float(__float2bfloat16(v)), __bfloat162float(weights[k * kGates]), total);
  }
  total += __shfl_xor_sync(~0u, total, 1);
  if (!part) s.injected[d * kGates + column] = total;
}

__device__ void load_state(const Place& at, const ForwardShared& s, const float* c, const bf16* h, int D) {
  for (int d = 0; d < D; ++d) {
    float2 top = {-1e30f, -1e30f}, sum = {0, 0};
    for (int tile = 0; tile < at.tiles; ++tile) {
      float4 value = {0, 0, 0, 0};
      for (int half = 0; half < 2; ++half) {
        int cell = at.cell(tile, half);
        if (cell >= kCells) continue;
        size_t where = ((size_t)d * kCells + cell) * kF + at.channel;
        float2 mine = *reinterpret_cast<const float2*>(c + where);
        if (half) value.z = mine.x, value.w = mine.y; else value.x = mine.x, value.y = mine.y;
        uint32_t packed = *reinterpret_cast<const uint32_t*>(h + where);
        *reinterpret_cast<uint32_t*>(s.hidden + ((size_t)d * kRows + at.row(cell)) * kHiddenPitch + at.channel * 2) = packed;
        float2 hv = unpack(packed);
        top.x = fmaxf(top.x, hv.x), top.y = fmaxf(top.y, hv.y), sum.x += hv.x, sum.y += hv.y;
      }
      s.cell[(d * kMyTiles + tile) * kThreads + threadIdx.x] = value;
    }
    pool_hidden(at, s, top, sum);
    __syncthreads();
    inject(s, d);
    __syncthreads();
  }
}

__device__ const bf16* copy_pool(void* to, const bf16* from, int D) {
  for (int i = threadIdx.x; i < D * 64 * kGates / 8; i += kThreads) reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
  return reinterpret_cast<const bf16*>(to);
}

template <int kWarpTiles>
__device__ __forceinline__ void convolve(float (&acc)[kMyTiles][4][4], const Place& at, uint32_t lower, uint32_t own,
                                         const uint32_t (&rows)[kMyTiles], const uint4* weights) {
#pragma unroll
  for (int tile = 0; tile < kWarpTiles; ++tile)
#pragma unroll
    for (int gate = 0; gate < 4; ++gate)
#pragma unroll
      for (int i = 0; i < 4; ++i) acc[tile][gate][i] = 0;
  constexpr int kAhead = 4;
  uint4 ahead[kAhead][2];
  const uint4* mine = weights + at.columns * 64 + at.lane;
#pragma unroll
  for (int step = 0; step < kAhead; ++step) ahead[step][0] = __ldg(mine + step * 256), ahead[step][1] = __ldg(mine + step * 256 + 32);
#pragma unroll
  for (int step = 0; step < kForwardSteps; ++step) {
    int tap = step / 4, quarter = step % 4;      // quarters 0, 1: the module below; 2, 3: the module's own
    uint32_t base = (quarter < 2 ? lower : own) + tap_offset(tap) * kHiddenPitch + (quarter % 2) * 32;
    uint4 first = ahead[step % kAhead][0], second = ahead[step % kAhead][1];
    if (step + kAhead < kForwardSteps) {
      ahead[step % kAhead][0] = __ldg(mine + (step + kAhead) * 256);
      ahead[step % kAhead][1] = __ldg(mine + (step + kAhead) * 256 + 32);
    }
#pragma unroll
    for (int tile = 0; tile < kWarpTiles; ++tile) {
      uint32_t a[4];
      load_tile(a, base + rows[tile]);
      multiply(acc[tile][0], a, first.x, first.y);
      multiply(acc[tile][1], a, first.z, first.w);
      multiply(acc[tile][2], a, second.x, second.y);
      multiply(acc[tile][3], a, second.z, second.w);
    }
  }
}

template <bool kSave>
__device__ __forceinline__ void update_module(const ForwardArgs& args, const Place& at, const ForwardShared& s,
                                              const float (&acc)[kMyTiles][4][4], int d, const uint4 (&inputs)[kMyTiles][2],
                                              size_t saved, size_t hidden_saved, bf16* top_out) {
  float inj[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) inj[i] = s.injected[d * kGates + at.channel * 4 + i];
  float2 top = {-1e30f, -1e30f}, sum = {0, 0};
#pragma unroll
  for (int tile = 0; tile < kMyTiles; ++tile) {
    if (tile >= at.tiles) continue;
    float4& slot = s.cell[(d * kMyTiles + tile) * kThreads + threadIdx.x];
    float4 held = slot;
    float c[4] = {held.x, held.y, held.z, held.w};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int cell = at.cell(tile, half);
      if (cell >= kCells) continue;
      uint4 in = inputs[tile][half];
      uint32_t words[4] = {in.x, in.y, in.z, in.w};
      if (kSave) *reinterpret_cast<float2*>(args.cells + (saved + cell) * kF + at.channel) = {c[half * 2], c[half * 2 + 1]};
      float out[8], h[2];
#pragma unroll
      for (int ch = 0; ch < 2; ++ch) {
        float z[4];
#pragma unroll
        for (int gate = 0; gate < 4; ++gate) {
          float2 w = unpack(words[ch * 2 + gate / 2]);
          z[gate] = acc[tile][gate][half * 2 + ch] + inj[ch * 4 + gate] + (gate % 2 ? w.y : w.x);
        }
        float f = kCell ? sigmoid_of(z[0]) : 0, i = kCell ? sigmoid_of(z[1]) : 1, o = kOpens ? sigmoid_of(z[2]) : 1, g = tanh_of(z[3]);
        float& cell_value = c[half * 2 + ch];
        if (kCell) cell_value = fmaf(f, cell_value, i * g);
        h[ch] = o * (kCell ? tanh_of(cell_value) : g);
        out[ch * 4] = f, out[ch * 4 + 1] = i, out[ch * 4 + 2] = o, out[ch * 4 + 3] = g;
      }
      if (kSave)
        *reinterpret_cast<uint4*>(args.gates + (saved + cell) * kGates + at.channel * 4) =
            make_uint4(pack_gates(out[0], out[1]), pack_gates(out[2], out[3]), pack_gates(out[4], out[5]), pack_gates(out[6], out[7]));
      uint32_t packed = pack(h[0], h[1]);
      *reinterpret_cast<uint32_t*>(s.hidden + ((size_t)d * kRows + at.row(cell)) * kHiddenPitch + at.channel * 2) = packed;
      if (kSave) *reinterpret_cast<uint32_t*>(args.hiddens + (hidden_saved + cell) * kF + at.channel) = packed;
      if (top_out) *reinterpret_cast<uint32_t*>(top_out + (size_t)cell * kF + at.channel) = packed;
      float2 hv = unpack(packed);
      top.x = fmaxf(top.x, hv.x), top.y = fmaxf(top.y, hv.y), sum.x += hv.x, sum.y += hv.y;
    }
    slot = make_float4(c[0], c[1], c[2], c[3]);
  }
  pool_hidden(at, s, top, sum);
}

__device__ void store_hidden(const Place& at, const ForwardShared& s, bf16* out, int D) {
  for (int d = 0; d < D; ++d)
    for (int tile = 0; tile < at.tiles; ++tile)
      for (int half = 0; half < 2; ++half) {
        int cell = at.cell(tile, half);
        if (cell >= kCells) continue;
        *reinterpret_cast<uint32_t*>(out + ((size_t)d * kCells + cell) * kF + at.channel) =
            *reinterpret_cast<uint32_t*>(s.hidden + ((size_t)d * kRows + at.row(cell)) * kHiddenPitch + at.channel * 2);
      }
}

template <bool kSave>
__global__ void __launch_bounds__(kThreads, 1) forward(ForwardArgs args) {
  extern __shared__ __align__(128) unsigned char memory[];
  const int D = args.D, N = args.N, T = args.T;
  ForwardShared s;
  s.hidden = memory;
  s.cell = reinterpret_cast<float4*>(s.hidden + D * kRows * kHiddenPitch);
  s.injected = reinterpret_cast<float*>(s.cell + D * kMyTiles * kThreads);
  s.pooled = s.injected + D * kGates;
  s.united = s.pooled + 128;
  const size_t b = blockIdx.x, which = b / args.batch_per_weights;
  s.pool = args.pool + which * D * 64 * kGates;
  if (args.pool_on_chip) s.pool = copy_pool(s.united + D * 64, s.pool, D);
  Place at;
  for (int i = threadIdx.x; i < D * kRows * kHiddenPitch / 16; i += kThreads) reinterpret_cast<uint4*>(s.hidden)[i] = make_uint4(0, 0, 0, 0);
  __syncthreads();

  const size_t state = (size_t)D * kCells * kF;
  const uint4* weights = args.weights + which * D * kForwardSteps * 256;
  uint32_t rows[kMyTiles];
#pragma unroll
  for (int tile = 0; tile < kMyTiles; ++tile)
    rows[tile] = at.fragment_row(tile < at.tiles ? tile : 0) * kHiddenPitch + (at.lane / 16) * 16;
  uint32_t hidden = static_cast<uint32_t>(__cvta_generic_to_shared(s.hidden));

  for (int t = 0; t < T; ++t) {
    bool start = args.starts[b * T + t];
    if (start) load_state(at, s, args.c_initial + which * state, args.h_initial + which * state, D);
    else if (!t) load_state(at, s, args.c_memory + b * state, args.h_memory + b * state, D);
    if (kSave) {
      store_hidden(at, s, args.hiddens + (b * T + t) * (N + 1) * state, D);
      for (int i = threadIdx.x; i < D * 64; i += kThreads) args.pooled[(b * T + t) * (N + 1) * D * 64 + i] = s.united[i];
    }
    for (int n = 0; n < N; ++n) {
      for (int d = 0; d < D; ++d) {
        uint4 inputs[kMyTiles][2];
        const bf16* mine = args.inputs + ((b * T + t) * kCells * D + d) * kGates + at.channel * 4;
#pragma unroll
        for (int tile = 0; tile < kMyTiles; ++tile)
#pragma unroll
          for (int half = 0; half < 2; ++half)
            inputs[tile][half] = __ldg(reinterpret_cast<const uint4*>(mine + (size_t)at.clamped_cell(tile, half) * D * kGates));
        float acc[kMyTiles][4][4];
        uint32_t below = hidden + (d ? d - 1 : D - 1) * kRows * kHiddenPitch, own = hidden + d * kRows * kHiddenPitch;
        if (at.first_tile) convolve<kTiles - kMyTiles>(acc, at, below, own, rows, weights + d * kForwardSteps * 256);
        else convolve<kMyTiles>(acc, at, below, own, rows, weights + d * kForwardSteps * 256);
        __syncthreads();  // every warp has read the old h_d
        size_t saved = (((b * T + t) * N + n) * D + d) * kCells;
        size_t hidden_saved = (((b * T + t) * (N + 1) + n + 1) * D + d) * kCells;
        bf16* top = (n == N - 1 && d == D - 1) ? args.top + (b * T + t) * kCells * kF : nullptr;
        update_module<kSave>(args, at, s, acc, d, inputs, saved, hidden_saved, top);
        __syncthreads();  // the new h_d and its pooled values are there
        inject(s, d);
      }
      if (kSave && n + 1 < N) {
        __syncthreads();
        for (int i = threadIdx.x; i < D * 64; i += kThreads) args.pooled[((b * T + t) * (N + 1) + n + 1) * D * 64 + i] = s.united[i];
      }
    }
    __syncthreads();
  }
  store_hidden(at, s, args.h_last + b * state, D);
  for (int d = 0; d < D; ++d)
    for (int tile = 0; tile < at.tiles; ++tile) {
      float4 c = s.cell[(d * kMyTiles + tile) * kThreads + threadIdx.x];
      for (int half = 0; half < 2; ++half) {
        int cell = at.cell(tile, half);
        if (cell >= kCells) continue;
        *reinterpret_cast<float2*>(args.c_last + b * state + ((size_t)d * kCells + cell) * kF + at.channel) =
            half ? make_float2(c.z, c.w) : make_float2(c.x, c.y);
      }
    }
}

struct BackwardArgs {
  const uint4* weights;    // [S, D, 72, 4, 32] x 16 bytes
  const bf16* pool;        // [S, D, 64, 128]
  const __half* gates;
  const float* cells;
  const bf16* hiddens;
  const uint8_t* starts;
  const bf16* d_top;       // [B, T, cells, F]
  const float* d_c_last;   // [B, D, cells, F]
  const float* d_h_last;
  bf16* dz;                // [B, T, N, D, cells, 128]
  float* dz_sums;          // [B, T, N, D, 128], over the board
  float* d_c_memory;       // [B, D, cells, F]
  float* d_h_memory;
  float* d_c_initial;      // [B, D, cells, F], per trajectory
  float* d_h_initial;
  float* gradient;         // [B, D, 9, 64, 128], of the convolutions' weights; until it is made, room for gradients of the state
  uint4* d_inputs;         // [B, T, cells, D, 128] in bfloat16
  int batch, batch_per_weights, D, N, T;
  bool pool_on_chip, state_on_chip;
};

struct BackwardShared {
  unsigned char* dz;       // [rows][pitch]
  float4* d_cell;          // [D][tiles][threads]
  float4* d_hidden;
  float* sums;             // [2 position groups][128 column sums, 32 counts of maxima]
  float* d_pooled;         // [64]
  float* tops;             // [2 position groups][32], maxima of the hidden state before the tick
  const bf16* pool;        // [D][64][128]
};

__device__ __forceinline__ float4 gather(const Place& at, const float* from, int d, int tile) {
  float4 v = {0, 0, 0, 0};
  for (int half = 0; half < 2; ++half) {
    int cell = at.cell(tile, half);
    if (cell >= kCells) continue;
    float2 mine = *reinterpret_cast<const float2*>(from + ((size_t)d * kCells + cell) * kF + at.channel);
    if (half) v.z = mine.x, v.w = mine.y; else v.x = mine.x, v.y = mine.y;
  }
  return v;
}
__device__ __forceinline__ void scatter(const Place& at, float* to, int d, int tile, float4 v, bool add) {
  for (int half = 0; half < 2; ++half) {
    int cell = at.cell(tile, half);
    if (cell >= kCells) continue;
    float2* where = reinterpret_cast<float2*>(to + ((size_t)d * kCells + cell) * kF + at.channel);
    float2 mine = half ? make_float2(v.z, v.w) : make_float2(v.x, v.y);
    if (add) { float2 old = *where; mine.x += old.x, mine.y += old.y; }
    *where = mine;
  }
}

// What the forward pass left for one module-tick, of one thread's positions and channels.
struct Kept {
  uint4 gates[kMyTiles][2];
  float2 cells[kMyTiles][2];
  uint32_t before[kMyTiles][2];  // h_d before the tick
  __device__ __forceinline__ void fetch(const BackwardArgs& args, const Place& at, size_t saved, size_t hidden_before) {
#pragma unroll
    for (int tile = 0; tile < kMyTiles; ++tile)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        size_t cell = at.clamped_cell(tile, half);
        gates[tile][half] = __ldg(reinterpret_cast<const uint4*>(args.gates + (saved + cell) * kGates + at.channel * 4));
        cells[tile][half] = __ldg(reinterpret_cast<const float2*>(args.cells + (saved + cell) * kF + at.channel));
        before[tile][half] = __ldg(reinterpret_cast<const uint32_t*>(args.hiddens + (hidden_before + cell) * kF + at.channel));
      }
  }
};

// d_h and d_c of one module-tick -> dz, in shared and global memory; d_c becomes that of the cell before the tick.
__device__ __forceinline__ void through_gates(const BackwardArgs& args, const Place& at, const BackwardShared& s, int d,
                                              size_t saved, const Kept& kept) {
  float columns[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  float2 top = {-1e30f, -1e30f};
#pragma unroll
  for (int tile = 0; tile < kMyTiles; ++tile) {
    if (tile >= at.tiles) continue;
    float4& slot = s.d_cell[(d * kMyTiles + tile) * kThreads + threadIdx.x];
    float4 dc4 = slot, dh4 = s.d_hidden[(d * kMyTiles + tile) * kThreads + threadIdx.x];
    float dc[4] = {dc4.x, dc4.y, dc4.z, dc4.w}, dh[4] = {dh4.x, dh4.y, dh4.z, dh4.w};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int cell = at.cell(tile, half);
      if (cell >= kCells) continue;
      uint4 in = kept.gates[tile][half];
      float2 old = kept.cells[tile][half], hv = unpack(kept.before[tile][half]);
      top.x = fmaxf(top.x, hv.x), top.y = fmaxf(top.y, hv.y);
      float dz[8];
#pragma unroll
      for (int ch = 0; ch < 2; ++ch) {
        const float2 fi = unpack_gates(ch ? in.z : in.x), og = unpack_gates(ch ? in.w : in.y);
        float f = fi.x, i = fi.y, o = og.x, g = og.y;
        float cp = ch ? old.y : old.x;
        float tc = kCell ? tanh_of(fmaf(f, cp, i * g)) : g;
        float dhv = dh[half * 2 + ch];
        float dct = kCell ? fmaf(dhv * o, 1 - tc * tc, dc[half * 2 + ch]) : dhv * o;
        dz[ch * 4] = dct * cp * f * (1 - f);
        dz[ch * 4 + 1] = dct * g * i * (1 - i);
        dz[ch * 4 + 2] = dhv * tc * o * (1 - o);
        dz[ch * 4 + 3] = dct * i * (1 - g * g);
        dc[half * 2 + ch] = dct * f;
      }
      uint4 packed = make_uint4(pack(dz[0], dz[1]), pack(dz[2], dz[3]), pack(dz[4], dz[5]), pack(dz[6], dz[7]));
      *reinterpret_cast<uint4*>(s.dz + (size_t)at.row(cell) * kGatePitch + at.channel * 8) = packed;
      *reinterpret_cast<uint4*>(args.dz + (saved + cell) * kGates + at.channel * 4) = packed;
#pragma unroll
      for (int i = 0; i < 8; ++i) columns[i] += dz[i];
    }
    slot = make_float4(dc[0], dc[1], dc[2], dc[3]);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) columns[i] = over_rows(columns[i], Add());
  top.x = over_rows(top.x, Max()), top.y = over_rows(top.y, Max());
  if (at.lane < 4) {
    int group = at.first_tile ? 1 : 0;
    for (int i = 0; i < 8; ++i) s.sums[group * 160 + at.channel * 4 + i] = columns[i];
    s.tops[group * 32 + at.channel] = top.x, s.tops[group * 32 + at.channel + 1] = top.y;
  }
}

// How many positions hold a channel's maximum: they share its gradient, as JAX does.
__device__ __forceinline__ float2 count_tops(const Place& at, const BackwardShared& s, const uint32_t (&before)[kMyTiles][2]) {
  float2 top = {fmaxf(s.tops[at.channel], s.tops[32 + at.channel]), fmaxf(s.tops[at.channel + 1], s.tops[33 + at.channel])};
  float2 count = {0, 0};
#pragma unroll
  for (int tile = 0; tile < kMyTiles; ++tile)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (tile >= at.tiles || at.cell(tile, half) >= kCells) continue;
      float2 h = unpack(before[tile][half]);
      count.x += h.x == top.x, count.y += h.y == top.y;
    }
  count.x = over_rows(count.x, Add()), count.y = over_rows(count.y, Add());
  if (at.lane < 4) {
    float* mine = s.sums + (at.first_tile ? 160 : 0) + 128 + at.channel;
    mine[0] = count.x, mine[1] = count.y;
  }
  return top;
}

// d_pooled = pool weights . column sums of dz
__device__ __forceinline__ void gradient_of_pooled(const BackwardShared& s, int d) {
  int k = threadIdx.x / 4, part = threadIdx.x % 4;
  const bf16* weights = s.pool + (d * 64 + k) * kGates;
  float total = 0;
  for (int i = 0; i < 32; ++i) {
    int column = i * 4 + part;
    total = fmaf(s.sums[column] + s.sums[160 + column], __bfloat162float(weights[column]), total);
  }
  total += __shfl_xor_sync(~0u, total, 1);
  total += __shfl_xor_sync(~0u, total, 2);
  if (!part) s.d_pooled[k] = total;
}

template <int kWarpTiles>
__device__ __forceinline__ void convolve_back(float (&acc)[kMyTiles][2][4], const Place& at, uint32_t dz,
                                              const uint32_t (&rows)[kMyTiles], const uint4* weights) {
#pragma unroll
  for (int tile = 0; tile < kWarpTiles; ++tile)
#pragma unroll
    for (int part = 0; part < 2; ++part)
#pragma unroll
      for (int i = 0; i < 4; ++i) acc[tile][part][i] = 0;
  constexpr int kAhead = 6;
  uint4 ahead[kAhead];
  const uint4* mine = weights + at.columns * 32 + at.lane;
#pragma unroll
  for (int step = 0; step < kAhead; ++step) ahead[step] = __ldg(mine + step * 128);
#pragma unroll
  for (int step = 0; step < kBackwardSteps; ++step) {
    uint32_t base = dz - tap_offset(step / 8) * kGatePitch + (step % 8) * 32;
    uint4 w = ahead[step % kAhead];
    if (step + kAhead < kBackwardSteps) ahead[step % kAhead] = __ldg(mine + (step + kAhead) * 128);
#pragma unroll
    for (int tile = 0; tile < kWarpTiles; ++tile) {
      uint32_t a[4];
      load_tile(a, base + rows[tile]);
      multiply(acc[tile][0], a, w.x, w.y);
      multiply(acc[tile][1], a, w.z, w.w);
    }
  }
}

__global__ void __launch_bounds__(kThreads, 1) backward(BackwardArgs args) {
  extern __shared__ __align__(128) unsigned char memory[];
  const int D = args.D, N = args.N, T = args.T;
  BackwardShared s;
  s.dz = memory;
  s.sums = reinterpret_cast<float*>(s.dz + kRows * kGatePitch);
  s.d_pooled = s.sums + 320;
  s.tops = s.d_pooled + 64;
  const size_t b = blockIdx.x, which = b / args.batch_per_weights;
  float4* room = reinterpret_cast<float4*>(s.tops + 64);
  s.d_cell = args.state_on_chip ? room : reinterpret_cast<float4*>(args.gradient + b * D * 9 * 64 * kGates);
  s.d_hidden = s.d_cell + D * kMyTiles * kThreads;
  s.pool = args.pool + which * D * 64 * kGates;
  if (args.pool_on_chip) s.pool = copy_pool(args.state_on_chip ? s.d_hidden + D * kMyTiles * kThreads : room, s.pool, D);
  const size_t state = (size_t)D * kCells * kF;
  Place at;
  for (int i = threadIdx.x; i < kRows * kGatePitch / 16; i += kThreads) reinterpret_cast<uint4*>(s.dz)[i] = make_uint4(0, 0, 0, 0);
  for (int d = 0; d < D; ++d)
    for (int tile = 0; tile < at.tiles; ++tile) {
      int slot = (d * kMyTiles + tile) * kThreads + threadIdx.x;
      s.d_cell[slot] = gather(at, args.d_c_last + b * state, d, tile);
      s.d_hidden[slot] = gather(at, args.d_h_last + b * state, d, tile);
      scatter(at, args.d_c_initial + b * state, d, tile, {0, 0, 0, 0}, false);
      scatter(at, args.d_h_initial + b * state, d, tile, {0, 0, 0, 0}, false);
    }
  const uint4* weights = args.weights + which * D * kBackwardSteps * 128;
  uint32_t rows[kMyTiles];
#pragma unroll
  for (int tile = 0; tile < kMyTiles; ++tile)
    rows[tile] = at.fragment_row(tile < at.tiles ? tile : 0) * kGatePitch + (at.lane / 16) * 16;
  uint32_t dz = static_cast<uint32_t>(__cvta_generic_to_shared(s.dz));
  Kept kept;
  kept.fetch(args, at, (((b * T + T - 1) * N + N - 1) * D + D - 1) * kCells, (((b * T + T - 1) * (N + 1) + N - 1) * D + D - 1) * kCells);
  __syncthreads();

  for (int t = T - 1; t >= 0; --t) {
    for (int tile = 0; tile < at.tiles; ++tile) {  // the output of this time-step is the top module's h
      float4& slot = s.d_hidden[((D - 1) * kMyTiles + tile) * kThreads + threadIdx.x];
      for (int half = 0; half < 2; ++half) {
        int cell = at.cell(tile, half);
        if (cell >= kCells) continue;
        float2 v = unpack(*reinterpret_cast<const uint32_t*>(args.d_top + ((b * T + t) * kCells + cell) * kF + at.channel));
        if (half) slot.z += v.x, slot.w += v.y; else slot.x += v.x, slot.y += v.y;
      }
    }
    for (int n = N - 1; n >= 0; --n) {
      for (int d = D - 1; d >= 0; --d) {
        size_t saved = (((b * T + t) * N + n) * D + d) * kCells;
        through_gates(args, at, s, d, saved, kept);
        __syncthreads();  // dz, its column sums and the maxima are there
        uint32_t before[kMyTiles][2];
#pragma unroll
        for (int tile = 0; tile < kMyTiles; ++tile) before[tile][0] = kept.before[tile][0], before[tile][1] = kept.before[tile][1];
        if (threadIdx.x < kGates) args.dz_sums[(((b * T + t) * N + n) * D + d) * kGates + threadIdx.x] = s.sums[threadIdx.x] + s.sums[160 + threadIdx.x];
        float2 top = count_tops(at, s, before);
        gradient_of_pooled(s, d);
        if (t || n || d) {  // the module-tick that comes next
          int next_d = d ? d - 1 : D - 1, next_n = d ? n : (n ? n - 1 : N - 1), next_t = d || n ? t : t - 1;
          kept.fetch(args, at, saved - kCells, (((b * T + next_t) * (N + 1) + next_n) * D + next_d) * kCells);
        }
        float acc[kMyTiles][2][4];
        if (at.first_tile) convolve_back<kTiles - kMyTiles>(acc, at, dz, rows, weights + d * kBackwardSteps * 128);
        else convolve_back<kMyTiles>(acc, at, dz, rows, weights + d * kBackwardSteps * 128);
        __syncthreads();  // every warp has read dz; counts and d_pooled are there
        float2 count = {s.sums[128 + at.channel] + s.sums[288 + at.channel], s.sums[129 + at.channel] + s.sums[289 + at.channel]};
        float2 to_top = {s.d_pooled[at.channel] / count.x, s.d_pooled[at.channel + 1] / count.y};
        float2 to_all = {s.d_pooled[32 + at.channel] * (1.0f / kCells), s.d_pooled[33 + at.channel] * (1.0f / kCells)};
        int below = d ? d - 1 : D - 1;
#pragma unroll
        for (int tile = 0; tile < kMyTiles; ++tile) {
          if (tile >= at.tiles) continue;
          float2 h0 = unpack(before[tile][0]), h1 = unpack(before[tile][1]);
          float* own = acc[tile][1];
          s.d_hidden[(d * kMyTiles + tile) * kThreads + threadIdx.x] =
              make_float4(own[0] + to_all.x + (h0.x == top.x ? to_top.x : 0), own[1] + to_all.y + (h0.y == top.y ? to_top.y : 0),
                          own[2] + to_all.x + (h1.x == top.x ? to_top.x : 0), own[3] + to_all.y + (h1.y == top.y ? to_top.y : 0));
          float4& lower = s.d_hidden[(below * kMyTiles + tile) * kThreads + threadIdx.x];
          lower.x += acc[tile][0][0], lower.y += acc[tile][0][1], lower.z += acc[tile][0][2], lower.w += acc[tile][0][3];
        }
      }
    }
    if (args.starts[b * T + t])
      for (int d = 0; d < D; ++d)
        for (int tile = 0; tile < at.tiles; ++tile) {
          int slot = (d * kMyTiles + tile) * kThreads + threadIdx.x;
          scatter(at, args.d_c_initial + b * state, d, tile, s.d_cell[slot], true);
          scatter(at, args.d_h_initial + b * state, d, tile, s.d_hidden[slot], true);
          s.d_cell[slot] = s.d_hidden[slot] = make_float4(0, 0, 0, 0);
        }
  }
  for (int d = 0; d < D; ++d)
    for (int tile = 0; tile < at.tiles; ++tile) {
      int slot = (d * kMyTiles + tile) * kThreads + threadIdx.x;
      scatter(at, args.d_c_memory + b * state, d, tile, s.d_cell[slot], false);
      scatter(at, args.d_h_memory + b * state, d, tile, s.d_hidden[slot], false);
    }
}

// The gradient of one row of taps of one module's weights, from one trajectory: sum over ticks and positions of
// (h below, h own)[position + tap] x dz[position]. Positions are the inner dimension of the product, seven steps of 16;
// rows beyond the board are zero in dz. Warps: four across the 64 channels of each tap, two across the 128 gates.
struct WeightArgs {
  const bf16* hiddens;     // [B, T, N + 1, D, cells, F]
  const bf16* dz;          // [B, T, N, D, cells, 128]
  float* gradient;         // [B, D, 9, 64, 128]
  int D, N, T, stages;     // of shared memory: two where there is room
};

constexpr int kSeenPitch = 2 * kF * 2 + 16;      // bytes: h below and h own side by side
constexpr int kSteps = kTiles;                   // of 16 positions
constexpr int kSeenBytes = kRows * kSeenPitch, kDzBytes = kSteps * 16 * kGatePitch, kStage = kSeenBytes + kDzBytes;

__device__ __forceinline__ void load_turned(uint32_t (&a)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(address));
}
__device__ __forceinline__ void copy_async(uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
}

__device__ __forceinline__ void fetch_tick(const WeightArgs& args, size_t b, int tick, int d, uint32_t seen, uint32_t dz) {
  int t = tick / args.N, n = tick % args.N, D = args.D;
  const bf16* before = args.hiddens + ((b * args.T + t) * (args.N + 1) + n) * D * kCells * kF;
  const bf16* below = d ? before + ((size_t)D + d - 1) * kCells * kF : before + (size_t)(D - 1) * kCells * kF;
  const bf16* own = before + (size_t)d * kCells * kF;
  const bf16* gates = args.dz + (((b * args.T + t) * args.N + n) * D + d) * kCells * kGates;
  for (int i = threadIdx.x; i < kCells * 8; i += kThreads) {
    int cell = i / 8, part = i % 8;              // 16 bytes each: four of the module below, four of its own
    copy_async(seen + Place::row(cell) * kSeenPitch + part * 16, (part < 4 ? below : own) + cell * kF + (part % 4) * 8);
  }
  for (int i = threadIdx.x; i < kCells * 16; i += kThreads)
    copy_async(dz + (i / 16) * kGatePitch + (i % 16) * 16, gates + (i / 16) * kGates + (i % 16) * 8);
  asm volatile("cp.async.commit_group;");
}

__global__ void __launch_bounds__(kThreads, 1) weight_gradient(WeightArgs args) {
  extern __shared__ __align__(128) unsigned char memory[];
  const int taps = blockIdx.x % 3, d = blockIdx.x / 3 % args.D;
  const size_t b = blockIdx.x / 3 / args.D;
  for (int i = threadIdx.x; i < args.stages * kStage / 16; i += kThreads) reinterpret_cast<uint4*>(memory)[i] = make_uint4(0, 0, 0, 0);
  __syncthreads();
  uint32_t base = static_cast<uint32_t>(__cvta_generic_to_shared(memory));
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, channels = warp % 4, gates = warp / 4;

  float acc[3][8][4];                            // taps of the row, tiles of 8 gates
#pragma unroll
  for (int x = 0; x < 3; ++x)
#pragma unroll
    for (int tile = 0; tile < 8; ++tile)
#pragma unroll
      for (int i = 0; i < 4; ++i) acc[x][tile][i] = 0;
  // ldmatrix with .trans: lanes 0-7, 8-15, 16-23, 24-31 address four 8x8 blocks by their positions
  uint32_t seen_rows[kSteps];
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    int cell = step * 16 + lane % 8 + (lane / 16) * 8;
    cell = cell < kCells ? cell : kCells - 1;    // dz is zero there
    seen_rows[step] = (Place::row(cell) + (taps - 1) * (kW + 2)) * kSeenPitch + channels * 32 + (lane / 8 % 2) * 16;
  }
  const uint32_t dz_row = (lane % 8 + (lane / 8 % 2) * 8) * kGatePitch + gates * 128 + (lane / 16) * 16;

  const int ticks = args.T * args.N;
  const auto fetch = [&](int tick) {
    const uint32_t stage = base + tick % args.stages * kStage;
    fetch_tick(args, b, tick, d, stage, stage + kSeenBytes);
  };
  fetch(0);
  for (int tick = 0; tick < ticks; ++tick) {
    const uint32_t seen = base + tick % args.stages * kStage, dz = seen + kSeenBytes;
    const bool ahead = args.stages > 1 && tick + 1 < ticks;
    if (ahead) fetch(tick + 1);
    if (ahead) asm volatile("cp.async.wait_group 1;"); else asm volatile("cp.async.wait_group 0;");
    __syncthreads();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      uint32_t g[4][4];
#pragma unroll
      for (int pair = 0; pair < 4; ++pair) load_turned(g[pair], dz + dz_row + step * 16 * kGatePitch + pair * 32);
#pragma unroll
      for (int x = 0; x < 3; ++x) {
        uint32_t a[4];
        load_turned(a, seen + seen_rows[step] + (x - 1) * kSeenPitch);
#pragma unroll
        for (int pair = 0; pair < 4; ++pair) {
          multiply(acc[x][2 * pair], a, g[pair][0], g[pair][1]);
          multiply(acc[x][2 * pair + 1], a, g[pair][2], g[pair][3]);
        }
      }
    }
    __syncthreads();
    if (args.stages == 1 && tick + 1 < ticks) fetch(tick + 1);
  }
#pragma unroll
  for (int x = 0; x < 3; ++x)
#pragma unroll
    for (int tile = 0; tile < 8; ++tile)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        size_t channel = channels * 16 + lane / 4 + half * 8, gate = gates * 64 + tile * 8 + (lane % 4) * 2;
        size_t where = (((b * args.D + d) * 9 + taps * 3 + x) * 64 + channel) * kGates + gate;
        *reinterpret_cast<float2*>(args.gradient + where) = {acc[x][tile][half * 2], acc[x][tile][half * 2 + 1]};
      }
}

// What the inputs learn: dz summed over the ticks of a time-step, eight columns a thread.
__global__ void __launch_bounds__(kThreads) input_gradient(BackwardArgs args) {
  const size_t i = (size_t)blockIdx.x * kThreads + threadIdx.x, granules = kGates / 8;
  if (i >= (size_t)args.batch * args.T * kCells * args.D * granules) return;
  const size_t d = i / granules % args.D, cell = i / granules / args.D % kCells, step = i / granules / args.D / kCells;
  float sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  for (int n = 0; n < args.N; ++n) {
    const uint4 v = reinterpret_cast<const uint4*>(args.dz)[(((step * args.N + n) * args.D + d) * kCells + cell) * granules + i % granules];
    const uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float2 two = unpack(words[k]);
      sums[2 * k] += two.x, sums[2 * k + 1] += two.y;
    }
  }
  args.d_inputs[i] = make_uint4(pack(sums[0], sums[1]), pack(sums[2], sums[3]), pack(sums[4], sums[5]), pack(sums[6], sums[7]));
}

ffi::Error launch(const void* kernel, size_t shared, int blocks, void** arguments, cudaStream_t stream) {
  if (!may_have(kernel, shared)) return ffi::Error::Internal(kTooMuch);
  cudaLaunchKernel(kernel, dim3(blocks), dim3(kThreads), arguments, shared, stream);
  return launched();
}

// Bytes of shared memory that a block may have; a build may be told to make do with less.
size_t room() {
  int device = 0, bytes = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
#ifdef MOST_SHARED
  if (bytes > MOST_SHARED) bytes = MOST_SHARED;
#endif
  return bytes;
}

template <bool kSave>
ffi::Error run_forward(cudaStream_t stream, int64_t ticks, ffi::AnyBuffer weights, ffi::AnyBuffer pool, ffi::AnyBuffer c0,
                       ffi::AnyBuffer h0, ffi::AnyBuffer c, ffi::AnyBuffer h, ffi::AnyBuffer inputs, ffi::AnyBuffer starts,
                       bf16* top, float* c_last, bf16* h_last, __half* gates, float* cells, bf16* hiddens, float* pooled) {
  Sizes sizes(inputs, 5, weights, 6);
  const size_t shared = (size_t)sizes.D * (kRows * kHiddenPitch + kMyTiles * kThreads * 16 + kGates * 4 + 64 * 4) + 128 * 4, of_pool = (size_t)sizes.D * 64 * kGates * 2;
  const bool pool_on_chip = shared + of_pool <= room();
  ForwardArgs args{at<uint4>(weights), at<bf16>(pool), at<float>(c0), at<bf16>(h0), at<float>(c), at<bf16>(h),
                   at<bf16>(inputs), at<uint8_t>(starts), top, c_last, h_last, gates, cells, hiddens, pooled,
                   sizes.batch / sizes.networks, sizes.D, (int)ticks, sizes.T, pool_on_chip};
  void* arguments[] = {&args};
  return launch((const void*)forward<kSave>, shared + (pool_on_chip ? of_pool : 0), sizes.batch, arguments, stream);
}

ffi::Error Infer(cudaStream_t stream, int64_t ticks, ffi::AnyBuffer weights, ffi::AnyBuffer pool, ffi::AnyBuffer c0, ffi::AnyBuffer h0,
                 ffi::AnyBuffer c, ffi::AnyBuffer h, ffi::AnyBuffer inputs, ffi::AnyBuffer starts, ffi::Result<ffi::AnyBuffer> top,
                 ffi::Result<ffi::AnyBuffer> c_last, ffi::Result<ffi::AnyBuffer> h_last) {
  return run_forward<false>(stream, ticks, weights, pool, c0, h0, c, h, inputs, starts, at<bf16>(top), at<float>(c_last),
                            at<bf16>(h_last), nullptr, nullptr, nullptr, nullptr);
}

// `peaks` is kernel.cu's: here backward finds them anew.
ffi::Error Forward(cudaStream_t stream, int64_t ticks, ffi::AnyBuffer weights, ffi::AnyBuffer pool, ffi::AnyBuffer c0, ffi::AnyBuffer h0,
                   ffi::AnyBuffer c, ffi::AnyBuffer h, ffi::AnyBuffer inputs, ffi::AnyBuffer starts, ffi::Result<ffi::AnyBuffer> top,
                   ffi::Result<ffi::AnyBuffer> c_last, ffi::Result<ffi::AnyBuffer> h_last, ffi::Result<ffi::AnyBuffer> gates,
                   ffi::Result<ffi::AnyBuffer> cells, ffi::Result<ffi::AnyBuffer> hiddens, ffi::Result<ffi::AnyBuffer> peaks,
                   ffi::Result<ffi::AnyBuffer> pooled) {
  return run_forward<true>(stream, ticks, weights, pool, c0, h0, c, h, inputs, starts, at<bf16>(top), at<float>(c_last),
                           at<bf16>(h_last), at<__half>(gates), at<float>(cells), at<bf16>(hiddens), at<float>(pooled));
}

ffi::Error Backward(cudaStream_t stream, int64_t ticks, ffi::AnyBuffer weights, ffi::AnyBuffer pool, ffi::AnyBuffer gates,
                    ffi::AnyBuffer cells, ffi::AnyBuffer peaks, ffi::AnyBuffer hiddens, ffi::AnyBuffer starts, ffi::AnyBuffer d_top,
                    ffi::AnyBuffer d_c_last, ffi::AnyBuffer d_h_last, ffi::Result<ffi::AnyBuffer> gradient, ffi::Result<ffi::AnyBuffer> d_inputs,
                    ffi::Result<ffi::AnyBuffer> dz_sums, ffi::Result<ffi::AnyBuffer> d_c_memory, ffi::Result<ffi::AnyBuffer> d_h_memory,
                    ffi::Result<ffi::AnyBuffer> d_c_initial, ffi::Result<ffi::AnyBuffer> d_h_initial, ffi::Result<ffi::AnyBuffer> dz,
                    ffi::Result<ffi::AnyBuffer> progress) {
  Sizes sizes(d_top, 4, weights, 5);
  const size_t least = kRows * kGatePitch + (320 + 64 + 64) * 4, of_state = (size_t)sizes.D * 2 * kMyTiles * kThreads * 16, of_pool = (size_t)sizes.D * 64 * kGates * 2;
  const bool state_on_chip = least + of_state <= room();
  size_t shared = least + (state_on_chip ? of_state : 0);
  const bool pool_on_chip = shared + of_pool <= room();
  shared += pool_on_chip ? of_pool : 0;
  BackwardArgs args{at<uint4>(weights), at<bf16>(pool), at<__half>(gates), at<float>(cells), at<bf16>(hiddens), at<uint8_t>(starts),
                    at<bf16>(d_top), at<float>(d_c_last), at<float>(d_h_last), at<bf16>(dz), at<float>(dz_sums), at<float>(d_c_memory),
                    at<float>(d_h_memory), at<float>(d_c_initial), at<float>(d_h_initial), at<float>(gradient), at<uint4>(d_inputs),
                    sizes.batch, sizes.batch / sizes.networks, sizes.D, (int)ticks, sizes.T, pool_on_chip, state_on_chip};
  void* arguments[] = {&args};
  ffi::Error error = launch((const void*)backward, shared, sizes.batch, arguments, stream);
  if (error.failure()) return error;
  WeightArgs weight_args{at<bf16>(hiddens), at<bf16>(dz), at<float>(gradient), sizes.D, (int)ticks, sizes.T, 2 * kStage <= (int)room() ? 2 : 1};
  void* weight_arguments[] = {&weight_args};
  error = launch((const void*)weight_gradient, weight_args.stages * kStage, sizes.batch * sizes.D * 3, weight_arguments, stream);
  if (error.failure()) return error;
  const size_t granules = (size_t)sizes.batch * sizes.T * kCells * sizes.D * (kGates / 8);
  return launch((const void*)input_gradient, 0, (int)((granules + kThreads - 1) / kThreads), arguments, stream);
}

}  // namespace

HANDLERS
