// SPDX-License-Identifier: Apache-2.0
#include "examples/nccl_allreduce/rendezvous.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace nccl_allreduce {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::string_view hello_magic = "TRNCCL1?";
constexpr std::string_view answer_magic = "TRNCCL1!";
constexpr std::size_t hello_size = 28;
constexpr std::size_t answer_head = 16;
constexpr std::size_t longest_body = 512;
constexpr std::size_t most_strangers = 64;  // who are connected and have not said who they are
constexpr milliseconds pause_between_tries{100};
constexpr milliseconds longest_try{5'000};
constexpr milliseconds others_wait_longer{5'000};

std::string reason(int error) { return std::generic_category().message(error); }

std::string place_of(const Meeting& meeting) {
  const bool is_v6 = meeting.address.find(':') != std::string::npos;
  return (is_v6 ? "[" + meeting.address + "]" : meeting.address) + ":" +
         std::to_string(meeting.port);
}

std::string seconds_of(milliseconds time) {
  return std::to_string(time.count() / 1000) + "." + std::to_string(time.count() % 1000 / 100) +
         " s";
}

/// Owns a file descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Time that is left, rounded up, as poll takes it.
int left_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

// --- Frames ---

void append(std::string& frame, std::uint64_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    frame += static_cast<char>(number >> static_cast<unsigned>(shift) & 0xff);
}

std::uint64_t number_at(std::string_view frame, std::size_t at, std::size_t bytes) {
  std::uint64_t number = 0;
  for (const char byte : frame.substr(at, bytes))
    number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

std::string hello_of(const Meeting& meeting) {
  std::string frame(hello_magic);
  append(frame, meeting.job, 8);
  append(frame, static_cast<std::uint32_t>(meeting.world_size), 4);
  append(frame, static_cast<std::uint32_t>(meeting.rank), 4);
  append(frame, meeting.nccl_version, 4);
  return frame;
}

std::string answer_of(bool is_welcome, std::string_view body) {
  body = body.substr(0, longest_body);
  std::string frame(answer_magic);
  append(frame, is_welcome ? 0 : 1, 4);
  append(frame, body.size(), 4);
  return frame.append(body);
}

/// Whether this may be the beginning of a frame with that magic word.
bool begins_as(std::string_view received, std::string_view magic) {
  const std::size_t common = std::min(received.size(), magic.size());
  return received.substr(0, common) == magic.substr(0, common);
}

/// What a peer says is printed without what a terminal would obey.
std::string printable(std::string_view text) {
  std::string clean(text);
  std::replace_if(
      clean.begin(), clean.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return clean;
}

// --- Addresses ---

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

/// `flags` as getaddrinfo has them; an error is one of its codes.
std::pair<Addresses, int> addresses_of(const Meeting& meeting, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error =
      ::getaddrinfo(meeting.address.c_str(), std::to_string(meeting.port).c_str(), &hints, &list);
  return {Addresses(error == 0 ? list : nullptr), error};
}

/// The numeric address of the other end.
std::string peer_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> text{};
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&address), size, text.data(), text.size(), nullptr,
                    0, NI_NUMERICHOST) != 0)
    return "an unknown address";
  return text.data();
}

/// 0 or an errno. The launcher may hold the port meanwhile, bound with SO_REUSEADDR and not
/// listening.
int listen_at(const sockaddr* address, socklen_t size, Socket& listener) {
  Socket socket(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  const int no = 0;
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      (address->sa_family == AF_INET6 &&
       ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) != 0) ||
      ::bind(socket.get(), address, size) != 0 || ::listen(socket.get(), SOMAXCONN) != 0)
    return errno;
  listener = std::move(socket);
  return 0;
}

/// At all addresses of this machine.
int listen_anywhere(int port, Socket& listener) {
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(static_cast<std::uint16_t>(port));
  const int error = listen_at(reinterpret_cast<sockaddr*>(&v6), sizeof v6, listener);
  if (error != EAFNOSUPPORT && error != EADDRNOTAVAIL) return error;
  sockaddr_in v4{};  // a machine without IPv6
  v4.sin_family = AF_INET;
  v4.sin_port = v6.sin6_port;
  return listen_at(reinterpret_cast<sockaddr*>(&v4), sizeof v4, listener);
}

/// A name may mean the loopback on its own host, and a numeric address may be translated on its
/// way.
Result<Socket> make_listener(const Meeting& meeting) {
  Socket listener;
  const auto [addresses, not_numeric] = addresses_of(meeting, AI_NUMERICHOST);
  int error = EADDRNOTAVAIL;
  if (not_numeric == 0) error = listen_at(addresses->ai_addr, addresses->ai_addrlen, listener);
  if (error == EADDRNOTAVAIL) error = listen_anywhere(meeting.port, listener);
  if (error == 0) return listener;
  return Failure{"cannot listen at " + place_of(meeting) + " (MASTER_ADDR, MASTER_PORT): " +
                 reason(error) + "; rank 0 must run on that host, and the port must be free there"};
}

// --- Rank 0 ---

/// "1, 3-5" of the ranks from 1 on that are not there; the first of them where it gets long.
std::string missing_ranks(const std::vector<Socket>& ranks) {
  constexpr std::size_t long_enough = 100;
  std::string text;
  for (std::size_t first = 1; first < ranks.size(); ++first) {
    if (ranks[first]) continue;
    if (text.size() > long_enough) return text + ", ...";
    std::size_t last = first;
    while (last + 1 < ranks.size() && !ranks[last + 1]) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(first);
    if (last > first) text.append("-").append(std::to_string(last));
    first = last;
  }
  return text;
}

/// Rank 0's place: who is there, and who has yet to say who they are.
class Reception {
 public:
  Reception(const Meeting& meeting, Socket listener)
      : meeting_(meeting),
        listener_(std::move(listener)),
        deadline_(Clock::now() + meeting.limit),
        ranks_(static_cast<std::size_t>(meeting.world_size)),
        missing_(ranks_.size() - 1) {}

  Status run(const Token& token) {
    while (missing_ > 0 || is_any_gone()) {
      if (Clock::now() >= deadline_) return give_up();
      if (auto looked = look(); !looked) return looked;
    }
    return welcome(token);
  }

 private:
  struct Stranger {
    Socket socket;
    std::string received;
  };

  /// Waits for something to happen, and sees to it.
  Status look() {
    std::vector<pollfd> events{{listener_.get(), POLLIN, 0}};
    for (const Stranger& stranger : strangers_)
      events.push_back({stranger.socket.get(), POLLIN, 0});
    const std::size_t strangers = strangers_.size();
    for (const Socket& rank : ranks_)
      events.push_back({rank.get(), POLLIN | POLLRDHUP, 0});  // -1 is skipped
    const int count = ::poll(events.data(), events.size(), left_until(deadline_));
    if (count < 0 && errno != EINTR) return Failure{"cannot wait for ranks: " + reason(errno)};
    if (count <= 0) return done();
    // A rank that was heard says nothing more: it hangs up, and may come again.
    for (std::size_t i = 1; i < ranks_.size(); ++i)
      if (events[1 + strangers + i].revents != 0) {
        ranks_[i] = Socket();
        ++missing_;
      }
    for (std::size_t i = 0; i < strangers; ++i)
      if (events[1 + i].revents != 0) hear(strangers_[i]);
    std::erase_if(strangers_, [](const Stranger& stranger) { return !stranger.socket; });
    return events[0].revents != 0 ? accept_all() : done();
  }

  Status accept_all() {
    for (;;) {
      Socket socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket && (errno == EMFILE || errno == ENFILE)) {
        if (strangers_.empty())
          return Failure{"too many open files for " + std::to_string(ranks_.size()) +
                         " ranks: raise the limit with 'ulimit -n'"};
        strangers_.erase(strangers_.begin());
        continue;
      }
      if (!socket) return done();  // none is left, or it has gone before it was accepted
      Stranger stranger{std::move(socket), ""};
      hear(stranger);
      if (!stranger.socket) continue;
      if (strangers_.size() == most_strangers) strangers_.erase(strangers_.begin());
      strangers_.push_back(std::move(stranger));
    }
  }

  /// Reads what has come of a hello. Afterwards its socket is empty unless more is to come.
  void hear(Stranger& stranger) {
    std::array<char, hello_size> bytes{};
    const std::size_t room = hello_size - stranger.received.size();
    const ssize_t count = ::recv(stranger.socket.get(), bytes.data(), room, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count > 0) stranger.received.append(bytes.data(), static_cast<std::size_t>(count));
    if (count <= 0 || !begins_as(stranger.received, hello_magic))
      stranger.socket = Socket();
    else if (stranger.received.size() == hello_size)
      seat(std::move(stranger.socket), stranger.received);
  }

  /// A hello may be all that is left of a rank. Those that have gone are missing again.
  bool is_any_gone() {
    for (Socket& rank : ranks_)
      if (rank && has_hung_up(rank)) {
        rank = Socket();
        ++missing_;
      }
    return missing_ > 0;
  }

  /// Of a rank that was heard, which says nothing more.
  static bool has_hung_up(const Socket& rank) {
    pollfd event{rank.get(), POLLIN | POLLRDHUP, 0};
    return ::poll(&event, 1, 0) > 0;
  }

  void seat(Socket socket, const std::string& hello) {
    const std::uint64_t job = number_at(hello, 8, 8);
    const std::uint64_t world_size = number_at(hello, 16, 4);
    const std::uint64_t rank = number_at(hello, 20, 4);
    const std::uint64_t version = number_at(hello, 24, 4);
    const std::string who = "rank " + std::to_string(rank) + " at " + peer_of(socket.get());
    if (world_size != ranks_.size())
      return refuse(socket, who + " says that there are " + std::to_string(world_size) +
                                " ranks, and rank 0 that there are " +
                                std::to_string(ranks_.size()) + ": give all the same WORLD_SIZE");
    if (rank == 0 || rank >= ranks_.size())
      return refuse(socket, who + " is not of 1 to " + std::to_string(ranks_.size() - 1) +
                                ": set RANK right");
    if (job != meeting_.job)
      return refuse(
          socket,
          who + " is of another task, or has other flags than rank 0: start all ranks alike");
    if (version != meeting_.nccl_version)
      return refuse(socket, who + " has NCCL " + std::to_string(version) + ", and rank 0 " +
                                std::to_string(meeting_.nccl_version) +
                                ": give all the same one with --nccl");
    // It may have come again before its end was looked at.
    if (ranks_[rank] && has_hung_up(ranks_[rank])) {
      ranks_[rank] = Socket();
      ++missing_;
    }
    if (ranks_[rank])
      return refuse(socket, "two processes say that they are rank " + std::to_string(rank) +
                                ", at " + peer_of(ranks_[rank].get()) + " and at " +
                                peer_of(socket.get()) + ": start each rank once");
    ranks_[rank] = std::move(socket);
    --missing_;
  }

  void refuse(const Socket& socket, const std::string& why) {
    last_refusal_ = why;
    (void)send_answer(socket, answer_of(false, why));
  }

  /// It fits the buffer of a connection on which nothing was sent before.
  static bool send_answer(const Socket& socket, const std::string& frame) {
    return ::send(socket.get(), frame.data(), frame.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(frame.size());
  }

  Status welcome(const Token& token) {
    const std::string frame = answer_of(true, {token.data(), token.size()});
    for (std::size_t rank = 1; rank < ranks_.size(); ++rank)
      if (!send_answer(ranks_[rank], frame))
        return Failure{"rank " + std::to_string(rank) + " at " + peer_of(ranks_[rank].get()) +
                       " has gone just when all ranks were there: see what it says itself"};
    return done();
  }

  Status give_up() {
    std::string why = "not all ranks have come to rank 0 at " + place_of(meeting_) + " within " +
                      seconds_of(meeting_.limit) + "; missing: " + missing_ranks(ranks_) + " (" +
                      std::to_string(missing_) + " of " + std::to_string(ranks_.size()) +
                      "); see what they say, and whether their hosts reach this address";
    if (!last_refusal_.empty()) why += "; refused last: " + last_refusal_;
    for (const Socket& rank : ranks_)
      if (rank) (void)send_answer(rank, answer_of(false, why));
    return Failure{why};
  }

  const Meeting& meeting_;
  Socket listener_;
  Clock::time_point deadline_;
  std::vector<Socket> ranks_;  // by rank; empty of those that are missing, and of rank 0
  std::size_t missing_;
  std::vector<Stranger> strangers_;  // oldest first
  std::string last_refusal_;
};

// --- The others ---

/// A connection that TCP has made with itself, which it does when a port of this machine where
/// nobody listens is also the one that the kernel picked for this end.
bool is_with_itself(int fd) {
  sockaddr_storage here{};
  sockaddr_storage there{};
  socklen_t here_size = sizeof here;
  socklen_t there_size = sizeof there;
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&here), &here_size) == 0 &&
         ::getpeername(fd, reinterpret_cast<sockaddr*>(&there), &there_size) == 0 &&
         here_size == there_size && std::memcmp(&here, &there, here_size) == 0;
}

/// One try; 0 or an errno. The connection is a non-blocking one.
int connect_to(const addrinfo& address, Clock::time_point deadline, Socket& connection) {
  Socket socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return errno;
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    pollfd event{socket.get(), POLLOUT, 0};
    const int count = ::poll(&event, 1, left_until(std::min(deadline, Clock::now() + longest_try)));
    if (count <= 0) return count < 0 ? errno : ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
    if (error != 0) return error;
  }
  if (is_with_itself(socket.get())) return ECONNREFUSED;
  connection = std::move(socket);
  return 0;
}

/// The other ranks' way to rank 0.
class Visitor {
 public:
  explicit Visitor(const Meeting& meeting)
      : meeting_(meeting),
        limit_(meeting.limit + others_wait_longer),
        deadline_(Clock::now() + limit_) {}

  Result<Token> run() {
    for (;;) {
      const Socket connection = connect_once();
      if (connection)
        if (auto answer = ask(connection)) return std::move(*answer);
      if (Clock::now() + pause_between_tries >= deadline_) return give_up();
      std::this_thread::sleep_for(pause_between_tries);
    }
  }

 private:
  Socket connect_once() {
    Socket connection;
    const auto [addresses, error] = addresses_of(meeting_, 0);
    if (error != 0) trouble_ = ::gai_strerror(error);
    for (const addrinfo* each = addresses.get(); each != nullptr && !connection;
         each = each->ai_next) {
      const int failed = connect_to(*each, deadline_, connection);
      if (failed != 0) trouble_ = reason(failed);
    }
    return connection;
  }

  /// Nothing where the connection broke: it is tried again.
  std::optional<Result<Token>> ask(const Socket& connection) {
    const std::string hello = hello_of(meeting_);
    if (::send(connection.get(), hello.data(), hello.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(hello.size())) {
      trouble_ = "the connection broke";
      return std::nullopt;
    }
    std::string received;
    std::size_t wanted = answer_head;
    while (received.size() < wanted) {
      if (!receive(connection, wanted, received)) return std::nullopt;
      if (!begins_as(received, answer_magic)) return no_rank_0();
      if (received.size() != answer_head || wanted != answer_head) continue;
      const std::uint64_t body = number_at(received, 12, 4);
      if (body > longest_body) return no_rank_0();
      wanted += body;
    }
    return verdict(received);
  }

  bool receive(const Socket& connection, std::size_t wanted, std::string& received) {
    pollfd event{connection.get(), POLLIN, 0};
    const int ready = ::poll(&event, 1, left_until(deadline_));
    if (ready == 0) {
      trouble_ = "it has not answered";
      return false;
    }
    std::array<char, answer_head + longest_body> bytes{};
    const ssize_t count = ::recv(connection.get(), bytes.data(), wanted - received.size(), 0);
    if (count > 0) received.append(bytes.data(), static_cast<std::size_t>(count));
    if (count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))) return true;
    trouble_ = count == 0 ? "it has hung up" : reason(errno);
    return false;
  }

  Result<Token> verdict(const std::string& answer) const {
    const std::string_view body = std::string_view(answer).substr(answer_head);
    if (number_at(answer, 8, 4) != 0)
      return Failure{"rank 0 at " + place_of(meeting_) + " refuses: " + printable(body)};
    Token token{};
    if (body.size() != token.size()) return no_rank_0();
    std::copy(body.begin(), body.end(), token.begin());
    return token;
  }

  Failure no_rank_0() const {
    return Failure{"what listens at " + place_of(meeting_) +
                   " (MASTER_ADDR, MASTER_PORT) is not rank 0 of this program: choose a port that "
                   "is free there"};
  }

  Failure give_up() const {
    return Failure{"rank 0 at " + place_of(meeting_) +
                   " (MASTER_ADDR, MASTER_PORT) could not be met within " + seconds_of(limit_) +
                   ": " + trouble_ +
                   "; see whether rank 0 runs, and whether this host reaches that address"};
  }

  const Meeting& meeting_;
  milliseconds limit_;
  Clock::time_point deadline_;
  std::string trouble_ = "it was not reached";
};

}  // namespace

std::uint64_t digest_of(const std::string& text) {
  std::uint64_t digest = 0xcbf29ce484222325;
  for (const char byte : text) digest = (digest ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return digest;
}

Status hand_out(const Meeting& meeting, const Token& token) {
  if (meeting.world_size == 1) return done();
  auto listener = make_listener(meeting);
  if (!listener) return listener.failure();
  return Reception(meeting, std::move(*listener)).run(token);
}

Result<Token> fetch(const Meeting& meeting) { return Visitor(meeting).run(); }

}  // namespace nccl_allreduce
