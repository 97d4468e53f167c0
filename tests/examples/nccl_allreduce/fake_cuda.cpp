// SPDX-License-Identifier: Apache-2.0
// A stand-in for CUDA's runtime, and for the kernels of the example: GPUs are memory of the
// process, and everything is done when its call returns, although an event says so only when it is
// asked for the third time. FAKE_GPUS says how many there are (8), FAKE_GPU_MEMORY how many bytes
// each has free.
#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

#include "examples/nccl_allreduce/kernels.hpp"

namespace {

long setting(const char* name, long otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atol(text) : otherwise;
}

}  // namespace

struct CUevent_st {
  std::chrono::steady_clock::time_point when;
  int looks = 0;
};

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(setting("FAKE_GPUS", 8));
  return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int) { return cudaSuccess; }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  std::strcpy(properties->name, ("fake GPU " + std::to_string(device)).c_str());
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st;  // the program keeps its events to its end
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  *event = {std::chrono::steady_clock::now(), 0};
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return ++event->looks < 3 ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->when - start->when).count();
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* unused, std::size_t* total) {
  *unused = *total = static_cast<std::size_t>(setting("FAKE_GPU_MEMORY", 1 << 30));
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(setting("FAKE_GPU_MEMORY", 1 << 30)))
    return cudaErrorMemoryAllocation;
  *memory = std::malloc(bytes);
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* memory, int byte, std::size_t bytes, cudaStream_t) {
  std::memset(memory, byte, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

const char* cudaGetErrorString(cudaError_t) { return "a fake error"; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorFake"; }

}  // extern "C"

namespace nccl_allreduce {

cudaError_t launch_fill(float* values, std::size_t count, int rank, cudaStream_t) {
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(i % position_period) + static_cast<float>(rank % rank_period);
  return cudaSuccess;
}

cudaError_t launch_count_wrong(const float* values, std::size_t count, int ranks,
                               std::uint64_t* wrong, cudaStream_t) {
  for (std::size_t i = 0; i < count; ++i)
    if (values[i] !=
        static_cast<float>(i % position_period) * static_cast<float>(ranks) + rank_share(ranks))
      ++*wrong;
  return cudaSuccess;
}

}  // namespace nccl_allreduce
