// SPDX-License-Identifier: Apache-2.0
#include "backends/visits/host_wait.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "backends/lease/lease_holders.hpp"
#include "backends/lease/task_ticket.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/timespec.hpp"
#include "backends/posix/unsent_output.hpp"
#include "backends/visits/host_inspection.hpp"
#include "launcher/frames/line_buffer.hpp"
#include "launcher/talks/wait_talk.hpp"

namespace train {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// The kernel does not notify of a released lock, so this polls. A task further back in the queue
// polls less often, so that a long queue puts no load on its host.
constexpr std::chrono::milliseconds look_pause = 100ms;
constexpr std::ptrdiff_t longest_look_pause = 20;  // multiples of look_pause
// The pause is at least this many times the CPU time of a look: looks of up to half a second take a
// twentieth of a processor at most. Longer ones take more, because `longest_pause` bounds the
// pause, so that a released lock is seen soon enough.
constexpr int looks_cost = 20;
constexpr std::chrono::milliseconds longest_pause = 10s;
constexpr auto young_pause = 600s;
// Finding foreign GPU users reads the open files of all processes, so it is done less often.
constexpr auto foreign_pause = 2s;

// Blocks the signals that would end the process: it must remove its ticket first.
Descriptor take_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) ::sigaddset(&signals, number);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return Descriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

// The CPU time of this thread.
std::chrono::milliseconds own_time() {
  timespec time{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::duration_cast<std::chrono::milliseconds>(in_nanoseconds(time));
}

// Clears the durations, which change all the time: their change alone is not reported.
WaitReport without_times(WaitReport report) {
  for (Ticket& ticket : report.tickets) ticket.waited_ms = 0;
  for (LeaseHolder& holder : report.host.holders) holder.held_ms = 0;
  return report;
}

/// One launcher's place in the queue of this host.
class Waiting {
 public:
  Waiting(const std::string& key, const AgentMeans& means, int output)
      : key_(key), means_(means), unsent_(output) {}

  // False when an unfinished line is too long.
  Result<bool> received(std::string_view bytes) {
    heard_ = Clock::now();
    text_.feed(bytes);
    while (const auto line = text_.next()) {
      if (line->empty()) continue;
      if (auto taken = take(*line); !taken) return tl::make_unexpected(taken.error());
    }
    return text_.rest().size() <= longest_wait_ticket;
  }

  bool is_forgotten() const { return Clock::now() - heard_ > wait_silence; }
  bool has_unsent() const { return !unsent_.is_empty(); }
  std::chrono::milliseconds pause() const { return pause_; }

  Result<void> look() {
    const auto now = Clock::now();
    if (ticket_ && now - looked_ >= pause_) {
      looked_ = now;
      if (!ticket_->is_there())
        return fail(ErrorClass::host, "somebody has removed the ticket of the task there");
      if (folder_.is_tidied && now - young_ >= young_pause) {
        young_ = now;
        ticket_->touch();
      }
      // Makes no new report while an old one is not sent completely: only the newest matters.
      if (!has_unsent()) {
        const auto before = own_time();
        send_report(report());
        pause_ = std::max(pause_, std::min(looks_cost * (own_time() - before), longest_pause));
      }
    }
    if (!has_unsent() && now - sent_at_ >= wait_sign_of_life) send("\n");
    return {};
  }

  // False when the other end is gone.
  bool flush() { return unsent_.send_some(); }

 private:
  Result<void> take(std::string_view line) {
    auto told = decode_wait_ticket(line);
    if (!told) return tl::make_unexpected(told.error());
    const Ticket& ticket = told->ticket;
    task_ = ticket.order.task;
    if (ticket.is_final) order_ = ticket.order;
    if (ticket_) return ticket_->write(ticket);
    auto folder = lease_folder_of(means_, told->directory);
    if (!folder) return tl::make_unexpected(folder.error());
    folder_ = std::move(*folder);
    host_ = inspect_resources(means_);
    auto made = TaskTicket::make(folder_, key_, ticket);
    if (!made) return tl::make_unexpected(made.error());
    ticket_.emplace(std::move(*made));
    return {};
  }

  WaitReport report() {
    const auto user_name_of = [this](std::int64_t uid) {
      const auto known = users_.find(uid);
      return known != users_.end() ? known->second
                                   : users_.emplace(uid, user_name_in_passwd(uid)).first->second;
    };
    inspect_leases(folder_, user_name_of, host_);
    if (looked_ - looked_for_foreign_ >= foreign_pause) {
      looked_for_foreign_ = looked_;
      foreign_ = foreign_users(means_, host_.holders, user_name_of);
    }
    host_.holders.insert(host_.holders.end(), foreign_.begin(), foreign_.end());
    WaitReport report{ticket_->arrived_ns(), std::exchange(host_.tickets, {}), host_};
    std::erase_if(report.tickets, [this](const Ticket& each) { return each.order.task == task_; });
    const auto before =
        std::count_if(report.tickets.begin(), report.tickets.end(), [this](const Ticket& each) {
          return order_ && blocks(each, task_, order_, ticket_->arrived_ns());
        });
    pause_ = look_pause * std::min(longest_look_pause, 1 + before);
    return report;
  }

  void send_report(const WaitReport& report) {
    WaitReport lasting = without_times(report);
    if (told_ == lasting) return;
    told_ = std::move(lasting);
    send(encode_wait_report(report));
  }

  void send(std::string_view text) {
    sent_at_ = Clock::now();
    unsent_.add(text);
  }

  const std::string key_;
  const AgentMeans& means_;
  LeaseFolder folder_;  ///< from the first line on
  HostReport host_;     ///< from the first line on
  std::map<std::int64_t, std::string> users_;
  LineBuffer text_;
  std::string task_;
  std::optional<TicketOrder> order_;  ///< once it is final
  std::optional<TaskTicket> ticket_;
  std::optional<WaitReport> told_;
  UnsentOutput unsent_;
  Clock::time_point heard_ = Clock::now();
  Clock::time_point sent_at_ = Clock::now();
  Clock::time_point looked_{};
  std::chrono::milliseconds pause_ = look_pause;  ///< from one look to the next
  Clock::time_point looked_for_foreign_{};
  std::vector<LeaseHolder> foreign_;
  Clock::time_point young_ = Clock::now();
};

Result<void> serve(Waiting& waiting, const Descriptor& signals, int input, int output) {
  std::array<char, 4096> buffer;
  while (!waiting.is_forgotten()) {
    if (auto looked = waiting.look(); !looked) return looked;
    if (!waiting.flush()) return {};
    const short wants_room = waiting.has_unsent() ? POLLOUT : 0;
    std::array<pollfd, 3> events{
        {{input, POLLIN, 0}, {signals.get(), POLLIN, 0}, {output, wants_room, 0}}};
    const int pause = static_cast<int>(waiting.pause().count());
    if (::poll(events.data(), events.size(), pause) < 0 && errno != EINTR) return {};
    if (events[1].revents != 0 || (events[2].revents & (POLLERR | POLLHUP)) != 0) return {};
    if (events[0].revents == 0) continue;
    const ssize_t count = read_some(input, buffer.data(), buffer.size());
    if (count < 0 && errno == EAGAIN) continue;
    if (count <= 0) return {};
    const auto goes_on = waiting.received({buffer.data(), static_cast<std::size_t>(count)});
    if (!goes_on) return tl::make_unexpected(goes_on.error());
    if (!*goes_on) return fail(ErrorClass::host, "the launcher's ticket has no end");
  }
  return {};
}

}  // namespace

Result<void> wait_in_line(const std::string& key, const AgentMeans& means, int input, int output) {
  const Descriptor signals = take_signals();
  for (const int end : {input, output})
    if (::fcntl(end, F_SETFL, ::fcntl(end, F_GETFL) | O_NONBLOCK) != 0)
      return fail(ErrorClass::host, "its streams cannot be used: " + system_reason(errno));
  Waiting waiting(key, means, output);
  return serve(waiting, signals, input, output);
}

}  // namespace train
