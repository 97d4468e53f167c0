// SPDX-License-Identifier: Apache-2.0
// One rank of a program that needs nothing but sockets: rank 0 listens at MASTER_ADDR:MASTER_PORT,
// adds up what every rank sends, and answers all with the sum.
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr)
    throw std::runtime_error(std::string(name) + " is not set: use train launch");
  return value;
}

void check(bool is_well, const char* what) {
  if (!is_well) throw std::runtime_error(std::string("cannot ") + what);
}

/// A socket that is connected to rank 0, or the one at which rank 0 listens; -1 if neither can be.
int open_socket(const addrinfo& address, bool listens) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int on = 1;  // the agent of train holds the port until a rank listens there
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool is_open =
      listens ? bind(fd, address.ai_addr, address.ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0
              : connect(fd, address.ai_addr, address.ai_addrlen) == 0;
  if (is_open) return fd;
  close(fd);
  return -1;
}

void send_number(int fd, std::int64_t number) {
  check(send(fd, &number, sizeof number, MSG_NOSIGNAL) == sizeof number, "send: a rank has gone");
}

std::int64_t receive_number(int fd) {
  std::int64_t number = 0;
  check(recv(fd, &number, sizeof number, MSG_WAITALL) == sizeof number, "receive: a rank has gone");
  return number;
}

/// Where rank 0 is, or, for rank 0 itself, all addresses of its host.
addrinfo* meeting_place(int rank) {
  const std::string host = variable("MASTER_ADDR");
  addrinfo hints{};
  hints.ai_family = host.find(':') == std::string::npos ? AF_INET : AF_INET6;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const char* const name = rank == 0 ? nullptr : host.c_str();
  check(getaddrinfo(name, variable("MASTER_PORT").c_str(), &hints, &found) == 0,
        "find MASTER_ADDR");
  return found;
}

/// The sum of the numbers of all ranks, in each of them.
std::int64_t sum_over_ranks(std::int64_t number, int rank, int world_size) {
  addrinfo* const address = meeting_place(rank);
  int fd = open_socket(*address, rank == 0);
  // The other ranks may come before rank 0. Were it gone, train would end them.
  for (; rank != 0 && fd < 0; fd = open_socket(*address, false))
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  freeaddrinfo(address);
  check(fd >= 0, "listen at MASTER_PORT");
  if (rank != 0) {
    send_number(fd, number);
    return receive_number(fd);
  }
  std::vector<int> peers;
  while (static_cast<int>(peers.size()) < world_size - 1) {
    peers.push_back(accept4(fd, nullptr, nullptr, SOCK_CLOEXEC));
    check(peers.back() >= 0, "accept a rank");
    number += receive_number(peers.back());
  }
  for (const int peer : peers) send_number(peer, number);
  return number;
}

}  // namespace

int main() try {
  const int rank = std::stoi(variable("RANK"));
  const int world_size = std::stoi(variable("WORLD_SIZE"));
  const std::int64_t own = (rank + 1) * (rank + 1);
  const std::int64_t sum = sum_over_ranks(own, rank, world_size);
  std::cout << "rank " << rank << " of " << world_size << ": " << own << ", and " << sum
            << " over all\n";
  std::ofstream(variable("TRAIN_METRICS_FILE"), std::ios::app) << "{\"sum\": " << sum << "}\n";
} catch (const std::exception& error) {
  std::cerr << "cpp_worker: " << error.what() << "\n";
  return EXIT_FAILURE;
}
