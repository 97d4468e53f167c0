// SPDX-License-Identifier: Apache-2.0
#include "backends/fitness/measure_allreduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "config_schema/text/line_words.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/fitness/allreduce_groups.hpp"

// All ranks connect to rank 0, which directs them. The protocol, one line per message:
//   0 -> RANK  start PLACE WORLD     start as rank PLACE of a group of WORLD ranks
//   RANK -> 0  ready; from the first rank of a group: id HEX, the NCCL id of the group
//   0 -> RANK  id HEX; or stop, if a rank of the group is not ready
//   RANK -> 0  its report (launcher/fitness/allreduce_report.hpp)
//   0 -> RANK  end
// If the process of a rank fails, the rank sends "trouble WORDS" instead of its line.
namespace train {

namespace {

using namespace std::chrono_literals;
using Groups = std::vector<AllReduceGroup>;

// Added to the limit of the other side, which may have begun later.
constexpr auto grace = 10s;
constexpr auto line_patience = 10s;
// The limit for the whole measurement. The end of the leader is noticed at once; this is for a
// leader that hangs.
constexpr auto longest_measuring = 1h;
constexpr std::size_t longest_words = 600;
constexpr std::string_view trouble_word = "trouble ";

Deadline in(milliseconds length) { return std::chrono::steady_clock::now() + length; }

/// This rank's measuring process; its functions return the line to send to rank 0.
class OwnProcess {
 public:
  OwnProcess(const DeviceProgram& program, const AllReduceMember& own,
             const AllReducePatience& patience)
      : program_(program), own_(own), patience_(patience) {}

  // "ready", "id HEX" or "trouble WORDS".
  std::string start(int place, int world) {
    place_ = place;
    world_ = world;
    auto started = start_allreduce(program_,
                                   {.rank = place,
                                    .world = world,
                                    .device = own_.device,
                                    .library = own_.library,
                                    .largest = own_.largest,
                                    .environment = own_.environment},
                                   patience_.start);
    if (!started) return trouble(started.error());
    process_ = std::move(*started);
    if (place > 0) return "ready";
    const auto id = process_->id(patience_.start);
    return id ? "id " + *id : trouble(id.error());
  }

  // A report, or "trouble WORDS".
  std::string measure(std::string_view id) {
    if (const auto given = process_->give_id(id); !given) return trouble(given.error());
    const auto facts = process_->finish(patience_.size);
    if (!facts) return trouble(facts.error());
    process_.reset();
    std::string line = encode_allreduce_report(report_of_rank(place_, world_, *facts));
    line.pop_back();
    return line;
  }
  void stop() { process_.reset(); }
  bool has_started() const { return process_.has_value(); }

 private:
  std::string trouble(const Error& error) {
    process_.reset();
    std::string words = in_one_line(error).substr(0, longest_words);
    std::replace(words.begin(), words.end(), '\n', ' ');
    return std::string(trouble_word) + words;
  }

  const DeviceProgram& program_;
  const AllReduceMember& own_;
  const AllReducePatience& patience_;
  int place_ = 0;
  int world_ = 1;
  std::optional<AllReduceProcess> process_;
};

/// Rank 0, which directs the measurement.
class Leader {
 public:
  Leader(RankMeeting& ranks, OwnProcess& process, const AllReducePatience& patience,
         std::vector<int> host_of_rank)
      : ranks_(ranks),
        process_(process),
        patience_(patience),
        host_of_rank_(std::move(host_of_rank)) {}

  Result<Groups> lead() {
    if (auto alone = measure(groups_of_hosts(host_of_rank_)); !alone)
      return tl::make_unexpected(alone.error());
    const std::vector<int> hosts = able_hosts(found_, host_of_rank_);
    const auto with_each_other = [&](const std::vector<std::pair<int, int>>& pairs) {
      return measure(groups_of_pairs(pairs, host_of_rank_));
    };
    for (const auto& round : rounds_of_pairs(hosts))
      if (auto pairs = with_each_other(round); !pairs) return tl::make_unexpected(pairs.error());
    for (const auto& pair : slow_pairs(found_, host_of_rank_))
      if (auto again = with_each_other({pair}); !again) return tl::make_unexpected(again.error());
    if (hosts.size() > 1 && have_all_measured(found_, hosts, host_of_rank_))
      if (auto all = measure({ranks_of(hosts, host_of_rank_)}); !all)
        return tl::make_unexpected(all.error());
    for (std::size_t rank = 1; rank < host_of_rank_.size(); ++rank)
      (void)ranks_.send(static_cast<int>(rank), "end", in(line_patience));
    return std::move(found_);
  }

 private:
  struct Member {
    int rank = 0;
    int place = 0;
    AllReduceGroup* group = nullptr;
  };

  // Measures all these groups at the same time; no rank is in two of them.
  Result<void> measure(const std::vector<std::vector<int>>& groups) {
    Groups measured;
    for (const std::vector<int>& ranks : groups) measured.push_back({ranks, {}, {}});
    std::vector<Member> members;
    for (AllReduceGroup& group : measured)
      for (std::size_t i = 0; i < group.members.size(); ++i)
        members.push_back({group.members[i], static_cast<int>(i), &group});
    std::map<const AllReduceGroup*, std::string> ids;
    if (auto ready = start(members, ids); !ready) return ready;
    std::map<const AllReduceGroup*, std::vector<AllReduceReport>> parts;
    if (auto done = run(members, ids, parts); !done) return done;
    for (AllReduceGroup& group : measured) {
      if (group.troubles.empty()) {
        auto report = report_of_all(parts[&group]);
        if (!report) return tl::make_unexpected(report.error());
        group.report = std::move(*report);
      }
      found_.push_back(std::move(group));
    }
    return {};
  }

  Result<void> start(const std::vector<Member>& members,
                     std::map<const AllReduceGroup*, std::string>& ids) {
    const auto line_of = [](const Member& member) {
      return fmt::format("start {} {}", member.place, member.group->members.size());
    };
    if (auto told = send_to_all(members, line_of); !told) return told;
    return receive(
        members,
        [&](const Member& member) {
          return process_.start(member.place, static_cast<int>(member.group->members.size()));
        },
        patience_.start * 2,
        [&](const Member& member, std::string_view line) {
          const std::string_view word = next_word(line);
          if (member.place > 0) return word == "ready" && line.empty();
          ids[member.group] = line;
          return word == "id" && is_allreduce_id(line);
        });
  }

  Result<void> run(const std::vector<Member>& members,
                   std::map<const AllReduceGroup*, std::string>& ids,
                   std::map<const AllReduceGroup*, std::vector<AllReduceReport>>& parts) {
    const auto line_of = [&](const Member& member) {
      return member.group->troubles.empty() ? "id " + ids[member.group] : std::string("stop");
    };
    // If one rank of a group has failed, no rank of the group is waited for; the failed rank gets
    // no message.
    std::vector<Member> able;
    std::vector<Member> left;
    for (const Member& member : members) {
      if (!member.group->troubles.contains(member.place)) left.push_back(member);
      if (member.group->troubles.empty()) able.push_back(member);
    }
    if (auto told = send_to_all(left, line_of); !told) return told;
    for (const Member& member : left)
      if (member.rank == 0 && !member.group->troubles.empty()) process_.stop();
    return receive(
        able, [&](const Member& member) { return process_.measure(ids[member.group]); },
        patience_.size * 2,
        [&](const Member& member, std::string_view line) {
          auto part = decode_allreduce_report(line);
          const bool is_its_own = part && part->ranks.size() == 1 &&
                                  part->ranks.front().rank == member.place &&
                                  part->world == static_cast<int>(member.group->members.size());
          if (is_its_own) parts[member.group].push_back(std::move(*part));
          return is_its_own;
        });
  }

  template <class LineOf>
  Result<void> send_to_all(const std::vector<Member>& members, LineOf line_of) {
    for (const Member& member : members)
      if (member.rank != 0)
        if (auto sent = ranks_.send(member.rank, line_of(member), in(line_patience)); !sent)
          return sent;
    return {};
  }

  // Does rank 0's own part, and then receives a line of each other rank; troubles are noted.
  template <class DoOwn, class Take>
  Result<void> receive(const std::vector<Member>& members, DoOwn do_own, milliseconds limit,
                       Take take) {
    const Deadline end = in(limit + grace);
    for (const Member& member : members)
      if (member.rank == 0 && !note(member, do_own(member), take)) return misunderstood(0);
    for (const Member& member : members) {
      if (member.rank == 0) continue;
      const auto line = ranks_.receive(member.rank, end);
      if (!line) return tl::make_unexpected(line.error());
      if (!note(member, *line, take)) return misunderstood(member.rank);
    }
    return {};
  }
  template <class Take>
  static bool note(const Member& member, std::string_view line, Take take) {
    if (!line.starts_with(trouble_word)) return take(member, line);
    member.group->troubles[member.place] = line.substr(trouble_word.size());
    return true;
  }

  RankMeeting& ranks_;
  OwnProcess& process_;
  const AllReducePatience& patience_;
  const std::vector<int> host_of_rank_;
  Groups found_;
};

Result<void> follow(RankMeeting& ranks, OwnProcess& process) {
  while (true) {
    const auto line = ranks.receive(0, in(longest_measuring));
    if (!line) return tl::make_unexpected(line.error());
    std::string_view rest = *line;
    const std::string_view word = next_word(rest);
    if (word == "end") return {};
    if (word == "stop") {
      process.stop();
      continue;
    }
    std::string answer;
    if (word == "start") {
      const auto place = whole_number(next_word(rest), 0, most_allreduce_ranks - 1);
      const auto world = whole_number(rest, 1, most_allreduce_ranks);
      if (!place || !world || *place >= *world) return misunderstood(0);
      answer = process.start(*place, *world);
    } else if (word == "id" && process.has_started()) {
      answer = process.measure(rest);
    } else {
      return misunderstood(0);
    }
    if (auto sent = ranks.send(0, answer, in(line_patience)); !sent) return sent;
  }
}

}  // namespace

Result<Groups> measure_allreduce(const DeviceProgram& program, const AllReduceMember& own,
                                 const AllReducePatience& patience) {
  auto met = RankMeeting::meet(own.meeting, std::to_string(own.host), in(patience.meeting));
  if (!met) return tl::make_unexpected(met.error());
  OwnProcess process(program, own, patience);
  if (own.meeting.rank != 0) {
    if (auto done = follow(*met, process); !done) return tl::make_unexpected(done.error());
    return Groups();
  }
  std::vector<int> host_of_rank = {own.host};
  for (int rank = 1; rank < own.meeting.world; ++rank) {
    const auto host = whole_number(met->words_of(rank), 0, own.meeting.world - 1);
    if (!host) return misunderstood(rank);
    host_of_rank.push_back(*host);
  }
  return Leader(*met, process, patience, std::move(host_of_rank)).lead();
}

}  // namespace train
