// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the NVIDIA driver's libcuda.so.1: one GPU, whose memory is the host's and whose
// streams have always done everything. The environment says what goes wrong:
//
//   FAKE_CUDA_FAIL="FUNCTION=CODE"   a function that fails
//   FAKE_CUDA_PRINTS="LINE"          what cuInit prints on standard output, without its end
//   FAKE_CUDA_SLOW="DEVICE"          one that copies at a tenth of the rate of the others
//
// What the environment does not say, a file /etc/fake_cuda/NAME may. Large copies take a time of
// their own and move nothing, so that their rate is not that of the machine.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "backends/accelerator/devices/cuda.hpp"
#include "tests/backends/accelerator/fake_setting.hpp"

using namespace train::cuda;

namespace {

constexpr Status invalid_value{1};
constexpr Status no_device{100};

Status failure_of(const std::string& function) {
  const std::string fault = fake_setting("/etc/fake_cuda", "FAKE_CUDA_FAIL");
  const std::size_t equals = fault.find('=');
  if (fault.substr(0, equals) != function) return Status::success;
  return Status{std::atoi(fault.c_str() + equals + 1)};
}

void* at(Memory memory) { return reinterpret_cast<void*>(memory); }

constexpr std::size_t large = std::size_t{16} << 20;
std::string used_device = "0";

void copy(void* to, const void* from, std::size_t bytes) {
  if (bytes < large) {
    std::memcpy(to, from, bytes);
    return;
  }
  const bool is_slow = fake_setting("/etc/fake_cuda", "FAKE_CUDA_SLOW") == used_device;
  const std::chrono::milliseconds length(is_slow ? 200 : 20);
  std::this_thread::sleep_for(length);  // waits: as a GPU at work
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

Status cuInit(unsigned int) {
  if (const char* line = std::getenv("FAKE_CUDA_PRINTS")) std::puts(line);
  return failure_of("cuInit");
}
Status cuDriverGetVersion(int* version) {
  *version = 12'020;
  return failure_of("cuDriverGetVersion");
}
Status cuGetErrorString(Status status, const char** words) {
  *words = status == no_device ? "no CUDA-capable device is detected" : nullptr;
  return *words != nullptr ? Status::success : invalid_value;
}
Status cuDeviceGet(Device* device, int ordinal) {
  *device = ordinal;
  used_device = std::to_string(ordinal);
  return failure_of("cuDeviceGet");
}
Status cuDeviceGetName(char* name, int length, Device device) {
  std::snprintf(name, static_cast<std::size_t>(length), "NVIDIA H100 number %d", device);
  return failure_of("cuDeviceGetName");
}
Status cuDevicePrimaryCtxRetain(Context*, Device) { return failure_of("cuDevicePrimaryCtxRetain"); }
Status cuDevicePrimaryCtxRelease_v2(Device) { return failure_of("cuDevicePrimaryCtxRelease_v2"); }
Status cuCtxSetCurrent(Context) { return failure_of("cuCtxSetCurrent"); }
Status cuStreamCreate(Stream*, unsigned int) { return failure_of("cuStreamCreate"); }
Status cuStreamQuery(Stream) { return failure_of("cuStreamQuery"); }
Status cuStreamDestroy_v2(Stream) { return failure_of("cuStreamDestroy_v2"); }

Status cuMemAlloc_v2(Memory* memory, std::size_t bytes) {
  *memory = reinterpret_cast<Memory>(std::malloc(bytes));
  return failure_of("cuMemAlloc_v2");
}
Status cuMemFree_v2(Memory memory) {
  std::free(at(memory));
  return failure_of("cuMemFree_v2");
}
Status cuMemHostAlloc(void** memory, std::size_t bytes, unsigned int) {
  *memory = std::malloc(bytes);
  return failure_of("cuMemHostAlloc");
}
Status cuMemFreeHost(void* memory) {
  std::free(memory);
  return failure_of("cuMemFreeHost");
}
Status cuMemcpyHtoD_v2(Memory to, const void* from, std::size_t bytes) {
  copy(at(to), from, bytes);
  return failure_of("cuMemcpyHtoD_v2");
}
Status cuMemcpyDtoH_v2(void* to, Memory from, std::size_t bytes) {
  copy(to, at(from), bytes);
  return failure_of("cuMemcpyDtoH_v2");
}
Status cuMemsetD32Async(Memory memory, unsigned int word, std::size_t words, Stream) {
  auto* to = static_cast<unsigned int*>(at(memory));
  for (std::size_t i = 0; i < words; ++i) to[i] = word;
  return failure_of("cuMemsetD32Async");
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
