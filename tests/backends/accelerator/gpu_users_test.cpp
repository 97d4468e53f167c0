// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/gpu_users.hpp"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tests/backends/accelerator/fake_host.hpp"
#include "tests/catch.hpp"
#include "tests/support/waiting.hpp"

using namespace train;

namespace {

// A process that has these files open, until the end of its test.
class OpenFiles {
 public:
  explicit OpenFiles(const std::vector<std::string>& files, const std::string& task = "") {
    std::string script;
    int descriptor = 3;
    for (const std::string& file : files)
      script += "exec " + std::to_string(descriptor++) + "<'" + file + "'; ";
    script += "exec sleep 1000";
    pid_ = ::fork();
    if (pid_ != 0) return;
    if (task.empty())
      ::unsetenv("TRAIN_TASK_ID");
    else
      ::setenv("TRAIN_TASK_ID", task.c_str(), 1);
    ::execl("/bin/bash", "bash", "-c", script.c_str(), nullptr);
    ::_exit(127);
  }
  ~OpenFiles() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;

  int pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

std::vector<LeaseHolder> users_on(const FakeHost& host, std::size_t count) {
  std::vector<LeaseHolder> users;
  (void)testing::eventually([&] {
    users = gpu_users(host.files);
    const bool have_begun = std::all_of(
        users.begin(), users.end(), [](const auto& each) { return each.command == "sleep 1000"; });
    return users.size() == count && have_begun;
  });
  return users;
}

}  // namespace

TEST_CASE("who has a GPU open to compute on it is told, with all its GPUs") {
  FakeHost host;
  host.four_of_nvidia();
  host.device("nvidia-uvm");
  const std::string dev = host.files.dev;
  CHECK(gpu_users(host.files).empty());
  const OpenFiles one({dev + "/nvidiactl", dev + "/nvidia-uvm", dev + "/nvidia3", dev + "/nvidia1",
                       dev + "/nvidia1"});
  const OpenFiles other({dev + "/nvidia-uvm", dev + "/nvidia0"}, "abcd2345");
  auto users = users_on(host, 2);
  REQUIRE(users.size() == 2);
  if (users[0].pid != one.pid()) std::swap(users[0], users[1]);
  CHECK(users[0].pid == one.pid());
  CHECK(users[0].uid == ::getuid());
  CHECK(users[0].task.empty());
  CHECK(users[0].name.empty());
  using Kind = LeaseKey::Kind;
  CHECK(users[0].leases ==
        std::vector<LeaseHolder::Held>{{{Kind::cuda, 1, "GPU-1abc"}, lease_units},
                                       {{Kind::cuda, 3, "GPU-3abc"}, lease_units}});
  CHECK(users[1].pid == other.pid());
  CHECK(users[1].name == "abcd2345");
}

TEST_CASE("who only watches GPUs does not use them") {
  FakeHost host;
  host.four_of_nvidia();
  host.device("nvidia-uvm");
  const std::string dev = host.files.dev;
  const OpenFiles watching({dev + "/nvidiactl", dev + "/nvidia0", dev + "/nvidia1"});
  const OpenFiles without_gpu({dev + "/nvidia-uvm"});
  const OpenFiles computing({dev + "/nvidia-uvm", dev + "/nvidia2"});
  const auto users = users_on(host, 1);
  REQUIRE(users.size() == 1);
  CHECK(users[0].pid == computing.pid());
}

TEST_CASE("whom the driver names beside is a user as well, each process once") {
  FakeHost host;
  host.four_of_nvidia();
  host.device("nvidia-uvm");
  using Kind = LeaseKey::Kind;
  const auto key = [](int index) {
    return LeaseHolder::Held{{Kind::cuda, index, "GPU-" + std::to_string(index) + "abc"},
                             lease_units};
  };
  LeaseHolder known;
  known.pid = ::getpid();
  known.leases = {key(1)};
  std::vector<LeaseHolder> users = {known};
  // This process on two GPUs, its parent, and one of another container, which nobody sees here.
  constexpr std::int64_t unseen = std::int64_t{1} << 30;
  const auto device = [](int index, std::vector<DeviceProcess> processes) {
    DeviceFacts facts;
    facts.index = index;
    facts.uuid = "GPU-" + std::to_string(index) + "abc";
    facts.processes = std::move(processes);
    return facts;
  };
  DeviceReport report;
  report.devices = {device(0, {{::getppid(), {}}}), device(1, {{::getpid(), {}}, {unseen, {}}}),
                    device(2, {{::getpid(), {}}}), device(3, {{unseen, {}}})};
  report.devices.push_back(device(9, {{::getppid(), {}}}));  // not of this session
  add_gpu_users(report, users, host.files);
  const auto of = [&](int pid) {
    const auto user = std::find_if(users.begin(), users.end(),
                                   [&](const LeaseHolder& each) { return each.pid == pid; });
    return user == users.end() ? std::vector<LeaseHolder::Held>() : user->leases;
  };
  CHECK(users.size() == 3);
  CHECK(of(::getpid()) == std::vector{key(1), key(2)});
  CHECK(of(::getppid()) == std::vector{key(0)});
  CHECK(of(static_cast<int>(unseen)) == std::vector{key(3)});
}

TEST_CASE("who is root sees all, and an idle driver has nobody to be missed") {
  FakeHost host;
  CHECK_FALSE(may_miss_gpu_users(host.files));  // no driver
  host.four_of_nvidia();
  const bool is_root = ::geteuid() == 0;
  CHECK(may_miss_gpu_users(host.files) == !is_root);
  host.write(host.files.sys + "/module/nvidia_uvm/refcnt", "2\n");
  CHECK(may_miss_gpu_users(host.files) == !is_root);
  host.write(host.files.sys + "/module/nvidia_uvm/refcnt", "0\n");
  CHECK_FALSE(may_miss_gpu_users(host.files));
}
