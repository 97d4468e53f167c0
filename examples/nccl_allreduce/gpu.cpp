// SPDX-License-Identifier: Apache-2.0
#include "examples/nccl_allreduce/gpu.hpp"

namespace nccl_allreduce {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Why there is no GPU at all; `error` is what cudaGetDeviceCount has said.
Failure no_gpu(const Settings& settings, cudaError_t error) {
  if (settings.visible_devices && settings.visible_devices->empty())
    return {
        "no GPU was given to this rank (CUDA_VISIBLE_DEVICES is empty): run it on a host with "
        "GPUs, and ask for "
        "one with resources_per_worker: {GPU: 1}",
        ExitCode::unavailable};
  if (error == cudaErrorInsufficientDriver) {
    int driver = 0;
    (void)cudaDriverGetVersion(&driver);  // 0 without a driver
    const std::string found =
        driver == 0 ? "there is no NVIDIA driver on this host"
                    : "the NVIDIA driver of this host is for CUDA " + version_text(driver);
    return {found + ", and this program needs one for CUDA " + version_text(CUDART_VERSION) +
                ": see what 'nvidia-smi' says, and install or update the driver",
            ExitCode::unavailable};
  }
  if (error == cudaErrorNoDevice || error == cudaSuccess)
    return {
        "CUDA sees no GPU on this host: see what 'nvidia-smi' says, and whether "
        "CUDA_VISIBLE_DEVICES names one",
        ExitCode::unavailable};
  return {std::string("CUDA cannot be used on this host: ") + cudaGetErrorString(error) + " (" +
              cudaGetErrorName(error) + "); see what 'nvidia-smi' says",
          ExitCode::unavailable};
}

}  // namespace

Status cuda_status(cudaError_t error, const std::string& doing) {
  if (error == cudaSuccess) return done();
  const bool is_memory = error == cudaErrorMemoryAllocation;
  return Failure{"cannot " + doing + ": " + cudaGetErrorString(error) + " (" +
                     cudaGetErrorName(error) + "); " +
                     (is_memory ? "end what else is on this GPU, or choose a smaller --max"
                                : "see what 'nvidia-smi' and the kernel's log say of this GPU"),
                 is_memory ? ExitCode::unavailable : ExitCode::failed};
}

Result<DeviceMemory> DeviceMemory::allocate(std::size_t bytes) {
  void* data = nullptr;
  const auto allocated = cuda_status(cudaMalloc(&data, bytes),
                                     "allocate " + std::to_string(bytes) + " bytes on the GPU");
  if (!allocated) return allocated.failure();
  return DeviceMemory(data);
}

DeviceMemory::~DeviceMemory() {
  if (data_ != nullptr)
    (void)cudaFree(data_);  // of a GPU that has failed, it is free with the process
}

Result<Gpu> Gpu::open(const Settings& settings) {
  int visible = 0;
  const cudaError_t error = cudaGetDeviceCount(&visible);
  if (error != cudaSuccess || visible == 0) return no_gpu(settings, error);
  auto device = device_of(settings, visible);
  if (!device) return device.failure();
  const std::string which = "GPU " + std::to_string(*device);
  cudaDeviceProp properties{};
  Gpu gpu;
  auto opened = cuda_status(cudaSetDevice(*device), "use " + which);
  if (opened)
    opened =
        cuda_status(cudaGetDeviceProperties(&properties, *device), "ask what " + which + " is");
  if (opened)
    opened = cuda_status(cudaStreamCreateWithFlags(&gpu.stream_, cudaStreamNonBlocking),
                         "make a stream on " + which);
  if (opened) opened = cuda_status(cudaEventCreate(&gpu.start_), "make an event on " + which);
  if (opened) opened = cuda_status(cudaEventCreate(&gpu.end_), "make an event on " + which);
  if (!opened) return opened.failure();
  gpu.name_ = properties.name;
  return gpu;
}

Status Gpu::mark_start() {
  return cuda_status(cudaEventRecord(start_, stream_), "record an event");
}
Status Gpu::mark_end() { return cuda_status(cudaEventRecord(end_, stream_), "record an event"); }

Result<bool> Gpu::is_done() {
  const cudaError_t error = cudaEventQuery(end_);
  if (error == cudaErrorNotReady) return false;
  const auto asked = cuda_status(error, "finish what runs on the GPU");
  if (!asked) return asked.failure();
  return true;
}

Result<double> Gpu::seconds() {
  float milliseconds = 0;
  const auto asked = cuda_status(cudaEventElapsedTime(&milliseconds, start_, end_),
                                 "read the time between events");
  if (!asked) return asked.failure();
  return milliseconds / 1e3;
}

Result<std::size_t> Gpu::free_memory() {
  std::size_t unused = 0;
  std::size_t total = 0;
  const auto asked = cuda_status(cudaMemGetInfo(&unused, &total), "ask how much memory is free");
  if (!asked) return asked.failure();
  return unused;
}

Status Gpu::set(void* memory, int byte, std::size_t bytes) {
  return cuda_status(cudaMemsetAsync(memory, byte, bytes, stream_), "set memory of the GPU");
}

Status Gpu::copy(void* to, const void* from, std::size_t bytes) {
  return cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_),
                     "copy to or from the GPU");
}

}  // namespace nccl_allreduce
