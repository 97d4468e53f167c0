// SPDX-License-Identifier: Apache-2.0
#include "backends/agent/attach.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <atomic>
#include <chrono>

#include "backends/agent/bridge.hpp"
#include "backends/agent/guard.hpp"
#include "backends/agent/sweep.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "launcher/wire/message.hpp"
#include "launcher/wire/message_limits.hpp"

namespace train {

namespace {

using namespace std::chrono_literals;

// A guard that cleans up after its agent takes up to 10 s; then a new agent can start.
constexpr auto attach_limit = 15s;
using Deadline = std::chrono::steady_clock::time_point;
constexpr int retry_milliseconds = 2;
constexpr int backlog = 16;

sockaddr_un address_of(const HostDirectory& directory, const std::string& key) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = directory.socket_address(key);
  static_assert(sizeof address.sun_path >= 107);  // a key has 64 bytes at most
  ::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Result<Descriptor> make_socket() {
  Descriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) return fail(ErrorClass::host, "cannot make a socket: " + system_reason(errno));
  return above_standard(std::move(made));
}

// Returns a connection to the agent; an empty descriptor when there is no agent (yet).
Result<Descriptor> connect_to(const HostDirectory& directory, const std::string& key) {
  auto made = make_socket();
  if (!made) return made;
  const sockaddr_un address = address_of(directory, key);
  if (::connect(made->get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return made;
  // EAGAIN: more connections wait than the agent has had time to accept.
  if (errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN) return Descriptor();
  return fail(ErrorClass::host, fmt::format("cannot connect to '{}': {}",
                                            directory.socket_path(key), system_reason(errno)));
}

bool is_same_file(int fd, const HostDirectory& directory, const std::string& name) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(fd, &opened) == 0 &&
         ::fstatat(directory.descriptor(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Takes the agent's lock; an empty descriptor while a guard or another attach holds it.
Result<Descriptor> take_lock(const HostDirectory& directory, const std::string& key) {
  const std::string name = HostDirectory::lock_name(key);
  Descriptor file(::openat(directory.descriptor(), name.c_str(),
                           O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file)
    return fail(ErrorClass::host, fmt::format("cannot open '{}': {}", directory.lock_path(key),
                                              system_reason(errno)));
  auto moved = above_standard(std::move(file));
  if (!moved) return moved;
  if (::flock(moved->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK || errno == EINTR) return Descriptor();
    return fail(ErrorClass::host, fmt::format("cannot lock '{}': {}", directory.lock_path(key),
                                              system_reason(errno)));
  }
  // A guard may have removed the file between the two calls: then this lock guards nothing.
  if (!is_same_file(moved->get(), directory, name)) return Descriptor();
  return moved;
}

// The caller holds the lock, so a file of this name is a leftover.
Result<Descriptor> listen_on(const HostDirectory& directory, const std::string& key) {
  auto made = make_socket();
  if (!made) return made;
  const sockaddr_un address = address_of(directory, key);
  const std::string path = directory.socket_path(key);
  (void)::unlinkat(directory.descriptor(), HostDirectory::socket_name(key).c_str(), 0);
  const mode_t mask = ::umask(0177);
  const int bound =
      ::bind(made->get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  ::umask(mask);
  if (bound != 0)
    return fail(ErrorClass::host,
                fmt::format("cannot make socket '{}': {}", path, system_reason(error)));
  if (::listen(made->get(), backlog) != 0)
    return fail(ErrorClass::host,
                fmt::format("cannot listen on '{}': {}", path, system_reason(errno)));
  return made;
}

struct Reached {
  Descriptor connection;
  pid_t guard = 0;  // that was started; 0: the agent was there

  bool is_new() const { return guard != 0; }
};

// Connects before the agent exists: if the start fails, this connection ends.
Result<Reached> start_agent(const GuardSetup& without_socket) {
  const HostDirectory& directory = without_socket.directory;
  const std::string& key = without_socket.key;
  auto listening = listen_on(directory, key);
  if (!listening) return tl::make_unexpected(listening.error());
  auto connection = connect_to(directory, key);
  if (!connection) return tl::make_unexpected(connection.error());
  if (!*connection)
    return fail(ErrorClass::host,
                fmt::format("socket '{}' refuses its own maker", directory.socket_path(key)));
  GuardSetup setup = without_socket;
  setup.listening_socket = listening->get();
  const auto guard = start_guard(setup);
  if (!guard) {
    (void)setup.directory.remove(setup.key);
    return tl::make_unexpected(guard.error());
  }
  return Reached{std::move(*connection), *guard};
}

Error does_not_answer(const HostDirectory& directory, const std::string& key) {
  return make_error(ErrorClass::host, fmt::format("agent '{}' runs but does not answer", key),
                    fmt::format("the process that holds '{}' is its guard; end it and try again",
                                directory.lock_path(key)));
}

Result<Reached> reach_agent(const HostDirectory& directory, const std::string& key,
                            const AgentMain& agent_main, Deadline deadline) {
  while (true) {
    auto connection = connect_to(directory, key);
    if (!connection) return tl::make_unexpected(connection.error());
    if (*connection) return Reached{std::move(*connection)};
    auto lock = take_lock(directory, key);
    if (!lock) return tl::make_unexpected(lock.error());
    if (*lock) {
      sweep_before_start(directory, key, lock->get());
      return start_agent({directory, key, -1, lock->get(), agent_main});
    }
    if (std::chrono::steady_clock::now() >= deadline)
      return tl::make_unexpected(does_not_answer(directory, key));
    (void)::poll(nullptr, 0, retry_milliseconds);
  }
}

// The supervisor, on our standard streams. An agent that is about to end still accepts connections,
// and closes them without a message when it ends: then the supervisor is connected to the next
// agent, or receives the proof that there is none.
class Launcher {
 public:
  /// Bridges the supervisor to `agent`. False when the agent closed the connection without a
  /// message, so that the next agent is to be tried. True after `most_silent` such connections as
  /// well: an agent that keeps closing connections is alive and does so on purpose.
  bool is_served_by(const Descriptor& agent) {
    return bridge_unless_unheard(STDIN_FILENO, STDOUT_FILENO, agent.get(), unheard_) ||
           ++silent_ == most_silent;
  }

 private:
  static constexpr int most_silent = 4;

  std::string unheard_;
  int silent_ = 0;
};

// The guard that this process has started, for the handler of a signal.
std::atomic<pid_t> own_guard{0};
static_assert(std::atomic<pid_t>::is_always_lock_free);

void tell_guard_to_end(int) {
  const int error = errno;
  if (const pid_t guard = own_guard; guard > 0) (void)::kill(guard, SIGTERM);
  errno = error;
}

void pass_signals_on_to(pid_t guard) {
  own_guard = guard;
  (void)::signal(SIGTERM, tell_guard_to_end);
}

// Waits for the end of the guard. Its pid stays its own until then.
void outlive(pid_t guard) {
  siginfo_t info{};
  (void)uninterrupted([&] { return ::waitid(P_PID, guard, &info, WEXITED | WNOWAIT); });
  own_guard = 0;
}

void ignore_signals() {
  for (const int number : {SIGPIPE, SIGHUP, SIGINT}) (void)::signal(number, SIG_IGN);
}

// There is no agent. Sends the supervisor the proof that nothing is left of it, or, if processes
// have survived, their list.
Result<int> report_no_agent(const Sweep& sweep) {
  if (sweep.is_foreign)
    return fail(ErrorClass::host, "the agent ran in another process namespace than this login",
                "logins to a host are to be in one container, or in none");
  Message proof = message::NoAgent{boot_id()};
  if (!sweep.survivors.empty()) {
    message::LeftBehind left;
    for (const Survivor& each : sweep.survivors)
      left.survivors.push_back({each.pid, each.uid, each.command});
    proof = within_limits(std::move(left));
  }
  if (write_whole(STDOUT_FILENO, frame_of(proof)) != 0)
    return fail(ErrorClass::host, "no client is left to be told that there is no agent");
  return 0;
}

}  // namespace

Result<int> reattach(const HostDirectory& directory, const std::string& key) {
  ignore_signals();
  if (auto good = HostDirectory::check_key(key); !good) return tl::make_unexpected(good.error());
  const auto deadline = std::chrono::steady_clock::now() + attach_limit;
  Launcher launcher;
  while (true) {
    auto connection = connect_to(directory, key);
    if (!connection) return tl::make_unexpected(connection.error());
    if (*connection) {
      if (launcher.is_served_by(*connection)) return 0;
      continue;
    }
    // Its guard may still be cleaning up.
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left <= 0s) return tl::make_unexpected(does_not_answer(directory, key));
    const auto sweep = sweep_agent(directory, key, left);
    if (!sweep) return tl::make_unexpected(sweep.error());
    if (!sweep->is_running) return report_no_agent(*sweep);
    if (sweep->is_elsewhere)
      return fail(ErrorClass::host,
                  fmt::format("the agent runs, but this login does not see its folder in '{}'",
                              directory.path()),
                  "each login to this host has a /tmp of its own (pam_namespace, or a container "
                  "for each): let logins share one");
    (void)::poll(nullptr, 0, retry_milliseconds);
  }
}

Result<int> attach(const HostDirectory& directory, const std::string& key,
                   const AgentMain& agent_main, bool is_of_step) {
  ignore_signals();
  if (auto good = HostDirectory::check_key(key); !good) return tl::make_unexpected(good.error());
  const auto deadline = std::chrono::steady_clock::now() + attach_limit;
  Launcher launcher;
  while (true) {
    const auto reached = reach_agent(directory, key, agent_main, deadline);
    if (!reached) return tl::make_unexpected(reached.error());
    const bool outlives_guard = is_of_step && reached->is_new();
    if (outlives_guard) pass_signals_on_to(reached->guard);
    const bool is_over = launcher.is_served_by(reached->connection) || reached->is_new();
    if (outlives_guard) outlive(reached->guard);
    if (is_over) return 0;
  }
}

}  // namespace train
