// The recurrent core of DRC(D, N) on a Hopper GPU, for XLA: kernel.cuh twice. A trajectory has a block of its own; or, where
// there are so few that multiprocessors would be idle, two of them, with half of the board each. Both leave in the same
// arrays what the backward pass wants, each in its own order, so whether it is halves depends on the number of trajectories.
//
// GRID_H, GRID_W, DEEP, ALONE and MEMORY are those of kernel.cuh.

#include <algorithm>

#include "calls.cuh"
#include "values.cuh"

// Whether a board can be cut into two strips of at most 56 slots.
#define STRIPS_OF(slots) ((GRID_H + slots / (GRID_W + 1) - 1) / (slots / (GRID_W + 1)))
#define HALVES (!DEEP && STRIPS_OF(112) == 1 && STRIPS_OF(56) == 2)

namespace {

namespace whole {
#define SLOTS 112
#include "kernel.cuh"
#undef SLOTS
}  // namespace whole

#if HALVES
namespace halves {
#define SLOTS 56
#include "kernel.cuh"
#undef SLOTS
}  // namespace halves
#else
namespace halves = whole;
#endif

// Clusters of so many blocks, or where `fitting` says so no more than the GPU has room for.
ffi::Error launch(const void* kernel, size_t shared, int clusters, int blocks, bool fitting, void** arguments, cudaStream_t stream) {
  if (!may_have(kernel, shared)) return ffi::Error::Internal(kTooMuch);
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = blocks, cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(clusters * blocks), config.blockDim = dim3(kThreads), config.dynamicSmemBytes = shared, config.stream = stream;
  config.attrs = &cluster, config.numAttrs = 1;
  int room = 0;
  if (fitting && cudaOccupancyMaxActiveClusters(&room, kernel, &config) == cudaSuccess && room > 0) config.gridDim.x = std::min(clusters, room) * blocks;
  cudaLaunchKernelExC(&config, kernel, arguments);
  return launched();
}

constexpr int kLearning = 4;                     // multiprocessors a board takes: two, and two that gather

// Whether so many boards find so many multiprocessors each, so that two may share a board.
bool in_halves(int boards, int each) {
  static const int processors = [] {
    int device = 0, count = 0;
    cudaGetDevice(&device), cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    return count;
  }();
  return HALVES && boards * each <= processors;
}

template <class Form, bool kSave>
ffi::Error run_forward(cudaStream_t stream, int64_t ticks, const Sizes& sizes, ffi::AnyBuffer weights, ffi::AnyBuffer pool, ffi::AnyBuffer c0,
                       ffi::AnyBuffer h0, ffi::AnyBuffer c, ffi::AnyBuffer h, ffi::AnyBuffer inputs, ffi::AnyBuffer starts,
                       bf16* top, float* c_last, bf16* h_last, uint2* gates, float* cells, unsigned char* hiddens, uint32_t* peaks, float* pooled) {
  typename Form::Forward args{at<unsigned char>(weights), at<bf16>(pool), at<float>(c0), at<bf16>(h0), at<float>(c), at<bf16>(h),
                              at<bf16>(inputs), at<uint8_t>(starts), top, c_last, h_last, gates, cells, hiddens, peaks, pooled,
                              sizes.batch, sizes.batch / sizes.networks, sizes.D, (int)ticks, sizes.T};
  void* arguments[] = {&args};
  return launch(Form::template forward_kernel<kSave>(), Form::forward_shared(sizes.D), sizes.batch, Form::strips, true, arguments, stream);
}

ffi::Error Infer(cudaStream_t stream, int64_t ticks, ffi::AnyBuffer weights, ffi::AnyBuffer pool, ffi::AnyBuffer c0, ffi::AnyBuffer h0,
                 ffi::AnyBuffer c, ffi::AnyBuffer h, ffi::AnyBuffer inputs, ffi::AnyBuffer starts, ffi::Result<ffi::AnyBuffer> top,
                 ffi::Result<ffi::AnyBuffer> c_last, ffi::Result<ffi::AnyBuffer> h_last) {
  const Sizes sizes(inputs, 5, weights, 6);
  const auto run = in_halves(sizes.batch, 2) ? run_forward<halves::Blocks, false> : run_forward<whole::Blocks, false>;
  return run(stream, ticks, sizes, weights, pool, c0, h0, c, h, inputs, starts, at<bf16>(top), at<float>(c_last), at<bf16>(h_last), nullptr, nullptr, nullptr,
             nullptr, nullptr);
}

ffi::Error Forward(cudaStream_t stream, int64_t ticks, ffi::AnyBuffer weights, ffi::AnyBuffer pool, ffi::AnyBuffer c0, ffi::AnyBuffer h0,
                   ffi::AnyBuffer c, ffi::AnyBuffer h, ffi::AnyBuffer inputs, ffi::AnyBuffer starts, ffi::Result<ffi::AnyBuffer> top,
                   ffi::Result<ffi::AnyBuffer> c_last, ffi::Result<ffi::AnyBuffer> h_last, ffi::Result<ffi::AnyBuffer> gates,
                   ffi::Result<ffi::AnyBuffer> cells, ffi::Result<ffi::AnyBuffer> hiddens, ffi::Result<ffi::AnyBuffer> peaks,
                   ffi::Result<ffi::AnyBuffer> pooled) {
  const Sizes sizes(inputs, 5, weights, 6);
  const auto run = in_halves(sizes.batch, kLearning) ? run_forward<halves::Blocks, true> : run_forward<whole::Blocks, true>;
  return run(stream, ticks, sizes, weights, pool, c0, h0, c, h, inputs, starts, at<bf16>(top), at<float>(c_last), at<bf16>(h_last), at<uint2>(gates),
             at<float>(cells), at<unsigned char>(hiddens), at<uint32_t>(peaks), at<float>(pooled));
}

template <class Form>
ffi::Error run_backward(cudaStream_t stream, int64_t ticks, const Sizes& sizes, ffi::AnyBuffer weights, ffi::AnyBuffer pool, ffi::AnyBuffer gates,
                        ffi::AnyBuffer cells, ffi::AnyBuffer peaks, ffi::AnyBuffer hiddens, ffi::AnyBuffer starts, ffi::AnyBuffer d_top,
                        ffi::AnyBuffer d_c_last, ffi::AnyBuffer d_h_last, float* gradient, uint4* d_inputs, float* dz_sums, float* d_c_memory, float* d_h_memory,
                        float* d_c_initial, float* d_h_initial, unsigned char* dz, uint32_t* progress) {
  typename Form::Backward args{at<unsigned char>(weights), at<bf16>(pool), at<uint2>(gates), at<float>(cells), at<uint32_t>(peaks), at<uint8_t>(starts),
                               at<bf16>(d_top), at<float>(d_c_last), at<float>(d_h_last), dz, dz_sums, d_c_memory, d_h_memory, d_c_initial, d_h_initial,
                               at<unsigned char>(hiddens), gradient, d_inputs, progress, sizes.batch, sizes.batch / sizes.networks, sizes.D, (int)ticks, sizes.T};
  cudaMemsetAsync(progress, 0, (size_t)sizes.batch * Form::strips * 8, stream);
  void* arguments[] = {&args};
  return launch(Form::backward_kernel(), Form::backward_shared(sizes.D), Form::backward_clusters(sizes.batch, sizes.batch / sizes.networks, sizes.D), Form::strips, false, arguments, stream);
}

ffi::Error Backward(cudaStream_t stream, int64_t ticks, ffi::AnyBuffer weights, ffi::AnyBuffer pool, ffi::AnyBuffer gates,
                    ffi::AnyBuffer cells, ffi::AnyBuffer peaks, ffi::AnyBuffer hiddens, ffi::AnyBuffer starts, ffi::AnyBuffer d_top,
                    ffi::AnyBuffer d_c_last, ffi::AnyBuffer d_h_last, ffi::Result<ffi::AnyBuffer> gradient, ffi::Result<ffi::AnyBuffer> d_inputs,
                    ffi::Result<ffi::AnyBuffer> dz_sums, ffi::Result<ffi::AnyBuffer> d_c_memory, ffi::Result<ffi::AnyBuffer> d_h_memory,
                    ffi::Result<ffi::AnyBuffer> d_c_initial, ffi::Result<ffi::AnyBuffer> d_h_initial, ffi::Result<ffi::AnyBuffer> dz,
                    ffi::Result<ffi::AnyBuffer> progress) {
  const Sizes sizes(d_top, 4, weights, 5);
  const auto run = in_halves(sizes.batch, kLearning) ? run_backward<halves::Blocks> : run_backward<whole::Blocks>;
  return run(stream, ticks, sizes, weights, pool, gates, cells, peaks, hiddens, starts, d_top, d_c_last, d_h_last, at<float>(gradient), at<uint4>(d_inputs),
             at<float>(dz_sums), at<float>(d_c_memory), at<float>(d_h_memory), at<float>(d_c_initial), at<float>(d_h_initial), at<unsigned char>(dz),
             at<uint32_t>(progress));
}

}  // namespace

HANDLERS

#if STAMPS
// What has been stamped since it was asked for last: by whole boards, and by halves.
extern "C" int DrcStamps(void* to) {
  auto* first = static_cast<unsigned long long*>(to);
  return whole::Blocks::take_stamps(first) || halves::Blocks::take_stamps(first + 3 * 2 * (whole::kPhases + 1));
}
#endif
