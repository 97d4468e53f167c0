// SPDX-License-Identifier: Apache-2.0
#include "backends/network/rank_meeting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "config_schema/text/line_words.hpp"
#include "config_schema/text/text.hpp"

// A rank sends "hello TASK RANK WORDS" first.
namespace train {

namespace {

using namespace std::chrono_literals;

constexpr auto hello_patience = 1s;
constexpr auto connect_pause = 50ms;

}  // namespace

tl::unexpected<Error> of_rank(int rank, const Error& error) {
  return fail(ErrorClass::host,
              fmt::format("rank {}: {}", rank, error.diagnostics.front().message));
}

tl::unexpected<Error> misunderstood(int rank) {
  return fail(ErrorClass::host, fmt::format("rank {} says what is not understood", rank));
}

Result<RankMeeting> RankMeeting::meet(const MeetingRank& own, std::string_view words,
                                      Deadline deadline) {
  RankMeeting meeting;
  auto met = own.rank == 0 ? meeting.lead(own, deadline) : meeting.join(own, words, deadline);
  if (!met) return tl::make_unexpected(met.error());
  return meeting;
}

Result<void> RankMeeting::send(int rank, std::string_view line, Deadline deadline) {
  auto sent = others_.at(rank).socket.send(std::string(line) + "\n", deadline);
  if (!sent) return of_rank(rank, sent.error());
  return {};
}

Result<std::string> RankMeeting::receive(int rank, Deadline deadline) {
  auto line = others_.at(rank).socket.line(deadline);
  if (!line) return of_rank(rank, line.error());
  return line;
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
    const auto hello =
        socket->line(std::min(deadline, std::chrono::steady_clock::now() + hello_patience));
    if (hello) welcome(own, std::move(*socket), *hello);
  }
  for (int rank = 1; rank < own.world; ++rank)
    if (!others_.contains(rank))
      return fail(ErrorClass::host, fmt::format("rank {} has not come in time", rank));
  return {};
}

void RankMeeting::welcome(const MeetingRank& own, TimedSocket socket, std::string_view hello) {
  if (next_word(hello) != "hello" || next_word(hello) != own.task) return;
  const auto rank = whole_number(next_word(hello), 1, own.world - 1);
  if (!rank || others_.contains(*rank)) return;
  std::string address = socket.peer();
  others_.emplace(*rank, Other{std::move(socket), std::move(address), std::string(hello)});
}

// Retries, since rank 0 may start later.
Result<void> RankMeeting::join(const MeetingRank& own, std::string_view words, Deadline deadline) {
  while (true) {
    auto socket = TimedSocket::connect(own.address, own.port, deadline);
    if (!socket) {
      if (std::chrono::steady_clock::now() + connect_pause >= deadline)
        return of_rank(0, socket.error());
      std::this_thread::sleep_for(connect_pause);
      continue;
    }
    others_.emplace(0, Other{std::move(*socket), own.address, {}});
    return send(0, fmt::format("hello {} {} {}", own.task, own.rank, words), deadline);
  }
}

}  // namespace train
