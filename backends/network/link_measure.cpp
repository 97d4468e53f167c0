// SPDX-License-Identifier: Apache-2.0
#include "backends/network/link_measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "backends/network/rank_meeting.hpp"
#include "backends/posix/random.hpp"
#include "config_schema/text/line_words.hpp"
#include "config_schema/text/text.hpp"

// All ranks connect to rank 0 and stay connected; rank 0 sends the next step. Lines of words:
//   RANK -> 0  hello TASK RANK PORT TOKEN      where other ranks connect
//   0 -> RANK  peer RANK ADDRESS PORT TOKEN    of each rank, in order
//   0 -> RANK  go NUMBER RANK                  measure the link to RANK
//   RANK -> 0  link ROUND_TRIP_NS THERE BACK, or trouble WORDS   from the lower of the two
//   RANK -> 0  done                            from the higher
//   0 -> RANK  end                             of all measurements
// Of two ranks, the lower connects to the higher three times, and sends "TOKEN NUMBER USE" first.
// USE is `trips` (lines go there and back), then `there` (the lower sends), then `back` (the higher
// sends). If the lower cannot connect, rank 0 connects to the higher with `off`.
namespace train {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr milliseconds flood_length = 150ms;
constexpr int trips = 32;
constexpr int warm_up_trips = 2;
// Limits of the second measurement, of slow pairs alone: repetitions of a pair, pairs, total time.
constexpr int measurements_of_one = 3;
constexpr int most_remeasured = 64;
constexpr auto remeasure_limit = 60s;
// A rank with this many failures and no success is skipped.
constexpr int most_troubles = 3;
// The limit of the whole measurement. A rank notices at once when rank 0 dies; this limit is for a
// rank 0 that hangs.
constexpr auto longest_measuring = 1h;

struct Peer {
  std::string address;
  int port = 0;
  std::string token;
};

std::string words_of(const Error& error) { return error.diagnostics.front().message; }

std::string greeting_of(const Peer& higher, int number, std::string_view use) {
  return fmt::format("{} {} {}", higher.token, number, use);
}

/// The measurement of one pair of ranks.
class Pair {
 public:
  Pair(const Peer& higher, int number, Deadline deadline)
      : higher_(higher), number_(number), deadline_(deadline) {}

  // For the lower rank.
  Result<LinkFacts> lead() {
    LinkFacts facts;
    auto talk = connect("trips");
    if (!talk) return tl::make_unexpected(talk.error());
    std::vector<nanoseconds> took;
    for (int i = 0; i < trips; ++i) {
      const auto began = SteadyClock::now();
      if (auto sent = talk->send("trip\n", deadline_); !sent)
        return tl::make_unexpected(sent.error());
      if (auto back = talk->line(deadline_); !back) return tl::make_unexpected(back.error());
      if (i >= warm_up_trips) took.push_back(SteadyClock::now() - began);
    }
    std::sort(took.begin(), took.end());
    facts.round_trip = took[took.size() / 2];
    auto there = connect("there");
    if (!there) return tl::make_unexpected(there.error());
    there->flood(deadline_);
    const auto told = talk->line(deadline_);
    if (!told) return tl::make_unexpected(told.error());
    const auto pace = natural_number(*told);
    if (!pace) return fail(ErrorClass::host, *told);
    facts.there = *pace;
    auto back = connect("back");
    if (!back) return tl::make_unexpected(back.error());
    const auto arrived = back->pace(flood_length, deadline_);
    if (!arrived) return tl::make_unexpected(arrived.error());
    facts.back = *arrived;
    return facts;
  }

  // For the higher rank. It does not report failures: the lower one sees them as well.
  Result<void> follow(const Descriptor& listening) {
    auto talk = accept(listening, "trips");
    if (!talk) return tl::make_unexpected(talk.error());
    for (int i = 0; i < trips; ++i) {
      if (auto trip = talk->line(deadline_); !trip) return tl::make_unexpected(trip.error());
      if (auto sent = talk->send("trip\n", deadline_); !sent) return sent;
    }
    Result<std::uint64_t> pace = 0;
    {
      auto there = accept(listening, "there");
      if (!there) return tl::make_unexpected(there.error());
      pace = there->pace(flood_length, deadline_);
    }  // the end of the connection ends the flood
    const std::string said = pace ? std::to_string(*pace) : words_of(pace.error());
    if (auto sent = talk->send(said + "\n", deadline_); !sent) return sent;
    auto back = accept(listening, "back");
    if (!back) return tl::make_unexpected(back.error());
    back->flood(deadline_);
    return {};
  }

 private:
  std::string greeting(std::string_view use) const { return greeting_of(higher_, number_, use); }
  Result<TimedSocket> connect(std::string_view use) {
    auto socket = TimedSocket::connect(higher_.address, higher_.port, deadline_);
    if (!socket) return socket;
    if (auto sent = socket->send(greeting(use) + "\n", deadline_); !sent)
      return tl::make_unexpected(sent.error());
    return socket;
  }
  Result<TimedSocket> accept(const Descriptor& listening, std::string_view use) {
    return accept_from(listening, greeting(use), greeting("off"), deadline_);
  }

  const Peer& higher_;
  const int number_;
  const Deadline deadline_;
};

/// One rank's part of all measurements.
class Measuring {
 public:
  Measuring(const MeetingRank& own, const LinkPatience& patience)
      : own_(own), patience_(patience) {}

  Result<std::vector<LinkFacts>> run() {
    if (own_.world < 2) return std::vector<LinkFacts>();
    peers_.resize(static_cast<std::size_t>(own_.world));
    listening_ = listen_on_all(0);
    peer(own_.rank).port = listening_ ? port_of(listening_) : 0;
    if (peer(own_.rank).port == 0)
      return fail(ErrorClass::host, "cannot listen for other ranks: " + system_reason(errno));
    peer(own_.rank).token = new_nonce();
    meeting_end_ = SteadyClock::now() + patience_.meeting;
    return own_.rank == 0 ? lead() : follow();
  }

 private:
  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  Deadline pair_end() const { return SteadyClock::now() + patience_.pair; }
  // The other rank of a pair has its own full timeout, and may have begun later.
  Deadline answer_end() const { return SteadyClock::now() + 3 * patience_.pair; }

  // --- Rank 0 ---

  Result<std::vector<LinkFacts>> lead() {
    if (auto met = meet(); !met) return tl::make_unexpected(met.error());
    std::vector<LinkFacts> links;
    for (int round = 0; round < link_rounds(own_.world); ++round) {
      auto found = measure(link_round(round, own_.world));
      if (!found) return found;
      for (LinkFacts& link : *found) links.push_back(std::move(link));
    }
    if (auto remeasured = measure_again(links); !remeasured)
      return tl::make_unexpected(remeasured.error());
    for (int rank = 1; rank < own_.world; ++rank) (void)ranks_.send(rank, "end", pair_end());
    return links;
  }

  Result<void> meet() {
    auto meeting = RankMeeting::meet(own_, {}, meeting_end_);
    if (!meeting) return tl::make_unexpected(meeting.error());
    ranks_ = std::move(*meeting);
    peer(0).address = own_.address;
    for (int rank = 1; rank < own_.world; ++rank) {
      const std::vector<std::string_view> words = split(ranks_.words_of(rank), ' ');
      const auto port = words.size() == 2 ? whole_number(words[0], 1, UINT16_MAX) : std::nullopt;
      if (!port) return misunderstood(rank);
      peer(rank) = {ranks_.address_of(rank), *port, std::string(words[1])};
    }
    for (int rank = 0; rank < own_.world; ++rank) {
      const std::string line = fmt::format("peer {} {} {} {}", rank, peer(rank).address,
                                           peer(rank).port, peer(rank).token);
      for (int to = 1; to < own_.world; ++to)
        if (auto sent = ranks_.send(to, line, meeting_end_); !sent) return sent;
    }
    return {};
  }

  // Measures the pairs at the same time.
  Result<std::vector<LinkFacts>> measure(std::vector<std::pair<int, int>> pairs) {
    ++number_;
    std::erase_if(pairs, [&](const auto& pair) {
      return troubles_[pair.first] >= most_troubles || troubles_[pair.second] >= most_troubles;
    });
    std::optional<int> own_partner;
    for (const auto& [lower, higher] : pairs) {
      if (lower == 0) own_partner = higher;
      for (const auto& [rank, other] : {std::pair(lower, higher), std::pair(higher, lower)}) {
        if (rank == 0) continue;
        const std::string line = fmt::format("go {} {}", number_, other);
        if (auto sent = ranks_.send(rank, line, pair_end()); !sent)
          return tl::make_unexpected(sent.error());
      }
    }
    std::vector<LinkFacts> found;
    if (own_partner) {
      found.push_back(lead_pair(number_, *own_partner));
      cancel_unreachable(found.back());
    }
    for (const auto& [lower, higher] : pairs) {
      for (const int rank : {lower, higher}) {
        if (rank == 0) continue;
        const auto answer = ranks_.receive(rank, answer_end());
        if (!answer) return tl::make_unexpected(answer.error());
        if (rank == higher) continue;
        auto facts = facts_in(*answer);
        if (!facts) return misunderstood(rank);
        facts->from = lower;
        facts->to = higher;
        cancel_unreachable(*facts);
        found.push_back(std::move(*facts));
      }
    }
    for (const LinkFacts& link : found)
      for (const int rank : {link.from, link.to})
        troubles_[rank] = link.trouble.empty() ? never_left : troubles_[rank] + 1;
    return found;
  }

  // Ends the wait of the higher rank for a lower one that cannot reach it; otherwise it would wait
  // for its full timeout.
  void cancel_unreachable(const LinkFacts& facts) {
    if (facts.trouble.empty()) return;
    const Peer& higher = peer(facts.to);
    auto socket = TimedSocket::connect(higher.address, higher.port, pair_end());
    if (socket) (void)socket->send(greeting_of(higher, number_, "off") + "\n", pair_end());
  }

  static std::optional<LinkFacts> facts_in(const std::string& answer) {
    LinkFacts facts;
    constexpr std::string_view trouble = "trouble ";
    if (answer.starts_with(trouble)) {
      facts.trouble = answer.substr(trouble.size());
      return facts;
    }
    const std::vector<std::string_view> words = split(answer, ' ');
    if (words.size() != 4 || words[0] != "link") return std::nullopt;
    const auto round_trip = natural_number(words[1]);
    const auto there = natural_number(words[2]);
    const auto back = natural_number(words[3]);
    if (!round_trip || !there || !back) return std::nullopt;
    facts.round_trip = nanoseconds(static_cast<std::int64_t>(*round_trip));
    facts.there = *there;
    facts.back = *back;
    return facts;
  }

  // Other pairs may have slowed a link down, in the network or on a core: the best of several
  // measurements counts.
  Result<void> measure_again(std::vector<LinkFacts>& links) {
    const LinkStandard standard = standard_of(links);
    const Deadline end = SteadyClock::now() + remeasure_limit;
    int measured = 0;
    for (LinkFacts& link : links) {
      if (!is_slow(link, standard)) continue;
      if (++measured > most_remeasured) break;
      for (int i = 0; i < measurements_of_one && is_slow(link, standard); ++i) {
        if (SteadyClock::now() > end) return {};
        auto found = measure({{link.from, link.to}});
        if (!found) return tl::make_unexpected(found.error());
        if (!found->empty()) take_better(link, found->front());
      }
    }
    return {};
  }

  static void take_better(LinkFacts& link, const LinkFacts& again) {
    if (!again.trouble.empty()) return;
    if (!link.trouble.empty()) {
      link = again;
    } else {
      link.there = std::max(link.there, again.there);
      link.back = std::max(link.back, again.back);
      link.round_trip = std::min(link.round_trip, again.round_trip);
    }
    link.is_alone = true;
  }

  // --- The other ranks ---

  Result<std::vector<LinkFacts>> follow() {
    if (auto met = join(); !met) return tl::make_unexpected(met.error());
    while (true) {
      const auto line = ranks_.receive(0, SteadyClock::now() + longest_measuring);
      if (!line) return tl::make_unexpected(line.error());
      if (*line == "end") return std::vector<LinkFacts>();
      const std::vector<std::string_view> words = split(*line, ' ');
      if (words.size() != 3 || words[0] != "go") return misunderstood(0);
      const auto number = whole_number(words[1], 0, INT32_MAX);
      const auto other = whole_number(words[2], 0, own_.world - 1);
      if (!number || !other || *other == own_.rank) return misunderstood(0);
      if (auto sent = ranks_.send(0, answer(*number, *other), pair_end()); !sent)
        return tl::make_unexpected(sent.error());
    }
  }

  // Measures a pair, and returns the line for rank 0.
  std::string answer(int number, int other) {
    if (other < own_.rank) {
      (void)Pair(peer(own_.rank), number, SteadyClock::now() + 2 * patience_.pair)
          .follow(listening_);
      return "done";
    }
    const LinkFacts facts = lead_pair(number, other);
    if (!facts.trouble.empty()) return "trouble " + facts.trouble;
    return fmt::format("link {} {} {}", facts.round_trip.count(), facts.there, facts.back);
  }

  LinkFacts lead_pair(int number, int higher) {
    const auto found = Pair(peer(higher), number, pair_end()).lead();
    LinkFacts facts = found.value_or(LinkFacts());
    if (!found) facts.trouble = words_of(found.error());
    facts.from = own_.rank;
    facts.to = higher;
    return facts;
  }

  Result<void> join() {
    const Peer& self = peer(own_.rank);
    auto meeting =
        RankMeeting::meet(own_, fmt::format("{} {}", self.port, self.token), meeting_end_);
    if (!meeting) return tl::make_unexpected(meeting.error());
    ranks_ = std::move(*meeting);
    for (int rank = 0; rank < own_.world; ++rank) {
      const auto line = ranks_.receive(0, meeting_end_);
      if (!line) return tl::make_unexpected(line.error());
      const std::vector<std::string_view> words = split(*line, ' ');
      const auto port = words.size() == 5 ? whole_number(words[3], 0, UINT16_MAX) : std::nullopt;
      if (!port || words[0] != "peer" || words[1] != std::to_string(rank)) return misunderstood(0);
      if (rank != own_.rank) peer(rank) = {std::string(words[2]), *port, std::string(words[4])};
    }
    return {};
  }

  const MeetingRank& own_;
  const LinkPatience& patience_;
  std::vector<Peer> peers_;
  Descriptor listening_;
  Deadline meeting_end_;
  RankMeeting ranks_;
  /// By rank: the number of failures, or `never_left` after a success.
  std::map<int, int> troubles_;
  static constexpr int never_left = std::numeric_limits<int>::min() / 2;
  int number_ = 0;  ///< of the current measurement
};

}  // namespace

Result<std::vector<LinkFacts>> measure_links(const MeetingRank& own, const LinkPatience& patience) {
  return Measuring(own, patience).run();
}

}  // namespace train
