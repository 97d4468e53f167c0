// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/agent/agent_under_test.hpp"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "backends/agent/agent_process.hpp"
#include "backends/posix/proc.hpp"

namespace train::testing {

namespace {

constexpr const char* key = "task-0";

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return address;
}

Descriptor listen_on(const std::string& path) {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un address = address_of(path);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), 4) != 0)
    throw std::runtime_error("cannot listen on " + path);
  return socket;
}

// The call fails as at the limit of open files.
void lose_signalfd() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_signalfd4, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EMFILE),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(filter), filter};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(97);
}

void lose_power_to_kill() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
  if (::syscall(SYS_capget, &header, sets) != 0) ::_exit(96);
  for (__u32* set : {&sets[0].effective, &sets[0].permitted, &sets[0].inheritable})
    *set &= ~(1u << CAP_KILL);
  if (::syscall(SYS_capset, &header, sets) != 0) ::_exit(96);
}

void become(const AgentSetup& setup) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (setup.hard_limit != 0) limit.rlim_cur = limit.rlim_max = setup.hard_limit;
  if (setup.soft_limit != 0) limit.rlim_cur = setup.soft_limit;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const rlimit processes{setup.processes, setup.processes};
  if (setup.processes != 0) ::setrlimit(RLIMIT_NPROC, &processes);
  if (setup.user != 0 && (::setgid(setup.user) != 0 || ::setuid(setup.user) != 0)) ::_exit(98);
  if (!setup.may_kill_any_user) lose_power_to_kill();
  if (setup.lacks_signalfd) lose_signalfd();
}

[[noreturn]] void be_agent(const std::string& base, int listening, const AgentSetup& setup) {
  become(setup);
  const auto directory = HostDirectory::open(base);
  AgentMeans means{setup.make_contexts};
  means.lease_folder = setup.lease_folder;
  ::_exit(directory ? run_agent_process(listening, *directory, key, means) : 99);
}

}  // namespace

AgentUnderTest::AgentUnderTest(const AgentSetup& setup) {
  if (setup.user != 0 && ::chown(directory_.path().c_str(), setup.user, setup.user) != 0)
    throw std::runtime_error("cannot give a directory away");
  Descriptor listening = listen_on(directory_.path() + "/socket");
  pid_ = ::fork();
  if (pid_ == 0) be_agent(directory_.path(), listening.release(), setup);
  connection_ = connect();
  send(message::Attach{wire_version, 1, ++connections_, {}, setup.credit});
}

AgentUnderTest::~AgentUnderTest() {
  if (!is_collected_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  for (const int pid : running_with("TEST_DIRECTORY=" + directory_.path())) ::kill(pid, SIGKILL);
}

Descriptor AgentUnderTest::connect() const {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(directory_.path() + "/socket");
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const std::string why = std::strerror(errno);
    int status = 0;
    const bool has_ended = ::waitpid(pid_, &status, WNOHANG) == pid_;
    throw std::runtime_error("the agent does not listen: " + why +
                             (has_ended ? "; it has ended: " + std::to_string(status) : ""));
  }
  return socket;
}

void AgentUnderTest::send_bytes(std::string_view bytes) {
  (void)write_all(connection_.get(), bytes);
}

std::optional<Frame> AgentUnderTest::next_frame() {
  while (true) {
    auto frame = decoder_.next();
    if (!frame) throw std::runtime_error(render(frame.error()));
    if (*frame) return std::move(**frame);
    if (!becomes_readable(connection_.get())) throw std::runtime_error("the agent says nothing");
    std::array<char, 65536> buffer;
    const ssize_t count = ::read(connection_.get(), buffer.data(), buffer.size());
    if (count <= 0) return std::nullopt;
    decoder_.feed({buffer.data(), static_cast<size_t>(count)});
  }
}

void AgentUnderTest::reconnect() {
  cut_off_ = std::move(connection_);
  decoder_ = FrameDecoder(FrameSender::agent);
  last_chunk_ = received_ = 0;
  connection_ = connect();
  message::Attach attach{wire_version, 1, ++connections_, {}, most_output_window};
  for (const auto& [rank, bytes] : outputs_)
    attach.positions.push_back({rank.second, bytes.size(), rank.first});
  send(attach);
}

void AgentUnderTest::take_output(const Frame& frame) {
  const auto chunk = decode_output(frame.payload);
  if (!chunk) throw std::runtime_error("output that cannot be read");
  std::string& of_rank = outputs_[{chunk->of, chunk->rank}];
  if (chunk->number != ++last_chunk_ || chunk->begin != of_rank.size())
    throw std::runtime_error("output out of turn");
  output_ += chunk->bytes;
  of_rank += chunk->bytes;
  of_rank.append(chunk->dropped, '?');
  received_ += cost_of(*chunk);
  send(message::Acknowledge{last_chunk_, received_ + most_output_window, last_chunk_});
}

Message AgentUnderTest::next_message_or_output() {
  const auto frame = next_frame();
  if (!frame) throw std::runtime_error("the agent has hung up");
  if (frame->kind == FrameKind::output) {
    take_output(*frame);
    return message::Bye{};
  }
  auto message = decode_message(frame->payload);
  if (!message) throw std::runtime_error(render(message.error()));
  return std::move(*message);
}

Message AgentUnderTest::next_message() {
  while (true) {
    Message message = next_message_or_output();
    if (!std::holds_alternative<message::Bye>(message)) return message;
  }
}

bool AgentUnderTest::is_hung_up() {
  while (next_frame()) continue;
  return true;
}

int AgentUnderTest::wait() {
  int status = 0;
  if (!eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }))
    throw std::runtime_error("the agent does not end");
  is_collected_ = true;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

message::Prepare AgentUnderTest::prepare(const std::vector<std::string>& scripts) const {
  message::Prepare prepare;
  prepare.task_id = "task";
  prepare.stop_grace = milliseconds(100);
  for (const std::string& script : scripts) {
    RankCommand command;
    command.rank = static_cast<int>(prepare.ranks.size());
    command.entrypoint.shell = script;
    command.working_directory = directory_.path();
    command.environment = {
        {.name = "TEST_DIRECTORY", .text = directory_.path()},
        {.name = "TORCHELASTIC_ERROR_FILE", .text = {}, .at_launch = AtLaunch::error_file}};
    prepare.ranks.push_back(std::move(command));
  }
  return prepare;
}

void AgentUnderTest::start(const std::vector<std::string>& scripts, AttemptId of) {
  send(about(prepare(scripts), of));
  (void)next<message::Ready>(of);
  send(about(message::Go{"127.0.0.1", 1}, of));
}

std::string daemon(const std::string& name) {
  return "(setsid sh -c 'echo $$ > " + name + "; exec sleep 1000' >&- 2>&- <&- &); ";
}

int process_in(const AgentUnderTest& agent, const std::string& name) {
  const std::string path = agent.directory().path() + "/" + name;
  int pid = 0;
  if (!eventually([&] { return static_cast<bool>(std::ifstream(path) >> pid); }))
    throw std::runtime_error("no process has written " + path);
  return pid;
}

RankWithDaemon start_with_daemon(AgentUnderTest& agent, const std::string& name, AttemptId of) {
  agent.start({daemon(name) + "exec sleep 1000"}, of);
  const auto started = agent.next<message::RankStarted>(of);
  return {static_cast<int>(started.pid), process_in(agent, name)};
}

int subreaper_above(int pid, const AgentUnderTest& agent) {
  while (pid != 0) {
    const int parent = parent_of(pid).value_or(0);
    if (parent == agent.pid()) return pid;
    pid = parent;
  }
  return 0;
}

}  // namespace train::testing
