// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "backends/context/context_files.hpp"
#include "backends/event_loop/background.hpp"
#include "backends/posix/files.hpp"
#include "backends/results/result_writer.hpp"
#include "cli/commands.hpp"
#include "cli/request.hpp"
#include "cli/state_directory.hpp"
#include "cli/talk.hpp"
#include "cli/task_hosts.hpp"
#include "cli/transports.hpp"
#include "config_schema/text/duration.hpp"
#include "launcher/task/rerun_request.hpp"
#include "launcher/wire/get_talk.hpp"

namespace train {

namespace {

constexpr std::string_view standard_output = "-";
constexpr std::uint64_t most_troubles = 10;
// A host counts before it sends, and what it answers to signs of life comes on top.
constexpr std::uint64_t window_slack = std::uint64_t{1} << 20;
constexpr milliseconds first_report{1'000};
constexpr milliseconds next_report{10'000};
// How long a disk may take to give back what an interrupted transfer has written.
constexpr milliseconds longest_discard{5'000};

// --- What is asked for, and where it goes ---

std::string without_slashes_at_its_end(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// Where a rank has started, as the host finds it.
Result<get_talk::Start> wanted(const SqliteTaskStore& store, const TaskRecord& task,
                               const std::string& path) {
  get_talk::Start start{path, {}, !task.context.directory.empty()};
  if (path.starts_with('/')) return start;
  const auto unknown = [&](const Error& why) {
    return fail(ErrorClass::no_input,
                fmt::format("where the ranks of task {} started is not on record: {}", task.id,
                            in_one_line(why)),
                "give the path from / on");
  };
  const auto text = store.read_launch(task.id);
  if (!text) return unknown(text.error());
  const auto kept = decode_rerun(*text);
  if (!kept) return unknown(kept.error());
  const auto experiment = kept->config.empty()
                              ? make_experiment(kept->overrides, ReadFor::checking)
                              : parse_experiment({kept->config, kept->experiment_text},
                                                 kept->overrides, ReadFor::checking);
  if (!experiment) return unknown(experiment.error());
  const std::string& directory = experiment->working_directory;
  if (start.in_context)
    start.directory = directory_in_context(directory);
  else if (directory.empty())
    start.directory = task.working_directory;
  else
    start.directory = without_slashes_at_its_end(
        (std::filesystem::path(task.working_directory) / directory).lexically_normal().string());
  return start;
}

struct Target {
  std::string folder;
  std::string name;
};

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<Target> target_of(const TaskGetFlags& flags) {
  const auto last_name = [](const std::string& path) {
    const std::string whole = without_slashes_at_its_end(path);
    return whole.substr(whole.rfind('/') + 1);
  };
  const std::string to = flags.to.empty() ? "." : flags.to;
  Target target;
  if (is_directory(to)) {
    target = {to, last_name(flags.path)};
    if (!is_entry_name(target.name))
      return fail(ErrorClass::usage,
                  fmt::format("'{}' has no name that it could have here", flags.path),
                  "say what it is to be called: train task get TASK PATH NAME");
  } else {
    target.name = last_name(to);
    const std::string whole = without_slashes_at_its_end(to);
    const std::size_t slash = whole.rfind('/');
    target.folder = slash == whole.npos ? "." : slash == 0 ? "/" : whole.substr(0, slash);
    if (to.ends_with('/')) target.folder = whole;
    if (!is_directory(target.folder))
      return fail(ErrorClass::no_input, fmt::format("there is no directory '{}'", target.folder),
                  "make it, or give another place");
    if (!is_entry_name(target.name))
      return fail(ErrorClass::usage, fmt::format("'{}' is no name of a file", target.name));
  }
  struct stat status {};
  const std::string path = (std::filesystem::path(target.folder) / target.name).lexically_normal();
  if (!flags.force && ::lstat(path.c_str(), &status) == 0)
    return fail(ErrorClass::usage, fmt::format("'{}' is there already", path),
                "--force writes over it");
  return target;
}

// A file, as it comes.
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

// What a host sends, from here to its end. What comes is written beside the loop.
class Get {
 public:
  Get(const TaskGetFlags& flags, const RankHost& where, get_talk::Start start,
      const std::optional<Target>& target, mode_t mask)
      : host_name_(where.host.name),
        start_(std::move(start)),
        target_(target),
        transports_(loop_, {where.host}, std::nullopt,
                    [](const std::string& said) { talk(TerminalText(said)); }),
        background_(loop_) {
    if (target) {
      writer_ = std::make_shared<ResultWriter>(
          target->folder, target->name, flags.force ? IfThere::replace : IfThere::refuse, mask);
      sink_ = writer_;
    } else {
      stream_ = std::make_shared<StreamSink>();
      sink_ = stream_;
    }
    LinkEvents events;
    events.on_open = [this](const LinkInfo&) { opened(); };
    events.on_bytes = [this](std::string_view bytes) { heard(bytes); };
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
  // What has come, for the one who writes it.
  struct Piece {
    std::optional<GetMessage> message;  ///< nothing: content
    std::string content;
  };
  // What is written on the thread beside the loop; the loop reads it when that is over.
  struct Work {
    std::vector<Piece> pieces;
    std::uint64_t bytes = 0;  ///< as the host counts them
    Result<void> result = {};
  };

  void opened() {
    heard_at_ = loop_.now();
    link_->send(encode_get(start_));
    stay_alive();
    if (target_ && ::isatty(STDERR_FILENO) == 1)
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

  // --- What the host says ---

  void heard(std::string_view bytes) {
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
    waiting_.pieces.push_back({std::nullopt, std::string(bytes)});
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
      told_of(*trouble);
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

  void told_of(const get_talk::Trouble& trouble) {
    if (trouble.is_loss) ++losses_;
    if (++troubles_ <= most_troubles)
      talk(terminal_text("host '{}': '{}' {}{}", host_name_, trouble.path, trouble.why,
                         trouble.is_loss ? "" : ", and is left out"));
  }

  // --- What is written ---

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
                 leave(said_what_came());
               });
  }

  ExitCode said_what_came() {
    if (troubles_ > most_troubles)
      talk(terminal_text("and {} more that did not come", troubles_ - most_troubles));
    const std::uint64_t files = writer_ ? writer_->files() : (losses_ == 0 ? 1 : 0);
    const std::uint64_t bytes = writer_ ? writer_->bytes() : content_bytes_;
    const std::string place =
        target_ ? (std::filesystem::path(target_->folder) / target_->name).lexically_normal() : "";
    if (size_ && losses_ > 0)  // it was that file alone
      return report(
          make_error(ErrorClass::no_input,
                     fmt::format("'{}' of host '{}' did not come whole{}", path_, host_name_,
                                 target_ ? ", and nothing of it is kept" : ""),
                     "get it again when nothing writes to it"));
    TerminalText said = terminal_text("{} ({}) from host '{}'", count_text(files, "file"),
                                      size_text(bytes), host_name_);
    if (target_) said += terminal_text(" in '{}'", place);
    talk(said);
    if (losses_ == 0) return ExitCode();
    return report(make_error(ErrorClass::no_input,
                             fmt::format("{} of '{}' could not be read, or changed meanwhile; all "
                                         "else is here",
                                         count_text(losses_, "part"), path_)));
  }

  // --- How it ends otherwise ---

  void interrupted(int number) {
    const ExitCode code(128 + number);
    if (is_ending_ || stream_) return leave(code);
    is_ending_ = true;
    discarding_ = loop_.after(longest_discard, [this, code] {
      talk(terminal_text("interrupted; '{}' may be left", writer_->part_path()));
      leave(code);
    });
    talk(TerminalText("interrupted: nothing of it is kept"));
    discard_and(code);
  }

  void lost(const Error& why) {
    Error error = with_context(why, fmt::format("host '{}'", host_name_));
    error.diagnostics.front().more_hints.emplace_back(
        target_ ? "nothing of what has come is kept" : "what was written is not all of it");
    failed(error);
  }

  void failed(const Error& why) {
    if (is_ending_) return;
    is_ending_ = true;
    if (stream_ && stream_->is_unread()) return leave(ExitCode(128 + SIGPIPE));
    const ExitCode code = report(why);
    if (stream_) return leave(code);  // what is written to a pipe waits for its reader
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
  const std::optional<Target> target_;  ///< nothing: standard output
  Loop loop_;
  HostTransports transports_;
  FrameDecoder decoder_{FrameSender::agent};
  GetOrder order_;
  std::shared_ptr<ResultWriter> writer_;  ///< one of these is there, as the sink
  std::shared_ptr<StreamSink> stream_;
  std::shared_ptr<ResultSink> sink_;
  std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  Work waiting_;  ///< that has come while other things are written
  bool is_working_ = false;
  bool is_ending_ = false;
  std::uint64_t arrived_ = 0;          ///< bytes of frames
  std::uint64_t told_ = 0;             ///< of those, that were written, as the host knows
  std::string path_;                   ///< there; empty until it is found
  std::optional<std::uint64_t> size_;  ///< of a file
  std::uint64_t content_bytes_ = 0;
  std::uint64_t troubles_ = 0;
  std::uint64_t losses_ = 0;  ///< of those
  get_talk::End end_;
  Instant heard_at_{};
  ExitCode code_;
  std::unique_ptr<HostLink> link_;
  std::unique_ptr<Subscription> signals_;
  std::unique_ptr<Subscription> alive_;
  std::unique_ptr<Subscription> progress_;
  std::unique_ptr<Subscription> discarding_;
  Background background_;  ///< destroyed first, because its results use the other members
};

mode_t own_mask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

}  // namespace

ExitCode task_get_command(const TaskGetFlags& flags) {
  std::optional<Target> target;
  if (flags.to != standard_output) {
    auto found = target_of(flags);
    if (!found) return report(found.error());
    target = std::move(*found);
  }
  auto store = open_task_store();
  if (!store) return report(store.error());
  const auto task = (*store)->find(flags.task);
  if (!task) return report(task.error());
  const auto where = read_rank_host(**store, *task, flags.rank);
  if (!where) return report(where.error());
  auto start = wanted(**store, *task, flags.path);
  if (!start) return report(start.error());
  store->reset();  // it may take long
  std::signal(SIGPIPE, SIG_IGN);
  const mode_t mask = own_mask();
  return Get(flags, *where, std::move(*start), target, mask).run();
}

}  // namespace train
