// SPDX-License-Identifier: Apache-2.0
// The agent as a separate program, which `train` sends to hosts. It contains nothing that only a
// launcher needs, so it is small to send and starts quickly.
#include <malloc.h>

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "backends/posix/child.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/limits.hpp"
#include "cli/agent/agent_attach.hpp"
#include "cli/agent/measure.hpp"
#include "cli/agent/once_per_host.hpp"
#include "cli/agent/port_connections.hpp"
#include "cli/agent/report_writer.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

// Prints messages for ranks in the format of `train`.
void print_error(const std::string& words) { std::fprintf(stderr, "train: %s\n", words.c_str()); }
int report_failure(const Error& error) {
  print_error(render(error));
  return exit_code_of(error.error_class).value();
}

// `report`: ranks report metrics with it.
int report(const std::vector<std::string>& arguments) {
  const auto written = write_report(arguments);
  if (!written) return report_failure(written.error());
  if (!written->empty()) print_error(*written);
  return 0;
}

// `once-per-host`, also for ranks.
int once_per_host(const std::vector<std::string>& arguments) {
  const auto code = run_once_per_host(arguments);
  return code ? *code : report_failure(code.error());
}

// `connect-port`, which `train forward` calls beside a rank.
int connect_port(std::string_view word) {
  constexpr int last_port = 65'535;
  const auto port = whole_number(word, 1, last_port);
  if (!port) return report_failure(make_error(ErrorClass::usage, "connect-port: no port"));
  const auto done = connect_streams_to_port(*port);
  return done ? 0 : report_failure(done.error());
}

// `measure-links` and `measure-allreduce`, also for ranks.
int print(const Result<std::string>& line) {
  if (!line) return report_failure(line.error());
  return write_whole(STDOUT_FILENO, *line) == 0 ? 0 : exit_code_of(ErrorClass::host).value();
}

// Without a prefix: the launcher reports it as its own error.
int refuse(const Error& error) {
  std::fprintf(stderr, "%s\n", in_one_line(error).c_str());
  return exit_code_of(error.error_class).value();
}

// Accepts `--version` (by which a host shows that it can run this program), `report WORD...`,
// `once-per-host WORD...`, `measure-links`, `measure-allreduce PYTHON`, `agent attach KEY`, `agent
// reattach KEY`, `agent sweep KEY`, `agent exec KEY`, `agent get KEY`, `agent look WORD`, `agent
// wait KEY` or `agent check WORD`.
int run(int argc, char* argv[]) {
  const auto is = [&](int i, std::string_view word) { return i < argc && argv[i] == word; };
  if (argc == 2 && is(1, "--version")) {
    std::puts("the agent of train " TRAIN_VERSION);
    return 0;
  }
  if (argc > 1 && is(1, "report")) return report({argv + 2, argv + argc});
  if (argc == 2 && is(1, "measure-links")) return print(measure_links_of_task());
  if (argc == 3 && is(1, "measure-allreduce")) return print(measure_allreduce_of_task(argv[2]));
  if (argc == 3 && is(1, "connect-port")) return connect_port(argv[2]);
  if (argc > 1 && is(1, "once-per-host")) return once_per_host({argv + 2, argv + argc});
  if (const auto enough = check_stack_limit(); !enough) return refuse(enough.error());
  if (argc == 4 && is(1, "agent") && is(2, "attach"))
    return agent_attach_command({argv[3], {}}).value();
  if (argc == 4 && is(1, "agent") && is(2, "reattach"))
    return agent_reattach_command(argv[3]).value();
  if (argc == 4 && is(1, "agent") && is(2, "sweep")) return agent_sweep_command(argv[3]).value();
  if (argc == 4 && is(1, "agent") && is(2, "exec")) return agent_exec_command(argv[3]).value();
  if (argc == 4 && is(1, "agent") && is(2, "get")) return agent_get_command(argv[3]).value();
  if (argc == 4 && is(1, "agent") && is(2, "look")) return agent_look_command(argv[3]).value();
  if (argc == 4 && is(1, "agent") && is(2, "wait")) return agent_wait_command(argv[3]).value();
  if (argc == 4 && is(1, "agent") && is(2, "check")) return agent_check_command().value();
  std::fputs("train starts this program on hosts by itself; there is nothing to call\n", stderr);
  return exit_code_of(ErrorClass::usage).value();
}

}  // namespace

}  // namespace train

int main(int argc, char* argv[]) {
  // The threads mostly wait: a memory arena for each would only waste pages.
  (void)::mallopt(M_ARENA_MAX, 1);
  train::open_closed_standard_streams();
  int code = 0;
  try {
    code = train::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "this is a bug in train's agent: %s\n", error.what());
    code = train::exit_code_of(train::ErrorClass::bug).value();
  }
  train::end_program(code);
}
