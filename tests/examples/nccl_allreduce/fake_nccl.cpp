// SPDX-License-Identifier: Apache-2.0
// A stand-in for libnccl.so.2 among processes of one machine, through a file in $FAKE_NCCL_FOLDER
// that all of them map. FAKE_NCCL_FAULT is what goes wrong on the rank FAKE_NCCL_RANK at
// all-reduces of 1024 floats and more:
//   wrong   one element of its result
//   dies    the process, and the others never notice
//   lost    NCCL says that a peer is lost
#include <fcntl.h>
#include <nccl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/support/process_barrier.hpp"

namespace {

constexpr std::size_t most_ranks = 8;
constexpr std::size_t most_bytes = 1 << 20;
constexpr std::size_t least_faulty_count = 1024;

/// What the processes share; a new file is all zeros.
struct Shared {
  ProcessBarrier barrier;
  alignas(16) char data[most_ranks][most_bytes];
};

bool has_fault(const char* fault, int rank) {
  const char* const wanted = std::getenv("FAKE_NCCL_FAULT");
  const char* const where = std::getenv("FAKE_NCCL_RANK");
  return wanted != nullptr && std::strcmp(wanted, fault) == 0 && where != nullptr &&
         std::atoi(where) == rank;
}

}  // namespace

struct ncclComm {
  Shared* shared;
  int rank;
  int ranks;
  ncclResult_t error;

  void meet() const { shared->barrier.meet(ranks); }

  template <typename T>
  void reduce(const void* from, void* to, std::size_t count, ncclRedOp_t operation) const {
    std::memcpy(shared->data[rank], from, count * sizeof(T));
    meet();
    T* const result = static_cast<T*>(to);
    for (std::size_t i = 0; i < count; ++i)
      for (int other = 0; other < ranks; ++other) {
        const T value = reinterpret_cast<const T*>(shared->data[other])[i];
        if (other == 0)
          result[i] = value;
        else
          result[i] = operation == ncclSum   ? result[i] + value
                      : operation == ncclMax ? std::max(result[i], value)
                                             : std::min(result[i], value);
      }
    meet();
  }
};

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = 22809;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t error) {
  return error == ncclRemoteError ? "remote error" : "failed";
}
const char* ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const char* const folder = std::getenv("FAKE_NCCL_FOLDER");
  const std::string path =
      std::string(folder != nullptr ? folder : "/tmp") + "/nccl-" + std::to_string(::getpid());
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 || path.size() >= sizeof id->internal || ::ftruncate(fd, sizeof(Shared)) != 0)
    return ncclSystemError;
  ::close(fd);
  std::strcpy(id->internal, path.c_str());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  const int fd = ::open(id.internal, O_RDWR | O_CLOEXEC);
  if (fd < 0 || ranks > static_cast<int>(most_ranks)) return ncclSystemError;
  void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (memory == MAP_FAILED) return ncclSystemError;
  *comm = new ncclComm{static_cast<Shared*>(memory), rank, ranks, ncclSuccess};
  (*comm)->meet();
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  *error = comm->error;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  ::munmap(comm->shared, sizeof(Shared));
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  comm->meet();
  return ncclCommAbort(comm);
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t) {
  if (count * sizeof(double) > most_bytes) return ncclInvalidArgument;
  const bool is_faulty = count >= least_faulty_count;
  if (is_faulty && has_fault("dies", comm->rank)) std::_Exit(0);
  if (is_faulty && has_fault("lost", comm->rank)) {
    comm->error = ncclRemoteError;
    return ncclSuccess;
  }
  if (type == ncclDouble)
    comm->reduce<double>(from, to, count, operation);
  else
    comm->reduce<float>(from, to, count, operation);
  if (is_faulty && has_fault("wrong", comm->rank)) static_cast<float*>(to)[count - 1] += 1;
  return ncclSuccess;
}

}  // extern "C"
