// SPDX-License-Identifier: Apache-2.0
#include "cli/task_commands/get_transfer.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <utility>
#include <vector>

#include "backends/context/context_files.hpp"
#include "backends/event_loop/background.hpp"
#include "backends/posix/files.hpp"
#include "cli/request/transports.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/text/duration.hpp"

namespace train {

namespace {

constexpr std::uint64_t most_troubles = 10;
// Slack for the window: a host counts before it sends, and its keep-alive answers come on top.
constexpr std::uint64_t window_slack = std::uint64_t{1} << 20;
constexpr milliseconds first_report{1'000};
constexpr milliseconds next_report{10'000};
// Time for a disk to remove what an interrupted transfer has written.
constexpr milliseconds longest_discard{5'000};

mode_t own_mask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

// Receives one file and writes it to standard output.
class StreamSink final : public ResultSink {
 public:
  Result<void> take(const GetMessage& message) override {
    const auto* found = std::get_if<get_talk::Found>(&message);
    if (found == nullptr || found->kind == get_talk::Kind::file) return {};
    return fail(ErrorClass::usage,
                fmt::format("'{}' is a folder: only a file goes to standard output", found->path),
                "give a directory in place of -");
  }
  Result<void> take_content(std::string_view bytes) override {
    const int error = write_whole(STDOUT_FILENO, bytes);
    if (error == 0) return {};
    is_unread_ = error == EPIPE;
    return fail(ErrorClass::no_input,
                fmt::format("cannot write to standard output: {}", system_reason(error)));
  }
  Result<void> finish() override { return {}; }
  Result<void> discard() override { return {}; }
  bool is_unread() const { return is_unread_; }

 private:
  std::atomic<bool> is_unread_{false};
};

// --- The transfer ---

std::string count_text(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// One transfer from a host, from its start to its end. Received data is written on another thread.
class Transfer {
 public:
  Transfer(const RankHost& where, const get_talk::Start& start,
           const std::optional<GetTarget>& target)
      : host_name_(where.host.name),
        start_(start),
        transports_(loop_, {where.host}, std::nullopt,
                    [](const std::string& said) { talk(TerminalText(said)); }),
        background_(loop_) {
    if (target) {
      writer_ = std::make_shared<ResultWriter>(target->folder, target->name, target->if_there,
                                               own_mask());
      sink_ = writer_;
    } else {
      stream_ = std::make_shared<StreamSink>();
      sink_ = stream_;
    }
    LinkEvents events;
    events.on_open = [this](const LinkInfo&) { opened(); };
    events.on_bytes = [this](std::string_view bytes) { receive(bytes); };
    events.on_closed = [this](const Error& why) {
      if (!order_.is_over()) lost(why);
    };
    link_ = transports_.open(where.host, {where.key, AgentCall::Verb::get}, std::move(events));
  }

  ExitCode run() {
    signals_ =
        loop_.on_signals({SIGINT, SIGTERM, SIGHUP}, [this](int number) { interrupted(number); });
    loop_.run();
    return code_;
  }

 private:
  // A received piece, for the writing thread.
  struct Piece {
    std::optional<GetMessage> message;  ///< nothing: the piece is content
    std::string content;
  };
  // Work of the writing thread; the loop reads it when the work is done.
  struct Work {
    std::vector<Piece> pieces;
    std::uint64_t bytes = 0;  ///< as the host counts them
    Result<void> result = {};
  };

  void opened() {
    heard_at_ = loop_.now();
    link_->send(encode_get(start_));
    stay_alive();
    if (writer_ && ::isatty(STDERR_FILENO) == 1)
      progress_ = loop_.after(first_report, [this] { show_progress(); });
  }

  void stay_alive() {
    if (is_ending_ || order_.is_over()) return;
    link_->send(encode_get(get_talk::Alive{}));
    alive_ = loop_.after(get_alive_period, [this] { stay_alive(); });
    if (loop_.now() - heard_at_ >= longest_get_silence)
      lost(make_error(ErrorClass::host,
                      fmt::format("no sign of life for {}", duration_text(longest_get_silence))));
  }

  void show_progress() {
    if (is_ending_) return;
    if (!path_.empty())
      talk(terminal_text("'{}' of host '{}' is on its way: {}{} so far", path_, host_name_,
                         size_text(content_bytes_), size_ ? " of " + size_text(*size_) : ""));
    progress_ = loop_.after(next_report, [this] { show_progress(); });
  }

  // --- Messages from the host ---

  void receive(std::string_view bytes) {
    if (is_ending_ || order_.is_over()) return;
    heard_at_ = loop_.now();
    decoder_.feed(bytes);
    while (!is_ending_ && !order_.is_over()) {
      const auto frame = decoder_.next();
      if (!frame) return lost(frame.error());
      if (!*frame) break;
      const std::uint64_t size = get_frame_size((*frame)->payload);
      arrived_ += size;
      if (arrived_ > told_ + get_window + window_slack)
        return lost(not_our_protocol("sent more than was asked for"));
      const auto taken = (*frame)->kind == FrameKind::output ? take_content((*frame)->payload)
                                                             : take((*frame)->payload);
      if (!taken) return lost(taken.error());
      waiting_.bytes += size;
    }
    write_waiting();
  }

  Result<void> take_content(std::string_view bytes) {
    if (auto legal = order_.take_content(bytes.size()); !legal) return legal;
    content_bytes_ += bytes.size();
    // Small pieces are merged, so that the queue takes little more memory than its bytes.
    std::vector<Piece>& pieces = waiting_.pieces;
    if (!pieces.empty() && !pieces.back().message &&
        pieces.back().content.size() + bytes.size() <= longest_get_piece)
      pieces.back().content += bytes;
    else
      pieces.push_back({std::nullopt, std::string(bytes)});
    return {};
  }

  Result<void> take(std::string_view payload) {
    auto message = decode_get(payload);
    if (!message) return tl::make_unexpected(message.error());
    if (auto legal = order_.take(*message); !legal) return legal;
    if (const auto* found = std::get_if<get_talk::Found>(&*message)) {
      path_ = found->path;
      if (found->kind == get_talk::Kind::file) size_ = found->size;
    } else if (const auto* trouble = std::get_if<get_talk::Trouble>(&*message)) {
      report_trouble(*trouble);
      return {};
    } else if (const auto* end = std::get_if<get_talk::End>(&*message)) {
      end_ = *end;
      return {};
    } else if (std::holds_alternative<get_talk::Alive>(*message)) {
      return {};
    }
    waiting_.pieces.push_back({std::move(*message), {}});
    return {};
  }

  void report_trouble(const get_talk::Trouble& trouble) {
    if (trouble.is_loss) ++losses_;
    if (++troubles_ <= most_troubles)
      talk(terminal_text("host '{}': '{}' {}{}", host_name_, trouble.path, trouble.why,
                         trouble.is_loss ? "" : ", and is left out"));
  }

  // --- Writing ---

  void write_waiting() {
    if (is_working_ || is_ending_) return;
    if (waiting_.bytes == 0) {
      if (order_.is_over()) all_came();
      return;
    }
    auto work = std::make_shared<Work>(std::exchange(waiting_, {}));
    is_working_ = true;
    run_beside(
        [work, sink = sink_, cancelled = cancelled_] {
          for (const Piece& piece : work->pieces) {
            if (*cancelled || !work->result) return;
            work->result =
                piece.message ? sink->take(*piece.message) : sink->take_content(piece.content);
          }
        },
        [this, work] {
          is_working_ = false;
          if (is_ending_) return;
          if (!work->result) return failed(work->result.error());
          told_ += work->bytes;
          if (!order_.is_over()) link_->send(encode_get(get_talk::Taken{told_}));
          write_waiting();
        });
  }

  void run_beside(std::function<void()> work, std::function<void()> done) {
    if (auto started = background_.run(std::move(work), std::move(done)); !started)
      leave(report(started.error()));
  }

  void all_came() {
    if (!end_.refusal.empty())
      return failed(make_error(ErrorClass::no_input,
                               fmt::format("host '{}': {}", host_name_, end_.refusal), end_.hint));
    is_ending_ = true;
    const auto result = std::make_shared<Result<void>>();
    run_beside([sink = sink_, result] { *result = sink->finish(); },
               [this, result] {
                 if (!*result) return discard_and(report(result->error()));
                 leave(report_result());
               });
  }

  ExitCode report_result() {
    if (troubles_ > most_troubles)
      talk(terminal_text("and {} more that did not come", troubles_ - most_troubles));
    const std::uint64_t files = writer_ ? writer_->files() : (losses_ == 0 ? 1 : 0);
    const std::uint64_t bytes = writer_ ? writer_->bytes() : content_bytes_;
    if (size_ && losses_ > 0)  // the lost part belongs to the requested file itself
      return report(
          make_error(ErrorClass::no_input,
                     fmt::format("'{}' of host '{}' did not come whole{}", path_, host_name_,
                                 writer_ ? ", and nothing of it is kept" : ""),
                     "get it again when nothing writes to it"));
    TerminalText said = terminal_text("{} ({}) from host '{}'", count_text(files, "file"),
                                      size_text(bytes), host_name_);
    if (writer_) said += terminal_text(" in '{}'", writer_->path());
    talk(said);
    if (losses_ == 0) return ExitCode();
    return report(make_error(ErrorClass::no_input,
                             fmt::format("{} of '{}' could not be read, or changed meanwhile; all "
                                         "else is here",
                                         count_text(losses_, "part"), path_)));
  }

  // --- Interruption and failure ---

  // A rename or removal that is in progress is allowed to finish; a second signal does not wait for
  // it.
  void interrupted(int number) {
    const ExitCode code(128 + number);
    if (stream_ || discarding_) return leave(code);
    discarding_ = loop_.after(longest_discard, [this, code] {
      talk(terminal_text("interrupted; '{}' may be left", writer_->part_path()));
      leave(code);
    });
    if (is_ending_) return;
    is_ending_ = true;
    talk(TerminalText("interrupted: nothing of it is kept"));
    discard_and(code);
  }

  void lost(const Error& why) {
    Error error = with_context(why, fmt::format("host '{}'", host_name_));
    if (!path_.empty())
      error.diagnostics.front().more_hints.emplace_back(
          writer_ ? "nothing of what has come is kept" : "what was written is not all of it");
    failed(error);
  }

  void failed(const Error& why) {
    if (is_ending_) return;
    is_ending_ = true;
    if (stream_ && stream_->is_unread()) return leave(ExitCode(128 + SIGPIPE));
    const ExitCode code = report(why);
    if (stream_) return leave(code);  // a write to a pipe may block until its reader continues
    discard_and(code);
  }

  void discard_and(ExitCode code) {
    *cancelled_ = true;
    const auto result = std::make_shared<Result<void>>();
    run_beside([sink = sink_, result] { *result = sink->discard(); },
               [this, result, code] {
                 if (!*result) talk(terminal_text("{}", in_one_line(result->error())));
                 leave(code);
               });
  }

  void leave(ExitCode code) {
    is_ending_ = true;
    code_ = code;
    loop_.stop();
  }

  const std::string host_name_;
  const get_talk::Start start_;
  Loop loop_;
  HostTransports transports_;
  FrameDecoder decoder_{FrameSender::agent};
  GetOrder order_;
  std::shared_ptr<ResultWriter> writer_;  ///< either this or the next exists; `sink_` refers to it
  std::shared_ptr<StreamSink> stream_;
  std::shared_ptr<ResultSink> sink_;
  std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  Work waiting_;  ///< received while other data is being written
  bool is_working_ = false;
  bool is_ending_ = false;
  std::uint64_t arrived_ = 0;  ///< bytes of frames
  std::uint64_t told_ = 0;     ///< of those, the written ones that were acknowledged to the host
  std::string path_;           ///< on the host; empty until it is found
  std::optional<std::uint64_t> size_;  ///< if it is a file
  std::uint64_t content_bytes_ = 0;
  std::uint64_t troubles_ = 0;
  std::uint64_t losses_ = 0;  ///< troubles that lost a part
  get_talk::End end_;
  Instant heard_at_{};
  ExitCode code_;
  std::unique_ptr<HostLink> link_;
  std::unique_ptr<Subscription> signals_;
  std::unique_ptr<Subscription> alive_;
  std::unique_ptr<Subscription> progress_;
  std::unique_ptr<Subscription> discarding_;
  Background background_;  ///< destroyed first, because its callbacks use the other members
};

}  // namespace

ExitCode transfer_results(const RankHost& where, const get_talk::Start& start,
                          const std::optional<GetTarget>& target) {
  std::signal(SIGPIPE, SIG_IGN);
  return Transfer(where, start, target).run();
}

}  // namespace train
