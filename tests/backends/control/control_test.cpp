// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "backends/control/control_client.hpp"
#include "backends/control/control_server.hpp"
#include "backends/control/control_socket.hpp"
#include "tests/catch.hpp"
#include "tests/support/waiting.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

// A supervisor of a task, on a thread of its own.
class Supervisor {
 public:
  explicit Supervisor(std::string path, nanoseconds limit = patience(10s))
      : path_(std::move(path)), thread_([this, limit] { serve(limit); }) {
    while (!is_serving_) std::this_thread::yield();
  }
  ~Supervisor() {
    loop_.post([this] { loop_.stop(); });
    thread_.join();
  }

  int hosts = 1;                ///< in a status
  std::vector<int> stopped_by;  ///< read it after the destructor, or an answer

 private:
  void serve(nanoseconds limit) {
    auto server = ControlServer::open(
        loop_, path_, {control_version, "abcdefgh", ::getpid(), "0.1"},
        [this](const ControlRequest& request) {
          ControlAnswer answer;
          if (const auto* stop = std::get_if<control_request::Stop>(&request))
            stopped_by.push_back(stop->signal);
          answer.status.phase = "running";
          for (int host = 0; host < hosts; ++host)
            answer.status.hosts.push_back({"host-" + std::to_string(host), "running"});
          return answer;
        },
        limit);
    is_there_ = server.has_value();
    is_serving_ = true;
    loop_.run();
  }

  std::string path_;
  Loop loop_;
  std::atomic<bool> is_serving_ = false;
  bool is_there_ = false;
  std::thread thread_;
};

std::string long_path(const TemporaryDirectory& directory) {
  const std::string folder = directory.path() + "/" + std::string(200, 'f');
  std::filesystem::create_directories(folder);
  return folder + "/control";
}

// How the other side has ended a connection that says `bytes`.
bool is_ended_after(const std::string& path, const std::string& bytes) {
  const auto socket = connect_to(path);
  REQUIRE(socket);
  (void)!::write(socket->get(), bytes.data(), bytes.size());
  char buffer[4096];
  while (true) {
    if (!becomes_readable(socket->get())) return false;
    const ssize_t count = ::read(socket->get(), buffer, sizeof buffer);
    if (count == 0) return true;
    if (count < 0) return errno == ECONNRESET;
  }
}

}  // namespace

TEST_CASE("a supervisor answers at a path of any length") {
  const TemporaryDirectory directory;
  const std::string path = long_path(directory);
  Supervisor supervisor(path);
  auto client = ControlClient::connect(path, patience(10s));
  REQUIRE(client);
  REQUIRE(*client);
  CHECK((*client)->greeting().task_id == "abcdefgh");
  CHECK((*client)->greeting().pid == ::getpid());
  const auto answer = (*client)->ask(control_request::Status{}, patience(10s));
  REQUIRE(answer);
  REQUIRE(*answer);
  CHECK((*answer)->status.phase == "running");
  REQUIRE((*client)->ask(control_request::Stop{15}, patience(10s)));
  CHECK(supervisor.stopped_by == std::vector{15});
}

TEST_CASE("the status of thousands of hosts comes whole") {
  const TemporaryDirectory directory;
  Supervisor supervisor(directory.path() + "/control");
  supervisor.hosts = 20'000;
  auto client = ControlClient::connect(directory.path() + "/control", patience(10s));
  REQUIRE(client);
  REQUIRE(*client);
  for (int time = 0; time < 3; ++time) {
    const auto answer = (*client)->ask(control_request::Status{}, patience(10s));
    REQUIRE(answer);
    REQUIRE(*answer);
    CHECK((*answer)->status.hosts.size() == 20'000);
    CHECK((*answer)->status.hosts.back().name == "host-19999");
  }
}

TEST_CASE("the socket is this user's alone, and goes with its supervisor") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/control";
  {
    Supervisor supervisor(path);
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK(S_ISSOCK(status.st_mode));
    CHECK((status.st_mode & 0777) == 0600);
  }
  CHECK_FALSE(std::filesystem::exists(path));
  const auto client = ControlClient::connect(path, patience(10s));
  REQUIRE(client);
  CHECK_FALSE(client->has_value());
}

TEST_CASE("the socket of a dead supervisor is replaced") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/control";
  { REQUIRE(listen_at(path)); }  // which leaves it behind
  CHECK(std::filesystem::exists(path));
  const auto nobody = ControlClient::connect(path, patience(10s));
  REQUIRE(nobody);
  CHECK_FALSE(nobody->has_value());
  Supervisor supervisor(path);
  const auto client = ControlClient::connect(path, patience(10s));
  REQUIRE(client);
  CHECK(client->has_value());
}

TEST_CASE("whoever talks nonsense, or too much, is cut off, and nobody else") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/control";
  Supervisor supervisor(path);
  auto client = ControlClient::connect(path, patience(10s));
  REQUIRE(client);
  REQUIRE(*client);
  CHECK(is_ended_after(path, "GET / HTTP/1.1\r\n\r\n"));
  CHECK(is_ended_after(path, std::string(2 * longest_control_request, 'x')));
  CHECK(is_ended_after(path, encode_control_request(control_request::Status{}) + "x"));
  const auto answer = (*client)->ask(control_request::Status{}, patience(10s));
  REQUIRE(answer);
  CHECK(*answer);
}

TEST_CASE("whoever says nothing is not waited for") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/control";
  Supervisor supervisor(path, 50ms);
  CHECK(is_ended_after(path, ""));
}

TEST_CASE("of many connections the oldest go") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/control";
  Supervisor supervisor(path);
  std::vector<ControlClient> clients;
  const auto limit = patience(10s);
  for (int i = 0; i < 20; ++i) {
    auto client = ControlClient::connect(path, limit);
    REQUIRE(client);
    REQUIRE(*client);
    clients.push_back(std::move(**client));
  }
  const auto forgotten = clients.front().ask(control_request::Status{}, patience(10s));
  REQUIRE(forgotten);
  CHECK_FALSE(*forgotten);
  const auto known = clients.back().ask(control_request::Status{}, patience(10s));
  REQUIRE(known);
  CHECK(*known);
}

TEST_CASE("a supervisor that stands still is told of as such") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/control";
  const auto listening = listen_at(path);
  REQUIRE(listening);
  const auto client = ControlClient::connect(path, 20ms);
  REQUIRE_FALSE(client);
  CHECK(client.error().error_class == ErrorClass::busy);
}

TEST_CASE("one that dies before it has said anything is not there") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/control";
  std::optional<Descriptor> listening(*listen_at(path));
  // Its connection is in the queue of the socket that is closed.
  std::thread dying([&] {
    pollfd called{listening->get(), POLLIN, 0};
    while (::poll(&called, 1, -1) != 1) {
    }
    listening.reset();
  });
  const auto client = ControlClient::connect(path, patience(10s));
  dying.join();
  REQUIRE(client);
  CHECK_FALSE(*client);
}

TEST_CASE("a supervisor that has been replaced leaves the socket of the other one there") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/control";
  std::optional<Supervisor> first(std::in_place, path);
  const Supervisor second(path);
  first.reset();
  auto client = ControlClient::connect(path, patience(10s));
  REQUIRE(client);
  REQUIRE(*client);
  const auto answer = (*client)->ask(control_request::Status{}, patience(10s));
  REQUIRE(answer);
  CHECK(*answer);
}
