// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "examples/nccl_allreduce/result.hpp"
#include "examples/nccl_allreduce/settings.hpp"

namespace nccl_allreduce {

/// What a CUDA call has come to; `doing` completes "cannot ...".
Status cuda_status(cudaError_t error, const std::string& doing);

/// Memory of the current GPU.
class DeviceMemory {
 public:
  static Result<DeviceMemory> allocate(std::size_t bytes);
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~DeviceMemory();

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  explicit DeviceMemory(void* data) : data_(data) {}
  void* data_ = nullptr;
};

/// This rank's GPU, with a stream on which everything runs, and two marks in it to measure by. They
/// live until the process ends: then the driver frees them, too, if the stream never comes to an
/// end.
class Gpu {
 public:
  /// Makes it the current one. Says in one sentence when there is no driver, or no GPU.
  static Result<Gpu> open(const Settings& settings);

  cudaStream_t stream() const { return stream_; }
  const std::string& name() const { return name_; }

  Status mark_start();
  Status mark_end();
  /// Whether everything before the end mark is done.
  Result<bool> is_done();
  /// Between the two marks, when both are done.
  Result<double> seconds();

  /// Bytes that could be allocated now.
  Result<std::size_t> free_memory();
  /// Both return at once, and happen in the order of the stream.
  Status set(void* memory, int byte, std::size_t bytes);
  Status copy(void* to, const void* from, std::size_t bytes);

 private:
  Gpu() = default;

  std::string name_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

}  // namespace nccl_allreduce
