// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/lease_round.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

using Actions = std::vector<LeaseRound::Action>;
using Step = LeaseRound::Step;

std::vector<LeaseHolder> held_by(const std::string& task, bool is_running = false) {
  LeaseHolder holder{.task = task};
  holder.is_running = is_running;
  return {holder};
}

LeaseRound round_of(const std::string& task, int hosts) {
  LeaseRound round(task, hosts);
  for (int host = 0; host < hosts; ++host) round.expect(host, 0s);
  return round;
}

}  // namespace

TEST_CASE("where nobody is in the way all is held at once") {
  LeaseRound round = round_of("b", 2);
  CHECK_FALSE(round.holds_all());
  round.answered(0, {}, 1s);
  CHECK(round.is_any_expected());
  round.answered(1, {}, 1s);
  CHECK(round.holds_all());
  CHECK_FALSE(round.is_any_expected());
  CHECK_FALSE(round.next_deadline());
  CHECK(round.take_actions().empty());
}

TEST_CASE("a host that is asked for nothing is not waited for") {
  LeaseRound round("b", 2);
  round.exempt(0);
  round.expect(1, 0s);
  round.answered(1, held_by("a"), 0s);
  CHECK(round.take_actions() == Actions{{Step::drop, 1}});
  round.tick(*round.next_deadline());
  CHECK(round.take_actions() == Actions{{Step::take, 1}});
  round.answered(1, {}, 1s);
  CHECK(round.holds_all());
}

TEST_CASE("who runs, who is not known, and who comes first in the line is not waited for") {
  std::vector<LeaseHolder> first = held_by("c");
  first.front().is_waiting = true;
  for (const auto& holder : {held_by("a", true), held_by("c", true), held_by(""), first}) {
    LeaseRound round = round_of("b", 2);
    round.answered(1, holder, 0s);
    const auto conflict = round.take_conflict();
    REQUIRE(conflict);
    CHECK(conflict->host == 1);
    CHECK(conflict->blockers == holder);
    CHECK_FALSE(round.take_conflict());
  }
}

TEST_CASE("the lower id keeps what it has, and tries for the rest") {
  LeaseRound round = round_of("b", 2);
  round.answered(0, {}, 0s);
  round.answered(1, held_by("c"), 0s);
  CHECK(round.take_actions().empty());
  const auto first = round.next_deadline();
  REQUIRE(first);
  round.tick(*first);
  CHECK(round.take_actions() == Actions{{Step::take, 1}});
  round.answered(1, held_by("c"), *first);
  CHECK(*round.next_deadline() - *first > *first);
  round.tick(*round.next_deadline());
  round.answered(1, {}, 1s);
  CHECK(round.holds_all());
}

TEST_CASE("the higher id lets all go, and tries again later") {
  LeaseRound round = round_of("b", 3);
  round.answered(0, {}, 0s);
  round.answered(1, held_by("a"), 0s);
  CHECK(round.take_actions() == Actions{{Step::drop, 0}, {Step::drop, 1}, {Step::drop, 2}});
  // What it got meanwhile goes as well.
  round.answered(2, {}, 10ms);
  CHECK_FALSE(round.holds_all());
  CHECK(round.take_actions().empty());
  round.tick(*round.next_deadline());
  CHECK(round.take_actions() == Actions{{Step::take, 0}, {Step::take, 1}, {Step::take, 2}});
  for (const int host : {0, 1, 2}) round.answered(host, {}, 1s);
  CHECK(round.holds_all());
}

TEST_CASE("a host that is reached while all others give way gives way as well") {
  LeaseRound round("b", 2);
  round.expect(0, 0s);
  round.answered(0, held_by("a"), 0s);
  CHECK(round.take_actions() == Actions{{Step::drop, 0}});
  round.expect(1, 0s);
  round.answered(1, {}, 1ms);
  CHECK(round.take_actions() == Actions{{Step::drop, 1}});
  round.tick(*round.next_deadline());
  CHECK(round.take_actions() == Actions{{Step::take, 0}, {Step::take, 1}});
}

TEST_CASE("a host that does not answer is told of, once") {
  LeaseRound round = round_of("b", 2);
  round.answered(0, {}, 1s);
  REQUIRE(round.next_deadline());
  round.tick(*round.next_deadline() - 1ns);
  CHECK(round.take_silent().empty());
  round.tick(*round.next_deadline());
  CHECK(round.take_silent() == std::vector<int>{1});
  CHECK(round.take_silent().empty());
  CHECK_FALSE(round.is_any_expected());
  CHECK_FALSE(round.holds_all());
  CHECK_FALSE(round.next_deadline());
}

TEST_CASE("who neither runs nor lets go is given up at last") {
  LeaseRound round = round_of("b", 1);
  Instant now{0};
  for (int tries = 0; tries < 1'000; ++tries) {
    round.answered(0, held_by("c"), now);
    if (round.take_conflict()) break;
    now = *round.next_deadline();
    round.tick(now);
    (void)round.take_actions();
  }
  CHECK(now >= LeaseRound::Timing().limit);
  CHECK(now < LeaseRound::Timing().limit + 1s);
}

namespace {

/// Tasks that all begin at about the same time, on hosts that give each thing to one.
class Race {
 public:
  Race(std::uint64_t seed, int tasks, int hosts)
      : chance_(seed), owner_(static_cast<std::size_t>(hosts)) {
    for (int i = 0; i < tasks; ++i) {
      Task& task = tasks_.emplace_back(std::string(1, static_cast<char>('a' + i)), hosts);
      for (int host = 0; host < hosts; ++host)
        if (chance_() % 2 == 0) task.wants.insert(host);
      if (task.wants.empty()) task.wants.insert(0);
      for (int host = 0; host < hosts; ++host)
        if (!task.wants.contains(host)) task.round.exempt(host);
      for (const int host : task.wants) {
        task.round.expect(host, now_);
        send(i, {Step::take, host}, up_to(20ms));
      }
    }
  }

  void play() {
    while (!events_.empty()) {
      const auto first = events_.begin();
      now_ = first->first;
      const auto what = first->second;
      events_.erase(first);
      what();
      for (std::size_t i = 0; i < tasks_.size(); ++i) look_at(static_cast<int>(i));
    }
  }

  int started() const { return count(&Task::has_started); }
  int refused() const { return count(&Task::is_refused); }
  bool is_settled() const { return started() + refused() == static_cast<int>(tasks_.size()); }
  int together() const { return together_; }

 private:
  struct Task {
    Task(std::string id, int hosts) : name(id), round(std::move(id), hosts) {}
    std::string name;
    LeaseRound round;
    std::set<int> wants;
    bool has_started = false;
    bool is_refused = false;
    std::optional<Instant> armed;
  };

  int count(bool Task::*what) const {
    return static_cast<int>(std::count_if(tasks_.begin(), tasks_.end(),
                                          [what](const Task& task) { return task.*what; }));
  }
  nanoseconds up_to(nanoseconds most) {
    return nanoseconds(
        static_cast<std::int64_t>(chance_() % static_cast<std::uint64_t>(most.count())));
  }
  void at(Instant when, std::function<void()> what) { events_.emplace(when, std::move(what)); }

  // Messages to one host stay in their order.
  void send(int task, LeaseRound::Action action, nanoseconds delay) {
    Instant& last = last_[{task, action.host}];
    last = std::max(last, now_ + delay);
    at(last, [this, task, action] { arrive(task, action); });
  }

  void arrive(int task, LeaseRound::Action action) {
    int& owner = owner_[static_cast<std::size_t>(action.host)];
    if (action.step == Step::drop) {
      if (owner == task + 1) owner = 0;
      return;
    }
    if (owner == 0) owner = task + 1;
    std::vector<LeaseHolder> blockers;
    if (owner != task + 1) {
      const Task& other = tasks_[static_cast<std::size_t>(owner - 1)];
      blockers = held_by(other.name, other.has_started);
    }
    Instant& last = answered_[{task, action.host}];
    last = std::max(last, now_ + up_to(20ms));
    at(last, [this, task, host = action.host, blockers] {
      Task& asker = tasks_[static_cast<std::size_t>(task)];
      if (!asker.is_refused) asker.round.answered(host, blockers, now_);
    });
  }

  void look_at(int index) {
    Task& task = tasks_[static_cast<std::size_t>(index)];
    if (task.has_started || task.is_refused) return;
    task.round.tick(now_);
    for (const LeaseRound::Action& action : task.round.take_actions())
      send(index, action, up_to(20ms));
    if (task.round.take_conflict()) {
      task.is_refused = true;
      for (const int host : task.wants) send(index, {Step::drop, host}, up_to(20ms));
      return;
    }
    if (task.round.holds_all()) {
      task.has_started = true;
      for (const int host : task.wants)
        if (owner_[static_cast<std::size_t>(host)] != index + 1) ++together_;
      return;
    }
    const auto deadline = task.round.next_deadline();
    if (!deadline || task.armed == deadline) return;
    task.armed = deadline;
    at(std::max(*deadline, now_), [] {});
  }

  std::mt19937_64 chance_;
  std::vector<Task> tasks_;
  std::vector<int> owner_;  ///< a task's number, from 1; 0: nobody
  std::multimap<Instant, std::function<void()>> events_;
  std::map<std::pair<int, int>, Instant> last_;
  std::map<std::pair<int, int>, Instant> answered_;
  Instant now_{0};
  int together_ = 0;
};

}  // namespace

TEST_CASE(
    "of many that want the same at once some start, never two on one host, and all know soon") {
  int started = 0;
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    CAPTURE(seed);
    Race race(seed, 2 + static_cast<int>(seed % 5), 1 + static_cast<int>(seed % 7));
    race.play();
    REQUIRE(race.is_settled());
    REQUIRE(race.started() > 0);
    REQUIRE(race.together() == 0);
    started += race.started();
  }
  CHECK(started > 2'000);
}
