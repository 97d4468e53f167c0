// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace train::cuda {

// The part of NVIDIA's driver (libcuda.so.1) that is used here, declared after its reference
// (docs.nvidia.com/cuda/cuda-driver-api): the header is not needed to build. A test compares this
// with cuda.h if that is installed.

/// CUresult.
enum class Status : int { success = 0, not_ready = 600 };

using Device = int;                 ///< CUdevice
using Memory = unsigned long long;  ///< CUdeviceptr
using Context = struct OpaqueContext*;
using Stream = struct OpaqueStream*;

/// The functions.
struct Library {
  Status (*init)(unsigned int flags) = nullptr;
  Status (*driver_version)(int* version) = nullptr;
  Status (*error_string)(Status, const char** words) = nullptr;
  Status (*device_get)(Device*, int ordinal) = nullptr;
  Status (*device_name)(char* name, int length, Device) = nullptr;
  Status (*retain_context)(Context*, Device) = nullptr;
  Status (*release_context)(Device) = nullptr;
  Status (*set_context)(Context) = nullptr;
  Status (*create_stream)(Stream*, unsigned int flags) = nullptr;
  Status (*query_stream)(Stream) = nullptr;
  Status (*destroy_stream)(Stream) = nullptr;
  Status (*allocate)(Memory*, std::size_t bytes) = nullptr;
  Status (*release)(Memory) = nullptr;
  Status (*allocate_on_host)(void** memory, std::size_t bytes, unsigned int flags) = nullptr;
  Status (*release_on_host)(void* memory) = nullptr;
  Status (*copy_to_device)(Memory, const void* from, std::size_t bytes) = nullptr;
  Status (*copy_from_device)(void* to, Memory, std::size_t bytes) = nullptr;
  Status (*fill)(Memory, unsigned int word, std::size_t words, Stream) = nullptr;
};

/// Calls `visit` for each function with its exported name.
template <class Visit>
void each_function(Library& library, Visit visit) {
  visit("cuInit", library.init);
  visit("cuDriverGetVersion", library.driver_version);
  visit("cuGetErrorString", library.error_string);
  visit("cuDeviceGet", library.device_get);
  visit("cuDeviceGetName", library.device_name);
  visit("cuDevicePrimaryCtxRetain", library.retain_context);
  visit("cuDevicePrimaryCtxRelease_v2", library.release_context);
  visit("cuCtxSetCurrent", library.set_context);
  visit("cuStreamCreate", library.create_stream);
  visit("cuStreamQuery", library.query_stream);
  visit("cuStreamDestroy_v2", library.destroy_stream);
  visit("cuMemAlloc_v2", library.allocate);
  visit("cuMemFree_v2", library.release);
  visit("cuMemHostAlloc", library.allocate_on_host);
  visit("cuMemFreeHost", library.release_on_host);
  visit("cuMemcpyHtoD_v2", library.copy_to_device);
  visit("cuMemcpyDtoH_v2", library.copy_from_device);
  visit("cuMemsetD32Async", library.fill);
}

}  // namespace train::cuda
