// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/cpu_binding.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "tests/catch.hpp"
#include "tests/launcher/agent/agent_bench.hpp"

using namespace train;
using namespace train::testing;

namespace {

using Numbers = std::vector<int>;
using Sets = std::vector<Numbers>;

// CPUs count through the cores of all nodes first, then through their siblings, as Linux on x86.
CpuTopology machine(int nodes, int cores, int siblings, int nodes_of_socket = 1) {
  CpuTopology topology;
  for (int sibling = 0; sibling < siblings; ++sibling)
    for (int core = 0; core < nodes * cores; ++core)
      topology.cpus.push_back(
          {sibling * nodes * cores + core, core, core / cores / nodes_of_socket, core / cores});
  return topology;
}

Sets sets_of(const CpuShares& shares) {
  Sets sets;
  for (const CpuShare& share : shares.ranks) sets.push_back(share.cpus);
  return sets;
}

Numbers threads_of(const CpuShares& shares) {
  Numbers threads;
  for (const CpuShare& share : shares.ranks) threads.push_back(share.threads);
  return threads;
}

CpuShares bound(CpuBinding mode, const CpuTopology& topology, const Sets& nodes,
                bool has_whole_host = false) {
  return share_cpus(topology, {nodes}, {mode, has_whole_host});
}

// On a host with slots of these nodes, which the trial shares.
CpuShares exclusive_of(const CpuTopology& topology, const Sets& nodes_of_slots, const Sets& slots) {
  RanksOnHost ranks{{}, nodes_of_slots, slots};
  for (const Numbers& of_rank : slots) {
    ranks.nodes.emplace_back();
    for (const int slot : of_rank)
      for (const int node : nodes_of_slots[static_cast<std::size_t>(slot)])
        ranks.nodes.back().push_back(node);
  }
  return share_cpus(topology, ranks, {CpuBinding::exclusive});
}

Sets without_devices(std::size_t ranks) { return Sets(ranks); }

}  // namespace

TEST_CASE("ranks run on the cores near their devices") {
  const CpuTopology topology = machine(2, 4, 2);
  const Sets nodes = {{0}, {0}, {1}, {1}};
  const Numbers first = {0, 1, 2, 3, 8, 9, 10, 11};
  const Numbers second = {4, 5, 6, 7, 12, 13, 14, 15};
  const CpuShares by_node = bound(CpuBinding::node, topology, nodes);
  CHECK(sets_of(by_node) == Sets{first, first, second, second});
  CHECK(threads_of(by_node) == Numbers{2, 2, 2, 2});
  const CpuShares own = bound(CpuBinding::exclusive, topology, nodes);
  CHECK(sets_of(own) == Sets{{0, 1, 8, 9}, {2, 3, 10, 11}, {4, 5, 12, 13}, {6, 7, 14, 15}});
  CHECK(threads_of(own) == Numbers{2, 2, 2, 2});
  CHECK_FALSE(own.has_too_few_cores);
}

TEST_CASE("a rank with devices of several nodes has the cores of all of them") {
  const CpuTopology topology = machine(2, 2, 1);
  CHECK(sets_of(bound(CpuBinding::node, topology, {{0, 1}, {1}})) == Sets{{0, 1, 2, 3}, {2, 3}});
  CHECK(sets_of(bound(CpuBinding::exclusive, topology, {{0, 1}, {1}})) == Sets{{0, 1, 2}, {3}});
}

TEST_CASE("a socket may have several nodes") {
  const CpuTopology topology = machine(4, 1, 1, 2);
  CHECK(sets_of(bound(CpuBinding::node, topology, {{1}, {2}})) == Sets{{1}, {2}});
  CHECK(sets_of(bound(CpuBinding::socket, topology, {{1}, {2}})) == Sets{{0, 1}, {2, 3}});
}

TEST_CASE("ranks without devices are dealt over the nodes") {
  const CpuTopology topology = machine(2, 2, 1);
  CHECK(sets_of(bound(CpuBinding::node, topology, without_devices(4))) ==
        Sets{{0, 1}, {0, 1}, {2, 3}, {2, 3}});
  CHECK(sets_of(bound(CpuBinding::exclusive, topology, without_devices(4))) ==
        Sets{{0}, {1}, {2}, {3}});
  CHECK(sets_of(bound(CpuBinding::node, topology, without_devices(1))) == Sets{{0, 1, 2, 3}});
  CHECK(sets_of(bound(CpuBinding::exclusive, machine(4, 1, 1), without_devices(2))) ==
        Sets{{0, 1}, {2, 3}});
}

TEST_CASE("a node of which the session may use nothing counts as unknown") {
  const CpuTopology topology = machine(2, 2, 1);
  CHECK(bound(CpuBinding::node, topology, {{7}, {7}}).ranks[1].cpus == Numbers{2, 3});
  CHECK(sets_of(bound(CpuBinding::node, machine(1, 2, 1), {{7}})) == Sets{{0, 1}});
}

TEST_CASE("ranks that would get less than one core share those of their nodes") {
  const CpuShares shares = bound(CpuBinding::exclusive, machine(1, 2, 2), without_devices(3));
  CHECK(shares.has_too_few_cores);
  CHECK(sets_of(shares) == Sets(3, {0, 1, 2, 3}));
  CHECK(threads_of(shares) == Numbers{1, 1, 1});
}

TEST_CASE("trials that share a host have cores of their own, those of their slots") {
  const CpuTopology topology = machine(2, 4, 2);
  const Sets gpus = {{0}, {0}, {1}, {1}};
  CHECK(sets_of(exclusive_of(topology, gpus, {{0}})) == Sets{{0, 1, 8, 9}});
  CHECK(sets_of(exclusive_of(topology, gpus, {{1}, {2}})) == Sets{{2, 3, 10, 11}, {4, 5, 12, 13}});
  const CpuShares of_two = exclusive_of(topology, gpus, {{2, 3}});
  CHECK(sets_of(of_two) == Sets{{4, 5, 6, 7, 12, 13, 14, 15}});
  CHECK(threads_of(of_two) == Numbers{4});
  // Places are dealt over the nodes; ranks of one slot divide its cores.
  CHECK(sets_of(exclusive_of(topology, without_devices(2), {{0}, {0}})) ==
        Sets{{0, 1, 8, 9}, {2, 3, 10, 11}});
  CHECK(sets_of(exclusive_of(topology, without_devices(2), {{1}})) ==
        Sets{{4, 5, 6, 7, 12, 13, 14, 15}});
}

TEST_CASE("where a host has more slots than cores, a trial shares them with others") {
  const CpuShares shares = exclusive_of(machine(1, 2, 1), without_devices(4), {{0}});
  CHECK(shares.has_too_few_cores);
  CHECK(sets_of(shares) == Sets{{0, 1}});
}

TEST_CASE("auto binds where there is something to gain, and leaves no core idle") {
  using enum CpuBinding;
  const Sets unbound(2);
  CHECK(sets_of(bound(automatic, machine(1, 8, 1), {{0}, {0}}, true)) == unbound);
  CHECK(sets_of(bound(automatic, machine(2, 2, 1), {{0}, {1}}, true)) == Sets{{0, 1}, {2, 3}});
  CHECK(sets_of(bound(automatic, machine(2, 2, 1), {{0}, {0}}, true)) == unbound);
  CHECK(sets_of(bound(automatic, machine(4, 1, 1, 2), {{0}, {3}}, true)) == Sets{{0, 1}, {2, 3}});
  CHECK(sets_of(bound(automatic, machine(2, 2, 1), {{0}, {0}})) == Sets{{0, 1}, {0, 1}});
  // More ranks than cores.
  CHECK(sets_of(bound(automatic, machine(2, 1, 1), without_devices(3), true)) == Sets(3));
}

TEST_CASE("ranks that are not bound compute with one thread where there are several") {
  CHECK(threads_of(bound(CpuBinding::automatic, machine(1, 4, 1), without_devices(2))) ==
        Numbers{1, 1});
  CHECK(threads_of(bound(CpuBinding::automatic, machine(1, 4, 1), without_devices(1))) ==
        Numbers{0});
  CHECK(sets_of(bound(CpuBinding::node, {}, without_devices(2))) == Sets(2));
  CHECK(sets_of(bound(CpuBinding::none, machine(2, 2, 1), without_devices(2))) == Sets(2));
  CHECK(bound(CpuBinding::exclusive, machine(2, 2, 1), {}).ranks.empty());
}

namespace {

// One with gaps, cores of different sizes, nodes without CPUs and numbers in no order.
CpuTopology any_machine(std::mt19937& random) {
  const auto up_to = [&](int most) { return static_cast<int>(random() % (most + 1)); };
  const int nodes = 1 + up_to(7);
  const int nodes_of_socket = 1 + up_to(2);
  const bool is_hybrid = up_to(3) == 0;
  const int siblings = 1 << up_to(2);
  const int allowed_percent = 20 + up_to(80);
  std::vector<Cpu> all;
  int core = 0;
  for (int node = 0; node < nodes; ++node)
    for (int cores = up_to(6); cores > 0; --cores, ++core)
      for (int each = is_hybrid && up_to(1) == 0 ? 1 : siblings; each > 0; --each)
        all.push_back({0, core, node / nodes_of_socket, node});
  Numbers numbers(all.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  std::shuffle(numbers.begin(), numbers.end(), random);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].number = numbers[i];
  CpuTopology topology;
  for (const Cpu& cpu : all)
    if (up_to(99) < allowed_percent) topology.cpus.push_back(cpu);
  return topology;
}

std::set<int> cores_in(const CpuTopology& topology, const Numbers& cpus) {
  std::set<int> cores;
  for (const Cpu& cpu : topology.cpus)
    if (std::count(cpus.begin(), cpus.end(), cpu.number) > 0) cores.insert(cpu.core);
  return cores;
}

// What holds of each share, whatever the mode.
void check_share(const CpuTopology& topology, const CpuShare& share) {
  CHECK(std::is_sorted(share.cpus.begin(), share.cpus.end()));
  CHECK(std::adjacent_find(share.cpus.begin(), share.cpus.end()) == share.cpus.end());
  Numbers whole;  // the CPUs of its cores
  const std::set<int> cores = cores_in(topology, share.cpus);
  for (const Cpu& cpu : topology.cpus)
    if (cores.contains(cpu.core)) whole.push_back(cpu.number);
  std::sort(whole.begin(), whole.end());
  CHECK(share.cpus == whole);
  if (!share.cpus.empty()) {
    CHECK(share.threads >= 1);
    CHECK(share.threads <= static_cast<int>(cores.size()));
  }
}

void check_own(const CpuTopology& topology, const CpuShares& shares) {
  std::set<int> given;
  for (const CpuShare& share : shares.ranks) {
    CHECK_FALSE(share.cpus.empty());
    CHECK(share.threads == static_cast<int>(cores_in(topology, share.cpus).size()));
    for (const int cpu : share.cpus) CHECK(given.insert(cpu).second);
  }
}

// A known node of a rank's devices is where it is.
void check_home(const CpuTopology& topology, const CpuShare& share, const Numbers& nodes,
                int Cpu::*area) {
  std::set<int> allowed;
  for (const Cpu& cpu : topology.cpus)
    if (std::count(nodes.begin(), nodes.end(), cpu.node) > 0) allowed.insert(cpu.*area);
  if (allowed.empty()) return;
  for (const Cpu& cpu : topology.cpus)
    if (std::count(share.cpus.begin(), share.cpus.end(), cpu.number) > 0)
      CHECK(allowed.contains(cpu.*area));
}

}  // namespace

TEST_CASE(
    "cores are never split, nothing is given that is not allowed, and what is own is disjoint") {
  std::mt19937 random(20'261'128);
  std::map<std::string, int> seen;
  for (int round = 0; round < 600; ++round) {
    const CpuTopology topology = any_machine(random);
    Sets nodes(1 + random() % 12);
    for (Numbers& of_rank : nodes)
      for (std::size_t count = random() % 3; count > 0; --count)
        of_rank.push_back(static_cast<int>(random() % 9));
    for (const CpuBinding mode :
         {CpuBinding::automatic, CpuBinding::node, CpuBinding::socket, CpuBinding::exclusive}) {
      INFO("round " << round << ", mode " << static_cast<int>(mode));
      const bool has_whole_host = round % 2 == 0;
      const CpuShares shares = bound(mode, topology, nodes, has_whole_host);
      REQUIRE(shares.ranks.size() == nodes.size());
      for (const CpuShare& share : shares.ranks) check_share(topology, share);
      const bool is_bound = !shares.ranks.front().cpus.empty();
      for (const CpuShare& share : shares.ranks) CHECK(!share.cpus.empty() == is_bound);
      if (mode != CpuBinding::automatic) CHECK(is_bound == !topology.cpus.empty());
      int Cpu::*const area = mode == CpuBinding::socket ? &Cpu::package : &Cpu::node;
      if (mode != CpuBinding::automatic)
        for (std::size_t rank = 0; rank < nodes.size(); ++rank)
          check_home(topology, shares.ranks[rank], nodes[rank], area);
      const bool are_own = mode == CpuBinding::exclusive
                               ? is_bound && !shares.has_too_few_cores
                               : mode == CpuBinding::automatic && is_bound && has_whole_host;
      if (are_own) check_own(topology, shares);
      if (shares.has_too_few_cores) {
        CHECK(mode == CpuBinding::exclusive);
        CHECK(sets_of(shares) == sets_of(bound(CpuBinding::node, topology, nodes)));
      }
      std::size_t given = 0;
      for (const CpuShare& share : shares.ranks) given += share.cpus.size();
      if (mode == CpuBinding::automatic && are_own) CHECK(given == topology.cpus.size());
      ++seen[std::to_string(static_cast<int>(mode)) + (are_own    ? " own"
                                                       : is_bound ? " shared"
                                                                  : "")];
    }
  }
  // The rounds have met all that there is.
  for (const char* kind : {"1", "1 own", "1 shared", "2 shared", "3 shared", "4 own", "4 shared"})
    CHECK(seen[kind] > 20);
}

TEST_CASE("two trials on any host never have a core in common") {
  std::mt19937 random(20'261'129);
  int apart = 0;
  for (int round = 0; round < 600; ++round) {
    INFO("round " << round);
    const CpuTopology topology = any_machine(random);
    Sets slots(2 + random() % 7);
    for (Numbers& nodes : slots)
      if (round % 3 != 0) nodes.push_back(static_cast<int>(random() % 9));
    std::vector<Sets> trials(2);
    for (std::size_t slot = 0; slot < slots.size(); ++slot)
      trials[slot == 0 ? 0 : slot == 1 ? 1 : random() % 2].push_back({static_cast<int>(slot)});
    std::set<int> given;
    bool has_cores = true;
    for (const Sets& trial : trials) {
      const CpuShares shares = exclusive_of(topology, slots, trial);
      has_cores = has_cores && !topology.cpus.empty() && !shares.has_too_few_cores;
      for (const CpuShare& share : shares.ranks) check_share(topology, share);
      if (!has_cores) break;
      check_own(topology, shares);
      for (const CpuShare& share : shares.ranks)
        for (const int cpu : share.cpus) CHECK(given.insert(cpu).second);
    }
    apart += has_cores ? 1 : 0;
  }
  CHECK(apart > 100);
}

TEST_CASE("the nodes of a rank's devices are read from its environment") {
  const auto nodes_of_devices = [](const std::vector<EnvironmentEntry>& environment,
                                   const CpuTopology& topology) {
    return ranks_on_host({environment}, topology, {}).nodes.front();
  };
  CpuTopology topology;
  topology.cuda_nodes = {0, 0, 1, -1};
  topology.rocm_nodes = {5, 6};
  const auto nodes = [&](const char* list, const char* visible, const char* positions) {
    return nodes_of_devices({{list, visible}, {"TRAIN_DEVICE_INDICES", positions}}, topology);
  };
  CHECK(nodes("CUDA_VISIBLE_DEVICES", "0,1,2,3", "2") == Numbers{1});
  CHECK(nodes("CUDA_VISIBLE_DEVICES", "2,1", "0,1") == Numbers{0, 1});
  CHECK(nodes("CUDA_VISIBLE_DEVICES", "3", "0").empty());
  CHECK(nodes("ROCR_VISIBLE_DEVICES", "1", "0") == Numbers{6});
  CHECK(nodes("ONEAPI_DEVICE_SELECTOR", "level_zero:0", "0").empty());
  CHECK(nodes("CUDA_VISIBLE_DEVICES", "0,9", "1,7,-1,x").empty());
  CHECK(nodes("CUDA_VISIBLE_DEVICES", "GPU-1", "0").empty());
  CHECK(nodes_of_devices({{"CUDA_VISIBLE_DEVICES", "0"}}, topology).empty());
}

TEST_CASE("the slots of a host are its GPUs where ranks have some, else its places") {
  CpuTopology topology;
  topology.cuda_nodes = {0, -1, 1};
  const auto with = [](const char* visible, const char* positions) {
    return std::vector<EnvironmentEntry>{{"CUDA_VISIBLE_DEVICES", visible},
                                         {"TRAIN_DEVICE_INDICES", positions}};
  };
  const CpuBindingRule rule{CpuBinding::exclusive, false, 4, {{3}, {1}}};
  const RanksOnHost gpus = ranks_on_host({with("1,2", "1"), with("1,2", "0")}, topology, rule);
  CHECK(gpus.nodes_of_slots == Sets{{0}, {}, {1}});
  CHECK(gpus.slots == Sets{{2}, {1}});
  CHECK(gpus.nodes == Sets{{1}, {}});
  const RanksOnHost places = ranks_on_host({with("", ""), with("", "")}, topology, rule);
  CHECK(places.nodes_of_slots == Sets(4));
  CHECK(places.slots == Sets{{3}, {1}});
  CHECK(ranks_on_host({with("", "")}, topology, {CpuBinding::exclusive}).nodes_of_slots.empty());
}

namespace {

message::Prepare two_ranks(CpuBinding mode) {
  message::Prepare prepare;
  prepare.task_id = "t";
  prepare.cpu_binding = {mode, true};
  for (const int rank : {4, 7})
    prepare.ranks.push_back({rank,
                             {"true", {}},
                             "/",
                             {{"CUDA_VISIBLE_DEVICES", "0,1", AtLaunch::cuda_devices},
                              {"OMP_NUM_THREADS", "1", AtLaunch::threads, false, true},
                              {"TRAIN_DEVICE_INDICES", rank == 4 ? "1" : "0"}}});
  return prepare;
}

void start_on(Bench& b, CpuTopology topology, CpuBinding mode) {
  b.connect();
  b.say(two_ranks(mode));
  topology.cuda_nodes = {1, 0, 0};
  b.on(agent_event::HostChecked{
      .run_directory = "/run", .gpus = {.cuda = {0, 2}}, .cpus = std::move(topology)});
  message::Go go{"10.0.0.1", 29'500};
  go.slots = SlotMeaning::cuda;
  b.say(go);
}

std::string threads_told(const RankCommand& command) {
  for (const EnvironmentEntry& entry : command.environment)
    if (entry.name == "OMP_NUM_THREADS") return entry.text;
  return "(unset)";
}

}  // namespace

TEST_CASE("an agent binds ranks to the cores near the devices that they turn out to have") {
  Bench b;
  start_on(b, machine(2, 3, 1), CpuBinding::exclusive);
  CHECK(b.agent.command_of({}, 4).cpus == Numbers{0, 1, 2});
  CHECK(b.agent.command_of({}, 7).cpus == Numbers{3, 4, 5});
  CHECK(threads_told(b.agent.command_of({}, 7)) == "3");
  b.on(agent_event::RankStarted{7, 100});
  CHECK(said<message::RankStarted>(b.last) == message::RankStarted{7, 100, {}, {3, 4, 5}});
}

TEST_CASE("an agent says that its ranks share cores") {
  Bench b;
  CpuTopology topology = machine(1, 1, 2);
  for (Cpu& cpu : topology.cpus) cpu.node = 0;
  start_on(b, topology, CpuBinding::exclusive);
  b.on(agent_event::RankStarted{4, 100});
  CHECK(said<message::RankStarted>(b.last) == message::RankStarted{4, 100, {}, {0, 1}, true});
}

TEST_CASE("an agent that is told nothing of binding, or sees no CPUs, binds nothing") {
  Bench none;
  start_on(none, machine(2, 3, 1), CpuBinding::none);
  CHECK(none.agent.command_of({}, 4).cpus.empty());
  CHECK(threads_told(none.agent.command_of({}, 4)) == "(unset)");
  Bench blind;
  start_on(blind, {}, CpuBinding::node);
  CHECK(blind.agent.command_of({}, 4).cpus.empty());
  CHECK(threads_told(blind.agent.command_of({}, 4)) == "1");
  blind.on(agent_event::RankStarted{4, 100});
  CHECK(said<message::RankStarted>(blind.last) == message::RankStarted{4, 100});
}
