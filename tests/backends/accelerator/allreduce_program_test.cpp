// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/allreduce_program.hpp"

#include <map>

#include "backends/posix/child.hpp"
#include "backends/posix/files.hpp"
#include "tests/catch.hpp"
#include "tests/contains.hpp"
#include "tests/support/waiting.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

// Far beyond what a busy machine takes.
constexpr milliseconds ample = 600s;
constexpr std::uint64_t largest = 32'768;

const std::string& program_bytes() {
  static const std::string bytes = read_small_file(TRAIN_DEVICES_PROGRAM, std::size_t{1} << 20);
  REQUIRE_FALSE(bytes.empty());
  return bytes;
}

using Pretended = std::map<std::string, std::string>;

// A host with GPUs and an NCCL that pretend this.
class GpuHost {
 public:
  explicit GpuHost(Pretended pretended = {}) : pretended_(std::move(pretended)) {
    pretended_.try_emplace("LD_LIBRARY_PATH", FAKE_CUDA_FOLDER);
    pretended_["FAKE_NCCL_FOLDER"] = folder_.path();
  }

  Result<AllReduceProcess> start(int rank = 0, int world = 1, milliseconds limit = ample,
                                 const std::string& library = FAKE_NCCL_LIBRARY) const {
    AllReduceCall call{.rank = rank, .world = world, .device = rank, .library = library};
    call.largest = largest;
    for (const auto& [name, value] : pretended_) call.environment.push_back(name + "=" + value);
    return start_allreduce({program_bytes()}, call, limit);
  }
  // One that has to start.
  AllReduceProcess started(int rank = 0, int world = 1,
                           const std::string& library = FAKE_NCCL_LIBRARY) const {
    auto process = start(rank, world, ample, library);
    INFO((process ? "" : render(process.error())));
    REQUIRE(process);
    return std::move(*process);
  }
  // What all ranks have found.
  std::vector<Result<AllReduceFacts>> measure(
      int world, const std::string& library = FAKE_NCCL_LIBRARY) const {
    std::vector<AllReduceProcess> ranks;
    for (int rank = 0; rank < world; ++rank) ranks.push_back(started(rank, world, library));
    const auto id = ranks[0].id(ample);
    REQUIRE(id);
    for (AllReduceProcess& rank : ranks) REQUIRE(rank.give_id(*id));
    std::vector<Result<AllReduceFacts>> found;
    for (AllReduceProcess& rank : ranks) found.push_back(rank.finish(ample));
    return found;
  }
  // Why a rank on its own does not come to its end.
  std::string trouble(milliseconds limit = ample) const {
    auto process = start();
    if (!process) return words(process.error());
    const auto id = process->id(ample);
    if (!id) return words(id.error());
    const auto given = process->give_id(*id);
    if (!given) return words(given.error());
    const auto facts = process->finish(limit);
    REQUIRE_FALSE(facts);
    return words(facts.error());
  }
  static std::string words(const Error& error) {
    CHECK(error.error_class == ErrorClass::host);
    return error.diagnostics.front().message;
  }

 private:
  Pretended pretended_;
  TemporaryDirectory folder_;
};

// None that still runs.
bool no_child_runs() { return !has_child() || ended_child() > 0; }

}  // namespace

TEST_CASE("ranks of one, two and four processes add right, and say how fast") {
  const int world = GENERATE(1, 2, 4);
  const GpuHost host;
  std::vector<AllReduceReport> parts;
  int number = 0;
  for (const auto& facts : host.measure(world)) {
    INFO((facts ? "" : render(facts.error())));
    REQUIRE(facts);
    CHECK(facts->cuda == "12.2");
    CHECK(facts->nccl == "2.28.9");
    CHECK(facts->network == "Socket");
    CHECK(facts->gpu == "NVIDIA H100 number " + std::to_string(number));
    CHECK(facts->to_device > 0);
    CHECK(facts->from_device > 0);
    // On a machine that is slow enough larger ones are left out.
    REQUIRE_FALSE(facts->times.empty());
    for (const AllReduceTime& time : facts->times) {
      CHECK(time.time > 0ns);
      CHECK(time.wrong == 0);
    }
    parts.push_back(report_of_rank(number++, world, *facts));
  }
  const auto report = report_of_all(parts);
  REQUIRE(report);
  const AllReduceTime last = report->times.back();
  CHECK(last.bytes == allreduce_sizes(largest)[report->times.size() - 1]);
  CHECK((bus_bandwidth(last.bytes, last.time, world) > 0) == (world > 1));
  CHECK_FALSE(has_child());
}

TEST_CASE("a rank whose sums are wrong says how many") {
  const GpuHost host(Pretended{{"FAKE_NCCL_WRONG", "1"}});
  const auto found = host.measure(2);
  REQUIRE((found[0] && found[1]));
  for (const AllReduceTime& time : found[0]->times) CHECK(time.wrong == 0);
  // Of two floats the last is the one in the middle as well.
  CHECK(found[1]->times.front().wrong == 2);
  for (std::size_t i = 1; i < found[1]->times.size(); ++i) CHECK(found[1]->times[i].wrong == 1);
}

TEST_CASE("a host without a driver, an NCCL or one of its functions says so before ranks meet") {
  const auto without_driver = GpuHost(Pretended{{"LD_LIBRARY_PATH", "/nowhere"}}).start();
  REQUIRE_FALSE(without_driver);
  CHECK(contains(GpuHost::words(without_driver.error()), "cannot load a library: libcuda.so.1"));
  const GpuHost host;
  const auto without_nccl = host.start(0, 1, ample, "/nowhere/libnccl.so.2");
  REQUIRE_FALSE(without_nccl);
  CHECK(contains(GpuHost::words(without_nccl.error()), "/nowhere/libnccl.so.2"));
  const auto without_function = host.start(0, 1, ample, "libcuda.so.1");
  REQUIRE_FALSE(without_function);
  CHECK(GpuHost::words(without_function.error()) ==
        "a library lacks a function: ncclGetVersion (libcuda.so.1)");
}

TEST_CASE("an error of the driver is told in its words, where it has any") {
  CHECK(GpuHost(Pretended{{"FAKE_CUDA_FAIL", "cuInit=100"}}).trouble() ==
        "cannot use NVIDIA's driver: no CUDA-capable device is detected");
  CHECK(GpuHost(Pretended{{"FAKE_CUDA_FAIL", "cuMemAlloc_v2=2"}}).trouble() ==
        "cannot allocate memory of the GPU: unknown error");
}

TEST_CASE("an error of NCCL is told in its words, with what it has printed last") {
  CHECK(GpuHost(Pretended{{"FAKE_NCCL_FAIL", "ncclCommInitRank=2"}}).trouble() ==
        "cannot join the other ranks: unhandled system error (Call to connect failed : Connection "
        "refused)");
  CHECK(contains(GpuHost(Pretended{{"FAKE_NCCL_FAIL", "ncclAllReduce=6"}}).trouble(),
                 "cannot start an all-reduce: remote process exited"));
}

TEST_CASE("a rank that waits for one that has gone ends with what NCCL knows of that") {
  CHECK(contains(
      GpuHost(Pretended{{"FAKE_CUDA_FAIL", "cuStreamQuery=600"}, {"FAKE_NCCL_FAIL", "async=6"}})
          .trouble(),
      "cannot finish an all-reduce: remote process exited"));
}

TEST_CASE("an NCCL that does not know its last error is used all the same") {
  const GpuHost host(Pretended{{"FAKE_NCCL_FAIL", "ncclGetUniqueId=2"}});
  auto old = host.start(0, 1, ample, FAKE_OLD_NCCL_LIBRARY);
  REQUIRE(old);
  const auto id = old->id(ample);
  REQUIRE_FALSE(id);
  CHECK(GpuHost::words(id.error()) ==
        "NCCL makes no id for the ranks to meet by: unhandled system error");
}

TEST_CASE("an old NCCL tells of its network in other words") {
  const auto found = GpuHost().measure(1, FAKE_OLD_NCCL_LIBRARY);
  REQUIRE(found[0]);
  CHECK(found[0]->network == "Socket");
}

TEST_CASE("an NCCL that hangs is ended at the limit, and its warning is told") {
  const GpuHost host(Pretended{{"FAKE_NCCL_HANG", "ncclCommInitRank"}});
  // What it prints may come after a limit that is short, and then it is not told.
  CHECK(host.trouble(300ms).starts_with("NCCL got no further within 300 ms"));
  CHECK(eventually(no_child_runs));
}

TEST_CASE("what NCCL has printed until the limit is told, and not taken for an answer") {
  const GpuHost host(Pretended{{"FAKE_NCCL_HANG", "ncclGetUniqueId"}});
  std::string told;
  // The warning comes some time after the start: the limit is drawn out until it has.
  for (milliseconds limit = 100ms; told.empty() && limit < ample; limit *= 2) {
    auto again = host.started();
    const auto id = again.id(limit);
    REQUIRE_FALSE(id);
    const std::string words = GpuHost::words(id.error());
    CHECK(words.starts_with("NCCL has made no id for the ranks to meet by within"));
    if (contains(words, "NCCL WARN ncclGetUniqueId waits for ever")) told = words;
  }
  CHECK_FALSE(told.empty());
}

TEST_CASE("a rank whose others never come is ended with whoever holds it") {
  const GpuHost host;
  {
    auto alone = host.started(0, 2);
    const auto id = alone.id(ample);
    REQUIRE(id);
    REQUIRE(alone.give_id(*id));
  }
  CHECK(eventually(no_child_runs));
}

TEST_CASE("a library that crashes is told of with the signal") {
  CHECK(contains(GpuHost(Pretended{{"FAKE_NCCL_CRASH", "ncclCommInitRank"}}).trouble(),
                 "it was ended by signal 11"));
}

TEST_CASE("what a library prints on standard output is no answer") {
  const GpuHost host(Pretended{{"FAKE_CUDA_PRINTS", "trouble of somebody else"}});
  const auto found = host.measure(1);
  CHECK(found[0]);
}

TEST_CASE("an id that is none reaches no rank") {
  const GpuHost host;
  auto process = host.started();
  CHECK_FALSE(process.give_id(std::string(255, 'a')));
  CHECK_FALSE(process.give_id(std::string(255, 'a') + "\n"));
  CHECK(process.give_id(std::string(256, 'a')));
}

TEST_CASE("a rank that is none of the world is refused") {
  const auto process = GpuHost().start(2, 2);
  REQUIRE_FALSE(process);
  CHECK(GpuHost::words(process.error()) == "there is no such rank: 2");
}
