// The recurrent core of DRC(D, N) on a Hopper GPU: a whole unroll in one kernel, one block per trajectory, or two. Included by
// kernel.cu, in a namespace for each number of SLOTS.
//
// Data flow. A block keeps everything that recurs on chip. A board of H x W cells is laid out in slots, row by row,
// with one empty slot after each row: slot = y * (W + 1) + x. A hidden state lies in shared memory as four planes of
// eight channels, 16 bytes a slot, with a margin of zeros before and after. Then a 3x3 convolution is nine products of
// the same buffer, each starting at another slot, and that is how the tensor cores' own instruction (wgmma) takes an
// operand: no im2col, no copies. A module-tick is one such product, 128 gates by (9 taps * 64 channels) by 112 slots:
// two teams of four warps, 64 gates each. The weights of all modules do not fit on chip. They stream from L2 through a
// ring in shared memory, packed beforehand as the tensor cores read them, one copy of 12 or 24 kB at a time, several under way.
// Rows of the product are ordered so that the lanes `l` and `l ^ 16` hold the four gates of the same channel; they swap
// halves, and every thread then owns one channel at 14 slots, with the cell state, float32, in a place of its own.
//
// `forward` also stores gates, cells and hidden states when it is told to; a block takes one trajectory after another.
// `backward` has two kinds of blocks. The first walk through a trajectory in reverse and make the gradient of every
// gate's pre-activation, dz. The convolution's input gradient is again one product, from planes of dz: 64 channels (the
// module below, the module's own) by (9 taps * 128 gates) by 112 slots; each team sums half of the 1,152 terms for all
// slots, and the teams swap halves of the sums. The other blocks follow in their tracks: for a few trajectories, a module
// and a row of taps they gather from all ticks the gradient of the convolution's weights, and of what the observation adds.
// What is needed from global memory is asked for a product ahead, a few loads at a time, so that they never hold up the
// tensor cores; what can wait (pooling, storing) is done while those work. Hidden states and dz are stored as they lie,
// plane by plane.
//
// A board that has more than SLOTS is cut into strips of whole rows, a block each, which are on neighbouring
// multiprocessors (a cluster) and write into each other's shared memory: first and last rows go into a neighbour's
// margin, and what pooling and its gradient need of a strip goes to all. Copies report on a barrier of the receiver,
// and products that need none of them go first.
//
// More than three modules do not fit into shared memory so. If DEEP is set, there is one buffer for each hidden state, which
// is replaced when all products with the old one are done; and what is a thread's own, cells, and backward the gradients of
// states, is in global memory, at the place where the last of it is wanted as a result.
//
// A module that is ALONE has nothing below it: forward, half of the terms of the product are left out, and the weights of
// the others all stay in the ring.
//
// MEMORY says what a module makes of its pre-activations. A memory that lacks gates of a ConvLSTM is given zeros for them,
// as weights and as what the observation adds; it is kept as a ConvLSTM that forgets all, takes all and is open, so that
// backward the gates that are not there have no gradient.
//
// With STAMPS, a thread of each team of the first block adds up the clock cycles of each phase of its module-ticks.
//
// H, W, DEEP, ALONE and MEMORY are compile-time constants; D, N, T are not. 32 channels.

constexpr int kSlots = SLOTS;                    // of the tensor cores' instruction; a strip's are y * kAcross + x
constexpr int kAcross = kW + 1;
constexpr int kStrips = (kH + kSlots / kAcross - 1) / (kSlots / kAcross);  // of a board, one block each
constexpr int kTall = (kH + kStrips - 1) / kStrips;  // rows of a strip; the last may have fewer
constexpr int kMargin = kAcross + 1;             // slots before and after: zeros, or the next row of a neighbour
constexpr int kRows = (kSlots + 2 * kMargin) | 1;  // odd: planes differ in banks
constexpr int kPlane = kRows * 16;               // bytes: eight channels of every slot
constexpr int kHidden = kF / 8 * kPlane;         // bytes of a hidden state
constexpr int kMine = kSlots / 8;                // slots of a thread, for one channel: one of every tile of eight
constexpr bool kDeep = DEEP;                     // more modules than shared memory holds two hidden states and cells of
constexpr int kMost = 3;                         // modules, if not
constexpr bool kAlone = ALONE;                   // one module
constexpr int kStates = kDeep ? 1 : 2;           // hidden states of a module in shared memory
// A team's product goes by 36 steps of 16 terms, in groups. Halves of boards leave room for the weights of a whole module.
constexpr int kGroup = kSlots == 56 && !kAlone ? 6 : 3, kGroups = 36 / kGroup;
constexpr int kGroupBytes = kGroup * 4096;       // of weights
constexpr int kRing = kSlots == 56 ? kGroups : 6;  // groups of weights on chip at a time
constexpr int kPending = kGroup == 3 ? 2 : 1;    // groups under way while the next is issued
constexpr int kUsed = kAlone ? kGroups / 2 : kGroups;  // groups of a team's product forward
// Groups under which loads are asked for, and pooling of the state before is finished.
constexpr int kAskInputs = kGroups == 6 ? 2 : 3, kAtOnce = kAlone ? 5 : 2;
constexpr int kUniteAt = kAlone ? 2 : kGroups == 6 ? 3 : kStrips > 1 ? 7 : 2;
constexpr int kFirstGroup = kStrips > 1 ? kGroups / 3 : 0;  // backward: first the middle row of taps, which needs no other strip
static_assert((kStrips - 1) * kTall < kH && kTall * kAcross <= kSlots, "strips cover the board and fit");
static_assert(!kAlone || (kUsed <= kRing && !kDeep), "the weights of one module stay on chip");

// An instruction's list of accumulators has to be written out: their numbers, and where they are kept.
#define NUMBERS_28 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
                   "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27"
#define NUMBERS_32 NUMBERS_28 ", %28, %29, %30, %31"
#define NUMBERS_56 NUMBERS_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, " \
                   "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55"
#define NUMBERS_64 NUMBERS_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define KEPT_8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define KEPT_28 KEPT_8(0), KEPT_8(8), KEPT_8(16), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27])
#define KEPT_32 KEPT_8(0), KEPT_8(8), KEPT_8(16), KEPT_8(24)
#define KEPT_56 KEPT_32, KEPT_8(32), KEPT_8(40), KEPT_8(48)
#define KEPT_64 KEPT_56, KEPT_8(56)
#define WGMMA(count, width, a_number, b_number, add_number, turned) \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #add_number ", 0;\n" \
               "wgmma.mma_async.sync.aligned.m64n" #width "k16.f32.bf16.bf16 {" NUMBERS_##count "}, %" #a_number ", %" #b_number ", add, 1, 1, " turned ";\n}" \
               : KEPT_##count : "l"(a), "l"(b), "r"((int)add))

// d (64 rows by 112 slots, spread over four warps) gets a (64 x 16) times b (16 x 112, in shared memory), added or not.
__device__ __forceinline__ void multiply(float (&d)[56], uint64_t a, uint64_t b, bool add) { WGMMA(56, 112, 56, 57, 58, "0, 0"); }
__device__ __forceinline__ void multiply(float (&d)[28], uint64_t a, uint64_t b, bool add) { WGMMA(28, 56, 28, 29, 30, "0, 0"); }
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kMore>
__device__ __forceinline__ void await_products() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kMore) : "memory"); }
// What threads have written to shared memory, here and in other strips, becomes visible to the tensor cores; then meet.
__device__ __forceinline__ void publish() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
// All threads of all strips of the board.
__device__ __forceinline__ void meet() {
  if (kStrips == 1) __syncthreads();
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
// A number that the thread itself has written.
__device__ __forceinline__ float ask_own(const float* p) {
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
__device__ __forceinline__ void put(uint32_t address, uint32_t v) { asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory"); }

// Barriers in shared memory, on which copies report their bytes and threads their arrival.
__device__ __forceinline__ void prepare_barrier(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void expect_bytes(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void arrive(uint32_t barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory"); }
__device__ __forceinline__ void load_bulk(uint32_t to, const void* from, int bytes, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}
// From here to another strip, whose barrier counts the bytes; word to another strip; and waiting for one that others tell.
__device__ __forceinline__ void send_bulk(uint32_t to, const void* from, int bytes, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "r"(shared_address(from)), "r"(bytes), "r"(barrier) : "memory");
}
__device__ __forceinline__ void arrive_there(uint32_t barrier) { asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory"); }
__device__ __forceinline__ void await_others(uint32_t barrier, int parity) {
  asm volatile(
      "{\n.reg .pred done;\nWAIT_%=:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n@!done bra WAIT_%=;\n}" ::"r"(barrier), "r"(parity) : "memory");
}
__device__ __forceinline__ void wait(uint32_t barrier, int parity) {
  asm volatile(
      "{\n.reg .pred done;\nWAIT_%=:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra WAIT_%=;\n}" ::"r"(barrier), "r"(parity) : "memory");
}

// Where the time of a module-tick goes: each phase ends with a stamp.
enum Phase { kElse, kWeights, kIssue, kMeanwhile, kProducts, kRefill, kActivate, kState, kSwap, kBarrier, kPhases };
#if STAMPS
__device__ unsigned long long stamps[3][2][kPhases + 1];  // acting, forward, backward; team; cycles, and module-ticks
__device__ __forceinline__ uint32_t clock_now() {
  uint32_t now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
  return now;
}
struct Stamps {
  int kernel;
  bool mine;
  uint32_t last;
  __device__ __forceinline__ Stamps(int kernel, bool first) : kernel(kernel), mine(first && threadIdx.x % 128 == 0), last(clock_now()) {}
  __device__ __forceinline__ void operator()(Phase phase) {
    if (!mine) return;
    const uint32_t now = clock_now();
    unsigned long long* sums = stamps[kernel][threadIdx.x / 128];
    atomicAdd(sums + phase, (unsigned long long)(now - last)), last = now;
    if (phase == kElse) atomicAdd(sums + kPhases, 1ull);
  }
};
#else
struct Stamps {
  __device__ __forceinline__ Stamps(int, bool) {}
  __device__ __forceinline__ void operator()(Phase) {}
};
#endif

// Weights on their way from L2: a ring of groups of steps. A thread of either team, in turn, fills it in the order of
// use, some groups ahead; each warp says when it is done with a group. A module-tick goes round once or twice, so that
// places are known when compiling; `rounds` are those before it.
struct Ring {
  uint32_t data, full, empty;                    // addresses in shared memory
  __device__ __forceinline__ Ring(unsigned char* memory) : data(shared_address(memory)), full(data + kRing * kGroupBytes), empty(full + kRing * 8) {}
  static constexpr int kBytes = kRing * (kGroupBytes + 16), kLead = kRing - kPending - 1, kRounds = kGroups / kRing;  // of a module-tick
  __device__ __forceinline__ void prepare() const {
    for (int place = 0; place < kRing; ++place) {
      prepare_barrier(full + place * 8, 1);
      prepare_barrier(empty + place * 8, kThreads / 32);
    }
  }
  __device__ __forceinline__ void ask(int place, const unsigned char* from) const {
    expect_bytes(full + place * 8, kGroupBytes);
    load_bulk(data + place * kGroupBytes, from, kGroupBytes, full + place * 8);
  }
  // Groups may be used in another order than they lie in: `kFirst` first.
  template <int kFirst>
  __device__ __forceinline__ void start(const unsigned char* here, int groups) const {
    for (int group = 0; group < groups; ++group) ask(group, here + (group + kFirst) % kGroups * kGroupBytes);
  }
  // After group `group` has been issued: the one that comes `kLead` later takes a place that all are done with.
  template <int kFirst>
  __device__ __forceinline__ void go_on(int group, int rounds, const unsigned char* here, const unsigned char* next) const {
    const int coming = group + kLead, place = coming % kRing;
    if (coming < kRing || (coming >= kGroups && !next) || threadIdx.x != coming % 2 * 128) return;
    wait(empty + place * 8, (coming / kRing + rounds + 1) % 2);
    ask(place, (coming < kGroups ? here : next) + (coming + kFirst) % kGroups * kGroupBytes);
  }
  // After all groups: those that have found no place yet.
  template <int kFirst>
  __device__ __forceinline__ void fill(int rounds, const unsigned char* next) const {
#pragma unroll
    for (int group = kGroups; group < kGroups + kRing - kLead; ++group) go_on<kFirst>(group, rounds, nullptr, next);
  }
  __device__ __forceinline__ void await(int group, int rounds) const { wait(full + group % kRing * 8, (group / kRing + rounds) % 2); }
  __device__ __forceinline__ void release(int group) const {
    if (threadIdx.x % 32 == 0) arrive(empty + group % kRing * 8);
  }
  // 64 rows by 16 terms: tiles of 8 rows follow each other, eight terms on is 1,024 bytes on
  __device__ __forceinline__ uint64_t operand(int group, int step) const {
    return (uint64_t)(128 / 16) << 32 | (uint64_t)(1024 / 16) << 16 | described(data + group % kRing * kGroupBytes + step * 4096);
  }
};

// A stretch of shared memory to global memory, by one thread, while others go on; then: it has been read; all is there.
__device__ __forceinline__ void store_bulk(void* to, const void* from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ __forceinline__ void await_reading() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
template <int kMore>
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
__device__ __forceinline__ uint64_t operand(uint32_t address) {
  return (uint64_t)(128 / 16) << 32 | (uint64_t)(kPlane / 16) << 16 | described(address);
}
__host__ __device__ constexpr int tap_offset(int tap) { return (tap / 3 - 1) * kAcross + tap % 3 - 1; }

// Which channel and slots a thread owns: of every eight slots the one that is `half` of the two of `quad`.
struct Place {
  int channel, half, quad, strip, rows;          // rows of the strip
  uint32_t valid;                                // bit i: slot(i) is a cell of the strip
  __device__ __forceinline__ Place(int channel, int half)
      : channel(channel), half(half), quad(threadIdx.x % 4), strip(strip_of_block()), rows(kStrips == 1 ? kH : min(kTall, kH - strip * kTall)), valid(0) {
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      valid |= (uint32_t)(slot(i) % kAcross < kW && slot(i) < rows * kAcross) << i;
    }
  }
  __device__ __forceinline__ int slot(int i) const { return i * 8 + quad * 2 + half; }
  __device__ __forceinline__ bool is_cell(int i) const { return valid >> i & 1; }
  __device__ __forceinline__ int first() const { return strip * kTall * kW; }                  // the strip's first cell
  __device__ __forceinline__ uint32_t cell_or_other(int i) const { return min(slot(i) - slot(i) / kAcross, rows * kW - 1); }  // of the strip
  __device__ __forceinline__ int cell(int i) const { return is_cell(i) ? first() + slot(i) - slot(i) / kAcross : 0; }
  __device__ __forceinline__ int granule() const { return (half * kF + channel) * 4 + quad; }  // place in stored arrays
};

// A number that all lanes of a warp have, which the compiler then knows.
__device__ __forceinline__ int uniform(int x) { return __shfl_sync(~0u, x, 0); }

// The same number, but what is made of it is made again each time, and takes no registers meanwhile.
__device__ __forceinline__ int anew(int x) {
  asm volatile("" : "+r"(x));
  return x;
}

// What a thread alone keeps for each module from tick to tick, a number for each of its slots: in shared memory, or, if the
// network is deep, in global memory; slots that are no cells are 0 there.
struct Own {
  float* base;                                   // [D][14][threads], or [D, cells, F]
  __device__ __forceinline__ float* place(const Place& at, int d, int i) const {
    if (!kDeep) return base + ((d * kMine + i) * kThreads + threadIdx.x);
    const int slot = anew(at.slot(0)) + i * 8;
    return base + (d * kCells + (at.is_cell(i) ? at.first() + slot - slot / kAcross : 0)) * kF + at.channel;
  }
  __device__ __forceinline__ void put(const Place& at, int d, int i, float v) const {
    if (!kDeep || at.is_cell(i)) *place(at, d, i) = v;
  }
  __device__ __forceinline__ void fetch(const Place& at, int d, float (&v)[kMine]) const {  // all at once
#pragma unroll
    for (int i = 0; i < kMine; ++i) v[i] = at.is_cell(i) ? ask_own(place(at, d, i)) : 0;
  }
};

// What strips send each other, by one thread of each warp, while others go on: rows of the `kCount` planes that begin at
// `planes`, the first to the strip above and the last to the one below, into their margins; and to all, a stretch of memory.
template <int kCount>
__device__ __forceinline__ void send_to_strips(const Place& at, const unsigned char* planes, const void* to_all, int bytes, uint32_t arrived) {
  if (kStrips == 1 || threadIdx.x % 32) return;
  constexpr int kRow = kAcross * 16, kWarps = kThreads / 32;
  const int warp = threadIdx.x / 32;
  const bool above = at.strip > 0, below = at.strip + 1 < kStrips;
  for (int plane = warp; plane < kCount; plane += kWarps) {
    const unsigned char *first = planes + plane * kPlane + kMargin * 16, *last = first + (kTall - 1) * kRow;
    if (above) send_bulk(there(shared_address(last + kRow), at.strip - 1), first, kRow, there(arrived, at.strip - 1));
    if (below) send_bulk(there(shared_address(first - kRow), at.strip + 1), last, kRow, there(arrived, at.strip + 1));
  }
  for (int strip = 0; warp == kWarps - 1 && strip < kStrips; ++strip)
    if (strip != at.strip) send_bulk(there(shared_address(to_all), strip), to_all, bytes, there(arrived, strip));
  if (warp == kWarps - 2) expect_bytes(arrived, (above + below) * kCount * kRow + (kStrips - 1) * bytes);
}

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
  unsigned char* hidden;   // [2][D][planes]: a tick reads one and writes the other; deep: [D][planes]
  Own cell;
  float4* injected;        // [D][32] x 4 gates
  float* pooled;           // [D][max 32, mean 32]
  uint32_t* peaks;         // [D][threads]
  float4* parts;           // [2][strips][32]: maximum, sum and number of maxima of a strip; turn by turn
  uint32_t arrived;        // barriers, turn by turn: what other strips send is there
  int D;
  __device__ __forceinline__ unsigned char* state(int which, int d) const { return hidden + (which * D + d) * kHidden; }
  __device__ __forceinline__ float4* parts_of(int turn) const { return parts + (turn & 1) * kStrips * kF; }
  __device__ __forceinline__ uint32_t arrived_in(int turn) const { return arrived + (turn & 1) * 8; }
  __device__ __forceinline__ void await_strips(int turn) const {
    if (kStrips > 1) wait(arrived_in(turn), turn >> 1 & 1);
  }
};
// The buffer that a tick writes if it reads `which`.
__device__ __forceinline__ int other(int which) { return kDeep ? 0 : 1 - which; }

// A thread's part of a new hidden state: into the planes, and its maximum, mean and peaks over the strip.
__device__ __forceinline__ void settle(const Place& at, const ForwardShared& s, const bf16 (&h)[kMine], int which, int d, int turn) {
  unsigned char* mine = s.state(which, d) + at.channel / 8 * kPlane + (kMargin + at.slot(0)) * 16 + at.channel % 8 * 2;
  float top = -1e30f, sum = 0;
#pragma unroll
  for (int i = 0; i < kMine; ++i) {
    if (!at.is_cell(i)) continue;
    *reinterpret_cast<bf16*>(mine + i * 128) = h[i];
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
  s.peaks[d * kThreads + threadIdx.x] = peaks | count << 16;
  if (threadIdx.x % 4 || at.half) return;
  if (kStrips == 1) s.pooled[d * 64 + at.channel] = top, s.pooled[d * 64 + kF + at.channel] = sum * (1.0f / kCells);
  else s.parts_of(turn)[at.strip * kF + at.channel] = make_float4(top, sum, count, 0);
}

// Once all strips have settled: what they found is put together. Each thread makes what it alone needs later.
__device__ __forceinline__ void unite(const Place& at, const ForwardShared& s, int d, int turn) {
  if (kStrips == 1) return;
  const float4* parts = s.parts_of(turn);
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
  uint32_t& peaks = s.peaks[d * kThreads + threadIdx.x];
  peaks = (parts[at.strip * kF + at.channel].x == all.x ? peaks & 0xffff : 0) | (uint32_t)all.z << 16;
  if (threadIdx.x >= 64) return;
  const float4 kept = united(threadIdx.x % kF);
  s.pooled[d * 64 + threadIdx.x] = threadIdx.x < kF ? kept.x : kept.y * (1.0f / kCells);
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
    if (kStrips == 1) v = s.pooled[d * 64 + row];
    else {
      const float4* parts = s.parts_of(turn) + row % kF;
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

// Once all threads have settled: other strips see this one's first and last rows, and what it has found.
__device__ __forceinline__ void send_state(const Place& at, const ForwardShared& s, int which, int d, int turn) {
  send_to_strips<kF / 8>(at, s.state(which, d), s.parts_of(turn) + at.strip * kF, kF * 16, s.arrived_in(turn));
}

// A thread's part of a module's state, and what pooling adds.
__device__ __forceinline__ void take_state(const Place& at, const ForwardShared& s, int which, int d, const bf16 (&hidden)[kMine], const float (&cell)[kMine],
                                           const bf16* pool, int& turn) {
#pragma unroll
  for (int i = 0; i < kMine; ++i) s.cell.put(at, d, i, cell[i]);
  PoolWeights weights;
  weights.fetch(pool, d);
  ++turn;
  settle(at, s, hidden, which, d, turn);
  publish();
  __syncthreads();
  send_state(at, s, which, d, turn);
  s.await_strips(turn);
  unite(at, s, d, turn);
  inject(s, d, turn, weights);
}

__device__ __forceinline__ void load_state(const Place& at, const ForwardShared& s, int which, const float* c, const bf16* h, const bf16* pool, int& turn) {
  constexpr int kAtOnce = kDeep ? 1 : kMost;
  for (int from = 0; from < (kDeep ? s.D : 1); ++from) {
    bf16 hidden[kAtOnce][kMine];
    float cell[kAtOnce][kMine];
#pragma unroll
    for (int d = 0; d < kAtOnce; ++d)            // all loads at once
#pragma unroll
      for (int i = 0; i < kMine; ++i) {
        const int where = ((from + d < s.D ? from + d : 0) * kCells + at.cell(i)) * kF + at.channel;
        hidden[d][i] = h[where], cell[d][i] = c[where];
      }
    meet();  // nobody reads the old state any more
#pragma unroll
    for (int d = 0; d < kAtOnce; ++d) {
      if (from + d == s.D) break;
      take_state(at, s, which, from + d, hidden[d], cell[d], pool, turn);
    }
  }
  __syncthreads();
}

// A strip of a hidden state from its planes to [cells, F].
__device__ __forceinline__ void copy_hidden(const Place& at, const unsigned char* planes, bf16* to) {
  for (int i = threadIdx.x; i < at.rows * kW * 4; i += kThreads) {
    int cell = i / 4, plane = i % 4;
    reinterpret_cast<uint4*>(to)[at.first() * 4 + i] =
        *reinterpret_cast<const uint4*>(planes + plane * kPlane + (kMargin + cell + cell / kW) * 16);
  }
}

// What the backward pass wants to know of a hidden state.
__device__ __forceinline__ void save_hidden(const ForwardArgs& args, const Place& at, const ForwardShared& s, int which, int d, size_t tick, size_t united_tick) {
  if (!threadIdx.x) await_reading(), store_bulk(args.hiddens + tick * kHidden, s.state(which, d), kHidden);
  args.peaks[tick * kThreads + at.granule()] = s.peaks[d * kThreads + threadIdx.x];
  if (threadIdx.x < 64 && !at.strip) args.pooled[united_tick * 64 + threadIdx.x] = s.pooled[d * 64 + threadIdx.x];
}

// `meanwhile` is done once all warps have likely come so far.
template <bool kSave, class Meanwhile>
__device__ __forceinline__ void update_module(const ForwardArgs& args, const Place& at, const ForwardShared& s,
                                              const float (&acc)[kSlots / 2], int which, int d, const uint2 (&inputs)[kMine], const float (&cell)[kMine],
                                              size_t tick, int turn, Stamps& stamp, const Meanwhile& meanwhile) {
  const bool upper = at.half;
  const float4 inj = s.injected[d * kF + at.channel];
  bf16 h[kMine];
#pragma unroll
  for (int i = 0; i < kMine; ++i) {
    if (i == kMine / 2) meanwhile();
    float kept[2], got[2];                       // f and i, or o and g: of this thread's slot, from the lane 16 further
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const float even = acc[i * 4 + row * 2], odd = acc[i * 4 + row * 2 + 1];
      kept[row] = upper ? odd : even;
      got[row] = __shfl_xor_sync(~0u, upper ? even : odd, 16);
    }
    float2 fi = unpack(inputs[i].x), og = unpack(inputs[i].y);
    float f = kCell ? sigmoid_of((upper ? got[0] : kept[0]) + inj.x + fi.x) : 0, in = kCell ? sigmoid_of((upper ? got[1] : kept[1]) + inj.y + fi.y) : 1;
    float o = kOpens ? sigmoid_of((upper ? kept[0] : got[0]) + inj.z + og.x) : 1, g = tanh_of((upper ? kept[1] : got[1]) + inj.w + og.y);
    float before = !kCell ? 0 : kDeep ? cell[i] : *s.cell.place(at, d, i), after = kCell ? fmaf(f, before, in * g) : g;
    if (kCell) s.cell.put(at, d, i, after);
    h[i] = __float2bfloat16(o * (kCell ? tanh_of(after) : after));
    if (kSave) {
      size_t where = (tick * kMine + i) * kThreads + at.granule();
      args.cells[where] = before;
      args.gates[where] = make_uint2(pack_gates(f, in), pack_gates(o, g));
    }
  }
  if (kDeep) {                                   // h_d is replaced once it is multiplied, stored and seen by nobody any more
    if (kSave && !threadIdx.x) await_reading();
    meet();
  }
  stamp(kActivate);
  settle(at, s, h, other(which), d, turn);
  stamp(kState);
}

template <bool kSave>
__global__ void __launch_bounds__(kThreads, 1) forward(ForwardArgs args) {
  extern __shared__ __align__(128) unsigned char memory[];
  const int D = args.D, N = args.N, T = args.T, warp = uniform(threadIdx.x / 32), lane = threadIdx.x % 32;
  ForwardShared s;
  s.D = D;
  s.hidden = memory + Ring::kBytes;
  s.cell.base = reinterpret_cast<float*>(s.hidden + kStates * D * kHidden);
  s.injected = reinterpret_cast<float4*>(s.cell.base + (kDeep ? 0 : D * kMine * kThreads));
  s.pooled = reinterpret_cast<float*>(s.injected + D * kF);
  s.peaks = reinterpret_cast<uint32_t*>(s.pooled + D * 64);
  s.parts = reinterpret_cast<float4*>(s.peaks + D * kThreads);
  s.arrived = shared_address(s.parts + 2 * kStrips * kF);
  const size_t state = (size_t)D * kCells * kF;
  const Ring ring(memory);
  if (!threadIdx.x) {
    ring.prepare();
    for (int turn = 0; kStrips > 1 && turn < 2; ++turn) prepare_barrier(s.arrived_in(turn), 1);
  }
  const Place at(warp * 4 + lane / 4 % 4, lane / 16);
  for (int i = threadIdx.x; i < kStates * D * kHidden / 16; i += kThreads) reinterpret_cast<uint4*>(s.hidden)[i] = make_uint4(0, 0, 0, 0);
  meet();
  const auto weights_of = [&](int b) { return args.weights + (size_t)(b / args.batch_per_weights) * D * kGroups * kGroupBytes; };
  const int clusters = gridDim.x / kStrips, first = blockIdx.x / kStrips;
  if (!threadIdx.x) ring.start<0>(weights_of(first), kAlone ? kUsed : kRing);
  const uint32_t hidden = shared_address(s.hidden) + kMargin * 16;
  const bf16* inputs_here = args.inputs + (size_t)at.first() * D * kGates + at.channel * 4;
  const int team = warp / 4;                     // 64 gates each

  int which = 0, turn = -1;                      // buffer of the states before a tick; states that have been settled
  int rounds = 0;                                // of the ring: with each module-tick, or with each network alone
  Stamps stamp(kSave, !blockIdx.x);
  for (int b = first; b < args.batch; b += clusters) {
    const size_t net = b / args.batch_per_weights, strip = (size_t)b * kStrips + at.strip;
    const unsigned char* weights = weights_of(b);
    const bf16* pool = args.pool + net * D * 64 * kGates;
    const bool last_one = b + clusters >= args.batch;
    if (kDeep) s.cell.base = args.c_last + b * state;
    if (kAlone && b != first && weights != weights_of(b - clusters)) {  // all products with the old ones are done
      if (!threadIdx.x) ring.start<0>(weights, kUsed);
      ++rounds;
    }
    for (int t = 0; t < T; ++t) {
      const size_t step = (size_t)b * T + t, kept = strip * T + t;  // the same in arrays that have strips
      const bool start = args.starts[step];
      if (start || !t)
        load_state(at, s, which, start ? args.c_initial + net * state : args.c_memory + b * state,
                   start ? args.h_initial + net * state : args.h_memory + b * state, pool, turn);
      if (kSave)
        for (int d = 0; d < D; ++d) save_hidden(args, at, s, which, d, kept * (N + 1) * D + d, step * (N + 1) * D + d);
      for (int n = 0; n < N; ++n, which = other(which)) {
        for (int d = 0; d < D; ++d) {
          uint2 inputs[kMine];
          const bf16* inputs_now = inputs_here + (step * kCells * D + d) * kGates;
          const uint32_t apart = anew(D * kGates);  // from cell to cell
          const uint64_t own = operand(hidden + (which * D + d) * kHidden);
          const uint64_t below = operand(hidden + (d ? other(which) * D + d - 1 : which * D + D - 1) * kHidden);
          const bool ends = t == T - 1 && n == N - 1 && d == D - 1;
          const unsigned char* next = d + 1 < D ? weights + (d + 1) * kGroups * kGroupBytes : !ends ? weights : last_one ? nullptr : weights_of(b + clusters);
          float cell[kMine];
          PoolWeights pooling;
          float acc[kSlots / 2];
          stamp(kElse);
#pragma unroll
          for (int group = 0; group < kUsed; ++group) {
            ring.await(group, rounds);
            if (group == (D == 1 ? 0 : kGroups / 2) && (n || d)) s.await_strips(turn);  // now the last state comes into it
            stamp(kWeights);
            hold(acc);
            begin_products();
#pragma unroll
            for (int i = 0; i < kGroup; ++i) {   // the first half of the steps: the module's own state; then the one below
              const int k = group * kGroup + i, tap = k % 18 / 2, quarter = k % 2;
              multiply(acc, ring.operand(group, i) + team * 2048 / 16, (k < 18 ? own : below) + (tap_offset(tap) * 16 + quarter * 2 * kPlane) / 16, k > 0);
            }
            commit_products();
            hold(acc);
            stamp(kIssue);
            if (group == 0 && (n || d)) pooling.fetch(pool, d ? d - 1 : D - 1);
            if (group == kUniteAt && (n || d)) {  // while the tensor cores work: what the last module-tick left to do
              const int last = d ? d - 1 : D - 1;
              const size_t before = (d ? n + 1 : n) * D + last;
              unite(at, s, last, turn);
              inject(s, last, turn, pooling);
              if (kSave) save_hidden(args, at, s, d ? other(which) : which, last, kept * (N + 1) * D + before, step * (N + 1) * D + before);
              if (D == 1 && !kAlone) __syncthreads();  // it is wanted at the end of this very module-tick
            }
            if (kAlone && group == 2) __syncthreads();  // likewise; and nobody, with no ring to hold it back, settles while others save
            if (group >= kAskInputs)             // what the observation adds, a few loads at a time
#pragma unroll
              for (int i = (group - kAskInputs) * kAtOnce; i < min((group - kAskInputs + 1) * kAtOnce, kMine); ++i)
                inputs[i] = ask(reinterpret_cast<const uint2*>(inputs_now + (size_t)(at.cell_or_other(i) * apart)));
            if (kDeep && kCell && group == kGroups - 2) s.cell.fetch(at, d, cell);
            stamp(kMeanwhile);
            if (group + 1 < kUsed) await_products<kPending>(); else await_products<0>();
            stamp(kProducts);
            if (kAlone) continue;
            if (group >= kPending) ring.release(group - kPending);
            ring.go_on<0>(group, rounds, weights + d * kGroups * kGroupBytes, next);
            if (group + 1 == kGroups)
#pragma unroll
              for (int done = kGroups - kPending; done < kGroups; ++done) ring.release(done);
            stamp(kRefill);
          }
          hold(acc);
          ++turn;
          update_module<kSave>(args, at, s, acc, which, d, inputs, cell, (kept * N + n) * D + d, turn, stamp, [&] {
            if (!kAlone) ring.fill<0>(rounds, next);
          });
          rounds += kAlone ? 0 : Ring::kRounds;
          if (kSave && kStrips > 1 && !threadIdx.x) await_reading();  // neighbours may write to what was stored
          publish();
          __syncthreads();  // the new h_d and its pooled values are there
          send_state(at, s, other(which), d, turn);
          stamp(kBarrier);
        }
      }
      PoolWeights pooling;
      pooling.fetch(pool, D - 1);
      copy_hidden(at, s.state(which, D - 1), args.top + step * kCells * kF);
      s.await_strips(turn);
      unite(at, s, D - 1, turn);
      inject(s, D - 1, turn, pooling);
      if (kSave && !threadIdx.x) await_reading();  // states are stored no more, and a start may replace them
      __syncthreads();
    }
    for (int d = 0; d < D; ++d) {
      copy_hidden(at, s.state(which, d), args.h_last + b * state + (size_t)d * kCells * kF);
#pragma unroll
      for (int i = 0; i < kMine; ++i)
        if (!kDeep && at.is_cell(i)) args.c_last[b * state + ((size_t)d * kCells + at.cell(i)) * kF + at.channel] = *s.cell.place(at, d, i);
    }
  }
  if (kSave && !threadIdx.x) await_storing<0>();
  if (kStrips > 1) meet();                       // nobody is sent to, or read from, who is gone
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
  float* gradient;         // [B, strips, D, 9, 64, 128], of the convolutions' weights; strips that are gathered together are one
  uint4* d_inputs;         // [B, T, cells, D, 128] in bfloat16
  uint32_t* progress;      // [B, strips, 2]: time-steps done; the first has the counter of blocks beside it
  int batch, batch_per_weights, D, N, T;
};

struct BackwardShared {
  unsigned char* dz;       // [16 planes]
  float* exchange;         // [2 * 14][threads]
  Own d_cell, d_hidden;
  float* sums;             // [strips][2 halves][128], of dz over slots
  float* d_pooled;         // [64]
  uint32_t arrived, done;  // barriers: what other strips send is there; they are done with what this one has sent
};

// What the forward pass left for one module-tick, of one thread.
struct Kept {
  uint2 gates[kMine];
  float cells[kMine];
  __device__ __forceinline__ void fetch(const BackwardArgs& args, size_t tick, int i) {
    const size_t where = (tick * kMine + i) * kThreads + threadIdx.x;
    gates[i] = ask(args.gates + where);
    cells[i] = __uint_as_float(ask(reinterpret_cast<const uint32_t*>(args.cells) + where));
  }
};

// d_h and d_c of one module-tick -> dz, in shared memory; d_c becomes that of the cell before the tick.
__device__ __forceinline__ void through_gates(const Place& at, const BackwardShared& s, int d, const Kept& kept,
                                              const float (&d_cell)[kMine], const float (&d_hidden)[kMine]) {
  float4 columns = {0, 0, 0, 0};
  unsigned char* mine = s.dz + at.channel / 2 * kPlane + (kMargin + at.slot(0)) * 16 + at.channel % 2 * 8;
#pragma unroll
  for (int i = 0; i < kMine; ++i) {
    float dc = kDeep ? d_cell[i] : *s.d_cell.place(at, d, i), dh = d_hidden[i], before = kept.cells[i];
    float2 fi = unpack_gates(kept.gates[i].x), og = unpack_gates(kept.gates[i].y);
    float f = fi.x, in = fi.y, o = og.x, g = og.y;
    float squashed = kCell ? tanh_of(fmaf(f, before, in * g)) : g;
    dc = kCell ? fmaf(dh * o, 1 - squashed * squashed, dc) : dh * o;
    float df = dc * before * f * (1 - f), di = dc * g * in * (1 - in), d_o = dh * squashed * o * (1 - o), dg = dc * in * (1 - g * g);
    if (kCell) s.d_cell.put(at, d, i, dc * f);
    if (!at.is_cell(i)) continue;
    uint2 packed = make_uint2(pack(df, di), pack(d_o, dg));
    *reinterpret_cast<uint2*>(mine + i * 128) = packed;
    columns.x += df, columns.y += di, columns.z += d_o, columns.w += dg;
  }
#pragma unroll
  for (int step = 1; step < 4; step *= 2) {
    columns.x += __shfl_xor_sync(~0u, columns.x, step), columns.y += __shfl_xor_sync(~0u, columns.y, step);
    columns.z += __shfl_xor_sync(~0u, columns.z, step), columns.w += __shfl_xor_sync(~0u, columns.w, step);
  }
  if (threadIdx.x % 4 == 0) reinterpret_cast<float4*>(s.sums)[(at.strip * 2 + at.half) * kF + at.channel] = columns;
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

// Each team keeps its sums for its own slots, one of every two, and hands the others to the other team.
template <int kTeam>
__device__ __forceinline__ void hand_over(const BackwardShared& s, const float (&acc)[kSlots / 2]) {
#pragma unroll
  for (int i = 0; i < 2 * kMine; ++i) s.exchange[i * kThreads + (threadIdx.x ^ 128)] = acc[i * 2 + 1 - kTeam];
}

// Both teams' sums and the gradient of the pooled values: d_h of the module itself, which waits in shared memory, and
// of the module below, whose turn is next.
template <int kTeam>
__device__ __forceinline__ void pass_on(const Place& at, const BackwardShared& s, const float (&acc)[kSlots / 2], int d, int below, uint32_t peaks,
                                        const float (&d_below)[kMine], float (&d_hidden)[kMine]) {
  const float to_top = s.d_pooled[at.channel] / (float)(peaks >> 16), to_all = s.d_pooled[kF + at.channel] * (1.0f / kCells);
#pragma unroll
  for (int i = 0; i < kMine; ++i) {
    float lower = acc[i * 4 + kTeam] + s.exchange[2 * i * kThreads + threadIdx.x];  // rows of the product: the module below;
    float own = acc[i * 4 + 2 + kTeam] + s.exchange[(2 * i + 1) * kThreads + threadIdx.x];  // 8 further on, its own
    own += to_all + (peaks >> i & 1 ? to_top : 0);
    d_hidden[i] = lower + (below == d ? own : kDeep ? d_below[i] : *s.d_hidden.place(at, below, i));
    s.d_hidden.put(at, d, i, own);
  }
}

// dz of one strip of a trajectory, from its last time-step to its first.
__device__ __forceinline__ void walk_back(const BackwardArgs& args, unsigned char* memory, const size_t b) {
  const int D = args.D, N = args.N, T = args.T, warp = uniform(threadIdx.x / 32), lane = threadIdx.x % 32, team = warp / 4;
  BackwardShared s;
  s.dz = memory + Ring::kBytes;
  s.exchange = reinterpret_cast<float*>(s.dz + 16 * kPlane);
  s.d_cell.base = s.exchange + 2 * kMine * kThreads;
  s.d_hidden.base = s.d_cell.base + (kDeep ? 0 : D * kMine * kThreads);
  s.sums = s.d_hidden.base + (kDeep ? 0 : D * kMine * kThreads);
  s.d_pooled = s.sums + kStrips * 2 * kGates;
  s.arrived = shared_address(s.d_pooled + 64), s.done = s.arrived + 8;
  const size_t which_net = b / args.batch_per_weights, state = (size_t)D * kCells * kF;
  if (kDeep) s.d_cell.base = args.d_c_memory + b * state, s.d_hidden.base = args.d_h_memory + b * state;
  const Ring ring(memory);
  if (!threadIdx.x) {
    ring.prepare();
    if (kStrips > 1) prepare_barrier(s.arrived, 1), prepare_barrier(s.done, kStrips - 1);
  }
  const Place at(warp % 4 * 8 + lane / 4, team);
  const size_t strip = b * kStrips + at.strip;
  for (int i = threadIdx.x; i < 16 * kPlane / 16; i += kThreads) reinterpret_cast<uint4*>(s.dz)[i] = make_uint4(0, 0, 0, 0);
  meet();
  const unsigned char* weights = args.weights + which_net * D * kGroups * kGroupBytes;
  if (!threadIdx.x) ring.start<kFirstGroup>(weights + (D - 1) * kGroups * kGroupBytes, kRing);
  const uint4* pool = reinterpret_cast<const uint4*>(args.pool + (which_net * D * 64 + threadIdx.x / 4) * kGates) + threadIdx.x % 4;
  for (int d = 0; d < D; ++d)
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      const size_t where = b * state + ((size_t)d * kCells + at.cell(i)) * kF + at.channel;
      s.d_cell.put(at, d, i, at.is_cell(i) ? args.d_c_last[where] : 0);
      s.d_hidden.put(at, d, i, at.is_cell(i) ? args.d_h_last[where] : 0);
      if (at.is_cell(i)) args.d_c_initial[where] = args.d_h_initial[where] = 0;
    }
  const uint64_t dz = operand(shared_address(s.dz) + kMargin * 16 + team * 2 * kPlane);
  Kept kept;
#pragma unroll
  for (int i = 0; i < kMine; ++i) kept.fetch(args, ((strip * T + T - 1) * N + N - 1) * D + D - 1, i);
  Stamps stamp(2, !b && !at.strip);
  int turn = 0;                                  // module-ticks that are done
  float d_hidden[kMine];                         // of the module whose turn is next
#pragma unroll
  for (int i = 0; i < kMine; ++i) d_hidden[i] = kDeep && !at.is_cell(i) ? 0 : *s.d_hidden.place(at, D - 1, i);

  for (int t = T - 1; t >= 0; --t) {
    const size_t step = b * T + t;
#pragma unroll
    for (int i = 0; i < kMine; ++i)              // the output of this time-step is the top module's h
      if (at.is_cell(i))
        d_hidden[i] += __bfloat162float(args.d_top[(step * kCells + at.cell(i)) * kF + at.channel]);
    for (int n = N - 1; n >= 0; --n) {
      for (int d = D - 1; d >= 0; --d, ++turn) {
        const size_t tick = ((strip * T + t) * N + n) * D + d;
        const int below = d ? d - 1 : D - 1;
        float d_cell[kMine], d_below[kMine];
        stamp(kElse);
        if (kDeep && kCell) s.d_cell.fetch(at, d, d_cell);
        if (kStrips > 1 && turn) await_others(s.done, (turn - 1) & 1);
        through_gates(at, s, d, kept, d_cell, d_hidden);
        stamp(kActivate);
        publish();
        __syncthreads();  // dz and its column sums are there
        send_to_strips<16>(at, s.dz, s.sums + at.strip * 2 * kGates, 2 * kGates * 4, s.arrived);
        stamp(kBarrier);
        const unsigned char* next = t || n || d ? weights + below * kGroups * kGroupBytes : nullptr;
        float acc[kSlots / 2];
        uint4 row[4];
        uint32_t peaks;                          // of h_d before the tick
#pragma unroll
        for (int group = 0; group < kGroups; ++group) {
          ring.await(group, turn * Ring::kRounds);
          if (kStrips > 1 && group == kGroups / 3) wait(s.arrived, turn & 1);
          stamp(kWeights);
          hold(acc);
          begin_products();
#pragma unroll
          for (int i = 0; i < kGroup; ++i) {
            const int k = (group + kFirstGroup) % kGroups * kGroup + i, tap = k / 4, columns = k % 4;
            multiply(acc, ring.operand(group, i) + team * 2048 / 16, dz + (columns * 4 * kPlane - tap_offset(tap) * 16) / 16, group || i);
          }
          commit_products();
          hold(acc);
          stamp(kIssue);
          if (group == 0) {                      // what can wait until the tensor cores have work
            if (!threadIdx.x) {
              store_bulk(args.dz + tick * 16 * kPlane, s.dz, 16 * kPlane);
              if (t < T - 1 && n == N - 1 && d == D - 1) await_storing<1>(), tell(args.progress + strip * 2, T - 1 - t);  // all before
            }
            peaks = ask(args.peaks + (((strip * T + t) * (N + 1) + n) * D + d) * kThreads + threadIdx.x);
#pragma unroll
            for (int i = 0; i < 4; ++i) row[i] = ask(pool + d * 64 * 16 + i * 4);
          }
          if (group == (kStrips > 1 ? kGroups / 3 + 1 : 3)) {
            if (threadIdx.x < kGates / 2 && !at.strip)
              reinterpret_cast<float2*>(args.dz_sums + ((step * N + n) * D + d) * kGates)[threadIdx.x] = total_of(s, threadIdx.x);
            gradient_of_pooled(s, row);
          }
          if (group >= kGroups / 3 && (t || n || d))  // the module-tick that comes next is the one stored before
#pragma unroll
            for (int i = (group - kGroups / 3) * 2; i < min((group - kGroups / 3 + 1) * 2, kMine); ++i) kept.fetch(args, tick - 1, i);
          stamp(kMeanwhile);
          if (group + 1 < kGroups) await_products<kPending>(); else await_products<0>();
          stamp(kProducts);
          if (group >= kPending) ring.release(group - kPending);
          ring.go_on<kFirstGroup>(group, turn * Ring::kRounds, weights + d * kGroups * kGroupBytes, next);
          if (group + 1 == kGroups)
#pragma unroll
            for (int done = kGroups - kPending; done < kGroups; ++done) ring.release(done);
          stamp(kRefill);
        }
        hold(acc);
        if (team) hand_over<1>(s, acc); else hand_over<0>(s, acc);
        if (!threadIdx.x) await_reading();
        if (kDeep) s.d_hidden.fetch(at, below, d_below);
        stamp(kSwap);
        __syncthreads();  // the halves are swapped, every warp is done with dz, d_pooled is there
        for (int strip = 0; kStrips > 1 && !threadIdx.x && strip < kStrips; ++strip)
          if (strip != at.strip) arrive_there(there(s.done, strip));
        ring.fill<kFirstGroup>(turn * Ring::kRounds, next);
        stamp(kBarrier);
        if (team) pass_on<1>(at, s, acc, d, below, peaks, d_below, d_hidden); else pass_on<0>(at, s, acc, d, below, peaks, d_below, d_hidden);
        stamp(kState);
      }
    }
    if (args.starts[step])
      for (int d = 0; d < D; ++d)
#pragma unroll
        for (int i = 0; i < kMine; ++i) {
          const size_t where = b * state + ((size_t)d * kCells + at.cell(i)) * kF + at.channel;
          float *cell = s.d_cell.place(at, d, i), *hidden = s.d_hidden.place(at, d, i);
          if (at.is_cell(i)) args.d_c_initial[where] += *cell, args.d_h_initial[where] += d == D - 1 ? d_hidden[i] : *hidden;
          if (!kDeep || at.is_cell(i)) *cell = *hidden = 0;
          if (d == D - 1) d_hidden[i] = 0;
        }
  }
  if (!threadIdx.x) await_storing<0>(), tell(args.progress + strip * 2, T);
  for (int d = 0; d < D; ++d)
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      const size_t where = b * state + ((size_t)d * kCells + at.cell(i)) * kF + at.channel;
      if (at.is_cell(i)) args.d_c_memory[where] = *s.d_cell.place(at, d, i), args.d_h_memory[where] = d == D - 1 ? d_hidden[i] : *s.d_hidden.place(at, d, i);
    }
  if (kStrips > 1) meet();                       // nobody is sent to, or read from, who is gone
}

// The gradient of one row of taps of one module's weights, from a few trajectories: sum over ticks and slots of
// (h below, h own)[slot + tap] x dz[slot]; slots are the inner dimension of the product. Each team takes one tap, and
// half of the gates of the tap between. Ticks come in stages, asked for ahead, in the order in which another
// block makes them. On the way dz is summed over the ticks of every third time-step: the gradient of the inputs.
// Strips of half a board have blocks of their own on the way back, but one block gathers from both.
constexpr bool kBoth = kSlots == 56;
constexpr int kGathered = kBoth ? kStrips : 1, kApart = kStrips / kGathered;  // strips that a block gathers from; blocks of a board
constexpr int kFollowed = kBoth ? 5 : 3;                         // trajectories of a network that a block follows by turns
constexpr int kSeen = 8 * kPlane, kPart = kSeen + 16 * kPlane;   // bytes: h below and own, then dz
constexpr int kStage = kGathered * kPart;
constexpr int kStages = kRows < 151 && !kBoth ? 4 : 3;           // as many as there is room for
constexpr int kTerms = (kSlots + 15) / 16 * 16;                  // slots of a product
constexpr int kGranules = 16 * kTerms / kThreads;                // of eight columns of dz, of a strip, of a thread
static_assert(16 * kTerms % kThreads == 0 && kThreads % 16 == 0, "threads share dz evenly");

// Rows of a strip, and the bytes of a tick of those that are gathered together, `strip` first.
__device__ __forceinline__ int rows_of(int strip) { return min(kTall, kH - strip * kTall); }
__device__ __forceinline__ int bytes_of_tick(int strip) {
  if (kStrips == 1) return kPart;
  int bytes = 0;
  for (int part = 0; part < kGathered; ++part) bytes += kSeen + 16 * rows_of(strip + part) * kAcross * 16;
  return bytes;
}
// By `kAsking` threads, one of each warp; of which this is `mine`.
constexpr int kAsking = kStrips == 1 ? 1 : kThreads / 32;
__device__ __forceinline__ void ask_tick(const BackwardArgs& args, size_t first, int t, int n, int d, int mine, uint32_t stage, uint32_t barrier) {
  const int D = args.D;
  if (!mine) expect_bytes(barrier, bytes_of_tick(first % kStrips));
  for (int part = 0; part < kGathered; ++part, stage += kPart) {
    const size_t strip = first + part;
    const unsigned char* before = args.hiddens + ((strip * args.T + t) * (args.N + 1) + n) * D * kHidden;
    const unsigned char* dz = args.dz + (((strip * args.T + t) * args.N + n) * D + d) * 16 * kPlane;
    const int own = rows_of(strip % kStrips) * kAcross * 16;  // bytes of a plane without its margins
    if (n == args.N - 1) await_word(args.progress + strip * 2, args.T - t);
    if (!mine) load_bulk(stage, before + (size_t)(d ? D + d - 1 : D - 1) * kHidden, kHidden, barrier);  // below: after its tick, or the top's before
    if (mine == kAsking - 1) load_bulk(stage + kHidden, before + (size_t)d * kHidden, kHidden, barrier);
    if (kStrips == 1) load_bulk(stage + kSeen, dz, 16 * kPlane, barrier);
    for (int plane = mine; kStrips > 1 && plane < 16; plane += kAsking)  // without what neighbours have put there: it is theirs to count
      load_bulk(stage + kSeen + plane * kPlane + kMargin * 16, dz + plane * kPlane + kMargin * 16, own, barrier);
  }
}

// Operands whose inner dimension is the slots: eight slots on is a tile on, eight channels on is a plane on.
__device__ __forceinline__ uint64_t turned_operand(uint32_t address) {
  return (uint64_t)(kPlane / 16) << 32 | (uint64_t)(128 / 16) << 16 | described(address);
}
// d (64 channels by 128 or 64 gates) gets a (channels by 16 slots) times b (16 slots by gates), both in shared memory.
__device__ __forceinline__ void multiply_turned(float (&d)[64], uint64_t a, uint64_t b, bool add) { WGMMA(64, 128, 64, 65, 66, "1, 1"); }
__device__ __forceinline__ void multiply_turned(float (&d)[32], uint64_t a, uint64_t b, bool add) { WGMMA(32, 64, 32, 33, 34, "1, 1"); }
// Where a team's sums go: `gradient` begins at its tap, and at its first gate.
template <int kCount>
__device__ __forceinline__ void store_gradient(float* gradient, const float (&acc)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    const int channel = threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8, gate = i / 4 * 8 + threadIdx.x % 4 * 2;
    *reinterpret_cast<float2*>(gradient + channel * kGates + gate) = {acc[i], acc[i + 1]};
  }
}

// The ticks of some trajectories, from the last time-step to the first; those of a time-step trajectory by trajectory.
struct Course {
  int t, which, n;
  const int count, N;
  __device__ __forceinline__ Course(int T, int count, int N) : t(T - 1), which(0), n(N - 1), count(count), N(N) {}
  __device__ __forceinline__ void go_on() {
    if (n--) return;
    n = N - 1;
    if (++which == count) which = 0, --t;
  }
};

__device__ __forceinline__ void gather(const BackwardArgs& args, unsigned char* memory, const size_t first, const int count, const int apart, const int d, const int row) {
  const uint32_t base = shared_address(memory), barriers = base + kStages * kStage;
  const int ticks = args.T * args.N * count, team = uniform(threadIdx.x / 128);
  Course asked(args.T, count, args.N), now = asked;
  const bool asks = threadIdx.x % 32 == 0 && threadIdx.x / 32 < kAsking;
  const auto ask = [&](int number) {
    const int place = number % kStages;
    if (asks) ask_tick(args, (first + asked.which) * kStrips + apart, asked.t, asked.n, d, threadIdx.x / 32, base + place * kStage, barriers + place * 8);
    asked.go_on();
  };
  if (kStrips > 1) {                             // slots that are not loaded count nothing
    for (int i = threadIdx.x; i < kStages * kStage / 16; i += kThreads) reinterpret_cast<uint4*>(memory)[i] = make_uint4(0, 0, 0, 0);
    publish();
  }
  if (!threadIdx.x)
    for (int stage = 0; stage < kStages; ++stage) prepare_barrier(barriers + stage * 8, 1);
  __syncthreads();
  for (int number = 0; number < kStages - 2 && number < ticks; ++number) ask(number);
  float whole[64], half[32], sums[kGathered][kGranules][8];
  for (int done = 0; done < ticks; ++done, now.go_on()) {
    __syncthreads();  // everyone is done with the last tick but one
    const int t = now.t, n = now.n, stage = done % kStages;
    const size_t b = first + now.which;
    if (done + kStages - 2 < ticks) ask(done + kStages - 2);
    wait(barriers + stage * 8, done / kStages & 1);
    begin_products();
#pragma unroll
    for (int part = 0; part < kGathered; ++part) {
      const uint32_t margin = base + stage * kStage + part * kPart + kMargin * 16;
      const uint64_t seen = turned_operand(margin) + tap_offset(row * 3 + team * 2), middle = turned_operand(margin) + tap_offset(row * 3 + 1);
      const uint64_t dz = turned_operand(margin + kSeen), mine = turned_operand(margin + kSeen + team * 8 * kPlane);
#pragma unroll
      for (int step = 0; step < kTerms / 16; ++step) {
        multiply_turned(whole, seen + step * 16, dz + step * 16, done || part || step);
        multiply_turned(half, middle + step * 16, mine + step * 16, done || part || step);
      }
    }
    commit_products();
    if (t % 3 == row) {                          // meanwhile
#pragma unroll
      for (int part = 0; part < kGathered; ++part)
#pragma unroll
        for (int i = 0; i < kGranules; ++i) {
          const int granule = i * kThreads + threadIdx.x, slot = granule / 16, plane = granule % 16, strip = apart + part;
          const uint4 v = *reinterpret_cast<const uint4*>(memory + stage * kStage + part * kPart + kSeen + plane * kPlane + (kMargin + slot) * 16);
          const uint32_t words[4] = {v.x, v.y, v.z, v.w};
          float (&sum)[8] = sums[part][i];
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            const float2 two = unpack(words[k]);
            sum[2 * k] = (n == args.N - 1 ? 0 : sum[2 * k]) + two.x, sum[2 * k + 1] = (n == args.N - 1 ? 0 : sum[2 * k + 1]) + two.y;
          }
          if (!n && slot < rows_of(strip) * kAcross && slot % kAcross < kW)
            args.d_inputs[(((b * args.T + t) * kCells + strip * kTall * kW + slot - slot / kAcross) * args.D + d) * 16 + plane] =
                make_uint4(pack(sum[0], sum[1]), pack(sum[2], sum[3]), pack(sum[4], sum[5]), pack(sum[6], sum[7]));
        }
    }
    await_products<1>();
  }
  await_products<0>();
  for (int which = 0; which < count; ++which) {  // the sum over all of them is the first one's, and the others' are zero
    float* gradient = args.gradient + ((((first + which) * kApart + apart) * args.D + d) * 9 + row * 3) * 64 * kGates;
    if (which)
#pragma unroll
      for (int i = 0; i < 64; ++i) whole[i] = half[i / 2] = 0;
    store_gradient(gradient + team * 2 * 64 * kGates, whole);
    store_gradient(gradient + 64 * kGates + team * 64, half);
  }
}

// First the boards' blocks, which make dz; then, on multiprocessors that are free, blocks that gather what the weights
// and the inputs learn from it. Boards are numbered as their blocks start: whom one waits for has started before it.
__global__ void __launch_bounds__(kThreads, 1) backward(BackwardArgs args) {
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ uint32_t number;
  meet();
  if (!threadIdx.x && !strip_of_block()) {
    const uint32_t mine = atomicAdd(args.progress + 1, 1);
    if (kStrips == 1) number = mine;
    for (int strip = 0; kStrips > 1 && strip < kStrips; ++strip) put(there(shared_address(&number), strip), mine);
  }
  meet();
  if (number < args.batch) return walk_back(args, memory, number);
  const int block = (number - args.batch) * kStrips + strip_of_block(), apart = block % kApart, task = block / kApart;
  const int each = args.batch_per_weights, groups = (each + kFollowed - 1) / kFollowed;  // of a network
  const int group = task / 3 / args.D, from = group % groups * kFollowed;
  if (group < args.batch / each * groups) gather(args, memory, group / groups * each + from, min(kFollowed, each - from), apart, task / 3 % args.D, task % 3);
}

// How many clusters come after those that walk.
constexpr int gathering(int batch, int batch_per_weights, int D) {
  return (batch / batch_per_weights * ((batch_per_weights + kFollowed - 1) / kFollowed) * 3 * D + kGathered - 1) / kGathered;
}

// Shared memory of a block, for D modules.
constexpr size_t forward_bytes(int D) {
  return Ring::kBytes + (size_t)D * (kStates * kHidden + (kDeep ? 0 : kMine * kThreads * 4) + kGates * 4 + 64 * 4 + kThreads * 4) + 2 * kStrips * kF * 16 + 16;
}
constexpr size_t backward_bytes(int D) {
  const size_t walking = Ring::kBytes + 16 * kPlane + 2 * kMine * kThreads * 4 + (kDeep ? 0 : (size_t)D * 2 * kMine * kThreads * 4) + (kStrips * 2 * kGates + 64) * 4 + 16;
  return std::max<size_t>(walking, kStages * (kStage + 8));
}

// What the host needs to know of all this.
struct Blocks {
  using Forward = ForwardArgs;
  using Backward = BackwardArgs;
  static constexpr int strips = kStrips;
  template <bool kSave>
  static const void* forward_kernel() { return (const void*)forward<kSave>; }
  static const void* backward_kernel() { return (const void*)backward; }
  static size_t forward_shared(int D) { return forward_bytes(D); }
  static size_t backward_shared(int D) { return backward_bytes(D); }
  static int backward_clusters(int batch, int batch_per_weights, int D) { return batch + gathering(batch, batch_per_weights, D); }
#if STAMPS
  static int take_stamps(unsigned long long* to) {
    static const unsigned char none[sizeof stamps] = {};
    return cudaMemcpyFromSymbol(to, stamps, sizeof stamps) || cudaMemcpyToSymbol(stamps, none, sizeof stamps);
  }
#endif
};
