// SPDX-License-Identifier: Apache-2.0
// What train-devices declares of CUDA and NCCL, against NVIDIA's headers where they are.
#include <cuda.h>
#include <nccl.h>

#include <string>
#include <type_traits>

#include "backends/accelerator/devices/cuda.hpp"
#include "backends/accelerator/devices/nccl.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

template <class One, class Other>
constexpr bool passed_alike =
    sizeof(One) == sizeof(Other) && alignof(One) == alignof(Other) &&
    std::is_pointer_v<One> == std::is_pointer_v<Other>&& std::is_class_v<One> ==
        std::is_class_v<Other>&& std::is_floating_point_v<One> == std::is_floating_point_v<Other>;

// Whether a function may be called by a pointer to the other: parameters are passed alike.
template <class Ours, class Theirs>
constexpr bool called_alike = false;
template <class Result, class... Parameters, class TheirResult, class... TheirParameters>
requires(sizeof...(Parameters) == sizeof...(TheirParameters)) constexpr bool called_alike<
    Result (*)(Parameters...), TheirResult (*)(TheirParameters...)> =
    passed_alike<Result, TheirResult> && (passed_alike<Parameters, TheirParameters> && ...);

// By what name a function is looked for.
template <class Library, class Function>
std::string name_of(Function Library::*member) {
  Library library;
  std::string found;
  each_function(library, [&](const char* name, auto& function) {
    if (static_cast<void*>(&function) == static_cast<void*>(&(library.*member))) found = name;
  });
  return found;
}

#define TEXT_OF(name) #name
// A header has macros that turn names into those of the newest versions, which are looked for.
#define CHECK_FUNCTION(library, member, function)                                        \
  static_assert(called_alike<decltype(library::Library::member), decltype(&::function)>, \
                "differs from " #function);                                              \
  CHECK(name_of(&library::Library::member) == TEXT_OF(function))

}  // namespace

TEST_CASE("the driver's functions are those of cuda.h") {
  CHECK_FUNCTION(cuda, init, cuInit);
  CHECK_FUNCTION(cuda, driver_version, cuDriverGetVersion);
  CHECK_FUNCTION(cuda, error_string, cuGetErrorString);
  CHECK_FUNCTION(cuda, device_get, cuDeviceGet);
  CHECK_FUNCTION(cuda, device_name, cuDeviceGetName);
  CHECK_FUNCTION(cuda, retain_context, cuDevicePrimaryCtxRetain);
  CHECK_FUNCTION(cuda, release_context, cuDevicePrimaryCtxRelease);
  CHECK_FUNCTION(cuda, set_context, cuCtxSetCurrent);
  CHECK_FUNCTION(cuda, create_stream, cuStreamCreate);
  CHECK_FUNCTION(cuda, query_stream, cuStreamQuery);
  CHECK_FUNCTION(cuda, destroy_stream, cuStreamDestroy);
  CHECK_FUNCTION(cuda, allocate, cuMemAlloc);
  CHECK_FUNCTION(cuda, release, cuMemFree);
  CHECK_FUNCTION(cuda, allocate_on_host, cuMemHostAlloc);
  CHECK_FUNCTION(cuda, release_on_host, cuMemFreeHost);
  CHECK_FUNCTION(cuda, copy_to_device, cuMemcpyHtoD);
  CHECK_FUNCTION(cuda, copy_from_device, cuMemcpyDtoH);
  CHECK_FUNCTION(cuda, fill, cuMemsetD32Async);
  static_assert(static_cast<int>(cuda::Status::success) == CUDA_SUCCESS);
  static_assert(static_cast<int>(cuda::Status::not_ready) == CUDA_ERROR_NOT_READY);
}

TEST_CASE("NCCL's functions are those of nccl.h") {
  CHECK_FUNCTION(nccl, version, ncclGetVersion);
  CHECK_FUNCTION(nccl, error_string, ncclGetErrorString);
  CHECK_FUNCTION(nccl, unique_id, ncclGetUniqueId);
  CHECK_FUNCTION(nccl, init_rank, ncclCommInitRank);
  CHECK_FUNCTION(nccl, async_error, ncclCommGetAsyncError);
  CHECK_FUNCTION(nccl, all_reduce, ncclAllReduce);
  CHECK_FUNCTION(nccl, destroy, ncclCommDestroy);
  CHECK_FUNCTION(nccl, last_error, ncclGetLastError);
  static_assert(sizeof(nccl::UniqueId) == sizeof(ncclUniqueId));
  static_assert(sizeof(nccl::UniqueId::bytes) == NCCL_UNIQUE_ID_BYTES);
  static_assert(static_cast<int>(nccl::Status::success) == ncclSuccess);
  static_assert(static_cast<int>(nccl::DataType::uint64) == ncclUint64);
  static_assert(static_cast<int>(nccl::DataType::float32) == ncclFloat32);
  static_assert(static_cast<int>(nccl::Operation::sum) == ncclSum);
  static_assert(static_cast<int>(nccl::Operation::max) == ncclMax);
}
