// SPDX-License-Identifier: Apache-2.0
#include "backends/network/rank_meeting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <thread>
#include <utility>

#include "config_schema/text/text.hpp"

// "hello TASK RANK WORDS...", and nothing else, is what a rank begins with.
namespace train {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr auto stranger_patience = 1s;
constexpr auto connect_pause = 50ms;

tl::unexpected<Error> of_rank(int rank, const Error& error) {
  return fail(ErrorClass::host,
              fmt::format("rank {}: {}", rank, error.diagnostics.front().message));
}

// The word before the first space, which goes with it.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

}  // namespace

Result<RankMeeting> RankMeeting::meet(const MeetingRank& own, Deadline deadline) {
  RankMeeting meeting;
  auto met = own.rank == 0 ? meeting.lead(own, deadline) : meeting.join(own, deadline);
  if (!met) return tl::make_unexpected(met.error());
  return meeting;
}

Result<void> RankMeeting::send(int rank, std::string_view line, Deadline deadline) {
  auto sent = others_.at(rank).socket.send(std::string(line) + "\n", deadline);
  return sent ? sent : of_rank(rank, sent.error());
}

Result<std::string> RankMeeting::receive(int rank, Deadline deadline) {
  auto line = others_.at(rank).socket.line(deadline);
  return line ? line : of_rank(rank, line.error());
}

Result<void> RankMeeting::lead(const MeetingRank& own, Deadline deadline) {
  if (own.world < 2) return {};
  const Descriptor door = listen_on_all(own.port);
  if (!door)
    return fail(ErrorClass::host, fmt::format("cannot listen for other ranks on port {}: {}",
                                              own.port, system_reason(errno)));
  while (static_cast<int>(others_.size()) + 1 < own.world) {
    auto socket = accept_from(door, deadline);
    if (!socket) break;
    const auto hello = socket->line(std::min(deadline, SteadyClock::now() + stranger_patience));
    if (hello) welcome(own, std::move(*socket), *hello);
  }
  for (int rank = 1; rank < own.world; ++rank)
    if (!others_.contains(rank))
      return fail(ErrorClass::host, fmt::format("rank {} has not come in time", rank));
  return {};
}

void RankMeeting::welcome(const MeetingRank& own, TimedSocket socket, const std::string& hello) {
  std::string_view rest = hello;
  if (take_word(rest) != "hello" || take_word(rest) != own.task) return;
  const std::string_view word = take_word(rest);
  int rank = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), rank);
  const bool is_number = error == std::errc() && end == word.data() + word.size();
  if (!is_number || rank < 1 || rank >= own.world || others_.contains(rank)) return;
  std::string address = socket.peer();
  others_.emplace(rank, Other{std::move(socket), std::move(address), std::string(rest)});
}

// Rank 0 may come later.
Result<void> RankMeeting::join(const MeetingRank& own, Deadline deadline) {
  while (true) {
    auto socket = TimedSocket::connect(own.address, own.port, deadline);
    if (!socket) {
      if (SteadyClock::now() + connect_pause >= deadline) return of_rank(0, socket.error());
      std::this_thread::sleep_for(connect_pause);
      continue;
    }
    others_.emplace(0, Other{std::move(*socket), own.address, {}});
    return send(0, fmt::format("hello {} {} {}", own.task, own.rank, own.words), deadline);
  }
}

}  // namespace train
