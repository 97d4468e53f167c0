// SPDX-License-Identifier: Apache-2.0
#include "backends/control/control_server.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "backends/control/control_socket.hpp"

namespace train {

namespace {

constexpr std::size_t most_clients = 16;

bool must_wait() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::open(Loop& loop, const std::string& path,
                                                           const ControlGreeting& greeting,
                                                           Handler handler, nanoseconds patience) {
  auto listening = listen_at(path);
  if (!listening) return tl::make_unexpected(listening.error());
  return std::unique_ptr<ControlServer>(
      new ControlServer(loop, path, std::move(*listening), greeting, std::move(handler), patience));
}

ControlServer::ControlServer(Loop& loop, std::string path, Descriptor listening,
                             const ControlGreeting& greeting, Handler handler, nanoseconds patience)
    : loop_(loop),
      path_(std::move(path)),
      listening_(std::move(listening)),
      greeting_(encode_greeting(greeting)),
      handler_(std::move(handler)),
      patience_(patience),
      acceptor_(loop, listening_.get(), [this](Descriptor socket) { accept(std::move(socket)); }) {
  (void)::stat(path_.c_str(), &made_);
}

// A socket that cannot be removed is replaced by the next supervisor, or removed with its folder. A
// socket that another supervisor has put in its place stays.
ControlServer::~ControlServer() {
  struct stat named {};
  const bool is_ours = ::stat(path_.c_str(), &named) == 0 && named.st_dev == made_.st_dev &&
                       named.st_ino == made_.st_ino;
  if (is_ours) (void)::unlink(path_.c_str());
}

void ControlServer::accept(Descriptor socket) {
  if (!is_of_this_user(socket.get())) return;
  make_room();
  const int number = ++last_;
  Client& made = clients_[number];
  made.socket = std::move(socket);
  made.readable = loop_.when_readable(made.socket.get(), [this, number] { read(number); });
  be_patient(number);
  send(number, greeting_);
}

void ControlServer::make_room() {
  if (clients_.size() >= most_clients) close(clients_.begin()->first);
}

void ControlServer::be_patient(int client) {
  clients_.at(client).patience = loop_.after(patience_, [this, client] { close(client); });
}

void ControlServer::read(int number) {
  const auto found = clients_.find(number);
  if (found == clients_.end() || !found->second.unsent.empty()) return;
  Client& client = found->second;
  char buffer[longest_control_request];
  const ssize_t count = ::recv(client.socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (count < 0 && (must_wait() || errno == EINTR)) return;
  if (count <= 0) return close(number);
  client.heard.append(buffer, static_cast<std::size_t>(count));
  const auto end = client.heard.find('\n');
  if (end == client.heard.npos) {
    if (client.heard.size() > longest_control_request) close(number);
    return;
  }
  const auto request = decode_control_request(client.heard.substr(0, end));
  // One request at a time: a client that sends more before the answer breaks the protocol.
  if (!request || end + 1 != client.heard.size()) return close(number);
  client.heard.clear();
  be_patient(number);
  send(number, encode_answer(handler_(*request)));
}

// Ignores text for a client that is gone.
void ControlServer::send(int number, const std::string& text) {
  const auto found = clients_.find(number);
  if (found == clients_.end()) return;
  found->second.unsent += text;
  write(number);
}

void ControlServer::write(int number) {
  const auto found = clients_.find(number);
  if (found == clients_.end()) return;
  Client& client = found->second;
  const ssize_t count = uninterrupted([&] {
    return ::send(client.socket.get(), client.unsent.data(), client.unsent.size(),
                  MSG_DONTWAIT | MSG_NOSIGNAL);
  });
  if (count < 0 && !must_wait()) return close(number);
  if (count > 0) client.unsent.erase(0, static_cast<std::size_t>(count));
  if (client.unsent.empty()) {
    client.writable.reset();
    if (!client.readable)
      client.readable = loop_.when_readable(client.socket.get(), [this, number] { read(number); });
  } else if (!client.writable) {
    client.readable.reset();
    client.writable = loop_.when_writable(client.socket.get(), [this, number] { write(number); });
  }
}

// The client is destroyed later, since this may run inside one of its callbacks.
void ControlServer::close(int number) {
  const auto found = clients_.find(number);
  if (found == clients_.end()) return;
  dropped_.push_back(std::move(found->second));
  clients_.erase(found);
  if (dropping_) return;
  dropping_ = loop_.after(nanoseconds(0), [this] {
    dropping_.reset();
    dropped_.clear();
  });
}

}  // namespace train
