// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace train::nccl {

// The part of NCCL (libnccl.so.2) that is used here, declared after its reference
// (docs.nvidia.com/deeplearning/nccl): the header is not needed to build. A test compares this with
// nccl.h if that is installed.

/// ncclResult_t.
enum class Status : int { success = 0 };
/// ncclDataType_t.
enum class DataType : int { uint64 = 5, float32 = 7 };
/// ncclRedOp_t.
enum class Operation : int { sum = 0, max = 2 };

/// ncclUniqueId.
struct UniqueId {
  char bytes[128] = {};
};

using Communicator = struct OpaqueCommunicator*;
using Stream = struct OpaqueCudaStream*;  ///< cudaStream_t, the same as a stream of the driver

/// The functions; NCCL has had all of them since 2.4, and `last_error` since 2.13.
struct Library {
  Status (*version)(int* version) = nullptr;
  const char* (*error_string)(Status) = nullptr;
  Status (*unique_id)(UniqueId*) = nullptr;
  Status (*init_rank)(Communicator*, int ranks, UniqueId, int rank) = nullptr;
  Status (*async_error)(Communicator, Status*) = nullptr;
  Status (*all_reduce)(const void* from, void* to, std::size_t count, DataType, Operation,
                       Communicator, Stream) = nullptr;
  Status (*destroy)(Communicator) = nullptr;
  const char* (*last_error)(Communicator) = nullptr;  ///< may be missing
};

/// Calls `visit` for each function with its exported name; `last_error` last.
template <class Visit>
void each_function(Library& library, Visit visit) {
  visit("ncclGetVersion", library.version);
  visit("ncclGetErrorString", library.error_string);
  visit("ncclGetUniqueId", library.unique_id);
  visit("ncclCommInitRank", library.init_rank);
  visit("ncclCommGetAsyncError", library.async_error);
  visit("ncclAllReduce", library.all_reduce);
  visit("ncclCommDestroy", library.destroy);
  visit("ncclGetLastError", library.last_error);
}

}  // namespace train::nccl
