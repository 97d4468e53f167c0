// SPDX-License-Identifier: Apache-2.0
#include "backends/visits/rank_exec.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backends/posix/child.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "backends/posix/unsent_output.hpp"
#include "backends/process/agent_record.hpp"
#include "backends/process/process_tree.hpp"
#include "launcher/talks/exec_talk.hpp"

namespace train {

namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

// No more output is read while this much waits for the client.
constexpr std::size_t most_waiting = 256u << 10;
// The time between SIGHUP and SIGKILL.
constexpr auto exec_patience = 2s;
constexpr nanoseconds exec_kill_limit = 5s;

// A running rank of the agent, and its environment, which the command gets.
struct Rank {
  int pid = 0;
  Descriptor process;
  std::string environment;  ///< NUL-terminated entries
};

bool has_entry(std::string_view environment, std::string_view entry) {
  const auto entries = environment_entries(environment);
  return std::find(entries.begin(), entries.end(), entry) != entries.end();
}

Result<Rank> find_rank(const HostDirectory& directory, const std::string& key,
                       const exec_talk::Start& wanted) {
  const int number = wanted.rank;
  const Descriptor file(::openat(directory.descriptor(), HostDirectory::lock_name(key).c_str(),
                                 O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  const AgentRecord record = file ? read_agent_record(file.get()) : AgentRecord();
  const bool is_here =
      record.boot_id == boot_id() && record.pid_namespace == record_of_this_process().pid_namespace;
  // Older agents did not record the numbers of ranks.
  const std::string mark = fmt::format("RANK={}", number);
  for (const AgentRecord::Rank& each : record.ranks) {
    if (!is_here) break;
    Rank rank{each.pid, open_process(each.pid), environment_of(each.pid)};
    const auto status = status_of(each.pid);
    const bool lives = rank.process && status && !status->has_ended() &&
                       status->start <= each.started_by && !rank.environment.empty();
    const bool is_it = each.number < 0 ? has_entry(rank.environment, mark)
                                       : each.number == number && each.trial == wanted.trial;
    if (lives && is_it) return rank;
  }
  return fail(ErrorClass::no_input,
              fmt::format("rank {} does not run, or has hidden its environment", number));
}

// The cgroup.procs file of the cgroup (version 2) of a process; empty if there is none.
std::string cgroup_file_of(int pid) {
  const std::string text = read_small_file(fmt::format("/proc/{}/cgroup", pid));
  for (const CgroupMembership& each : cgroups_in(text))
    if (each.hierarchy.empty() && each.path.size() > 1)
      return fmt::format("/sys/fs/cgroup{}/cgroup.procs", each.path);
  return {};
}

mode_t umask_of(int pid) {
  const std::string text = read_small_file(fmt::format("/proc/{}/status", pid));
  constexpr std::string_view name = "\nUmask:";
  const std::size_t place = text.find(name);
  constexpr int octal = 8;
  constexpr mode_t usual = 022;
  if (place == text.npos) return usual;
  return static_cast<mode_t>(::strtoul(text.c_str() + place + name.size(), nullptr, octal));
}

// The properties that the child takes over from the rank, read before the fork.
struct Beside {
  pid_t parent = 0;
  Descriptor directory;
  int directory_error = 0;  ///< errno, if it could not be opened
  Descriptor cgroup;        ///< its cgroup.procs, open for writing
  mode_t mask = 0;
  std::map<int, rlimit> limits;
  std::vector<char> cpus;  ///< the CPU mask, in the kernel's format
  std::vector<std::string> environment;
};

Beside beside(const Rank& rank, const exec_talk::Start& start) {
  Beside it;
  it.directory = Descriptor(
      ::open(fmt::format("/proc/{}/cwd", rank.pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!it.directory) it.directory_error = errno;
  it.parent = ::getpid();
  if (const std::string file = cgroup_file_of(rank.pid); !file.empty())
    it.cgroup = Descriptor(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  it.mask = umask_of(rank.pid);
  for (int each = 0; each < static_cast<int>(RLIM_NLIMITS); ++each) {
    rlimit limit{};
    if (::prlimit(rank.pid, static_cast<__rlimit_resource>(each), nullptr, &limit) == 0)
      it.limits[each] = limit;
  }
  constexpr std::size_t most_cpu_bytes = 8'192;
  it.cpus.resize(most_cpu_bytes);
  if (::sched_getaffinity(rank.pid, it.cpus.size(), reinterpret_cast<cpu_set_t*>(it.cpus.data())) !=
      0)
    it.cpus.clear();
  for (const std::string_view entry : environment_entries(rank.environment))
    if (!start.terminal || !entry.starts_with("TERM=")) it.environment.emplace_back(entry);
  if (start.terminal && !start.terminal_type.empty())
    it.environment.push_back("TERM=" + start.terminal_type);
  return it;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Runs in the child, until it executes the program. On failure writes errno to `told`, negated if
// the working directory could not be entered.
[[noreturn]] void become(const Beside& it, std::vector<std::string>& command,
                         std::vector<std::string>& environment, const std::array<int, 3>& standard,
                         bool has_terminal, int told) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != it.parent) ::_exit(127);  // it ended before that call
  ::setsid();
  if (it.cgroup) (void)!::write(it.cgroup.get(), "0", 1);
  for (int stream = 0; stream < 3; ++stream)
    ::dup2(standard[static_cast<std::size_t>(stream)], stream);
  if (has_terminal) (void)::ioctl(STDIN_FILENO, TIOCSCTTY, 0);
  for (const auto& [resource, limit] : it.limits) {
    rlimit wanted = limit;
    const auto which = static_cast<__rlimit_resource>(resource);
    if (::setrlimit(which, &wanted) == 0) continue;
    rlimit own{};  // only root can raise a hard limit, so this uses the lower one
    if (::getrlimit(which, &own) != 0) continue;
    wanted = {std::min(limit.rlim_cur, own.rlim_max), std::min(limit.rlim_max, own.rlim_max)};
    (void)::setrlimit(which, &wanted);
  }
  if (!it.cpus.empty())
    (void)::sched_setaffinity(0, it.cpus.size(),
                              reinterpret_cast<const cpu_set_t*>(it.cpus.data()));
  ::umask(it.mask);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  int error = 0;
  if (!it.directory || ::fchdir(it.directory.get()) != 0) {
    error = it.directory ? -errno : -it.directory_error;
  } else {
    std::vector<char*> arguments = pointers_to(command);
    std::vector<char*> variables = pointers_to(environment);
    ::environ = variables.data();
    ::execvp(arguments.front(), arguments.data());
    error = errno;
  }
  (void)!::write(told, &error, sizeof error);
  ::_exit(127);
}

class RankExec {
 public:
  RankExec(const HostDirectory& directory, const std::string& key, int input, int output)
      : directory_(directory), key_(key), input_(input), output_(output), unsent_(output) {
    make_nonblocking(input_);
    make_nonblocking(output_);
  }

  void run() {
    while (!is_over_) {
      look_at_time();
      wait();
    }
    if (child_ > 0) (void)kill_all_descendants(exec_kill_limit);
    child_ = 0;
    killed_at_.reset();
    // Waits until the client has read the rest, however slowly, or is gone.
    while (!unsent_.is_empty() && !is_peer_closed_) {
      look_at_time();
      wait_for_asker();
    }
  }

 private:
  // --- The client ---

  void send(const ExecMessage& message) { unsent_.add(encode_exec(message)); }
  void refuse(const std::string& why, bool is_missing = false) {
    exec_talk::End end;
    end.refusal = why;
    end.is_missing = is_missing;
    send(end);
    is_over_ = true;
  }

  void receive_some() {
    std::array<char, longest_exec_piece> bytes{};
    const ssize_t count = ::read(input_, bytes.data(), bytes.size());
    if (count < 0 && is_passing(errno)) return;
    if (count <= 0) return peer_closed();
    heard_at_ = Steady::now();
    decoder_.feed(std::string_view(bytes.data(), static_cast<std::size_t>(count)));
    while (!is_peer_closed_) {
      const auto frame = decoder_.next();
      if (!frame) return peer_closed();
      if (!*frame) return;
      receive(**frame);
    }
  }

  void receive(const Frame& frame) {
    if (frame.kind == FrameKind::output) {
      const auto typed = decode_exec_bytes(frame.payload);
      if (!typed || typed->stream != 0) return peer_closed();
      if (typed_.size() + typed->bytes.size() > exec_window + longest_exec_piece)
        return peer_closed();
      typed_ += typed->bytes;
      return type_some();
    }
    const auto message = decode_exec(frame.payload);
    if (!message) return peer_closed();
    if (const auto* start = std::get_if<exec_talk::Start>(&*message)) {
      if (child_ == 0 && !is_over_) begin(*start);
    } else if (const auto* resize = std::get_if<exec_talk::Resize>(&*message)) {
      set_size(resize->size);
    } else if (const auto* signal = std::get_if<exec_talk::Signal>(&*message)) {
      if (child_ > 0) (void)signal_group(child_, signal->number);
    } else if (std::holds_alternative<exec_talk::Alive>(*message)) {
      send(exec_talk::Alive{});
    } else if (const auto* taken = std::get_if<exec_talk::Taken>(&*message)) {
      if (taken->bytes < taken_ || taken->bytes > printed_) return peer_closed();
      taken_ = taken->bytes;
    } else if (std::holds_alternative<exec_talk::EndOfInput>(*message)) {
      has_input_ended_ = true;
      type_some();
    }
  }

  // The command ends with its client.
  void peer_closed() {
    is_peer_closed_ = is_over_ = true;
    if (child_ > 0) (void)signal_group(child_, SIGHUP);
  }

  void send_some() {
    if (!unsent_.send_some()) peer_closed();
  }

  // --- The command ---

  void begin(const exec_talk::Start& start) {
    auto rank = find_rank(directory_, key_, start);
    if (!rank) return refuse(rank.error().diagnostics.front().message);
    rank_ = std::move(*rank);
    if (auto subreaper = become_subreaper(); !subreaper)
      return refuse(subreaper.error().diagnostics.front().message);
    Beside it = beside(rank_, start);
    const bool has_terminal = start.terminal.has_value();
    std::array<Descriptor, 3> theirs;
    const int error = has_terminal ? open_terminal(theirs) : open_pipes(theirs);
    if (error != 0) return refuse(fmt::format("no stream for it: {}", system_reason(error)));
    if (has_terminal) set_size(*start.terminal);
    auto told = make_pipe();
    if (!told) return refuse(told.error().diagnostics.front().message);
    std::vector<std::string> command = start.command;
    const std::array<int, 3> standard{theirs[0].get(), theirs[has_terminal ? 0 : 1].get(),
                                      theirs[has_terminal ? 0 : 2].get()};
    const pid_t child = ::fork();
    if (child < 0) return refuse(fmt::format("no process: {}", system_reason(errno)));
    if (child == 0)
      become(it, command, it.environment, standard, has_terminal, told->write_end.get());
    child_ = child;
    child_process_ = open_process(child);
    told_ = std::move(told->read_end);
    make_nonblocking(told_.get());
    program_ = start.command.front();
    type_some();
  }

  // The exec may take long on a slow file system, so this does not block: the client is still
  // served.
  void look_at_start() {
    int failed = 0;
    const ssize_t count =
        told_ ? ::read(told_.get(), reinterpret_cast<char*>(&failed), sizeof failed) : 0;
    if (count < 0 && is_passing(errno)) return;
    told_.reset();  // it runs, or says why not
    if (count != static_cast<ssize_t>(sizeof failed)) return;
    if (failed < 0)
      return refuse(fmt::format("the rank's directory cannot be used: {}", system_reason(-failed)));
    refuse(fmt::format("'{}' cannot be run: {}", program_, system_reason(failed)),
           failed == ENOENT);
  }

  int open_terminal(std::array<Descriptor, 3>& theirs) {
    terminal_ = Descriptor(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!terminal_ || ::grantpt(terminal_.get()) != 0 || ::unlockpt(terminal_.get()) != 0)
      return errno;
    theirs[0] = Descriptor(::ioctl(terminal_.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!theirs[0]) return errno;
    make_nonblocking(terminal_.get());
    return 0;
  }

  int open_pipes(std::array<Descriptor, 3>& theirs) {
    for (std::size_t stream = 0; stream < 3; ++stream) {
      auto pipe = make_pipe();
      if (!pipe) return EMFILE;
      theirs[stream] = std::move(stream == 0 ? pipe->read_end : pipe->write_end);
      pipes_[stream] = std::move(stream == 0 ? pipe->write_end : pipe->read_end);
      make_nonblocking(pipes_[stream].get());
    }
    return 0;
  }

  void set_size(TerminalSize size) {
    winsize cells{};
    cells.ws_row = static_cast<unsigned short>(size.rows);
    cells.ws_col = static_cast<unsigned short>(size.columns);
    if (terminal_) (void)::ioctl(terminal_.get(), TIOCSWINSZ, &cells);
  }

  void type_some() {
    Descriptor& into = terminal_ ? terminal_ : pipes_[0];
    std::size_t typed = 0;
    while (typed < typed_.size()) {
      const ssize_t count =
          into ? ::write(into.get(), typed_.data() + typed, typed_.size() - typed) : -1;
      if (into && count < 0 && is_passing(errno)) break;
      // If the command does not read its input, the bytes are dropped.
      typed = count < 0 ? typed_.size() : typed + static_cast<std::size_t>(count);
    }
    typed_.erase(0, typed);
    typed_before_ += typed;
    if (typed > 0) send(exec_talk::Taken{typed_before_});
    if (has_input_ended_ && typed_.empty()) pipes_[0].reset();
  }

  // Returns the number of bytes read; 0 when there is nothing to read now.
  std::uint64_t read_stream(int stream) {
    Descriptor& from = terminal_ ? terminal_ : pipes_[static_cast<std::size_t>(stream)];
    std::array<char, longest_exec_piece> bytes{};
    const ssize_t count = ::read(from.get(), bytes.data(), bytes.size());
    if (count < 0 && is_passing(errno)) return 0;
    if (count <= 0) {  // the end; a terminal reports it as EIO
      from.reset();
      return 0;
    }
    const std::string_view read(bytes.data(), static_cast<std::size_t>(count));
    unsent_.add(encode_exec_bytes(stream, read));
    printed_ += read.size();
    return read.size();
  }

  std::vector<int> open_streams() const {
    std::vector<int> streams;
    if (terminal_) streams.push_back(1);
    for (const int stream : {1, 2})
      if (pipes_[static_cast<std::size_t>(stream)]) streams.push_back(stream);
    return streams;
  }

  // Reads what the command has printed before it ended, up to a limit: processes that it has left
  // may print for ever.
  void command_ended() {
    look_at_start();
    if (is_over_) return;
    for (const int stream : open_streams()) {
      std::uint64_t rest = 0;
      while (rest <= longest_exec_rest - longest_exec_piece) {
        const std::uint64_t read = read_stream(stream);
        if (read == 0) break;
        rest += read;
      }
    }
    const ExitStatus status = wait_for_child(child_);
    exec_talk::End end{status.code, status.signal};
    end.rank_ended = killed_at_.has_value();
    if (!end.code && !end.signal) end.signal = SIGKILL;
    send(end);
    is_over_ = true;
  }

  void rank_ended() {
    killed_at_ = Steady::now() + exec_patience;
    rank_.process.reset();
    (void)signal_group(child_, SIGHUP);
  }

  void look_at_time() {
    if (Steady::now() - heard_at_ >= longest_exec_silence) peer_closed();
    if (!killed_at_ || Steady::now() < *killed_at_) return;
    (void)signal_group(child_, SIGKILL);
  }

  // --- Waiting ---

  void wait() {
    std::vector<pollfd> polled;
    const auto add = [&](int fd, short events) {
      polled.push_back({fd, events, 0});
      return polled.size() - 1;
    };
    const std::size_t input = add(input_, POLLIN);
    const std::size_t output = add(unsent_.is_empty() ? -1 : output_, POLLOUT);
    const std::size_t rank = add(rank_.process ? rank_.process.get() : -1, POLLIN);
    const std::size_t child = add(child_process_ ? child_process_.get() : -1, POLLIN);
    const std::size_t told = add(told_ ? told_.get() : -1, POLLIN);
    const bool types = !typed_.empty();
    const std::size_t typing = add(!types      ? -1
                                   : terminal_ ? terminal_.get()
                                   : pipes_[0] ? pipes_[0].get()
                                               : -1,
                                   POLLOUT);
    const bool has_room = unsent_.size() < most_waiting && printed_ - taken_ < exec_window;
    const std::vector<int> streams = has_room ? open_streams() : std::vector<int>();
    std::vector<std::size_t> places;
    places.reserve(streams.size());
    for (const int stream : streams)
      places.push_back(add(
          terminal_ ? terminal_.get() : pipes_[static_cast<std::size_t>(stream)].get(), POLLIN));
    constexpr auto next_look = 200ms;
    if (::poll(polled.data(), polled.size(), static_cast<int>(next_look.count())) <= 0) return;
    const auto has = [&](std::size_t place) { return polled[place].revents != 0; };
    if (has(output)) send_some();
    for (std::size_t i = 0; i < streams.size(); ++i)
      if (has(places[i])) (void)read_stream(streams[i]);
    if (has(typing)) type_some();
    if (has(told)) look_at_start();
    if (is_over_) return;
    if (has(child)) return command_ended();
    if (has(rank)) rank_ended();
    if (has(input)) receive_some();
  }

  void wait_for_asker() {
    std::array<pollfd, 2> polled{{{input_, POLLIN, 0}, {output_, POLLOUT, 0}}};
    constexpr auto next_look = 200ms;
    if (::poll(polled.data(), polled.size(), static_cast<int>(next_look.count())) <= 0) return;
    if (polled[1].revents != 0) send_some();
    if (polled[0].revents != 0 && !is_peer_closed_) receive_some();
  }

  const HostDirectory& directory_;
  const std::string key_;
  const int input_;
  const int output_;
  FrameDecoder decoder_{FrameSender::launcher};
  UnsentOutput unsent_;             ///< output that the client has not read
  std::string typed_;               ///< input that the command has not read
  std::uint64_t typed_before_ = 0;  ///< bytes of input that the command has read
  std::uint64_t printed_ = 0;       ///< bytes of output of the command
  std::uint64_t taken_ = 0;         ///< bytes of these that the client has confirmed
  Steady::time_point heard_at_ = Steady::now();
  bool has_input_ended_ = false;
  bool is_peer_closed_ = false;
  bool is_over_ = false;
  Rank rank_;
  std::string program_;
  Descriptor told_;  ///< the child's report of a failed start; closed by a successful exec
  pid_t child_ = 0;
  Descriptor child_process_;
  Descriptor terminal_;  ///< our end; empty: `pipes_` are used
  std::array<Descriptor, 3> pipes_;
  std::optional<Steady::time_point> killed_at_;  ///< when to kill it, after its rank has ended
};

}  // namespace

void exec_beside_rank(const HostDirectory& directory, const std::string& key, int input,
                      int output) {
  ::signal(SIGPIPE, SIG_IGN);
  RankExec(directory, key, input, output).run();
}

}  // namespace train
