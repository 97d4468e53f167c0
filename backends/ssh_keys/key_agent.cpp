// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_keys/key_agent.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <optional>

#include "backends/posix/descriptor.hpp"
#include "backends/ssh_formats/wire_encoding.hpp"

namespace train {

namespace {

// draft-miller-ssh-agent, section 6.
constexpr char request_identities = 11;
constexpr char identities_answer = 12;
constexpr char sign_request = 13;
constexpr char sign_response = 14;
constexpr std::uint32_t sign_with_sha256 = 2;
constexpr std::uint32_t sign_with_sha512 = 4;

constexpr std::size_t max_answer = 256u << 10;
constexpr std::uint32_t max_keys = 256;

using SteadyClock = std::chrono::steady_clock;

class AgentConnection {
 public:
  AgentConnection(Descriptor socket, std::string path)
      : socket_(std::move(socket)), path_(std::move(path)) {}

  // Returns the payload of the answer; after any failure the connection is closed for good.
  Result<std::string> ask(const std::string& request, std::chrono::milliseconds deadline) {
    if (!socket_) return trouble("is no longer asked, because it failed before");
    const auto until = SteadyClock::now() + deadline;
    std::string answer(4, '\0');
    if (!transmit(wire_string(request), until) || !receive(answer, until)) return give_up(deadline);
    const std::uint32_t size = WireReader(answer).number().value_or(0);
    if (size == 0 || size > max_answer) return give_up(deadline);
    answer.resize(size);
    if (!receive(answer, until)) return give_up(deadline);
    return answer;
  }

  const std::string& path() const { return path_; }

  tl::unexpected<Error> trouble(std::string_view what) const {
    return fail(ErrorClass::host, fmt::format("ssh-agent at {} {}", path_, what),
                "check it with: ssh-add -l");
  }

 private:
  tl::unexpected<Error> give_up(std::chrono::milliseconds deadline) {
    socket_.reset();
    return trouble(fmt::format("gave no valid answer within {:g} s",
                               static_cast<double>(deadline.count()) / 1000));
  }

  bool wait(short events, SteadyClock::time_point until) const {
    while (true) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(until - SteadyClock::now());
      pollfd poll_fd{socket_.get(), events, 0};
      if (left.count() <= 0) return false;
      const int ready = ::poll(&poll_fd, 1, static_cast<int>(left.count()));
      if (ready > 0) return true;
      if (ready == 0 || errno != EINTR) return false;
    }
  }

  bool transmit(std::string_view bytes, SteadyClock::time_point until) const {
    while (!bytes.empty()) {
      if (!wait(POLLOUT, until)) return false;
      const ssize_t count =
          ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  bool receive(std::string& bytes, SteadyClock::time_point until) const {
    std::size_t have = 0;
    while (have < bytes.size()) {
      if (!wait(POLLIN, until)) return false;
      const ssize_t count =
          ::recv(socket_.get(), bytes.data() + have, bytes.size() - have, MSG_DONTWAIT);
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (count <= 0) return false;
      have += static_cast<std::size_t>(count);
    }
    return true;
  }

  Descriptor socket_;
  std::string path_;
};

class AgentKey final : public SigningKey {
 public:
  AgentKey(std::shared_ptr<AgentConnection> agent, std::chrono::milliseconds patience,
           std::string blob, std::string_view comment)
      : SigningKey(std::move(blob), fmt::format("ssh-agent's key '{}'", comment)),
        agent_(std::move(agent)),
        patience_(patience) {}

  std::string holder() const override { return agent_->path(); }

  Result<std::string> sign(std::string_view data, std::string_view algorithm) override {
    const std::uint32_t flags = algorithm == "rsa-sha2-512"   ? sign_with_sha512
                                : algorithm == "rsa-sha2-256" ? sign_with_sha256
                                                              : 0;
    const auto answer = agent_->ask(
        sign_request + wire_string(public_blob()) + wire_string(data) + wire_number(flags),
        patience_);
    if (!answer) return tl::make_unexpected(answer.error());
    WireReader reader(*answer);
    const auto kind = reader.byte();
    const auto signature = reader.string();
    if (kind != sign_response || !signature)
      return agent_->trouble(fmt::format("refused to sign with {}", origin()));
    WireReader parts(*signature);
    const auto used = parts.string(), bytes = parts.string();
    // Some agents ignore the flags and sign with SHA-1, which servers refuse.
    if (!bytes || *used != algorithm)
      return agent_->trouble(fmt::format("cannot make {} signatures", algorithm));
    return std::string(*bytes);
  }

 private:
  std::shared_ptr<AgentConnection> agent_;
  std::chrono::milliseconds patience_;
};

// Connecting to a listening unix socket either succeeds immediately or, when the backlog is full,
// fails with EAGAIN: such an agent is not waited for.
Result<std::shared_ptr<AgentConnection>> connect_agent(const std::string& path) {
  const auto trouble = [&path](int error) {
    return fail(ErrorClass::host,
                fmt::format("ssh-agent at {} does not answer: {}", path, system_reason(error)),
                "start one: eval $(ssh-agent); ssh-add");
  };
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return trouble(ENAMETOOLONG);
  path.copy(address.sun_path, path.size());
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return trouble(errno);
  return std::make_shared<AgentConnection>(std::move(socket), path);
}

std::string foreign_key(std::string_view type, std::string_view comment) {
  const std::string_view kind = type.find("-cert-") != std::string_view::npos ? "certificate"
                                : type.starts_with("sk-")                     ? "FIDO key"
                                                                              : "key";
  return fmt::format("ssh-agent's {} '{}'", kind, comment);
}

}  // namespace

Result<AgentKeys> keys_of_agent(const std::string& path, std::chrono::milliseconds deadline,
                                std::chrono::milliseconds patience) {
  auto agent = connect_agent(path);
  if (!agent) return tl::make_unexpected(agent.error());
  const auto answer = (*agent)->ask(std::string(1, request_identities), deadline);
  if (!answer) return tl::make_unexpected(answer.error());
  WireReader reader(*answer);
  const auto kind = reader.byte();
  const auto count = reader.number();
  if (kind != identities_answer || !count || *count > max_keys)
    return (*agent)->trouble("did not list its keys");
  AgentKeys keys;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto blob = reader.string(), comment = reader.string();
    if (!blob || !comment) return (*agent)->trouble("listed its keys only in part");
    if (!signature_algorithms(key_type(*blob)).empty())
      keys.keys.push_back(
          std::make_shared<AgentKey>(*agent, patience, std::string(*blob), *comment));
    else
      keys.foreign.push_back(foreign_key(key_type(*blob), *comment));
  }
  return keys;
}

}  // namespace train
