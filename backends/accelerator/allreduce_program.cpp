// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/allreduce_program.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "backends/posix/connected_process.hpp"
#include "backends/posix/files.hpp"
#include "config_schema/text/duration.hpp"
#include "config_schema/text/line_words.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/frames/line_buffer.hpp"

namespace train {

namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t longest_line = 4'096;
constexpr std::size_t longest_word = 600;  // of a line of standard error
constexpr std::size_t told_lines = 3;      // how many of the last lines are reported

// The text before the name of the network in NCCL's log, up to release 2.26 and in later ones. The
// name ends at a blank or at the end of the line.
constexpr std::string_view network_words[] = {"NCCL INFO Using network ",
                                              "NCCL INFO Assigned NET plugin "};

}  // namespace

class AllReduceProcess::Conversation {
 public:
  Conversation(ConnectedProcess process, const AllReduceCall& call)
      : process_(std::move(process)), talk_(call.rank, call.largest) {}
  ~Conversation() { end_connected(process_); }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  const AllReduceTalk& talk() const { return talk_; }
  const std::string& network() const { return network_; }

  // Reads until `is_enough`; `late` is the error text for the limit: what has not happened by then.
  template <class IsEnough>
  Result<void> receive(IsEnough is_enough, milliseconds limit, std::string_view late) {
    const auto deadline = Steady::now() + limit;
    while (!is_enough(talk_)) {
      auto more = receive_more(deadline);
      if (more && !*more)
        more = fail(ErrorClass::host,
                    with_last_words(fmt::format("{} within {}", late, short_duration_text(limit))));
      if (more) continue;
      end_connected(process_);
      return tl::make_unexpected(more.error());
    }
    return {};
  }

  Result<void> send(std::string_view line) {
    const auto sent = uninterrupted(
        [&] { return ::send(process_.stream.get(), line.data(), line.size(), MSG_NOSIGNAL); });
    if (sent == static_cast<ssize_t>(line.size())) return {};
    end_connected(process_);
    return fail(ErrorClass::host, with_last_words("it does not hear by what id the ranks meet"));
  }

  // Waits for its end, which releases the GPU.
  void await_end(Steady::time_point deadline) {
    (void)has_ended(process_.pidfd, milliseconds_until(deadline));
    end_connected(process_);
  }

 private:
  static int milliseconds_until(Steady::time_point deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Steady::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT32_MAX));
  }

  // Processes a complete line if there is one, else reads once; false at the deadline.
  Result<bool> receive_more(Steady::time_point deadline) {
    if (const auto line = lines_.next()) {
      auto taken = talk_.take(*line);
      if (!taken) return tl::make_unexpected(taken.error());
      return true;
    }
    const int left = milliseconds_until(deadline);
    if (left == 0) return false;
    pollfd streams[2] = {{process_.stream.get(), POLLIN, 0},
                         {has_errors_ ? process_.errors.get() : -1, POLLIN, 0}};
    if (::poll(streams, 2, left) <= 0) return true;
    if (streams[1].revents != 0) read_errors();
    if (streams[0].revents != 0) return read_answers();
    return true;
  }

  Result<bool> read_answers() {
    char buffer[4'096];
    const ssize_t count = read_some(process_.stream.get(), buffer, sizeof buffer);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (count <= 0) return tl::make_unexpected(explain_end());
    lines_.feed({buffer, static_cast<std::size_t>(count)});
    if (lines_.rest().size() > longest_line + sizeof buffer)
      return fail(ErrorClass::host, "NCCL or the driver prints without end where answers belong");
    return true;
  }

  void read_errors() {
    char buffer[4'096];
    const ssize_t count = read_some(process_.errors.get(), buffer, sizeof buffer);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    has_errors_ = count > 0;
    error_lines_.feed({buffer, static_cast<std::size_t>(std::max<ssize_t>(count, 0))});
    if (!has_errors_ || error_lines_.rest().size() > longest_line) error_lines_.feed("\n");
    while (const auto line = error_lines_.next()) take_error(*line);
  }

  // Drops NCCL's informational lines, after looking for the name of the network in them.
  void take_error(std::string_view line) {
    line = trim(line);
    for (const std::string_view words : network_words)
      if (const std::size_t at = line.find(words); at != line.npos) {
        std::string_view rest = line.substr(at + words.size());
        network_ = next_word(rest).substr(0, longest_nccl_network);
      }
    if (line.empty() || line.find(" NCCL INFO ") != line.npos) return;
    last_words_.emplace_back(line.substr(0, longest_word));
    if (last_words_.size() > told_lines) last_words_.erase(last_words_.begin());
  }

  // The process has closed its output before it was done: it has ended, or is about to.
  Error explain_end() {
    (void)has_ended(process_.pidfd, end_patience);
    const auto status = reap(process_.pidfd.get(), Instant{0});
    std::string how = "it has closed its output and not ended";
    if (status && *status) {
      process_.pid = -1;
      how = (*status)->signal ? fmt::format("it was ended by signal {}", *(*status)->signal)
                              : fmt::format("it ended with code {}", (*status)->code.value_or(-1));
    }
    return make_error(ErrorClass::host, with_last_words(how));
  }

  std::string with_last_words(std::string text) {
    pollfd errors{process_.errors.get(), POLLIN, 0};
    for (int i = 0; i < most_reads && has_errors_ && ::poll(&errors, 1, 0) > 0; ++i) read_errors();
    if (!trim(error_lines_.rest()).empty()) {
      error_lines_.feed("\n");
      while (const auto line = error_lines_.next()) take_error(*line);
    }
    const char* before = ": ";
    for (const std::string& line : last_words_) {
      text.append(before).append(line);
      before = "; ";
    }
    return text;
  }

  static constexpr int end_patience = 1'000;  // milliseconds
  static constexpr int most_reads = 64;       // it may print without end

  ConnectedProcess process_;
  AllReduceTalk talk_;
  LineBuffer lines_;
  bool has_errors_ = true;
  LineBuffer error_lines_;
  std::vector<std::string> last_words_;
  std::string network_;
};

AllReduceProcess::AllReduceProcess(std::unique_ptr<Conversation> conversation)
    : conversation_(std::move(conversation)) {}
AllReduceProcess::~AllReduceProcess() = default;
AllReduceProcess::AllReduceProcess(AllReduceProcess&&) noexcept = default;
AllReduceProcess& AllReduceProcess::operator=(AllReduceProcess&&) noexcept = default;

Result<std::string> AllReduceProcess::id(milliseconds limit) {
  const auto heard = conversation_->receive([](const auto& talk) { return !talk.id().empty(); },
                                            limit, "NCCL has made no id for the ranks to meet by");
  if (!heard) return tl::make_unexpected(heard.error());
  return conversation_->talk().id();
}

Result<void> AllReduceProcess::give_id(std::string_view id) {
  if (!is_allreduce_id(id))
    return fail(ErrorClass::host, "what rank 0 says for the ranks to meet by is no id of NCCL");
  return conversation_->send(fmt::format("id {}\n", id));
}

Result<AllReduceFacts> AllReduceProcess::finish(milliseconds limit) {
  const AllReduceTalk& talk = conversation_->talk();
  while (!talk.is_done()) {
    const std::size_t told = talk.facts().times.size();
    const auto heard = conversation_->receive(
        [&](const auto&) { return talk.is_done() || talk.facts().times.size() > told; }, limit,
        "NCCL got no further");
    if (!heard) return tl::make_unexpected(heard.error());
  }
  conversation_->await_end(Steady::now() + limit);
  AllReduceFacts facts = talk.facts();
  facts.network = conversation_->network();
  return facts;
}

Result<AllReduceProcess> start_allreduce(const DeviceProgram& program, const AllReduceCall& call,
                                         milliseconds limit) {
  const auto file = file_of(program);
  if (!file) return tl::make_unexpected(file.error());
  auto started =
      start_connected({.program = DeviceProgram::name,
                       .arguments = {DeviceProgram::name, "allreduce", std::to_string(call.rank),
                                     std::to_string(call.world), std::to_string(call.device),
                                     call.library, std::to_string(call.largest)},
                       .environment = call.environment,
                       .program_file = file->get()});
  if (!started) return tl::make_unexpected(started.error());
  auto conversation = std::make_unique<AllReduceProcess::Conversation>(std::move(*started), call);
  const auto heard = conversation->receive([](const auto& talk) { return talk.is_ready(); }, limit,
                                           "the GPU was not ready for an all-reduce");
  if (!heard) return tl::make_unexpected(heard.error());
  return AllReduceProcess(std::move(conversation));
}

}  // namespace train
