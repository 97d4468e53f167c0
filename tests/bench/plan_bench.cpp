// SPDX-License-Identifier: Apache-2.0
// bench_plan [ROUNDS]: what planning costs on 100, 1,000 and 10,000 hosts of 8 GPUs: placing every
// rank, and proving that there is no place. A table a task: median of ROUNDS (default 9) with least
// and most in milliseconds, microseconds per host, growth per tenfold hosts (10 is linear), and the
// most memory that the process came to have above what it had before, in MiB. Nothing here passes
// or fails: times depend on the machine.
#include <fmt/format.h>
#include <malloc.h>

#include <fstream>
#include <string>

#include "launcher/formats/formats.hpp"
#include "launcher/placement/placement.hpp"
#include "tests/bench/stopwatch.hpp"

using namespace train;

namespace {

HostInventory cluster(std::size_t hosts) {
  HostInventory inventory;
  inventory.source = "hosts";
  for (std::size_t i = 0; i < hosts; ++i) {
    Host host;
    host.name = host.address = fmt::format("node{:05}", i);
    host.accelerators = 8;
    host.accelerator_type = "H100";
    host.cpus = Quantity::of(96);
    host.memory = std::uint64_t{512} << 30;
    inventory.hosts.push_back(std::move(host));
  }
  return inventory;
}

// Sizes 1 to 8 in turn: nothing is alike to its neighbour.
HostInventory mixed_cluster(std::size_t hosts) {
  HostInventory inventory = cluster(hosts);
  for (std::size_t i = 0; i < hosts; ++i)
    inventory.hosts[i].accelerators = 1 + static_cast<int>(i % 8);
  return inventory;
}

ExperimentConfig workers_of(int workers, Quantity gpus, PlacementPolicy policy) {
  ExperimentConfig experiment;
  experiment.name = "bench";
  experiment.entrypoint.argv = {"true"};
  experiment.workers = workers;
  experiment.needs.slots = gpus;
  experiment.needs.gpus_named = true;
  experiment.slots = gpus * workers;
  experiment.placement = policy;
  experiment.global_batch_size = static_cast<std::uint64_t>(workers) * 32 + 5;
  return experiment;
}

struct Question {
  ExperimentConfig experiment;
  HostInventory inventory;
  Occupancy occupancy = {};
};

// A line of /proc/self/status, in KiB.
long status_of(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    long value = 0;
    if (word == key && status >> value) return value;
  }
  return 0;
}

double most_memory_of(const std::function<void()>& work) {
  ::malloc_trim(0);                               // what was freed is not there to be used again
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
  const long before = status_of("VmRSS:");
  work();
  return static_cast<double>(status_of("VmHWM:") - before) / 1024;
}

void show(const char* title, bool is_placed, int rounds,
          const std::function<Question(std::size_t)>& ask) {
  fmt::print("\n{}\n\n  {:>6} {:>9} {:>19} {:>10} {:>7} {:>8}\n", title, "hosts", "ms", "(min-max)",
             "us a host", "growth", "MiB");
  double before = 0;
  for (const std::size_t hosts : {std::size_t{100}, std::size_t{1'000}, std::size_t{10'000}}) {
    const Question question = ask(hosts);
    const auto work = [&] {
      const auto plan = make_plan(question.experiment, question.inventory, question.occupancy);
      require(plan.has_value() == is_placed, title);
    };
    const double memory = most_memory_of(work);
    const Times times = times_of(work, rounds);
    fmt::print("  {:>6} {:>9.2f} {:>19} {:>10.2f} {:>7} {:>8.1f}\n", hosts, times.median,
               fmt::format("({:.2f}-{:.2f})", times.least, times.most),
               times.median * 1'000 / static_cast<double>(hosts),
               before == 0 ? "" : fmt::format("{:.1f}", times.median / before), memory);
    before = times.median;
  }
}

int count(std::size_t hosts, int of_each) { return static_cast<int>(hosts) * of_each; }

// Half of the workers want hosts of the one label, half of the other, and there are just as many.
Question two_selectors(std::size_t hosts) {
  Question question{workers_of(count(hosts, 8), Quantity::of(1), PlacementPolicy::automatic),
                    cluster(hosts)};
  const std::vector<const char*> types{"old", "new"};
  for (std::size_t i = 0; i < hosts; ++i) question.inventory.hosts[i].labels["type"] = types[i % 2];
  for (int i = 0; i < question.experiment.workers; ++i)
    question.experiment.label_selectors.push_back(
        {{"type", LabelCondition::Kind::one_of, {types[static_cast<std::size_t>(i) % 2]}}});
  return question;
}

// What drawing costs once the plan is there: most of all where no two neighbours are alike.
void show_drawing(const char* title, int rounds,
                  const std::function<HostInventory(std::size_t)>& hosts_of) {
  fmt::print("\n{}\n\n  {:>6} {:>9} {:>19} {:>9} {:>19}\n", title, "hosts", "text ms", "(min-max)",
             "SVG ms", "(min-max)");
  for (const std::size_t hosts : {std::size_t{100}, std::size_t{1'000}, std::size_t{10'000}}) {
    const HostInventory inventory = hosts_of(hosts);
    int slots = 0;
    for (const Host& host : inventory.hosts) slots += host.accelerators.value_or(0);
    const auto plan =
        make_plan(workers_of(slots, Quantity::of(1), PlacementPolicy::pack), inventory);
    require(plan.has_value(), "planning");
    const Occupancy nobody;
    const PictureSubject subject{
        .plan = *plan, .usable = inventory, .named = inventory, .occupancy = nobody};
    const auto range = [](const Times& times) {
      return fmt::format("({:.2f}-{:.2f})", times.least, times.most);
    };
    const Times text = times_of([&] { require(!plan_to_text(subject).empty(), "text"); }, rounds);
    const Times svg = times_of([&] { require(!plan_to_svg(subject).empty(), "SVG"); }, rounds);
    fmt::print("  {:>6} {:>9.2f} {:>19} {:>9.2f} {:>19}\n", hosts, text.median, range(text),
               svg.median, range(svg));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = rounds_of(argc, argv);
  using enum PlacementPolicy;
  const Quantity one = Quantity::of(1);
  const Quantity half = *Quantity::from_double(0.5);
  show("every slot, auto: a rank for each", true, rounds, [&](std::size_t hosts) {
    return Question{workers_of(count(hosts, 8), one, automatic), cluster(hosts)};
  });
  show("every slot, pack", true, rounds, [&](std::size_t hosts) {
    return Question{workers_of(count(hosts, 8), one, pack), cluster(hosts)};
  });
  show("spread over all hosts", true, rounds, [&](std::size_t hosts) {
    return Question{workers_of(count(hosts, 8), one, spread), cluster(hosts)};
  });
  show("two ranks on every GPU", true, rounds, [&](std::size_t hosts) {
    return Question{workers_of(count(hosts, 16), half, pack), cluster(hosts)};
  });
  show("whole hosts of sizes 1 to 8 that sum to half of all slots", true, rounds,
       [&](std::size_t hosts) {
         Question question{workers_of(count(hosts, 9) / 4 - 1, one, automatic),
                           mixed_cluster(hosts)};
         question.experiment.allow_heterogeneous = true;
         return question;
       });
  show("with a trainer beside rank 0", true, rounds, [&](std::size_t hosts) {
    Question question{workers_of(count(hosts, 8), one, pack), cluster(hosts)};
    question.experiment.trainer.cpus = one;
    return question;
  });
  show("every second host is held", true, rounds, [&](std::size_t hosts) {
    Question question{workers_of(count(hosts, 4), one, automatic), cluster(hosts)};
    for (std::size_t i = 0; i < hosts; i += 2)
      question.occupancy.push_back({.host = question.inventory.hosts[i].name,
                                    .holder = fmt::format("task {}", i),
                                    .slots = {{0, one}}});
    return question;
  });
  show("a label selector for each worker, two kinds", true, rounds, two_selectors);
  show("refused: a host of one of the two kinds is missing", false, rounds, [&](std::size_t hosts) {
    Question question = two_selectors(hosts);
    question.inventory.hosts.front().labels["type"] = "other";
    return question;
  });
  show("refused: more than there is", false, rounds, [&](std::size_t hosts) {
    return Question{workers_of(count(hosts, 8) + 1, one, automatic), cluster(hosts)};
  });
  show("refused: no whole hosts make it up", false, rounds, [&](std::size_t hosts) {
    return Question{workers_of(count(hosts, 4) + 1, one, automatic), mixed_cluster(hosts)};
  });
  show("refused: CPUs, and the most that would do is looked for", false, rounds,
       [&](std::size_t hosts) {
         Question question{workers_of(count(hosts, 8), one, pack), cluster(hosts)};
         question.experiment.needs.cpus = Quantity::of(13);
         return question;
       });
  show("not now: one slot of every host is held", false, rounds, [&](std::size_t hosts) {
    Question question{workers_of(count(hosts, 8), one, automatic), cluster(hosts)};
    for (const Host& host : question.inventory.hosts)
      question.occupancy.push_back({.host = host.name, .holder = "alice", .slots = {{3, one}}});
    return question;
  });
  show_drawing("drawing hosts that are alike", rounds, cluster);
  show_drawing("drawing hosts of sizes 1 to 8 in turn", rounds, mixed_cluster);
}
