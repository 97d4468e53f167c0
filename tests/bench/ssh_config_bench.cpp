// SPDX-License-Identifier: Apache-2.0
// bench_ssh_config [ROUNDS]: what it costs to learn the settings of 64 and of 1,000 hosts from
// ssh's configuration: with nothing in it that matters, with one `Host` line for all (one call of
// ssh), with one line a host and with a condition that only ssh can decide (a call a host, several
// at a time). Median of ROUNDS (default 9) with least and most in milliseconds. The configurations
// are read by ssh itself (-F), so the user's own stay out of it. Nothing here passes or fails.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "backends/ssh_config/ssh_config.hpp"
#include "tests/bench/stopwatch.hpp"

using namespace train;

namespace {

std::string host_name(int number) { return fmt::format("node{:04}", number); }

std::string line_per_host(int hosts) {
  std::string text;
  for (int i = 0; i < hosts; ++i)
    text += fmt::format("Host {}\n  HostName 10.0.{}.{}\n", host_name(i), i / 250, i % 250 + 1);
  return text;
}

class Bench {
 public:
  Bench() {
    std::string name = (std::filesystem::temp_directory_path() / "bench-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    files_.user_file = folder_ / "config";
    files_.program = folder_ / "ssh";
    std::ofstream(files_.program) << "#!/bin/sh\nexec /usr/bin/ssh -F '" << files_.user_file
                                  << "' \"$@\"\n";
    ::chmod(files_.program.c_str(), S_IRWXU);
  }
  ~Bench() { std::filesystem::remove_all(folder_); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void measure(const char* what, const std::string& config, int hosts, int rounds) {
    std::ofstream(files_.user_file) << config;
    const Times times = times_of([&] { ask(hosts); }, rounds);
    fmt::print("| {} | {} | {:.1f} ({:.1f}-{:.1f}) |\n", what, hosts, times.median, times.least,
               times.most);
  }

 private:
  void ask(int hosts) {
    FileWork work(loop_, files_.deadline);
    SshConfig config(loop_, work, files_, {});
    int left = hosts;
    for (int i = 0; i < hosts; ++i)
      config.settings_of({host_name(i), "", {}}, [&](const Result<SshSettings>& settings) {
        require(settings.has_value(), "ssh -G");
        if (--left == 0) loop_.stop();
      });
    if (left > 0) loop_.run();
  }

  std::filesystem::path folder_;
  SshConfigFiles files_;
  Loop loop_;
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  Bench bench;
  fmt::print("| configuration | hosts | ms |\n| --- | --- | --- |\n");
  for (const int hosts : {64, 1000}) {
    bench.measure("nothing that matters", "Host *\n  SendEnv LANG\n", hosts, rounds);
    bench.measure("one Host line", "Host node*\n  User trainer\n", hosts, rounds);
    bench.measure("a Host line for each", line_per_host(hosts), hosts, rounds);
    bench.measure("a Match line", "Match host node*\n  User trainer\n", hosts, rounds);
  }
}
