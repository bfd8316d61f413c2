// How XLA calls both kernels: where its buffers are, how many trajectories and networks they hold, and the functions' names.

#include <cuda_runtime.h>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

template <class T>
T* at(ffi::AnyBuffer buffer) { return reinterpret_cast<T*>(buffer.untyped_data()); }
template <class T>
T* at(ffi::Result<ffi::AnyBuffer>& buffer) { return reinterpret_cast<T*>(buffer->untyped_data()); }

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

bool may_have(const void* kernel, size_t shared) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared) == cudaSuccess;
}
const char* const kTooMuch = "the DRC kernel needs more shared memory than this GPU has";

ffi::Error launched() {
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? ffi::Error::Success() : ffi::Error::Internal(cudaGetErrorString(error));
}

}  // namespace

#define EIGHT_ARGS .Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>()
#define THREE_RESULTS .Ret<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>()
#define BIND ffi::Ffi::Bind().Ctx<ffi::PlatformStream<cudaStream_t>>().Attr<int64_t>("ticks")

// What `build.py` registers, from the functions Infer, Forward and Backward.
#define HANDLERS                                                                                                         \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(DrcInfer, Infer, BIND EIGHT_ARGS THREE_RESULTS, {ffi::Traits::kCmdBufferCompatible});     \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(DrcForward, Forward,                                                                     \
                                BIND EIGHT_ARGS THREE_RESULTS THREE_RESULTS.Ret<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>(), \
                                {ffi::Traits::kCmdBufferCompatible});                                                    \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(DrcBackward, Backward,                                                                   \
                                BIND EIGHT_ARGS.Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>() THREE_RESULTS THREE_RESULTS THREE_RESULTS, \
                                {ffi::Traits::kCmdBufferCompatible});
