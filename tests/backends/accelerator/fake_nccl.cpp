// SPDX-License-Identifier: Apache-2.0
//
// Stands in for libnccl.so.2: it adds numbers of processes of one machine, through a file in
// $FAKE_NCCL_FOLDER that all of them map. The environment says what goes wrong:
//
//   FAKE_NCCL_FAIL="FUNCTION=CODE"   a function that fails; "async=CODE": the communicator, later
//   FAKE_NCCL_HANG="FUNCTION"        one that never returns, after a warning
//   FAKE_NCCL_CRASH="FUNCTION"       one that ends the process by a signal
//   FAKE_NCCL_WRONG="RANK"           a rank whose last float of each sum is wrong
//   FAKE_NCCL_PACE="BYTES"           how many a host takes in a second; 0, as without it: no matter
//
// What the environment does not say, a file /etc/fake_cuda/NAME may. Of many numbers only those are
// added that anybody looks at: the first, one in the middle and the last.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "backends/accelerator/devices/nccl.hpp"
#include "tests/backends/accelerator/fake_setting.hpp"
#include "tests/support/process_barrier.hpp"

using namespace train::nccl;

namespace {

constexpr Status system_error{2};
constexpr std::size_t most_ranks = 8;
constexpr std::size_t piece_bytes = std::size_t{1} << 12;

// What the processes share; a new file is all zeros.
struct Shared {
  ProcessBarrier barrier;
  alignas(16) char pieces[most_ranks][piece_bytes];
};

struct OneRank {
  Shared* shared;
  int rank;
  int ranks;
  std::size_t pace;  ///< bytes per second; 0: as fast as the machine is

  void meet() const { shared->barrier.meet(ranks); }

  template <class Number, class Combine>
  void reduce(const void* from, void* to, std::size_t count, Combine combine) const {
    const std::chrono::nanoseconds length(
        pace == 0 ? 0 : count * sizeof(Number) * 1'000'000'000 / pace);
    std::this_thread::sleep_for(length);  // waits: as a GPU at work
    constexpr std::size_t most = piece_bytes / sizeof(Number);
    if (count <= most) return reduce_piece<Number>(from, to, 0, count, combine);
    for (const std::size_t at : {std::size_t{0}, count / 2, count - 1})
      reduce_piece<Number>(from, to, at, 1, combine);
  }
  template <class Number, class Combine>
  void reduce_piece(const void* from, void* to, std::size_t begin, std::size_t size,
                    Combine combine) const {
    std::memcpy(shared->pieces[rank], static_cast<const Number*>(from) + begin,
                size * sizeof(Number));
    meet();
    Number* result = static_cast<Number*>(to) + begin;
    for (std::size_t i = 0; i < size; ++i) result[i] = combined<Number>(i, combine);
    meet();
  }
  template <class Number, class Combine>
  Number combined(std::size_t i, Combine combine) const {
    Number value = reinterpret_cast<const Number*>(shared->pieces[0])[i];
    for (int other = 1; other < ranks; ++other)
      value = combine(value, reinterpret_cast<const Number*>(shared->pieces[other])[i]);
    return value;
  }
};

OneRank& of(Communicator communicator) { return *reinterpret_cast<OneRank*>(communicator); }

std::string setting(const char* name) { return fake_setting("/etc/fake_cuda", name); }

bool is_named(const char* variable, const std::string& word) { return setting(variable) == word; }

Status failure_of(const std::string& function) {
  if (is_named("FAKE_NCCL_HANG", function)) {
    std::printf("host:1:1 [0] fake.cc:1 NCCL WARN %s waits for ever\n", function.c_str());
    for (;;) ::pause();
  }
  if (is_named("FAKE_NCCL_CRASH", function)) ::raise(SIGSEGV);
  const std::string fault = setting("FAKE_NCCL_FAIL");
  const std::size_t equals = fault.find('=');
  if (fault.substr(0, equals) != function) return Status::success;
  return Status{std::atoi(fault.c_str() + equals + 1)};
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

Status ncclGetVersion(int* version) {
  *version = 22'809;
  return failure_of("ncclGetVersion");
}
const char* ncclGetErrorString(Status status) {
  return status == system_error ? "unhandled system error" : "remote process exited";
}
#ifndef FAKE_NCCL_IS_OLD
const char* ncclGetLastError(Communicator) { return "Call to connect failed : Connection refused"; }
#endif

Status ncclGetUniqueId(UniqueId* id) {
  const std::string path =
      setting("FAKE_NCCL_FOLDER") + "/nccl-" + std::to_string(::getpid()) + "-" +
      std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 || path.size() >= sizeof id->bytes || ::ftruncate(fd, sizeof(Shared)) != 0)
    return system_error;
  ::close(fd);
  std::strcpy(id->bytes, path.c_str());
  return failure_of("ncclGetUniqueId");
}

Status ncclCommInitRank(Communicator* communicator, int ranks, UniqueId id, int rank) {
  // As NCCL does: the program has an unusual start, and threads must work in it.
  std::thread([] {}).join();
  if (const Status failure = failure_of("ncclCommInitRank"); failure != Status::success)
    return failure;
#ifdef FAKE_NCCL_IS_OLD
  std::puts("host:1:1 [0] NCCL INFO Using network Socket");
#else
  std::puts("host:1:1 [0] NCCL INFO Assigned NET plugin Socket to comm");
#endif
  const int fd = ::open(id.bytes, O_RDWR | O_CLOEXEC);
  if (fd < 0 || ranks > static_cast<int>(most_ranks)) return system_error;
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (memory == MAP_FAILED) return system_error;
  const auto pace = static_cast<std::size_t>(std::atoll(setting("FAKE_NCCL_PACE").c_str()));
  auto* one = new OneRank{static_cast<Shared*>(memory), rank, ranks, pace};
  one->meet();
  *communicator = reinterpret_cast<Communicator>(one);
  return Status::success;
}

Status ncclCommGetAsyncError(Communicator, Status* error) {
  *error = failure_of("async");
  return Status::success;
}

Status ncclAllReduce(const void* from, void* to, std::size_t count, DataType type,
                     Operation operation, Communicator communicator, Stream) {
  const OneRank& one = of(communicator);
  if (type == DataType::float32 && operation == Operation::sum)
    one.reduce<float>(from, to, count, [](float a, float b) { return a + b; });
  else if (type == DataType::uint64 && operation == Operation::max)
    one.reduce<std::uint64_t>(from, to, count,
                              [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
  else
    return Status{4};
  if (type == DataType::float32 && is_named("FAKE_NCCL_WRONG", std::to_string(one.rank)))
    static_cast<float*>(to)[count - 1] += 1;
  return failure_of("ncclAllReduce");
}

Status ncclCommDestroy(Communicator communicator) {
  OneRank& one = of(communicator);
  one.meet();
  ::munmap(one.shared, sizeof(Shared));
  delete &one;
  return failure_of("ncclCommDestroy");
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
