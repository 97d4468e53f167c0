// SPDX-License-Identifier: Apache-2.0
// A program with `agent attach KEY`, `agent step KEY` (the attach of a job step) and `agent
// reattach KEY`, whose agent obeys the first line of each connection:
//   ids          answers "AGENT GUARD" (process ids) and ends the connection
//   echo         returns every byte until the other side has half closed
//   descriptors  answers with the number of the agent's open descriptors
//   workers MARK starts processes that try to get away, answers "started", keeps the connection
//   fence MS     sets the fence to that time from now, answers "fenced" and ends the connection
//   quit CODE    ends the agent with that code
//   last         answers "leaving", and the agent ends when the next connection waits
//   silent       ends the connection
// On SIGTERM the agent writes BASE/told and ends. The base directory is $TRAIN_TEST_BASE; with
// $TRAIN_TEST_PLACE it is looked for there, as in /tmp.
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>
#include <vector>

#include "backends/agent/attach.hpp"
#include "backends/event_loop/loop.hpp"
#include "backends/process/spawner.hpp"

namespace {

using namespace train;

std::string base() {
  const char* value = ::getenv("TRAIN_TEST_BASE");
  return value == nullptr ? "" : value;
}

std::string read_command(int connection) {
  std::string line;
  char byte = 0;
  while (true) {
    pollfd polled{connection, POLLIN, 0};
    (void)::poll(&polled, 1, -1);
    if (::read(connection, &byte, 1) != 1 || byte == '\n') return line;
    line += byte;
  }
}

void say(int connection, const std::string& text) {
  (void)!::write(connection, text.data(), text.size());
}

void echo(int connection) {
  std::vector<char> buffer(100'000);
  while (true) {
    const ssize_t count = ::read(connection, buffer.data(), buffer.size());
    if (count <= 0) return;
    for (ssize_t sent = 0; sent < count;) {
      const ssize_t written = ::write(connection, buffer.data() + sent, count - sent);
      if (written <= 0) return;
      sent += written;
    }
  }
}

std::string count_descriptors() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    (void)entry;
    ++count;
  }
  return std::to_string(count - 1);  // without the one that lists
}

// Of this process.
std::string key;

void start_workers(int connection, const std::string& mark) {
  const ProcessSpec spec{
      "/bin/sh",
      {"sh", "-c",
       "trap '' TERM; setsid sh -c 'sleep 1000 & sleep 1000' & (sleep 1000 &); sleep 1000"},
      {"PATH=/usr/bin:/bin", "TRAIN_TASK_ID=" + mark, "TRAIN_RUN_DIR=" + base() + "/" + key},
      "/"};
  LinuxSpawner spawner;
  for (int i = 0; i < 3; ++i)
    if (auto process = spawner.spawn(spec); !process) say(connection, render(process.error()));
  say(connection, "started\n");
}

int agent_main(int listening_socket, const GuardedBy& guard) {
  sigset_t term;
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &term, nullptr);
  const int signals = ::signalfd(-1, &term, SFD_CLOEXEC);
  std::vector<int> kept;
  while (true) {
    pollfd polled[2] = {{listening_socket, POLLIN, 0}, {signals, POLLIN, 0}};
    (void)::poll(polled, 2, -1);
    if (polled[1].revents != 0) {
      std::ofstream(base() + "/told") << "SIGTERM";
      return 0;
    }
    const int connection = ::accept4(listening_socket, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    const std::string command = read_command(connection);
    if (command == "ids")
      say(connection, std::to_string(::getpid()) + " " + std::to_string(::getppid()) + "\n");
    if (command == "descriptors") say(connection, count_descriptors() + "\n");
    if (command == "echo") echo(connection);
    if (command.starts_with("fence ")) {
      guard.fence.set(boot_time() + std::chrono::milliseconds(std::stoi(command.substr(6))));
      say(connection, "fenced\n");
    }
    if (command.starts_with("quit ")) return std::stoi(command.substr(5));
    if (command == "last") {
      say(connection, "leaving\n");
      ::close(connection);
      pollfd next{listening_socket, POLLIN, 0};
      (void)::poll(&next, 1, -1);
      return 0;
    }
    if (command.starts_with("workers ")) {
      start_workers(connection, command.substr(8));
      kept.push_back(connection);
      continue;
    }
    ::close(connection);
  }
}

}  // namespace

int main(int argc, char* argv[]) {
  if (argc != 4) return 64;
  key = argv[3];
  const char* place = ::getenv("TRAIN_TEST_PLACE");
  const auto directory =
      place == nullptr ? HostDirectory::open(base()) : HostDirectory::find(argv[3], {place});
  const auto call = [&] {
    if (!directory) return Result<int>(tl::make_unexpected(directory.error()));
    const std::string_view verb = argv[2];
    return verb == "reattach" ? reattach(*directory, key)
                              : attach(*directory, key, agent_main, verb == "step");
  };
  const auto code = call();
  if (code) return *code;
  std::cerr << render(code.error()) << "\n";
  return 76;
}
