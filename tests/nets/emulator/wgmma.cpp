// kernel.cuh on a CPU: its functions with plain pointers. DEVICE_CODE is the file's part for the
// GPU, see emulate.py; here is what Hopper does by itself. Copies and products are done at once, or, if they are to be
// late, when somebody waits for them: nobody may rely on either.
#include <deque>
#include <map>

#include "simt.h"

namespace gpu {

static bool late;

// An address in the shared memory of the cluster says from bit 24 on which block, counted from 1.
constexpr int kBlock = 24;
uint32_t there(uint32_t address, int strip) { return strip + 1 << kBlock | address; }
uint32_t here(uint32_t address) { return there(address, running / blockDim.x); }
unsigned char* place(uint32_t mapped) {
  const uint32_t block = (mapped >> kBlock) - 1, address = mapped % (1 << kBlock);
  const bool known = block < fibers.size() / blockDim.x && address < block_bytes;
  if (!known) fault = "an address is in no block of the cluster";
  const auto first = fibers.begin() + (known ? block : 0) * blockDim.x;
  if (std::all_of(first, first + blockDim.x, [](const Fiber& fiber) { return fiber.over; })) fault = "a block writes to one that has ended";
  return known ? cluster_memory + block * block_bytes + address : block_memory;
}
template <class T>
void put(uint32_t mapped, T v) {
  if (mapped % sizeof v) fault = "a store is not aligned";
  memcpy(place(mapped), &v, sizeof v);
}

// Barriers in shared memory, by their mapped address: a phase is over when all have arrived and all bytes have.
struct Barrier { int arrivals, missing; long bytes; int phase; };
struct Copy { void* to; const void* from; int bytes; uint32_t barrier; };
struct Store { void* to; const void* from; std::vector<char> read; int bytes; };
static std::map<uint32_t, Barrier> barriers;
static std::vector<Copy> copies;
static std::map<int, std::vector<Store>> stores;  // by thread

void prepare(uint32_t barrier, int arrivals) { barriers[here(barrier)] = {arrivals, arrivals, 0, 0}; }
Barrier& prepared(uint32_t barrier) {
  if (!barriers.count(barrier)) fault = "a barrier is used that is not there yet";
  return barriers[barrier];
}
void count(uint32_t barrier, int arrivals, int bytes) {
  Barrier& b = prepared(barrier);
  if ((b.missing -= arrivals) < 0) fault = "more arrive at a barrier than it waits for";
  b.bytes += bytes;
  if (!b.missing && !b.bytes) ++b.phase, b.missing = b.arrivals;
}
void finish_copies(uint32_t barrier) {
  for (size_t i = 0; i < copies.size();) {
    const Copy copy = copies[i];
    if (copy.barrier != barrier) { ++i; continue; }
    copies.erase(copies.begin() + i);
    memcpy(copy.to, copy.from, copy.bytes);
    count(barrier, 0, -copy.bytes);
  }
}
// To a mapped address, and with a barrier there.
void send(uint32_t to, const void* from, int bytes, uint32_t barrier) {
  if (to % 16 || bytes % 16 || (uintptr_t)from % 16) fault = "a copy is not aligned";
  if (to >> kBlock != barrier >> kBlock) fault = "a copy reports to another block than it goes to";
  copies.push_back({place(to), from, bytes, barrier});
  if (!late) finish_copies(barrier);
}
void load(uint32_t to, const void* from, int bytes, uint32_t barrier) { send(here(to), from, bytes, here(barrier)); }
void wait(uint32_t address, int parity) {
  const uint32_t barrier = here(address);
  wait_until([=] {
    if (prepared(barrier).phase % 2 == parity) finish_copies(barrier);
    return barriers[barrier].phase % 2 != parity;
  });
}
void finish_reading() {
  for (Store& store : stores[running])
    if (store.read.empty()) store.read.assign((const char*)store.from, (const char*)store.from + store.bytes);
}
void finish_storing(int more) {                  // all but so many of the last
  finish_reading();
  auto& mine = stores[running];
  for (; mine.size() > (size_t)more; mine.erase(mine.begin())) memcpy(mine[0].to, mine[0].read.data(), mine[0].bytes);
}
void store(void* to, const void* from, int bytes) {
  stores[running].push_back({to, from, {}, bytes});
  if (!late) finish_storing(0);
}
void tell(uint32_t* counter, uint32_t value) { *counter = value; }

// wgmma: products of a team of four warps, 16 terms; operands in shared memory, the sums spread over the threads.
struct Product { uint64_t a, b; bool add, turned; int width, given; float* sums[128]; };
struct Team { std::deque<Product> products; uint64_t first = 0, done = 0; };  // number of the first that is kept, of the next to do
struct Issued { uint64_t products = 0; std::deque<uint64_t> groups; };
static std::map<int, Team> teams;
static std::map<int, Issued> issued;             // by thread

// An operand's description has an address, a leading and a stride offset. Eight rows by eight terms lie together, rows of
// 16 bytes (turned: terms of 16 bytes); `stride` leads to the next eight rows, `leading` to the next eight terms.
std::vector<float> operand(uint64_t described, int rows, bool turned) {
  const auto field = [described](int bit) { return (described >> bit & 0x3fff) * 16; };
  std::vector<float> values(rows * 16);
  for (int row = 0; row < rows; ++row)
    for (int term = 0; term < 16; ++term) {
      const uint64_t inside = turned ? term % 8 * 16 + row % 8 * 2 : row % 8 * 16 + term % 8 * 2;
      values[row * 16 + term] = __bfloat162float({shared_half(field(0) + row / 8 * field(32) + term / 8 * field(16) + inside)});
    }
  return values;
}
void multiply(const Product& p) {
  const std::vector<float> a = operand(p.a, 64, p.turned), b = operand(p.b, p.width, p.turned);
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < p.width; ++column) {
      float& sum = p.sums[row / 16 * 32 + row % 8 * 4 + column % 8 / 2][column / 8 * 4 + row % 16 / 8 * 2 + column % 2];
      float total = p.add ? sum : 0;
      for (int term = 0; term < 16; ++term) total += a[row * 16 + term] * b[column * 16 + term];
      sum = total;
    }
}
void multiply_until(Team& team, uint64_t end) {
  for (; team.done < end; ++team.done) multiply(team.products[team.done - team.first]);
  for (; team.done - team.first > 64; ++team.first) team.products.pop_front();
}
template <int kCount>
void issue(float (&sums)[kCount], uint64_t a, uint64_t b, bool add, bool turned) {
  Team& team = teams[running / 128];
  const uint64_t number = issued[running].products++;
  if (number == team.first + team.products.size()) team.products.push_back({a, b, add, turned, 2 * kCount, 0, {}});
  Product& product = team.products[number - team.first];
  if (product.a != a || product.b != b || product.add != add || product.width != 2 * kCount) fault = "threads of a team multiply different things";
  product.sums[threadIdx.x % 128] = sums;
  if (++product.given == 128 && !late) multiply_until(team, number + 1);
}
void commit() { issued[running].groups.push_back(issued[running].products); }
void await(int more) {
  Team& team = teams[running / 128];
  auto& groups = issued[running].groups;
  for (; groups.size() > (size_t)more; groups.pop_front()) {
    const uint64_t end = groups.front();
    wait_until([&] { return end <= team.done || team.products[end - 1 - team.first].given == 128; });
    multiply_until(team, end);
  }
}

// A clock that goes on by one whenever a thread looks at it.
static std::map<int, uint32_t> clocks;
uint32_t clock() { return ++clocks[running]; }

void begin() { barriers.clear(), copies.clear(), stores.clear(), issued.clear(), teams.clear(); }
void end_cluster() {
  if (!copies.empty()) fault = "nobody waits for a copy";
  begin();
}

}  // namespace gpu

using bf16 = __nv_bfloat16;
using bf162 = __nv_bfloat162;
#include DEVICE_CODE

#if STAMPS
extern "C" int DrcStamps(void* to) {
  memcpy(to, stamps, sizeof stamps), memset(stamps, 0, sizeof stamps);
  return 0;
}
#endif

extern "C" size_t shared_bytes(bool back, int D) { return back ? backward_bytes(D) : forward_bytes(D); }

extern "C" const char* forward_of(bool save, const void* weights, const void* pool, const float* c0, const void* h0, const float* c, const void* h,
                                  const void* inputs, const uint8_t* starts, void* top, float* c_last, void* h_last, void* gates, float* cells, void* hiddens,
                                  uint32_t* peaks, float* pooled, int batch, int batch_per_weights, int D, int N, int T, bool late) {
  ForwardArgs args{(const unsigned char*)weights, (const bf16*)pool, c0, (const bf16*)h0, c, (const bf16*)h, (const bf16*)inputs, starts, (bf16*)top, c_last,
                   (bf16*)h_last, (uint2*)gates, cells, (unsigned char*)hiddens, peaks, pooled, batch, batch_per_weights, D, N, T};
  gpu::late = late, gpu::begin();
  const auto kernel = [&] { if (save) forward<true>(args); else forward<false>(args); };
  return run(kStrips, kThreads, forward_bytes(D), kernel, kStrips, gpu::end_cluster);  // one cluster takes all trajectories
}

extern "C" const char* backward_of(const void* weights, const void* pool, const void* gates, const float* cells, const uint32_t* peaks, const void* hiddens,
                                   const uint8_t* starts, const void* d_top, const float* d_c_last, const float* d_h_last, float* gradient, void* d_inputs,
                                   float* dz_sums, float* d_c_memory, float* d_h_memory, float* d_c_initial, float* d_h_initial, void* dz, uint32_t* progress,
                                   int batch, int batch_per_weights, int D, int N, int T, bool late) {
  BackwardArgs args{(const unsigned char*)weights, (const bf16*)pool, (const uint2*)gates, cells, peaks, starts, (const bf16*)d_top, d_c_last, d_h_last,
                    (unsigned char*)dz, dz_sums, d_c_memory, d_h_memory, d_c_initial, d_h_initial, (const unsigned char*)hiddens, gradient, (uint4*)d_inputs,
                    progress, batch, batch_per_weights, D, N, T};
  gpu::late = late, gpu::begin();
  memset(progress, 0, batch * kStrips * 8);
  return run((batch + gathering(batch, batch_per_weights, D)) * kStrips, kThreads, backward_bytes(D), [&] { backward(args); }, kStrips, gpu::end_cluster);
}
