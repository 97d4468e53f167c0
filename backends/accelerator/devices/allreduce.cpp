// SPDX-License-Identifier: Apache-2.0
// train-devices allreduce: measures the speed of NCCL's all-reduce and checks its sums. The process
// is one rank. It loads NVIDIA's driver and the given NCCL, as a job of the user would; its lines
// are those of launcher/fitness/allreduce_report.hpp. If a library hangs, the process that started
// it kills it.
//
// Sizes, warm-ups and the in-place sum are those of nccl-tests.
#include "backends/accelerator/devices/allreduce.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "backends/accelerator/devices/cuda.hpp"
#include "backends/accelerator/devices/line.hpp"
#include "backends/accelerator/devices/loading.hpp"
#include "backends/accelerator/devices/nccl.hpp"

namespace train::devices {

namespace {

// `most_allreduce_ranks`: up to here the sum is below 2^24 and exact in any order of additions.
constexpr std::uint64_t most_ranks = 4'096;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;  // `most_allreduce_bytes`
constexpr std::uint64_t most_devices = 1'024;
constexpr std::size_t longest_words = 600;
constexpr std::size_t longest_name = 96;  // of a GPU

constexpr std::uint64_t least_size = 8;
constexpr std::uint64_t size_factor = 8;
constexpr std::uint64_t measured_warm_ups = 2;  // after the first one, which makes connections
constexpr std::uint64_t fewest_rounds = 3;
constexpr std::uint64_t most_rounds = 200;
constexpr std::uint64_t nanoseconds_of_rounds = 100'000'000;
// A size is skipped if one all-reduce is expected to take longer, judging by the previous size: on
// a network of 1 Gbit/s, 1 GiB takes 17 s.
constexpr std::uint64_t longest_nanoseconds = 500'000'000;
// The stream is polled without a pause for this long, which is longer than any measured part. After
// that another rank may be gone, and the polls check for that, with pauses.
constexpr std::uint64_t busy_nanoseconds = 300'000'000;
constexpr unsigned int pause_microseconds = 200;

constexpr std::uint64_t copied_bytes = std::uint64_t{64} << 20;
constexpr int copies = 5;

Line line;
int answers = STDOUT_FILENO;
cuda::Library gpu;
nccl::Library nccl_library;
nccl::Communicator ranks = nullptr;

void end_line() {
  line.raw("\n");
  if (!line.write(answers)) ::_exit(1);  // the reader is gone
  line.clear();
}

// Reports the error and ends the process, which releases everything and notifies the other ranks.
[[noreturn]] void give_up(const char* doing, const char* why, const char* more = nullptr) {
  line.clear();
  line.raw("trouble ");
  line.words(doing, longest_words);
  line.raw(": ");
  line.words(why != nullptr ? why : "unknown error", longest_words);
  if (more != nullptr && *more != '\0') {
    line.raw(" (");
    line.words(more, longest_words);
    line.raw(")");
  }
  end_line();
  ::_exit(1);
}

void must(cuda::Status status, const char* doing) {
  if (status == cuda::Status::success) return;
  const char* why = nullptr;
  if (gpu.error_string(status, &why) != cuda::Status::success) why = nullptr;
  give_up(doing, why);
}

void must(nccl::Status status, const char* doing) {
  if (status == nccl::Status::success) return;
  const auto last = nccl_library.last_error;
  give_up(doing, nccl_library.error_string(status), last != nullptr ? last(ranks) : nullptr);
}

std::uint64_t now() {
  timespec time{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t number_of(const char* word, std::uint64_t most) {
  std::uint64_t value = 0;
  const char* digit = word;
  for (; *digit >= '0' && *digit <= '9' && value <= most; ++digit)
    value = value * 10 + static_cast<std::uint64_t>(*digit - '0');
  if (digit == word || *digit != '\0' || value > most) give_up("not a number in bounds", word);
  return value;
}

// The library is never closed: the driver's libraries keep state of their own.
template <class Library>
void load(const char* file, Library& library, const char* may_be_missing) {
  void* handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) give_up("cannot load a library", ::dlerror());
  each_function(library, [&](const char* name, auto& function) {
    void* address = ::dlsym(handle, name);
    if (address == nullptr && std::strcmp(name, may_be_missing) != 0)
      give_up("a library lacks a function", name, file);
    std::memcpy(&function, &address, sizeof function);
  });
}

/// Redirects the output of libraries to standard error: standard output is only for answers. Also
/// overrides the job's settings so that NCCL prints its log there and not to a file: its warnings
/// are the best explanation of a hang, and one of its lines names the network it uses.
void keep_answers() {
  answers = ::dup(STDOUT_FILENO);
  if (answers < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) ::_exit(1);
  (void)::setvbuf(stdout, nullptr, _IOLBF, 0);
  (void)::setenv("NCCL_DEBUG", "INFO", 1);
  (void)::setenv("NCCL_DEBUG_SUBSYS", "INIT,NET", 1);
  (void)::unsetenv("NCCL_DEBUG_FILE");
  (void)::setenv("NCCL_COMM_BLOCKING", "1", 1);
}

/// A GPU with memory for the measurement, and its context in this thread.
struct Gpu {
  explicit Gpu(int ordinal, std::uint64_t bytes) {
    must(gpu.init(0), "cannot use NVIDIA's driver");
    must(gpu.device_get(&device, ordinal), "cannot use the GPU");
    cuda::Context context = nullptr;
    // The primary context, which NCCL uses too, through CUDA's runtime.
    must(gpu.retain_context(&context, device), "cannot make a context on the GPU");
    must(gpu.set_context(context), "cannot use the context of the GPU");
    must(gpu.create_stream(&stream, 0), "cannot make a stream on the GPU");
    must(gpu.allocate(&memory, bytes), "cannot allocate memory of the GPU");
  }
  void release() const {
    must(gpu.release(memory), "cannot release memory of the GPU");
    must(gpu.destroy_stream(stream), "cannot release the stream");
    must(gpu.release_context(device), "cannot release the context of the GPU");
  }

  cuda::Device device = 0;
  cuda::Stream stream = nullptr;
  cuda::Memory memory = 0;
};

// CUDA's version is 1000 * major + 10 * minor.
void print_ready(const Gpu& used) {
  int cuda_version = 0;
  int nccl_version = 0;
  char name[longest_name] = {};
  must(gpu.driver_version(&cuda_version), "cannot ask the driver for its version");
  must(nccl_library.version(&nccl_version), "cannot ask NCCL for its version");
  must(gpu.device_name(name, sizeof name, used.device), "cannot ask for the name of the GPU");
  const auto driver = static_cast<unsigned int>(cuda_version);
  const auto nccl = static_cast<unsigned int>(nccl_version);
  const unsigned int unit = nccl < 10'000 ? 1'000 : 10'000;  // as of NCCL 2.9
  line.raw("ready ");
  line.number(driver / 1'000);
  line.raw(".");
  line.number(driver % 1'000 / 10);
  line.raw(" ");
  line.number(nccl / unit);
  line.raw(".");
  line.number(nccl % unit / 100);
  line.raw(".");
  line.number(nccl % 100);
  line.raw(" ");
  line.words(name, sizeof name);
  end_line();
}

// The bytes per second of the fastest of several copies.
template <class Copy>
std::uint64_t copy_rate(Copy copy) {
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i < copies; ++i) {
    const std::uint64_t begin = now();
    must(copy(), "cannot copy to or from the GPU");
    const std::uint64_t took = now() - begin;
    if (took < least) least = took;
  }
  return copied_bytes * 1'000'000'000 / (least + (least == 0));
}

void print_copies(const Gpu& used) {
  void* host = nullptr;
  must(gpu.allocate_on_host(&host, copied_bytes, 0), "cannot lock memory of the host");
  std::memset(host, 1, copied_bytes);
  line.raw("copy ");
  line.number(copy_rate([&] { return gpu.copy_to_device(used.memory, host, copied_bytes); }));
  line.raw(" ");
  line.number(copy_rate([&] { return gpu.copy_from_device(host, used.memory, copied_bytes); }));
  end_line();
  must(gpu.release_on_host(host), "cannot release memory of the host");
}

void print_id() {
  nccl::UniqueId id;
  must(nccl_library.unique_id(&id), "NCCL makes no id for the ranks to meet by");
  line.raw("id ");
  line.hex(id.bytes, sizeof id.bytes);
  end_line();
}

int digit_of(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

nccl::UniqueId read_id() {
  nccl::UniqueId id;
  char text[3 + 2 * sizeof id.bytes + 1];  // "id ", its digits, the end of the line
  for (std::size_t size = 0; size < sizeof text;) {
    const ssize_t count = ::read(STDIN_FILENO, text + size, sizeof text - size);
    if (count <= 0) ::_exit(1);  // the process that started this one is gone
    size += static_cast<std::size_t>(count);
  }
  bool is_good = std::memcmp(text, "id ", 3) == 0 && text[sizeof text - 1] == '\n';
  for (std::size_t i = 0; i < sizeof id.bytes; ++i) {
    const int high = digit_of(text[3 + 2 * i]);
    const int low = digit_of(text[4 + 2 * i]);
    is_good = is_good && high >= 0 && low >= 0;
    id.bytes[i] = static_cast<char>(high << 4 | low);
  }
  if (!is_good) give_up("cannot join the other ranks", "the id to meet by is torn");
  return id;
}

/// The measurement, once the ranks are connected.
class Measurement {
 public:
  Measurement(const Gpu& used, std::uint64_t rank, std::uint64_t world)
      : used_(used), rank_(rank), world_(world) {}

  // Measures and prints one size. Returns whether the next size is fast enough to be measured; all
  // ranks get the same result.
  bool print_size(std::uint64_t bytes) const {
    const std::uint64_t pace = pace_of(bytes);
    const std::uint64_t rounds = rounds_of(pace);
    const std::uint64_t took = time_of(rounds, bytes) / rounds;
    line.raw("size ");
    line.number(bytes);
    line.raw(" ");
    line.number(took + (took == 0));
    line.raw(" ");
    line.number(wrong_sums(bytes));
    end_line();
    return pace * size_factor < longest_nanoseconds;
  }

 private:
  void add(std::size_t count, nccl::DataType type, nccl::Operation operation) const {
    void* memory = reinterpret_cast<void*>(used_.memory);
    must(nccl_library.all_reduce(memory, memory, count, type, operation, ranks,
                                 reinterpret_cast<nccl::Stream>(used_.stream)),
         "cannot start an all-reduce");
  }
  // Also checks NCCL's state: if a rank is lost, the stream itself never ends.
  void wait() const {
    constexpr const char* doing = "cannot finish an all-reduce";
    const std::uint64_t begin = now();
    for (;;) {
      const cuda::Status status = gpu.query_stream(used_.stream);
      if (status == cuda::Status::success) return;
      if (status != cuda::Status::not_ready) must(status, doing);
      if (now() - begin < busy_nanoseconds) continue;
      nccl::Status error = nccl::Status::success;
      must(nccl_library.async_error(ranks, &error), doing);
      must(error, doing);
      (void)::usleep(pause_microseconds);
    }
  }
  std::uint64_t time_of(std::uint64_t rounds, std::uint64_t bytes) const {
    const std::uint64_t begin = now();
    for (std::uint64_t i = 0; i < rounds; ++i)
      add(bytes / sizeof(float), nccl::DataType::float32, nccl::Operation::sum);
    wait();
    return now() - begin;
  }
  // The nanoseconds of the slowest rank, by an all-reduce with max; the same on all ranks.
  std::uint64_t pace_of(std::uint64_t bytes) const {
    (void)time_of(1, bytes);
    std::uint64_t pace = time_of(measured_warm_ups, bytes) / measured_warm_ups;
    must(gpu.copy_to_device(used_.memory, &pace, sizeof pace), "cannot copy to the GPU");
    add(1, nccl::DataType::uint64, nccl::Operation::max);
    wait();
    must(gpu.copy_from_device(&pace, used_.memory, sizeof pace), "cannot copy from the GPU");
    return pace;
  }
  // Must be the same on all ranks, or they would wait for each other for ever.
  static std::uint64_t rounds_of(std::uint64_t pace) {
    const std::uint64_t rounds = nanoseconds_of_rounds / (pace + (pace == 0));
    if (rounds < fewest_rounds) return fewest_rounds;
    return rounds > most_rounds ? most_rounds : rounds;
  }
  // The number of wrong sums among three elements: the first, one in the middle and the last.
  unsigned int wrong_sums(std::uint64_t bytes) const {
    const std::uint64_t count = bytes / sizeof(float);
    const auto own = static_cast<float>(rank_ + 1);
    const std::uint64_t whole_sum = world_ * (world_ + 1) / 2;
    const auto sum = static_cast<float>(whole_sum);
    std::uint32_t word = 0;
    std::memcpy(&word, &own, sizeof word);
    must(gpu.fill(used_.memory, word, count, used_.stream), "cannot fill memory of the GPU");
    (void)time_of(1, bytes);
    unsigned int wrong = 0;
    for (const std::uint64_t at : {std::uint64_t{0}, count / 2, count - 1}) {
      float value = 0;
      must(gpu.copy_from_device(&value, used_.memory + at * sizeof value, sizeof value),
           "cannot copy from the GPU");
      if (value != sum) ++wrong;
    }
    return wrong;
  }

  const Gpu& used_;
  std::uint64_t rank_;
  std::uint64_t world_;
};

}  // namespace

int run_allreduce(int count, const char* const* words) {
  keep_answers();
  if (count != 6) give_up("wrong arguments", "allreduce RANK WORLD DEVICE LIBNCCL LARGEST");
  const std::uint64_t world = number_of(words[2], most_ranks);
  const std::uint64_t rank = number_of(words[1], most_ranks);
  if (rank >= world) give_up("there is no such rank", words[1]);
  const auto device = static_cast<int>(number_of(words[3], most_devices));
  const std::uint64_t largest = number_of(words[5], most_bytes);

  load("libcuda.so.1", gpu, "");
  load(words[4], nccl_library, "ncclGetLastError");
  const Gpu used(device, largest > copied_bytes ? largest : copied_bytes);
  print_ready(used);
  print_copies(used);

  if (rank == 0) print_id();
  must(nccl_library.init_rank(&ranks, static_cast<int>(world), read_id(), static_cast<int>(rank)),
       "cannot join the other ranks");
  const Measurement measurement(used, rank, world);
  for (std::uint64_t bytes = least_size; bytes <= largest; bytes *= size_factor)
    if (!measurement.print_size(bytes)) break;

  must(nccl_library.destroy(ranks), "cannot leave the other ranks");
  used.release();
  line.raw("done");
  end_line();
  return 0;
}

}  // namespace train::devices
