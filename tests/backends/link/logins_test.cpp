// SPDX-License-Identifier: Apache-2.0
#include "backends/link/logins.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <memory>

#include "backends/posix/descriptor.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/bootstrap/shell_dialogue.hpp"

using namespace train;
using namespace train::testing;
using Words = std::vector<std::string>;

namespace {

// What listens as an ssh-agent does, and says nothing.
struct Listener {
  explicit Listener(std::string at)
      : path(std::move(at)), socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, path.size());
    REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(socket.get(), 4) == 0);
  }
  std::string path;
  Descriptor socket;
};

struct Fixture {
  std::string at(const std::string& name) const { return (folder.path() / name).string(); }
  std::unique_ptr<Listener> listener(const std::string& name) const {
    return std::make_unique<Listener>(at(name));
  }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE("an agent that is lent takes the place of one that has gone") {
  Fixture f;
  auto own = f.listener("own");
  Logins logins({own->path});
  logins.logged_in("n1", LoginMeans::agent);
  logins.logged_in("n2", LoginMeans::file);
  own.reset();
  const auto lent = f.listener("lent");
  CHECK(logins.lend({lent->path}) == Words{"n1"});
  CHECK(logins.agent_sockets() == Words{lent->path});
  CHECK(logins.lend({lent->path}).empty());
}

TEST_CASE("an agent that works stays the first; another is kept for when it goes") {
  Fixture f;
  auto own = f.listener("own");
  const auto lent = f.listener("lent");
  Logins logins({own->path});
  logins.logged_in("n1", LoginMeans::agent);
  CHECK(logins.lend({lent->path}).empty());
  CHECK(logins.agent_sockets() == Words{own->path, lent->path});
  own.reset();
  CHECK(logins.agent_sockets() == Words{lent->path});
}

TEST_CASE("hosts that are refused are served by whatever is lent") {
  Fixture f;
  const auto own = f.listener("own"), lent = f.listener("lent");
  Logins logins({own->path});
  logins.logged_in("n1", LoginMeans::agent);
  logins.refused("n2");
  CHECK(logins.waiting() == Words{"n2"});
  CHECK(logins.lend({lent->path}) == Words{"n1", "n2"});
  CHECK(logins.agent_sockets() == Words{lent->path, own->path});
  // The same terminal again: its agent may have another key by now.
  CHECK(logins.lend({lent->path}) == Words{"n1", "n2"});
  CHECK(logins.agent_sockets() == Words{lent->path, own->path});
  logins.logged_in("n2", LoginMeans::agent);
  CHECK(logins.waiting().empty());
  logins.refused("n3");
  logins.forget("n3");
  CHECK(logins.waiting().empty());
  CHECK(logins.lend({own->path}).empty());
}

TEST_CASE("nothing is lent where nobody listens, nor where files log in") {
  Fixture f;
  Logins logins({});
  logins.refused("n1");
  CHECK(logins.lend({f.at("none")}).empty());
  CHECK(logins.lend({std::string(200, 'x')}).empty());
  CHECK(logins.agent_sockets().empty());
  logins.logged_in("n1", LoginMeans::file);
  const auto lent = f.listener("lent");
  CHECK(logins.lend({lent->path}).empty());
  CHECK(logins.agent_sockets() == Words{lent->path});
}

TEST_CASE("when all agents have gone, the best one is named") {
  Fixture f;
  auto own = f.listener("own"), lent = f.listener("lent");
  Logins logins({own->path});
  logins.refused("n1");
  logins.lend({lent->path});
  own.reset();
  lent.reset();
  CHECK(logins.agent_sockets() == Words{f.at("lent")});
}

TEST_CASE("agents of many terminals are not all kept") {
  Fixture f;
  const auto own = f.listener("own");
  Logins logins({own->path});
  logins.logged_in("n1", LoginMeans::agent);
  std::vector<std::unique_ptr<Listener>> lent;
  for (int i = 0; i < 10; ++i) {
    lent.push_back(f.listener("lent" + std::to_string(i)));
    logins.lend({lent.back()->path});
  }
  const Words sockets = logins.agent_sockets();
  CHECK(sockets.size() == 8);
  CHECK(sockets.front() == own->path);
  CHECK(sockets.back() == lent.back()->path);
}

TEST_CASE("a Kerberos cache is lent to hosts that are refused, or whose own has gone") {
  Fixture f;
  write_file(f.folder.path() / "own", "tickets");
  write_file(f.folder.path() / "lent", "tickets");
  Logins logins({"", "FILE:" + f.at("own")});
  logins.logged_in("n1", LoginMeans::kerberos);
  CHECK(logins.lend({"", f.at("lent")}).empty());
  CHECK(logins.kerberos_cache() == "FILE:" + f.at("own"));
  std::filesystem::remove(f.folder.path() / "own");
  CHECK(logins.lend({"", "FILE:" + f.at("none")}).empty());
  CHECK(logins.lend({"", f.at("lent")}) == Words{"n1"});
  CHECK(logins.kerberos_cache() == f.at("lent"));
  logins.refused("n2");
  CHECK(logins.lend({"", "KEYRING:persistent:1000"}) == Words{"n1", "n2"});
}
